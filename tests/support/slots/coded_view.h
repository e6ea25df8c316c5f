/*
 * Views whose maps say which view they are: 32 cells, each with a square of rot where the bit of a
 * checksum of lane, epoch, fruit and view is set. A verdict's defects tell it again, so that a view
 * that was torn, or taken for another, shows.
 */
#ifndef CRN_TESTS_SUPPORT_CODED_VIEW_H
#define CRN_TESTS_SUPPORT_CODED_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/verdict/decode.h"

#define CRN_CODED_HEIGHT   48
#define CRN_CODED_WIDTH    96
#define CRN_CODED_CHANNELS 2 /* ground, rot; f32, HWC */
#define CRN_CODED_BYTES    (CRN_CODED_HEIGHT * CRN_CODED_WIDTH * CRN_CODED_CHANNELS * 4)

/* The classes and the chain that they need, in a line's file. */
#define CRN_CODED_YAML                                                                             \
    "classes: [{name: ground}, {name: rot, level: 0.5}]\n"                                         \
    "chain: [contours]\n"

uint32_t crn_coded_number(uint32_t lane, uint64_t epoch, uint64_t fruit, uint32_t view);

/* Writes the maps of a view with that number from `begin` up to, but not including, `end`, in
 * bytes: a producer may be stopped in between. */
void crn_coded_write(void *maps, uint32_t number, size_t begin, size_t end);

/* True if the verdict's defects of that view are those of its number, and no others. */
bool crn_coded_is_whole(const crn_decoded *verdict, uint32_t view);

#endif
