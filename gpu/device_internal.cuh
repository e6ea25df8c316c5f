/* Shared by device.cu, transfer.cu, graph.cu, constants.cu and operators.cu;
 * operators do not include it. */
#ifndef CRN_GPU_DEVICE_INTERNAL_CUH
#define CRN_GPU_DEVICE_INTERNAL_CUH

#include "gpu/device.cuh"

#define CRN_GPU_ALLOWED_MAX   64
#define CRN_GPU_CONSTANTS_MAX 64

/* One array of the caller's and its copy on the device. */
typedef struct crn_gpu_constant {
    void *host, *device;
    size_t bytes;
} crn_gpu_constant;

/* Ordered by last use, oldest first (LRU). */
typedef struct crn_gpu_constant_table {
    crn_gpu_constant entry[CRN_GPU_CONSTANTS_MAX];
    int32_t count;
} crn_gpu_constant_table;

void crn_gpu_constants_free(crn_gpu_constant_table *table);

/* The device state of a context. */
typedef struct crn_gpu_state {
    crn_gpu_limits limits;
    cudaStream_t stream;
    bool stream_is_ours; /* to be destroyed with the context */
    cudaEvent_t events[CRN_GPU_EVENTS];
    bool capturing;
    crn_gpu_constant_table constants;
    struct {
        const void *kernel;
        size_t bytes;
    } allowed[CRN_GPU_ALLOWED_MAX]; /* crn_gpu_allow_shared: the limit is at least `bytes` */
    int32_t allowed_count;
} crn_gpu_state;

/* NULL if the context is not a device's. */
crn_gpu_state *crn_gpu_state_of(const crn_context *context);

/* Implementations of the members of crn_gpu (gpu.h) of the same names. */
int crn_gpu_describe(int32_t device, crn_gpu_device *ret_device);
int32_t crn_gpu_processes(int32_t device);
int crn_gpu_context_create(int32_t device, int32_t views, crn_context **ret_context);
int crn_gpu_context_create_on(int32_t device, void *stream, crn_context **ret_context);
int crn_gpu_use(crn_context *context);
void *crn_gpu_pinned_create(size_t bytes);
void crn_gpu_pinned_free(void *memory);
int crn_gpu_pin(int32_t device, void *memory, size_t bytes);
void crn_gpu_unpin(void *memory);
int crn_gpu_upload(crn_context *context, void *device, const void *host, size_t bytes);
int crn_gpu_download(crn_context *context, void *host, const void *device, size_t bytes);
int crn_gpu_copy(crn_context *context, void *to, const void *from, size_t bytes);
int crn_gpu_poll(crn_context *context);
int crn_gpu_record_event(crn_context *context, int32_t event);
int crn_gpu_elapsed(crn_context *context, int32_t from, int32_t to, int64_t *ret_ns);
int crn_gpu_begin_capture(crn_context *context);
int crn_gpu_end_capture(crn_context *context, crn_gpu_graph **ret_graph);
int crn_gpu_launch(crn_context *context, crn_gpu_graph *graph);
void crn_gpu_graph_free(crn_gpu_graph **graph);
int crn_gpu_probe(crn_context *context, const crn_image *in, crn_values_probe *probes);
int crn_gpu_export_create(int32_t device, size_t bytes, crn_gpu_export *ret_export);
void crn_gpu_export_free(crn_gpu_export *exported);
int crn_gpu_signal_create(int32_t device, void **ret_signal,
                          unsigned char ret_handle[CRN_GPU_SIGNAL_BYTES]);
int crn_gpu_signal_query(void *signal);
void crn_gpu_signal_free(void *signal);

#endif
