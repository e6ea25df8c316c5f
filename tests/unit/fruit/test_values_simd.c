/* Simultaneous copy and check of values, on every target, against a scalar definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/openmp/values.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/guarded.h"
#include "tests/support/operators/operator_tests.h"
#include "tests/support/operators/probabilities.h"

static const crn_values_kernels *const kernels[CRN_TARGETS] = {
    &crn_values_kernels_baseline, &crn_values_kernels_avx2, &crn_values_kernels_avx512};

static const crn_type types[] = {CRN_U8, CRN_F16, CRN_F32};

/* --- the definition of counts ----------------------------------------------------------------- */

static bool is_finite(float v)
{
    return v - v == 0;
}

static void count_plainly(const void *from, crn_type type, size_t pixels, int32_t channels,
                          crn_values_count *ret_counts)
{
    for (int32_t c = 0; c < channels; c++) {
        crn_values_count count = {0};
        for (size_t p = 0; p < pixels; p++) {
            float v = probabilities_value(from, type, p * (size_t)channels + (size_t)c);
            if (!is_finite(v)) {
                count.not_finite++;
                continue;
            }
            count.out_of_range += !probabilities_is_valid(v, type);
            count.min = v < count.min ? v : count.min;
            count.max = v > count.max ? v : count.max;
        }
        ret_counts[c] = count;
    }
}

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* --- tests ------------------------------------------------------------------------------------ */

/* Memory with guards at both ends, which must not be read or written. */
typedef struct value_position {
    crn_guarded memory;
    unsigned char *data; /* exactly as many bytes as requested, at any alignment */
} value_position;

static value_position create_place(size_t bytes, bool at_end)
{
    value_position p = {.memory = crn_guarded_create(bytes, at_end)};
    p.data = p.memory.data;
    return p;
}

static void check_copy(crn_target target, crn_type type, const value_position *from, size_t count,
                       const char *what)
{
    size_t bytes = count * crn_type_bytes(type);
    crn_values_seen expected = probabilities_see(from->data, type, count);
    crn_values_copy_fn *copy = crn_values_copy_of(kernels[target], type);
    for (int at_end = 0; at_end < 2; at_end++) {
        value_position to = create_place(bytes, at_end);
        crn_values_seen seen = copy(to.data, from->data, bytes);
        if (!probabilities_same(seen, expected, type))
            fail_msg("%s, %s, %s, %zu elements: suspect is %d, the maximum %g not %g", what,
                     operator_target_names[target], crn_type_name(type), count, seen.suspect,
                     (double)seen.max, (double)expected.max);
        crn_guarded_check_same(&to.memory, from->data, what);
        crn_guarded_check(&to.memory, what);
        crn_guarded_free(&to.memory);
    }
    if (!probabilities_same(copy(NULL, from->data, bytes), expected, type))
        fail_msg("%s, %s, %s, %zu elements: without a copy it is not %d and %g", what,
                 operator_target_names[target], crn_type_name(type), count, expected.suspect,
                 (double)expected.max);
}

/* Any length, at any distance from an aligned address, with no, one or several bad values. */
static void try_case(uint64_t seed)
{
    crn_random random = {seed};
    crn_type type = types[crn_random_below(&random, 3)];
    size_t count = crn_random_below(&random, crn_random_once_in(&random, 8) ? 3000 : 200);
    value_position from =
        create_place(count * crn_type_bytes(type), crn_random_once_in(&random, 2));
    uint32_t bad_once_in = crn_random_below(&random, 3) * (uint32_t)(count + 1);
    for (size_t i = 0; i < count; i++)
        probabilities_put(from.data, type, i,
                          bad_once_in && crn_random_once_in(&random, bad_once_in)
                              ? probabilities_pick_bad(&random, type)
                              : probabilities_pick_good(&random, type));
    char what[80];
    snprintf(what, sizeof what, "CRN_SEED=%llu CRN_CASES=1", (unsigned long long)seed);
    for (crn_target target = 0; target <= crn_target_best(); target++)
        check_copy(target, type, &from, count, what);
    crn_guarded_free(&from.memory);
}

static void any_values_at_any_address(void **state)
{
    (void)state;
    operators_try_cases(1500, try_case);
}

static void nothing_is_copied_of_nothing(void **state)
{
    (void)state;
    unsigned char byte = 7;
    for (crn_target target = 0; target <= crn_target_best(); target++) {
        for (size_t t = 0; t < LENGTH(types); t++) {
            assert_false(
                crn_values_copy_of(kernels[target], types[t])(&byte, &byte + 1, 0).suspect);
            assert_false(crn_values_copy_of(kernels[target], types[t])(NULL, &byte, 0).suspect);
            assert_int_equal(byte, 7);
        }
    }
}

