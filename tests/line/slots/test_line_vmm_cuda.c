/*
 * Views in the memory of the machine's GPU, of a producer in a process of its own, as one has to be
 * (a process cannot open its own events): verdicts are those of the same views in host memory, and
 * when daemon and producer have ended the GPU has its memory back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/formats/verdict_log/reader.h"
#include "stages/base/clock.h"
#include "stages/producer/cernita_producer_gpu.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/line/decoded_verdict.h"
#include "tests/support/line/every_stage.h"
#include "tests/support/programs/shell.h"
#include "tests/support/slots/vmm_producer.h"

#define PATIENCE_MS 60000
#define FRUITS      120
#define HEIGHT      95
#define WIDTH       511
#define CLASSES     3
#define PIXELS      (HEIGHT * WIDTH)

/* How the views get to the line. */
typedef struct way {
    const char *backend, *kind;
} way;

static char folder[64], socket_path[96], yaml_path[128];
static daemon_process process;

static int set_up(void **state)
{
    (void)state;
    if (daemon_make_folder(folder) != 0)
        return -1;
    snprintf(socket_path, sizeof socket_path, "%s/slots", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[256], output[256];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return crn_test_shell(command, output, sizeof output);
}

static void start_daemon(const way *by, const char *chain)
{
    char yaml[1024], log[128];
    snprintf(log, sizeof log, "%s/log-%s-%s", folder, by->backend, by->kind);
    mkdir(log, 0700);
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.3}]\n"
             "chain: %s\n"
             "ingest: {bind: ['ipc://%s/in'], slots: {path: %s, kinds: %s}}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'},\n"
             "          log: {dir: %s}}\n"
             "latency: {budget_ms: 20000, assemble_ms: 60000}\n"
             "limits: {view_mib: 1}\n"
             "run: {backend: %s, workers: 2, threads: 1}\n"
             "monitor: {http: ''}\n"
             "log: {level: error}\n",
             chain, folder, socket_path, by->kind, folder, folder, log, by->backend);
    daemon_write_config(folder, "line.yaml", yaml, yaml_path);
    const char *arguments[] = {"cernitad", "--config", yaml_path, NULL};
    daemon_start(&process, arguments);
}

static void stop_daemon(void)
{
    kill(process.pid, SIGTERM);
    daemon_end(&process);
    if (strstr(process.text, "ERROR"))
        fail_msg("%s", process.text);
}

/* --- the producer, a process of its own --- */

/* Bright squares, of every other view with NaN in it. */
static void draw(uint64_t fruit, uint8_t *maps, uint8_t *grey)
{
    for (uint32_t i = 0; i < PIXELS; i++) {
        uint32_t x = i % WIDTH, y = i / WIDTH;
        uint32_t noise = (uint32_t)(i + fruit) * UINT32_C(2654435761) >> 27;
        bool is_spot = (x / 20 + y / 20 + fruit) % 5 == 0;
        grey[i] = (uint8_t)(noise * 8);
        maps[CLASSES * i + 1] = (uint8_t)(is_spot ? 200 - noise : noise);
        maps[CLASSES * i + 2] = (uint8_t)((x + y + fruit) % 90 < 20 ? 90 + noise : 0);
        maps[CLASSES * i] =
            (uint8_t)(255 - maps[CLASSES * i + 1] -
                      (maps[CLASSES * i + 2] < 255 - maps[CLASSES * i + 1] ? maps[CLASSES * i + 2]
                                                                           : 0));
    }
}

static int send_one(crn_vmm_producer *from, uint64_t fruit, const uint8_t *maps,
                    const uint8_t *grey)
{
    const crn_producer_view view = {.sequence = fruit,
                                    .epoch = 1,
                                    .fruit = fruit,
                                    .views = 1,
                                    .height = HEIGHT,
                                    .width = WIDTH,
                                    .channels = CLASSES,
                                    .type = CRN_PRODUCER_U8,
                                    .layout = CRN_PRODUCER_HWC,
                                    .has_intensity = fruit % 3 == 0};
    crn_producer_slot slot;
    int r = crn_producer_take(from->producer, &view, PATIENCE_MS, &slot);
    if (r == 0)
        r = crn_vmm_producer_write(from, &slot, 0, maps, (size_t)PIXELS * CLASSES);
    if (r == 0 && slot.intensity)
        r = crn_vmm_producer_write(from, &slot, (size_t)(slot.intensity - (uint8_t *)slot.tensor),
                                   grey, PIXELS);
    if (r == 0)
        r = crn_vmm_producer_record(from, &slot);
    return r < 0 ? r : crn_producer_send(from->producer, &view, &slot);
}

