/*
 * The convolutions against sums in double computed by the test: serial to the last bit; openmp, in
 * every variant, and CUDA within the tolerance of cernita.h. The bytes of openmp do not depend on
 * how the work is split.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/serial/convolve.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

/* The expected value of an element in double precision, and its tolerance. */
typedef struct convolve_sum {
    double sum, bound;
    bool finite, spoilt; /* all pixels under the kernel are finite; one with a weight is not */
} convolve_sum;

typedef struct convolve_sums {
    bool exact; /* all sums are integers or half-integers small enough for f32 to be exact */
    bool complete;
    convolve_sum of[]; /* plane by plane, if complete */
} convolve_sums;

static convolve_sum compute(const crn_parity_case *c, bool exact, int32_t plane, int32_t y,
                            int32_t x)
{
    const crn_convolve_params *p = &c->params.convolve;
    convolve_sum w = {.finite = true};
    double size = 0;
    for (int32_t i = 0; i < p->width * p->height; i++) {
        int32_t sy = crn_convolve_source(p->border, y + i / p->width - p->height / 2, c->in.height);
        int32_t sx = crn_convolve_source(p->border, x + i % p->width - p->width / 2, c->in.width);
        if (sy < 0 || sx < 0)
            continue;
        double weight = (double)p->weights[i], v = (double)crn_image_at(&c->in, plane, sy, sx);
        w.sum += weight * v;
        size += fabs(weight * v);
        w.finite = w.finite && isfinite(v);
        w.spoilt = w.spoilt || (!isfinite(v) && weight != 0);
    }
    /* Results below f32's normal range have an absolute error of their own. */
    w.bound = exact ? 0 : p->width * p->height * (2 * 0x1p-24 * size + 2 * 0x1p-149);
    return w;
}

static void set_sums(crn_parity_case *c, bool exact, bool complete)
{
    size_t count = complete ? crn_image_elements(&c->in) : 0;
    convolve_sums *sums = malloc(sizeof *sums + count * sizeof sums->of[0]);
    assert_non_null(sums);
    *sums = (convolve_sums){.exact = exact, .complete = complete};
    c->extra = sums;
    convolve_sum *w = sums->of;
    for (int32_t plane = 0; complete && plane < c->in.planes; plane++)
        for (int32_t y = 0; y < c->in.height; y++)
            for (int32_t x = 0; x < c->in.width; x++)
                *w++ = compute(c, exact, plane, y, x);
}

static float rounded(const convolve_sum *w, crn_type type)
{
    return type == CRN_U8 ? (float)fmin(fmax(rint(w->sum), 0), 255) : (float)w->sum;
}

static bool is_right(const convolve_sum *w, crn_type type, float got)
{
    if (type == CRN_F32)
        return w->finite ? fabs((double)got - w->sum) <= w->bound : !w->spoilt || !isfinite(got);
    double nearest = (double)rounded(w, type), tie = floor(w->sum) + 0.5;
    return (double)got == nearest ||
           (fabs((double)got - nearest) == 1 && fabs(w->sum - tie) <= w->bound);
}

/* Of the sums of pixels below 1 (u8: 256), from which two results may differ. */
static double bound_of_all(const crn_convolve_params *p)
{
    double size = 0;
    for (int32_t i = 0; i < p->width * p->height; i++)
        size += fabs((double)p->weights[i]);
    return 4 * 0x1p-24 * size * p->width * p->height;
}

static void compare(const crn_parity_case *c, const char *what)
{
    const convolve_sums *sums = c->extra;
    const convolve_sum *w = sums->of;
    double near = sums->complete ? 0 : bound_of_all(&c->params.convolve);
    for (int32_t plane = 0; plane < c->out.planes; plane++)
        for (int32_t y = 0; y < c->out.height; y++)
            for (int32_t x = 0; x < c->out.width; x++, w++) {
                float got = crn_image_at(&c->out, plane, y, x);
                float other = crn_image_at(&c->expected, plane, y, x);
                bool close = got == other ||
                             (c->out.type == CRN_F32 && fabs((double)got - (double)other) <= near);
                if (!sums->complete && close)
                    continue;
                convolve_sum one = sums->complete ? *w : compute(c, sums->exact, plane, y, x);
                if (!is_right(&one, c->out.type, got))
                    fail_msg("%s: plane %d (%d, %d) is %.9g, expected %.17g within %.3g", what,
                             plane, x, y, (double)got, one.sum, one.bound);
                float sum = rounded(&one, c->out.type);
                if (sums->complete && other != sum && !(isnan(other) && isnan(sum)))
                    fail_msg("%s | serial: plane %d (%d, %d) is %.9g, expected %.17g", what, plane,
                             x, y, (double)other, one.sum);
            }
}

