/* The Haar operators against PyWavelets (haar.bin, by make_haar.py). */
#include <math.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/golden_file.h"
#include "tests/support/operators/images.h"

/* One case of the file; owns its arrays. */
typedef struct haar_golden_case {
    char name[41];
    crn_image image;
    crn_haar_params params;
    bool exact;     /* floats that must match exactly; else doubles with a tolerance */
    double *wanted; /* planes x height x width */
} haar_golden_case;

static void read_case(golden_file *file, haar_golden_case *ret_case)
{
    haar_golden_case c = {.wanted = NULL};
    golden_read(file, c.name, 40);
    int32_t fields[8];
    golden_read(file, fields, sizeof fields);
    crn_type type = (crn_type)fields[3];
    c.params.direction = (crn_haar_direction)fields[4];
    c.params.levels = fields[5];
    c.params.unit = fields[6];
    c.exact = fields[7];
    golden_read(file, &c.params.threshold, 4);
    c.image = golden_image(file, type, CRN_CHW, fields[2], fields[0], fields[1]);
    size_t count = crn_image_elements(&c.image);
    c.wanted = malloc(count * sizeof *c.wanted);
    assert_non_null(c.wanted);
    for (size_t i = 0; i < count; i++) {
        float value;
        if (!c.exact) {
            golden_read(file, &c.wanted[i], 8);
            continue;
        }
        golden_read(file, &value, 4);
        c.wanted[i] = (double)value;
    }
    *ret_case = c;
}

/*
 * A level computes each value as a sum of four in two steps, both rounded, and an exact halving:
 * two roundings of half a unit in the last place of the greatest value per level, and as many for
 * the inverse. Errors of earlier levels are halves of sums of four, so they add up like the values.
 */
static double bound_of(const haar_golden_case *c)
{
    double greatest = 0;
    for (size_t i = 0; i < crn_image_elements(&c->image); i++)
        greatest = fmax(greatest, fabs(c->wanted[i]));
    for (int32_t plane = 0; plane < c->image.planes; plane++)
        for (int32_t y = 0; y < c->image.height; y++)
            for (int32_t x = 0; x < c->image.width; x++)
                greatest = fmax(greatest, fabs((double)crn_image_at(&c->image, plane, y, x)) /
                                              (c->params.unit ? 255 : 1));
    int ways = c->params.direction == CRN_HAAR_DENOISE ? 2 : 1;
    return c->exact ? 0 : (2 * ways * c->params.levels + 1) * 0x1p-24 * greatest;
}

static void run_case(const golden_backend *backend, crn_layout layout, const haar_golden_case *c)
{
    const crn_image *in = &c->image;
    crn_image dense = crn_image_dense(NULL, CRN_F32, layout, in->planes, in->height, in->width);
    crn_image out = golden_result(&dense);
    assert_int_equal(backend->ops->haar(backend->context, &c->params, in, &out), 0);
    const double *wanted = c->wanted;
    double bound = bound_of(c);
    for (int32_t plane = 0; plane < in->planes; plane++)
        for (int32_t y = 0; y < in->height; y++)
            for (int32_t x = 0; x < in->width; x++, wanted++) {
                double value = (double)crn_image_at(&out, plane, y, x);
                if (!(fabs(value - *wanted) <= bound))
                    fail_msg("%s (%s): plane %d row %d column %d is %.9g, wanted %.9g "
                             "within %g",
                             c->name, backend->name, plane, y, x, value, *wanted, bound);
            }
    free(out.data);
}

static void try_case(golden_file *file, const golden_backend *backend, uint32_t number)
{
    (void)number;
    haar_golden_case c;
    read_case(file, &c);
    run_case(backend, CRN_CHW, &c);
    run_case(backend, CRN_HWC, &c);
    free(c.image.data);
    free(c.wanted);
}

static const golden_cases cases = {CRN_TEST_DATA "/golden/haar.bin", "CRNH", 200, try_case};

static void test_all_find_what_pywt_finds(void **state)
{
    (void)state;
    golden_try_serial(&cases);
    golden_try_openmp(&cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_find_what_pywt_finds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
