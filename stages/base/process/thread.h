/**
 * @file
 * Start of the threads that a program runs beside its main thread.
 */
#ifndef CRN_STAGES_BASE_PROCESS_THREAD_H
#define CRN_STAGES_BASE_PROCESS_THREAD_H

#include <pthread.h>

#include "stages/base/api.h"

/** Starts a thread, to be joined. It receives no signal but those of its own faults: the others are
 * for the main thread. Returns 0 or a negative errno. */
CRN_API int crn_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/**
 * Number of threads, up to `count`, that can be started now: starts as many at once and ends them.
 * A library that needs a thread (libzmq, libgomp) ends the process where it cannot start one.
 */
CRN_API int crn_thread_room(int count);

#endif
