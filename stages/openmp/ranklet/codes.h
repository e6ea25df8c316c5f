/* Pixel values of a tile as codes: small integers in the same order as the values. */
#ifndef CRN_STAGES_OPENMP_RANKLET_CODES_H
#define CRN_STAGES_OPENMP_RANKLET_CODES_H

#include "stages/openmp/ranklet/ranklet.h"

#define CRN_RANKLET_VALUES 65536 /* number of 16-bit values */

/* Values counted per sweep if there are more than bins: all but the first and last bin. */
#define CRN_RANKLET_CLIPPED (CRN_RANKLET_BINS - 2)

/* The pixels of a tile, and the layout of their codes. */
typedef struct crn_ranklet_pixels {
    const crn_image *in;
    uint16_t *line; /* buffer of one row of pixels */
    int32_t plane, y, x;
    int32_t pixel_rows, pixel_columns;
    ptrdiff_t stride; /* from row to row of codes */
    int32_t min, max;
} crn_ranklet_pixels;

/* Sets the minimum and maximum of the tile's values. */
void crn_ranklet_find_range(crn_ranklet_pixels *pixels);

/* Codes are values less `min` less `more`, modulo 256. */
void crn_ranklet_codes8(const crn_ranklet_pixels *pixels, int32_t more, uint8_t *codes);

/* u16: values with the sign bit flipped, to be compared as signed integers. */
void crn_ranklet_codes16(const crn_ranklet_pixels *pixels, uint16_t *codes);

/* u16: ranks among the values of the tile; `of_value` has an entry for each possible value. Returns
 * the number of ranks. */
int32_t crn_ranklet_rank(const crn_ranklet_pixels *pixels, uint16_t *of_value, uint16_t *ranks);

/* Codes 1 to CRN_RANKLET_CLIPPED for the ranks from `first` on, 0 for lower ranks, the last bin for
 * higher ones. */
void crn_ranklet_clip(const crn_ranklet_pixels *pixels, const uint16_t *ranks, int32_t first,
                      uint8_t *codes);

#endif
