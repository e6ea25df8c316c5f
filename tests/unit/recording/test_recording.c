/* Recordings: written views read back byte for byte, and a kill or a full disk costs at most the
 * view being written. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tiffio.h>
#include <unistd.h>

#include "tests/support/cleanup.h"
#include "tests/support/parts/recorded.h"

static void every_type_layout_and_shape_comes_back(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {{1, 1, 1},  {12, 19, 31}, {2, 1, 65},
                                         {65, 7, 3}, {3, 64, 64},  {130, 2, 2}};
    crn_recording_writer *writer = recorded_create();
    uint64_t number = 0;
    for (int pass = 0; pass < 2; pass++) {
        crn_recording_reader *reader = pass ? recorded_open(recorded_path) : NULL;
        number = 0;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int type = CRN_U8; type <= CRN_F32; type++)
                for (int layout = CRN_CHW; layout <= CRN_HWC; layout++)
                    for (int intensity = 0; intensity < 2; intensity++) {
                        crn_recorded_view view =
                            recorded_view(number++, (crn_type)type, (crn_layout)layout,
                                          shapes[s][0], shapes[s][1], shapes[s][2], intensity);
                        crn_recorded_view got;
                        crn_error error;
                        if (!pass) {
                            recorded_add(writer, &view);
                        } else {
                            assert_int_equal(crn_recording_next(reader, &got, &error), 1);
                            recorded_assert_same(&view, &got);
                        }
                    }
        if (pass) {
            crn_error error;
            crn_recorded_view got;
            assert_int_equal(crn_recording_next(reader, &got, &error), 0);
            assert_string_equal(error.text, "");
            crn_recording_end(&reader);
        } else {
            assert_int_equal(crn_recording_views(writer), number);
            uint64_t bytes = crn_recording_bytes(writer);
            recorded_finish(writer);
            struct stat about;
            assert_int_equal(stat(recorded_path, &about), 0);
            assert_int_equal(about.st_size, bytes);
            assert_int_equal(access(recorded_part, F_OK), -1);
        }
    }
}

static void skipping_gives_headers_and_opening_again_starts_again(void **state)
{
    (void)state;
    recorded_write_small(3);
    crn_recording_reader *reader = recorded_open(recorded_path);
    crn_recorded_view got;
    crn_error error;
    for (uint64_t i = 0; i < 3; i++) {
        crn_recorded_view want = recorded_small(i);
        assert_int_equal(crn_recording_skip(reader, &got, &error), 1);
        recorded_assert_header(&want, &got);
        assert_null(got.maps);
        assert_null(got.intensity);
    }
    assert_int_equal(crn_recording_skip(reader, &got, &error), 0);
    assert_string_equal(error.text, "");
    crn_recording_end(&reader);
    reader = recorded_open(recorded_path);
    crn_recorded_view want = recorded_small(0);
    assert_int_equal(crn_recording_next(reader, &got, &error), 1);
    recorded_assert_same(&want, &got);
    crn_recording_end(&reader);
}

/* To libtiff alone it is an ordinary file: every page linked, planar, of the expected type. */
static void other_readers_see_ordinary_pages(void **state)
{
    (void)state;
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < 2; i++) {
        crn_recorded_view view = recorded_view(i, CRN_F16, CRN_HWC, 3, 5, 7, true);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    TIFF *tiff = TIFFOpen(recorded_path, "r");
    assert_non_null(tiff);
    assert_int_equal(TIFFNumberOfDirectories(tiff), 8);
    for (int page = 0; page < 8; page++) {
        uint16_t bits = 0, format = 0;
        char *text = NULL;
        assert_true(TIFFSetDirectory(tiff, (tdir_t)page));
        assert_true(TIFFGetField(tiff, TIFFTAG_BITSPERSAMPLE, &bits));
        assert_true(TIFFGetField(tiff, TIFFTAG_SAMPLEFORMAT, &format));
        bool map = page % 4 < 3;
        assert_int_equal(bits, map ? 16 : 8);
        assert_int_equal(format, map ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
        bool told = TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text);
        assert_int_equal(told, page % 4 == 0 || !map);
        if (told)
            assert_int_equal(strncmp(text, "{\"shape\": [", 11), 0);
        uint16_t pixels[35] = {0};
        assert_int_equal(TIFFReadEncodedStrip(tiff, 0, pixels, -1), map ? 70 : 35);
        crn_recorded_view view = recorded_view((uint64_t)page / 4, CRN_F16, CRN_HWC, 3, 5, 7, true);
        for (int i = 0; map && i < 35; i++)
            assert_memory_equal(&pixels[i], view.maps + (i * 3 + page % 4) * 2, 2);
        if (!map)
            assert_memory_equal(pixels, view.intensity, 35);
    }
    TIFFClose(tiff);
}

