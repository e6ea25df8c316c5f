/* Truncated, inconsistent, foreign and damaged pictures give a one-line error and do no harm. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"
#include "tests/support/random.h"

/* Asserts that reading fails with that code and one
 * line that names the file and contains `wanted`. */
static void assert_refused(const char *path, int code, const char *wanted)
{
    crn_picture picture;
    memset(&picture, 0x5a, sizeof picture);
    crn_picture before = picture;
    crn_error error = {0};
    int r = crn_picture_read(path, &picture, &error);
    if (r != code || strncmp(error.text, path, strlen(path)) || !strstr(error.text, wanted) ||
        strchr(error.text, '\n'))
        fail_msg("%d: '%s', wanted %d: '%s'", r, error.text, code, wanted);
    assert_memory_equal(&picture, &before, sizeof picture);
}

static void what_is_no_picture_is_told(void **state)
{
    (void)state;
    const char *path = picture_path("a.tif");
    assert_refused(path, -ENOENT, "cannot be read: No such file or directory");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, -EINVAL, "it is a pipe, a regular file is needed");
    assert_int_equal(unlink(path), 0);
    picture_save_bytes(path, "", 0);
    assert_refused(path, -EBADMSG, "is empty");
    picture_save_bytes(path, "GIF89a, a picture of another kind", 33);
    assert_refused(path, -EBADMSG, "is neither a TIFF, PNG or JPEG nor a .npy file");
    picture_save_bytes(path, "II", 2);
    assert_refused(path, -EBADMSG, "is neither a TIFF, PNG or JPEG nor a .npy file");
    picture_save_bytes(path, "II*\0", 4);
    assert_refused(path, -EBADMSG, "page 1: ");
    picture_save_bytes(path, "\x89PNG\r\n\x1a\n", 8);
    assert_refused(path, -EBADMSG, ": ");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(path, -EISDIR, "it is a folder, a regular file is needed");
    assert_int_equal(rmdir(path), 0);
}

static picture_making plain(void)
{
    return (picture_making){.mode = "wl",
                            .bits = 8,
                            .pages = 1,
                            .samples = 1,
                            .height = 8,
                            .width = 8,
                            .photometric = PHOTOMETRIC_MINISBLACK};
}

static void types_that_are_not_taken_are_told(void **state)
{
    (void)state;
    static const struct {
        int32_t bits, format;
        const char *wanted;
    } kinds[] = {
        {16, SAMPLEFORMAT_INT, "page 1 has 16-bit signed integer samples; supported are u8"},
        {32, SAMPLEFORMAT_UINT, "page 1 has 32-bit unsigned integer samples; supported are u8"},
        {8, SAMPLEFORMAT_INT, "page 1 has 8-bit signed integer samples; supported are u8"},
        {32, SAMPLEFORMAT_COMPLEXINT, "page 1 has 32-bit complex integer samples"},
        {8, SAMPLEFORMAT_IEEEFP, "page 1 has 8-bit floating point samples"},
    };
    const char *path = picture_path("type.tif");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        picture_making m = plain();
        m.bits = kinds[i].bits;
        m.format = kinds[i].format;
        picture_make(path, &m);
        assert_refused(path, -ENOTSUP, kinds[i].wanted);
    }
    picture_making m = plain();
    m.samples = 3;
    m.photometric = PHOTOMETRIC_CIELAB;
    picture_make(path, &m);
    assert_refused(path, -ENOTSUP, "page 1 has Lab colours (PhotometricInterpretation 8); save");
    m.samples = 4;
    m.photometric = PHOTOMETRIC_SEPARATED;
    picture_make(path, &m);
    assert_refused(path, -ENOTSUP,
                   "page 1 has CMYK colours (PhotometricInterpretation 5); save it as grey or RGB");
}

static void pages_that_differ_are_told(void **state)
{
    (void)state;
    static const struct {
        crn_type type;
        int32_t samples, height, width;
        const char *wanted;
    } others[] = {
        {CRN_U8, 1, 95, 512, "page 3 is 512x95, page 1 is 511x95; all pages must have one size"},
        {CRN_U8, 1, 94, 511, "page 3 is 511x94, page 1 is 511x95; all pages must have one size"},
        {CRN_F32, 1, 95, 511, "page 3 is f32, page 1 is u8; all pages must have one type"},
        {CRN_U8, 3, 95, 511, "page 3 has 3 samples, page 1 has 1; all pages must have the same"},
    };
    const char *path = picture_path("night.tif");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        crn_picture first = {0}, other = {0};
        crn_error error = {0};
        crn_picture_writer *writer = NULL;
        assert_int_equal(crn_picture_create(CRN_U8, 2, 1, 95, 511, &first), 0);
        assert_int_equal(crn_picture_create(others[i].type, 1, others[i].samples, others[i].height,
                                            others[i].width, &other),
                         0);
        assert_int_equal(crn_picture_writer_open(path, 0, &writer, &error), 0);
        assert_int_equal(crn_picture_writer_append(writer, &first.image, false, NULL, &error), 0);
        assert_int_equal(crn_picture_writer_append(writer, &other.image, true, NULL, &error), 0);
        assert_int_equal(crn_picture_writer_finish(writer, &error), 0);
        crn_picture_writer_free(&writer);
        crn_picture_free(&first);
        crn_picture_free(&other);
        assert_refused(path, -EBADMSG, others[i].wanted);
    }
}

