/* The Haar operators against what PyWavelets finds (haar.bin, by make_haar.py). */
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
    crn_haar_params params;
    bool exact;     /* the same floats; else doubles, to be met within a bound */
    double *wanted; /* planes x height x width */
    size_t count;
} golden_case;

typedef struct wing {
    const char *name;
    crn_haar_fn *haar;
    int32_t threads;
} wing;

static const wing wings[] = {
    {"serial", crn_haar_serial, 1},
    {"openmp", crn_haar_openmp, 1},
    {"openmp", crn_haar_openmp, 3},
};

static const uint8_t *read_bytes(reader *r, size_t count)
{
    assert_true(count <= r->left);
    const uint8_t *bytes = r->bytes;
    r->bytes += count;
    r->left -= count;
    return bytes;
}

static void *copy_of(const void *bytes, size_t count)
{
    void *copy = malloc(count);
    assert_non_null(copy);
    return memcpy(copy, bytes, count);
}

/* Little-endian, as every machine that this runs on. */
static void read_case(reader *r, golden_case *ret_case)
{
    golden_case c = {.count = 0};
    memcpy(c.name, read_bytes(r, 40), 40);
    int32_t fields[8];
    memcpy(fields, read_bytes(r, sizeof fields), sizeof fields);
    crn_type type = (crn_type)fields[3];
    c.count = (size_t)fields[0] * (size_t)fields[1] * (size_t)fields[2];
    c.params.direction = (crn_haar_direction)fields[4];
    c.params.levels = fields[5];
    c.params.unit = fields[6];
    c.exact = fields[7];
    memcpy(&c.params.threshold, read_bytes(r, 4), 4);
    size_t bytes = c.count * crn_type_bytes(type);
    void *data = copy_of(read_bytes(r, bytes), bytes);
    c.image = crn_image_dense(data, type, CRN_CHW, fields[2], fields[0], fields[1]);
    c.wanted = malloc(c.count * sizeof *c.wanted);
    assert_non_null(c.wanted);
    for (size_t i = 0; i < c.count; i++) {
        float value;
        if (!c.exact) {
            memcpy(&c.wanted[i], read_bytes(r, 8), 8);
            continue;
        }
        memcpy(&value, read_bytes(r, 4), 4);
        c.wanted[i] = (double)value;
    }
    *ret_case = c;
}

/*
 * A level makes of each value a sum of four in two steps, both rounded, and halves it, which is
 * exact: two roundings of half a unit in the last place of the greatest value there is, per level,
 * and as many on the way back. Errors of the levels before are halves of four, so they add up like
 * the values themselves.
 */
static double bound_of(const golden_case *c)
{
    double greatest = 0;
    for (size_t i = 0; i < c->count; i++)
        greatest = fmax(greatest, fabs(c->wanted[i]));
    for (int32_t plane = 0; plane < c->image.planes; plane++)
        for (int32_t y = 0; y < c->image.height; y++)
            for (int32_t x = 0; x < c->image.width; x++)
                greatest = fmax(greatest, fabs((double)crn_image_at(&c->image, plane, y, x)) /
                                              (c->params.unit ? 255 : 1));
    int ways = c->params.direction == CRN_HAAR_DENOISE ? 2 : 1;
    return c->exact ? 0 : (2 * ways * c->params.levels + 1) * 0x1p-24 * greatest;
}

static void run_case(const wing *w, crn_layout layout, const golden_case *c)
{
    const crn_image *in = &c->image;
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(w->threads, &context), 0);
    float *got = calloc(c->count, sizeof *got);
    assert_non_null(got);
    crn_image out = crn_image_dense(got, CRN_F32, layout, in->planes, in->height, in->width);
    assert_int_equal(w->haar(context, &c->params, in, &out), 0);
    const double *wanted = c->wanted;
    double bound = bound_of(c);
    for (int32_t plane = 0; plane < in->planes; plane++)
        for (int32_t y = 0; y < in->height; y++)
            for (int32_t x = 0; x < in->width; x++, wanted++) {
                double value = (double)got[crn_image_index(&out, plane, y, x)];
                if (!(fabs(value - *wanted) <= bound))
                    fail_msg("%s (%s, %d threads): plane %d row %d column %d is %.9g, wanted %.9g "
                             "within %g",
                             c->name, w->name, w->threads, plane, y, x, value, *wanted, bound);
            }
    free(got);
    crn_context_free(&context);
}

static void test_all_find_what_pywt_finds(void **state)
{
    (void)state;
    FILE *file = fopen(CRN_TEST_DATA "/golden/haar.bin", "rb");
    assert_non_null(file);
    static uint8_t bytes[1 << 20];
    reader r = {bytes, fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
    assert_memory_equal(read_bytes(&r, 4), "CRNH", 4);
    uint32_t count;
    memcpy(&count, read_bytes(&r, 4), 4);
    assert_true(count > 200);
    for (uint32_t i = 0; i < count; i++) {
        golden_case c;
        read_case(&r, &c);
        for (size_t k = 0; k < sizeof wings / sizeof *wings; k++) {
            run_case(&wings[k], CRN_CHW, &c);
            run_case(&wings[k], CRN_HWC, &c);
        }
        free(c.image.data);
        free(c.wanted);
    }
    assert_int_equal(r.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_find_what_pywt_finds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
