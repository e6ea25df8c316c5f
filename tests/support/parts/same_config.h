/* Compares two configs: all keys to the last bit, ignoring what the stages' settings hold besides
 * (a loaded kernel). */
#ifndef CRN_TESTS_SUPPORT_SAME_CONFIG_H
#define CRN_TESTS_SUPPORT_SAME_CONFIG_H

#include "stages/config/config.h"

/* Size of a value of that type in a settings struct. */
size_t crn_param_bytes(crn_param_type type);

bool crn_same_config(const crn_config *a, const crn_config *b);

#endif
