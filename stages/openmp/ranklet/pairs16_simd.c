/* Pairs variant for 16-bit codes (pairs.h). */
#define CRN_RANKLET_CODE int16_t
#define CRN_RANKLET_SUM  int32_t
#define CRN_RANKLET_BITS 16
#include "stages/openmp/ranklet/pairs.h"

void CRN_TARGETED(crn_ranklet_pairs16_start)(crn_ranklet_tile *tile, int32_t y)
{
    crn_pairs_prepare(tile, y, true);
}

void CRN_TARGETED(crn_ranklet_pairs16_row)(crn_ranklet_tile *tile, int32_t y)
{
    crn_pairs_sum(tile, y);
}

/* From row y to the next. */
void CRN_TARGETED(crn_ranklet_pairs16_advance)(crn_ranklet_tile *tile, int32_t y)
{
    crn_pairs_prepare(tile, y + 1, false);
}
