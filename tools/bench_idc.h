/* Ranklets by incremental distribution counting: what the fast operator is measured against. */
#ifndef CRN_BENCH_IDC_H
#define CRN_BENCH_IDC_H

#include <stdint.h>

#include "stages/image.h"

/* What crn_ranklet_fn computes, of one plane of u8, for a window of that size; `out` as there. */
void crn_bench_idc(const crn_image *in, int32_t width, int32_t height, crn_image *out);

#endif
