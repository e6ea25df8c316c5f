#include "tools/reprocess/views_ahead.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "src/engine/engine.h"
#include "src/formats/recording/recording.h"
#include "src/ingest/wire_rules.h"
#include "src/line/outputs.h"
#include "stages/base/clock.h"

/* Views of one recording that are read, in the engine, or wait for an earlier one; of each worker.
 */
#define AHEAD_OF_A_WORKER (CRN_WORKER_DEPTH + 1)

struct crn_views_ahead {
    const crn_config *config;
    crn_reprocess_meter *meter;
    crn_wire_rules wire;
    crn_values values; /* for its copiers alone */
    crn_engine *engine;
    crn_ahead_view *items; /* `max` in a ring, `count` in use from `first` on */
    int32_t max, first, count;
    crn_recording_position next; /* of the next view */
};

/* --- reading --- */

static int64_t cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * CRN_NS_PER_S + time.tv_nsec;
}

/* As crn_recording_next_planar(). */
static int read_view(crn_views_ahead *ahead, crn_recording_reader *reader,
                     crn_recorded_view *ret_view, crn_error *error)
{
    crn_reprocess_meter *meter = ahead->meter;
    int64_t begin_ns = crn_now_ns(), begin_cpu_ns = cpu_ns();
    crn_recording_go_to(reader, ahead->next);
    int r = crn_recording_next_planar(reader, ret_view, error);
    atomic_fetch_add_explicit(&meter->read_ns, crn_now_ns() - begin_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&meter->read_cpu_ns, cpu_ns() - begin_cpu_ns, memory_order_relaxed);
    if (r > 0) {
        const crn_view_header *header = &ret_view->header;
        uint64_t bytes = header->payload_bytes + crn_wire_intensity_bytes(header);
        atomic_fetch_add_explicit(&meter->views, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&meter->bytes, bytes, memory_order_relaxed);
    }
    return r;
}

static void submit(crn_views_ahead *ahead, crn_ahead_view *it, const crn_recorded_view *recorded)
{
    crn_view *view = &it->view;
    it->arrived_ns = recorded->arrived_ns;
    it->fault = crn_views_ahead_check(ahead, &recorded->header);
    it->output = NULL;
    view->header = recorded->header;
    if (it->fault)
        return;
    view->config = ahead->config;
    /* The engine only reads them. */
    view->maps = (unsigned char *)(uintptr_t)recorded->maps;
    view->intensity = (unsigned char *)(uintptr_t)recorded->intensity;
    view->deadline_ns = CRN_NEVER_NS;
    view->received_ns = crn_now_ns();
    view->values = (crn_value_fault){.class_index = -1};
    view->seen = (crn_values_seen){0};
    view->check = ahead->config->ingest.values == CRN_VALUES_TRUST
                      ? NULL
                      : crn_values_copier(&ahead->values, view->header.type);
    crn_engine_submit(ahead->engine, view); /* there was room, so it cannot fail */
}

bool crn_views_ahead_read(crn_views_ahead *ahead, crn_error *ret_damage)
{
    crn_ahead_view *it = &ahead->items[(ahead->first + ahead->count) % ahead->max];
    crn_recorded_view recorded, ignored;
    int r = read_view(ahead, it->reader, &recorded, ret_damage);
    ahead->next = r > 0 ? crn_recording_tell(it->reader) : (crn_recording_position){0};
    if (r <= 0)
        return false;
    /* Only the reader of the last view can tell whether the file ends with it. */
    if (ahead->next.offset == 0)
        crn_recording_next(it->reader, &ignored, ret_damage);
    ahead->count++;
    submit(ahead, it, &recorded);
    return true;
}

/* --- in order --- */

crn_ahead_view *crn_views_ahead_take(crn_views_ahead *ahead)
{
    crn_ahead_view *it = &ahead->items[ahead->first];
    struct pollfd polled = {.fd = crn_engine_descriptor(ahead->engine), .events = POLLIN};
    while (ahead->count && !it->fault && !it->output) {
        crn_output *output;
        crn_engine_rearm(ahead->engine);
        while ((output = crn_engine_collect(ahead->engine)))
            ((crn_ahead_view *)output->view)->output = output;
        if (!it->output)
            poll(&polled, 1, -1);
    }
    return ahead->count ? it : NULL;
}

void crn_views_ahead_release(crn_views_ahead *ahead)
{
    crn_ahead_view *it = &ahead->items[ahead->first];
    if (it->output)
        crn_engine_release(ahead->engine, it->output);
    it->output = NULL;
    ahead->first = (ahead->first + 1) % ahead->max;
    ahead->count--;
}

bool crn_views_ahead_has_room(const crn_views_ahead *ahead)
{
    return ahead->count < ahead->max && crn_engine_has_room(ahead->engine);
}

bool crn_views_ahead_is_at_end(const crn_views_ahead *ahead)
{
    return ahead->next.offset == 0;
}

void crn_views_ahead_go_to(crn_views_ahead *ahead, crn_recording_position position)
{
    ahead->next = position;
}

crn_wire_fault crn_views_ahead_check(const crn_views_ahead *ahead, const crn_view_header *header)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    crn_view_header parsed;
    crn_wire_pack(header, bytes);
    return crn_wire_parse(bytes, sizeof bytes, &ahead->wire, &parsed);
}

/* --- open and close --- */

int crn_views_ahead_open(crn_views_ahead *ahead, const char *path, crn_error *error)
{
    int r = 0;
    ahead->next = (crn_recording_position){0};
    for (int32_t i = 0; i < ahead->max && r == 0; i++) {
        crn_recording_end(&ahead->items[i].reader);
        r = crn_recording_open(path, &ahead->items[i].reader, error);
    }
    if (r == 0)
        ahead->next = crn_recording_tell(ahead->items[0].reader);
    return r;
}

int crn_views_ahead_create(const crn_config *config, crn_reprocess_meter *meter,
                           crn_views_ahead **ret_ahead, crn_error *error)
{
    crn_views_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return crn_error_set(error, -ENOMEM, "no memory to read views");
    ahead->config = config;
    ahead->meter = meter;
    ahead->wire = crn_ingest_wire_rules(config);
    ahead->max = (int32_t)config->run.workers * AHEAD_OF_A_WORKER;
    ahead->items = calloc((size_t)ahead->max, sizeof *ahead->items);
    crn_values_init(config, &ahead->values);
    int r = ahead->items ? crn_engine_open(config, NULL, (crn_device_memory){0}, &crn_line_hook,
                                           &ahead->engine, error)
                         : crn_error_set(error, -ENOMEM, "no memory to read views");
    for (int32_t i = 0; i < ahead->max && r == 0; i++)
        ahead->items[i].view.slot = (uint32_t)i;
    if (r < 0)
        crn_views_ahead_free(&ahead);
    else
        *ret_ahead = ahead;
    return r;
}

void crn_views_ahead_free(crn_views_ahead **ahead)
{
    crn_views_ahead *it = *ahead;
    if (!it)
        return;
    crn_engine_close(&it->engine);
    for (int32_t i = 0; it->items && i < it->max; i++)
        crn_recording_end(&it->items[i].reader);
    free(it->items);
    free(it);
    *ahead = NULL;
}
