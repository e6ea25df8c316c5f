/* libjpeg reports errors by a call that must not return: a longjmp. All state that outlives a jump
 * is in a `job`, whose address is not modified by the function that calls setjmp, so that no local
 * variable is clobbered. */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Needs <stdio.h>. */
#include <jpeglib.h>

#include "stages/picture/internal.h"

/* A coded block of 8 x 8 pixels takes a bit at least, in Huffman coding. */
#define PIXELS_PER_BYTE_MAX 512

/* Progressive files have some ten scans; each goes over the whole picture. */
#define SCANS_MAX 200

typedef struct jpeg_job {
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    const char *path;
    FILE *file;
    uint64_t file_bytes;
    bool pixels;
    jmp_buf jump;
    char failure[JMSG_LENGTH_MAX];
    crn_picture picture;
    crn_error *error; /* set by a step that returns an error */
    int r;
} jpeg_job;

static void on_error(j_common_ptr decoder)
{
    jpeg_job *j = decoder->client_data;
    decoder->err->format_message(decoder, j->failure);
    crn_picture_clean(j->failure);
    longjmp(j->jump, 1);
}

/* Warnings tell of damaged data, which libjpeg would fill up with grey. */
static void on_message(j_common_ptr decoder, int level)
{
    if (level < 0)
        on_error(decoder);
}

static void on_progress(j_common_ptr decoder)
{
    jpeg_job *j = decoder->client_data;
    if (j->decoder.input_scan_number <= SCANS_MAX)
        return;
    snprintf(j->failure, sizeof j->failure, "more than %d scans", SCANS_MAX);
    longjmp(j->jump, 1);
}

/* Runs a step that calls libjpeg. 0, or -EBADMSG if libjpeg jumped out of it. */
static int guard(jpeg_job *j, void (*step)(jpeg_job *))
{
    if (setjmp(j->jump))
        return -EBADMSG;
    errno = 0;
    step(j);
    return 0;
}

static void start_reading(jpeg_job *j)
{
    jpeg_create_decompress(&j->decoder);
    j->decoder.client_data = j;
    j->progress.progress_monitor = on_progress;
    j->decoder.progress = &j->progress;
    jpeg_stdio_src(&j->decoder, j->file);
    jpeg_read_header(&j->decoder, TRUE);
    bool grey = j->decoder.jpeg_color_space == JCS_GRAYSCALE;
    const crn_picture_shape shape = {.type = CRN_U8,
                                     .pages = 1,
                                     .samples = grey ? 1 : 3,
                                     .height = j->decoder.image_height,
                                     .width = j->decoder.image_width};
    j->decoder.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    j->r = crn_picture_set_shape(j->path, &shape, &j->picture, j->error);
}

/* What libjpeg could decode, and this cannot or does not want to. */
static int check_claim(const jpeg_job *j)
{
    const crn_image *image = &j->picture.image;
    J_COLOR_SPACE space = j->decoder.jpeg_color_space;
    char text[CRN_BYTES_TEXT];
    if (space != JCS_GRAYSCALE && space != JCS_YCbCr && space != JCS_RGB)
        return crn_error_set(
            j->error, -ENOTSUP,
            "%s: its colours are neither grey nor RGB (CMYK?); save it as grey or RGB", j->path);
    if (j->decoder.arith_code)
        return crn_error_set(j->error, -ENOTSUP,
                             "%s: arithmetic coding is not supported: write it with Huffman coding",
                             j->path);
    if ((uint64_t)image->height * (uint64_t)image->width <= PIXELS_PER_BYTE_MAX * j->file_bytes)
        return 0;
    return crn_error_set(j->error, -EBADMSG,
                         "%s: says that it is %dx%d, which its %s cannot hold: it is cut short "
                         "or damaged",
                         j->path, image->width, image->height,
                         crn_bytes_format(j->file_bytes, text));
}

static void read_pixels(jpeg_job *j)
{
    jpeg_start_decompress(&j->decoder);
    while (j->decoder.output_scanline < j->decoder.output_height) {
        JSAMPROW row =
            crn_image_element(&j->picture.image, 0, (int32_t)j->decoder.output_scanline, 0);
        jpeg_read_scanlines(&j->decoder, &row, 1);
    }
    jpeg_finish_decompress(&j->decoder);
}

static int read_jpeg(jpeg_job *j)
{
    if (guard(j, start_reading))
        return crn_picture_fail(j->path, j->failure, j->error);
    int r = j->r ? j->r : check_claim(j);
    if (r || !j->pixels)
        return r;
    /* libjpeg keeps all coefficients of a progressive file, two bytes each. */
    uint64_t coefficients = (uint64_t)j->picture.image.height * (uint64_t)j->picture.image.width *
                            (uint64_t)j->picture.samples * 2;
    r = crn_picture_reserve(j->path, j->decoder.progressive_mode ? coefficients : 0, &j->picture,
                            j->error);
    if (!r && guard(j, read_pixels))
        r = crn_picture_fail(j->path, j->failure, j->error);
    return r;
}

int crn_picture_jpeg_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                          crn_error *error)
{
    jpeg_job j = {.path = path, .pixels = pixels, .error = error};
    struct stat status = {0};
    j.decoder.err = jpeg_std_error(&j.errors);
    j.errors.error_exit = on_error;
    j.errors.emit_message = on_message;
    j.decoder.client_data = &j;
    j.file = fstat(fd, &status) ? NULL : fdopen(fd, "rb");
    j.file_bytes = (uint64_t)status.st_size;
    if (!j.file) {
        close(fd);
        return crn_error_set(error, -ENOMEM, "%s: no memory to read it", path);
    }
    int r = read_jpeg(&j);
    jpeg_destroy_decompress(&j.decoder);
    fclose(j.file);
    if (r)
        crn_picture_free(&j.picture);
    else
        *ret_picture = j.picture;
    return r;
}
