/* Reserves and starts the line's parts in order, and takes them down. */
#include "src/line/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include "src/ingest/socket/endpoint.h"
#include "src/monitor/fruits/sheets.h"
#include "src/publish/packed_defects.h"
#include "src/realtime/realtime.h"
#include "stages/base/clock.h"

#define LINGER_MS 500

#define NS_PER_DAY (86400 * CRN_NS_PER_S)

/* Memory of the slots in which views wait for the disk. */
#define RECORD_QUEUE_MIB 256

int64_t crn_line_kept_slots(const crn_config *config)
{
    return config->monitor.http[0] ? config->monitor.keep_slots : 0;
}

static uint32_t kept_slots(const crn_config *config)
{
    return (uint32_t)crn_line_kept_slots(config);
}

/* One fruit at least. */
int64_t crn_line_recorded_slots(const crn_config *config)
{
    if (!config->record.dir[0])
        return 0;
    int64_t slots = RECORD_QUEUE_MIB / config->limits.view_mib;
    return slots > config->limits.views ? slots : config->limits.views;
}

/* Slots beside limits.slots. */
static uint32_t reserved_slots(const crn_config *config)
{
    return kept_slots(config) + (uint32_t)crn_line_recorded_slots(config);
}

size_t crn_line_bytes(const crn_config *config)
{
    crn_fruit_rules rules = crn_fruit_rules_of(config);
    size_t slots = (size_t)config->limits.slots + reserved_slots(config);
    return ((size_t)config->limits.view_mib << 20) * slots + crn_slots_bytes(config) +
           crn_engine_bytes(config) + crn_line_store_bytes(config) +
           crn_fruits_judged_bytes(&rules) + ((size_t)config->limits.viewers_mib << 20) +
           (size_t)config->run.workers * CRN_WORKER_DEPTH * crn_defects_packer_bytes(config) +
           crn_surfaces_bytes(config) +
           (config->publish.log.dir[0] ? CRN_VERDICT_LOG_QUEUE_BYTES : 0) +
           crn_drift_bytes((int32_t)config->limits.lanes) +
           (config->monitor.http[0] ? CRN_FLIGHT_QUEUE_BYTES + CRN_FLIGHT_BYTES : 0) +
           (kept_slots(config) ? CRN_LIVE_PHOTOS_BYTES + CRN_SHEETS_BYTES : 0);
}

static int open_logic(crn_line *line, crn_error *error)
{
    const crn_config *config = line->config;
    crn_lane_rules lanes = crn_lane_rules_of(config);
    int r = crn_pool_create((uint32_t)config->limits.slots, reserved_slots(config),
                            (size_t)config->limits.view_mib << 20, &line->pool);
    if (r == 0)
        r = crn_result_store_create(crn_line_store_bytes(config), &line->store);
    if (r == 0)
        r = crn_lanes_create((int32_t)config->limits.lanes, &line->lanes);
    if (r == 0)
        r = crn_meters_init(config, &line->meters);
    if (r == 0)
        crn_lanes_set_rules(line->lanes, &lanes);
    if (r == 0) {
        crn_fruit_rules rules = crn_line_fruit_rules(line, config);
        r = crn_fruits_create(&rules, line->lanes, &line->fruits);
    }
    if (r < 0)
        return crn_error_set(
            error, r,
            "limits: cannot reserve %zu MiB: %s; lower limits.slots, limits.view_mib or "
            "monitor.keep_slots",
            crn_line_bytes(config) >> 20, strerror(-r));
    return 0;
}

static int open_resources(crn_line *line)
{
    const crn_config *config = line->config;
    crn_resources_settings settings = {
        .folders = {[CRN_RESOURCE_RECORD] = {config->record.dir, CRN_RECORDER_SPARE_BYTES},
                    [CRN_RESOURCE_LOG] = {config->publish.log.dir, CRN_VERDICT_LOG_SPARE_BYTES},
                    [CRN_RESOURCE_STATE] = {config->state.dir, 0}}};
    return crn_resources_create(&settings, &line->resources);
}

/* The list of alarms hears of every condition. Its file is there before anybody looks how fast the
 * disk fills. */
static int open_conditions(crn_line *line)
{
    int r = crn_alarms_open(line->config->state.dir, &line->alarms);
    if (r == 0)
        r = open_resources(line);
    if (r == 0)
        r = crn_drift_create((int32_t)line->config->limits.lanes, &line->drift);
    return r < 0 ? r
                 : crn_conditions_open(line->config, line->resources, line->drift, crn_alarms_tell,
                                       line->alarms, &line->conditions);
}

