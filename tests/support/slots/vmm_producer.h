/* A producer whose slots are in the memory of the machine's GPU, or in host memory. In a process
 * that is a daemon's producer alone: nothing may have used CUDA before it was forked. */
#ifndef CRN_TESTS_SUPPORT_SLOTS_VMM_PRODUCER_H
#define CRN_TESTS_SUPPORT_SLOTS_VMM_PRODUCER_H

#include <stdbool.h>
#include <stddef.h>

#include "stages/producer/cernita_producer_gpu.h"
#include "tools/bench/line/senders/gpu_writer.h"

typedef struct crn_vmm_producer {
    crn_producer *producer;
    crn_producer_gpu *gpu; /* NULL: in host memory, as `writer` */
    crn_gpu_writer *writer;
} crn_vmm_producer;

/* Not connected yet. Returns 0 or a negative errno; to be closed in any case. */
int crn_vmm_producer_create(const char *path, size_t view_bytes, bool is_on_gpu,
                            crn_vmm_producer *ret_producer);

/* The same, and connects, as soon as the daemon listens. */
int crn_vmm_producer_open(const char *path, size_t view_bytes, bool is_on_gpu,
                          crn_vmm_producer *ret_producer);
void crn_vmm_producer_close(crn_vmm_producer *producer);

/* Writes into a slot; enqueues it where that is on the GPU. 0 or a negative errno. */
int crn_vmm_producer_write(crn_vmm_producer *producer, const crn_producer_slot *slot, size_t at,
                           const void *bytes, size_t size);

/* Before the slot is sent: that all is written. 0 or a negative errno. */
int crn_vmm_producer_record(crn_vmm_producer *producer, const crn_producer_slot *slot);

/* Skips the test without a GPU, or fails it with CRN_REQUIRE_GPU=1; uses none in this process. */
void crn_vmm_require_gpu(void);

/* Free bytes of the GPU's memory, asked by a process of its own. */
size_t crn_vmm_free_bytes(void);

#endif
