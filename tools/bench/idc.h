/* Ranklets by incremental distribution counting: what the fast operator is measured against. */
#ifndef CRN_TOOLS_BENCH_IDC_H
#define CRN_TOOLS_BENCH_IDC_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/image.h"

/* What crn_ranklet_fn computes, of one plane of u8, for a window of that size; `out` as there. */
void crn_bench_idc(const crn_image *in, int32_t width, int32_t height, crn_image *out);

/* The same without the passes over the 256 values unless `counting`: what is left is to keep the
 * windows' histograms. What it then writes has no meaning. */
void crn_bench_idc_part(const crn_image *in, int32_t width, int32_t height, bool counting,
                        crn_image *out);

#endif
