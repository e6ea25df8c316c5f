/*
 * Appends verdicts to the segments of a log: rotation, retention and recovery from disk errors. No
 * threads; src/recorder/verdict_log.h runs it on one.
 *
 * Records are written in one piece, and one that was not written completely is taken back, so that
 * only a process that is killed leaves an incomplete record, at the end of its last segment. A
 * writer always begins a new segment; those of earlier ones are only ever removed, never changed.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_LOG_WRITER_H
#define CRN_SRC_FORMATS_VERDICT_LOG_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

/* Logging stops while the disk has less free space than this: half of what recordings leave
 * (CRN_RECORDER_SPARE_BYTES), so that they do not stop the log of the same disk. */
#define CRN_VERDICT_LOG_SPARE_BYTES (UINT64_C(128) << 20)

typedef struct crn_verdict_writer crn_verdict_writer;

typedef struct crn_verdict_log_settings {
    const char *dir;
    uint64_t segment_bytes; /* limit of a segment (one verdict at least) */
    uint64_t keep_bytes;    /* limit of all together; 0: none */
    int64_t keep_ns;        /* since a segment was last written; 0: forever. One that an archive
                               does not have yet (archived.h) is kept beyond, until keep_bytes or
                               the disk's room end that */
} crn_verdict_log_settings;

/* Checks that a log can be written to this folder: 0, or a negative errno with a hint in *error. */
int crn_verdict_writer_check(const char *dir, crn_error *error);

/*
 * Locks the folder: one writer at a time. Returns 0, or a negative errno with the folder and a hint
 * in *error: -EBUSY if another writer has it.
 */
int crn_verdict_writer_open(const crn_verdict_log_settings *settings,
                            crn_verdict_writer **ret_writer, crn_error *error);

/* Closes the segment and unlocks the folder; NULL is allowed. */
void crn_verdict_writer_close(crn_verdict_writer **writer);

/* Removes the segments that are too old, and the oldest until the others and the one in use fit
 * into keep_bytes. Done before a new one is begun as well, and when the disk is short of room. */
void crn_verdict_writer_retain(crn_verdict_writer *writer);

/* Number of segments removed so far. */
uint64_t crn_verdict_writer_removed(const crn_verdict_writer *writer);

/* Writes one verdict of 1 to CRN_VERDICT_LOG_VERDICT_MAX bytes. On a negative errno, with one line
 * in *error, it is not in the log; the next one is tried again, if need be in a new segment. */
int crn_verdict_writer_append(crn_verdict_writer *writer, uint32_t lane, const void *verdict,
                              size_t size, crn_error *error);

#endif
