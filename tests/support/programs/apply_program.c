#include "tests/support/programs/apply_program.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/images.h"
#include "tests/support/programs/shell.h"

char apply_output[8192];
static char folder[64];

int apply_setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cernita-apply-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int apply_teardown(void **state)
{
    (void)state;
    return chdir("/") || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0;
}

int apply_run_program(const char *program, const char *format, ...)
{
    char arguments[1024], command[1400];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(command, sizeof command, "exec %s %s 2>&1", program, arguments);
    return crn_test_shell(command, apply_output, sizeof apply_output);
}

void apply_check_quiet(int status)
{
    assert_string_equal(apply_output, "");
    assert_int_equal(status, 0);
}

void apply_write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

crn_picture apply_create(crn_type type, int32_t pages, int32_t samples, int32_t height,
                         int32_t width)
{
    crn_picture picture = {0};
    assert_int_equal(crn_picture_create(type, pages, samples, height, width, &picture), 0);
    return picture;
}

crn_picture apply_read(const char *path)
{
    crn_error error = {0};
    crn_picture picture = {0};
    if (crn_picture_read(path, &picture, &error) < 0)
        fail_msg("%s", error.text);
    return picture;
}

void apply_write(const char *path, const crn_picture *picture)
{
    crn_error error = {0};
    if (crn_picture_write(path, picture, &error) < 0)
        fail_msg("%s", error.text);
}

crn_picture apply_picture(const char *path, crn_type type, int32_t pages, int32_t samples,
                          bool alpha, int32_t height, int32_t width)
{
    static crn_random random = {1};
    crn_picture picture = apply_create(type, pages, samples, height, width);
    crn_image_randomise(&picture.image, &random);
    if (alpha) {
        picture.alpha = crn_image_dense(NULL, type, CRN_CHW, pages, height, width);
        picture.alpha_memory = malloc(crn_image_elements(&picture.alpha) * crn_type_bytes(type));
        assert_non_null(picture.alpha_memory);
        picture.alpha.data = picture.alpha_memory;
        crn_image_randomise(&picture.alpha, &random);
    }
    apply_write(path, &picture);
    crn_picture_free(&picture);
    crn_picture back = apply_read(path);
    assert_true(back.image.type == type && back.pages == pages && back.samples == samples);
    return back;
}

void apply_expect_picture(const char *path, const crn_picture *wanted)
{
    crn_picture got = apply_read(path);
    assert_int_equal(got.pages, wanted->pages);
    assert_int_equal(got.samples, wanted->samples);
    crn_assert_images_equal(&got.image, &wanted->image, path);
    assert_int_equal(!got.alpha.data, !wanted->alpha.data);
    if (got.alpha.data)
        crn_assert_images_equal(&got.alpha, &wanted->alpha, path);
    crn_picture_free(&got);
}
