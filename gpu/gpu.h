/* The whole interface of the CUDA wing, in plain C: no CUDA type leaves this folder. */
#ifndef CRN_GPU_H
#define CRN_GPU_H

#include "stages/ops.h"

/* The table of CUDA operators; NULL when this build or this machine has none, with *ret_why saying
 * why (static). */
const crn_ops *crn_gpu_ops(const char **ret_why);

#endif
