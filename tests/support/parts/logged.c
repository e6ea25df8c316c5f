#include "tests/support/parts/logged.h"

#include <inttypes.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/reader.h"
#include "tests/support/cmocka_prelude.h"

char logged_folder[64];
size_t logged_bytes_max;

int logged_setup(void **state)
{
    (void)state;
    logged_bytes_max = 3000;
    strcpy(logged_folder, "/tmp/cernita-test-XXXXXX");
    return mkdtemp(logged_folder) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int logged_teardown(void **state)
{
    (void)state;
    return nftw(logged_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *logged_path(uint64_t number)
{
    static char path[128];
    crn_verdict_log_path(path, sizeof path, logged_folder, number);
    return path;
}

int logged_files(void)
{
    int count = 0;
    DIR *folder = opendir(logged_folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return number ^ number >> 29;
}

const unsigned char *logged_verdict(uint64_t number, size_t *ret_size)
{
    static unsigned char *bytes;
    static size_t room;
    size_t size = 8 + mixed(number) % (logged_bytes_max - 7);
    if (room < size + 8) {
        room = size + 8;
        bytes = realloc(bytes, room);
        assert_non_null(bytes);
    }
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = at ? mixed(number + at) : number;
        memcpy(bytes + at, &word, sizeof word);
    }
    *ret_size = size;
    return bytes;
}

uint32_t logged_lane(uint64_t number)
{
    return (uint32_t)mixed(number);
}

crn_verdict_writer *logged_writer(uint64_t segment_bytes, uint64_t keep_bytes)
{
    crn_verdict_writer *writer;
    crn_error error;
    crn_verdict_log_settings settings = {logged_folder, segment_bytes, keep_bytes, 0};
    if (crn_verdict_writer_open(&settings, &writer, &error) < 0)
        fail_msg("%s", error.text);
    return writer;
}

void logged_append(crn_verdict_writer *writer, uint64_t from, uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        size_t size;
        const unsigned char *bytes = logged_verdict(number, &size);
        crn_error error;
        if (crn_verdict_writer_append(writer, logged_lane(number), bytes, size, &error) < 0)
            fail_msg("%s", error.text);
    }
}

static uint64_t number_of(const crn_logged_verdict *verdict)
{
    uint64_t number;
    size_t size;
    assert_true(verdict->size >= sizeof number);
    memcpy(&number, verdict->bytes, sizeof number);
    const unsigned char *bytes = logged_verdict(number, &size);
    assert_int_equal(verdict->size, size);
    assert_memory_equal(verdict->bytes, bytes, size);
    assert_int_equal(verdict->lane, logged_lane(number));
    return number;
}

const logged_log *logged_read(void)
{
    static logged_log log;
    crn_verdict_reader *reader;
    crn_error error;
    log.count = log.notices = 0;
    log.notice[0] = '\0';
    int r = crn_verdict_reader_open(logged_folder, &reader, &error);
    if (r == -ENOENT)
        return &log;
    assert_int_equal(r, 0);
    crn_logged_verdict verdict;
    while ((r = crn_verdict_reader_next(reader, &verdict, &error)) != 0) {
        if (r > 0) {
            assert_true(log.count < CRN_LOGGED_MAX);
            log.numbers[log.count++] = number_of(&verdict);
        } else {
            log.notices++;
            strcpy(log.notice, error.text);
        }
    }
    crn_verdict_reader_close(&reader);
    assert_null(reader);
    return &log;
}

void logged_expect(uint64_t from, uint64_t to, size_t notices)
{
    const logged_log *log = logged_read();
    for (uint64_t i = 0; i < log->count && i < to - from; i++)
        assert_int_equal(log->numbers[i], from + i);
    assert_int_equal(log->count, to - from);
    if (log->notices != notices)
        fail_msg("%zu notices, the last: %s", log->notices, log->notice);
}

void logged_made_up(const char *dir, const logged_fruit *verdicts)
{
    crn_verdict_writer *writer;
    crn_verdict_log_settings settings = {dir, UINT64_MAX, 0, 0};
    crn_error error;
    assert_int_equal(crn_verdict_writer_open(&settings, &writer, &error), 0);
    for (; verdicts->kind; verdicts++) {
        char text[256];
        int size = snprintf(text, sizeof text,
                            "{\"v\":1,\"run\":\"a\",\"sequence\":0,\"lane\":%u,\"epoch\":%" PRIu64
                            ",\"fruit\":%u,\"verdict\":\"%s\",\"budget_ms\":100,"
                            "\"latency_ms\":{\"total\":%g},\"defects\":[]}",
                            verdicts->lane, verdicts->epoch, verdicts->fruit, verdicts->kind,
                            verdicts->total_ms);
        assert_int_equal(
            crn_verdict_writer_append(writer, verdicts->lane, text, (size_t)size, &error), 0);
    }
    crn_verdict_writer_close(&writer);
}
