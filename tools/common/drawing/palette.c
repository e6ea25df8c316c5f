#include "tools/common/drawing/palette.h"

#include <stdio.h>
#include <string.h>

/* Colours distinct from grey and from one another,
 * adjacent ones most. They repeat after the last. */
static const crn_color palette_colors[] = {
    {1.00, 0.32, 0.32}, /* red */
    {0.20, 0.80, 1.00}, /* sky */
    {1.00, 0.78, 0.10}, /* amber */
    {0.28, 0.90, 0.50}, /* green */
    {0.76, 0.56, 1.00}, /* violet */
    {1.00, 0.55, 0.20}, /* orange */
    {1.00, 0.48, 0.80}, /* pink */
    {0.10, 0.82, 0.74}, /* teal */
    {0.80, 1.00, 0.40}, /* lime */
    {0.48, 0.64, 1.00}, /* blue */
    {0.88, 0.68, 0.50}, /* sand */
    {0.98, 0.98, 0.62}, /* straw */
};
#define PALETTE_COLORS ((int32_t)(sizeof palette_colors / sizeof *palette_colors))

crn_color crn_palette_color(crn_palette *palette, const char *name)
{
    int32_t i = 0;
    while (i < palette->count && strcmp(palette->name[i], name))
        i++;
    if (i == palette->count && i < CRN_CLASSES_MAX)
        snprintf(palette->name[palette->count++], CRN_DECODED_TEXT_BYTES, "%s", name);
    return palette_colors[i % PALETTE_COLORS];
}
