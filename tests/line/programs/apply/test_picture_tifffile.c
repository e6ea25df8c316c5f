/* Exchanges pictures with an ordinary TIFF library, Debian's tifffile, in both directions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

#define COMMAND "/usr/bin/python3 " CRN_TEST_DATA "/line/programs/apply/check_picture.py "

static const char *const type_names[] = {
    [CRN_U8] = "uint8", [CRN_F16] = "float16", [CRN_F32] = "float32", [CRN_U16] = "uint16"};

static bool no_tifffile(void)
{
    return system("/usr/bin/python3 -c 'import tifffile' 2>/dev/null") != 0;
}

static uint64_t add_plane(uint64_t hash, const crn_image *image, int32_t plane)
{
    size_t size = crn_type_bytes(image->type);
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width; x++) {
            const unsigned char *element = (const unsigned char *)image->data +
                                           crn_image_index(image, plane, y, x) * (ptrdiff_t)size;
            for (size_t i = 0; i < size; i++)
                hash = (hash ^ element[i]) * UINT64_C(0x100000001b3);
        }
    return hash;
}

/* Formats the expected line of the script. */
static void describe(const char *name, const crn_picture *p, char *line, size_t room)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int32_t page = 0; page < p->pages; page++) {
        for (int32_t s = 0; s < p->samples; s++)
            hash = add_plane(hash, &p->image, page * p->samples + s);
        if (p->alpha.data)
            hash = add_plane(hash, &p->alpha, page);
    }
    snprintf(line, room, "%s %d %d %d %d %s %s %016" PRIx64 "\n", name, p->pages, p->samples,
             p->image.height, p->image.width, type_names[p->image.type],
             !p->alpha.data        ? "none"
             : p->alpha_associated ? "associated"
                                   : "unassociated",
             hash);
}

static void what_tifffile_writes_is_read(void **state)
{
    (void)state;
    if (no_tifffile())
        skip();
    char command[400], wanted[256], got[256];
    snprintf(command, sizeof command, COMMAND "make %s", picture_path(""));
    FILE *out = popen(command, "r");
    assert_non_null(out);
    int count = 0;
    for (; fgets(wanted, sizeof wanted, out); count++) {
        char name[64];
        assert_int_equal(sscanf(wanted, "%63s", name), 1);
        crn_picture picture = {0};
        crn_error error = {0};
        if (crn_picture_read(picture_path(name), &picture, &error))
            fail_msg("%s", error.text);
        describe(name, &picture, got, sizeof got);
        assert_string_equal(got, wanted);
        crn_picture_free(&picture);
    }
    assert_int_equal(pclose(out), 0);
    assert_int_equal(count, 9 * 4 * 5 + 9 * 2 + 4);
}

static void what_is_written_tifffile_reads(void **state)
{
    (void)state;
    if (no_tifffile())
        skip();
    static const int32_t shapes[][3] = {/* pages, samples, alpha: 1 unassociated */
                                        {1, 1, 0}, {5, 1, 0}, {1, 3, 0},  {4, 3, 0}, {1, 1, 1},
                                        {2, 3, 2}, {3, 1, 2}, {1, 12, 0}, {1, 5, 1}};
    static char wanted[64][256];
    char command[8192] = COMMAND "show";
    int count = 0;
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof *shapes; i++) {
        const int32_t *shape = shapes[i / 4];
        crn_picture picture = {0}, alpha = {0};
        crn_error error = {0};
        crn_type type = (crn_type)(1 + i % 4);
        char name[32];
        assert_int_equal(crn_picture_create(type, shape[0], shape[1], 19, 37, &picture), 0);
        assert_int_equal(crn_picture_create(type, shape[0], 1, 19, 37, &alpha), 0);
        picture_fill(&picture.image, shape[1], 0);
        picture_fill(&alpha.image, 1, shape[1]);
        if (shape[2])
            picture.alpha = alpha.image;
        picture.alpha_associated = shape[2] == 2;
        snprintf(name, sizeof name, "w%zu.tif", i);
        if (crn_picture_write(picture_path(name), &picture, &error))
            fail_msg("%s", error.text);
        describe(name, &picture, wanted[count++], sizeof wanted[0]);
        strcat(strcat(command, " "), picture_path(name));
        crn_picture_free(&picture);
        crn_picture_free(&alpha);
    }
    FILE *out = popen(command, "r");
    assert_non_null(out);
    for (int i = 0; i < count; i++) {
        char got[256] = "";
        assert_non_null(fgets(got, sizeof got, out));
        assert_string_equal(got, wanted[i]);
    }
    assert_int_equal(fgetc(out), EOF);
    assert_int_equal(pclose(out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_tifffile_writes_is_read),
        cmocka_unit_test(what_is_written_tifffile_reads),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}
