/* cernita.h in processes that fork, cannot start threads, have small stacks, block signals, or use
 * OpenMP themselves. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/cernita.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"

/* Large enough for all four threads. */
enum { SIDE = 1024, PIXELS = SIDE * SIDE, THREADS = 4, PATIENCE_S = 300 };

#define STACK_BYTES (128 << 10) /* as cernita.h promises */

static float picture[PIXELS], alone[PIXELS], together[PIXELS];
static char folder[64], path[128];

/* --- libc's, with a limit of threads as of a user or a control group --- */

static atomic_int alive, alive_max = INT_MAX;

typedef struct started {
    void *(*run)(void *);
    void *argument;
} started;

static void *run_counted(void *argument)
{
    started it = *(started *)argument;
    free(argument);
    void *result = it.run(it.argument);
    atomic_fetch_sub(&alive, 1);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static create_fn *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    started *it = malloc(sizeof *it);
    int r = !it || atomic_fetch_add(&alive, 1) >= atomic_load(&alive_max) ? EAGAIN : 0;
    if (r == 0) {
        *it = (started){run, argument};
        r = real(thread, attributes, run_counted, it);
    }
    if (r != 0) {
        atomic_fetch_sub(&alive, 1);
        free(it);
    }
    return r;
}

/* --- what is called --- */

static int compute(int32_t threads, float *to)
{
    crn_context *context;
    int r = crn_context_open(&(crn_context_settings){.threads = threads}, &context);
    if (r < 0)
        return r;
    crn_image in = crn_image_dense(picture, CRN_F32, CRN_CHW, 1, SIDE, SIDE), out = in;
    out.data = to;
    crn_morphology_params element = {CRN_OPEN, {CRN_ELEMENT_DISK, 9, 9, NULL, NULL}};
    r = crn_morphology(context, &element, &in, &out);
    double level = 0.5;
    crn_contours none = {.point_capacity = 0};
    if (r == 0)
        r = crn_find_contours(context, &(crn_contours_params){.levels = &level}, &in, &none);
    crn_context_free(&context);
    return r;
}

static void expect_the_same(void)
{
    memset(together, 0, sizeof together);
    assert_int_equal(compute(THREADS, together), 0);
    assert_memory_equal(together, alone, sizeof alone);
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < PIXELS; i++)
        picture[i] = (float)((i * 2654435761u) >> 16 & 255) / 255;
    strcpy(folder, "/tmp/cernita-library-XXXXXX");
    if (!mkdtemp(folder) || compute(1, alone) != 0)
        return -1;
    daemon_write_config(folder, "line.yaml",
                        "classes: [{name: rot, level: 0.5}]\n"
                        "chain: [convolve: {kernel: gaussian, size: 3}, haar: {levels: 2}, "
                        "contours, ranklet: {windows: 4}]\n",
                        path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path) || rmdir(folder);
}

/* --- processes --- */

/* Runs it in a child, which must end by itself. */
static void in_a_child(int (*run)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        _exit(run());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %x", (unsigned)status);
}

static int compare(void)
{
    return compute(THREADS, together) != 0 || memcmp(together, alone, sizeof alone) != 0;
}

static void *compare_in_thread(void *ret_failed)
{
    *(int *)ret_failed = compare();
    return NULL;
}

static int compare_twice(void)
{
    pthread_t thread;
    int failed = 1;
    if (compare() || pthread_create(&thread, NULL, compare_in_thread, &failed) ||
        pthread_join(thread, NULL))
        return 1;
    return failed;
}

/* libgomp's threads are not the child's, where waiting for them would last for ever. */
static void a_child_computes_as_its_parent_does(void **state)
{
    (void)state;
    expect_the_same();
    in_a_child(compare_twice);
    expect_the_same();
}

static int compare_with_few_threads(void)
{
    for (int more = 0; more < THREADS; more++) {
        pthread_t thread;
        int failed = 1;
        atomic_store(&alive, 0);
        atomic_store(&alive_max, 1 + more); /* the caller, whose teams are new, and so many */
        if (pthread_create(&thread, NULL, compare_in_thread, &failed))
            return 2;
        pthread_join(thread, NULL);
        if (failed)
            return 1;
    }
    return 0;
}

/* libgomp would end the process. */
static void threads_that_cannot_be_started_are_done_without(void **state)
{
    (void)state;
    in_a_child(compare_with_few_threads);
}

/* --- threads --- */

