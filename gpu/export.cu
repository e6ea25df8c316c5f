/*
 * Device memory and events that another process opens: memory as a POSIX file descriptor (CUDA's
 * virtual memory management), events by CUDA's interprocess handles. The driver's functions are
 * looked up by the runtime, so that nothing links libcuda.
 */
#include "gpu/device_internal.cuh"

#include <cuda.h>

#include <string.h>
#include <unistd.h>

static_assert(sizeof(cudaIpcEventHandle_t) == CRN_GPU_SIGNAL_BYTES, "a handle is copied whole");

/* The driver's functions. */
typedef struct vmm_calls {
    decltype(&cuMemCreate) create;
    decltype(&cuMemRelease) release;
    decltype(&cuMemAddressReserve) reserve;
    decltype(&cuMemAddressFree) unreserve;
    decltype(&cuMemMap) map;
    decltype(&cuMemUnmap) unmap;
    decltype(&cuMemSetAccess) allow;
    decltype(&cuMemExportToShareableHandle) share;
    decltype(&cuMemGetAllocationGranularity) granularity;
} vmm_calls;

template <typename CALL> static bool find(const char *name, CALL *ret_call)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, 10020, cudaEnableDefault, &result);
    *ret_call = reinterpret_cast<CALL>(found);
    return error == cudaSuccess && found;
}

static bool find_calls(vmm_calls *ret_calls)
{
    return find("cuMemCreate", &ret_calls->create) && find("cuMemRelease", &ret_calls->release) &&
           find("cuMemAddressReserve", &ret_calls->reserve) &&
           find("cuMemAddressFree", &ret_calls->unreserve) && find("cuMemMap", &ret_calls->map) &&
           find("cuMemUnmap", &ret_calls->unmap) && find("cuMemSetAccess", &ret_calls->allow) &&
           find("cuMemExportToShareableHandle", &ret_calls->share) &&
           find("cuMemGetAllocationGranularity", &ret_calls->granularity);
}

static int errno_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return 0;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return -ENOMEM;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED:
        return -ENOTSUP;
    case CUDA_ERROR_INVALID_VALUE:
        return -EINVAL;
    default:
        return -EIO;
    }
}

/* Maps the allocation at an address of its own, for this process to read and write. */
static int map(const vmm_calls *calls, int32_t device, CUmemGenericAllocationHandle allocation,
               crn_gpu_export *exported)
{
    CUdeviceptr at = 0;
    int r = errno_of(calls->reserve(&at, exported->bytes, 0, 0, 0));
    if (r < 0)
        return r;
    r = errno_of(calls->map(at, exported->bytes, 0, allocation, 0));
    if (r == 0) {
        CUmemAccessDesc access = {};
        access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = device;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        r = errno_of(calls->allow(at, exported->bytes, &access, 1));
        if (r < 0)
            calls->unmap(at, exported->bytes);
    }
    if (r < 0)
        calls->unreserve(at, exported->bytes);
    else
        exported->memory = reinterpret_cast<void *>(at);
    return r;
}

int crn_gpu_export_create(int32_t device, size_t bytes, crn_gpu_export *ret_export)
{
    vmm_calls calls;
    CUmemAllocationProp about = {};
    CUmemGenericAllocationHandle allocation;
    crn_gpu_export made = {};
    size_t unit = 0;
    if (cudaSetDevice(device) != cudaSuccess || !find_calls(&calls))
        return crn_gpu_launch_error() < 0 ? -ENODEV : -ENOTSUP;
    about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    about.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    about.location.id = device;
    about.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    int r = errno_of(calls.granularity(&unit, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (r == 0 && (unit == 0 || CRN_GPU_EXPORT_UNIT % unit != 0))
        r = -ENOTSUP;
    made.device = device;
    made.descriptor = -1;
    made.bytes = (bytes + CRN_GPU_EXPORT_UNIT - 1) / CRN_GPU_EXPORT_UNIT * CRN_GPU_EXPORT_UNIT;
    if (r == 0)
        r = errno_of(calls.create(&allocation, made.bytes, &about, 0));
    if (r < 0)
        return r;
    r = errno_of(
        calls.share(&made.descriptor, allocation, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (r == 0)
        r = map(&calls, device, allocation, &made);
    calls.release(allocation); /* mapping and descriptor keep the memory */
    if (r < 0 && made.descriptor >= 0)
        close(made.descriptor);
    else if (r == 0)
        *ret_export = made;
    return r;
}

void crn_gpu_export_free(crn_gpu_export *exported)
{
    vmm_calls calls;
    if (exported->memory && cudaSetDevice(exported->device) == cudaSuccess && find_calls(&calls)) {
        CUdeviceptr at = reinterpret_cast<CUdeviceptr>(exported->memory);
        calls.unmap(at, exported->bytes);
        calls.unreserve(at, exported->bytes);
    }
    cudaGetLastError(); /* clears the error */
    exported->memory = NULL;
}

int crn_gpu_signal_create(int32_t device, void **ret_signal,
                          unsigned char ret_handle[CRN_GPU_SIGNAL_BYTES])
{
    cudaEvent_t event = NULL;
    cudaIpcEventHandle_t handle;
    cudaError_t error = cudaSetDevice(device);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess);
    if (error == cudaSuccess)
        error = cudaIpcGetEventHandle(&handle, event);
    if (error != cudaSuccess) {
        if (event)
            cudaEventDestroy(event);
        cudaGetLastError(); /* clears the error */
        return error == cudaErrorNotSupported ? -ENOTSUP : crn_gpu_errno(error);
    }
    memcpy(ret_handle, &handle, sizeof handle);
    *ret_signal = event;
    return 0;
}

int crn_gpu_signal_query(void *signal)
{
    cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(signal));
    if (error != cudaSuccess)
        cudaGetLastError(); /* clears the error */
    return crn_gpu_errno(error);
}

void crn_gpu_signal_free(void *signal)
{
    cudaEventDestroy(static_cast<cudaEvent_t>(signal));
    cudaGetLastError();
}
