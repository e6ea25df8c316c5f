#include "src/monitor/http/sheets.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Fastest: a photograph is looked at once or twice. */
#define COMPRESSION 1

struct crn_sheets {
    crn_sheet at[CRN_SHEETS_MAX];
    uint64_t last; /* number given last */
    size_t bytes;  /* of all */
};

int crn_sheets_create(crn_sheets **ret_sheets)
{
    *ret_sheets = calloc(1, sizeof **ret_sheets);
    return *ret_sheets ? 0 : -ENOMEM;
}

void crn_sheets_free(crn_sheets **sheets)
{
    if (!*sheets)
        return;
    for (int i = 0; i < CRN_SHEETS_MAX; i++)
        free((*sheets)->at[i].png);
    free(*sheets);
    *sheets = NULL;
}

/* --- PNG --- */

static void write_bytes(png_structp png, png_bytep bytes, size_t size)
{
    if (fwrite(bytes, 1, size, png_get_io_ptr(png)) != size)
        png_error(png, "out of memory");
}

static void flush(png_structp png)
{
    (void)png;
}

/* Rows of the photographs, each filled up with black to `width`; `row` has as many bytes. */
static void write_rows(png_structp png, const crn_photo_set *set, uint32_t width,
                       unsigned char *row)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const crn_view_photo *photo = &set->photos[i];
        memset(row, 0, width);
        for (uint32_t y = 0; y < photo->height_px; y++) {
            memcpy(row, photo->pixels + (size_t)y * photo->width_px, photo->width_px);
            png_write_row(png, row);
        }
    }
}

/* False: memory is short, or it is too large for a PNG. */
static bool encode(const crn_photo_set *set, uint32_t width, uint32_t height, FILE *out)
{
    bool good = false;
    png_infop info = NULL;
    unsigned char *row = malloc(width);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    if (!row || !png || !(info = png_create_info_struct(png)))
        goto out;
    if (setjmp(png_jmpbuf(png))) /* libpng's errors come back here */
        goto out;
    png_set_write_fn(png, out, write_bytes, flush);
    png_set_compression_level(png, COMPRESSION);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    write_rows(png, set, width, row);
    png_write_end(png, info);
    good = true;
out:
    png_destroy_write_struct(&png, &info);
    free(row);
    return good;
}

/* --- sheets --- */

/* Lays the photographs below each other. */
static void arrange(const crn_photo_set *set, crn_sheet *sheet, uint32_t *ret_width,
                    uint32_t *ret_height)
{
    *ret_width = *ret_height = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const crn_view_photo *photo = &set->photos[i];
        sheet->parts[i] = (crn_sheet_part){.view = photo->view,
                                           .y_px = *ret_height,
                                           .height_px = photo->height_px,
                                           .width_px = photo->width_px};
        *ret_height += photo->height_px;
        if (photo->width_px > *ret_width)
            *ret_width = photo->width_px;
    }
    sheet->part_count = set->count;
}

static void drop(crn_sheets *sheets, crn_sheet *sheet)
{
    sheets->bytes -= sheet->size;
    free(sheet->png);
    *sheet = (crn_sheet){.number = 0};
}

/* Drops the oldest ones beyond CRN_SHEETS_BYTES, but never the last. */
static void drop_oldest(crn_sheets *sheets)
{
    for (uint64_t i = 1; i < CRN_SHEETS_MAX && sheets->bytes > CRN_SHEETS_BYTES; i++)
        drop(sheets, &sheets->at[(sheets->last + i) % CRN_SHEETS_MAX]);
}

const crn_sheet *crn_sheets_add(crn_sheets *sheets, const crn_photo_set *set)
{
    uint32_t width, height;
    char *png = NULL;
    size_t size = 0;
    crn_sheet *sheet = &sheets->at[(sheets->last + 1) % CRN_SHEETS_MAX];
    FILE *out = set->count > 0 ? open_memstream(&png, &size) : NULL;
    if (!out)
        return NULL;
    drop(sheets, sheet);
    *sheet = (crn_sheet){.lane = set->lane, .epoch = set->epoch, .fruit = set->fruit};
    arrange(set, sheet, &width, &height);
    bool good = encode(set, width, height, out);
    if (fclose(out) != 0 || !good) {
        free(png);
        return NULL;
    }
    sheet->png = (unsigned char *)png;
    sheet->size = size;
    sheet->number = ++sheets->last;
    sheets->bytes += size;
    drop_oldest(sheets);
    return sheet;
}

const crn_sheet *crn_sheets_of(const crn_sheets *sheets, uint32_t lane, uint64_t epoch,
                               uint64_t fruit)
{
    for (int i = 0; i < CRN_SHEETS_MAX; i++) {
        const crn_sheet *one = &sheets->at[i];
        if (one->number > 0 && one->lane == lane && one->epoch == epoch && one->fruit == fruit)
            return one;
    }
    return NULL;
}

const crn_sheet *crn_sheets_find(const crn_sheets *sheets, uint64_t number)
{
    const crn_sheet *one = &sheets->at[number % CRN_SHEETS_MAX];
    return number > 0 && one->number == number ? one : NULL;
}