/* One bad value among good ones, at every position. */
static void one_bad_value_is_found_wherever_it_is(void **state)
{
    (void)state;
    static unsigned char memory[1024 + 64];
    static const size_t offsets[] = {0, 1, 33};
    for (crn_target target = 0; target <= crn_target_best(); target++) {
        for (size_t t = 0; t < LENGTH(types); t++) {
            crn_type type = types[t];
            size_t count = 3 * 64 / crn_type_bytes(type) + 7;
            probabilities_list bad = probabilities_bad(type);
            for (size_t i = 0; i < count * LENGTH(offsets) * bad.count; i++) {
                unsigned char *from = memory + offsets[i / count % LENGTH(offsets)];
                memset(memory, 0, sizeof memory);
                size_t bytes = count * crn_type_bytes(type);
                assert_false(crn_values_copy_of(kernels[target], type)(NULL, from, bytes).suspect);
                probabilities_put(from, type, i % count, bad.bits[i / count / LENGTH(offsets)]);
                assert_true(crn_values_copy_of(kernels[target], type)(NULL, from, bytes).suspect);
                probabilities_put(from, type, i % count, type == CRN_U8 ? 2 : 0);
                assert_false(crn_values_copy_of(kernels[target], type)(NULL, from, bytes).suspect);
            }
        }
    }
}

static bool is_bad(crn_target target, crn_type type, uint32_t bits)
{
    return crn_values_copy_of(kernels[target], type)(NULL, &bits, crn_type_bytes(type)).suspect;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void the_range_ends_where_it_is_said_to(void **state)
{
    (void)state;
    for (crn_target target = 0; target <= crn_target_best(); target++) {
        for (size_t t = 0; t < LENGTH(types); t++) {
            probabilities_list good = probabilities_good(types[t]);
            probabilities_list bad = probabilities_bad(types[t]);
            for (size_t i = 0; i < good.count; i++)
                assert_false(is_bad(target, types[t], good.bits[i]));
            for (size_t i = 0; i < bad.count; i++)
                assert_true(is_bad(target, types[t], bad.bits[i]));
        }
        assert_false(is_bad(target, CRN_F32, bits_of(-0.001f)));
        assert_false(is_bad(target, CRN_F32, bits_of(1.001f)));
        assert_true(is_bad(target, CRN_F32, bits_of(-0.0010001f)));
        assert_true(is_bad(target, CRN_F32, bits_of(1.0010002f)));
    }
    /* The halves nearest to -0.001 and 1.001: their neighbours are farther away. */
    assert_float_equal(crn_f16_to_f32(CRN_VALUES_MIN_F16), -0.001f, 0x1p-21);
    assert_float_equal(crn_f16_to_f32(CRN_VALUES_MAX_F16), 1.001f, 0x1p-11);
}

static void every_half_is_judged_as_its_value_is(void **state)
{
    (void)state;
    for (crn_target target = 0; target <= crn_target_best(); target++)
        for (uint32_t half = 0; half <= UINT16_MAX; half++)
            if (is_bad(target, CRN_F16, half) ==
                probabilities_is_valid(probabilities_value(&half, CRN_F16, 0), CRN_F16))
                fail_msg("%s: half %04x", operator_target_names[target], half);
}

static void bytes_are_a_mask_only_if_their_maximum_is_one(void **state)
{
    (void)state;
    for (crn_target target = 0; target <= crn_target_best(); target++)
        for (uint32_t byte = 0; byte <= UINT8_MAX; byte++)
            assert_int_equal(is_bad(target, CRN_U8, byte), byte == 1);
}

static void count_case(uint64_t seed)
{
    crn_random random = {seed};
    crn_type type = types[crn_random_between(&random, 1, 2)];
    int32_t channels = crn_random_once_in(&random, 8) ? CRN_VALUES_CHANNELS_MAX
                                                      : crn_random_between(&random, 1, 64);
    size_t pixels = crn_random_below(&random, 300);
    size_t count = pixels * (size_t)channels;
    value_position from = create_place(count * crn_type_bytes(type), true);
    uint32_t bad_once_in = crn_random_below(&random, 1000) + 1;
    for (size_t i = 0; i < count; i++)
        probabilities_put(from.data, type, i,
                          crn_random_once_in(&random, bad_once_in)
                              ? probabilities_pick_bad(&random, type)
                              : probabilities_pick_good(&random, type));
    crn_values_count expected[CRN_VALUES_CHANNELS_MAX], counts[CRN_VALUES_CHANNELS_MAX];
    count_plainly(from.data, type, pixels, channels, expected);
    for (crn_target target = 0; target <= crn_target_best(); target++) {
        memset(counts, 0xc5, sizeof counts);
        kernels[target]->count(from.data, type, pixels, channels, counts);
        for (int32_t c = 0; c < channels; c++)
            if (counts[c].not_finite != expected[c].not_finite ||
                counts[c].out_of_range != expected[c].out_of_range ||
                counts[c].min != expected[c].min || counts[c].max != expected[c].max)
                fail_msg("CRN_SEED=%llu CRN_CASES=1: %s, %s, channel %d of %d",
                         (unsigned long long)seed, operator_target_names[target],
                         crn_type_name(type), c, channels);
    }
    crn_guarded_free(&from.memory);
}

static void every_channel_is_counted(void **state)
{
    (void)state;
    operators_try_cases(500, count_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_values_at_any_address),
        cmocka_unit_test(nothing_is_copied_of_nothing),
        cmocka_unit_test(one_bad_value_is_found_wherever_it_is),
        cmocka_unit_test(the_range_ends_where_it_is_said_to),
        cmocka_unit_test(every_half_is_judged_as_its_value_is),
        cmocka_unit_test(bytes_are_a_mask_only_if_their_maximum_is_one),
        cmocka_unit_test(every_channel_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
