/* cernita.h from eight threads with a context each, and 100,000 calls without growth. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/cernita.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

enum { THREADS = 8, SIDE = 16, CLASSES = 2, PIXELS = SIDE * SIDE, OUTPUTS = 8 };

static char folder[] = "/tmp/cernita-library-XXXXXX", path[128];
static float maps[CLASSES * PIXELS];
static uint8_t bytes[PIXELS];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    daemon_write_config(folder, "line.yaml",
                        "classes: [{name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
                        "chain: [morphology: {operation: open, element: disk, size: 3}, contours, "
                        "ranklet: {windows: 4}]\n",
                        path);
    crn_random random = {5};
    for (int i = 0; i < CLASSES * PIXELS; i++)
        maps[i] = (float)crn_random_unit(&random);
    for (int i = 0; i < PIXELS; i++)
        bytes[i] = (uint8_t)crn_random_below(&random, 256);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* `wanted`, or what CRN_ROUNDS says for tools that are slower than that. */
static int rounds_of(int wanted)
{
    const char *text = getenv("CRN_ROUNDS");
    return text && atoi(text) < wanted ? atoi(text) : wanted;
}

/* Everything that one round computes. */
typedef struct outputs {
    float picture[OUTPUTS][3 * PIXELS];
    crn_point points[4 * PIXELS];
    crn_contour contours[PIXELS];
    uint32_t point_count, defect_count;
    float xy[64];
} outputs;

/* Ten calls, three of which are refused. 0 or the first error. */
static int one_round(crn_context *context, crn_chain *chain, outputs *ret)
{
    crn_image in = crn_image_dense(maps, CRN_F32, CRN_CHW, 1, SIDE, SIDE), out = in, third;
    crn_image u8 = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, SIDE, SIDE);
    crn_image view = crn_image_dense(maps, CRN_F32, CRN_CHW, CLASSES, SIDE, SIDE);
    const double level = 0.5;
    const float weights[9] = {0, 1, 0, 1, -4, 1, 0, 1, 0};
    crn_contours found = {.points = ret->points,
                          .contours = ret->contours,
                          .point_capacity = 4 * PIXELS,
                          .contour_capacity = PIXELS};
    int r = crn_find_contours(context, &(crn_contours_params){.levels = &level}, &in, &found);
    ret->point_count = found.point_count;
    crn_morphology_params element = {CRN_GRADIENT, {CRN_ELEMENT_DISK, 3, 3, NULL, NULL}};
    out.data = ret->picture[0];
    r = r < 0 ? r : crn_morphology(context, &element, &in, &out);
    out.data = ret->picture[1];
    crn_convolve_params kernel = {weights, 3, 3, CRN_CONVOLVE_WRAP};
    r = r < 0 ? r : crn_convolve(context, &kernel, &in, &out);
    out.data = ret->picture[2];
    r = r < 0 ? r : crn_haar(context, &(crn_haar_params){.levels = 3}, &in, &out);
    third = crn_image_dense(ret->picture[3], CRN_F32, CRN_CHW, 3, SIDE - 3, SIDE - 3);
    r = r < 0 ? r : crn_ranklet(context, &(crn_ranklet_params){4, 4}, &u8, &third);
    out.data = ret->picture[4];
    crn_diamond_square_params field = {5, 3, 0.5, 0, 0};
    r = r < 0 ? r : crn_diamond_square(context, &field, &out);
    const crn_defects *defects;
    r = r < 0 ? r : crn_chain_judge(chain, &view, &u8, &defects);
    if (r < 0)
        return r;
    ret->defect_count = defects->defect_count;
    memcpy(ret->xy, defects->xy, (defects->point_count < 32 ? defects->point_count : 32) * 8);
    /* Refused: each makes a text, the context's own. */
    out = in;
    if (crn_haar(context, &(crn_haar_params){.levels = 3}, &in, &out) != -EINVAL ||
        !strstr(crn_context_error(context), "haar: out shares memory"))
        return -EPROTO;
    crn_chain *none = NULL;
    if (crn_chain_open(context, "/nowhere.yaml", &none) != -ENOENT ||
        !strstr(crn_context_error(context), "/nowhere.yaml"))
        return -EPROTO;
    if (crn_chain_judge(chain, &u8, NULL, &defects) != -EINVAL ||
        !strstr(crn_context_error(context), "the file has 2 classes"))
        return -EPROTO;
    return 0;
}

