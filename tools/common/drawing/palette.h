/* Class colours. */
#ifndef CRN_TOOLS_COMMON_DRAWING_PALETTE_H
#define CRN_TOOLS_COMMON_DRAWING_PALETTE_H

#include "src/formats/verdict/decode.h"

/*
 * Maps classes to colours, consistent over all pictures of one palette. Classes get the colours in
 * the order of first use; a zeroed palette is empty.
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
