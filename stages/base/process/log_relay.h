/**
 * @file
 * Keeps a log in a file from holding up whoever logs. A write to a file waits for its disk, however
 * long that hangs, while pipes and sockets are asked first whether they have room (log.h). So where
 * standard error is a file, lines go to a pipe, and a thread of its own writes them to the file;
 * what does not fit into the pipe any more is lost and counted.
 */
#ifndef CRN_STAGES_BASE_PROCESS_LOG_RELAY_H
#define CRN_STAGES_BASE_PROCESS_LOG_RELAY_H

#include "stages/base/api.h"

/** Starts the thread if standard error is a regular file; else, or if that fails, lines are written
 * as before. Once per process. */
CRN_API void crn_log_relay_start(void);

/** Writes what the thread has not written yet, in a signal handler of a process that ends: what a
 * disk that hangs has of it is lost. */
CRN_API void crn_log_relay_flush(void);

/** Writes the rest, for which it waits at most a second, and ends the thread. Lines are written as
 * before from then on. */
CRN_API void crn_log_relay_end(void);

#endif
