/*
 * Logs verdicts, or other entries, in the background: a bounded queue of copies and a thread that
 * appends them to segments. A slow or full disk costs log entries, which are counted, but never
 * time on the line.
 *
 * Disk errors (full, removed, read-only) are counted and logged at most once a second, and writing
 * is tried again with the next verdict. Drops are logged by the caller's thread, just as often, so
 * that they show even while the disk hangs.
 */
#ifndef CRN_SRC_RECORDER_VERDICT_LOG_H
#define CRN_SRC_RECORDER_VERDICT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "src/counts/counts.h"
#include "src/formats/verdict_log/writer.h"
#include "stages/base/error.h"

/* Size of the line's queue. */
#define CRN_VERDICT_LOG_QUEUE_BYTES (UINT64_C(64) << 20)

typedef struct crn_verdict_log crn_verdict_log;

typedef struct crn_verdict_log_stats {
    CRN_VERDICT_LOG_COUNTS(CRN_COUNT_MEMBER)
    int64_t quiet_ns; /* how long the disk has not taken what waits for it */
} crn_verdict_log_stats;

/* Reserves the queue (populated at once, so that no page fault occurs later) and starts the writer
 * thread, which also removes files at the start and every minute. The other arguments and errors
 * are those of crn_verdict_writer_open. */
int crn_verdict_log_open(const crn_verdict_log_settings *settings, uint64_t queue_bytes,
                         crn_verdict_log **ret_log, crn_error *error);

/* Copies the verdict into the queue, or counts it as dropped if that is full. Never waits, locks or
 * allocates. Single producer. */
void crn_verdict_log_offer(crn_verdict_log *log, uint32_t lane, const void *verdict, size_t size);

/* Writes what is queued, ends the thread and frees the log; NULL is allowed. */
void crn_verdict_log_close(crn_verdict_log **log);

/* Safe from any thread. */
crn_verdict_log_stats crn_verdict_log_get_stats(const crn_verdict_log *log);

#endif
