/* Fault injection: wraps any crn_gpu. One table at a time; the fault may be set from any thread. */
#ifndef CRN_TESTS_SUPPORT_FAULTY_GPU_H
#define CRN_TESTS_SUPPORT_FAULTY_GPU_H

#include "stages/base/clock.h"
#include "gpu/gpu.h"

/* By a clock that the device moves itself: much longer than a thread waits for a core. */
#define CRN_FAULTY_GPU_UPLOAD_NS CRN_NS_PER_S
#define CRN_FAULTY_GPU_BATCH_NS  (5 * CRN_NS_PER_S)

typedef enum crn_gpu_fault {
    CRN_GPU_SOUND,
    CRN_GPU_FAILS_ONCE, /* one call returns -EIO */
    CRN_GPU_FAILS,      /* that call and all later ones return -EIO */
    CRN_GPU_HANGS,      /* from then on nothing completes: poll returns -EAGAIN */
    CRN_GPU_STUCK,      /* that call blocks until crn_faulty_gpu_let_go */
    CRN_GPU_VANISHES,   /* that call and all later ones return -ENODEV */
    /* From now on an upload takes CRN_FAULTY_GPU_UPLOAD_NS, as from memory that is not pinned. */
    CRN_GPU_SLOW_UPLOADS,
    /* From now on batches take CRN_FAULTY_GPU_BATCH_NS each, one after the other. */
    CRN_GPU_BUSY,
} crn_gpu_fault;

extern const char *const crn_gpu_fault_names[];

/* The wrapped table; it works until a fault is set. */
const crn_gpu *crn_faulty_gpu(const crn_gpu *inner);

/* Injects the fault at the `after`-th call from now, 0: the next one. */
void crn_faulty_gpu_set(crn_gpu_fault fault, int32_t after);

/* True once the fault has occurred. */
bool crn_faulty_gpu_struck(void);

/* Launches with uploads (batches of views) since the table was made. */
int32_t crn_faulty_gpu_batches(void);

/* Releases the blocked call. */
void crn_faulty_gpu_let_go(void);

#endif
