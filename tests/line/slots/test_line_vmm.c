/* Views in slots in the memory of a simulated device: the same verdicts as of host memory, what is
 * copied to the host, producers that do not end their work, a device that is lost with its views.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "src/line/internal.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_export.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/line/decoded_verdict.h"
#include "tests/support/line/every_stage.h"

#define FRUITS  8
#define ROUNDS  12
#define HEIGHT  24
#define WIDTH   40
#define CLASSES 2

static line_fixture line;
static crn_raw_producer producer;
static float *maps;

static int set_up(void **state)
{
    (void)state;
    maps = line_discs(HEIGHT, WIDTH, CLASSES);
    crn_fake_gpu_refuse_exports(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crn_raw_producer_close(&producer);
    free(maps);
    return 0;
}

static void stop(void)
{
    crn_raw_producer_hang_up(&producer);
    line_stop(&line);
    crn_raw_producer_close(&producer);
}

/* --- a line with every step, among them textures, which are computed here --- */

static void start_every_stage(const crn_gpu *gpu, const char *kind)
{
    every_stage_start(&line, &(every_stage_settings){.backend = gpu ? "cuda" : "openmp",
                                                     .workers = 2,
                                                     .threads = 1,
                                                     .gpu = gpu,
                                                     .slots = kind});
    const char *path = line.config.ingest.slots.path;
    if (gpu)
        crn_raw_producer_open_vmm(path, 0, 1 << 20, &producer);
    else
        crn_raw_producer_open(path, 0, 1 << 20, &producer);
    line.producer = &producer;
}

static void verdicts_are_those_of_host_memory(void **state)
{
    (void)state;
    verdict_bytes expected[FRUITS], verdicts[FRUITS];
    start_every_stage(NULL, "memfd");
    every_stage_judge(&line, 0, FRUITS, expected);
    stop();
    start_every_stage(crn_fake_gpu(1, false), "vmm");
    for (uint64_t round = 0; round < ROUNDS; round++) {
        every_stage_judge(&line, round * FRUITS * CRN_EVERY_STAGE_SHOWN, FRUITS, verdicts);
        for (int i = 0; i < FRUITS; i++)
            every_stage_expect_same(&expected[i], &verdicts[i]);
        every_stage_free(verdicts, FRUITS);
    }
    stop();
    every_stage_free(expected, FRUITS);
    assert_true(line.metrics.engine.device > FRUITS);
    assert_int_equal(line.metrics.engine.device_copied,
                     ROUNDS * FRUITS * CRN_EVERY_STAGE_VIEWS); /* for their textures */
    assert_true(crn_fake_gpu_all_freed());
    assert_int_equal(crn_fake_gpu_exported(), 0);
}

/* --- a plain chain --- */

static void start_with(const crn_gpu *gpu, const char *kind, const char *more)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
             "chain: [contours]\n"
             "run: {backend: %s, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "log: {level: error}\n%s",
             gpu ? "cuda" : "openmp", more);
    line_configure(&line, yaml);
    line.config.ingest.slots.slots = 4;
    const char *path = line_use_slots_of(&line, kind);
    line_run(&line, gpu);
    if (strcmp(kind, "vmm") == 0)
        crn_raw_producer_open_vmm(path, 0, sizeof *maps * HEIGHT * WIDTH * CLASSES, &producer);
    else
        crn_raw_producer_open(path, 0, sizeof *maps * HEIGHT * WIDTH * CLASSES, &producer);
    line.producer = &producer;
}

static void start(const crn_gpu *gpu)
{
    start_with(gpu, "vmm", "");
}

static crn_view_header header_of(uint64_t fruit)
{
    crn_view_header header = line_header(&line, fruit, 0, 1, HEIGHT, WIDTH);
    header.payload_bytes = sizeof *maps * HEIGHT * WIDTH * CLASSES;
    return header;
}

/* Sends the view, and has it judged. */
static crn_decoded *judge(uint64_t fruit)
{
    line_send(&line, header_of(fruit), maps, NULL);
    return line_receive_decoded(&line);
}

/* Until the device has its graphs. */
static void warm_up(uint64_t *fruit)
{
    for (bool is_warm = false; !is_warm; ++*fruit) {
        crn_decoded *verdict = judge(*fruit);
        is_warm = crn_decoded_on_device(&verdict->views[0]);
        crn_decoded_free(&verdict);
    }
}

/* Other values for each fruit. */
static void draw(uint64_t fruit)
{
    float *discs = line_discs(HEIGHT, WIDTH, CLASSES);
    for (int i = 0; i < HEIGHT * WIDTH * CLASSES; i++)
        maps[i] = discs[i] * (1 - (float)fruit / 1000);
    free(discs);
}

#define PLAIN 50

static void judge_plain(uint64_t first, double means[PLAIN])
{
    for (uint64_t i = 0; i < PLAIN; i++) { /* each slot many times */
        draw(i);
        crn_decoded *verdict = judge(first + i);
        assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
        assert_int_equal(verdict->defect_count, 1);
        assert_true(crn_decoded_on_device(&verdict->views[0]) == (first > 0));
        means[i] = verdict->defects[0].mean_probability;
        crn_decoded_free(&verdict);
    }
}

