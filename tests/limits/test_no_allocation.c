/*
 * A running line allocates nothing per view, and nothing for the live page. This file replaces the
 * allocation functions of the process and counts calls on the line's threads, except libzmq's own
 * (its message buffers; libstdc++ implements its `new`).
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/peers/http.h"
#include "tests/support/sanitized.h"

#ifdef CRN_SANITIZED

/* Sanitizers replace malloc themselves. */
static void the_line_allocates_nothing_per_view(void **state)
{
    (void)state;
    skip();
}

static void nor_per_view_in_a_slot(void **state)
{
    (void)state;
    skip();
}

static void nor_where_fruits_are_measured(void **state)
{
    (void)state;
    skip();
}

static void nor_does_it_with_a_device(void **state)
{
    (void)state;
    skip();
}

#else

static atomic_bool counting;
static atomic_uint allocations;
static char first_culprit[256];
static _Thread_local bool exempt; /* the test's own thread: sender and grader */

static bool is_libzmq(void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname &&
           (strstr(info.dli_fname, "libzmq") || strstr(info.dli_fname, "libstdc++"));
}

/* The thread that makes the pages is not one of the line's. */
static bool makes_pages(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name, 0, 0, 0);
    return strcmp(name, "http") == 0;
}

static void count(void *caller)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed) || exempt || is_libzmq(caller) ||
        makes_pages())
        return;
    Dl_info info;
    if (atomic_fetch_add(&allocations, 1) == 0 && dladdr(caller, &info))
        snprintf(first_culprit, sizeof first_culprit, "%s (%s)",
                 info.dli_sname ? info.dli_sname : "?", info.dli_fname ? info.dli_fname : "?");
}

/* glibc's internal entry points, which remain available to programs that replace malloc. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_calloc(number, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    count(__builtin_return_address(0));
    *memory = __libc_memalign(alignment, bytes);
    return 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
    count(__builtin_return_address(0));
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset);
}

static unsigned char photograph[95 * 511];

/* Every fourth fruit's maps are not probabilities, which is logged occasionally. */
static void run_fruits(line_fixture *line, float *maps, uint64_t first, uint64_t fruits)
{
    static const float first_of_rot[4] = {1.5f, 0, 0, 0};
    for (uint64_t fruit = first; fruit < first + fruits; fruit++) {
        maps[1] = first_of_rot[fruit % 4];
        for (uint16_t view = 0; view < 4; view++)
            line_send(line, line_header(line, fruit, view, 4, 95, 511), maps,
                      view % 2 ? photograph : NULL);
        seen_verdict verdict;
        assert_true(line_receive(line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, fruit % 4 ? "complete" : "partial");
    }
}

/* Runs until the live page has photographs of a fruit. */
static uint64_t run_with_page(line_fixture *line, float *maps, uint64_t fruits)
{
    const char *address = crn_line_http(line->line);
    char event[16384];
    int code, stream = http_connect(address);
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    do {
        run_fruits(line, maps, fruits, 50);
        fruits += 50;
        assert_true(http_read_until(stream, "event: snapshot", event, sizeof event));
        free(http_get(address, "/photos/1", &code));
    } while (code != 200);
    close(stream);
    return fruits;
}

/* The log's thread, which others go before, lists the folder when it begins a file. */
static void wait_for_log(const line_fixture *line)
{
    char path[256];
    crn_verdict_log_path(path, sizeof path, line->folder, 1);
    while (access(path, F_OK) < 0)
        sched_yield();
}

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain:\n"
    "  - convolve: {kernel: gaussian, size: 3}\n"
    "  - morphology: {operation: open, element: disk, size: 3}\n"
    "  - haar: {levels: 2, threshold: 0.05}\n"
    "  - contours: {border: closed, min_area_px: 1}\n"
    "  - ranklet: {windows: [8, 16]}\n"
    "run: {backend: %s, workers: 1, threads: 1}\n"
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
    "log: {level: warning}\n";

static void count_in(const char *backend, const crn_gpu *gpu, bool slots, const char *more)
{
    exempt = true;
    static line_fixture line;
    char text[1024];
    int used = snprintf(text, sizeof text, yaml, backend);
    snprintf(text + used, sizeof text - (size_t)used, "%s", more);
    line_configure(&line, text);
    snprintf(line.config.publish.log.dir, CRN_TEXT_BYTES, "%s", line.folder);
    line.config.publish.log.keep_mib = 0; /* else it lists the folder once a minute, too */
    snprintf(line.config.monitor.http, CRN_TEXT_BYTES, "127.0.0.1:0");
    const char *path = line_use_slots(&line);
    line_run(&line, gpu);
    static crn_raw_producer producer;
    if (slots) {
        crn_raw_producer_open(path, 0, 2 << 20, &producer);
        line.producer = &producer;
    }
    float *maps = line_discs(95, 511, 3);
    for (size_t i = 0; i < sizeof photograph; i++)
        photograph[i] = (unsigned char)(i * UINT32_C(2654435761) >> 24);
    uint64_t fruits = 0;
    /* Waits until the device is prepared for the shape. */
    do {
        run_fruits(&line, maps, fruits, 10);
        fruits += 10;
    } while (gpu && crn_faulty_gpu_batches() < 20);
    wait_for_log(&line);
    atomic_store(&allocations, 0);
    atomic_store(&counting, true);
    fruits = run_with_page(&line, maps, fruits);
    run_fruits(&line, maps, fruits, 250); /* 1,000 views */
    atomic_store(&counting, false);
    line_stop(&line);
    crn_raw_producer_close(&producer);
    free(maps);
    assert_true(line.metrics.publish.log.written > 100);
    if (atomic_load(&allocations) != 0)
        fail_msg("%u allocations, the first by %s", atomic_load(&allocations), first_culprit);
    assert_true(!gpu || line.metrics.engine.device >= 1000);
}

static void the_line_allocates_nothing_per_view(void **state)
{
    (void)state;
    count_in("openmp", NULL, false, "");
}

static void nor_per_view_in_a_slot(void **state)
{
    (void)state;
    count_in("openmp", NULL, true, "");
}

static void nor_where_fruits_are_measured(void **state)
{
    (void)state;
    count_in("openmp", NULL, false,
             "geometry: {mm_per_px: 0.5, fruit: {class: rot}, surface: {optional: false}}\n");
}

static void nor_does_it_with_a_device(void **state)
{
    (void)state;
    count_in("cuda", crn_faulty_gpu(crn_fake_gpu(1, false)), false, "");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_allocates_nothing_per_view),
        cmocka_unit_test(nor_per_view_in_a_slot),
        cmocka_unit_test(nor_where_fruits_are_measured),
        cmocka_unit_test(nor_does_it_with_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
