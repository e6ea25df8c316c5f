/**
 * @file
 * "Did you mean …?": the known word nearest to a mistyped one.
 */
#ifndef CRN_STAGES_BASE_NEAREST_H
#define CRN_STAGES_BASE_NEAREST_H

#include <stddef.h>

#include "stages/base/api.h"

/** The one of `words` nearest to `word`, or NULL if none is near enough. */
CRN_API const char *crn_nearest(const char *word, const char *const words[], size_t count);

#endif
