/* Structuring elements: members, and invalid ones. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/kernel/element.h"
#include "tests/support/cmocka_prelude.h"

/* Rows of '#' and '.', concatenated. */
static void assert_members(crn_element_shape shape, int32_t width, int32_t height, const char *rows)
{
    crn_element element = {.shape = shape, .width = width, .height = height};
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            if (crn_element_has(&element, x, y) != (rows[y * width + x] == '#'))
                fail_msg("shape %d of %d x %d at (%d, %d)", shape, width, height, x, y);
}

static void test_shapes(void **state)
{
    (void)state;
    assert_members(CRN_ELEMENT_RECT, 3, 2, "######");
    assert_members(CRN_ELEMENT_CROSS, 3, 3, ".#.###.#.");
    assert_members(CRN_ELEMENT_CROSS, 4, 2, "..#.####");
    assert_members(CRN_ELEMENT_DISK, 1, 1, "#");
    assert_members(CRN_ELEMENT_DISK, 3, 3, ".#.###.#.");
    assert_members(CRN_ELEMENT_DISK, 5, 5, "..#...###.#####.###...#..");
    assert_members(CRN_ELEMENT_DISK, 4, 4, ".....###.###.###");
    assert_members(CRN_ELEMENT_DISK, 2, 3, ".#.#.#");
    assert_members(CRN_ELEMENT_DISK, 2, 2, "...#");
    assert_members(CRN_ELEMENT_DISK, 5, 1, "#####");
    assert_members(CRN_ELEMENT_DISK, 4, 1, "####");
}

static void test_disk_of_the_largest_size(void **state)
{
    (void)state;
    crn_element disk = {
        .shape = CRN_ELEMENT_DISK, .width = CRN_ELEMENT_MAX, .height = CRN_ELEMENT_MAX};
    int32_t middle = CRN_ELEMENT_MAX / 2;
    for (int32_t x = 0; x < CRN_ELEMENT_MAX; x++) {
        assert_true(crn_element_has(&disk, x, middle));
        assert_int_equal(crn_element_has(&disk, x, 0), x == middle);
    }
    assert_false(crn_element_has(&disk, 0, middle - 1));
}

static void test_picture(void **state)
{
    (void)state;
    const uint8_t members[6] = {0, 1, 255, 0, 0, 7};
    crn_element element = {
        .shape = CRN_ELEMENT_PICTURE, .width = 3, .height = 2, .members = members};
    for (int32_t i = 0; i < 6; i++)
        assert_int_equal(crn_element_has(&element, i % 3, i / 3), members[i] != 0);
    assert_int_equal(crn_element_check(&element, CRN_U8), 0);
}

static int check_of(crn_element_shape shape, int32_t width, int32_t height, const uint8_t *members,
                    const float *heights, crn_type type)
{
    crn_element element = {shape, width, height, members, heights};
    return crn_element_check(&element, type);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    const uint8_t none[4] = {0}, one[4] = {0, 0, 3, 0};
    assert_int_equal(crn_element_check(NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_RECT, 1, 1, NULL, NULL, CRN_U8), 0);
    assert_int_equal(check_of(CRN_ELEMENT_RECT, 4095, 4095, NULL, NULL, CRN_F32), 0);
    assert_int_equal(check_of(CRN_ELEMENT_RECT, 4096, 1, NULL, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_RECT, 1, 4096, NULL, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_RECT, 0, 1, NULL, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_DISK, 1, -1, NULL, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_RECT, 3, 3, NULL, NULL, CRN_U16), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_RECT, 3, 3, NULL, NULL, CRN_F16), -EINVAL);
    assert_int_equal(check_of((crn_element_shape)4, 3, 3, NULL, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of((crn_element_shape)-1, 3, 3, NULL, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_PICTURE, 2, 2, one, NULL, CRN_U8), 0);
    assert_int_equal(check_of(CRN_ELEMENT_PICTURE, 2, 2, none, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_PICTURE, 2, 2, NULL, NULL, CRN_U8), -EINVAL);
    assert_int_equal(check_of(CRN_ELEMENT_CROSS, 2, 2, one, NULL, CRN_U8), -EINVAL);
}

static void test_heights(void **state)
{
    (void)state;
    static const struct {
        float height;
        int u8, f32;
    } cases[] = {
        {0, 0, 0},
        {-0.0f, 0, 0},
        {255, 0, 0},
        {-255, 0, 0},
        {256, -EINVAL, 0},
        {-256, -EINVAL, 0},
        {0.5f, -EINVAL, 0},
        {3e38f, -EINVAL, 0},
        {NAN, -EINVAL, -EINVAL},
        {INFINITY, -EINVAL, -EINVAL},
        {-INFINITY, -EINVAL, -EINVAL},
    };
    const uint8_t members[2] = {1, 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float heights[2] = {cases[i].height, NAN}; /* not a member: any height is valid */
        assert_int_equal(check_of(CRN_ELEMENT_PICTURE, 2, 1, members, heights, CRN_U8),
                         cases[i].u8);
        assert_int_equal(check_of(CRN_ELEMENT_PICTURE, 2, 1, members, heights, CRN_F32),
                         cases[i].f32);
    }
}

static void test_view_of_a_loaded_one(void **state)
{
    (void)state;
    crn_element_loaded *loaded = calloc(1, sizeof *loaded);
    assert_non_null(loaded);
    loaded->shape = CRN_ELEMENT_DISK;
    loaded->size = (crn_size){7, 5};
    loaded->flat = true;
    crn_element element = crn_element_of(loaded);
    assert_int_equal(element.shape, CRN_ELEMENT_DISK);
    assert_int_equal(element.width, 7);
    assert_int_equal(element.height, 5);
    assert_null(element.members);
    assert_null(element.heights);
    loaded->shape = CRN_ELEMENT_PICTURE;
    loaded->flat = false;
    element = crn_element_of(loaded);
    assert_ptr_equal(element.members, loaded->members);
    assert_ptr_equal(element.heights, loaded->heights);
    free(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),  cmocka_unit_test(test_disk_of_the_largest_size),
        cmocka_unit_test(test_picture), cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_heights), cmocka_unit_test(test_view_of_a_loaded_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