/* Picks a kernel of that size and a border; true if all weights are integers or halves. */
static bool pick_kernel(crn_parity_case *c, int32_t width, int32_t height)
{
    crn_random *random = &c->random;
    bool whole = crn_random_once_in(random, 3), product = crn_random_once_in(random, 2);
    bool sparse = crn_random_once_in(random, 4), halves = whole && crn_random_once_in(random, 4);
    float row[20], column[20];
    float *weights = crn_parity_array(c, (size_t)(width * height) * sizeof *weights);
    for (int32_t i = 0; i < 20; i++) {
        double a = crn_random_unit(random) * 2 - 0.7, b = crn_random_unit(random) * 2 - 0.7;
        row[i] = (float)(whole ? floor(a * 9) : a / width);
        column[i] = (float)(whole ? floor(b * 4) : b / height);
        if (sparse && crn_random_once_in(random, 3))
            row[i] = column[19 - i] = 0;
    }
    for (int32_t i = 0; i < width * height; i++) {
        double v = crn_random_unit(random) * 2 - 0.7;
        float alone = (float)(whole ? floor(v * 9) : v * 2 / (width * height));
        if (sparse && crn_random_once_in(random, 3))
            alone = 0;
        weights[i] = product ? row[i % width] * column[i / width] : alone;
        weights[i] *= halves ? 0.5f : 1;
    }
    c->params.convolve = (crn_convolve_params){weights, width, height,
                                               (crn_convolve_border)crn_random_below(random, 4)};
    return whole;
}

/* True if they are integers. */
static bool pick_values(crn_parity_case *c, crn_type type)
{
    crn_random *random = &c->random;
    bool whole = type == CRN_U8 || crn_random_once_in(random, 4);
    double scale = crn_random_once_in(random, 6) ? 1e30 : crn_random_once_in(random, 5) ? 1e-30 : 1;
    c->values.special_once_in = crn_random_once_in(random, 6) ? 20 : 0;
    c->values.without_huge = true;
    if (type == CRN_F32) {
        c->values.low = whole ? 0 : -0.3 * scale;
        c->values.high = whole ? 200 : 0.7 * scale;
        c->values.steps = whole ? 200 : 0;
    }
    return whole && !c->values.special_once_in;
}

static void make_images(crn_parity_case *c, crn_type type, crn_parity_shape shape)
{
    crn_parity_make_in(c, type, shape);
    crn_parity_set_out(c, type, shape);
    crn_parity_describe(c, "kernel %d x %d border %d", c->params.convolve.height,
                        c->params.convolve.width, c->params.convolve.border);
}

static void make_of(crn_parity_case *c, crn_parity_shape shape, int32_t width, int32_t height)
{
    crn_type type = crn_random_once_in(&c->random, 2) ? CRN_U8 : CRN_F32;
    bool whole_kernel = pick_kernel(c, width, height), whole = pick_values(c, type);
    make_images(c, type, shape);
    set_sums(c, whole_kernel && whole, !c->square_sizes);
}

static void make(crn_parity_case *c)
{
    crn_parity_shape shape = crn_parity_pick_shape(c, 1);
    int32_t most = crn_random_once_in(&c->random, 8) ? 20 : 7;
    int32_t width = crn_random_between(&c->random, 1, most);
    make_of(c, shape, width, crn_random_between(&c->random, 1, most));
}

/* Cases with kernels of their own on a device: wide rows, certain channels, certain sizes. */
static void make_wide(crn_parity_case *c)
{
    static const int32_t sides[] = {3, 5, 7, 9, 11, 13, 15, 8};
    static const int32_t channels[] = {1, 3, 3, 4, 12, 2, 1, 7};
    crn_random *random = &c->random;
    int32_t width = sides[crn_random_below(random, 8)], height = width;
    if (crn_random_once_in(random, 3))
        height = crn_random_between(random, 1, 16);
    crn_parity_shape shape = {.planes = channels[crn_random_below(random, 8)]};
    shape.width = crn_random_between(random, 1, 600 / shape.planes);
    shape.height = crn_random_between(random, 1, 24);
    if (crn_random_once_in(random, 2))
        shape.width = (shape.width + 15) / 16 * 16;
    make_of(c, shape, width, height);
}

static void make_weights(crn_parity_case *c, int32_t width, int32_t height, float scale)
{
    float *weights = crn_parity_array(c, (size_t)(width * height) * sizeof *weights);
    for (int32_t i = 0; i < width * height; i++)
        weights[i] = (float)(crn_random_unit(&c->random) - 0.5) * scale;
    c->params.convolve = (crn_convolve_params){weights, width, height, 0};
}

static void make_largest_kernel(crn_parity_case *c, uint64_t k, crn_parity_shape shape)
{
    static const int32_t widths[] = {16384, 1, 128, 127, 40, 3};
    static const int32_t heights[] = {1, 16384, 128, 129, 9, 200};
    crn_type type = k & 1 ? CRN_U8 : CRN_F32;
    make_weights(c, widths[k], heights[k], 0x1p-10f);
    c->params.convolve.border = (crn_convolve_border)(k % 4);
    pick_values(c, type);
    make_images(c, type, shape);
    set_sums(c, false, true);
}

static void make_largest(crn_parity_case *c)
{
    make_largest_kernel(c, c->seed % 4, (crn_parity_shape){1, 3, 7});
}

