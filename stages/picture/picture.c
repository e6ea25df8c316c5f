#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"
#include "stages/picture/internal.h"

#define MAGIC_BYTES 8

/* --- shapes and memory --- */

void crn_picture_clean(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
}

int crn_picture_fail(const char *path, const char *failure, crn_error *error)
{
    if (errno == ENOMEM)
        return crn_error_set(error, -ENOMEM, "%s: no memory to read it: %.512s", path, failure);
    return crn_error_set(error, -EBADMSG, "%s: %.512s", path, failure);
}

int crn_picture_take(int fd, const char *path, uint64_t at, void *ret_bytes, size_t bytes,
                     crn_error *error)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)ret_bytes + done, bytes - done, (off_t)(at + done));
        if (got <= 0)
            return crn_error_set(error, -EIO, "%s: cannot be read: %s", path,
                                 got < 0 ? strerror(errno) : "it was cut short meanwhile");
        done += (size_t)got;
    }
    return 0;
}

void crn_picture_copy(const void *from, ptrdiff_t from_step, void *to, ptrdiff_t to_step,
                      size_t count, size_t element_bytes)
{
    ptrdiff_t n = (ptrdiff_t)count;
    if (from_step == 1 && to_step == 1) {
        memcpy(to, from, count * element_bytes);
    } else if (element_bytes == 1) {
        const uint8_t *f = from;
        uint8_t *t = to;
        for (ptrdiff_t i = 0; i < n; i++)
            t[i * to_step] = f[i * from_step];
    } else if (element_bytes == 2) {
        const uint16_t *f = from;
        uint16_t *t = to;
        for (ptrdiff_t i = 0; i < n; i++)
            t[i * to_step] = f[i * from_step];
    } else {
        const uint32_t *f = from;
        uint32_t *t = to;
        for (ptrdiff_t i = 0; i < n; i++)
            t[i * to_step] = f[i * from_step];
    }
}

uint64_t crn_picture_bytes(const crn_image *image)
{
    uint64_t bytes = crn_type_bytes(image->type);
    if (__builtin_mul_overflow(bytes, (uint64_t)image->planes, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)image->height, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)image->width, &bytes))
        return UINT64_MAX;
    return bytes;
}

int crn_picture_set_shape(const char *path, const crn_picture_shape *shape,
                          crn_picture *ret_picture, crn_error *error)
{
    int64_t pages = shape->pages, samples = shape->samples;
    if (shape->height > INT32_MAX || shape->width > INT32_MAX || pages > INT32_MAX / samples)
        return crn_error_set(error, -EOVERFLOW,
                             "%s: %" PRId64 " pages of %" PRIu32 "x%" PRIu32 " with %" PRId64
                             " samples are more than a picture can have",
                             path, pages, shape->width, shape->height, samples);
    int32_t height = (int32_t)shape->height, width = (int32_t)shape->width;
    crn_picture picture = {.pages = (int32_t)pages, .samples = (int32_t)samples};
    picture.image =
        crn_image_dense(NULL, shape->type, pages == 1 && samples > 1 ? CRN_HWC : CRN_CHW,
                        (int32_t)(pages * samples), height, width);
    if (shape->alpha)
        picture.alpha = crn_image_dense(NULL, shape->type, CRN_CHW, (int32_t)pages, height, width);
    *ret_picture = picture;
    return 0;
}

int crn_picture_reserve(const char *path, uint64_t extra_bytes, crn_picture *picture,
                        crn_error *error)
{
    uint64_t bytes = crn_picture_bytes(&picture->image),
             alpha_bytes = crn_picture_bytes(&picture->alpha);
    uint64_t all, available = crn_memory_available_bytes();
    char need[CRN_BYTES_TEXT], have[CRN_BYTES_TEXT];
    if (__builtin_add_overflow(bytes, alpha_bytes, &all) ||
        __builtin_add_overflow(all, extra_bytes, &all))
        all = UINT64_MAX;
    if (all > available || all > PTRDIFF_MAX)
        return crn_error_set(error, -ENOMEM, "%s: would need %s of memory, this machine has %s",
                             path, crn_bytes_format(all, need), crn_bytes_format(available, have));
    picture->memory = calloc(bytes, 1);
    picture->alpha_memory = alpha_bytes ? calloc(alpha_bytes, 1) : NULL;
    if (!picture->memory || (alpha_bytes && !picture->alpha_memory)) {
        free(picture->memory);
        free(picture->alpha_memory);
        picture->memory = picture->alpha_memory = NULL;
        return crn_error_set(error, -ENOMEM, "%s: needs %s of memory, which cannot be allocated",
                             path, crn_bytes_format(all, need));
    }
    picture->image.data = picture->memory;
    picture->alpha.data = picture->alpha_memory;
    return 0;
}

