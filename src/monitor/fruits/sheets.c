#include "src/monitor/fruits/sheets.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Fastest: a photograph is looked at once or twice. */
#define COMPRESSION 1

/* Browsers show no larger pictures; pixels, those added to fill rows up included. */
#define SIDE_MAX_PX 32767
#define PIXELS_MAX  (4 * CRN_LIVE_PHOTOS_BYTES)

struct crn_sheets {
    crn_sheet at[CRN_SHEETS_MAX];
    uint64_t last; /* number given last */
    size_t bytes;  /* of all files, those included that only readers hold */
};

/* Freed when neither a sheet nor a reader holds it. */
struct crn_sheet_file {
    crn_sheets *sheets;
    unsigned holders;
    size_t size;
    char *png;
};

static void release(crn_sheet_file *file)
{
    if (!file || --file->holders > 0)
        return;
    file->sheets->bytes -= file->size;
    free(file->png);
    free(file);
}

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
        release((*sheets)->at[i].file);
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

/* Lays the photographs below each other. Those that would make the sheet too large are left out:
 * one that is wide and one that is high fill a square with little in it. */
static crn_photo_set arrange(const crn_photo_set *set, crn_sheet *sheet, uint32_t *ret_width,
                             uint32_t *ret_height)
{
    crn_photo_set chosen = {.count = 0};
    *ret_width = *ret_height = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const crn_view_photo *photo = &set->photos[i];
        uint64_t width = photo->width_px > *ret_width ? photo->width_px : *ret_width;
        uint64_t height = (uint64_t)*ret_height + photo->height_px;
        if (width > SIDE_MAX_PX || height > SIDE_MAX_PX || width * height > PIXELS_MAX)
            continue;
        sheet->parts[chosen.count] = (crn_sheet_part){.view = photo->view,
                                                      .y_px = *ret_height,
                                                      .height_px = photo->height_px,
                                                      .width_px = photo->width_px};
        chosen.photos[chosen.count++] = *photo;
        *ret_width = (uint32_t)width;
        *ret_height = (uint32_t)height;
    }
    sheet->part_count = chosen.count;
    return chosen;
}

static void drop(crn_sheet *sheet)
{
    release(sheet->file);
    *sheet = (crn_sheet){.number = 0};
}

/* Drops the oldest ones until so many bytes more fit; false: readers hold too many. */
static bool make_room(crn_sheets *sheets, size_t size)
{
    for (uint64_t i = 1; i <= CRN_SHEETS_MAX && sheets->bytes + size > CRN_SHEETS_BYTES; i++)
        drop(&sheets->at[(sheets->last + i) % CRN_SHEETS_MAX]);
    return sheets->bytes + size <= CRN_SHEETS_BYTES;
}

/* The photographs of a sheet as a file; NULL: there are none, or memory is short. */
static crn_sheet_file *make_file(crn_sheets *sheets, const crn_photo_set *set, crn_sheet *sheet)
{
    uint32_t width, height;
    crn_photo_set chosen = arrange(set, sheet, &width, &height);
    crn_sheet_file *file = chosen.count > 0 ? calloc(1, sizeof *file) : NULL;
    FILE *out = file ? open_memstream(&file->png, &file->size) : NULL;
    bool good = out && encode(&chosen, width, height, out);
    if (out && fclose(out) != 0)
        good = false;
    if (good && make_room(sheets, file->size)) {
        file->sheets = sheets;
        file->holders = 1;
        sheets->bytes += file->size;
        return file;
    }
    if (file)
        free(file->png);
    free(file);
    return NULL;
}

const crn_sheet *crn_sheets_add(crn_sheets *sheets, const crn_photo_set *set)
{
    crn_sheet made = {.lane = set->lane, .epoch = set->epoch, .fruit = set->fruit};
    made.file = make_file(sheets, set, &made);
    if (!made.file)
        return NULL;
    made.number = ++sheets->last;
    crn_sheet *sheet = &sheets->at[made.number % CRN_SHEETS_MAX];
    drop(sheet);
    *sheet = made;
    return sheet;
}

const crn_sheet *crn_sheets_of(const crn_sheets *sheets, uint32_t lane, uint64_t epoch,
                               uint64_t fruit)
{
    const crn_sheet *latest = NULL;
    for (int i = 0; i < CRN_SHEETS_MAX; i++) {
        const crn_sheet *one = &sheets->at[i];
        if (one->number > (latest ? latest->number : 0) && one->lane == lane &&
            one->epoch == epoch && one->fruit == fruit)
            latest = one;
    }
    return latest;
}

const crn_sheet *crn_sheets_find(const crn_sheets *sheets, uint64_t number)
{
    const crn_sheet *one = &sheets->at[number % CRN_SHEETS_MAX];
    return number > 0 && one->number == number ? one : NULL;
}

/* --- readers --- */

crn_sheet_file *crn_sheet_hold(const crn_sheet *sheet, const void **ret_png, size_t *ret_size)
{
    sheet->file->holders++;
    *ret_png = sheet->file->png;
    *ret_size = sheet->file->size;
    return sheet->file;
}

void crn_sheet_let_go(void *file)
{
    release(file);
}