static void of_plain_views_nothing_is_copied(void **state)
{
    (void)state;
    uint64_t fruit = 1;
    double expected[PLAIN], means[PLAIN];
    start_with(NULL, "memfd", "");
    judge_plain(0, expected);
    stop();
    start(crn_fake_gpu(1, false));
    warm_up(&fruit);
    judge_plain(fruit, means);
    assert_memory_equal(means, expected, sizeof means);
    line_end(&line);
    assert_int_equal(line.line->meters.lanes[0].received[CRN_INGEST_VMM], fruit - 1 + PLAIN);
    line_close(&line);
    assert_true(line.metrics.engine.device_copied < fruit);
    assert_true(line.metrics.values.frozen < fruit); /* only those before: samples are theirs */
}

static void maps_that_are_wrong_are_found(void **state)
{
    (void)state;
    uint64_t fruit = 0;
    start(crn_fake_gpu(1, false));
    warm_up(&fruit);
    maps[CLASSES * 7 + 1] = NAN;
    crn_decoded *verdict = judge(fruit);
    assert_int_equal(verdict->kind, CRN_VERDICT_PARTIAL);
    assert_string_equal(verdict->views[0].reason, "not_finite");
    crn_decoded_free(&verdict);
    stop();
}

/* --- producers that do not end their work --- */

/* Sends a view that its producer's stream has not written yet; its slot. */
static uint32_t send_unwritten(uint64_t fruit, uint64_t deadline_ns)
{
    crn_view_header header = header_of(fruit);
    header.sequence = line.sequence++;
    header.deadline_ns = deadline_ns;
    uint32_t slot = crn_raw_producer_take(&producer);
    memset(crn_raw_producer_slot(&producer, slot), 0, header.payload_bytes);
    crn_fake_gpu_record(crn_raw_producer_signal(&producer, slot), false);
    crn_raw_producer_send(&producer, slot, &header);
    return slot;
}

static void a_view_is_judged_once_it_is_written(void **state)
{
    (void)state;
    uint64_t fruit = 0;
    start(crn_fake_gpu(1, false));
    warm_up(&fruit);
    uint32_t slot = send_unwritten(fruit, 0);
    for (uint64_t next = fruit + 1; next < fruit + 10; next++) { /* others overtake it */
        crn_decoded *verdict = judge(next);
        assert_int_equal(verdict->fruit, next);
        crn_decoded_free(&verdict);
    }
    crn_view_header header = header_of(fruit);
    crn_raw_producer_fill(&producer, slot, &header, maps, NULL);
    crn_fake_gpu_record(crn_raw_producer_signal(&producer, slot), true);
    crn_decoded *verdict = line_receive_decoded(&line);
    assert_int_equal(verdict->fruit, fruit);
    assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
    assert_int_equal(verdict->defect_count, 1);
    crn_decoded_free(&verdict);
    stop();
}

/* Moves the clock past the deadline of a view that is never written. */
static void expect_lost_at_deadline(uint64_t fruit)
{
    uint32_t slot = send_unwritten(fruit, (uint64_t)crn_realtime_ns() + 9 * CRN_NS_PER_S);
    crn_decoded *other = judge(fruit + 1); /* the line has the one before */
    crn_decoded_free(&other);
    line_move_clock(&line, 10 * CRN_NS_PER_S);
    crn_decoded *verdict = line_receive_decoded(&line);
    assert_int_equal(verdict->fruit, fruit);
    assert_int_equal(verdict->kind, CRN_VERDICT_LATE);
    assert_string_equal(verdict->views[0].reason, "unfinished");
    crn_decoded_free(&verdict);
    while (!crn_raw_producer_is_free(&producer, slot))
        poll(NULL, 0, 1);
    crn_fake_gpu_record(crn_raw_producer_signal(&producer, slot), true);
}

static void a_view_that_is_never_written_is_lost_at_its_deadline(void **state)
{
    (void)state;
    uint64_t fruit = 0;
    start(crn_fake_gpu(1, false));
    warm_up(&fruit);
    expect_lost_at_deadline(fruit);
    crn_decoded *verdict = judge(fruit + 2); /* and the line goes on */
    assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
    crn_decoded_free(&verdict);
    stop();
    assert_int_equal(line.metrics.engine.lost, 0);
    assert_int_equal(crn_fake_gpu_exported(), 0);
}

/* --- a device that is lost --- */

static void a_lost_device_takes_its_views_with_it(void **state)
{
    (void)state;
    uint64_t fruit = 0;
    char byte;
    start(crn_faulty_gpu(crn_fake_gpu(1, false)));
    warm_up(&fruit);
    crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    crn_decoded *verdict = judge(fruit);
    assert_string_equal(verdict->views[0].reason, "device_lost");
    crn_decoded_free(&verdict);
    ssize_t got;
    while ((got = recv(producer.connection, &byte, 1, 0)) > 0) /* it is told */
        continue;
    assert_true(got == 0 || errno == ECONNRESET);
    crn_raw_producer_expect_refusal(line.config.ingest.slots.path, 0, ENODEV, "was lost");
    stop();
    assert_int_equal(line.metrics.engine.lost, 1);
    assert_int_equal(line.metrics.engine.device_lost, 0); /* none went to the processor */
    assert_int_equal(line.metrics.fruits.device_lost, 1);
    assert_true(crn_fake_gpu_exported() > 0); /* on purpose */
}

