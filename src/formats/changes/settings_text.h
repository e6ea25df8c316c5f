/* The text of settings that were in force, as the state folder keeps it: settings/HASH.yaml, by
 * their hash as verdicts have it. */
#ifndef CRN_SRC_FORMATS_CHANGES_SETTINGS_TEXT_H
#define CRN_SRC_FORMATS_CHANGES_SETTINGS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "stages/base/error.h"

#define CRN_SETTINGS_HASH_DIGITS 16

/* Longest text that is read. */
#define CRN_SETTINGS_TEXT_BYTES_MAX (8 << 20)

/* True for the 16 lowercase hexadecimal digits of such a hash. */
bool crn_settings_hash_is_valid(const char *hash);

/* Reads the whole text of a valid hash. 0, or a negative errno with *error, -ENOENT if it is not
 * there, -ELOOP if it is a link, which may lead to another's file, -EFBIG if it is longer than
 * that; the caller frees *ret_text, NULL after an error. */
int crn_settings_text_read(const char *state_dir, const char *hash, char **ret_text,
                           size_t *ret_size, crn_error *error);

#endif
