#include "stages/classes.h"

static uint64_t fnv1a(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

uint64_t crn_classes_hash(const crn_classes *classes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int32_t i = 0; i < classes->count; i++) {
        if (i)
            hash = fnv1a(hash, '\n');
        for (const char *c = classes->name[i]; *c; c++)
            hash = fnv1a(hash, (unsigned char)*c);
    }
    return hash;
}
