/* Colours for classes. */
#ifndef CRN_TOOLS_COMMON_PALETTE_H
#define CRN_TOOLS_COMMON_PALETTE_H

#include "tools/common/decode.h"

/*
 * Which class has which colour: the same in every picture of one palette. Classes take the colours
 * in the order in which they are first named; a zeroed palette has named none.
 */
typedef struct crn_palette {
    int32_t count;
    char name[CRN_CLASSES_MAX][CRN_DECODED_TEXT_BYTES];
} crn_palette;

typedef struct crn_color {
    double red, green, blue; /* 0 to 1 */
} crn_color;

crn_color crn_palette_color(crn_palette *palette, const char *name);

#endif
