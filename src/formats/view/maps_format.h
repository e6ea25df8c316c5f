/* The page /maps/LANE/EPOCH/FRUIT: for each view that is kept, in the order of their indices, the
 * time of its reception (CLOCK_REALTIME, ns, 8 bytes little-endian) and its message as it came:
 * header, tensor, intensity (src/formats/view/wire.h), whose sizes the header gives. */
#ifndef CRN_SRC_FORMATS_VIEW_MAPS_FORMAT_H
#define CRN_SRC_FORMATS_VIEW_MAPS_FORMAT_H

#include "src/formats/view/wire.h"

#define CRN_MAPS_PATH "/maps/"
#define CRN_MAPS_TYPE "application/x-cernita-views"

/* What stands before a view's tensor. */
#define CRN_MAPS_HEAD_BYTES (8 + CRN_WIRE_HEADER_BYTES)

#endif
