/* The pixels under a tile's windows as codes: small whole numbers in the order of the values. */
#ifndef CRN_STAGES_OPENMP_RANKLET_CODES_H
#define CRN_STAGES_OPENMP_RANKLET_CODES_H

#include "stages/openmp/ranklet/ranklet.h"

#define CRN_RANKLET_VALUES 65536 /* of 16 bits */

/* Values counted at once where there are more: all but the first and the last bin. */
#define CRN_RANKLET_CLIPPED (CRN_RANKLET_BINS - 2)

/* Where a tile's pixels lie, and from where to where their values go. */
typedef struct crn_ranklet_place {
    const crn_image *in;
    uint16_t *line; /* memory for a row of them */
    int32_t plane, y, x;
    int32_t pixel_rows, pixel_columns;
    ptrdiff_t stride; /* from row to row of codes */
    int32_t least, most;
} crn_ranklet_place;

/* Sets least and most. */
void crn_ranklet_find_range(crn_ranklet_place *place);

/* Values less `least` and less `more`, of which the last 8 bits count. */
void crn_ranklet_codes8(const crn_ranklet_place *place, int32_t more, uint8_t *codes);

/* u16: values flipped so that they compare as signed ones. */
void crn_ranklet_codes16(const crn_ranklet_place *place, uint16_t *codes);

/* u16: ranks among the values of the tile; `of_value` has room for all values. Returns how many
 * there are. */
int32_t crn_ranklet_rank(const crn_ranklet_place *place, uint16_t *of_value, uint16_t *ranks);

/* The ranks from `first` on as codes 1 to CRN_RANKLET_CLIPPED, those before as 0, those after as
 * the last bin. */
void crn_ranklet_clip(const crn_ranklet_place *place, const uint16_t *ranks, int32_t first,
                      uint8_t *codes);

#endif