/* --- false declarations --- */

/* Sets an entry of a classic little-endian TIFF's first directory. */
static void set_entry(unsigned char *bytes, uint16_t tag, uint32_t value)
{
    uint32_t at;
    uint16_t entries, entry;
    memcpy(&at, bytes + 4, 4);
    memcpy(&entries, bytes + at, 2);
    for (uint16_t i = 0; i < entries; i++) {
        unsigned char *place = bytes + at + 2 + 12 * (size_t)i;
        memcpy(&entry, place, 2);
        if (entry != tag)
            continue;
        memcpy(place + 2, &(uint16_t){TIFF_LONG}, 2);
        memcpy(place + 8, &value, 4);
        return;
    }
    fail_msg("no entry %u", tag);
}

static void make_claim(const char *path, uint32_t height, uint32_t width, uint32_t rows)
{
    unsigned char *bytes;
    picture_making m = plain();
    m.strip_height = 8;
    picture_make(path, &m);
    size_t size = picture_load_bytes(path, &bytes);
    set_entry(bytes, TIFFTAG_IMAGELENGTH, height);
    set_entry(bytes, TIFFTAG_IMAGEWIDTH, width);
    set_entry(bytes, TIFFTAG_ROWSPERSTRIP, rows);
    picture_save_bytes(path, bytes, size);
    free(bytes);
}

static void claims_beyond_the_machine_are_told(void **state)
{
    (void)state;
    const char *path = picture_path("claim.tif");
    make_claim(path, 1000000000, 1000000000, 1000000000);
    assert_refused(path, -ENOMEM, "claim.tif: would need ");
    assert_refused(path, -ENOMEM, " EiB of memory, this machine has ");
    make_claim(path, 2000000, 2000000, 2000000);
    assert_refused(path, -ENOMEM, " TiB of memory, this machine has ");
    crn_picture probed = {0};
    crn_error error = {0};
    assert_int_equal(crn_picture_probe(path, &probed, &error),
                     0); /* only its pixels are too many */
    assert_int_equal(probed.image.width, 2000000);
    make_claim(path, 0x80000000, 1, 0x40000000);
    assert_refused(path, -EOVERFLOW, "1x2147483648 with 1 samples are more than");
    make_claim(path, 3000, 3000, 3000); /* the file holds 64 bytes of it */
    assert_refused(path, -EBADMSG, "page 1: ");
    make_claim(path, 0, 8, 8);
    assert_refused(path, -EBADMSG, "page 1: ");
    make_claim(path, 8, 0, 8);
    assert_refused(path, -EBADMSG, "page 1: ");
}

/* CRC of a PNG chunk. */
static uint32_t crc(const unsigned char *bytes, size_t count)
{
    uint32_t value = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        value ^= bytes[i];
        for (int k = 0; k < 8; k++)
            value = value & 1 ? value >> 1 ^ 0xedb88320U : value >> 1;
    }
    return ~value;
}

static void claims_of_pngs_are_told(void **state)
{
    (void)state;
    static const struct {
        uint32_t side;
        int code;
        const char *wanted;
    } claims[] = {{1000000000, -ENOMEM, "would need 888 PiB of memory, this machine has "},
                  {30000, -EBADMSG, "says that it is 30000x30000, which its "}};
    const char *path = picture_path("claim.png");
    crn_picture picture = {0};
    crn_error error = {0};
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, 8, 8, &picture), 0);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        assert_int_equal(crn_picture_write(path, &picture, &error), 0);
        unsigned char *bytes;
        size_t size = picture_load_bytes(path, &bytes);
        for (int side = 0; side < 2; side++)
            for (int byte = 0; byte < 4; byte++)
                bytes[16 + 4 * side + byte] = (unsigned char)(claims[i].side >> (24 - 8 * byte));
        uint32_t sum = crc(bytes + 12, 17);
        for (int byte = 0; byte < 4; byte++)
            bytes[29 + byte] = (unsigned char)(sum >> (24 - 8 * byte));
        picture_save_bytes(path, bytes, size);
        free(bytes);
        assert_refused(path, claims[i].code, claims[i].wanted);
    }
    crn_picture_free(&picture);
}

/* --- random damage --- */

/* Grey and RGB, 8 and 16 bits, the colours with alpha. */
static int make_png_seeds(const char *paths[])
{
    static char pngs[4][128];
    for (int i = 0; i < 4; i++) {
        char name[32];
        crn_picture picture = {0};
        crn_error error = {0};
        snprintf(name, sizeof name, "seed%d.png", i);
        snprintf(pngs[i], sizeof pngs[0], "%s", picture_path(name));
        assert_int_equal(
            crn_picture_create(i & 1 ? CRN_U16 : CRN_U8, 1, i & 2 ? 3 : 1, 19, 33, &picture), 0);
        crn_picture alpha = {0};
        assert_int_equal(crn_picture_create(picture.image.type, 1, 1, 19, 33, &alpha), 0);
        picture_fill(&picture.image, picture.samples, 0);
        picture.alpha = i & 2 ? alpha.image : (crn_image){0};
        assert_int_equal(crn_picture_write(pngs[i], &picture, &error), 0);
        crn_picture_free(&picture);
        crn_picture_free(&alpha);
        paths[i] = pngs[i];
    }
    return 4;
}

