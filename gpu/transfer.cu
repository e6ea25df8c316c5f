/* Pinned memory, copies to and from a device, polling and timing events. */
#include "gpu/device_internal.cuh"

void *crn_gpu_pinned_create(size_t bytes)
{
    void *memory = NULL;
    /* Portable: usable by every device. Mapped: kernels write results directly into it. */
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
        cudaGetLastError(); /* clears the error */
        return NULL;
    }
    return memory;
}

void crn_gpu_pinned_free(void *memory)
{
    if (memory)
        cudaFreeHost(memory);
    cudaGetLastError();
}

int crn_gpu_pin(int32_t device, void *memory, size_t bytes)
{
    cudaError_t error = cudaSetDevice(device);
    if (error != cudaSuccess) {
        cudaGetLastError(); /* clears the error */
        return crn_gpu_errno(error);
    }
    cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    return crn_gpu_launch_error();
}

void crn_gpu_unpin(void *memory)
{
    cudaHostUnregister(memory);
    cudaGetLastError();
}

int crn_gpu_upload(crn_context *context, void *device, const void *host, size_t bytes)
{
    cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, crn_gpu_stream(context));
    return crn_gpu_launch_error();
}

int crn_gpu_download(crn_context *context, void *host, const void *device, size_t bytes)
{
    cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, crn_gpu_stream(context));
    return crn_gpu_launch_error();
}

int crn_gpu_copy(crn_context *context, void *to, const void *from, size_t bytes)
{
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, crn_gpu_stream(context));
    return crn_gpu_launch_error();
}

int crn_gpu_poll(crn_context *context)
{
    cudaError_t error = cudaStreamQuery(crn_gpu_stream(context));
    if (error != cudaSuccess)
        cudaGetLastError(); /* clears the error */
    return crn_gpu_errno(error);
}

int crn_gpu_record_event(crn_context *context, int32_t event)
{
    const crn_gpu_state *state = crn_gpu_state_of(context);
    /* Without the external flag, an event captured into a graph only orders
     * work and has no time. */
    unsigned flags = state->capturing ? cudaEventRecordExternal : cudaEventRecordDefault;
    cudaEventRecordWithFlags(state->events[event], state->stream, flags);
    return crn_gpu_launch_error();
}

int crn_gpu_elapsed(crn_context *context, int32_t from, int32_t to, int64_t *ret_ns)
{
    const crn_gpu_state *state = crn_gpu_state_of(context);
    float ms = 0;
    cudaError_t error = cudaEventElapsedTime(&ms, state->events[from], state->events[to]);
    if (error != cudaSuccess) {
        cudaGetLastError(); /* clears the error */
        return crn_gpu_errno(error);
    }
    *ret_ns = (int64_t)(1e6 * (double)ms);
    return 0;
}