#define ROUNDS_EACH 5

/* One thread: contexts and chains, each for some rounds, all with the same result. */
typedef struct caller {
    pthread_t thread;
    int rounds, status;
    outputs result;
} caller;

static void *work(void *argument)
{
    caller *self = argument;
    crn_context *context = NULL;
    crn_chain *chain = NULL;
    for (int i = 0; i < self->rounds && self->status == 0; i++) {
        if (i % ROUNDS_EACH == 0) {
            crn_chain_free(&chain);
            crn_context_free(&context);
            self->status = crn_context_open(NULL, &context);
            if (self->status == 0)
                self->status = crn_chain_open(context, path, &chain);
        }
        if (self->status == 0)
            self->status = one_round(context, chain, &self->result);
    }
    crn_chain_free(&chain);
    crn_context_free(&context);
    return NULL;
}

static void eight_threads_with_a_context_each_agree(void **state)
{
    (void)state;
    caller *callers = calloc(THREADS, sizeof *callers);
    assert_non_null(callers);
    for (int i = 0; i < THREADS; i++) {
        callers[i].rounds = rounds_of(25);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, work, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(callers[i].status, 0);
        assert_true(callers[i].result.defect_count > 0 && callers[i].result.point_count > 0);
        assert_memory_equal(callers[i].result.picture, callers[0].result.picture,
                            sizeof callers[0].result.picture);
        assert_memory_equal(callers[i].result.xy, callers[0].result.xy,
                            sizeof callers[0].result.xy);
        assert_memory_equal(callers[i].result.points, callers[0].result.points,
                            callers[0].result.point_count * sizeof(crn_point));
    }
    free(callers);
}

/* Bytes that are allocated, and bytes of address space. */
typedef struct memory_use {
    size_t allocated, pages;
} memory_use;

#define SLACK_BYTES                                                                                \
    8192 /* what malloc keeps of freed blocks; a call that lost a byte would exceed it */
#define SLACK_PAGES 16

static memory_use used(void)
{
    struct mallinfo2 info = mallinfo2();
    memory_use it = {info.uordblks + info.hblkhd, 0};
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu", &it.pages), 1);
    fclose(file);
    return it;
}

static void a_hundred_thousand_calls_do_not_grow(void **state)
{
    (void)state;
#ifdef CRN_SANITIZED
    const int rounds = rounds_of(100); /* what is lost, the sanitizer tells */
#else
    const int rounds = rounds_of(100000 / 10);
#endif
    static outputs result;
    crn_context *context;
    crn_chain *chain;
    assert_int_equal(crn_context_open(NULL, &context), 0);
    assert_int_equal(crn_chain_open(context, path, &chain), 0);
    memory_use before = {0, 0};
    for (int i = 0; i <= rounds; i++) {
        assert_int_equal(one_round(context, chain, &result), 0);
        if (i == 3)
            before = used();
    }
    memory_use after = used();
#ifndef CRN_SANITIZED
    assert_true(after.allocated < before.allocated + SLACK_BYTES);
    assert_true(after.pages < before.pages + SLACK_PAGES);
#else
    (void)before;
    (void)after;
#endif
    crn_chain_free(&chain);
    crn_context_free(&context);
}

static void contexts_and_chains_leave_nothing(void **state)
{
    (void)state;
    memory_use before = {0, 0};
    caller one = {.rounds = 1};
    for (int i = 0, count = rounds_of(1000); i < count; i++) {
        work(&one);
        assert_int_equal(one.status, 0);
        if (i == 3)
            before = used();
    }
#ifndef CRN_SANITIZED
    assert_true(used().allocated < before.allocated + SLACK_BYTES);
#endif
    (void)before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_with_a_context_each_agree),
        cmocka_unit_test(a_hundred_thousand_calls_do_not_grow),
        cmocka_unit_test(contexts_and_chains_leave_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
