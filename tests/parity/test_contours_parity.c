/* The contours of openmp, in every variant, and of CUDA against serial: identical bytes. */
#include <math.h>
#include <stdio.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

/* Often the value of a pixel; sometimes no pixel's value, or one out of range. */
static double pick_level(crn_random *random, const crn_image *image, bool closed)
{
    double scale = image->type == CRN_U8 ? 256 : image->type == CRN_U16 ? 65536 : 1;
    double level = scale * crn_random_unit(random);
    if (crn_random_once_in(random, 3)) {
        int32_t plane = (int32_t)crn_random_below(random, (uint32_t)image->planes);
        int32_t y = (int32_t)crn_random_below(random, (uint32_t)image->height);
        int32_t x = (int32_t)crn_random_below(random, (uint32_t)image->width);
        level = crn_image_value(image, plane, y, x);
    }
    static const double odd[] = {NAN, 0, -0.0, 1e-50, 1e300, 65535, 255, -1e-50, -1e300};
    if (crn_random_once_in(random, 8))
        level = odd[crn_random_below(random, 9)];
    return closed && level < 0 ? 0 : level;
}

static double *make_levels(crn_parity_case *c, int32_t planes)
{
    double *levels = crn_parity_array(c, (size_t)planes * sizeof *levels);
    c->params.contours.levels = levels;
    return levels;
}

static void make_mask(crn_parity_case *c)
{
    size_t pixels = (size_t)c->in.height * (size_t)c->in.width;
    uint32_t masked_once_in = (uint32_t)crn_random_between(&c->random, 1, 60);
    uint8_t *mask = crn_parity_array(c, pixels);
    for (size_t i = 0; i < pixels; i++)
        mask[i] = crn_random_once_in(&c->random, masked_once_in) ? 0 : 1 + (uint8_t)i % 255;
    c->params.contours.mask = mask;
}

/* type: CRN_F32 half of the time, if it is 0, else any that a device takes. */
static void make_of(crn_parity_case *c, crn_type type)
{
    crn_random *random = &c->random;
    crn_contours_params *p = &c->params.contours;
    p->connectivity = (crn_connectivity)crn_random_below(random, 2);
    p->orientation = (crn_orientation)crn_random_below(random, 2);
    p->border = (crn_border)crn_random_below(random, 2);
    bool closed = p->border == CRN_BORDER_CLOSED;
    crn_parity_shape shape = crn_parity_pick_shape(c, closed ? 1 : 2);
    crn_type other = (crn_type)crn_random_between(random, CRN_U8, CRN_U16);
    c->values = crn_parity_pick_values(random);
    crn_parity_make_in(c, type ? type : crn_random_once_in(random, 2) ? CRN_F32 : other, shape);
    double *levels = make_levels(c, shape.planes);
    bool same = crn_random_once_in(random, 2);
    for (int32_t plane = 0; plane < shape.planes; plane++)
        levels[plane] = same && plane ? levels[0] : pick_level(random, &c->in, closed);
    if (crn_random_once_in(random, 4))
        make_mask(c);
    crn_parity_describe(c, "steps %u wavelength %u %s%s%s", c->values.steps, c->values.wavelength,
                        closed ? "closed" : "open", p->mask ? " mask" : "",
                        p->connectivity ? " high" : " low");
}

static void make(crn_parity_case *c)
{
    make_of(c, (crn_type)0);
}

static void make_f64(crn_parity_case *c)
{
    make_of(c, CRN_F64);
}

static void pick_variant(crn_parity_case *c, crn_target target, int32_t number,
                         crn_parity_variant *ret_variant)
{
    static crn_contours_scan_fn *const scans[CRN_TARGETS] = {
        crn_contours_scan_baseline, crn_contours_scan_avx2, crn_contours_scan_avx512};
    crn_contours_variant *v = &ret_variant->contours;
    *v = (crn_contours_variant){scans[target], 1, 1};
    if (number % 2) {
        v->strips = crn_random_between(&c->random, 2, 9);
        v->threads = crn_random_between(&c->random, 1, 3);
    }
    snprintf(ret_variant->text, sizeof ret_variant->text, "%d strips, %d threads", v->strips,
             v->threads);
}

