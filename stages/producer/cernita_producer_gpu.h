/**
 * @file
 * Slots in the memory of a GPU: views of a CNN to a cernitad on the same machine that never leave
 * it. For programs that have a CUDA context; beside cernita_producer.h, which they go on using.
 *
 * One header and one source, C99; the driver, libcuda.so.1, is loaded when they are used, so that
 * nothing of CUDA is needed to build them. The line's file has `ingest.slots.kinds: vmm`.
 *
 * @code
 *   crn_producer_gpu *gpu = NULL;
 *   int result = crn_producer_gpu_create(&gpu);
 *   if (result == 0)
 *       result = crn_producer_use_kind(producer, crn_producer_gpu_kind(gpu));
 *   if (result == 0)
 *       result = crn_producer_connect(producer, crn_producer_answer_ms(&settings));
 *   ...
 *   result = crn_producer_take(producer, &view, 100, &slot);
 *   net(photo, slot.tensor, stream);
 *   result = crn_producer_gpu_record(gpu, &slot, stream);
 *   if (result == 0)
 *       result = crn_producer_send(producer, &view, &slot);
 * @endcode
 *
 * The tensor and the intensity part of a slot are addresses in the GPU's memory. What the stream
 * has before the record may still run when the view is sent: the line begins with it once that is
 * done, and judges without it where that is not before the deadline. crn_producer_free() and
 * crn_producer_connect() wait for what was recorded, as they unmap the slots; work that was not has
 * to be done by then. An object serves one producer and one thread at a time.
 */
#ifndef CRN_STAGES_PRODUCER_CERNITA_PRODUCER_GPU_H
#define CRN_STAGES_PRODUCER_CERNITA_PRODUCER_GPU_H

#include "cernita_producer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The GPU of a producer's slots. */
typedef struct crn_producer_gpu crn_producer_gpu;

/**
 * For the GPU of the calling thread's current context, which must outlive the object, and be
 * current where the producer connects, records or is freed.
 *
 * @param ret_gpu free it with crn_producer_gpu_free(), after the producer
 * @return 0; -ENOTSUP: no driver, or one without these functions; -ENODEV: no context; -ENOMEM
 */
CRN_API int crn_producer_gpu_create(crn_producer_gpu **ret_gpu);

/** Sets *gpu to NULL; both may be NULL. Its producer was freed before. */
CRN_API void crn_producer_gpu_free(crn_producer_gpu **gpu);

/** For crn_producer_use_kind(). @return the object's */
CRN_API const crn_producer_kind *crn_producer_gpu_kind(const crn_producer_gpu *gpu);

/**
 * Records on a stream that a slot is written: once all that the stream has before it is done. After
 * the last write, before crn_producer_send().
 *
 * @param slot taken from the producer
 * @param stream a CUstream or cudaStream_t; NULL: the default stream
 * @return 0; -ESTALE: the slot is not of this connection; -EIO: the driver refuses
 */
CRN_API int crn_producer_gpu_record(crn_producer_gpu *gpu, const crn_producer_slot *slot,
                                    void *stream);

#ifdef __cplusplus
}
#endif

#endif
