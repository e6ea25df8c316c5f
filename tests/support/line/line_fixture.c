#include "tests/support/line/line_fixture.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <msgpack.h>
#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/gate.h"

static void *run_line(void *argument)
{
    line_fixture *fixture = argument;
    fixture->run_status = crn_line_run(fixture->line, &fixture->error);
    return NULL;
}

static void *connect_socket(line_fixture *fixture, int type, const char *name)
{
    char endpoint[128];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/%s", fixture->folder, name);
    void *socket = zmq_socket(fixture->zmq, type);
    int zero = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero);
    assert_int_equal(zmq_connect(socket, endpoint), 0);
    return socket;
}

const char line_with_pages[] = "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                               "chain: [contours]\n"
                               "run: {backend: openmp, workers: 1, threads: 1}\n"
                               "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
                               "monitor: {http: '127.0.0.1:0'}\n"
                               "log: {level: error}\n";

void line_print_sockets(const char *folder, FILE *out)
{
    fprintf(out,
            "ingest: {bind: ['ipc://%s/in'], high_water_mark: 16}\n"
            "publish:\n"
            "  grader: {bind: 'ipc://%s/grader'}\n"
            "  viewers: {bind: 'ipc://%s/viewers'}\n",
            folder, folder, folder);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void line_end(line_fixture *fixture)
{
    crn_line_stop(fixture->line);
    pthread_join(fixture->thread, NULL);
    fixture->runs = false;
}

/* Frees whatever there is; asserts nothing. */
static void release(line_fixture *fixture)
{
    crn_cleanup_drop(fixture);
    crn_line_close(&fixture->line);
    crn_config_done(&fixture->config);
    if (fixture->sender)
        zmq_close(fixture->sender);
    if (fixture->grader)
        zmq_close(fixture->grader);
    if (fixture->zmq)
        zmq_ctx_term(fixture->zmq);
    nftw(fixture->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* For a test that failed before it stopped its line. */
static void abandon(void *argument)
{
    line_fixture *fixture = argument;
    crn_gate_let_through(1000); /* its workers may wait there */
    if (fixture->runs)
        line_end(fixture);
    release(fixture);
}

void line_close(line_fixture *fixture)
{
    fixture->metrics = crn_line_metrics(fixture->line);
    release(fixture);
    if (fixture->run_status != 0)
        fail_msg("the line ended with %d: %s", fixture->run_status, fixture->error.text);
}

void line_start(line_fixture *fixture, const char *yaml)
{
    const char *no_gpu;
    line_start_on(fixture, yaml, crn_gpu_get(&no_gpu));
}

void line_configure(line_fixture *fixture, const char *yaml)
{
    memset(fixture, 0, sizeof *fixture);
    crn_cleanup_add(abandon, fixture);
    strcpy(fixture->folder, "/tmp/cernita-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    char path[128];
    snprintf(path, sizeof path, "%s/line.yaml", fixture->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    line_print_sockets(fixture->folder, file);
    fputs(yaml, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(crn_config_load(path, stderr, &fixture->config), 0);
    assert_int_equal(crn_config_hash(&fixture->config, &fixture->config.hash, NULL), 0);
    if (!fixture->config.monitor.http_named)
        fixture->config.monitor.http[0] = '\0'; /* the default is one port for the whole machine */
    crn_config_resolve(&fixture->config, 2);
    crn_log_set_level((crn_log_level)fixture->config.log.level);
}

void line_run(line_fixture *fixture, const crn_gpu *gpu)
{
    if (crn_line_open(&fixture->config, gpu, &fixture->line, &fixture->error) < 0)
        fail_msg("%s", fixture->error.text);
    assert_int_equal(pthread_create(&fixture->thread, NULL, run_line, fixture), 0);
    fixture->runs = true;
    fixture->zmq = zmq_ctx_new();
    fixture->grader = connect_socket(fixture, ZMQ_PULL, "grader");
    fixture->sender = connect_socket(fixture, ZMQ_PUSH, "in");
}

void line_start_on(line_fixture *fixture, const char *yaml, const crn_gpu *gpu)
{
    line_configure(fixture, yaml);
    line_run(fixture, gpu);
}

void line_stop(line_fixture *fixture)
{
    line_end(fixture);
    line_close(fixture);
}

void line_move_clock(line_fixture *fixture, int64_t by_ns)
{
    crn_line_status status;
    crn_clock_move(by_ns);
    if (crn_line_status_get(fixture->line, &status) < 0) /* wakes its thread */
        fail_msg("the line has ended: %s", fixture->error.text);
}

void line_send_parts(line_fixture *fixture, const void *const *parts, const size_t *sizes,
                     int count)
{
    int patience = CRN_FIXTURE_PATIENCE_MS;
    zmq_setsockopt(fixture->sender, ZMQ_SNDTIMEO, &patience, sizeof patience);
    for (int i = 0; i < count; i++)
        assert_int_equal(
            zmq_send(fixture->sender, parts[i], sizes[i], i + 1 < count ? ZMQ_SNDMORE : 0),
            sizes[i]);
}

const char *line_use_slots(line_fixture *fixture)
{
    snprintf(fixture->config.ingest.slots.path, sizeof fixture->config.ingest.slots.path,
             "%s/slots", fixture->folder);
    return fixture->config.ingest.slots.path;
}

const char *line_use_slots_of(line_fixture *fixture, const char *kind)
{
    crn_texts *kinds = &fixture->config.ingest.slots.kinds;
    kinds->count = 1;
    snprintf(kinds->item[0], sizeof kinds->item[0], "%s", kind);
    return line_use_slots(fixture);
}

static void leave_in_slot(crn_raw_producer *producer, const crn_view_header *header,
                          const void *maps, const void *intensity)
{
    uint32_t slot = crn_raw_producer_take(producer);
    crn_raw_producer_fill(producer, slot, header, maps, intensity);
    crn_raw_producer_send(producer, slot, header);
}

void line_send(line_fixture *fixture, crn_view_header header, const void *maps,
               const void *intensity)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    header.sequence = fixture->sequence++;
    header.payload_bytes =
        (uint64_t)header.height * header.width * header.channels * crn_type_bytes(header.type);
    header.flags =
        (uint16_t)((intensity ? CRN_WIRE_FLAG_INTENSITY : 0) | (header.flags & CRN_WIRE_FLAG_POSE));
    if (fixture->producer) {
        leave_in_slot(fixture->producer, &header, maps, intensity);
        return;
    }
    crn_wire_pack(&header, bytes);
    const void *parts[] = {bytes, maps, intensity};
    size_t sizes[] = {sizeof bytes, header.payload_bytes, crn_wire_intensity_bytes(&header)};
    line_send_parts(fixture, parts, sizes, intensity ? 3 : 2);
}

static double number_of(const msgpack_object *object)
{
    if (object->type == MSGPACK_OBJECT_FLOAT64 || object->type == MSGPACK_OBJECT_FLOAT32)
        return object->via.f64;
    return (double)object->via.u64;
}

static const msgpack_object *find(const msgpack_object *map, const char *key)
{
    assert_int_equal(map->type, MSGPACK_OBJECT_MAP);
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object *name = &map->via.map.ptr[i].key;
        if (name->via.str.size == strlen(key) && memcmp(name->via.str.ptr, key, strlen(key)) == 0)
            return &map->via.map.ptr[i].val;
    }
    fail_msg("a verdict without '%s'", key);
    return NULL;
}

static void copy_text(const msgpack_object *text, char *to, size_t bytes)
{
    snprintf(to, bytes, "%.*s", (int)text->via.str.size, text->via.str.ptr);
}

static void read_verdict(const msgpack_object *map, seen_verdict *ret_verdict)
{
    const msgpack_object *kind = find(map, "verdict");
    *ret_verdict = (seen_verdict){
        .fruit = find(map, "fruit")->via.u64,
        .sequence = find(map, "sequence")->via.u64,
        .lane = find(map, "lane")->via.u64,
        .views_expected = find(map, "views_expected")->via.u64,
        .views_received = find(map, "views_received")->via.u64,
        .views_judged = find(map, "views_judged")->via.u64,
        .defects = find(map, "defects")->via.array.size,
        .stale = find(map, "stale")->via.boolean,
        .truncated = find(map, "truncated")->via.boolean,
        .budget_ms = number_of(find(map, "budget_ms")),
        .total_ms = number_of(find(find(map, "latency_ms"), "total")),
    };
    copy_text(find(map, "settings"), ret_verdict->settings, sizeof ret_verdict->settings);
    copy_text(find(map, "recipe"), ret_verdict->recipe, sizeof ret_verdict->recipe);
    copy_text(find(map, "lot"), ret_verdict->lot, sizeof ret_verdict->lot);
    copy_text(kind, ret_verdict->verdict, sizeof ret_verdict->verdict);
}

unsigned char *line_receive_bytes(line_fixture *fixture, int wait_ms, size_t *ret_size)
{
    zmq_pollitem_t item = {.socket = fixture->grader, .events = ZMQ_POLLIN};
    int r;
    do
        r = zmq_poll(&item, 1, wait_ms);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return NULL;
    zmq_msg_t topic, verdict;
    zmq_msg_init(&topic);
    zmq_msg_init(&verdict);
    assert_true(zmq_msg_recv(&topic, fixture->grader, 0) > 6);
    assert_memory_equal(zmq_msg_data(&topic), "fruit/", 6);
    assert_true(zmq_msg_recv(&verdict, fixture->grader, 0) > 0);
    *ret_size = zmq_msg_size(&verdict);
    unsigned char *bytes = malloc(*ret_size);
    assert_non_null(bytes);
    memcpy(bytes, zmq_msg_data(&verdict), *ret_size);
    zmq_msg_close(&topic);
    zmq_msg_close(&verdict);
    return bytes;
}

bool line_receive(line_fixture *fixture, int wait_ms, seen_verdict *ret_verdict)
{
    size_t size = 0;
    unsigned char *bytes = line_receive_bytes(fixture, wait_ms, &size);
    if (!bytes)
        return false;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)bytes, size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    read_verdict(&unpacked.data, ret_verdict);
    msgpack_unpacked_destroy(&unpacked);
    free(bytes);
    return true;
}

crn_view_header line_header(const line_fixture *fixture, uint64_t fruit, uint16_t view,
                            uint16_t views, uint32_t height, uint32_t width)
{
    return (crn_view_header){
        .epoch = 7,
        .fruit = fruit,
        .view = view,
        .views = views,
        .height = height,
        .width = width,
        .channels = (uint32_t)fixture->config.classes.count,
        .type = CRN_F32,
        .layout = CRN_HWC,
        .class_set = crn_classes_hash(&fixture->config.classes),
    };
}

float *line_discs(uint32_t height, uint32_t width, uint32_t channels)
{
    float *maps = calloc((size_t)height * width * channels, sizeof *maps);
    assert_non_null(maps);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 1; c < channels; c++) {
                double dx = (double)x - width * (double)c / channels;
                double dy = (double)y - height / 2.0;
                double radius = height / 4.0;
                double distance = dx * dx + dy * dy;
                maps[((size_t)y * width + x) * channels + c] =
                    (float)(1.0 /
                            (1.0 + distance * distance / (radius * radius * radius * radius)));
            }
        }
    }
    return maps;
}