static void make_large_image(crn_parity_case *c, crn_type type, crn_parity_shape shape,
                             double level)
{
    crn_parity_make_in(c, type, shape);
    double *levels = make_levels(c, shape.planes);
    for (int32_t plane = 0; plane < shape.planes; plane++)
        levels[plane] = level;
    crn_parity_describe(c, "large");
}

/* Large enough for the public operator to split it and to use threads. */
static bool make_large(crn_parity_case *c, uint32_t i)
{
    if (i == 4)
        return false;
    c->params.contours.border = i & 1 ? CRN_BORDER_CLOSED : CRN_BORDER_OPEN;
    c->values = (crn_parity_values){.wavelength = 7 + i, .steps = i == 3 ? 16 : 0};
    make_large_image(c, CRN_F32, (crn_parity_shape){i < 2 ? 1 : 2, 1100, 1000}, 0.5);
    return true;
}

/* Sizes that one block handles alone, in shared memory and beyond it, and for the whole grid. */
static bool make_cuda_large(crn_parity_case *c, uint32_t i)
{
    static const struct {
        crn_type type;
        crn_parity_shape shape;
        crn_parity_values values;
        double level;
    } cases[] = {
        {CRN_F32, {12, 95, 511}, {.wavelength = 9}, 0.5},
        {CRN_F32, {3, 95, 511}, {.steps = 0}, 0.5},
        {CRN_U8, {2, 255, 511}, {.wavelength = 4, .steps = 9}, 128},
        {CRN_F32, {1, 1, 3000}, {.steps = 3}, 0.3},
        {CRN_F32, {1, 2000, 130}, {.nan_once_in = 40}, 0.5},
        {CRN_F16, {3, 600, 700}, {.steps = 8, .special_once_in = 50}, 0.5},
        {CRN_U16, {1, 1500, 1024}, {.wavelength = 40, .checkered = true}, 32768},
        {CRN_F32, {1, 4097, 1100}, {.wavelength = 60}, 0.5},
    };
    if (i == sizeof cases / sizeof *cases)
        return false;
    c->params.contours.border = CRN_BORDER_CLOSED;
    c->params.contours.orientation = (crn_orientation)(i & 1);
    c->values = cases[i].values;
    make_large_image(c, cases[i].type, cases[i].shape, cases[i].level);
    return true;
}

static crn_parity_operator contours = {.kind = CRN_PARITY_CONTOURS,
                                       .cases = 2500,
                                       .cuda_cases = 1500,
                                       .scratch_cases = 12,
                                       .make = make,
                                       .variants = 2,
                                       .pick_variant = pick_variant,
                                       .make_large = make_large,
                                       .make_cuda_large = make_cuda_large};

/* Not on CUDA. */
static crn_parity_operator contours_f64 = {.kind = CRN_PARITY_CONTOURS,
                                           .cases = 1500,
                                           .scratch_cases = 6,
                                           .make = make_f64,
                                           .variants = 2,
                                           .pick_variant = pick_variant};

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_openmp_is_serial, &contours),
        cmocka_unit_test_prestate(test_openmp_is_serial, &contours_f64),
        cmocka_unit_test_prestate(test_scratch_contents_do_not_matter, &contours_f64),
        cmocka_unit_test_prestate(test_large_images_are_serial, &contours),
        cmocka_unit_test_prestate(test_scratch_contents_do_not_matter, &contours),
        cmocka_unit_test_prestate(test_cuda_is_serial, &contours),
        cmocka_unit_test_prestate(test_cuda_is_openmp_on_large_images, &contours),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}
