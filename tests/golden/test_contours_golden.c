/* The contours operators against what skimage found (contours.bin, by make_contours.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stages/backend.h"
#include "tests/support/compare.h"

#define PLANES_MAX 64

typedef struct reader {
    const uint8_t *bytes;
    size_t left;
} reader;

/* One case as the file holds it; arrays that need alignment are copied, and the case owns them. */
typedef struct golden_case {
    char name[33];
    crn_image image;
    crn_contours_params params;
    double levels[PLANES_MAX];
    bool segments_only;
    int32_t result;
    crn_contours wanted;
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
    void *copy = malloc(count + 1);
    assert_non_null(copy);
    return memcpy(copy, read_bytes(r, count), count);
}

static void read_wanted(reader *r, golden_case *c, uint32_t count)
{
    c->wanted.contours = calloc((size_t)count + 1, sizeof *c->wanted.contours);
    assert_non_null(c->wanted.contours);
    for (uint32_t i = 0; i < count; i++) {
        int32_t fields[3];
        memcpy(fields, read_bytes(r, sizeof fields), sizeof fields);
        c->wanted.contours[i] =
            (crn_contour){fields[0], fields[1] != 0, c->wanted.point_count, (uint32_t)fields[2]};
        c->wanted.point_count += (uint32_t)fields[2];
    }
    c->wanted.contour_count = count;
    c->wanted.points = read_copy(r, c->wanted.point_count * sizeof(crn_point));
}

/* Little-endian, as every machine that this runs on. */
static void read_case(reader *r, golden_case *ret_case)
{
    golden_case c = {.result = 0};
    memcpy(c.name, read_bytes(r, 32), 32);
    int32_t fields[12];
    memcpy(fields, read_bytes(r, sizeof fields), sizeof fields);
    int32_t height = fields[0], width = fields[1], planes = fields[2];
    assert_true(planes >= 1 && planes <= PLANES_MAX);
    memcpy(c.levels, read_bytes(r, (size_t)planes * 8), (size_t)planes * 8);
    size_t pixels = (size_t)height * (size_t)width;
    void *data = read_copy(r, pixels * (size_t)planes * crn_type_bytes((crn_type)fields[3]));
    c.image =
        crn_image_dense(data, (crn_type)fields[3], (crn_layout)fields[4], planes, height, width);
    c.params.connectivity = (crn_connectivity)fields[5];
    c.params.orientation = (crn_orientation)fields[6];
    c.params.border = (crn_border)fields[7];
    c.params.mask = fields[8] ? read_copy(r, pixels) : NULL;
    c.segments_only = fields[9];
    c.result = fields[10];
    read_wanted(r, &c, (uint32_t)fields[11]);
    *ret_case = c;
}

static void free_case(golden_case *c)
{
    free(c->image.data);
    free((void *)(uintptr_t)c->params.mask);
    free(c->wanted.points);
    free(c->wanted.contours);
}

static void run_case(const crn_ops *ops, crn_context *context, golden_case *c)
{
    c->params.levels = c->levels;
    uint32_t points = c->wanted.point_count + 1000, contours = c->wanted.contour_count + 1000;
    crn_contours out = {malloc(points * sizeof(crn_point)),
                        malloc(contours * sizeof(crn_contour)),
                        points,
                        contours,
                        7,
                        7,
                        true};
    assert_true(out.points && out.contours);
    char what[64];
    snprintf(what, sizeof what, "%s (%s, %d threads)", c->name, ops->name,
             crn_context_threads(context));
    int r = ops->contours(context, &c->params, &c->image, &out);
    if (r != c->result)
        fail_msg("%s: returned %d, wanted %d", what, r, c->result);
    if (r < 0)
        assert_true(out.point_count == 7 && out.contour_count == 7 && out.truncated);
    else if (c->segments_only)
        crn_assert_segments_equal(&out, &c->wanted, what);
    else
        crn_assert_contours_equal(&out, &c->wanted, what);
    free(out.points);
    free(out.contours);
}

static void run_all(crn_backend backend, int32_t threads)
{
    FILE *file = fopen(CRN_TEST_DATA "/golden/contours.bin", "rb");
    assert_non_null(file);
    static uint8_t bytes[4 << 20];
    reader r = {bytes, fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
    assert_memory_equal(read_bytes(&r, 4), "CRNG", 4);
    uint32_t count;
    memcpy(&count, read_bytes(&r, 4), 4);
    assert_true(count > 100);

    const char *why = NULL;
    const crn_ops *ops = crn_backend_ops(backend, &why);
    assert_non_null(ops);
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(threads, &context), 0);
    for (uint32_t i = 0; i < count; i++) {
        golden_case c;
        read_case(&r, &c);
        run_case(ops, context, &c);
        free_case(&c);
    }
    assert_int_equal(r.left, 0);
    crn_context_free(&context);
}

static void test_serial_finds_what_skimage_finds(void **state)
{
    (void)state;
    run_all(CRN_BACKEND_SERIAL, 1);
}

static void test_openmp_finds_what_skimage_finds(void **state)
{
    (void)state;
    run_all(CRN_BACKEND_OPENMP, 1);
    run_all(CRN_BACKEND_OPENMP, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_finds_what_skimage_finds),
        cmocka_unit_test(test_openmp_finds_what_skimage_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
