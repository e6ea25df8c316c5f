/*
 * Reads the verdicts of a log in the order in which they were given, from the oldest segment on; a
 * log that is being written is read up to where it was when its segment was opened.
 *
 * Nothing in a file is trusted: sizes and checksums are verified, and memory is limited by the
 * files' sizes and CRN_VERDICT_LOG_VERDICT_MAX.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_LOG_READER_H
#define CRN_SRC_FORMATS_VERDICT_LOG_READER_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

typedef struct crn_verdict_reader crn_verdict_reader;

/* The bytes are valid until the next call. */
typedef struct crn_logged_verdict {
    uint32_t lane;
    const unsigned char *bytes;
    size_t size;
} crn_logged_verdict;

/* Lists the folder's segments. 0, or a negative errno with one line in *error: -ENOENT if there is
 * no segment. */
int crn_verdict_reader_open(const char *dir, crn_verdict_reader **ret_reader, crn_error *error);
void crn_verdict_reader_close(crn_verdict_reader **reader);

/* Passes over the segments below this number; before the first verdict is read. */
void crn_verdict_reader_start_at(crn_verdict_reader *reader, uint64_t number);

/*
 * The next verdict: 1, or 0 at the end. A negative errno, with one line in *error, is a notice:
 * something was skipped that holds no whole verdict (-EBADMSG: the incomplete record of a daemon
 * that was killed, or damage) or that cannot be read, and the next call continues after it. A
 * damaged verdict is skipped alone, two in a row end their segment.
 */
int crn_verdict_reader_next(crn_verdict_reader *reader, crn_logged_verdict *ret_verdict,
                            crn_error *error);

#endif
