#include "src/formats/verdict_log/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "stages/base/clock.h"
#include "stages/base/little_endian.h"
#include "stages/base/buffer/array.h"

#define NAME_START "cernita-"
#define NAME_END   ".verdicts"
#define DIGITS_MIN 10
#define DIGITS_MAX 18 /* fit 64 bits, and so do all numbers after them */

#define VERSION 1

enum {
    AT_VERSION = 4, /* in a segment's header */
    AT_HEADER_BYTES = 6,
    AT_CREATED = 8,
    AT_SIZE = 0, /* in a record */
    AT_LANE = 4,
    AT_CRC = 8,
};

static const char magic[4] = {'C', 'R', 'N', 'V'};

/* --- names --- */

void crn_verdict_log_path(char *path, size_t size, const char *dir, uint64_t number)
{
    snprintf(path, size, "%s/" NAME_START "%0*" PRIu64 NAME_END, dir, DIGITS_MIN, number);
}

/* Returns the number of a segment's name, or 0. */
static uint64_t number_of(const char *name)
{
    if (strncmp(name, NAME_START, strlen(NAME_START)) != 0)
        return 0;
    const char *digits = name + strlen(NAME_START);
    size_t count = strspn(digits, "0123456789");
    if (count < DIGITS_MIN || count > DIGITS_MAX || strcmp(digits + count, NAME_END) != 0 ||
        (count > DIGITS_MIN && digits[0] == '0'))
        return 0;
    return strtoull(digits, NULL, 10);
}

static int by_number(const void *left, const void *right)
{
    const crn_verdict_log_file *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static int add_file(crn_verdict_log_files *files, uint64_t number, const struct stat *about)
{
    if (crn_array_grow(&files->items, files->count, sizeof *files->items) < 0)
        return -ENOMEM;
    files->items[files->count++] = (crn_verdict_log_file){
        .number = number,
        .bytes = (uint64_t)about->st_size,
        .written_ns = about->st_mtim.tv_sec * CRN_NS_PER_S + about->st_mtim.tv_nsec};
    files->bytes += (uint64_t)about->st_size;
    return 0;
}

int crn_verdict_log_list(const char *dir, crn_verdict_log_files *ret_files, crn_error *error)
{
    crn_verdict_log_files files = {0};
    DIR *folder = opendir(dir);
    int r = folder ? 0 : -errno;
    struct dirent *entry;
    while (!r && (errno = 0, entry = readdir(folder))) {
        struct stat about;
        uint64_t number = number_of(entry->d_name);
        if (!number)
            continue;
        if (number > files.last_number)
            files.last_number = number;
        /* Fails if the file was removed meanwhile. */
        if (!fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(about.st_mode))
            r = add_file(&files, number, &about);
    }
    if (!r)
        r = -errno; /* readdir's */
    if (folder)
        closedir(folder);
    if (r) {
        crn_verdict_log_files_done(&files);
        return crn_error_set(error, r, "%s: cannot list this folder: %s", dir, strerror(-r));
    }
    if (files.count)
        qsort(files.items, files.count, sizeof *files.items, by_number);
    *ret_files = files;
    return 0;
}

void crn_verdict_log_files_done(crn_verdict_log_files *files)
{
    free(files->items);
    *files = (crn_verdict_log_files){0};
}

/* --- bytes --- */

void crn_verdict_log_pack_header(unsigned char bytes[CRN_VERDICT_LOG_HEADER_BYTES],
                                 uint64_t created_ns)
{
    memcpy(bytes, magic, sizeof magic);
    crn_put_le16(bytes + AT_VERSION, VERSION);
    crn_put_le16(bytes + AT_HEADER_BYTES, CRN_VERDICT_LOG_HEADER_BYTES);
    crn_put_le64(bytes + AT_CREATED, created_ns);
}

int crn_verdict_log_parse_header(const unsigned char bytes[CRN_VERDICT_LOG_HEADER_BYTES])
{
    uint16_t header_bytes = crn_get_le16(bytes + AT_HEADER_BYTES);
    bool known = memcmp(bytes, magic, sizeof magic) == 0 &&
                 crn_get_le16(bytes + AT_VERSION) == VERSION &&
                 header_bytes >= CRN_VERDICT_LOG_HEADER_BYTES;
    return known ? header_bytes : -EBADMSG;
}

uint64_t crn_verdict_log_created_ns(const unsigned char bytes[CRN_VERDICT_LOG_HEADER_BYTES])
{
    return crn_get_le64(bytes + AT_CREATED);
}

static uint32_t checksum(const unsigned char *record, const void *verdict, size_t size)
{
    uLong crc = crc32_z(0, record, AT_CRC);
    return (uint32_t)crc32_z(crc, verdict, size);
}

void crn_verdict_record_pack(unsigned char record[CRN_VERDICT_RECORD_BYTES], uint32_t lane,
                             const void *verdict, size_t size)
{
    crn_put_le32(record + AT_SIZE, (uint32_t)size);
    crn_put_le32(record + AT_LANE, lane);
    crn_put_le32(record + AT_CRC, checksum(record, verdict, size));
}

void crn_verdict_record_parse(const unsigned char record[CRN_VERDICT_RECORD_BYTES],
                              uint32_t *ret_lane, size_t *ret_size)
{
    *ret_lane = crn_get_le32(record + AT_LANE);
    *ret_size = crn_get_le32(record + AT_SIZE);
}

bool crn_verdict_record_is_whole(const unsigned char record[CRN_VERDICT_RECORD_BYTES],
                                 const void *verdict, size_t size)
{
    return crn_get_le32(record + AT_CRC) == checksum(record, verdict, size);
}
