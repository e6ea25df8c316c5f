/* Structuring elements by name and from pictures. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stages/kernel/element.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

static const crn_size size = {7, 3};

static crn_element_loaded load(const char *text, bool non_flat)
{
    crn_element_loaded element = {0};
    crn_error error = {0};
    if (crn_element_load(text, size, non_flat, &element, &error))
        fail_msg("%s", error.text);
    return element;
}

static void assert_refused(const char *text, crn_size wanted_size, bool non_flat, int code,
                           const char *wanted)
{
    crn_element_loaded element = {.size = {99, 99}};
    crn_error error = {0};
    int r = crn_element_load(text, wanted_size, non_flat, &element, &error);
    if (r != code || !strstr(error.text, wanted) || strchr(error.text, '\n'))
        fail_msg("%d: '%s', wanted %d: '%s'", r, error.text, code, wanted);
    assert_int_equal(element.size.width, 99);
}

static void a_name_is_a_shape_of_that_size(void **state)
{
    (void)state;
    static const char *const names[] = {"rect", "disk", "cross"};
    static const crn_element_shape shapes[] = {CRN_ELEMENT_RECT, CRN_ELEMENT_DISK,
                                               CRN_ELEMENT_CROSS};
    for (int i = 0; i < 3; i++) {
        crn_element_loaded element = load(names[i], false);
        assert_int_equal(element.shape, shapes[i]);
        assert_int_equal(element.size.width, 7);
        assert_int_equal(element.size.height, 3);
        assert_true(element.flat);
    }
    assert_refused("rect", size, true, -EINVAL,
                   "the element rect is flat; one that is not comes from a picture");
    assert_refused("disk", (crn_size){0, 3}, false, -EINVAL,
                   "the element disk cannot be 0x3; each side is from 1 to 4095");
    assert_refused("disk", (crn_size){3, 4096}, false, -EINVAL, "cannot be 3x4096");
    assert_refused("disc", size, false, -ENOENT,
                   "disc: is not an element (rect, disk, cross), and there is no such file");
}

/* Writes an f32 picture with these values. */
static const char *write_values(const float *values, int32_t pages, int32_t height, int32_t width)
{
    const char *path = picture_path("element.tif");
    crn_picture picture = {0};
    crn_error error = {0};
    assert_int_equal(crn_picture_create(CRN_F32, pages, 1, height, width, &picture), 0);
    if (values)
        memcpy(picture.memory, values, (size_t)(pages * height * width) * sizeof *values);
    if (crn_picture_write(path, &picture, &error))
        fail_msg("%s", error.text);
    crn_picture_free(&picture);
    return path;
}

static void a_picture_gives_members_and_heights(void **state)
{
    (void)state;
    const float values[] = {0, 2.5F, -1, 0, 0, 0.25F};
    const char *path = write_values(values, 1, 2, 3);
    for (int non_flat = 0; non_flat < 2; non_flat++) {
        crn_element_loaded element = load(path, non_flat);
        assert_int_equal(element.shape, CRN_ELEMENT_PICTURE);
        assert_int_equal(element.flat, !non_flat);
        assert_int_equal(element.size.width, 3);
        assert_int_equal(element.size.height, 2);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(element.members[i], values[i] != 0);
            assert_true(element.heights[i] == (non_flat ? values[i] : 0));
        }
    }
}

static void pictures_that_are_no_element_are_told(void **state)
{
    (void)state;
    const float values[] = {0, __builtin_inff(), __builtin_nanf(""), 0};
    assert_refused(write_values(values, 1, 2, 2), size, false, -EINVAL,
                   "element.tif: pixel 1,0 is infinite; an element's are finite");
    assert_refused(write_values(values + 2, 1, 2, 1), size, true, -EINVAL,
                   "element.tif: pixel 0,0 is NaN");
    assert_refused(write_values(NULL, 1, 4, 4), size, false, -EINVAL,
                   "element.tif: all pixels are 0; those of an element's members are not");
    assert_refused(write_values(NULL, 2, 4, 4), size, false, -EINVAL,
                   "element.tif: has 2 planes, an element has one: save it as grey");
    assert_refused(write_values(NULL, 1, 128, 129), size, false, -EINVAL,
                   "element.tif: is 129x128, an element has at most 16384 pixels");
    assert_refused(write_values(NULL, 1, 1, 4096), size, false, -EINVAL, "sides up to 4095");
    const char *path = picture_path("element.tif");
    picture_save_bytes(path, "none", 4);
    assert_refused(path, size, false, -EBADMSG,
                   "element.tif: is neither a TIFF, PNG or JPEG nor a .npy file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_a_shape_of_that_size),
        cmocka_unit_test(a_picture_gives_members_and_heights),
        cmocka_unit_test(pictures_that_are_no_element_are_told),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}
