/*
 * Devices that fail when they are told to: any crn_gpu with faults in front of its calls. One table
 * at a time; the fault may be set from any thread.
 */
#ifndef CRN_TESTS_SUPPORT_FAULTY_GPU_H
#define CRN_TESTS_SUPPORT_FAULTY_GPU_H

#include "gpu/gpu.h"

typedef enum crn_gpu_fault {
    CRN_GPU_SOUND,
    CRN_GPU_FAILS_ONCE, /* one call says -EIO */
    CRN_GPU_FAILS,      /* that call and all later ones say -EIO */
    CRN_GPU_HANGS,      /* from then on nothing is ever done: poll says -EAGAIN for ever */
    CRN_GPU_STUCK,      /* that call does not come back before crn_faulty_gpu_let_go */
    CRN_GPU_VANISHES,   /* that call and all later ones say -ENODEV */
    /* From now on an upload takes 10 ms, as from memory that is not pinned. */
    CRN_GPU_SLOW_UPLOADS,
    /* From now on a batch takes 50 ms, one after the other. */
    CRN_GPU_BUSY,
} crn_gpu_fault;

extern const char *const crn_gpu_fault_names[];

/* The table; it is sound until a fault is set. */
const crn_gpu *crn_faulty_gpu(const crn_gpu *inner);

/* The fault comes at the `after`-th call from now, 0: the next one. */
void crn_faulty_gpu_set(crn_gpu_fault fault, int32_t after);

/* Whether it has come. */
bool crn_faulty_gpu_struck(void);

/* Launches since the table was made that had uploads in front of them: batches of views. */
int32_t crn_faulty_gpu_batches(void);

/* The stuck call goes on. */
void crn_faulty_gpu_let_go(void);

#endif
