/* The scalar definition of what a validation of probabilities sees (stages/maps/seen.h), and values
 * at the limits of every type. */
#ifndef CRN_TESTS_SUPPORT_PROBABILITIES_H
#define CRN_TESTS_SUPPORT_PROBABILITIES_H

#include "stages/maps/seen.h"
#include "tests/support/random.h"

/* Bit patterns of one type. */
typedef struct probabilities_list {
    const uint32_t *bits;
    size_t count;
} probabilities_list;

/* Infinities, NaNs of either sign, the nearest values beyond the range, the farthest; u8: 1. */
probabilities_list probabilities_bad(crn_type type);
/* The limits of the range, zeros, subnormals of either sign; u8: 0. */
probabilities_list probabilities_good(crn_type type);

/* Element `i` as f32; f16 or f32. */
float probabilities_value(const void *from, crn_type type, size_t i);

/* f16 or f32 that is valid. */
bool probabilities_is_valid(float value, crn_type type);

crn_values_seen probabilities_see(const void *from, crn_type type, size_t count);

/* The maximum is compared where it is defined. */
bool probabilities_same(crn_values_seen seen, crn_values_seen expected, crn_type type);

/* Stores an element, at any alignment. */
void probabilities_put(void *to, crn_type type, size_t i, uint32_t bits);

/* Random bit patterns: u8 0 and 1, valid values; u8 above 1, invalid ones. */
uint32_t probabilities_pick_good(crn_random *random, crn_type type);
uint32_t probabilities_pick_bad(crn_random *random, crn_type type);

#endif
