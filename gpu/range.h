/*
 * NVTX ranges for Nsight Systems: named spans of a thread's time, which nest. In a build without
 * CRN_NVTX they are nothing, and their arguments are not evaluated.
 */
#ifndef CRN_GPU_RANGE_H
#define CRN_GPU_RANGE_H

#include "stages/base/api.h"

CRN_C_BEGIN

#ifdef CRN_NVTX
#define CRN_HAS_RANGES 1
#else
#define CRN_HAS_RANGES 0
#endif

/* Begins a range of the calling thread, named as by printf; crn_range_pop ends the last one. */
CRN_API void crn_range_push(const char *format, ...) __attribute__((format(printf, 1, 2)));
CRN_API void crn_range_pop(void);

#define CRN_RANGE_BEGIN(...) (CRN_HAS_RANGES ? crn_range_push(__VA_ARGS__) : (void)0)
#define CRN_RANGE_END()      (CRN_HAS_RANGES ? crn_range_pop() : (void)0)

CRN_C_END

#endif
