/* How this process keeps memory: for whatever receives
 * views, the daemon and the benchmark's peer. */
#ifndef CRN_STAGES_BASE_MALLOC_TUNING_H
#define CRN_STAGES_BASE_MALLOC_TUNING_H

/*
 * A view is a few megabytes, and libzmq allocates each anew. Kept in the heap instead of being
 * mapped and unmapped, its pages stay resident, which saves a page fault for every 4 KiB received.
 * Before any thread is started.
 */
void crn_malloc_keep_pages(void);

#endif
