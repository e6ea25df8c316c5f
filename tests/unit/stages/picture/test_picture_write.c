/* Written pictures read back equal, and files appear completely or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tiffio.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/guarded.h"
#include "tests/support/programs/picture_files.h"

static const crn_type types[] = {CRN_U8, CRN_F16, CRN_F32, CRN_U16};

/* Writes the picture, reads it back and compares. */
static void round_trip(const char *name, const crn_picture *picture)
{
    const char *path = picture_path(name);
    crn_error error = {0};
    if (crn_picture_writable(path, picture, &error) || crn_picture_write(path, picture, &error))
        fail_msg("%s", error.text);
    crn_picture got = {0};
    if (crn_picture_read(path, &got, &error))
        fail_msg("%s", error.text);
    assert_int_equal(got.pages, picture->pages);
    assert_int_equal(got.samples, picture->samples);
    assert_int_equal(got.image.type, picture->image.type);
    assert_true(crn_image_same_size(&got.image, &picture->image));
    assert_true(crn_image_same_size(&got.alpha, &picture->alpha));
    assert_int_equal(got.alpha_associated, picture->alpha_associated);
    picture_check(&got, (int32_t)crn_type_bytes(got.image.type) * 8, false);
    crn_picture_free(&got);
}

static void any_strides_come_back(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    crn_random random = {seed};
    for (uint32_t i = 0; i < crn_random_cases(200); i++) {
        crn_type type = types[crn_random_below(&random, 4)];
        bool png = crn_random_once_in(&random, 3) && (type == CRN_U8 || type == CRN_U16);
        crn_picture picture = {
            .pages = png ? 1 : crn_random_between(&random, 1, 4),
            .samples =
                png ? crn_random_once_in(&random, 2) ? 1 : 3 : crn_random_between(&random, 1, 6),
        };
        int32_t height = crn_random_between(&random, 1, 40);
        int32_t width = crn_random_between(&random, 1, 40);
        crn_guarded memory, alpha_memory = {0};
        picture.image = crn_guarded_image(&random, type, picture.pages * picture.samples, height,
                                          width, &memory);
        picture_fill(&picture.image, picture.samples, 0);
        if (crn_random_once_in(&random, 2)) {
            picture.alpha =
                crn_guarded_image(&random, type, picture.pages, height, width, &alpha_memory);
            picture.alpha_associated = !png && crn_random_once_in(&random, 2);
            picture_fill(&picture.alpha, 1, picture.samples);
        }
        round_trip(png ? "a.png" : crn_random_once_in(&random, 2) ? "a.tif" : "a.TIFF", &picture);
        crn_guarded_check(&memory, "image");
        crn_guarded_free(&memory);
        if (picture.alpha.data)
            crn_guarded_free(&alpha_memory);
    }
    assert_int_equal(picture_folder_count(), 3);
}

/* Rows that are dense but not contiguous. */
static void a_window_comes_back(void **state)
{
    (void)state;
    for (int32_t samples = 1; samples <= 3; samples += 2) {
        crn_picture whole = {0};
        assert_int_equal(crn_picture_create(CRN_U16, 1, samples, 20, 30, &whole), 0);
        crn_picture window = {.image = whole.image, .pages = 1, .samples = samples};
        window.image.data = (uint16_t *)whole.image.data + 5 * samples;
        window.image.height = 11;
        window.image.width = 13;
        picture_fill(&window.image, samples, 0);
        round_trip("window.tif", &window);
        round_trip("window.png", &window);
        crn_picture_free(&whole);
    }
}

