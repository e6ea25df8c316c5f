/* Whole numbers within a text. */
#ifndef CRN_STAGES_BASE_DIGITS_H
#define CRN_STAGES_BASE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"

/*
 * Reads the decimal number, without a sign, that *text begins with, and moves *text behind it.
 * False, and *text stays, where it begins with no digit or the number is above `max`; *ret_value
 * is written on success only.
 */
CRN_API bool crn_digits_read(const char **text, uint64_t max, uint64_t *ret_value);

#endif