static void make_cuda_largest(crn_parity_case *c)
{
    uint64_t k = c->seed % 6;
    make_largest_kernel(c, k, (crn_parity_shape){1 + (int32_t)k / 3, 30, 70});
}

/* Large enough that the operator splits the image among threads by itself. */
static bool make_large(crn_parity_case *c, uint32_t k)
{
    static const int32_t widths[] = {3, 11, 1}, heights[] = {5, 11, 9};
    if (k == 12)
        return false;
    c->layout = k & 2 ? CRN_HWC : CRN_CHW;
    make_weights(c, widths[k / 4], heights[k / 4], 1);
    c->params.convolve.border = (crn_convolve_border)(k % 4);
    make_images(c, k & 1 ? CRN_U8 : CRN_F32, (crn_parity_shape){3, 300, 700});
    return true;
}

static bool make_cuda_large(crn_parity_case *c, uint32_t k)
{
    static const struct {
        crn_parity_shape shape;
        int32_t side, layout;
    } cases[] = {
        {{3, 1500, 2161}, 3, CRN_HWC}, {{3, 720, 1280}, 5, CRN_HWC}, {{3, 720, 1280}, 7, CRN_HWC},
        {{1, 4097, 1023}, 7, CRN_CHW}, {{1, 33, 4097}, 15, CRN_CHW}, {{2, 700, 513}, 5, CRN_CHW},
        {{12, 95, 511}, 3, CRN_HWC},   {{12, 95, 511}, 3, CRN_CHW},  {{3, 400, 600}, 15, CRN_HWC}};
    if (k == 2 * sizeof cases / sizeof *cases)
        return false;
    c->layout = cases[k / 2].layout;
    bool whole = pick_kernel(c, cases[k / 2].side, cases[k / 2].side);
    make_images(c, k & 1 ? CRN_U8 : CRN_F32, cases[k / 2].shape);
    set_sums(c, whole, false);
    return true;
}

static bool make_views(crn_parity_case *c, uint32_t k)
{
    static const int32_t sides[] = {3, 5, 7, 9, 4};
    if (k == 20)
        return false;
    c->layout = k & 2 ? CRN_HWC : CRN_CHW;
    pick_kernel(c, sides[k / 4], sides[k / 4]);
    make_images(c, k & 1 ? CRN_U8 : CRN_F32, (crn_parity_shape){3, 21, 150});
    return true;
}

/* Variants 0 and 1 convolve in one pass, 2 and 3 in two where the kernel allows. */
static void pick_variant(crn_parity_case *c, crn_target target, int32_t number,
                         crn_parity_variant *ret_variant)
{
    static const crn_convolve_filters *const filters[CRN_TARGETS] = {
        &crn_convolve_filters_baseline, &crn_convolve_filters_avx2, &crn_convolve_filters_avx512};
    crn_convolve_variant *v = &ret_variant->convolve;
    *v = (crn_convolve_variant){filters[target], 1, 1, 0,
                                number < 2 ? CRN_CONVOLVE_WHOLE : CRN_CONVOLVE_FACTORED};
    if (number % 2) {
        v->strips = crn_random_between(&c->random, 1, 7);
        v->threads = crn_random_once_in(&c->random, 3) ? crn_random_between(&c->random, 2, 5) : 1;
        v->tile_width = crn_random_between(&c->random, 0, 40);
    }
    snprintf(ret_variant->text, sizeof ret_variant->text,
             "%d threads, passes %d, %d strips, tiles of %d", v->threads, (int)v->passes, v->strips,
             v->tile_width);
}

#define CONVOLVE                                                                                   \
    .kind = CRN_PARITY_CONVOLVE, .variants = 4, .pick_variant = pick_variant, .compare = compare,  \
    .any_nan = true

static crn_parity_operator convolve = {CONVOLVE,
                                       .cases = 500,
                                       .cuda_cases = 1500,
                                       .scratch_cases = 100,
                                       .make = make,
                                       .make_large = make_large,
                                       .make_cuda_large = make_cuda_large,
                                       .make_views = make_views};
static crn_parity_operator wide = {CONVOLVE, .cuda_cases = 400, .make = make_wide};
static crn_parity_operator largest = {CONVOLVE, .cases = 4, .make = make_largest};
static crn_parity_operator cuda_largest = {CONVOLVE, .cuda_cases = 6, .make = make_cuda_largest};

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_openmp_is_serial, &convolve),
        cmocka_unit_test_prestate(test_openmp_is_serial, &largest),
        cmocka_unit_test_prestate(test_large_images_are_serial, &convolve),
        cmocka_unit_test_prestate(test_scratch_contents_do_not_matter, &convolve),
        cmocka_unit_test_prestate(test_cuda_is_serial, &convolve),
        cmocka_unit_test_prestate(test_cuda_is_serial, &wide),
        cmocka_unit_test_prestate(test_cuda_is_serial, &cuda_largest),
        cmocka_unit_test_prestate(test_cuda_is_openmp_on_large_images, &convolve),
        cmocka_unit_test_prestate(test_cuda_views_in_a_graph, &convolve),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}
