/* Views of the load generator in slots on a GPU, where it has them as a CNN leaves them. */
#ifndef CRN_TOOLS_BENCH_LINE_GPU_SENDER_H
#define CRN_TOOLS_BENCH_LINE_GPU_SENDER_H

#include "stages/producer/cernita_producer_gpu.h"

typedef struct crn_bench_gpu_sender crn_bench_gpu_sender;

/* Has the producer, which is not connected yet, ask for slots on the first GPU. Returns 0 or a
 * negative errno. */
int crn_bench_gpu_sender_open(crn_producer *producer, crn_bench_gpu_sender **ret_sender);

/* After the producer; NULL is allowed. */
void crn_bench_gpu_sender_close(crn_bench_gpu_sender **sender);

/* Enqueues the copy of these maps, which do not change, into the slot, and records its event; from
 * any one thread. The first call with them uploads them. Returns 0 or a negative errno. */
int crn_bench_gpu_sender_fill(crn_bench_gpu_sender *sender, const crn_producer_slot *slot,
                              const void *maps, size_t size);

#endif
