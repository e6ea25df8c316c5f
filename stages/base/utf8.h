/* Text of others: what of it may be shown on a terminal or in a log. */
#ifndef CRN_STAGES_BASE_UTF8_H
#define CRN_STAGES_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"

/* Decodes one UTF-8 character of at most `length` > 0 bytes; its size
 * goes to *ret_length. -1: not UTF-8. */
CRN_API int32_t crn_utf8_read(const char *text, size_t length, size_t *ret_length);

/* False for controls, line separators, bidirectional overrides and non-characters. */
CRN_API bool crn_utf8_prints(int32_t character);

/*
 * Copies a text so that it may be shown, cut where `out` is full: each byte that is not part of
 * a printable character becomes \xNN. Names of files, topics and answers of others pass through it
 * before they are printed, since they may hold a terminal's control sequences. Returns the length.
 */
CRN_API size_t crn_utf8_show(const char *text, size_t length, char *out, size_t out_bytes);

/* Replaces each byte that is not part of a printable character by a question mark. */
CRN_API void crn_utf8_clean(char *text);

#endif
