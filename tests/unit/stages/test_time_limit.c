/*
 * Operators under a time limit: they check the time often enough, stop when it is over, and report
 * that. Time is simulated as a number of checks, independent of the machine's speed.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/backend.h"
#include "stages/context.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/contours_buffer.h"
#include "tests/support/operators/images.h"
#include "tests/support/operators/operator_tests.h"

/* Time that is over at the last of so many checks. */
typedef struct patience {
    int64_t last; /* 0: never over */
    atomic_int_least64_t asked;
} patience;

static bool is_over(const void *owner)
{
    patience *p = (patience *)(uintptr_t)owner;
    int64_t asked = atomic_fetch_add(&p->asked, 1) + 1;
    return p->last && asked >= p->last;
}

enum { RESULT_BYTES = 3 * 4 * 256 * 2048 };

typedef struct operation {
    const char *name;
    int (*run)(const crn_ops *ops, crn_context *context, const crn_image *in, void *results);
    int64_t work; /* lower bound of nanoseconds per element */
} operation;

static int run_contours(const crn_ops *ops, crn_context *context, const crn_image *in,
                        void *results)
{
    (void)results;
    double levels[4] = {0.5, 0.5, 0.5, 0.5};
    crn_contours_params params = {.levels = levels, .border = CRN_BORDER_CLOSED};
    crn_contours out = crn_contours_buffer(1 << 20, 1 << 18);
    int r = ops->contours(context, &params, in, &out);
    if (r < 0)
        assert_int_equal(out.truncated, false);
    crn_contours_buffer_free(&out);
    return r;
}

static crn_image like(const crn_image *in, crn_type type, void *results)
{
    return crn_image_dense(results, type, in->step == 1 ? CRN_CHW : CRN_HWC, in->planes, in->height,
                           in->width);
}

static int run_convolve(const crn_ops *ops, crn_context *context, const crn_image *in,
                        void *results)
{
    static float weights[5 * 5] = {[3] = 1, [12] = -0.5f, [20] = 0.3f};
    crn_convolve_params params = {.weights = weights, .width = 5, .height = 5};
    crn_image out = like(in, CRN_F32, results);
    return ops->convolve(context, &params, in, &out);
}

static int morph(const crn_ops *ops, crn_context *context, const crn_image *in, void *results,
                 crn_morphology_operation kind, crn_element_shape shape, const float *heights)
{
    crn_morphology_params params = {
        .operation = kind,
        .element = {.shape = shape, .width = 5, .height = 5, .heights = heights}};
    crn_image out = like(in, CRN_F32, results);
    return ops->morphology(context, &params, in, &out);
}

static int run_open(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return morph(ops, context, in, results, CRN_OPEN, CRN_ELEMENT_DISK, NULL);
}

static int run_gradient(const crn_ops *ops, crn_context *context, const crn_image *in,
                        void *results)
{
    return morph(ops, context, in, results, CRN_GRADIENT, CRN_ELEMENT_CROSS, NULL);
}

static int run_raised(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    static const float heights[5 * 5] = {[7] = 1};
    return morph(ops, context, in, results, CRN_TOPHAT, CRN_ELEMENT_RECT, heights);
}

static int transform(const crn_ops *ops, crn_context *context, const crn_image *in, void *results,
                     crn_haar_direction direction, int32_t levels)
{
    crn_haar_params params = {.direction = direction, .levels = levels, .threshold = 0.1f};
    crn_image out = like(in, CRN_F32, results);
    return ops->haar(context, &params, in, &out);
}

static int run_forward(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return transform(ops, context, in, results, CRN_HAAR_FORWARD, 4);
}

static int run_inverse(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return transform(ops, context, in, results, CRN_HAAR_INVERSE, 4);
}

static int run_denoise(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return transform(ops, context, in, results, CRN_HAAR_DENOISE, 5);
}

static int run_copy(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return transform(ops, context, in, results, CRN_HAAR_FORWARD, 0);
}

static int rank(const crn_ops *ops, crn_context *context, const crn_image *in, void *results,
                crn_type type, crn_ranklet_params params)
{
    /* The same memory read as integers, a quarter of it or a half; serial is slow. */
    int32_t height = strcmp(ops->name, "serial") ? params.height + 60 : params.height + 8;
    int32_t width = strcmp(ops->name, "serial") ? in->width : params.width + 40;
    crn_image codes = crn_image_dense(in->data, type, CRN_CHW, 1, height, width);
    crn_image out = crn_image_dense(results, CRN_F32, CRN_CHW, 3, height - params.height + 1,
                                    width - params.width + 1);
    return ops->ranklet(context, &params, &codes, &out);
}

static int run_pairs(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return rank(ops, context, in, results, CRN_U8, (crn_ranklet_params){16, 16});
}

static int run_columns(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return rank(ops, context, in, results, CRN_U8, (crn_ranklet_params){32, 32});
}

static int run_ranks(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    return rank(ops, context, in, results, CRN_U16, (crn_ranklet_params){32, 32});
}

static int run_widen(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    crn_image halves = crn_image_dense(in->data, CRN_F16, CRN_CHW, 1, in->height, in->width);
    crn_image out = crn_image_dense(results, CRN_F32, CRN_CHW, 1, in->height, in->width);
    return ops->widen(context, &halves, &out);
}

static int run_narrow(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    crn_image out = crn_image_dense(results, CRN_U8, CRN_CHW, in->planes, in->height, in->width);
    return ops->narrow(context, in, &out);
}

