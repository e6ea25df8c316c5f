/* Memory and signals of the simulated devices that producers share: fake_gpu.c puts these functions
 * into its table. The memory is a memfd, which a producer maps as any ring. */
#ifndef CRN_TESTS_SUPPORT_FAKE_EXPORT_H
#define CRN_TESTS_SUPPORT_FAKE_EXPORT_H

#include "gpu/gpu.h"

int crn_fake_gpu_export_create(int32_t device, size_t bytes, crn_gpu_export *ret_export);
void crn_fake_gpu_export_free(crn_gpu_export *exported);
int crn_fake_gpu_signal_create(int32_t device, void **ret_signal,
                               unsigned char ret_handle[CRN_GPU_SIGNAL_BYTES]);
int crn_fake_gpu_signal_query(void *signal);
void crn_fake_gpu_signal_free(void *signal);

/* What crn_gpu.probe does once its turn comes. */
void crn_fake_gpu_probe(const crn_image *in, int32_t views, crn_values_probe *probes);

void crn_fake_gpu_uuid(int32_t device, unsigned char ret_uuid[16]);

/* Of a producer in the same process: records the signal of that handle, on a stream that is not
 * done before the second call with `is_done`. */
void crn_fake_gpu_record(const unsigned char handle[CRN_GPU_SIGNAL_BYTES], bool is_done);

/* Exports and signals in use. */
int crn_fake_gpu_exported(void);

/* From now on export_create returns this error; 0: none. */
void crn_fake_gpu_refuse_exports(int error);

#endif
