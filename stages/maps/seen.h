/**
 * @file
 * What a validation of probabilities sees of a map, whichever backend reads it.
 *
 * A probability is a number from -0.001 to 1.001 (a margin for rounding); for f16, the halves
 * nearest to these bounds. NaN and infinities are invalid. A u8 value of 255 is certainty: u8 maps
 * with a maximum of 1 are probably masks of zeros and ones. Operators accept any value; the line
 * decides what to do about a failed validation (src/fruit/values/values.h).
 */
#ifndef CRN_STAGES_MAPS_SEEN_H
#define CRN_STAGES_MAPS_SEEN_H

#include "stages/base/api.h"
#include "stages/image.h"

CRN_C_BEGIN

#define CRN_VALUES_MIN     (-0.001f)
#define CRN_VALUES_MAX     1.001f
#define CRN_VALUES_MIN_F16 0x9419u /**< bit pattern of -1049 x 2^-20 */
#define CRN_VALUES_MAX_F16 0x3c01u /**< 1 + 2^-10 */

/** What was seen of the values of a map, or of a part of it. */
typedef struct crn_values_seen {
    bool suspect; /**< need a detailed count: f32 and f16, one is not a probability; u8, the maximum
                     is exactly 1 */
    float max;    /**< of 0 and all values, u8 as 0 to 255; undefined if f16 or f32 are suspect */
} crn_values_seen;

/** Of two parts of a map. */
static inline crn_values_seen crn_values_join(crn_values_seen a, crn_values_seen b, crn_type type)
{
    crn_values_seen both;
    both.max = a.max > b.max ? a.max : b.max;
    both.suspect = type == CRN_U8 ? both.max == 1 : a.suspect || b.suspect;
    return both;
}

/** Values that are sampled of a view. */
#define CRN_VALUES_PROBES 64

/** Of CRN_VALUES_PROBES pixels spread evenly over a view, in the order of rows: pixel
 * (2 i + 1) x pixels / (2 x CRN_VALUES_PROBES). */
typedef struct crn_values_probe {
    uint32_t bits[CRN_VALUES_PROBES]; /**< of its value of class i mod classes, as stored */
    float sums[CRN_VALUES_PROBES];    /**< of its values over the classes, as probabilities */
} crn_values_probe;

CRN_C_END

#endif
