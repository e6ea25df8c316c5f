/* Which table of operators is in use: chosen at run time by name. */
#ifndef CRN_STAGES_BACKEND_H
#define CRN_STAGES_BACKEND_H

#include "stages/ops.h"

typedef enum crn_backend {
    CRN_BACKEND_AUTO, /* the fastest that this machine has */
    CRN_BACKEND_SERIAL,
    CRN_BACKEND_OPENMP,
    CRN_BACKEND_CUDA,
} crn_backend;

/* "auto", "serial", "openmp", "cuda", NULL: by number. */
extern const char *const crn_backend_names[];

/* The operators of a backend (static), or NULL with *ret_why saying why there are none (static). */
const crn_ops *crn_backend_ops(crn_backend backend, const char **ret_why);

#endif