static void a_created_picture_is_dense_and_empty(void **state)
{
    (void)state;
    crn_picture picture = {0};
    assert_int_equal(crn_picture_create(CRN_F32, 1, 3, 5, 7, &picture), 0);
    assert_int_equal(picture.image.step, 3);
    assert_int_equal(picture.image.planes, 3);
    for (int i = 0; i < 105; i++)
        assert_true(((float *)picture.memory)[i] == 0);
    crn_picture_free(&picture);
    assert_int_equal(crn_picture_create(CRN_U8, 4, 3, 5, 7, &picture), 0);
    assert_int_equal(picture.image.step, 1);
    assert_int_equal(picture.image.planes, 12);
    crn_picture_free(&picture);
    crn_picture_free(&picture);
    crn_picture_free(NULL);
    assert_int_equal(crn_picture_create(CRN_U8, 0, 1, 5, 7, &picture), -EINVAL);
    assert_int_equal(crn_picture_create((crn_type)9, 1, 1, 5, 7, &picture), -EINVAL);
    assert_int_equal(crn_picture_create(CRN_F32, 1, INT32_MAX, INT32_MAX, INT32_MAX, &picture),
                     -ENOMEM);
    assert_null(picture.memory);
}

/* --- page by page --- */

static void append(crn_picture_writer *writer, crn_type type, int32_t planes, int32_t height,
                   int32_t width, bool together, const char *description)
{
    crn_picture picture = {0};
    crn_error error = {0};
    assert_int_equal(crn_picture_create(type, together ? 1 : planes, together ? planes : 1, height,
                                        width, &picture),
                     0);
    picture_fill(&picture.image, together ? planes : 1, 0);
    if (crn_picture_writer_append(writer, &picture.image, together, description, &error))
        fail_msg("%s", error.text);
    crn_picture_free(&picture);
}

