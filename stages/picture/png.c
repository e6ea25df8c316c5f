/* libpng reports errors with longjmp. All state that outlives a jump is in a `job`, whose address
 * is not modified by the function that calls setjmp, so that no local variable is clobbered. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/new_file.h"
#include "stages/picture/internal.h"

#define DEFLATE_MAX UINT64_C(1032) /* maximum expansion ratio of deflate */
#define SIDE_MAX    INT32_MAX
/* zlib's default, 6, writes a photograph in four times the time, 13 % smaller. */
#define COMPRESSION 3
#define ANIMATION   "acTL"

typedef struct png_job {
    const char *path;
    FILE *file;
    png_structp png;
    png_infop info;
    jmp_buf jump;
    char failure[256]; /* libpng's message */

    bool pixels;
    uint64_t file_bytes;
    crn_picture picture; /* read into, or to be written and then not owned */
    crn_error *error;    /* set by a step that returns an error */
    uint8_t *row;        /* interleaved samples, alpha included */
    int r;
} png_job;

static void on_error(png_structp png, png_const_charp text)
{
    png_job *j = png_get_error_ptr(png);
    snprintf(j->failure, sizeof j->failure, "%s", text);
    crn_picture_clean(j->failure);
    longjmp(j->jump, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

/* Runs a step that calls libpng. 0, or -EBADMSG if libpng jumped out of it. */
static int guard(png_job *j, void (*step)(png_job *))
{
    if (setjmp(j->jump))
        return -EBADMSG;
    errno = 0;
    step(j);
    return 0;
}

/* --- rows --- */

static size_t pixel_samples(const png_job *j)
{
    return (size_t)j->picture.samples + (j->picture.alpha.planes > 0);
}

/* Copies between a row in the file's sample order and the planes. */
static void gather(png_job *j, int32_t y)
{
    const crn_picture *p = &j->picture;
    size_t size = crn_type_bytes(p->image.type), width = (size_t)p->image.width;
    ptrdiff_t step = (ptrdiff_t)pixel_samples(j);
    for (int32_t s = 0; s < p->samples; s++)
        crn_picture_copy(crn_image_element(&p->image, s, y, 0), p->image.step,
                         j->row + (size_t)s * size, step, width, size);
    if (p->alpha.planes)
        crn_picture_copy(crn_image_element(&p->alpha, 0, y, 0), p->alpha.step,
                         j->row + (size_t)p->samples * size, step, width, size);
}

static void scatter(png_job *j, int32_t y)
{
    const crn_picture *p = &j->picture;
    size_t size = crn_type_bytes(p->image.type), width = (size_t)p->image.width;
    ptrdiff_t step = (ptrdiff_t)pixel_samples(j);
    for (int32_t s = 0; s < p->samples; s++)
        crn_picture_copy(j->row + (size_t)s * size, step, crn_image_element(&p->image, s, y, 0),
                         p->image.step, width, size);
    crn_picture_copy(j->row + (size_t)p->samples * size, step,
                     crn_image_element(&p->alpha, 0, y, 0), p->alpha.step, width, size);
}

/* --- reading --- */

/* Of an animated PNG, by its chunk acTL; 1 of all others. */
static uint32_t frame_count(const png_job *j)
{
    png_unknown_chunkp chunks = NULL;
    int count = png_get_unknown_chunks(j->png, j->info, &chunks);
    for (int i = 0; i < count; i++)
        if (!memcmp(chunks[i].name, ANIMATION, 4) && chunks[i].size >= 4)
            return png_get_uint_32(chunks[i].data);
    return 1;
}

static void start_reading(png_job *j)
{
    png_set_user_limits(j->png, SIDE_MAX, SIDE_MAX); /* memory is the only limit, see below */
    png_set_keep_unknown_chunks(j->png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep)ANIMATION, 1);
    png_init_io(j->png, j->file);
    png_read_info(j->png, j->info);
    if (frame_count(j) > 1) {
        j->r = crn_error_set(j->error, -ENOTSUP,
                             "%s: is an animation of %" PRIu32 " frames, of which libpng reads the "
                             "first; save them as the pages of a TIFF",
                             j->path, frame_count(j));
        return;
    }
    png_byte colours = png_get_color_type(j->png, j->info);
    png_byte bits = png_get_bit_depth(j->png, j->info);
    bool transparent = png_get_valid(j->png, j->info, PNG_INFO_tRNS);
    if (colours == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(j->png);
    if (colours == PNG_COLOR_TYPE_GRAY && bits < 8)
        png_set_expand_gray_1_2_4_to_8(j->png);
    if (transparent)
        png_set_tRNS_to_alpha(j->png);
    if (bits == 16 && __BYTE_ORDER == __LITTLE_ENDIAN)
        png_set_swap(j->png);
    const crn_picture_shape shape = {.type = bits == 16 ? CRN_U16 : CRN_U8,
                                     .pages = 1,
                                     .samples = colours & PNG_COLOR_MASK_COLOR ? 3 : 1,
                                     .height = png_get_image_height(j->png, j->info),
                                     .width = png_get_image_width(j->png, j->info),
                                     .alpha = transparent || (colours & PNG_COLOR_MASK_ALPHA)};
    j->r = crn_picture_set_shape(j->path, &shape, &j->picture, j->error);
}

/* A small file cannot hold many pixels: checked before memory is allocated. */
static int check_claim(const png_job *j)
{
    const crn_image *image = &j->picture.image;
    uint64_t bits = png_get_bit_depth(j->png, j->info) * png_get_channels(j->png, j->info);
    double min = (double)image->height * image->width * (double)bits / 8 / DEFLATE_MAX;
    if (min <= (double)j->file_bytes)
        return 0;
    char text[CRN_BYTES_TEXT];
    return crn_error_set(j->error, -EBADMSG,
                         "%s: says that it is %dx%d, which its %s cannot hold: it is cut short "
                         "or damaged",
                         j->path, image->width, image->height,
                         crn_bytes_format(j->file_bytes, text));
}

static void read_pixels(png_job *j)
{
    bool direct = !j->picture.alpha.planes;
    int passes = png_set_interlace_handling(j->png);
    png_read_update_info(j->png, j->info);
    size_t row_bytes = png_get_rowbytes(j->png, j->info);
    if (row_bytes !=
        (size_t)j->picture.image.width * pixel_samples(j) * crn_type_bytes(j->picture.image.type))
        png_error(j->png, "its rows are not of the size that its header says");
    for (int pass = 0; pass < passes; pass++)
        for (int32_t y = 0; y < j->picture.image.height; y++) {
            if (direct) {
                png_read_row(j->png, crn_image_element(&j->picture.image, 0, y, 0), NULL);
                continue;
            }
            if (pass)
                gather(j, y); /* a later pass of an interlaced file adds pixels to the row */
            png_read_row(j->png, j->row, NULL);
            scatter(j, y);
        }
    png_read_end(j->png, NULL);
}

static int read_png(png_job *j)
{
    if (guard(j, start_reading))
        return crn_picture_fail(j->path, j->failure, j->error);
    if (j->r || !j->pixels)
        return j->r;
    uint64_t row_bytes =
        (uint64_t)j->picture.image.width * pixel_samples(j) * crn_type_bytes(j->picture.image.type);
    int r = crn_picture_reserve(j->path, row_bytes, &j->picture, j->error);
    if (!r)
        r = check_claim(j);
    if (r)
        return r;
    j->row = calloc(row_bytes, 1);
    if (!j->row)
        return crn_error_set(j->error, -ENOMEM, "%s: no memory for a row", j->path);
    if (guard(j, read_pixels))
        return crn_picture_fail(j->path, j->failure, j->error);
    return 0;
}

int crn_picture_png_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                         crn_error *error)
{
    png_job j = {.path = path, .pixels = pixels, .error = error};
    struct stat status = {0};
    int r;
    j.file = fstat(fd, &status) ? NULL : fdopen(fd, "rb");
    j.file_bytes = (uint64_t)status.st_size;
    if (!j.file)
        close(fd);
    else
        j.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning);
    j.info = j.png ? png_create_info_struct(j.png) : NULL;
    if (j.info)
        r = read_png(&j);
    else
        r = crn_error_set(error, -ENOMEM, "%s: no memory to read it", path);
    png_destroy_read_struct(&j.png, &j.info, NULL);
    free(j.row);
    if (j.file)
        fclose(j.file);
    if (r)
        crn_picture_free(&j.picture);
    else
        *ret_picture = j.picture;
    return r;
}