int crn_picture_create(crn_type type, int32_t pages, int32_t samples, int32_t height, int32_t width,
                       crn_picture *ret_picture)
{
    crn_picture picture;
    if (!crn_type_bytes(type) || pages < 1 || samples < 1 || height < 1 || width < 1)
        return -EINVAL;
    const crn_picture_shape shape = {.type = type,
                                     .pages = pages,
                                     .samples = samples,
                                     .height = (uint32_t)height,
                                     .width = (uint32_t)width};
    if (crn_picture_set_shape("", &shape, &picture, NULL) ||
        crn_picture_reserve("", 0, &picture, NULL))
        return -ENOMEM;
    *ret_picture = picture;
    return 0;
}

void crn_picture_free(crn_picture *picture)
{
    if (!picture)
        return;
    free(picture->memory);
    free(picture->alpha_memory);
    *picture = (crn_picture){0};
}

/* --- reading --- */

typedef int reader_fn(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                      crn_error *error);

/* The reader for a file, by its magic number; NULL: unknown format. */
static reader_fn *reader_of(const unsigned char magic[MAGIC_BYTES])
{
    static const char tiffs[][4] = {
        {'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43}};
    if (!memcmp(magic, "\x89PNG\r\n\x1a\n", MAGIC_BYTES))
        return crn_picture_png_read;
    if (!memcmp(magic, "\xff\xd8\xff", 3))
        return crn_picture_jpeg_read;
    if (!memcmp(magic, "\x93NUMPY", 6))
        return crn_picture_npy_read;
    for (size_t i = 0; i < sizeof tiffs / sizeof *tiffs; i++)
        if (!memcmp(magic, tiffs[i], sizeof *tiffs))
            return crn_picture_tiff_read;
    return NULL;
}

static int load(const char *path, bool pixels, crn_picture *ret_picture, crn_error *error)
{
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    unsigned char magic[MAGIC_BYTES] = {0};
    int r = 0;
    ssize_t got = pread(fd, magic, sizeof magic, 0);
    if (got < 0)
        r = crn_error_set(error, -EIO, "%s: cannot be read: %s", path, strerror(errno));
    else if (!got)
        r = crn_error_set(error, -EBADMSG, "%s: is empty", path);
    else if (!reader_of(magic))
        r = crn_error_set(error, -EBADMSG, "%s: is neither a TIFF, PNG or JPEG nor a .npy file",
                          path);
    if (r) {
        close(fd);
        return r;
    }
    return reader_of(magic)(fd, path, pixels, ret_picture, error);
}

int crn_picture_probe(const char *path, crn_picture *ret_picture, crn_error *error)
{
    return load(path, false, ret_picture, error);
}

int crn_picture_read(const char *path, crn_picture *ret_picture, crn_error *error)
{
    return load(path, true, ret_picture, error);
}

/* --- writing --- */

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length > tail && !strcasecmp(path + length - tail, end);
}

/* Why a picture cannot be written, as far as its numbers tell; NULL if it can. */
static const char *fault_of(const crn_picture *picture)
{
    const crn_image *image = &picture->image, *alpha = &picture->alpha;
    if (!crn_type_bytes(image->type) || image->height < 1 || image->width < 1)
        return "a picture without pixels cannot be written";
    if (picture->pages < 1 || picture->samples < 1 ||
        (int64_t)picture->pages * picture->samples != image->planes)
        return "the picture's planes are not its pages times its samples";
    if (alpha->planes && (alpha->type != image->type || alpha->planes != picture->pages ||
                          alpha->height != image->height || alpha->width != image->width))
        return "the picture's alpha is not of its type and size";
    return NULL;
}

int crn_picture_writable(const char *path, const crn_picture *picture, crn_error *error)
{
    const char *fault = fault_of(picture);
    bool png = ends_with(path, ".png"), tiff = ends_with(path, ".tif") || ends_with(path, ".tiff");
    crn_type type = picture->image.type;
    if (fault)
        return crn_error_set(error, -EINVAL, "%s: %s", path, fault);
    if (!png && !tiff)
        return crn_error_set(error, -EINVAL,
                             "%s: its name must end in .tif, .tiff or .png, which says what to "
                             "write",
                             path);
    if (tiff && picture->samples > UINT16_MAX - 1)
        return crn_error_set(error, -EINVAL,
                             "%s: %" PRId32 " samples are more than a TIFF's page "
                             "can have (%d)",
                             path, picture->samples, UINT16_MAX - 1);
    if (png && ((type != CRN_U8 && type != CRN_U16) || picture->pages != 1 ||
                (picture->samples != 1 && picture->samples != 3)))
        return crn_error_set(error, -EINVAL,
                             "%s: a PNG holds one page of one or three samples of u8 or u16, this "
                             "is %s, pages %" PRId32 ", samples %" PRId32 ": name it .tif",
                             path, crn_type_name(type), picture->pages, picture->samples);
    if (png && picture->alpha.planes && picture->alpha_associated)
        return crn_error_set(error, -EINVAL,
                             "%s: a PNG cannot hold samples that were multiplied by their alpha: "
                             "name it .tif",
                             path);
    return 0;
}

int crn_picture_write(const char *path, const crn_picture *picture, crn_error *error)
{
    int r = crn_picture_writable(path, picture, error);
    if (r)
        return r;
    return ends_with(path, ".png") ? crn_picture_png_write(path, picture, error)
                                   : crn_picture_tiff_write(path, picture, error);
}