static int produce(const way *by)
{
    static uint8_t maps[PIXELS * CLASSES], grey[PIXELS];
    crn_vmm_producer from;
    int r = crn_vmm_producer_open(socket_path, (PIXELS * (CLASSES + 1)) + 64,
                                  strcmp(by->kind, "vmm") == 0, &from);
    for (uint64_t fruit = 0; fruit < FRUITS && r == 0; fruit++) {
        draw(fruit, maps, grey);
        r = send_one(&from, fruit, maps, grey);
    }
    if (r < 0)
        fprintf(stderr, "the producer: %s, %s\n", strerror(-r),
                from.producer ? crn_producer_error(from.producer) : "not connected");
    crn_vmm_producer_close(&from);
    return r < 0 ? 1 : 0;
}

static void run_producer(const way *by)
{
    int status;
    pid_t child = crn_cleanup_fork();
    if (child == 0)
        _exit(produce(by));
    assert_int_equal(crn_cleanup_wait(child, &status), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- what was judged --- */

static uint32_t read_log(const way *by, verdict_bytes verdicts[FRUITS], uint32_t *ret_on_device)
{
    char log[128];
    crn_verdict_reader *reader;
    crn_logged_verdict logged;
    crn_error error;
    uint32_t count = 0;
    snprintf(log, sizeof log, "%s/log-%s-%s", folder, by->backend, by->kind);
    if (crn_verdict_reader_open(log, &reader, &error) < 0)
        fail_msg("%s", error.text);
    while (crn_verdict_reader_next(reader, &logged, &error) > 0) {
        crn_decoded *verdict = verdict_decode(logged.bytes, logged.size);
        assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
        assert_true(verdict->fruit < FRUITS && verdict->defect_count > 0);
        verdict_bytes *one = &verdicts[verdict->fruit];
        assert_null(one->data);
        one->size = logged.size;
        one->data = malloc(logged.size);
        memcpy(one->data, logged.bytes, logged.size);
        *ret_on_device += crn_decoded_on_device(&verdict->views[0]);
        crn_decoded_free(&verdict);
        count++;
    }
    crn_verdict_reader_close(&reader);
    return count;
}

static uint32_t judge(const way *by, const char *chain, verdict_bytes verdicts[FRUITS])
{
    uint32_t on_device = 0;
    start_daemon(by, chain);
    run_producer(by);
    stop_daemon();
    assert_int_equal(read_log(by, verdicts, &on_device), FRUITS);
    return on_device;
}

static void compare(const char *chain)
{
    static const way ways[] = {{"openmp", "memfd"}, {"cuda", "memfd"}, {"cuda", "vmm"}};
    verdict_bytes verdicts[3][FRUITS] = {{{0}}};
    for (int i = 0; i < 3; i++) {
        uint32_t on_device = judge(&ways[i], chain, verdicts[i]);
        print_message("%s %s: %u verdicts, %u on the device\n", ways[i].backend, ways[i].kind,
                      FRUITS, on_device);
        assert_true((on_device > 0) == (i > 0));
    }
    for (int i = 0; i < 3 * FRUITS; i++) {
        every_stage_expect_same(&verdicts[0][i % FRUITS], &verdicts[i / FRUITS][i % FRUITS]);
        if (i >= FRUITS)
            free(verdicts[i / FRUITS][i % FRUITS].data);
    }
    for (int i = 0; i < FRUITS; i++)
        free(verdicts[0][i].data);
}

static void contours_are_those_of_host_memory(void **state)
{
    (void)state;
    crn_vmm_require_gpu();
    compare("[contours]");
}

static void textures_are_those_of_host_memory(void **state)
{
    (void)state;
    crn_vmm_require_gpu();
    compare("[morphology: {size: 3}, contours: {min_area_px: 20}, ranklet: {windows: [8]}]");
}

/* Other programs may use the GPU: what they take is back in the end, what leaks never. */
static void the_gpu_has_its_memory_back(void **state)
{
    (void)state;
    static const way by = {"cuda", "vmm"};
    verdict_bytes verdicts[FRUITS];
    crn_vmm_require_gpu();
    size_t before = crn_vmm_free_bytes();
    for (int i = 0; i < 3; i++) {
        memset(verdicts, 0, sizeof verdicts);
        start_daemon(&by, "[contours]");
        run_producer(&by);
        run_producer(&by); /* another ring, whose views are those of fruits judged before */
        stop_daemon();
    }
    size_t after = crn_vmm_free_bytes();
    for (int64_t end_ns = crn_now_ns() + PATIENCE_MS * CRN_NS_PER_MS;
         after < before && crn_now_ns() < end_ns; after = crn_vmm_free_bytes())
        usleep(50000);
    print_message("free bytes of the GPU: %zu before, %zu after\n", before, after);
    assert_true(before > 0 && after >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(contours_are_those_of_host_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(textures_are_those_of_host_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_gpu_has_its_memory_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
