#include "tools/bench/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/file/regular_file.h"

#define HEADER_MAX 4096
#define SIDE_MAX   65536

/* Reads the header's text; its length precedes it in 2 bytes, from version 2 on in 4. */
static int read_header(FILE *file, char text[HEADER_MAX])
{
    unsigned char start[12];
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return -EINVAL;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (fread(start + 10, 1, 2, file) != 2)
            return -EINVAL;
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (length >= HEADER_MAX || fread(text, 1, length, file) != length)
        return -EINVAL;
    text[length] = '\0';
    return 0;
}

/* Parses H, W and C of the header's shape; C is 1 if there are only two. */
static int read_shape(const char *text, int32_t shape[3])
{
    const char *at = strstr(text, "'shape': (");
    if (!at || !strstr(text, "'descr': '<f4'") || !strstr(text, "'fortran_order': False"))
        return -EINVAL;
    at += strlen("'shape': (");
    shape[2] = 1;
    int count = 0;
    while (*at != ')') {
        char *end;
        long side = strtol(at, &end, 10);
        if (end == at || count == 3 || side < 1 || side > SIDE_MAX)
            return -EINVAL;
        shape[count++] = (int32_t)side;
        at = end + strspn(end, ", ");
    }
    return count >= 2 ? 0 : -EINVAL;
}

int crn_npy_read(const char *path, crn_image *ret_image, crn_error *error)
{
    char text[HEADER_MAX];
    int32_t shape[3];
    float *values = NULL;
    int r = 0;
    int fd = crn_regular_open(path, error);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file)
        return fd < 0 ? fd : crn_error_set(error, -ENOMEM, "%s: no memory to read it", path);
    if (read_header(file, text) < 0 || read_shape(text, shape) < 0) {
        r = crn_error_set(error, -EINVAL,
                          "%s: not a .npy file of float32 in C order, H x W x C; write it with "
                          "numpy.save(path, maps.astype('<f4'))",
                          path);
        goto fail;
    }
    size_t count = (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2];
    values = malloc(count * sizeof *values);
    if (!values) {
        r = crn_error_set(error, -ENOMEM, "%s: no memory for %zu values", path, count);
        goto fail;
    }
    if (fread(values, sizeof *values, count, file) != count) {
        r = crn_error_set(error, -EINVAL, "%s: ends before its last of %zu values", path, count);
        goto fail;
    }
    fclose(file);
    *ret_image = crn_image_dense(values, CRN_F32, CRN_HWC, shape[2], shape[0], shape[1]);
    return 0;

fail:
    fclose(file);
    free(values);
    return r;
}