static void a_killed_writer_loses_at_most_the_view_being_written(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        unlink(recorded_path);
        int told[2];
        assert_int_equal(pipe(told), 0);
        pid_t child = fork();
        if (!child) {
            crn_error error;
            crn_recording_writer *writer;
            if (crn_recording_create(recorded_path, true, &writer, &error))
                _exit(1);
            if (round % 2)
                crn_recording_bypass_cache(writer);
            for (uint64_t i = 0;; i++) {
                crn_recorded_view view = recorded_small(i);
                if (crn_recording_write(writer, &view, &error) || write(told[1], "", 1) != 1)
                    _exit(1);
            }
        }
        crn_cleanup_add_process(child);
        close(told[1]);
        uint64_t written = 0;
        char byte;
        for (; written < 20 && read(told[0], &byte, 1) == 1; written++)
            continue;
        assert_int_equal(written, 20);
        kill(child, SIGKILL);
        crn_cleanup_wait(child, NULL);
        while (read(told[0], &byte, 1) == 1)
            written++;
        close(told[0]);
        int end;
        crn_error error;
        uint64_t got = recorded_read_small(recorded_part, &end, &error);
        assert_int_equal(end, 0);
        assert_in_range(got, written, written + 1);
        assert_int_equal(access(recorded_path, F_OK), -1);
    }
}

static int count_views(const char *path, crn_error *error)
{
    crn_recording_reader *reader = recorded_open(path);
    crn_recorded_view got;
    int views = 0;
    while (crn_recording_skip(reader, &got, error) == 1)
        views++;
    crn_recording_end(&reader);
    return views;
}

/* Not every file system can. */
static bool is_direct(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECT);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static size_t cached_pages(const char *path, size_t bytes)
{
    unsigned char cached[64];
    int fd = open(path, O_RDONLY);
    void *file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(file != MAP_FAILED && bytes <= sizeof cached * 4096);
    assert_int_equal(mincore(file, bytes, cached), 0);
    munmap(file, bytes);
    close(fd);
    size_t pages = 0;
    for (size_t i = 0; i < (bytes + 4095) / 4096; i++)
        pages += cached[i] & 1;
    return pages;
}