static void pages_may_differ(void **state)
{
    (void)state;
    const char *path = picture_path("pages.tif");
    crn_error error = {0};
    crn_picture_writer *writer = NULL;
    int before = picture_folder_count();
    assert_int_equal(crn_picture_writer_open(path, 0, &writer, &error), 0);
    append(writer, CRN_F32, 2, 20, 30, false, "first");
    append(writer, CRN_U8, 4, 900, 1700, true, NULL); /* strips of several rows */
    append(writer, CRN_U16, 1, 1, 1, false, "last");
    assert_true(access(path, F_OK) < 0);
    assert_int_equal(crn_picture_writer_finish(writer, &error), 0);
    crn_picture_writer_free(&writer);
    assert_null(writer);
    crn_picture_writer_free(&writer);
    assert_int_equal(picture_folder_count(), before + 1);

    TIFF *tiff = TIFFOpen(path, "r");
    static const struct {
        uint32_t height, width;
        uint16_t samples, bits, photometric;
        const char *description;
    } pages[] = {{20, 30, 1, 32, PHOTOMETRIC_MINISBLACK, "first"},
                 {20, 30, 1, 32, PHOTOMETRIC_MINISBLACK, NULL},
                 {900, 1700, 4, 8, PHOTOMETRIC_MINISBLACK, NULL},
                 {1, 1, 1, 16, PHOTOMETRIC_MINISBLACK, "last"}};
    for (int i = 0; i < 4; i++) {
        uint32_t height = 0, width = 0;
        uint16_t samples = 0, bits = 0, photometric = 0;
        char *description = NULL;
        TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
        TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
        TIFFGetField(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
        TIFFGetField(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
        TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
        TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &description);
        assert_int_equal(height, pages[i].height);
        assert_int_equal(width, pages[i].width);
        assert_int_equal(samples, pages[i].samples);
        assert_int_equal(bits, pages[i].bits);
        assert_int_equal(photometric, pages[i].photometric);
        assert_int_equal(description != NULL, pages[i].description != NULL);
        if (description)
            assert_string_equal(description, pages[i].description);
        assert_int_equal(TIFFReadDirectory(tiff), i < 3);
    }
    TIFFClose(tiff);
}

static void it_is_big_only_where_it_must(void **state)
{
    (void)state;
    static const uint64_t expected[] = {0, UINT64_C(4000000000), UINT64_C(5000000000)};
    static const char version[] = {42, 42, 43};
    const char *path = picture_path("big.tif");
    for (int i = 0; i < 3; i++) {
        crn_picture_writer *writer = NULL;
        crn_error error = {0};
        assert_int_equal(crn_picture_writer_open(path, expected[i], &writer, &error), 0);
        append(writer, CRN_U8, 1, 3, 3, false, NULL);
        assert_int_equal(crn_picture_writer_finish(writer, &error), 0);
        crn_picture_writer_free(&writer);
        unsigned char *bytes;
        picture_load_bytes(path, &bytes);
        assert_int_equal(bytes[2] | bytes[3], version[i]);
        free(bytes);
    }
}

/* --- failures --- */

static void assert_fails(int r, const crn_error *error, int code, const char *wanted)
{
    assert_int_equal(r, code);
    if (!strstr(error->text, wanted) || strchr(error->text, '\n'))
        fail_msg("'%s' says nothing of '%s'", error->text, wanted);
}

static void an_abandoned_file_never_appears(void **state)
{
    (void)state;
    const char *path = picture_path("pages.tif");
    int before = picture_folder_count();
    unsigned char *old, *now;
    size_t old_size = picture_load_bytes(path, &old);
    crn_picture_writer *writer = NULL;
    crn_error error = {0};
    assert_int_equal(crn_picture_writer_open(path, 0, &writer, &error), 0);
    append(writer, CRN_U8, 1, 3, 3, false, NULL);
    crn_picture_writer_free(&writer);
    assert_int_equal(crn_picture_writer_open(path, 0, &writer, &error), 0);
    assert_fails(crn_picture_writer_finish(writer, &error), &error, -EINVAL, "pages.tif");
    crn_picture_writer_free(&writer);
    assert_int_equal(picture_folder_count(), before);
    assert_int_equal(picture_load_bytes(path, &now), old_size);
    assert_memory_equal(old, now, old_size);
    free(old);
    free(now);
}

/* Exceeding classic TIFF's size limit is reported before any byte of that page is written. */
static void a_page_too_many_is_refused(void **state)
{
    (void)state;
    uint8_t one = 0;
    crn_image huge = {&one, CRN_U8, 1, 70000, 70000, 0, 0, 0}; /* of one byte */
    crn_picture_writer *writer = NULL;
    crn_error error = {0};
    assert_int_equal(crn_picture_writer_open(picture_path("huge.tif"), 0, &writer, &error), 0);
    assert_fails(crn_picture_writer_append(writer, &huge, false, NULL, &error), &error, -EFBIG,
                 "huge.tif: page 1 would make it larger than a classic TIFF");
    assert_fails(crn_picture_writer_append(writer, &huge, false, NULL, &error), &error, -EINVAL,
                 "after a failure");
    assert_fails(crn_picture_writer_finish(writer, &error), &error, -EINVAL, "huge.tif");
    crn_picture_writer_free(&writer);
    assert_true(access(picture_path("huge.tif"), F_OK) < 0);
}

/* Simulates a full disk: writes in a child process with a file size limit. */
static void write_within(const char *name, size_t bytes)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        crn_picture picture = {0};
        crn_error error = {0};
        crn_picture_create(CRN_U8, 1, 1, 1000, 1000, &picture);
        picture_fill(&picture.image, 1, 0);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, bytes});
        int r = crn_picture_write(picture_path(name), &picture, &error);
        crn_picture_free(&picture);
        if (r != -EFBIG && r != -EIO)
            _exit(1);
        _exit(strstr(error.text, name) && strstr(error.text, "File too large") &&
                      !strchr(error.text, '\n')
                  ? 0
                  : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_full_disk_leaves_no_file(void **state)
{
    (void)state;
    int before = picture_folder_count();
    static const size_t rooms[] = {0, 8, 100, 4096, 500000};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        write_within("full.tif", rooms[i]);
        write_within("full.png", rooms[i]);
    }
    assert_int_equal(picture_folder_count(), before);
}

