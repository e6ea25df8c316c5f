/* cernita-apply with invalid or impossible requests:
 * one line that names the cause, and the exit status. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"

/* Creates the files that the cases below use. */
static int setup(void **state)
{
    if (apply_setup(state))
        return -1;
    static const struct {
        const char *path;
        crn_type type;
        int32_t pages, samples, height, width;
    } pictures[] = {
        {"grey.png", CRN_U8, 1, 1, 20, 30},  {"float.tif", CRN_F32, 1, 1, 20, 30},
        {"pages.tif", CRN_U8, 2, 1, 20, 30}, {"thin.png", CRN_U8, 1, 1, 1, 9},
        {"two.tif", CRN_U8, 1, 2, 20, 30},   {"heights.tif", CRN_F32, 1, 1, 3, 3},
    };
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        crn_picture picture =
            apply_picture(pictures[i].path, pictures[i].type, pictures[i].pages,
                          pictures[i].samples, false, pictures[i].height, pictures[i].width);
        crn_picture_free(&picture);
    }
    apply_write_text("text.tif", "no picture");
    apply_write_text("words.txt", "1 2\nthree 4\n");
    return mkdir("folder", 0777) || symlink("grey.png", "link.tif") ||
           symlink("grey.png", "link.json") || symlink("grey.png", "link.csv");
}

#define APPLY     "cernita-apply"
#define MORPH     "morphology --operation open --element "
#define SEE(name) "; see cernita-apply " name " --help\n"

typedef struct fault {
    const char *arguments;
    int status;
    const char *line; /* NULL: expect one line of the tool's that contains `part` */
    const char *part;
} fault;

static void expect_faults(const fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int status = crn_run_apply("%s", faults[i].arguments);
        if (status != faults[i].status)
            fail_msg("%s: status %d, not %d: %s", faults[i].arguments, status, faults[i].status,
                     apply_output);
        if (faults[i].line)
            assert_string_equal(apply_output, faults[i].line);
        else if (!strstr(apply_output, faults[i].part))
            fail_msg("%s: '%s' says nothing of '%s'", faults[i].arguments, apply_output,
                     faults[i].part);
        size_t length = strlen(apply_output);
        assert_true(!strncmp(apply_output, APPLY, strlen(APPLY)));
        assert_true(length > 0 && strchr(apply_output, '\n') == apply_output + length - 1);
        assert_null(strstr(apply_output, "Invalid argument"));
        assert_int_equal(access("out.tif", F_OK), -1); /* a failed run leaves no output */
        assert_int_equal(access("out.png", F_OK), -1);
        assert_int_equal(access("out.json", F_OK), -1);
        assert_int_equal(access("out.csv", F_OK), -1);
    }
}

static void the_command_line(void **state)
{
    (void)state;
    static const fault faults[] = {
        {"", 2,
         "cernita-apply: an operand is missing: expected OPERATOR [options] IN OUT; see "
         "cernita-apply --help\n",
         NULL},
        {"sharpen in out", 2, NULL,
         "unknown operator 'sharpen'; choose contours, morphology, convolve"},
        {"--threads 2 haar", 2, NULL, "unknown option '--threads'; see cernita-apply --help"},
        {"haar grey.png out.tif", 2, "cernita-apply haar: --levels is missing" SEE("haar"), NULL},
        {"haar --levels 2 grey.png", 2, NULL, "an operand is missing: expected IN OUT"},
        {"haar --levels 2 grey.png out.tif more", 2, NULL, "'more' is one operand too many"},
        {"haar --levels -1 grey.png out.tif", 2, NULL, "--levels '-1' is not a whole number"},
        {"haar --levels 2 --threshold -1 grey.png out.tif", 2, NULL, "--threshold '-1'"},
        {"haar --levels 2 --inverse --threshold 1 grey.png out.tif", 2, NULL,
         "--threshold transforms forward and back"},
        {"haar --levels 2 --repeat 3 grey.png out.tif", 2, NULL, "--repeat needs --time"},
        {"haar --levels 2 --threads 0 grey.png out.tif", 2, NULL, "--threads '0'"},
        {"haar --levels 2 --backend gpu grey.png out.tif", 2, NULL,
         "--backend 'gpu' is not one of auto, serial, openmp, cuda"},
        {"haar --levels 2 grey.png out.jpg", 2, NULL,
         "out.jpg: unknown file name extension; use one of .tif, .tiff, .png"},
        {"contours grey.png out.json", 2, NULL, "--level is missing"},
        {"contours --level high grey.png out.json", 2, NULL, "--level 'high'"},
        {"contours --level -1 --border closed grey.png out.json", 2, NULL,
         "--border closed treats the outside as 0, so --level -1"},
        {"contours --level 1 --connectivity no grey.png out.json", 2, NULL,
         "--connectivity 'no' is not one of low, high"},
        {"contours --level 1 --scale 2 grey.png out.json", 2, NULL, "--scale is for OUT.png"},
        {"contours --level 1 grey.png out.tif", 2, NULL, "one of .json, .png"},
        {"ranklet grey.png out.tif", 2, NULL, "either --windows or --pyramid"},
        {"ranklet --pyramid --windows 4 grey.png out.tif", 2, NULL, "either --windows or"},
        {"ranklet --windows 4 --square grey.png out.tif", 2, NULL, "--square is for --pyramid"},
        {"ranklet --windows 4,5x4 grey.png out.tif", 2, NULL,
         "--windows '5x4': a window has even sides"},
        {"ranklet --windows 4, grey.png out.tif", 2, NULL, "--windows '' is not N or WxH"},
        {"diamond-square --seed 1 out.tif", 2, NULL, "--exponent is missing"},
        {"diamond-square --exponent 3 out.tif", 2, NULL, "--seed is missing"},
        {"diamond-square --exponent 21 --seed 1 out.tif", 2, NULL, "--exponent '21'"},
        {"diamond-square --exponent 3 --seed 1 --roughness 2 out.tif", 2, NULL, "--roughness '2'"},
        {"diamond-square --exponent 3 --seed 1 --type f32 out.png", 2, NULL,
         "out.png: a PNG holds no f32"},
        {"diamond-square --exponent 3 --seed 1 grey.png out.tif", 2, NULL, "operand too many"},
    };
    expect_faults(faults, sizeof faults / sizeof *faults);
}