/* --- writing --- */

static void write_all(png_job *j)
{
    const crn_image *image = &j->picture.image;
    bool colour = j->picture.samples == 3, alpha = j->picture.alpha.planes;
    png_set_user_limits(j->png, SIDE_MAX, SIDE_MAX);
    png_init_io(j->png, j->file);
    png_set_IHDR(j->png, j->info, (png_uint_32)image->width, (png_uint_32)image->height,
                 (int)crn_type_bytes(image->type) * 8,
                 (colour ? PNG_COLOR_MASK_COLOR : 0) | (alpha ? PNG_COLOR_MASK_ALPHA : 0),
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(j->png, COMPRESSION);
    png_write_info(j->png, j->info);
    if (image->type == CRN_U16 && __BYTE_ORDER == __LITTLE_ENDIAN)
        png_set_swap(j->png);
    for (int32_t y = 0; y < image->height; y++) {
        gather(j, y);
        png_write_row(j->png, j->row);
    }
    png_write_end(j->png, NULL);
}

/* Writes to the temporary file. */
static int write_png(png_job *j, int fd)
{
    j->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!j->file && fd >= 0)
        close(fd);
    j->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, j, on_error, on_warning);
    j->info = j->png ? png_create_info_struct(j->png) : NULL;
    j->row = calloc((size_t)j->picture.image.width * pixel_samples(j),
                    crn_type_bytes(j->picture.image.type));
    int r = 0;
    if (!j->file || !j->info || !j->row)
        r = crn_error_set(j->error, -ENOMEM, "%s: no memory to write it", j->path);
    errno = 0;
    if (!r && (guard(j, write_all) || fflush(j->file))) {
        int reason = errno ? -errno : -EIO;
        r = crn_error_set(j->error, reason, "%s: cannot be written: %s", j->path,
                          reason != -EIO ? strerror(-reason) : j->failure);
    }
    png_destroy_write_struct(&j->png, &j->info);
    free(j->row);
    if (j->file)
        fclose(j->file);
    return r;
}

int crn_picture_png_write(const char *path, const crn_picture *picture, crn_error *error)
{
    png_job j = {.path = path, .picture = *picture, .error = error};
    crn_new_file part = {.fd = -1};
    int r = crn_new_file_open(path, &part, error);
    if (r)
        return r;
    r = write_png(&j, dup(part.fd));
    if (!r)
        r = crn_new_file_finish(&part, error);
    crn_new_file_drop(&part);
    return r;
}
