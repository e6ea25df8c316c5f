/* What a verdict says of the fruit's surface. For decode.c only. */
#ifndef CRN_SRC_FORMATS_VERDICT_DECODE_SURFACE_H
#define CRN_SRC_FORMATS_VERDICT_DECODE_SURFACE_H

#include "src/formats/verdict/decode.h"

/* Reads the verdict's measures into a zeroed struct. 0, -EBADMSG or -ENOMEM. */
int crn_decode_surface(const msgpack_object *map, crn_decoded_surface *surface, crn_error *error);

#endif
