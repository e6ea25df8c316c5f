/* Pairs variant for 8-bit codes (pairs.h). */
#define CRN_RANKLET_CODE int8_t
#define CRN_RANKLET_SUM  int16_t
#define CRN_RANKLET_BITS 8
#include "stages/openmp/ranklet/pairs.h"

void CRN_TARGETED(crn_ranklet_pairs8_start)(crn_ranklet_tile *tile, int32_t y)
{
    crn_pairs_prepare(tile, y, true);
}

void CRN_TARGETED(crn_ranklet_pairs8_row)(crn_ranklet_tile *tile, int32_t y)
{
    crn_pairs_sum(tile, y);
}

/* From row y to the next. */
void CRN_TARGETED(crn_ranklet_pairs8_advance)(crn_ranklet_tile *tile, int32_t y)
{
    crn_pairs_prepare(tile, y + 1, false);
}
