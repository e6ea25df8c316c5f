/* Properties of morphology that hold for every backend, tested on serial and openmp. */
#include <math.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

#define SIDE_MAX    40
#define ELEMENT_MAX 9

static crn_morphology_fn *const operators[] = {crn_morphology_serial, crn_morphology_openmp};

typedef union pixels {
    uint8_t u8[SIDE_MAX * SIDE_MAX];
    float f32[SIDE_MAX * SIDE_MAX];
} pixels;

/* Input of a property test: a picture, an asymmetric element, and the operator. */
typedef struct morphology_trial {
    crn_morphology_fn *morph;
    crn_image in;
    pixels values;
    uint8_t members[ELEMENT_MAX * ELEMENT_MAX];
    crn_element element;
} morphology_trial;

static void make_trial(morphology_trial *t, crn_morphology_fn *morph, crn_type type)
{
    memset(t, 0, sizeof *t);
    t->morph = morph;
    int32_t height = crn_random_between(&operator_random, 1, SIDE_MAX);
    int32_t width = crn_random_between(&operator_random, 1, SIDE_MAX);
    for (int32_t i = 0; i < height * width; i++) {
        uint32_t value = crn_random_below(&operator_random, 256);
        if (type == CRN_U8)
            t->values.u8[i] = (uint8_t)value;
        else
            t->values.f32[i] = (float)value / 16 - 8;
    }
    t->in = crn_image_dense(&t->values, type, CRN_CHW, 1, height, width);
    t->element =
        (crn_element){CRN_ELEMENT_PICTURE, crn_random_between(&operator_random, 1, ELEMENT_MAX),
                      crn_random_between(&operator_random, 1, ELEMENT_MAX), t->members, NULL};
    int32_t count = t->element.width * t->element.height;
    for (int32_t i = 0; i < count; i++)
        t->members[i] = crn_random_once_in(&operator_random, 3);
    t->members[crn_random_below(&operator_random, (uint32_t)count)] = 1;
}

static void run(const morphology_trial *t, crn_morphology_operation operation,
                const crn_element *element, const pixels *in, pixels *out)
{
    crn_image from = t->in, to = t->in;
    from.data = (void *)(uintptr_t)in;
    to.data = out;
    crn_morphology_params params = {operation, *element};
    assert_int_equal(t->morph(operator_contexts[1], &params, &from, &to), 0);
}

static int32_t pixel_count(const morphology_trial *t)
{
    return t->in.width * t->in.height;
}

static float value_at(const morphology_trial *t, const pixels *p, int32_t i)
{
    return t->in.type == CRN_U8 ? p->u8[i] : p->f32[i];
}

static void assert_same(const morphology_trial *t, const pixels *a, const pixels *b)
{
    assert_memory_equal(a, b, (size_t)pixel_count(t) * crn_type_bytes(t->in.type));
}

static void assert_nowhere_above(const morphology_trial *t, const pixels *a, const pixels *b)
{
    for (int32_t i = 0; i < pixel_count(t); i++)
        assert_true(value_at(t, a, i) <= value_at(t, b, i));
}

static void check_opening_and_closing(morphology_trial *t)
{
    pixels open, again, close;
    run(t, CRN_OPEN, &t->element, &t->values, &open);
    run(t, CRN_OPEN, &t->element, &open, &again);
    assert_same(t, &open, &again);
    assert_nowhere_above(t, &open, &t->values);
    run(t, CRN_CLOSE, &t->element, &t->values, &close);
    run(t, CRN_CLOSE, &t->element, &close, &again);
    assert_same(t, &close, &again);
    assert_nowhere_above(t, &t->values, &close);
}

static void reflect(const crn_element *element, uint8_t *members, crn_element *ret_element)
{
    /* Odd sizes, so that the anchor is the centre of both. */
    int32_t width = element->width | 1, height = element->height | 1;
    memset(members, 0, (size_t)width * (size_t)height);
    for (int32_t y = 0; y < element->height; y++)
        for (int32_t x = 0; x < element->width; x++) {
            int32_t to_x = width / 2 - (x - element->width / 2);
            int32_t to_y = height / 2 - (y - element->height / 2);
            if (to_x >= 0 && to_y >= 0 && to_x < width && to_y < height)
                members[to_y * width + to_x] = element->members[y * element->width + x];
        }
    *ret_element = (crn_element){CRN_ELEMENT_PICTURE, width, height, members, NULL};
}

