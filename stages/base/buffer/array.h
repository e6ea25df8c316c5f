/**
 * @file
 * Arrays that grow by one element at a time.
 */
#ifndef CRN_STAGES_BASE_BUFFER_ARRAY_H
#define CRN_STAGES_BASE_BUFFER_ARRAY_H

#include <stddef.h>

#include "stages/base/api.h"

/**
 * Makes room for one more element. The capacity follows from the number of elements (a power of
 * two), so that nobody has to keep it; an array that only this function allocates may also shrink.
 *
 * @param array points to the pointer to the first element; NULL there: no elements yet
 * @param count elements so far
 * @return 0, or -ENOMEM with the array as it was
 */
CRN_API int crn_array_grow(void *array, size_t count, size_t element_bytes);

#endif
