/* The convolutions against OpenCV (convolve.bin, by make_convolve.py). */
#include <math.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/golden_file.h"
#include "tests/support/operators/images.h"

/* One case of the file; owns its arrays. */
typedef struct convolve_golden_case {
    char name[41];
    crn_image image;
    crn_convolve_params params;
    float *weights;
    uint8_t *bytes;         /* u8: expected result */
    double *sums, *extents; /* f32: expected result, and the sum of |weight x pixel| */
} convolve_golden_case;

static void read_case(golden_file *file, convolve_golden_case *ret_case)
{
    convolve_golden_case c = {.weights = NULL};
    golden_read(file, c.name, 40);
    int32_t fields[8];
    golden_read(file, fields, sizeof fields);
    crn_type type = (crn_type)fields[3];
    c.weights = golden_copy(file, (size_t)fields[5] * (size_t)fields[6] * sizeof *c.weights);
    c.params =
        (crn_convolve_params){c.weights, fields[6], fields[5], (crn_convolve_border)fields[7]};
    c.image = golden_image(file, type, (crn_layout)fields[4], fields[2], fields[0], fields[1]);
    size_t count = crn_image_elements(&c.image);
    if (type == CRN_U8) {
        c.bytes = golden_copy(file, count);
    } else {
        c.sums = golden_copy(file, count * sizeof *c.sums);
        c.extents = golden_copy(file, count * sizeof *c.extents);
    }
    *ret_case = c;
}

static void free_case(convolve_golden_case *c)
{
    free(c->image.data);
    free(c->weights);
    free(c->bytes);
    free(c->sums);
    free(c->extents);
}

static void check(const convolve_golden_case *c, const crn_image *out, size_t i,
                  const char *backend)
{
    if (c->bytes) {
        int got = ((uint8_t *)out->data)[i], wanted = c->bytes[i];
        if (got != wanted)
            fail_msg("%s, %s, u8: element %zu is %d, wanted %d", backend, c->name, i, got, wanted);
        return;
    }
    double got = (double)((float *)out->data)[i];
    double bound = 2.0 * c->params.width * c->params.height * 0x1p-24 * c->extents[i];
    if (!(fabs(got - c->sums[i]) <= bound))
        fail_msg("%s, %s, f32: element %zu is %.9g, wanted %.17g within %.3g", backend, c->name, i,
                 got, c->sums[i], bound);
}

static void try_case(golden_file *file, const golden_backend *backend, uint32_t number)
{
    (void)number;
    convolve_golden_case c;
    read_case(file, &c);
    crn_image out = golden_result(&c.image);
    int r = backend->ops->convolve(backend->context, &c.params, &c.image, &out);
    if (r != 0)
        fail_msg("%s, %s: returned %d", backend->name, c.name, r);
    for (size_t i = 0; i < crn_image_elements(&out); i++)
        check(&c, &out, i, backend->name);
    free(out.data);
    free_case(&c);
}

static const golden_cases cases = {CRN_TEST_DATA "/golden/convolve.bin", "CRNG", 300, try_case};

static void test_serial_computes_what_opencv_computes(void **state)
{
    (void)state;
    golden_try_serial(&cases);
}

static void test_openmp_computes_what_opencv_computes(void **state)
{
    (void)state;
    golden_try_openmp(&cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_computes_what_opencv_computes),
        cmocka_unit_test(test_openmp_computes_what_opencv_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