/* The device has nothing to do but to ask for events. */
static void a_device_that_is_lost_while_it_waits_for_producers_is_noticed(void **state)
{
    (void)state;
    uint64_t fruit = 0;
    start(crn_faulty_gpu(crn_fake_gpu(1, false)));
    warm_up(&fruit);
    send_unwritten(fruit, 0);
    crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    crn_decoded *verdict = line_receive_decoded(&line);
    assert_string_equal(verdict->views[0].reason, "device_lost");
    crn_decoded_free(&verdict);
    stop();
    assert_int_equal(line.metrics.engine.lost, 1);
}

/* Waits until no thread of the process has that name. */
static void wait_until_gone(const char *name)
{
    for (bool is_gone = false; !is_gone;) {
        is_gone = true;
        DIR *tasks = opendir("/proc/self/task");
        assert_non_null(tasks);
        for (const struct dirent *entry; (entry = readdir(tasks));) {
            char path[300], comm[32] = "";
            snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
            FILE *file = fopen(path, "r");
            if (file && fgets(comm, sizeof comm, file))
                is_gone &= strncmp(comm, name, strlen(name)) != 0;
            if (file)
                fclose(file);
        }
        closedir(tasks);
        poll(NULL, 0, 1);
    }
}

/* Its thread returns from a call when the line and its views are no more; what it must not touch
 * then, sanitizers see. */
static void a_thread_that_returns_after_the_line_touches_no_view(void **state)
{
    (void)state;
    uint64_t fruit = 0;
    start(crn_faulty_gpu(crn_fake_gpu(1, false)));
    warm_up(&fruit);
    send_unwritten(fruit, 0);
    send_unwritten(fruit + 1, 0);
    crn_faulty_gpu_set(CRN_GPU_STUCK, 0);
    while (!crn_faulty_gpu_struck())
        poll(NULL, 0, 1);
    for (int i = 0; i < 10; i++) /* a device is given up when it was seen in a call several times */
        line_move_clock(&line, 2 * CRN_NS_PER_S);
    for (int i = 0; i < 2; i++) {
        crn_decoded *verdict = line_receive_decoded(&line);
        assert_string_equal(verdict->views[0].reason, "device_lost");
        crn_decoded_free(&verdict);
    }
    stop();
    crn_faulty_gpu_let_go();
    wait_until_gone("device 0");
    assert_int_equal(line.metrics.engine.lost, 1);
}

/* --- refusals --- */

static void a_ring_that_cannot_be_had_is_refused_with_the_reason(void **state)
{
    (void)state;
    start(crn_fake_gpu(1, false));
    const char *path = line.config.ingest.slots.path;
    crn_raw_producer_expect_refusal(path, 1, ENODEV, "run.devices");
    crn_fake_gpu_refuse_exports(-ENOTSUP);
    crn_raw_producer_expect_refusal(path, 0, EOPNOTSUPP, "the GPU refuses a ring");
    crn_fake_gpu_refuse_exports(-EIO);
    crn_raw_producer_expect_refusal(path, 0, EIO, "the GPU refuses a ring: Input/output error");
    crn_fake_gpu_refuse_exports(-ENOMEM);
    crn_raw_producer_expect_refusal(path, 0, ENOMEM, "no memory on the GPU for a ring of 0 MiB");
    stop();
    start_with(NULL, "memfd", "");
    crn_raw_producer_expect_refusal(line.config.ingest.slots.path, 0, EOPNOTSUPP,
                                    "ingest.slots.kinds");
    stop();
}

static void without_a_gpu_none_is_given(void **state)
{
    (void)state;
    line_configure(&line, "classes: [{name: rot, level: 0.5}]\nchain: [contours]\n"
                          "run: {backend: auto, workers: 1, threads: 1}\nlog: {level: error}\n");
    const char *path = line_use_slots_of(&line, "vmm");
    line_run(&line, NULL);
    crn_raw_producer_expect_refusal(path, 0, ENODEV, "no GPU");
    line_stop(&line);
}

int main(void)
{
#define ON_LINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_LINE(verdicts_are_those_of_host_memory),
        ON_LINE(of_plain_views_nothing_is_copied),
        ON_LINE(maps_that_are_wrong_are_found),
        ON_LINE(a_view_is_judged_once_it_is_written),
        ON_LINE(a_view_that_is_never_written_is_lost_at_its_deadline),
        ON_LINE(a_ring_that_cannot_be_had_is_refused_with_the_reason),
        ON_LINE(without_a_gpu_none_is_given),
        ON_LINE(a_lost_device_takes_its_views_with_it),
        ON_LINE(a_device_that_is_lost_while_it_waits_for_producers_is_noticed),
        ON_LINE(a_thread_that_returns_after_the_line_touches_no_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
