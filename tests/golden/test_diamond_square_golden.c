/* The diamond-square operators against numpy (diamond_square.bin, by make_diamond_square.py). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/golden_file.h"

#define ELEMENTS_MAX 100000

/* The serial operator computes whole fields; larger ones are too slow for a test. */
#define SERIAL_EXPONENT_MAX 10

typedef struct diamond_square_golden_case {
    crn_diamond_square_params params;
    int32_t width, height, result;
    crn_type type;
    const uint8_t *wanted;
    size_t wanted_bytes;
} diamond_square_golden_case;

static diamond_square_golden_case read_case(golden_file *file)
{
    diamond_square_golden_case c = {.result = 0};
    int32_t fields[7];
    golden_read(file, fields, sizeof fields);
    golden_read(file, &c.params.seed, 8);
    golden_read(file, &c.params.roughness, 8);
    c.params.exponent = fields[0];
    c.params.x = fields[1];
    c.params.y = fields[2];
    c.width = fields[3];
    c.height = fields[4];
    c.type = (crn_type)fields[5];
    c.result = fields[6];
    if (c.result == 0)
        c.wanted_bytes = (size_t)c.width * (size_t)c.height * crn_type_bytes(c.type);
    assert_true(c.wanted_bytes < ELEMENTS_MAX * sizeof(float));
    c.wanted = golden_bytes(file, c.wanted_bytes);
    return c;
}

static void try_case(golden_file *file, const golden_backend *backend, uint32_t number)
{
    static float memory[ELEMENTS_MAX];
    diamond_square_golden_case c = read_case(file);
    bool is_serial = backend->ops->diamond_square == crn_diamond_square_serial;
    if (is_serial && c.result == 0 && c.params.exponent > SERIAL_EXPONENT_MAX)
        return;
    memset(memory, 0x5a, sizeof memory);
    crn_image out = crn_image_dense(memory, c.type, CRN_CHW, 1, c.height, c.width);
    int r = backend->ops->diamond_square(backend->context, &c.params, &out);
    if (r != c.result)
        fail_msg("%s, case %u: returned %d, wanted %d", backend->name, number, r, c.result);
    const uint8_t *got = (const uint8_t *)memory;
    for (size_t i = 0; i < c.wanted_bytes; i++)
        if (got[i] != c.wanted[i])
            fail_msg("%s, case %u (exponent %d, %d x %d at %d, %d, type %d): element %zu differs",
                     backend->name, number, c.params.exponent, c.width, c.height, c.params.x,
                     c.params.y, c.type, i / crn_type_bytes(c.type));
    assert_int_equal(got[c.wanted_bytes], 0x5a);
}

static const golden_cases cases = {CRN_TEST_DATA "/golden/diamond_square.bin", "CRND", 100,
                                   try_case};

static void test_serial_makes_what_numpy_makes(void **state)
{
    (void)state;
    golden_try_serial(&cases);
}

static void test_openmp_makes_what_numpy_makes(void **state)
{
    (void)state;
    golden_try_openmp(&cases);
}

/* Impossible sizes are refused before allocating, or the allocation fails. */
static void test_serial_refuses_fields_larger_than_memory(void **state)
{
    (void)state;
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(1, &context), 0);
    uint8_t pixel = 77;
    crn_image out = crn_image_dense(&pixel, CRN_U8, CRN_CHW, 1, 1, 1);
    crn_diamond_square_params params = {.exponent = CRN_DIAMOND_SQUARE_EXPONENT_MAX};
    assert_int_equal(crn_diamond_square_serial(context, &params, &out), -ENOMEM);
    assert_int_equal(pixel, 77);
    crn_context_free(&context);
}

/* Images that are not a rectangle of the field in u8 or f32. */
static void test_refuses_images_without_meaning(void **state)
{
    (void)state;
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(1, &context), 0);
    static float memory[81];
    const crn_image good = crn_image_dense(memory, CRN_F32, CRN_CHW, 1, 9, 9);
    crn_image bad[7] = {good, good, good, good, good, good, good};
    bad[0].data = NULL;
    bad[1].type = CRN_F16;
    bad[2].type = CRN_U16;
    bad[3].planes = 2;
    bad[4].planes = 0;
    bad[5].height = 0;
    bad[6].width = -1;
    crn_diamond_square_params params = {.exponent = 3, .roughness = 0.5};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(crn_diamond_square_serial(context, &params, &bad[i]), -EINVAL);
        assert_int_equal(crn_diamond_square_openmp(context, &params, &bad[i]), -EINVAL);
    }
    for (int i = 0; i < 81; i++)
        assert_true(memory[i] == 0);
    crn_context_free(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_makes_what_numpy_makes),
        cmocka_unit_test(test_openmp_makes_what_numpy_makes),
        cmocka_unit_test(test_serial_refuses_fields_larger_than_memory),
        cmocka_unit_test(test_refuses_images_without_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