static void elements_and_kernels(void **state)
{
    (void)state;
    static const fault faults[] = {
        {"morphology --element rect --size 3 grey.png out.tif", 2, NULL, "--operation is missing"},
        {"morphology --operation open grey.png out.tif", 2, NULL, "--element is missing"},
        {"morphology --operation thin --element rect --size 3 grey.png out.tif", 2, NULL,
         "--operation 'thin' is not one of erode, dilate"},
        {MORPH "disk grey.png out.tif", 2, NULL, "--size is missing: how large is the disk?"},
        {MORPH "disk --size 0 grey.png out.tif", 2, NULL, "--size '0' is not N or WxH"},
        {MORPH "disk --size 3x5000 grey.png out.tif", 2, NULL, "--size '3x5000'"},
        {MORPH "disk --size 3 --non-flat grey.png out.tif", 2, NULL,
         "--non-flat needs an element from a picture"},
        {MORPH "ring.tif grey.png out.tif", 2, NULL,
         "--element 'ring.tif' is neither rect, disk or cross nor a file"},
        {MORPH "heights.tif --size 3 grey.png out.tif", 2, NULL, "heights.tif has its own"},
        {MORPH "heights.tif --non-flat grey.png out.tif", 1, NULL,
         "heights.tif: heights must be whole numbers from -255 to 255 for a u8 picture such as "
         "grey.png"},
        {MORPH "text.tif grey.png out.tif", 1, NULL, "text.tif"},
        {MORPH "pages.tif grey.png out.tif", 1, NULL, "pages.tif"},
        {"convolve grey.png out.tif", 2, NULL, "--kernel is missing"},
        {"convolve --kernel smooth grey.png out.tif", 2, NULL,
         "--kernel 'smooth' is neither a kernel's name nor a file"},
        {"convolve --kernel blur --size 4 grey.png out.tif", 2, NULL,
         "--size 4: a named kernel has an odd side; use 3 or 5"},
        {"convolve --kernel emboss --size 5 grey.png out.tif", 2, NULL, "--kernel emboss --size 5"},
        {"convolve --kernel blur --size 129 grey.png out.tif", 2, NULL, "--size '129'"},
        {"convolve --kernel blur --border mirror grey.png out.tif", 2, NULL, "--border 'mirror'"},
        {"convolve --kernel words.txt --size 3 grey.png out.tif", 2, NULL,
         "--size is for kernels by name"},
        {"convolve --kernel words.txt grey.png out.tif", 1, NULL, "words.txt"},
    };
    expect_faults(faults, sizeof faults / sizeof *faults);
}

