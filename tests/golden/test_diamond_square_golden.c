/* The diamond-square operators against fields that numpy made (diamond_square.bin, by
 * make_diamond_square.py). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stages/ops.h"

#define ELEMENTS_MAX 100000

/* The definition makes whole fields: these are too large for a test. */
#define SERIAL_EXPONENT_MAX 10

typedef struct golden_case {
    crn_diamond_square_params params;
    int32_t width, height, result;
    crn_type type;
    const uint8_t *wanted;
    size_t wanted_bytes;
} golden_case;

/* Little-endian, as every machine that this runs on; what follows the case. */
static const uint8_t *read_case(const uint8_t *at, const uint8_t *end, golden_case *ret_case)
{
    golden_case c = {.result = 0};
    int32_t fields[7];
    assert_true((size_t)(end - at) >= sizeof fields + 16);
    memcpy(fields, at, sizeof fields);
    memcpy(&c.params.seed, at + sizeof fields, 8);
    memcpy(&c.params.roughness, at + sizeof fields + 8, 8);
    at += sizeof fields + 16;
    c.params.exponent = fields[0];
    c.params.x = fields[1];
    c.params.y = fields[2];
    c.width = fields[3];
    c.height = fields[4];
    c.type = (crn_type)fields[5];
    c.result = fields[6];
    c.wanted = at;
    if (c.result == 0)
        c.wanted_bytes = (size_t)c.width * (size_t)c.height * crn_type_bytes(c.type);
    assert_true(c.wanted_bytes <= ELEMENTS_MAX * sizeof(float));
    assert_true((size_t)(end - at) >= c.wanted_bytes);
    *ret_case = c;
    return at + c.wanted_bytes;
}

static void run_case(crn_diamond_square_fn *operator, crn_context * context, const golden_case *c,
                     uint32_t number)
{
    static float memory[ELEMENTS_MAX];
    memset(memory, 0x5a, sizeof memory);
    crn_image out = crn_image_dense(memory, c->type, CRN_CHW, 1, c->height, c->width);
    int r = operator(context, &c->params, &out);
    if (r != c->result)
        fail_msg("case %u: returned %d, wanted %d", number, r, c->result);
    const uint8_t *got = (const uint8_t *)memory;
    for (size_t i = 0; i < c->wanted_bytes; i++)
        if (got[i] != c->wanted[i])
            fail_msg("case %u (exponent %d, %d x %d at %d, %d, type %d): element %zu differs",
                     number, c->params.exponent, c->width, c->height, c->params.x, c->params.y,
                     c->type, i / crn_type_bytes(c->type));
    assert_int_equal(got[c->wanted_bytes], 0x5a);
}

static void run_all(crn_diamond_square_fn *operator, int32_t threads, int32_t exponent_max)
{
    FILE *file = fopen(CRN_TEST_DATA "/golden/diamond_square.bin", "rb");
    assert_non_null(file);
    static uint8_t bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 8 && size < sizeof bytes);
    assert_memory_equal(bytes, "CRND", 4);
    uint32_t count;
    memcpy(&count, bytes + 4, 4);
    assert_true(count > 100);
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(threads, &context), 0);
    const uint8_t *at = bytes + 8;
    for (uint32_t i = 0; i < count; i++) {
        golden_case c;
        at = read_case(at, bytes + size, &c);
        if (c.result < 0 || c.params.exponent <= exponent_max)
            run_case(operator, context, &c, i);
    }
    assert_true(at == bytes + size);
    crn_context_free(&context);
}

static void test_serial_makes_what_numpy_makes(void **state)
{
    (void)state;
    run_all(crn_diamond_square_serial, 1, SERIAL_EXPONENT_MAX);
}

static void test_openmp_makes_what_numpy_makes(void **state)
{
    (void)state;
    run_all(crn_diamond_square_openmp, 1, CRN_DIAMOND_SQUARE_EXPONENT_MAX);
    run_all(crn_diamond_square_openmp, 3, CRN_DIAMOND_SQUARE_EXPONENT_MAX);
}

/* What cannot be had is refused before memory is asked for, or not given. */
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

/* Of everything that is no rectangle of numbers on a field. */
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
