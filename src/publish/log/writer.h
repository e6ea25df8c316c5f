/*
 * Appends verdicts to the segments of a log: rotation, retention and recovery from disk errors. No
 * threads; log.h runs it on one.
 *
 * Records are written in one piece, and one that was not written completely is taken back, so that
 * only a process that is killed leaves an incomplete record, at the end of its last segment. A
 * writer always begins a new segment; those of earlier ones are only ever removed, never changed.
 */
#ifndef CRN_SRC_PUBLISH_LOG_WRITER_H
#define CRN_SRC_PUBLISH_LOG_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

typedef struct crn_verdict_writer crn_verdict_writer;

/* Checks that a log can be written to this folder: 0, or a negative errno with a hint in *error. */
int crn_verdict_writer_check(const char *dir, crn_error *error);

/*
 * Locks the folder: one writer at a time. Segments have at most segment_bytes (one verdict at
 * least), all together at most keep_bytes (0: no limit): the oldest are removed before a new one is
 * begun. Returns 0, or a negative errno with the folder and a hint in *error: -EBUSY if another
 * writer has it.
 */
int crn_verdict_writer_open(const char *dir, uint64_t segment_bytes, uint64_t keep_bytes,
                            crn_verdict_writer **ret_writer, crn_error *error);

/* Closes the segment and unlocks the folder; NULL is allowed. */
void crn_verdict_writer_close(crn_verdict_writer **writer);

/* Writes one verdict of 1 to CRN_VERDICT_LOG_VERDICT_MAX bytes. On a negative errno, with one line
 * in *error, it is not in the log; the next one is tried again, if need be in a new segment. */
int crn_verdict_writer_append(crn_verdict_writer *writer, uint32_t lane, const void *verdict,
                              size_t size, crn_error *error);

#endif