/* The finished file's bytes are the same, its pages are not in the cache. */
static void the_cache_is_bypassed(void **state)
{
    (void)state;
    static unsigned char bytes[2][200000];
    size_t sizes[2];
    for (int bypass = 0; bypass < 2; bypass++) {
        crn_recording_writer *writer = recorded_create();
        if (bypass)
            crn_recording_bypass_cache(writer);
        for (uint64_t i = 0; i < 12; i++) {
            crn_recorded_view view =
                recorded_view(i, CRN_F32, CRN_HWC, 3, (uint32_t)(7 + i), 97, i % 2);
            recorded_add(writer, &view);
        }
        size_t size = (size_t)crn_recording_bytes(writer);
        if (bypass && is_direct(recorded_part))
            assert_int_equal(cached_pages(recorded_part, size), 0);
        crn_error error;
        assert_int_equal(count_views(recorded_part, &error), 12);
        assert_string_equal(error.text, "");
        recorded_finish(writer);
        sizes[bypass] = recorded_load(recorded_path, bytes[bypass], sizeof bytes[bypass]);
        assert_int_equal(sizes[bypass], size);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
}

/* The link to a view makes it valid: a kill between two blocks must not leave a part of it. */
static void a_link_lies_in_one_block(void **state)
{
    (void)state;
    enum { VIEWS = 3000, BLOCK = CRN_RECORDING_BLOCK_BYTES };
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view view =
            recorded_view(i, CRN_U8, CRN_CHW, 1, 1, 1 + (uint32_t)i % 97, false);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    int fd = open(recorded_path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    uint64_t link = 8, directory, entries;
    for (uint64_t i = 0; i <= VIEWS; i++) {
        assert_true(link % BLOCK + sizeof link <= BLOCK);
        assert_int_equal(pread(fd, &directory, sizeof directory, (off_t)link), sizeof directory);
        assert_int_equal(directory == 0, i == VIEWS);
        if (directory) {
            assert_int_equal(pread(fd, &entries, sizeof entries, (off_t)directory), sizeof entries);
            link = directory + 8 + entries * 20;
        }
    }
    close(fd);
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view got;
        crn_error error;
        assert_int_equal(crn_recording_next(reader, &got, &error), 1);
        crn_recorded_view want =
            recorded_view(i, CRN_U8, CRN_CHW, 1, 1, 1 + (uint32_t)i % 97, false);
        recorded_assert_same(&want, &got);
    }
    crn_recording_end(&reader);
}

static void a_view_that_does_not_fit_its_header_is_refused(void **state)
{
    (void)state;
    crn_recording_writer *writer = recorded_create();
    crn_error error;
    crn_recorded_view good = recorded_view(0, CRN_F32, CRN_HWC, 3, 5, 7, true), bad = good;
    bad.header.payload_bytes++;
    assert_int_equal(crn_recording_write(writer, &bad, &error), -EINVAL);
    bad = good;
    bad.intensity = NULL;
    assert_int_equal(crn_recording_write(writer, &bad, &error), -EINVAL);
    bad = good;
    bad.header.type = CRN_U16;
    assert_int_equal(crn_recording_write(writer, &bad, &error), -EINVAL);
    bad = good;
    bad.header.channels = 0;
    bad.header.payload_bytes = 0;
    assert_int_equal(crn_recording_write(writer, &bad, &error), -EINVAL);
    assert_int_equal(crn_recording_views(writer), 0);
    crn_recording_discard(&writer);
    assert_null(writer);
    assert_int_equal(access(recorded_part, F_OK), -1);
}

/* A file size limit simulates a full disk: only the failed view is lost. */
static void fill_the_disk(bool again)
{
    signal(SIGXFSZ, SIG_IGN);
    crn_recording_writer *writer = recorded_create();
    crn_error error;
    crn_recorded_view view = recorded_small(0);
    recorded_add(writer, &view);
    uint64_t before = crn_recording_bytes(writer);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit tight = {before + 700, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    view = recorded_small(1);
    int r = crn_recording_write(writer, &view, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(r, -EFBIG);
    assert_non_null(strstr(error.text, recorded_part));
    assert_int_equal(crn_recording_bytes(writer), before);
    if (again)
        recorded_add(writer, &view);
    recorded_finish(writer);
    int end;
    assert_int_equal(recorded_read_small(recorded_path, &end, &error), again ? 2 : 1);
    assert_int_equal(end, 0);
    assert_string_equal(error.text, "");
}

static void a_full_disk_costs_only_the_view_it_meets(void **state)
{
    (void)state;
    fill_the_disk(false);
    fill_the_disk(true);
}

static void a_path_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    crn_error error;
    crn_recording_writer *writer = NULL;
    assert_int_equal(crn_recording_create("/nonexistent/r.tif", true, &writer, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent/r.tif.part"));
    assert_null(writer);
    assert_int_equal(crn_recording_close(&writer, &error), 0);
    crn_recording_discard(&writer);
}

/* Anything but a regular file under the name of the file or its .part is left untouched. */
static void only_regular_files_are_replaced(void **state)
{
    (void)state;
    const char *const names[] = {recorded_path, recorded_part};
    for (int i = 0; i < 2; i++) {
        for (int kind = 0; kind < 4; kind++) {
            char victim[96];
            struct stat before, after;
            crn_error error = {""};
            crn_recording_writer *writer = NULL;
            snprintf(victim, sizeof victim, "%s/victim", recorded_folder);
            recorded_save(victim, "precious", 8);
            unlink(names[0]);
            unlink(names[1]);
            int made = kind == 0   ? mkfifo(names[i], 0600)
                       : kind == 1 ? symlink(victim, names[i])
                       : kind == 2 ? symlink("/nonexistent/victim", names[i])
                                   : mkdir(names[i], 0700);
            assert_int_equal(made, 0);
            assert_int_equal(lstat(names[i], &before), 0);
            for (int replace = 0; replace < 2; replace++)
                assert_int_equal(crn_recording_create(recorded_path, replace, &writer, &error),
                                 -EEXIST);
            assert_null(writer);
            assert_non_null(strstr(error.text, names[i]));
            assert_non_null(strstr(error.text, kind == 0   ? "is a pipe, not a regular file; name"
                                               : kind == 3 ? "is a folder, not a regular file"
                                                           : "is a symbolic link, not a regular"));
            assert_int_equal(lstat(names[i], &after), 0);
            assert_int_equal(after.st_ino, before.st_ino);
            unsigned char bytes[16];
            assert_int_equal(recorded_load(victim, bytes, sizeof bytes), 8);
            assert_int_equal(remove(names[i]), 0);
            unlink(victim);
        }
    }
}

/* A killed program's .part is replaced where replacing
 * is allowed; one still being written is not. */
static void a_part_gives_way_when_nobody_writes_it(void **state)
{
    (void)state;
    crn_error error = {""};
    crn_recording_writer *first = recorded_create(), *second = NULL;
    crn_recorded_view view = recorded_small(0);
    recorded_add(first, &view);
    assert_int_equal(crn_recording_create(recorded_path, true, &second, &error), -EEXIST);
    assert_non_null(strstr(error.text, "another program is writing it"));
    recorded_finish(first);

    recorded_save(recorded_part, "left by a killed program", 24);
    assert_int_equal(crn_recording_create(recorded_path, false, &second, &error), -EEXIST);
    assert_int_equal(crn_recording_create(recorded_path, true, &second, &error), 0);
    view = recorded_small(0);
    recorded_add(second, &view);
    recorded_finish(second);
    int end;
    assert_int_equal(recorded_read_small(recorded_path, &end, &error), 1);
}

/* A file that took the name during writing is not replaced; the recording is kept. */
static void a_name_that_was_taken_meanwhile_is_left(void **state)
{
    (void)state;
    for (int replace = 0; replace < 2; replace++) {
        crn_error error = {""};
        crn_recording_writer *writer = NULL;
        unlink(recorded_path);
        assert_int_equal(crn_recording_create(recorded_path, replace, &writer, &error), 0);
        crn_recorded_view view = recorded_small(0);
        recorded_add(writer, &view);
        if (replace)
            assert_int_equal(mkfifo(recorded_path, 0600), 0);
        else
            recorded_save(recorded_path, "precious", 8);
        assert_int_equal(crn_recording_close(&writer, &error), -EEXIST);
        struct stat about;
        assert_int_equal(lstat(recorded_path, &about), 0);
        assert_true(replace ? S_ISFIFO(about.st_mode) : about.st_size == 8);
        int end;
        assert_int_equal(recorded_read_small(recorded_part, &end, &error), 1);
        unlink(recorded_part);
        unlink(recorded_path);
    }
}

/* Of views that have as many channels, and the class set of these names or none. */
static void class_names_come_back(void **state)
{
    (void)state;
    static const crn_classes classes = {
        .count = 3,
        .name = {"a \"b\" \\ c", "Fäule 🍎 €\t", "the longest name that a class can have 47 bytes"}};
    static const crn_classes longest = {.count = 1,
                                        .name = {"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""
                                                 "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""}};
    static const bool named[] = {true, true, false, false, true};
    crn_recording_writer *writer = recorded_create();
    for (int i = 0; i < 5; i++) {
        uint32_t channels = i == 3 ? 2 : i == 4 ? 1 : 3;
        crn_recorded_view view = recorded_view((uint64_t)i, CRN_U8, CRN_HWC, channels, 5, 7, false);
        view.header.class_set = i == 1 ? crn_classes_hash(&classes) : i == 2 ? 77 : 0;
        crn_recording_name_classes(writer, i == 4 ? &longest : &classes);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (int i = 0; i < 5; i++) {
        crn_recorded_view got;
        crn_error error;
        assert_int_equal(crn_recording_skip(reader, &got, &error), 1);
        const crn_classes *names = crn_recording_classes(reader);
        assert_int_equal(names != NULL, named[i]);
        const crn_classes *want = i == 4 ? &longest : &classes;
        for (int32_t c = 0; names && c < want->count; c++)
            assert_string_equal(names->name[c], want->name[c]);
    }
    crn_recording_end(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_layout_and_shape_comes_back),
        cmocka_unit_test(skipping_gives_headers_and_opening_again_starts_again),
        cmocka_unit_test(other_readers_see_ordinary_pages),
        cmocka_unit_test(a_killed_writer_loses_at_most_the_view_being_written),
        cmocka_unit_test(the_cache_is_bypassed),
        cmocka_unit_test(a_link_lies_in_one_block),
        cmocka_unit_test(a_view_that_does_not_fit_its_header_is_refused),
        cmocka_unit_test(a_full_disk_costs_only_the_view_it_meets),
        cmocka_unit_test(a_path_that_cannot_be_written_is_told),
        cmocka_unit_test(only_regular_files_are_replaced),
        cmocka_unit_test(a_part_gives_way_when_nobody_writes_it),
        cmocka_unit_test(a_name_that_was_taken_meanwhile_is_left),
        cmocka_unit_test(class_names_come_back),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
