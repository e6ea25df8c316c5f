/* cernita-apply as a program, in a folder of its own; shared by its tests. */
#ifndef CRN_TESTS_APPLY_PROGRAM_H
#define CRN_TESTS_APPLY_PROGRAM_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "stages/backend.h"
#include "stages/picture.h"
#include "tests/support/random.h"

static char apply_folder[64], apply_output[8192];

static int apply_setup(void **state)
{
    (void)state;
    strcpy(apply_folder, "/tmp/cernita-apply-XXXXXX");
    return mkdtemp(apply_folder) && chdir(apply_folder) == 0 ? 0 : -1;
}

static int apply_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static int apply_teardown(void **state)
{
    (void)state;
    return chdir("/") || nftw(apply_folder, apply_remove, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0;
}

/* Runs it with these arguments; what it prints, to stdout and stderr, is apply_output after.
 * Returns the exit status. */
__attribute__((format(printf, 1, 2))) static int apply_run(const char *format, ...)
{
    char arguments[1024], command[1400];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-apply %s 2>&1", arguments);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    size_t got = fread(apply_output, 1, sizeof apply_output - 1, out);
    apply_output[got] = '\0';
    int status = pclose(out);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* It ends well, and says nothing. */
#define apply_expect(...)                                                                          \
    do {                                                                                           \
        int apply_status = apply_run(__VA_ARGS__);                                                 \
        assert_string_equal(apply_output, "");                                                     \
        assert_int_equal(apply_status, 0);                                                         \
    } while (0)

static void apply_randomise(const crn_image *image, crn_random *random)
{
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                ptrdiff_t at = crn_image_index(image, plane, y, x);
                if (image->type == CRN_U8)
                    ((uint8_t *)image->data)[at] = (uint8_t)crn_random_below(random, 256);
                else if (image->type == CRN_U16)
                    ((uint16_t *)image->data)[at] = (uint16_t)crn_random_below(random, 65536);
                else
                    ((float *)image->data)[at] = (float)crn_random_unit(random);
            }
}

/* A picture of noise in a file, and in memory as it is read back from there. */
static crn_picture apply_picture(const char *path, crn_type type, int32_t pages, int32_t samples,
                                 bool alpha, int32_t height, int32_t width)
{
    static crn_random random = {1};
    crn_error error = {0};
    crn_picture picture = {0}, back = {0};
    assert_int_equal(crn_picture_create(type, pages, samples, height, width, &picture), 0);
    apply_randomise(&picture.image, &random);
    if (alpha) {
        size_t bytes = (size_t)pages * (size_t)height * (size_t)width * crn_type_bytes(type);
        picture.alpha_memory = malloc(bytes);
        picture.alpha = crn_image_dense(picture.alpha_memory, type, CRN_CHW, pages, height, width);
        apply_randomise(&picture.alpha, &random);
    }
    if (crn_picture_write(path, &picture, &error) < 0 || crn_picture_read(path, &back, &error) < 0)
        fail_msg("%s", error.text);
    assert_true(back.image.type == type && back.pages == pages && back.samples == samples);
    crn_picture_free(&picture);
    return back;
}

static crn_picture apply_read(const char *path)
{
    crn_error error = {0};
    crn_picture picture = {0};
    if (crn_picture_read(path, &picture, &error) < 0)
        fail_msg("%s", error.text);
    return picture;
}

/* The same type, size and elements, bit by bit. */
static inline void apply_expect_equal(const crn_image *got, const crn_image *wanted)
{
    assert_int_equal(got->type, wanted->type);
    assert_int_equal(got->planes, wanted->planes);
    assert_int_equal(got->height, wanted->height);
    assert_int_equal(got->width, wanted->width);
    size_t bytes = crn_type_bytes(got->type);
    for (int32_t plane = 0; plane < got->planes; plane++)
        for (int32_t y = 0; y < got->height; y++) {
            const char *got_row =
                (char *)got->data + crn_image_index(got, plane, y, 0) * (ptrdiff_t)bytes;
            const char *wanted_row =
                (char *)wanted->data + crn_image_index(wanted, plane, y, 0) * (ptrdiff_t)bytes;
            if (got->step == 1 && wanted->step == 1 &&
                !memcmp(got_row, wanted_row, bytes * (size_t)got->width))
                continue;
            for (int32_t x = 0; x < got->width; x++) {
                const char *a = got_row + x * got->step * (ptrdiff_t)bytes;
                const char *b = wanted_row + x * wanted->step * (ptrdiff_t)bytes;
                if (memcmp(a, b, bytes))
                    fail_msg("plane %d, x %d, y %d: %.9g, not %.9g", plane, x, y,
                             (double)crn_image_at(got, plane, y, x),
                             (double)crn_image_at(wanted, plane, y, x));
            }
        }
}

/* The whole picture: pages, samples and alpha too. */
static inline void apply_expect_picture(const char *path, const crn_picture *wanted)
{
    crn_picture got = apply_read(path);
    assert_int_equal(got.pages, wanted->pages);
    assert_int_equal(got.samples, wanted->samples);
    apply_expect_equal(&got.image, &wanted->image);
    assert_int_equal(!got.alpha.data, !wanted->alpha.data);
    if (got.alpha.data)
        apply_expect_equal(&got.alpha, &wanted->alpha);
    crn_picture_free(&got);
}

#endif