static void invert(const morphology_trial *t, const pixels *in, pixels *out)
{
    for (int32_t i = 0; i < pixel_count(t); i++) {
        if (t->in.type == CRN_U8)
            out->u8[i] = (uint8_t)(255 - in->u8[i]);
        else
            out->f32[i] = 0.0f - in->f32[i];
    }
}

static void check_duality(morphology_trial *t)
{
    uint8_t members[(ELEMENT_MAX + 1) * (ELEMENT_MAX + 1)];
    crn_element reflected;
    reflect(&t->element, members, &reflected);
    pixels eroded, inverse, dilated, back;
    run(t, CRN_ERODE, &t->element, &t->values, &eroded);
    invert(t, &t->values, &inverse);
    run(t, CRN_DILATE, &reflected, &inverse, &dilated);
    invert(t, &dilated, &back);
    assert_same(t, &eroded, &back);
}

/* Semigroup property: two rectangles in sequence equal one larger rectangle if their sides are odd,
 * and the picture's border is far away or does not contribute. */
static void check_semigroup(morphology_trial *t)
{
    crn_element first = {CRN_ELEMENT_RECT, 2 * crn_random_between(&operator_random, 0, 4) + 1,
                         2 * crn_random_between(&operator_random, 0, 4) + 1, NULL, NULL};
    crn_element second = {CRN_ELEMENT_RECT, 2 * crn_random_between(&operator_random, 0, 4) + 1,
                          2 * crn_random_between(&operator_random, 0, 4) + 1, NULL, NULL};
    crn_element both = {CRN_ELEMENT_RECT, first.width + second.width - 1,
                        first.height + second.height - 1, NULL, NULL};
    for (int i = 0; i < 2; i++) {
        crn_morphology_operation operation = i ? CRN_DILATE : CRN_ERODE;
        pixels once, twice, whole;
        run(t, operation, &first, &t->values, &once);
        run(t, operation, &second, &once, &twice);
        run(t, operation, &both, &t->values, &whole);
        assert_same(t, &twice, &whole);
    }
}

/* Threshold decomposition: a pixel of the result reaches a threshold exactly where the operation on
 * the thresholded picture does. */
static void check_thresholds(morphology_trial *t)
{
    float threshold = value_at(
        t, &t->values, (int32_t)crn_random_below(&operator_random, (uint32_t)pixel_count(t)));
    if (t->in.type == CRN_U8 && threshold == 0)
        threshold = 1; /* 0 is reached even where no member lies on the picture */
    for (int operation = CRN_ERODE; operation <= CRN_CLOSE; operation++) {
        pixels binary, of_binary, whole;
        for (int32_t i = 0; i < pixel_count(t); i++) {
            bool reaches = value_at(t, &t->values, i) >= threshold;
            if (t->in.type == CRN_U8)
                binary.u8[i] = reaches ? 255 : 0;
            else
                binary.f32[i] = reaches ? INFINITY : -INFINITY;
        }
        run(t, (crn_morphology_operation)operation, &t->element, &binary, &of_binary);
        run(t, (crn_morphology_operation)operation, &t->element, &t->values, &whole);
        for (int32_t i = 0; i < pixel_count(t); i++)
            assert_int_equal(value_at(t, &of_binary, i) > 0, value_at(t, &whole, i) >= threshold);
    }
}

static void check_monotonicity(morphology_trial *t)
{
    pixels above = t->values, low, high;
    for (int32_t i = 0; i < pixel_count(t); i++) {
        uint32_t more = crn_random_below(&operator_random, 40);
        if (t->in.type == CRN_U8)
            above.u8[i] = (uint8_t)(above.u8[i] + more > 255 ? 255 : above.u8[i] + more);
        else
            above.f32[i] += (float)more;
    }
    for (int operation = CRN_ERODE; operation <= CRN_CLOSE; operation++) {
        run(t, (crn_morphology_operation)operation, &t->element, &t->values, &low);
        run(t, (crn_morphology_operation)operation, &t->element, &above, &high);
        assert_nowhere_above(t, &low, &high);
    }
}