static void pictures_and_places(void **state)
{
    (void)state;
    static const fault faults[] = {
        {"haar --levels 2 none.tif out.tif", 1, NULL, "haar: none.tif: "},
        {"haar --levels 2 text.tif out.tif", 1, NULL, "haar: text.tif: "},
        {"haar --levels 2 folder out.tif", 1, NULL, "haar: folder: "},
        {"haar --levels 2 --dry-run float.tif link.tif", 1, NULL,
         "haar: link.tif: is a symbolic link; name "},
        {"haar --levels 2 float.tif link.tif", 1, NULL, "/grey.png, which it leads to, or remove"},
        {"contours --level 1 grey.png link.json", 1, NULL, "link.json: is a symbolic link; name "},
        {"ranklet --pyramid grey.png link.csv", 1, NULL, "link.csv: is a symbolic link; name "},
        {"contours --level 1 none.png out.json", 1, NULL, "contours: none.png: "},
        {"ranklet --pyramid none.png out.csv", 1, NULL, "ranklet: none.png: "},
        {MORPH "rect --size 3 none.png out.tif", 1, NULL, "morphology: none.png: "},
        {"haar --levels 6 grey.png out.tif", 1,
         "cernita-apply haar: grey.png: --levels 6 is more than a picture of 30x20 has; "
         "ceil(log2(30)) = 5 is the maximum\n",
         NULL},
        {"haar --levels 2 --inverse grey.png out.tif", 1, NULL,
         "grey.png: is u8; --inverse needs coefficients in f32"},
        {"ranklet --windows 4,32x4 grey.png out.tif", 1,
         "cernita-apply ranklet: grey.png: a window of 32x4 is larger than the picture, 30x20; "
         "use smaller ones\n",
         NULL},
        {"ranklet --windows 4 float.tif out.tif", 1, NULL,
         "float.tif: is f32; ranklets need u8 or u16"},
        {"ranklet --pyramid thin.png out.tif", 1, NULL, "thin.png: 9x1 pixels contain no window"},
        {"contours --level 1 thin.png out.json", 1, NULL,
         "thin.png: 9x1 pixels are too few for open contours"},
        {"haar --levels 2 pages.tif out.png", 1, NULL, "out.png"},
        {"convolve --kernel blur pages.tif out.png", 1, NULL, "out.png"},
        {MORPH "rect --size 3 two.tif out.png", 1, NULL, "out.png"},
        {"contours --level 1 grey.png no/out.json", 1, NULL,
         "no/out.json: cannot be created in the folder 'no'"},
        {"diamond-square --exponent 3 --seed 1 no/out.tif", 1, NULL, "no/out.tif"},
        {"haar --levels 2 --backend cuda grey.png out.tif", 1, NULL, "--backend cuda: "},
    };
    size_t count = sizeof faults / sizeof *faults;
    const char *why;
    if (crn_backend_ops(CRN_BACKEND_CUDA, &why))
        count--; /* possible on this machine */
    expect_faults(faults, count);
}

/* The memory check must fail before anything is allocated. */
/* Pages of the file that are not pictures of their own are told in one line. */
static void what_is_passed_over_is_told(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {0, FILETYPE_MASK, 0, FILETYPE_REDUCEDIMAGE};
    const unsigned char row[4] = {0};
    TIFF *tiff = TIFFOpen("masked.tif", "w");
    assert_non_null(tiff);
    for (int page = 0; page < 4; page++) {
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 4);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 1);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, kinds[page]);
        assert_int_equal(TIFFWriteRawStrip(tiff, 0, (void *)row, 4), 4);
        assert_int_equal(TIFFWriteDirectory(tiff), 1);
    }
    TIFFClose(tiff);
    assert_int_equal(crn_run_apply("haar --levels 1 masked.tif out.tif"), 0);
    assert_string_equal(apply_output,
                        "cernita-apply haar: masked.tif: 2 pages passed over: reduced copies or "
                        "transparency masks of others\n");
    crn_picture picture = apply_read("out.tif");
    assert_int_equal(picture.pages, 2);
    crn_picture_free(&picture);
}

static void memory_is_asked_for_beforehand(void **state)
{
    (void)state;
    uint64_t field_bytes = ((UINT64_C(1) << 20) + 1) * ((UINT64_C(1) << 20) + 1);
    if (crn_memory_available_bytes() >= field_bytes)
        return; /* a terabyte of memory: the run would succeed */
    static const fault faults[] = {
        {"diamond-square --exponent 20 --seed 1 out.tif", 1, NULL,
         "out.tif: a field of 1048577 x 1048577 u8 needs 1.0 TiB of memory, but "},
    };
    expect_faults(faults, 1);
}

static void help_is_there_for_each(void **state)
{
    (void)state;
    static const char *const names[] = {"contours", "morphology", "convolve",
                                        "haar",     "ranklet",    "diamond-square"};
    assert_int_equal(crn_run_apply("--help"), 0);
    for (size_t i = 0; i < 6; i++)
        assert_non_null(strstr(apply_output, names[i]));
    for (size_t i = 0; i < 6; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "usage: cernita-apply %s [options] ", names[i]);
        assert_int_equal(crn_run_apply("%s --help", names[i]), 0);
        assert_true(!strncmp(apply_output, usage, strlen(usage)));
        assert_non_null(strstr(apply_output, "--backend"));
        assert_non_null(strstr(apply_output, "--repeat"));
        assert_int_equal(crn_run_apply("%s --version", names[i]), 0);
        assert_non_null(strstr(apply_output, CRN_VERSION));
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line),
        cmocka_unit_test(elements_and_kernels),
        cmocka_unit_test(pictures_and_places),
        cmocka_unit_test(memory_is_asked_for_beforehand),
        cmocka_unit_test(what_is_passed_over_is_told),
        cmocka_unit_test(help_is_there_for_each),
    };
    CRN_SET_FIXTURE(tests, setup, apply_teardown);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
