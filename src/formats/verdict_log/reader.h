/*
 * Reads the verdicts of a log in the order in which they were given, from the oldest segment on; a
 * log that is being written is read up to where it was when its segment was opened.
 *
 * Nothing in a file is trusted: sizes and checksums are verified, and memory is limited by the
 * files' sizes and CRN_VERDICT_LOG_VERDICT_MAX.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_LOG_READER_H
#define CRN_SRC_FORMATS_VERDICT_LOG_READER_H

#include <stdbool.h>
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

/* A place in a log, between two verdicts. */
typedef struct crn_verdict_position {
    uint64_t number;     /* of the segment; 0: the log's begin */
    uint64_t created_ns; /* of the segment: a number may return in a folder that was emptied */
    uint64_t offset;     /* in it, in bytes */
} crn_verdict_position;

/* Lists the folder's segments. 0, or a negative errno with one line in *error: -ENOENT if there is
 * no segment. */
int crn_verdict_reader_open(const char *dir, crn_verdict_reader **ret_reader, crn_error *error);
void crn_verdict_reader_close(crn_verdict_reader **reader);

/* Passes over the segments below this number; before the first verdict is read. */
void crn_verdict_reader_start_at(crn_verdict_reader *reader, uint64_t number);

/* Continues there instead of at the oldest segment, if its segment is still in the folder; before
 * the first verdict is read. What cannot be opened is left to crn_verdict_reader_next(). */
void crn_verdict_reader_resume(crn_verdict_reader *reader, const crn_verdict_position *position);

/* The end of the last verdict read; before the first one what was resumed at, or zeros. */
crn_verdict_position crn_verdict_reader_position(const crn_verdict_reader *reader);

/* The begin of what the last call of crn_verdict_reader_next() returned or skipped; a segment's
 * begin, if it was skipped whole. */
crn_verdict_position crn_verdict_reader_began(const crn_verdict_reader *reader);

/* True from the last segment on that was there when the folder was listed: of one that is being
 * written, the end may be incomplete for a moment. */
bool crn_verdict_reader_is_in_last(const crn_verdict_reader *reader);

/*
 * The next verdict: 1, or 0 at the end. A negative errno, with one line in *error, is a notice:
 * something was skipped, and the next call continues after it. -EBADMSG: it holds no whole verdict
 * (the incomplete record of a daemon that was killed, or damage); a damaged verdict is skipped
 * alone, two in a row end their segment. Another errno: a segment, or the rest of one, could not be
 * read this time; a reader that is resumed before it may find it whole.
 */
int crn_verdict_reader_next(crn_verdict_reader *reader, crn_logged_verdict *ret_verdict,
                            crn_error *error);

#endif
