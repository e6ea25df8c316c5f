/* NumPy's .npy files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/picture/internal.h"

#define HEADER_MAX 4096

typedef struct npy_header {
    char text[HEADER_MAX];
    uint64_t data_at; /* where the values begin in the file */
} npy_header;

/* The header's text; its length precedes it in 2 bytes, from version 2 on in 4. */
static bool read_text(int fd, npy_header *ret_header)
{
    unsigned char start[12] = {0};
    if (pread(fd, start, sizeof start, 0) < 10)
        return false;
    bool long_length = start[6] > 1;
    size_t at = long_length ? 12 : 10;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (long_length)
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (length >= HEADER_MAX || pread(fd, ret_header->text, length, (off_t)at) != (ssize_t)length)
        return false;
    ret_header->text[length] = '\0';
    ret_header->data_at = at + length;
    return true;
}

/* What follows a key of the header; NULL if it is not there. */
static const char *value_of(const npy_header *header, const char *key)
{
    const char *at = strstr(header->text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, ": ");
}

/* 0: none of ours. */
static crn_type type_of(const npy_header *header)
{
    static const struct {
        const char *descr;
        crn_type type;
    } types[] = {{"'|u1'", CRN_U8}, {"'<u2'", CRN_U16}, {"'<f2'", CRN_F16}, {"'<f4'", CRN_F32}};
    const char *descr = value_of(header, "'descr'");
    for (size_t i = 0; descr && i < sizeof types / sizeof *types; i++)
        if (strncmp(descr, types[i].descr, strlen(types[i].descr)) == 0)
            return types[i].type;
    return 0;
}

/* (height, width) or (height, width, samples). */
static bool shape_of(const npy_header *header, int64_t ret_sides[3])
{
    const char *at = value_of(header, "'shape'");
    int count = 0;
    if (!at || *at++ != '(')
        return false;
    ret_sides[2] = 1;
    while (*at != ')') {
        char *end;
        errno = 0;
        long long side = strtoll(at, &end, 10);
        if (end == at || errno || count == 3 || side < 1 || side > INT32_MAX)
            return false;
        ret_sides[count++] = side;
        at = end + strspn(end, ", ");
    }
    return count >= 2;
}

static int refuse(const char *path, const char *what, crn_error *error)
{
    return crn_error_set(error, -EBADMSG,
                         "%s: %s; write it with numpy.save(path, "
                         "numpy.ascontiguousarray(picture, '<f4')), height x width or height x "
                         "width x samples",
                         path, what);
}

static int read_shape(const char *path, const npy_header *header, crn_picture *ret_picture,
                      crn_error *error)
{
    int64_t sides[3];
    const char *order = value_of(header, "'fortran_order'");
    crn_type type = type_of(header);
    if (!order || strncmp(order, "False", strlen("False")) != 0)
        return refuse(path, "its values are not in C order", error);
    if (!type)
        return refuse(path, "its values are neither u1, u2, f2 nor f4, little-endian", error);
    if (!shape_of(header, sides))
        return refuse(path, "it is not a picture of two or three dimensions", error);
    const crn_picture_shape shape = {.type = type,
                                     .pages = 1,
                                     .samples = sides[2],
                                     .height = (uint32_t)sides[0],
                                     .width = (uint32_t)sides[1]};
    return crn_picture_set_shape(path, &shape, ret_picture, error);
}

/* Reads the values, of which the file must have as many as its header says. */
static int read_values(int fd, const char *path, uint64_t at, crn_picture *picture,
                       crn_error *error)
{
    uint64_t bytes = crn_picture_bytes(&picture->image), done = 0;
    struct stat status;
    if (fstat(fd, &status) < 0 || (uint64_t)status.st_size < at ||
        (uint64_t)status.st_size - at != bytes)
        return refuse(path, "it does not hold as many values as its header says", error);
    int r = crn_picture_reserve(path, 0, picture, error);
    while (r == 0 && done < bytes) {
        ssize_t got = pread(fd, (char *)picture->memory + done, bytes - done, (off_t)(at + done));
        if (got <= 0)
            return crn_error_set(error, -EIO, "%s: cannot be read: %s", path,
                                 got < 0 ? strerror(errno) : "it was cut short meanwhile");
        done += (uint64_t)got;
    }
    return r;
}

int crn_picture_npy_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                         crn_error *error)
{
    npy_header header;
    crn_picture picture = {.pages = 0};
    int r = read_text(fd, &header) ? read_shape(path, &header, &picture, error)
                                   : refuse(path, "its header is damaged", error);
    if (r == 0 && pixels)
        r = read_values(fd, path, header.data_at, &picture, error);
    close(fd);
    if (r)
        crn_picture_free(&picture);
    else
        *ret_picture = picture;
    return r;
}