static void what_cannot_be_written_is_told(void **state)
{
    (void)state;
    crn_picture picture = {0}, wide = {0}, deep = {0};
    crn_error error = {0};
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, 5, 7, &picture), 0);
    assert_int_equal(crn_picture_create(CRN_F32, 1, 1, 5, 7, &wide), 0);
    assert_int_equal(crn_picture_create(CRN_U8, 12, 1, 5, 7, &deep), 0);
    assert_fails(crn_picture_write("/nowhere/a.tif", &picture, &error), &error, -ENOENT,
                 "/nowhere/a.tif: cannot be written in /nowhere/: No such file");
    assert_fails(crn_picture_write("/nowhere/a.png", &picture, &error), &error, -ENOENT,
                 "/nowhere/a.png: cannot be written in /nowhere/: No such file");
    assert_fails(crn_picture_write(picture_path("a.jpg"), &picture, &error), &error, -EINVAL,
                 "a.jpg: its name must end in .tif, .tiff or .png");
    assert_fails(crn_picture_write(".png", &picture, &error), &error, -EINVAL, "must end");
    assert_fails(crn_picture_write(picture_path("a.png"), &wide, &error), &error, -EINVAL,
                 "this is f32, pages 1, samples 1: name it .tif");
    assert_fails(crn_picture_write(picture_path("a.png"), &deep, &error), &error, -EINVAL,
                 "this is u8, pages 12, samples 1: name it .tif");
    deep.samples = 2;
    assert_fails(crn_picture_write(picture_path("a.tif"), &deep, &error), &error, -EINVAL,
                 "a.tif: the picture's planes");
    crn_picture alpha = picture;
    alpha.alpha = wide.image;
    assert_fails(crn_picture_write(picture_path("a.tif"), &alpha, &error), &error, -EINVAL,
                 "a.tif: the picture's alpha");
    alpha.alpha = picture.image;
    alpha.alpha_associated = true;
    assert_fails(crn_picture_write(picture_path("a.png"), &alpha, &error), &error, -EINVAL,
                 "multiplied");
    const char *folder = picture_path("folder.tif");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_fails(crn_picture_write(folder, &picture, &error), &error, -EISDIR, "is a folder");
    assert_int_equal(rmdir(folder), 0);
    const char *pipe = picture_path("pipe.tif");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_fails(crn_picture_write(pipe, &picture, &error), &error, -EEXIST,
                 "is a pipe, not a regular file; name another");
    assert_int_equal(unlink(pipe), 0);
    crn_picture_free(&picture);
    crn_picture_free(&wide);
    crn_picture_free(&deep);
}

/* What a link leads to stays as it is, and so does the link. */
static void a_link_is_refused(void **state)
{
    (void)state;
    crn_picture picture = {0};
    crn_error error = {0};
    struct stat about;
    mode_t mask = umask(027);
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, 5, 7, &picture), 0);
    const char *target = picture_path("target.tif");
    assert_int_equal(crn_picture_write(target, &picture, &error), 0);
    assert_int_equal(stat(target, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    ino_t before = about.st_ino;
    static const char *const names[] = {"link.tif", "link.png"};
    for (size_t i = 0; i < 2; i++) {
        const char *link = picture_path(names[i]);
        assert_int_equal(symlink("target.tif", link), 0);
        assert_fails(crn_picture_write(link, &picture, &error), &error, -ELOOP,
                     "is a symbolic link; name ");
        assert_non_null(strstr(error.text, "target.tif, which it leads to, or remove the link"));
        assert_int_equal(lstat(link, &about), 0);
        assert_true(S_ISLNK(about.st_mode));
        assert_int_equal(stat(target, &about), 0);
        assert_int_equal(about.st_ino, before);
        assert_int_equal(unlink(link), 0);
    }
    const char *dangling = picture_path("dangling.tif");
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_fails(crn_picture_write(dangling, &picture, &error), &error, -ELOOP,
                 "is a symbolic link that leads to no file; remove it");
    const char *folder = picture_path("folder");
    assert_int_equal(symlink(".", folder), 0);
    assert_int_equal(crn_picture_write(picture_path("folder/target.tif"), &picture, &error), 0);
    umask(mask);
    crn_picture_free(&picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_strides_come_back),
        cmocka_unit_test(a_window_comes_back),
        cmocka_unit_test(a_created_picture_is_dense_and_empty),
        cmocka_unit_test(pages_may_differ),
        cmocka_unit_test(it_is_big_only_where_it_must),
        cmocka_unit_test(an_abandoned_file_never_appears),
        cmocka_unit_test(a_page_too_many_is_refused),
        cmocka_unit_test(a_full_disk_leaves_no_file),
        cmocka_unit_test(what_cannot_be_written_is_told),
        cmocka_unit_test(a_link_is_refused),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}