static void *use_everything(void *ret_failed)
{
    static uint8_t maps[64 * 64];
    crn_context *context = NULL;
    crn_chain *chain = NULL;
    const crn_defects *defects;
    for (int i = 0; i < 64 * 64; i++)
        maps[i] = (uint8_t)(i * 37);
    crn_image view = crn_image_dense(maps, CRN_U8, CRN_CHW, 1, 64, 64);
    crn_image third = crn_image_dense(together, CRN_F32, CRN_CHW, 3, 61, 61);
    crn_image field = crn_image_dense(together, CRN_F32, CRN_CHW, 1, 64, 64);
    int failed = crn_context_open(NULL, &context);
    if (!failed)
        failed = crn_chain_open(context, path, &chain);
    if (!failed)
        failed = crn_chain_judge(chain, &view, NULL, &defects);
    if (!failed)
        failed = crn_ranklet(context, &(crn_ranklet_params){4, 4}, &view, &third);
    if (!failed)
        failed = crn_diamond_square(context, &(crn_diamond_square_params){6, 1, 0.5, 0, 0}, &field);
    crn_chain_free(&chain);
    crn_context_free(&context);
    *(int *)ret_failed = failed || compare();
    return NULL;
}

static bool is_mask_kept(const sigset_t *before)
{
    sigset_t now = {0};
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return memcmp(before, &now, sizeof now) == 0;
}

static void a_small_stack_and_blocked_signals_are_enough(void **state)
{
    (void)state;
    pthread_attr_t small;
    pthread_t thread;
    sigset_t all, before;
    int failed = 1;
    size_t stack = STACK_BYTES;
#if defined(__SANITIZE_ADDRESS__)
    stack *= 4; /* its redzones */
#endif
    sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    sigset_t blocked = {0};
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, stack), 0);
    assert_int_equal(pthread_create(&thread, &small, use_everything, &failed), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_mask_kept(&blocked));
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    pthread_attr_destroy(&small);
    assert_int_equal(failed, 0);
}

/* libgomp starts no further threads there, and each call computes with what it gets. */
static void the_callers_own_parallel_region_is_no_obstacle(void **state)
{
    (void)state;
    int failed = 0;
#pragma omp parallel num_threads(3) reduction(+ : failed)
    {
        float *mine = calloc(PIXELS, sizeof *mine);
        failed += !mine || compute(THREADS, mine) != 0 || memcmp(mine, alone, sizeof alone) != 0;
        free(mine);
    }
    assert_int_equal(failed, 0);
}

/* As a plug-in, again and again; libgomp stays, with its threads. */
static void it_can_be_loaded_and_unloaded(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        void *library = dlopen(CRN_BIN "/../lib/libcernita.so", RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fail_msg("%s", dlerror());
        int (*open)(const crn_context_settings *, crn_context **);
        void (*done)(crn_context **);
        int (*morphology)(crn_context *, const crn_morphology_params *, const crn_image *,
                          crn_image *);
        *(void **)&open = dlsym(library, "crn_context_open");
        *(void **)&done = dlsym(library, "crn_context_free");
        *(void **)&morphology = dlsym(library, "crn_morphology");
        crn_context *context;
        assert_int_equal(open(&(crn_context_settings){.threads = THREADS}, &context), 0);
        crn_image in = crn_image_dense(picture, CRN_F32, CRN_CHW, 1, SIDE, SIDE), out = in;
        out.data = together;
        crn_morphology_params element = {CRN_OPEN, {CRN_ELEMENT_DISK, 9, 9, NULL, NULL}};
        assert_int_equal(morphology(context, &element, &in, &out), 0);
        assert_memory_equal(together, alone, sizeof alone);
        done(&context);
        assert_int_equal(dlclose(library), 0);
    }
}

/* In a program that has no libgomp of its own, whose threads sleep in it once the call is over. */
static void threads_outlive_the_library_that_started_them(void **state)
{
    (void)state;
    int status = system(CRN_BIN "/plugin_host " CRN_BIN "/../lib/libcernita.so");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the program ended with status %x", (unsigned)status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_computes_as_its_parent_does),
        cmocka_unit_test(threads_that_cannot_be_started_are_done_without),
        cmocka_unit_test(a_small_stack_and_blocked_signals_are_enough),
        cmocka_unit_test(the_callers_own_parallel_region_is_no_obstacle),
        cmocka_unit_test(it_can_be_loaded_and_unloaded),
        cmocka_unit_test(threads_outlive_the_library_that_started_them),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
