#include "stages/stage/classes.h"

#include <string.h>

#include "stages/base/fnv.h"

uint64_t crn_classes_hash(const crn_classes *classes)
{
    uint64_t hash = CRN_FNV1A_START;
    for (int32_t i = 0; i < classes->count; i++) {
        if (i)
            hash = crn_fnv1a(hash, "\n", 1);
        hash = crn_fnv1a(hash, classes->name[i], strlen(classes->name[i]));
    }
    return hash;
}
