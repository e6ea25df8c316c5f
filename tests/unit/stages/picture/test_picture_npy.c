/* NumPy's files: pictures of four types, all else refused in one line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

/* A file with this header, of format 1 to 3 (or any), and so many bytes 0, 1, 2…. */
static void make(const char *path, int version, const char *header, size_t data_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    size_t length = strlen(header);
    fwrite("\x93NUMPY", 1, 6, file);
    fputc(version, file);
    fputc(0, file);
    for (int i = 0; i < (version > 1 ? 4 : 2); i++)
        fputc((int)(length >> 8 * i & 255), file);
    fwrite(header, 1, length, file);
    for (size_t i = 0; i < data_bytes; i++)
        fputc((int)(i & 255), file);
    assert_int_equal(fclose(file), 0);
}

#define HEADER(descr, shape)                                                                       \
    "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }   \n"

static crn_picture read_file(const char *path)
{
    crn_picture picture;
    crn_error error = {0};
    if (crn_picture_read(path, &picture, &error) < 0)
        fail_msg("%s", error.text);
    return picture;
}

static void each_type_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        crn_type type;
        int bytes;
    } cases[] = {
        {HEADER("|u1", "(3, 5)"), CRN_U8, 1},
        {HEADER("<u2", "(3, 5)"), CRN_U16, 2},
        {HEADER("<f2", "(3, 5)"), CRN_F16, 2},
        {HEADER("<f4", "(3, 5)"), CRN_F32, 4},
        /* of Python 2, of cnpy, by hand */
        {HEADER("<f4", "(3L, 5L)"), CRN_F32, 4},
        {HEADER("<u2", "(3L,5L,1L)"), CRN_U16, 2},
        {HEADER("<u1", "(3, 5)"), CRN_U8, 1},
        {"{\"descr\": \"<f2\", \"fortran_order\": False, \"shape\": ( 3, 5 )}", CRN_F16, 2}};
    const char *path = picture_path("a.npy");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version < 4; version++) {
            make(path, version, cases[i].header, 15 * (size_t)cases[i].bytes);
            crn_picture picture = read_file(path);
            assert_int_equal(picture.image.type, cases[i].type);
            assert_int_equal(picture.image.height, 3);
            assert_int_equal(picture.image.width, 5);
            assert_int_equal(picture.samples, 1);
            for (int k = 0; k < 15 * cases[i].bytes; k++)
                assert_int_equal(((unsigned char *)picture.memory)[k], k);
            crn_picture_free(&picture);
        }
}

static void the_third_dimension_is_the_samples(void **state)
{
    (void)state;
    const char *path = picture_path("a.npy");
    make(path, 1, HEADER("|u1", "(3, 5, 2)"), 30);
    crn_picture picture = read_file(path);
    assert_int_equal(picture.samples, 2);
    assert_true(crn_image_at(&picture.image, 1, 2, 3) == 27);
    crn_picture_free(&picture);
    crn_error error;
    assert_int_equal(crn_picture_probe(path, &picture, &error), 0);
    assert_null(picture.image.data);
    assert_int_equal(picture.samples, 2);
}

static void all_else_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        const char *wanted;
    } cases[] = {
        {HEADER("<f8", "(3, 5)"), 120, "its values are '<f8', neither u1, u2, f2 nor f4, little-"},
        {HEADER("<f8", "(3L, 5L)"), 120, "its values are '<f8', neither"},
        {HEADER(">u2", "(3, 5)"), 30, "its values are '>u2', neither"},
        {HEADER("|O", "(3, 5)"), 30, "its values are '|O', neither"},
        {HEADER("|b1", "(3, 5)"), 15, "its values are '|b1', neither"},
        {"{'descr': [('r', '|u1'), ('g', '|u1')], 'fortran_order': False, 'shape': (3,), }", 6,
         "its values are [('r', '|u1'), ('g', '|u1')], neither"},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (3, 5), }", 15, "not in C order"},
        {HEADER("|u1", "(15,)"), 15, "two or three dimensions"},
        {HEADER("|u1", "()"), 1, "two or three dimensions"},
        {HEADER("|u1", "(1, 3, 5, 1)"), 15, "two or three dimensions"},
        {HEADER("|u1", "(15L,)"), 15, "two or three dimensions"},
        {HEADER("|u1", "(3, 0)"), 0, "its sides are not from 1 to 2^31 - 1"},
        {HEADER("|u1", "(3, -5)"), 15, "its sides are not from 1"},
        {HEADER("|u1", "(3, 5"), 15, "its header's shape is damaged"},
        {HEADER("|u1", "(3, 5LL)"), 15, "its header's shape is damaged"},
        {HEADER("|u1", "[3, 5]"), 15, "its header has no shape"},
        {HEADER("|u1", "(3, 99999999999999999999)"), 15, "its sides are not from 1"},
        {HEADER("|u1", "(2147483647, 2147483647, 2147483647)"), 15, "as many values"},
        {HEADER("|u1", "(3, 5)"), 14, "as many values"},
        {HEADER("|u1", "(3, 5)"), 16, "as many values"},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (3L, 5L), }", 15, "not in C order"},
        {"", 15, "its header is not that of an array"},
    };
    const char *path = picture_path("a.npy");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_picture picture;
        crn_error error = {0};
        make(path, 1, cases[i].header, cases[i].bytes);
        int r = crn_picture_read(path, &picture, &error);
        if (r != -EBADMSG || !strstr(error.text, cases[i].wanted) || strchr(error.text, '\n'))
            fail_msg("%s: %d: %s", cases[i].header, r, error.text);
    }
}

static void a_header_that_is_no_picture_s_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *wanted;
    } cases[] = {
        {"\x93NUMPY\1\0\xff\0{", 11, "its header is cut off"},
        {"\x93NUMPY\1", 7, "its header is cut off"},
        {"\x93NUMPY\1\0\xff\xff{", 11,
         "its header has 65535 bytes, a picture's has fewer than 4096"},
        {"\x93NUMPY\2\0\0\0\1\0{", 13, "its header has 65536 bytes, a picture's has fewer"},
        {"\x93NUMPY\4\0\1\0\0\0{", 13, "it is of version 4.0 of the format, 1 to 3 are read"},
        {"\x93NUMPY\0\0\1\0{}}}", 14, "it is of version 0.0 of the format, 1 to 3 are read"},
    };
    const char *path = picture_path("a.npy");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_error error = {0};
        crn_picture picture;
        picture_save_bytes(path, cases[i].bytes, cases[i].size);
        int r = crn_picture_read(path, &picture, &error);
        if (r != -EBADMSG || !strstr(error.text, cases[i].wanted))
            fail_msg("%zu: %d: %s", i, r, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_is_read),
        cmocka_unit_test(the_third_dimension_is_the_samples),
        cmocka_unit_test(all_else_is_refused),
        cmocka_unit_test(a_header_that_is_no_picture_s_is_told),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}
