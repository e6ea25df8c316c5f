/**
 * @file
 * Selects a backend's operator table by name at run time.
 */
#ifndef CRN_STAGES_BACKEND_H
#define CRN_STAGES_BACKEND_H

#include "stages/base/api.h"
#include "stages/cernita.h"
#include "stages/ops.h"

/** "auto", "serial", "openmp", "cuda", NULL; indexed by crn_backend. */
CRN_API extern const char *const crn_backend_names[];

/**
 * The operator table of a backend.
 *
 * @param ret_why set to the reason (static) if there is none
 * @return static, or NULL
 */
CRN_API const crn_ops *crn_backend_ops(crn_backend backend, const char **ret_why);

#endif
