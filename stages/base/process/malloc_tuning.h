/**
 * @file
 * malloc tuning of processes that receive views: the daemon and the benchmark's peer.
 */
#ifndef CRN_STAGES_BASE_PROCESS_MALLOC_TUNING_H
#define CRN_STAGES_BASE_PROCESS_MALLOC_TUNING_H

#include "stages/base/api.h"

/** Keeps freed memory in the heap instead of returning it. A view is a few megabytes and libzmq
 * allocates a buffer for each; without mapping and unmapping their pages stay resident, which
 * saves a page fault per 4 KiB received. Call before any thread is started. */
CRN_API void crn_malloc_keep_pages(void);

#endif
