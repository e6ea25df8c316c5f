/* The convolutions against what OpenCV computed (convolve.bin, by make_convolve.py). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stages/ops.h"

typedef struct reader {
    const uint8_t *bytes;
    size_t left;
} reader;

/* One case as the file holds it; the case owns its arrays. */
typedef struct golden_case {
    char name[41];
    crn_image image;
    crn_convolve_params params;
    float *weights;
    uint8_t *bytes;         /* u8: what is wanted */
    double *sums, *extents; /* f32: what is wanted, and the sum of |weight x pixel| */
} golden_case;

static const uint8_t *read_bytes(reader *r, size_t count)
{
    assert_true(count <= r->left);
    const uint8_t *bytes = r->bytes;
    r->bytes += count;
    r->left -= count;
    return bytes;
}

static void *read_copy(reader *r, size_t count)
{
    void *copy = malloc(count);
    assert_non_null(copy);
    return memcpy(copy, read_bytes(r, count), count);
}

/* Little-endian, as every machine that this runs on. */
static void read_case(reader *r, golden_case *ret_case)
{
    golden_case c = {.weights = NULL};
    memcpy(c.name, read_bytes(r, 40), 40);
    int32_t fields[8];
    memcpy(fields, read_bytes(r, sizeof fields), sizeof fields);
    crn_type type = (crn_type)fields[3];
    c.weights = read_copy(r, (size_t)fields[5] * (size_t)fields[6] * sizeof *c.weights);
    c.params =
        (crn_convolve_params){c.weights, fields[6], fields[5], (crn_convolve_border)fields[7]};
    size_t count = (size_t)fields[0] * (size_t)fields[1] * (size_t)fields[2];
    void *data = read_copy(r, count * crn_type_bytes(type));
    c.image = crn_image_dense(data, type, (crn_layout)fields[4], fields[2], fields[0], fields[1]);
    if (type == CRN_U8) {
        c.bytes = read_copy(r, count);
    } else {
        c.sums = read_copy(r, count * sizeof *c.sums);
        c.extents = read_copy(r, count * sizeof *c.extents);
    }
    *ret_case = c;
}

static void free_case(golden_case *c)
{
    free(c->image.data);
    free(c->weights);
    free(c->bytes);
    free(c->sums);
    free(c->extents);
}

static void check(const golden_case *c, const crn_image *out, size_t i, const char *wing)
{
    if (c->bytes) {
        int got = ((uint8_t *)out->data)[i], wanted = c->bytes[i];
        if (got != wanted)
            fail_msg("%s, %s, u8: element %zu is %d, wanted %d", wing, c->name, i, got, wanted);
        return;
    }
    double got = (double)((float *)out->data)[i];
    double bound = 2.0 * c->params.width * c->params.height * 0x1p-24 * c->extents[i];
    if (!(fabs(got - c->sums[i]) <= bound))
        fail_msg("%s, %s, f32: element %zu is %.9g, wanted %.17g within %.3g", wing, c->name, i,
                 got, c->sums[i], bound);
}

static void run_case(crn_convolve_fn *convolve, crn_context *context, const golden_case *c,
                     const char *wing)
{
    size_t count = (size_t)c->image.height * (size_t)c->image.width * (size_t)c->image.planes;
    crn_image out = c->image;
    out.data = malloc(count * crn_type_bytes(out.type));
    assert_non_null(out.data);
    int r = convolve(context, &c->params, &c->image, &out);
    if (r != 0)
        fail_msg("%s, %s: returned %d", wing, c->name, r);
    for (size_t i = 0; i < count; i++)
        check(c, &out, i, wing);
    free(out.data);
}

static void run_all(crn_convolve_fn *convolve, const char *wing)
{
    FILE *file = fopen(CRN_TEST_DATA "/golden/convolve.bin", "rb");
    assert_non_null(file);
    static uint8_t bytes[1 << 20];
    reader r = {bytes, fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
    assert_memory_equal(read_bytes(&r, 4), "CRNG", 4);
    uint32_t count;
    memcpy(&count, read_bytes(&r, 4), 4);
    assert_true(count > 300);
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(1, &context), 0);
    for (uint32_t i = 0; i < count; i++) {
        golden_case c;
        read_case(&r, &c);
        run_case(convolve, context, &c, wing);
        free_case(&c);
    }
    assert_int_equal(r.left, 0);
    crn_context_free(&context);
}

static void test_serial_computes_what_opencv_computes(void **state)
{
    (void)state;
    run_all(crn_convolve_serial, "serial");
}

static void test_openmp_computes_what_opencv_computes(void **state)
{
    (void)state;
    run_all(crn_convolve_openmp, "openmp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_computes_what_opencv_computes),
        cmocka_unit_test(test_openmp_computes_what_opencv_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
