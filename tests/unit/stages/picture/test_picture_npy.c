/* NumPy's files: pictures of four types, all else refused in one line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

/* A file with this header, of format 1 or 2, and so many bytes 0, 1, 2…. */
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
    } cases[] = {{HEADER("|u1", "(3, 5)"), CRN_U8, 1},
                 {HEADER("<u2", "(3, 5)"), CRN_U16, 2},
                 {HEADER("<f2", "(3, 5)"), CRN_F16, 2},
                 {HEADER("<f4", "(3, 5)"), CRN_F32, 4}};
    const char *path = picture_path("a.npy");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version < 3; version++) {
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
        {HEADER("<f8", "(3, 5)"), 120, "its values are neither"},
        {HEADER(">u2", "(3, 5)"), 30, "its values are neither"},
        {HEADER("|O", "(3, 5)"), 30, "its values are neither"},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (3, 5), }", 15, "not in C order"},
        {HEADER("|u1", "(15,)"), 15, "two or three dimensions"},
        {HEADER("|u1", "()"), 1, "two or three dimensions"},
        {HEADER("|u1", "(1, 3, 5, 1)"), 15, "two or three dimensions"},
        {HEADER("|u1", "(3, 0)"), 0, "two or three dimensions"},
        {HEADER("|u1", "(3, -5)"), 15, "two or three dimensions"},
        {HEADER("|u1", "(3, 5"), 15, "two or three dimensions"},
        {HEADER("|u1", "(3, 99999999999999999999)"), 15, "two or three dimensions"},
        {HEADER("|u1", "(2147483647, 2147483647, 2147483647)"), 15, "as many values"},
        {HEADER("|u1", "(3, 5)"), 14, "as many values"},
        {HEADER("|u1", "(3, 5)"), 16, "as many values"},
        {"", 15, "not in C order"},
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
    crn_error error = {0};
    crn_picture picture;
    picture_save_bytes(path, "\x93NUMPY\1\0\xff\xff{", 11);
    assert_int_equal(crn_picture_read(path, &picture, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "its header is damaged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_is_read),
        cmocka_unit_test(the_third_dimension_is_the_samples),
        cmocka_unit_test(all_else_is_refused),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}
