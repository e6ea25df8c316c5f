/* Devices, and the device state of a context: stream, memory, events. */
#include "gpu/device_internal.cuh"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int crn_gpu_errno(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return 0;
    case cudaErrorNotReady:
        return -EAGAIN;
    case cudaErrorMemoryAllocation:
        return -ENOMEM;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
        return -EINVAL;
    case cudaErrorHostMemoryAlreadyRegistered:
        return -EALREADY;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidPtx:
    case cudaErrorJitCompilerNotFound:
        return -ENOEXEC;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
        return -ENODEV;
    default:
        return -EIO;
    }
}

int crn_gpu_launch_error(void)
{
    return crn_gpu_errno(cudaGetLastError());
}

static void *take_memory(void *owner, size_t bytes)
{
    const crn_gpu_state *state = static_cast<crn_gpu_state *>(owner);
    void *memory = NULL;
    if (state->capturing || cudaMalloc(&memory, bytes) != cudaSuccess) {
        cudaGetLastError(); /* clears the error */
        return NULL;
    }
    return memory;
}

static void give_memory(void *owner, void *memory, size_t bytes)
{
    (void)owner;
    (void)bytes;
    cudaFree(memory);
}

static void close_state(void *owner)
{
    crn_gpu_state *state = static_cast<crn_gpu_state *>(owner);
    crn_gpu_constants_free(&state->constants);
    for (int32_t i = 0; i < CRN_GPU_EVENTS; i++)
        if (state->events[i])
            cudaEventDestroy(state->events[i]);
    if (state->stream_is_ours)
        cudaStreamDestroy(state->stream);
    cudaGetLastError();
    free(state);
}

static const crn_context_allocator device_allocator = {take_memory, give_memory, close_state};

crn_gpu_state *crn_gpu_state_of(const crn_context *context)
{
    return static_cast<crn_gpu_state *>(crn_context_owner(context, &device_allocator));
}

const crn_gpu_limits *crn_gpu_limits_of(const crn_context *context)
{
    const crn_gpu_state *state = crn_gpu_state_of(context);
    return state ? &state->limits : NULL;
}

cudaStream_t crn_gpu_stream(const crn_context *context)
{
    return crn_gpu_state_of(context)->stream;
}

/* The limit is the kernel's on the device, for all contexts: another thread's context may rely on a
 * higher one, so it is only ever raised. */
static cudaError_t raise_shared(const void *kernel, size_t bytes)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess && (size_t)attributes.maxDynamicSharedSizeBytes < bytes)
        error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    pthread_mutex_unlock(&mutex);
    return error;
}

int crn_gpu_allow_shared(const crn_context *context, const void *kernel, size_t bytes)
{
    crn_gpu_state *state = crn_gpu_state_of(context);
    int32_t i = 0;
    for (; i < state->allowed_count; i++)
        if (state->allowed[i].kernel == kernel)
            break;
    if (i < state->allowed_count && state->allowed[i].bytes >= bytes)
        return 0;
    cudaError_t error = raise_shared(kernel, bytes);
    if (error != cudaSuccess)
        return crn_gpu_launch_error();
    if (i == CRN_GPU_ALLOWED_MAX)
        return 0; /* not cached; the driver is asked again the next time */
    state->allowed[i].kernel = kernel;
    state->allowed[i].bytes = bytes;
    if (i == state->allowed_count)
        state->allowed_count++;
    return 0;
}

/* Empty kernel whose attributes tell which architecture this device's code was built for
 * (CRN_CUDA_ARCHITECTURES). */
static __global__ void architecture_probe(void) {}

/* `device` must be current in the calling thread. */
static int read_limits(int32_t device, crn_gpu_limits *ret_limits)
{
    cudaDeviceProp properties;
    cudaFuncAttributes built;
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&built, architecture_probe);
    if (error != cudaSuccess)
        return crn_gpu_launch_error();
    ret_limits->device = device;
    ret_limits->capability = 10 * properties.major + properties.minor;
    if (built.ptxVersion < ret_limits->capability)
        ret_limits->capability = built.ptxVersion;
    ret_limits->multiprocessors = properties.multiProcessorCount;
    ret_limits->shared_bytes = properties.sharedMemPerBlockOptin;
    return 0;
}

/* `stream`: the caller's; NULL: one of its own. */
static int create(int32_t device, int32_t views, const cudaStream_t *stream,
                  crn_context **ret_context)
{
    crn_gpu_state *state = static_cast<crn_gpu_state *>(calloc(1, sizeof *state));
    if (!state)
        return -ENOMEM;
    crn_context *context = NULL;
    int r = crn_gpu_errno(cudaSetDevice(device));
    if (r == 0)
        r = read_limits(device, &state->limits);
    if (stream)
        state->stream = *stream;
    else if (r == 0)
        r = crn_gpu_errno(cudaStreamCreateWithFlags(&state->stream, cudaStreamNonBlocking));
    state->stream_is_ours = !stream && r == 0;
    for (int32_t i = 0; r == 0 && i < CRN_GPU_EVENTS; i++)
        r = crn_gpu_errno(cudaEventCreate(&state->events[i]));
    if (r == 0)
        r = crn_context_create_at(&device_allocator, state, views, &context);
    if (r < 0) {
        close_state(state);
        return r;
    }
    *ret_context = context;
    return 0;
}

int crn_gpu_context_create(int32_t device, int32_t views, crn_context **ret_context)
{
    return create(device, views, NULL, ret_context);
}

int crn_gpu_context_create_on(int32_t device, void *stream, crn_context **ret_context)
{
    cudaStream_t callers = static_cast<cudaStream_t>(stream);
    return create(device, 1, &callers, ret_context);
}

int crn_gpu_use(crn_context *context)
{
    return crn_gpu_errno(cudaSetDevice(crn_gpu_state_of(context)->limits.device));
}

int crn_gpu_describe(int32_t device, crn_gpu_device *ret_device)
{
    cudaDeviceProp properties;
    int mps = 0;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, device) != cudaSuccess)
        return crn_gpu_launch_error();
    snprintf(ret_device->name, sizeof ret_device->name, "%.63s", properties.name);
    ret_device->capability = 10 * properties.major + properties.minor;
    ret_device->multiprocessors = properties.multiProcessorCount;
    ret_device->memory_bytes = properties.totalGlobalMem;
    ret_device->l2_bytes = (size_t)properties.l2CacheSize;
    memcpy(ret_device->uuid, &properties.uuid, sizeof ret_device->uuid);
    ret_device->mps = mps != 0;
    return 0;
}
