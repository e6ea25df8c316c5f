/* The ranklet operators against all pairs, counted one by one (ranklet.bin, by make_ranklet.py). */
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

/* One case as the file holds it; arrays are copied, and the case owns them. */
typedef struct golden_case {
    char name[33];
    crn_image image;
    crn_ranklet_params params;
    float *wanted;
    size_t wanted_count;
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
static golden_case read_case(reader *r)
{
    golden_case c = {.wanted = NULL};
    memcpy(c.name, read_bytes(r, 32), 32);
    int32_t fields[7]; /* planes, height, width, type, layout, window's width and height */
    memcpy(fields, read_bytes(r, sizeof fields), sizeof fields);
    size_t pixels = (size_t)fields[0] * (size_t)fields[1] * (size_t)fields[2];
    void *data = read_copy(r, pixels * crn_type_bytes((crn_type)fields[3]));
    c.image = crn_image_dense(data, (crn_type)fields[3], (crn_layout)fields[4], fields[0],
                              fields[1], fields[2]);
    c.params = (crn_ranklet_params){fields[5], fields[6]};
    c.wanted_count = 3 * (size_t)fields[0] * (size_t)(fields[1] - fields[6] + 1) *
                     (size_t)(fields[2] - fields[5] + 1);
    c.wanted = read_copy(r, c.wanted_count * sizeof *c.wanted);
    return c;
}

static void run_case(crn_ranklet_fn *operator, crn_context * context, golden_case *c)
{
    float *got = malloc(c->wanted_count * sizeof *got);
    assert_non_null(got);
    crn_image out = crn_image_dense(got, CRN_F32, CRN_CHW, 3 * c->image.planes,
                                    c->image.height - c->params.height + 1,
                                    c->image.width - c->params.width + 1);
    assert_int_equal(operator(context, &c->params, &c->image, &out), 0);
    for (size_t i = 0; i < c->wanted_count; i++)
        if (memcmp(&got[i], &c->wanted[i], sizeof *got) != 0)
            fail_msg("%s: element %zu is %.9g, wanted %.9g", c->name, i, (double)got[i],
                     (double)c->wanted[i]);
    free(got);
}

static void run_all(crn_ranklet_fn *operator, int32_t threads)
{
    FILE *file = fopen(CRN_TEST_DATA "/golden/ranklet.bin", "rb");
    assert_non_null(file);
    static uint8_t bytes[1 << 20];
    reader r = {bytes, fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
    assert_memory_equal(read_bytes(&r, 4), "CRNR", 4);
    uint32_t count;
    memcpy(&count, read_bytes(&r, 4), 4);
    assert_true(count > 50);
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(threads, &context), 0);
    for (uint32_t i = 0; i < count; i++) {
        golden_case c = read_case(&r);
        run_case(operator, context, &c);
        free(c.image.data);
        free(c.wanted);
    }
    assert_int_equal(r.left, 0);
    crn_context_free(&context);
}

static void test_serial_counts_all_pairs(void **state)
{
    (void)state;
    run_all(crn_ranklet_serial, 1);
}

static void test_openmp_counts_all_pairs(void **state)
{
    (void)state;
    run_all(crn_ranklet_openmp, 1);
    run_all(crn_ranklet_openmp, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_counts_all_pairs),
        cmocka_unit_test(test_openmp_counts_all_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