/* Early, so that a service manager can watch the start. */
static int open_http(crn_line *line, crn_error *error)
{
    if (!line->config->monitor.http[0])
        return 0;
    if (crn_snapshots_create((int32_t)line->config->limits.lanes, &line->snapshots) < 0 ||
        crn_flight_create(line->config, &line->flight) < 0 ||
        (kept_slots(line->config) &&
         (crn_kept_maps_create(kept_slots(line->config), line->pool, &line->kept_maps) < 0 ||
          crn_live_photos_create(&line->photos) < 0)))
        return crn_error_set(error, -ENOMEM, "monitor: no memory; lower limits.lanes");
    crn_http_settings settings = {.run = crn_publish_run(line->publish),
                                  .meters = &line->meters,
                                  .snapshots = line->snapshots,
                                  .resources = line->resources,
                                  .conditions = line->conditions,
                                  .alarms = line->alarms,
                                  .minutes = line->minutes,
                                  .drift = line->drift,
                                  .flight = line->flight,
                                  .kept_maps = line->kept_maps,
                                  .photos = line->photos,
                                  .idle_s = CRN_HTTP_IDLE_S,
                                  .request_s = CRN_HTTP_REQUEST_S};
    int r = crn_http_open(line->config, &settings, &line->http, error);
    if (!line->http) {
        crn_kept_maps_free(&line->kept_maps);
        crn_live_photos_free(&line->photos);
    }
    return r;
}

static int open_recorder(crn_line *line, crn_error *error)
{
    const crn_config *config = line->config;
    crn_recorder_settings settings = {
        .dir = config->record.dir,
        .segment_bytes = (uint64_t)config->record.segment_mib << 20,
        .lent_views = (uint32_t)crn_line_recorded_slots(config),
        .limits = {.keep_bytes = (uint64_t)config->record.keep_gib << 30,
                   .keep_ns = config->record.keep_days * NS_PER_DAY},
        .classes = &config->classes,
    };
    return crn_recorder_open(&settings, &line->recorder, error);
}

/* A reload may bring them later (change.c). */
static int open_surfaces(crn_line *line, crn_error *error)
{
    if (!crn_config_measures(line->config))
        return 0;
    int r = crn_surfaces_open(line->config, line->store, crn_engine_descriptor(line->engine),
                              &line->surfaces);
    return r < 0 ? crn_error_set(error, r, "geometry: cannot start: %s", strerror(-r)) : 0;
}

/* Needs the slots' memory, which devices read. */
static int open_engine(crn_line *line, const crn_gpu *gpu, crn_error *error)
{
    crn_device_memory memory;
    memory.start = crn_pool_memory(line->pool, &memory.bytes);
    crn_realtime_huge_pages(line->config, memory.start, memory.bytes);
    int r = crn_engine_open(line->config, gpu, memory, &crn_line_hook, &line->engine, error);
    return r == 0 ? open_surfaces(line, error) : r;
}

/* Devices that are used read rings directly. */
static int open_slots(crn_line *line, const crn_gpu *gpu, crn_error *error)
{
    crn_slots_devices devices = {.gpu = gpu};
    const crn_engine_stats *stats = crn_engine_get_stats(line->engine);
    if (stats->devices > 0) {
        devices.first = stats->first_device;
        devices.pin = gpu->pin;
        devices.unpin = gpu->unpin;
    }
    crn_engine_device device;
    for (int32_t i = 0; crn_engine_get_device(line->engine, i, &device); i++) {
        devices.gpus.of[i].number = device.number;
        memcpy(devices.gpus.of[i].uuid, device.about->uuid, sizeof devices.gpus.of[i].uuid);
        devices.gpus.count = i + 1;
    }
    return crn_slots_open(line->config, crn_pool_count(line->pool), &devices, &line->slots, error);
}

/* Callback for messages that ingest refused. */
static void refuse(void *context, const crn_view_header *header, crn_wire_fault fault)
{
    crn_fruits_refuse(((crn_line *)context)->fruits, header, (crn_refusal)fault);
}

