/* Ranklets by incremental distribution counting: the
 * baseline that the fast operator is measured against. */
#ifndef CRN_TOOLS_BENCH_IDC_H
#define CRN_TOOLS_BENCH_IDC_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/image.h"

/* Computes what crn_ranklet_fn does for one u8 plane
 * and one window size; `out` has the same layout. */
void crn_bench_idc(const crn_image *in, int32_t width, int32_t height, crn_image *out);

/* The same; unless `counting`, skips the passes over the 256 values, which leaves the maintenance
 * of the histograms. The output is then meaningless. */
void crn_bench_idc_part(const crn_image *in, int32_t width, int32_t height, bool counting,
                        crn_image *out);

#endif
