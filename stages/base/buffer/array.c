#include "stages/base/buffer/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 16

int crn_array_grow(void *array, size_t count, size_t element_bytes)
{
    void *elements;
    bool full = count == 0 || (count >= CAPACITY_MIN && (count & (count - 1)) == 0);
    if (!full)
        return 0;
    size_t capacity = count ? 2 * count : CAPACITY_MIN;
    memcpy(&elements, array, sizeof elements); /* of any type */
    elements = reallocarray(elements, capacity, element_bytes);
    if (!elements)
        return -ENOMEM;
    memcpy(array, &elements, sizeof elements);
    return 0;
}