static int open_context(crn_line *line)
{
    crn_realtime_saved saved = crn_realtime_begin_io(line->config);
    line->zmq = crn_endpoint_context();
    int r = line->zmq ? 0 : -errno;
    crn_realtime_end_io(&saved);
    return r;
}

/* Its file, too, is there early. */
static int open_minutes(crn_line *line)
{
    return crn_minutes_start(line->config->state.dir, CRN_MINUTES_RECORDS,
                             (int32_t)line->config->limits.lanes, &line->minutes);
}

int crn_line_open(const crn_config *config, const crn_gpu *gpu, crn_line **ret_line,
                  crn_error *error)
{
    crn_line *line = calloc(1, sizeof *line);
    if (!line)
        return crn_error_set(error, -ENOMEM, "out of memory");
    line->config = config;
    crn_realtime_warn(config);
    line->latency.reference_ns = config->latency.budget_ms * CRN_NS_PER_MS;
    crn_values_init(config, &line->values);
    line->stop_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = line->stop_descriptor < 0 ? -errno : crn_line_settings_init(line);
    if (r == 0)
        r = open_conditions(line);
    if (r == 0)
        r = open_minutes(line);
    if (r == 0)
        r = crn_line_service_create(line->conditions, &line->service);
    if (r == 0)
        r = open_context(line);
    if (r < 0)
        crn_error_set(error, r, "cannot start: %s", zmq_strerror(-r));
    if (r == 0)
        r = crn_zap_open(line->zmq, config->guard, &line->zap, error);
    if (r == 0)
        r = open_logic(line, error);
    if (r == 0)
        r = crn_publish_open(line->zmq, config, line->lanes, &line->publish, error);
    if (r == 0)
        r = open_http(line, error);
    if (r == 0 && config->record.dir[0])
        r = open_recorder(line, error);
    if (r == 0)
        r = open_engine(line, gpu, error);
    if (r == 0)
        r = open_slots(line, gpu, error);
    /* Last, so that no view is accepted before it can be judged. */
    if (r == 0)
        r = crn_ingest_open(line->zmq, config, &line->ingest, error);
    if (r < 0) {
        crn_line_close(&line);
        return r;
    }
    crn_ingest_on_refused(line->ingest, refuse, line);
    crn_ingest_use_slots(line->ingest, line->slots);
    crn_realtime_lock_memory(config, crn_engine_get_stats(line->engine)->devices > 0);
    *ret_line = line;
    return 0;
}

const char *crn_line_http(const crn_line *line)
{
    return crn_http_address(line->http);
}

void crn_line_conditions(const crn_line *line, crn_condition_list *ret_list)
{
    crn_conditions_get(line->conditions, ret_list);
}

crn_alarms *crn_line_alarms(const crn_line *line)
{
    return line->alarms;
}

bool crn_line_close(crn_line **line)
{
    if (!*line)
        return true;
    crn_ingest_close(&(*line)->ingest);
    crn_surfaces_close(&(*line)->surfaces);
    bool ended = crn_engine_close(&(*line)->engine);
    if (!ended)
        crn_pool_abandon(&(*line)->pool);
    if (!ended)
        crn_slots_keep((*line)->slots);
    crn_slots_close(&(*line)->slots);
    crn_publish_close(&(*line)->publish, LINGER_MS);
    crn_recorder_close(&(*line)->recorder);
    crn_http_close(&(*line)->http);
    crn_flight_free(&(*line)->flight);
    crn_kept_maps_free(&(*line)->kept_maps);
    crn_live_photos_free(&(*line)->photos);
    crn_snapshots_free(&(*line)->snapshots);
    crn_line_service_free(&(*line)->service);
    crn_conditions_close(&(*line)->conditions);
    crn_drift_free(&(*line)->drift);
    crn_alarms_close(&(*line)->alarms);
    crn_minutes_stop(&(*line)->minutes);
    crn_resources_free(&(*line)->resources);
    crn_meters_done(&(*line)->meters);
    crn_fruits_free(&(*line)->fruits);
    crn_lanes_free(&(*line)->lanes);
    crn_result_store_free(&(*line)->store);
    crn_pool_free(&(*line)->pool);
    crn_zap_close(&(*line)->zap);
    crn_line_settings_done(*line);
    if ((*line)->zmq)
        zmq_ctx_term((*line)->zmq);
    if ((*line)->stop_descriptor >= 0)
        close((*line)->stop_descriptor);
    free(*line);
    *line = NULL;
    return ended;
}