static void check_all(void (*check)(morphology_trial *t))
{
    uint32_t cases = crn_random_cases(150);
    static morphology_trial t;
    for (uint32_t i = 0; i < cases; i++)
        for (size_t k = 0; k < 2 * sizeof operators / sizeof *operators; k++) {
            make_trial(&t, operators[k / 2], k & 1 ? CRN_U8 : CRN_F32);
            check(&t);
        }
}

static void test_opening_and_closing(void **state)
{
    (void)state;
    check_all(check_opening_and_closing);
}

static void test_duality(void **state)
{
    (void)state;
    check_all(check_duality);
}

static void test_semigroup_of_rectangles(void **state)
{
    (void)state;
    check_all(check_semigroup);
}

static void test_thresholds(void **state)
{
    (void)state;
    check_all(check_thresholds);
}

static void test_monotonicity(void **state)
{
    (void)state;
    check_all(check_monotonicity);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void assert_row(crn_morphology_fn *morph, crn_morphology_operation operation,
                       const float *in, const float *wanted)
{
    float values[4], got[4];
    memcpy(values, in, sizeof values);
    crn_image from = crn_image_dense(values, CRN_F32, CRN_CHW, 1, 1, 4), to = from;
    to.data = got;
    crn_morphology_params params = {operation, {CRN_ELEMENT_RECT, 3, 1, NULL, NULL}};
    assert_int_equal(morph(operator_contexts[1], &params, &from, &to), 0);
    for (int i = 0; i < 4; i++)
        if (bits_of(got[i]) != bits_of(wanted[i]))
            fail_msg("operation %d, element %d: %a, wanted %a", operation, i, (double)got[i],
                     (double)wanted[i]);
}

/* Special floats as cernita.h defines them, bit by bit. */
static void test_special_floats(void **state)
{
    (void)state;
    const float in[4] = {-0.0f, -NAN, INFINITY, INFINITY};
    const float inf = INFINITY, nan = __builtin_nanf("");
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
        assert_row(operators[k], CRN_ERODE, in, (const float[]){0, 0, inf, inf});
        assert_row(operators[k], CRN_DILATE, in, (const float[]){0, inf, inf, inf});
        assert_row(operators[k], CRN_OPEN, in, (const float[]){0, inf, inf, inf});
        assert_row(operators[k], CRN_CLOSE, in, (const float[]){0, 0, inf, inf});
        assert_row(operators[k], CRN_GRADIENT, in, (const float[]){0, inf, nan, nan});
        assert_row(operators[k], CRN_TOPHAT, in, (const float[]){0, nan, nan, nan});
        assert_row(operators[k], CRN_BLACKHAT, in, (const float[]){0, nan, nan, nan});
        const float all_nan[4] = {NAN, NAN, NAN, NAN};
        assert_row(operators[k], CRN_ERODE, all_nan, (const float[]){inf, inf, inf, inf});
        assert_row(operators[k], CRN_DILATE, all_nan, (const float[]){-inf, -inf, -inf, -inf});
    }
}

static void test_invalid_arguments_are_refused(void **state)
{
    (void)state;
    static const crn_parity_params invalid[] = {
        {.morphology = {(crn_morphology_operation)7, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}}},
        {.morphology = {(crn_morphology_operation)-1, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}}},
        {.morphology = {CRN_ERODE, {CRN_ELEMENT_RECT, 0, 3, NULL, NULL}}},
    };
    crn_parity_check_refusals(&(crn_parity_refusals){
        .kind = CRN_PARITY_MORPHOLOGY,
        .in_type = CRN_U8,
        .out_type = CRN_U8,
        .unsupported = CRN_F16,
        .in_shape = {1, 2, 2},
        .out_shape = {1, 2, 2},
        .valid.morphology = {CRN_ERODE, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}},
        .invalid = invalid,
        .count = sizeof invalid / sizeof *invalid});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening_and_closing),
        cmocka_unit_test(test_duality),
        cmocka_unit_test(test_semigroup_of_rectangles),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_monotonicity),
        cmocka_unit_test(test_special_floats),
        cmocka_unit_test(test_invalid_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, operators_set_up_random, operators_tear_down);
}