static int run_sums(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    enum { RUNS = 1024 };
    static crn_run runs[RUNS];
    static crn_run_sum sums[RUNS];
    uint32_t count = 0;
    for (int32_t plane = 0; plane < in->planes; plane++)
        for (int32_t y = 0; y < in->height && count < RUNS; y++)
            runs[count++] = (crn_run){plane, y, 0, in->width};
    int r = ops->sum_runs(context, in, runs, count, sums);
    for (uint32_t i = 0; i < count && r == 0; i++) /* without the bytes between the fields */
        ((double *)results)[i] = sums[i].sum + sums[i].pixels;
    return r;
}

static int run_means(const crn_ops *ops, crn_context *context, const crn_image *in, void *results)
{
    enum { BOXES = 3 };
    int32_t rows = (int32_t)(crn_image_elements(in) / 3) / in->width;
    crn_image planes = crn_image_dense(in->data, CRN_F32, CRN_CHW, 3, rows, in->width);
    crn_box all[BOXES];
    for (int32_t i = 0; i < BOXES; i++)
        all[i] = (crn_box){0, i, i, in->width - 1, rows - 1};
    return ops->mean_boxes(context, &planes, &(crn_boxes){.all = all, .count = BOXES}, results);
}

static const operation operations[] = {
    {"contours", run_contours, 4}, {"convolve", run_convolve, 1}, {"open", run_open, 1},
    {"gradient", run_gradient, 1}, {"raised", run_raised, 1},     {"forward", run_forward, 1},
    {"inverse", run_inverse, 1},   {"denoise", run_denoise, 1},   {"copy", run_copy, 1},
    {"widen", run_widen, 1},       {"narrow", run_narrow, 4},     {"sums", run_sums, 1},
    {"means", run_means, 4},
};

/* They read the same integers whatever the image's layout: one image is enough for them. */
static const operation ranklets[] = {
    {"pairs", run_pairs, 4},
    {"columns", run_columns, 8},
    {"ranks", run_ranks, 8},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const int32_t threads_of[] = {1, 4};

static int run_limited(const operation *o, const crn_ops *ops, crn_context *context,
                       const crn_image *in, void *results, patience *p)
{
    atomic_store(&p->asked, 0);
    crn_context_limit(context, is_over, p);
    int r = o->run(ops, context, in, results);
    crn_context_limit(context, NULL, NULL);
    return r;
}

/* The operator must check often enough, and stop at whichever check says so. */
static void check(const operation *o, const crn_ops *ops, int32_t threads, const crn_image *in)
{
    static uint8_t wanted[RESULT_BYTES], got[RESULT_BYTES];
    char what[100];
    snprintf(what, sizeof what, "%s %s with %d threads", ops->name, o->name, threads);
    crn_context *context = operator_contexts[threads];
    memset(wanted, 0, sizeof wanted);
    memset(got, 0, sizeof got);
    operators_check_result(o->run(ops, context, in, wanted), what);
    patience endless = {.last = 0};
    operators_check_result(run_limited(o, ops, context, in, got, &endless), what);
    assert_memory_equal(got, wanted, sizeof wanted);
    int64_t all = atomic_load(&endless.asked);
    int64_t elements = (int64_t)crn_image_elements(in);
    if (all < 1 || (strcmp(ops->name, "serial") && all < elements * o->work / (4 * CRN_PACE_WORK)))
        fail_msg("%s: asks %d times", what, (int)all);
    const int64_t ends[] = {1, 2, all / 2, 3 * all / 4};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        patience p = {.last = ends[i]};
        if (p.last < 1 || (p.last > 1 && p.last > all - threads))
            continue; /* their number varies a little with the threads' shares */
        int r = run_limited(o, ops, context, in, got, &p);
        /* Each other thread may be in a check already. */
        int64_t asked = atomic_load(&p.asked);
        if (r != -ETIME || asked > p.last + threads - 1)
            fail_msg("%s: over at question %d of %d, asked %d, returned %d", what, (int)p.last,
                     (int)all, (int)asked, r);
    }
    /* The context keeps no trace of it. */
    operators_check_result(o->run(ops, context, in, got), what);
    assert_memory_equal(got, wanted, sizeof wanted);
}

static void check_all(const operation *list, size_t count, const crn_ops *ops, int32_t height,
                      int32_t width, int32_t planes, crn_layout layout)
{
    crn_random random = {12};
    float *memory = malloc((size_t)height * (size_t)width * (size_t)planes * sizeof *memory);
    assert_non_null(memory);
    crn_image in = crn_image_dense(memory, CRN_F32, layout, planes, height, width);
    crn_image_randomise(&in, &random);
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < sizeof threads_of / sizeof *threads_of; t++)
            if (strcmp(ops->name, "serial") || threads_of[t] == 1)
                check(&list[i], ops, threads_of[t], &in);
    free(memory);
}

static void test_openmp(void **state)
{
    (void)state;
    const char *why;
    const crn_ops *ops = crn_backend_ops(CRN_BACKEND_OPENMP, &why);
    check_all(ranklets, COUNT(ranklets), ops, 512, 1024, 1, CRN_CHW);
    check_all(operations, COUNT(operations), ops, 512, 1024, 1, CRN_CHW);
    check_all(operations, COUNT(operations), ops, 256, 512, 4, CRN_HWC);
    check_all(operations, COUNT(operations), ops, 128, 1024, 4, CRN_CHW);
}

static void test_serial(void **state)
{
    (void)state;
    const char *why;
    const crn_ops *ops = crn_backend_ops(CRN_BACKEND_SERIAL, &why);
    check_all(ranklets, COUNT(ranklets), ops, 120, 64, 2, CRN_CHW);
    check_all(operations, COUNT(operations), ops, 120, 64, 2, CRN_CHW);
    check_all(operations, COUNT(operations), ops, 90, 80, 2, CRN_HWC);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_openmp, operators_set_up, operators_tear_down),
        cmocka_unit_test_setup_teardown(test_serial, operators_set_up, operators_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
