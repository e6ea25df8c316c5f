/* "Did you mean …?": the known word that a mistyped one is nearest to. */
#ifndef CRN_STAGES_BASE_NEAREST_H
#define CRN_STAGES_BASE_NEAREST_H

#include <stddef.h>

/* The one of `words` that `word` was probably meant to be, or NULL where none is near enough. */
const char *crn_nearest(const char *word, const char *const words[], size_t count);

#endif
