/* NumPy's .npy files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/picture/internal.h"

#define HEADER_MAX  4096 /* far more than a picture's takes */
#define VERSION_AT  6
#define FAULT_BYTES 192

typedef struct npy_header {
    char text[HEADER_MAX];
    uint64_t data_at; /* where the values begin in the file */
} npy_header;

static int refuse(const char *path, const char *what, crn_error *error)
{
    return crn_error_set(error, -EBADMSG,
                         "%s: %s; write it with numpy.save(path, "
                         "numpy.ascontiguousarray(picture, '<f4')), height x width or height x "
                         "width x samples",
                         path, what);
}

/* The header's text; its length precedes it in 2 bytes, in versions 2 and 3 in 4. */
static int read_text(int fd, const char *path, npy_header *ret_header, crn_error *error)
{
    unsigned char start[12] = {0};
    char fault[FAULT_BYTES];
    if (pread(fd, start, sizeof start, 0) < 10)
        return refuse(path, "its header is cut off", error);
    unsigned version = start[VERSION_AT];
    bool long_length = version > 1;
    size_t at = long_length ? 12 : 10;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (long_length)
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    *fault = '\0';
    if (version < 1 || version > 3)
        snprintf(fault, sizeof fault, "it is of version %u.%u of the format, 1 to 3 are read",
                 version, start[VERSION_AT + 1]);
    else if (length >= HEADER_MAX)
        snprintf(fault, sizeof fault, "its header has %zu bytes, a picture's has fewer than %d",
                 length, HEADER_MAX);
    else if (pread(fd, ret_header->text, length, (off_t)at) != (ssize_t)length)
        snprintf(fault, sizeof fault, "its header is cut off");
    if (*fault)
        return refuse(path, fault, error);
    ret_header->text[length] = '\0';
    ret_header->data_at = at + length;
    return 0;
}

/* What follows a key of the header, in quotes of either kind; NULL if it is not there. */
static const char *value_of(const npy_header *header, const char *key)
{
    char quoted[32];
    for (const char *quote = "'\""; *quote; quote++) {
        snprintf(quoted, sizeof quoted, "%c%s%c", *quote, key, *quote);
        const char *at = strstr(header->text, quoted);
        if (at) {
            at += strlen(quoted);
            return at + strspn(at, ": \t");
        }
    }
    return NULL;
}

/* Of a value such as '<f4': the letter and size as wanted; one byte has no order. 0: none of ours.
 */
static crn_type type_of(const char *descr)
{
    static const struct {
        const char *name;
        crn_type type;
    } types[] = {{"u1", CRN_U8}, {"u2", CRN_U16}, {"f2", CRN_F16}, {"f4", CRN_F32}};
    char quote = *descr, order = quote ? descr[1] : '\0';
    if ((quote != '\'' && quote != '"') || !order)
        return 0;
    const char *name = descr + 2;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strncmp(name, types[i].name, 2) == 0 && name[2] == quote)
            return order == '<' || order == '=' || (name[1] == '1' && strchr("|>", order))
                       ? types[i].type
                       : 0;
    return 0;
}

/* (height, width) or (height, width, samples); a number of Python 2 may end in L. NULL, or what is
 * wrong. */
static const char *read_sides(const char *at, int64_t ret_sides[3])
{
    int count = 0;
    if (!at || *at++ != '(')
        return "its header has no shape";
    ret_sides[2] = 1;
    at += strspn(at, " ");
    while (*at != ')') {
        char *end;
        errno = 0;
        long long side = strtoll(at, &end, 10);
        if (end == at)
            return "its header's shape is damaged";
        if (count == 3)
            return "it is not a picture of two or three dimensions";
        if (errno || side < 1 || side > INT32_MAX)
            return "its sides are not from 1 to 2^31 - 1";
        ret_sides[count++] = side;
        at = end + (*end == 'L');
        at += strspn(at, ", ");
    }
    return count < 2 ? "it is not a picture of two or three dimensions" : NULL;
}

/* NULL, or what is wrong, in `text` where it quotes the header. */
static const char *fault_of(const npy_header *header, crn_type *ret_type, int64_t ret_sides[3],
                            char text[FAULT_BYTES])
{
    const char *order = value_of(header, "fortran_order"), *descr = value_of(header, "descr");
    if (!order || !descr)
        return "its header is not that of an array";
    *ret_type = type_of(descr);
    const char *sides_fault = read_sides(value_of(header, "shape"), ret_sides);
    if (!*ret_type) {
        int quoted = (int)(*descr == '[' ? strcspn(descr, "]") + 1 : strcspn(descr, ",}\n"));
        snprintf(text, FAULT_BYTES, "its values are %.*s, neither u1, u2, f2 nor f4, little-endian",
                 quoted < 64 ? quoted : 64, descr);
        crn_picture_clean(text);
        return text;
    }
    if (sides_fault)
        return sides_fault;
    return strncmp(order, "False", strlen("False")) == 0
               ? NULL
               : "its values are not in C order (fortran_order)";
}

static int read_shape(const char *path, const npy_header *header, crn_picture *ret_picture,
                      crn_error *error)
{
    int64_t sides[3];
    crn_type type = 0;
    char text[FAULT_BYTES];
    const char *fault = fault_of(header, &type, sides, text);
    if (fault)
        return refuse(path, fault, error);
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
    uint64_t bytes = crn_picture_bytes(&picture->image);
    struct stat status;
    if (fstat(fd, &status) < 0 || (uint64_t)status.st_size < at ||
        (uint64_t)status.st_size - at != bytes)
        return refuse(path, "it does not hold as many values as its header says", error);
    int r = crn_picture_reserve(path, 0, picture, error);
    return r ? r : crn_picture_take(fd, path, at, picture->memory, bytes, error);
}

int crn_picture_npy_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                         crn_error *error)
{
    npy_header header;
    crn_picture picture = {.pages = 0};
    int r = read_text(fd, path, &header, error);
    if (r == 0)
        r = read_shape(path, &header, &picture, error);
    if (r == 0 && pixels)
        r = read_values(fd, path, header.data_at, &picture, error);
    close(fd);
    if (r)
        crn_picture_free(&picture);
    else
        *ret_picture = picture;
    return r;
}
