#include "tests/support/programs/picture_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"

#define PATHS 8

static char folder[64];

int picture_folder_setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/crn_renderer_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* Calls unlink on every file when `remove_all`. */
static int walk(bool remove_all)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        count++;
        if (remove_all && unlinkat(dirfd(dir), entry->d_name, 0))
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
    return count;
}

int picture_folder_teardown(void **state)
{
    (void)state;
    walk(true);
    return rmdir(folder);
}

int picture_folder_count(void)
{
    return walk(false);
}

const char *picture_path(const char *name)
{
    static char paths[PATHS][128];
    static int next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

size_t picture_load_bytes(const char *path, unsigned char **ret_bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    *ret_bytes = malloc(size ? size : 1);
    assert_non_null(*ret_bytes);
    assert_int_equal(fread(*ret_bytes, 1, size, file), size);
    fclose(file);
    return size;
}

void picture_save_bytes(const char *path, const void *bytes, size_t size)
{
    unlink(path); /* truncating to 0 makes some file systems wait for the disk */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

uint32_t picture_value(int32_t bits, int32_t page, int32_t sample, int32_t y, int32_t x)
{
    uint32_t hash = (uint32_t)page * 2654435761U;
    const uint32_t parts[3] = {(uint32_t)sample, (uint32_t)y, (uint32_t)x};
    for (int i = 0; i < 3; i++) {
        hash = (hash ^ parts[i]) * 0x9e3779b1U;
        hash ^= hash >> 15;
    }
    return bits == 32 ? hash : hash & ((1U << bits) - 1);
}

/* --- creating TIFFs --- */

static void put(unsigned char *row, int32_t bits, int32_t index, uint32_t value)
{
    if (bits == 32)
        memcpy(row + 4 * (size_t)index, &value, 4);
    else if (bits == 16)
        memcpy(row + 2 * (size_t)index, &(uint16_t){(uint16_t)value}, 2);
    else
        row[index * bits / 8] |= (unsigned char)(value << (8 - bits - index * bits % 8));
}

static void fill_row(const picture_making *m, int32_t page, int32_t first_sample, int32_t y,
                     int32_t x0, int32_t count, unsigned char *row)
{
    int32_t samples = m->separate ? 1 : m->samples;
    for (int32_t x = 0; x < count && x0 + x < m->width; x++)
        for (int32_t s = 0; s < samples; s++)
            put(row, m->bits, x * samples + s,
                picture_value(m->bits, page, first_sample + s, y, x0 + x));
}

static void set_fields(TIFF *tiff, const picture_making *m)
{
    uint16_t kinds[16] = {0};
    assert_true(m->extras <= 16);
    if (m->extras)
        kinds[m->extras - 1] = (uint16_t)m->alpha;
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, m->width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, m->height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, m->bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, m->samples);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, m->photometric);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG,
                 m->separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    if (m->format)
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, m->format);
    if (m->extras)
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, m->extras, kinds);
    if (m->compression)
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, m->compression);
    if (m->predictor)
        TIFFSetField(tiff, TIFFTAG_PREDICTOR, m->predictor);
    if (m->orientation)
        TIFFSetField(tiff, TIFFTAG_ORIENTATION, m->orientation);
    if (m->fill_order)
        TIFFSetField(tiff, TIFFTAG_FILLORDER, m->fill_order);
    if (m->strip_height)
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, m->strip_height);
    if (m->tile_height) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, m->tile_width);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, m->tile_height);
    }
    if (m->photometric == PHOTOMETRIC_PALETTE) {
        uint16_t colours[3][256];
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < 256; i++) /* all 16 bits of them matter */
                colours[c][i] = (uint16_t)picture_value(16, 0, c, 0, i) | 0x100;
        TIFFSetField(tiff, TIFFTAG_COLORMAP, colours[0], colours[1], colours[2]);
    }
}

static void write_tiles(TIFF *tiff, const picture_making *m, int32_t page, int32_t sample)
{
    size_t bytes = (size_t)TIFFTileSize(tiff), row_bytes = (size_t)TIFFTileRowSize(tiff);
    unsigned char *tile = calloc(bytes, 1);
    assert_non_null(tile);
    for (int32_t y = 0; y < m->height; y += m->tile_height)
        for (int32_t x = 0; x < m->width; x += m->tile_width) {
            memset(tile, 0, bytes);
            for (int32_t i = 0; i < m->tile_height && y + i < m->height; i++)
                fill_row(m, page, sample, y + i, x, m->tile_width, tile + (size_t)i * row_bytes);
            assert_true(TIFFWriteTile(tiff, tile, (uint32_t)x, (uint32_t)y, 0, (uint16_t)sample) >
                        0);
        }
    free(tile);
}

static void write_rows(TIFF *tiff, const picture_making *m, int32_t page, int32_t sample)
{
    size_t bytes = (size_t)TIFFScanlineSize(tiff);
    unsigned char *row = calloc(bytes, 1);
    assert_non_null(row);
    for (int32_t y = 0; y < m->height; y++) {
        memset(row, 0, bytes);
        fill_row(m, page, sample, y, 0, m->width, row);
        assert_int_equal(TIFFWriteScanline(tiff, row, (uint32_t)y, (uint16_t)sample), 1);
    }
    free(row);
}

void picture_make(const char *path, const picture_making *m)
{
    unlink(path);
    TIFF *tiff = TIFFOpen(path, m->mode);
    assert_non_null(tiff);
    for (int32_t page = 0; page < m->pages; page++) {
        set_fields(tiff, m);
        for (int32_t s = 0; s < (m->separate ? m->samples : 1); s++)
            (m->tile_height ? write_tiles : write_rows)(tiff, m, page, s);
        assert_int_equal(TIFFWriteDirectory(tiff), 1);
    }
    TIFFClose(tiff);
}

/* --- pictures --- */

static uint32_t bits_at(const crn_image *image, int32_t plane, int32_t y, int32_t x)
{
    size_t size = crn_type_bytes(image->type);
    uint32_t value = 0;
    memcpy(&value, (char *)image->data + crn_image_index(image, plane, y, x) * (ptrdiff_t)size,
           size);
    return value;
}

static void check_plane(const crn_image *image, int32_t plane, int32_t bits, bool inverted,
                        int32_t page, int32_t sample)
{
    uint32_t most = bits == 32 ? UINT32_MAX : (1U << bits) - 1;
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width; x++) {
            uint32_t want = picture_value(bits, page, sample, y, x);
            want = inverted ? most - want : want;
            want = bits < 8 ? want * 255 / most : want;
            uint32_t got = bits_at(image, plane, y, x);
            if (got != want)
                fail_msg("page %d, sample %d, row %d, column %d: %x, wanted %x", page, sample, y, x,
                         got, want);
        }
}

void picture_check(const crn_picture *picture, int32_t bits, bool inverted)
{
    for (int32_t page = 0; page < picture->pages; page++) {
        for (int32_t s = 0; s < picture->samples; s++)
            check_plane(&picture->image, page * picture->samples + s, bits, inverted, page, s);
        if (picture->alpha.data)
            check_plane(&picture->alpha, page, bits, false, page, picture->samples);
    }
}

void picture_fill(crn_image *image, int32_t samples, int32_t first_sample)
{
    size_t size = crn_type_bytes(image->type);
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                uint32_t value = picture_value((int32_t)size * 8, plane / samples,
                                               first_sample + plane % samples, y, x);
                memcpy((char *)image->data + crn_image_index(image, plane, y, x) * (ptrdiff_t)size,
                       &value, size);
            }
}