/* Files that together cover most code paths. */
static int make_seeds(const char *paths[])
{
    int count = 0;
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "seed%d.tif", i);
        static char kept[32][128];
        picture_making m = plain();
        m.mode = i % 3 == 0 ? "wl" : i % 3 == 1 ? "wb" : "wl8";
        m.pages = 1 + i % 2;
        m.height = 19;
        m.width = 33;
        m.samples = i % 4 == 3 ? 4 : 1;
        m.photometric = m.samples == 4 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
        m.extras = m.samples == 4;
        m.alpha = m.extras ? EXTRASAMPLE_UNASSALPHA : 0;
        m.separate = i == 7;
        m.bits = i == 1 || i == 5 ? 1 : i == 4 ? 4 : i % 4 == 2 ? 32 : 8;
        m.format = m.bits == 32 ? SAMPLEFORMAT_IEEEFP : 0;
        m.photometric = i == 4 ? PHOTOMETRIC_PALETTE : m.photometric;
        m.compression = i == 1   ? COMPRESSION_CCITTFAX4
                        : i == 5 ? COMPRESSION_CCITTFAX3
                        : i == 8 ? COMPRESSION_PACKBITS
                        : i & 1  ? COMPRESSION_LZW
                        : i & 2  ? COMPRESSION_ADOBE_DEFLATE
                                 : COMPRESSION_NONE;
        m.predictor = i == 3 || i == 6 ? 2 : 0;
        m.tile_height = m.tile_width = i == 9 || i == 11 ? 16 : 0;
        m.strip_height = 6;
        snprintf(kept[count], sizeof kept[0], "%s", picture_path(name));
        paths[count] = kept[count];
        picture_make(paths[count++], &m);
    }
    return count + make_png_seeds(paths + count);
}

/* Changes some bytes, or truncates. */
static size_t damage(crn_random *random, unsigned char *bytes, size_t size)
{
    if (crn_random_once_in(random, 4))
        return crn_random_below(random, (uint32_t)size);
    static const unsigned char extremes[] = {0, 1, 2, 3, 4, 8, 16, 0x7f, 0x80, 0xff};
    uint32_t count = 1 + crn_random_below(random, 4);
    for (uint32_t i = 0; i < count; i++) {
        size_t at = crn_random_below(random, (uint32_t)size);
        if (crn_random_once_in(random, 2)) /* directories are at the end, headers at the start */
            at = crn_random_once_in(random, 3) ? at % 64 : size - 1 - at % 300 % size;
        at = at < size ? at : size - 1;
        bytes[at] = crn_random_once_in(random, 2)
                        ? extremes[crn_random_below(random, sizeof extremes)]
                        : (unsigned char)crn_random_next(random);
    }
    return size;
}

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    const char *seeds[32];
    int count = make_seeds(seeds);
    const char *path = picture_path("damaged"), *said = picture_path("said");
    crn_random random = {crn_random_seed()};
    int read = 0, refused = 0;
    crn_error wrong = {0};
    fflush(stderr);
    int console = dup(STDERR_FILENO), catcher = open(said, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(catcher, STDERR_FILENO);
    const uint32_t cases = crn_random_cases(3000);
    for (uint32_t i = 0; i < cases; i++) {
        unsigned char *bytes;
        size_t size = picture_load_bytes(seeds[i % (uint32_t)count], &bytes);
        size = damage(&random, bytes, size);
        picture_save_bytes(path, bytes, size);
        free(bytes);
        crn_picture picture = {0};
        crn_error error = {0};
        int r = crn_picture_read(path, &picture, &error);
        crn_picture_free(&picture);
        bool right = r ? r < 0 && !strncmp(error.text, path, strlen(path)) &&
                             strlen(error.text) > strlen(path) + 4 && !strchr(error.text, '\n')
                       : !*error.text;
        if (!right)
            wrong = error;
        read += !r;
        refused += r < 0;
    }
    fflush(stderr);
    dup2(console, STDERR_FILENO);
    close(console);
    assert_string_equal(wrong.text, "");
    assert_int_equal(lseek(catcher, 0, SEEK_END), 0); /* the libraries printed nothing */
    close(catcher);
    assert_true(read > (int)cases / 30);
    assert_true(refused > (int)cases / 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_picture_is_told),
        cmocka_unit_test(types_that_are_not_taken_are_told),
        cmocka_unit_test(pages_that_differ_are_told),
        cmocka_unit_test(claims_beyond_the_machine_are_told),
        cmocka_unit_test(claims_of_pngs_are_told),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}
