/* Which processes share a device, as the driver's management library (NVML) tells. It is loaded
 * when asked: a driver brings it, the CUDA toolkit's runtime does not need it. */
#include "gpu/device_internal.cuh"

#include <dlfcn.h>

/* NVML's interface, as its manual (nvml.h, API of version 2 and later) defines it. */
typedef void *nvml_device;
typedef int (*nvml_call)(void);
typedef int (*nvml_by_bus_id)(const char *bus_id, nvml_device *ret_device);
typedef int (*nvml_processes)(nvml_device device, unsigned *count, void *processes);

#define NVML_SUCCESS           0
#define NVML_INSUFFICIENT_SIZE 7 /* there are some; their number was stored */

#define BUS_ID_BYTES 32

static int32_t count_with(void *library, int32_t device, bool mps)
{
    nvml_by_bus_id find =
        reinterpret_cast<nvml_by_bus_id>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    nvml_processes list = reinterpret_cast<nvml_processes>(
        dlsym(library, mps ? "nvmlDeviceGetMPSComputeRunningProcesses_v3"
                           : "nvmlDeviceGetComputeRunningProcesses_v3"));
    char bus_id[BUS_ID_BYTES];
    nvml_device handle = NULL;
    if (!find || !list || cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device) != cudaSuccess ||
        find(bus_id, &handle) != NVML_SUCCESS)
        return -1;
    unsigned count = 0;
    int r = list(handle, &count, NULL);
    return r == NVML_SUCCESS || r == NVML_INSUFFICIENT_SIZE ? static_cast<int32_t>(count) : -1;
}

int32_t crn_gpu_processes(int32_t device)
{
    crn_gpu_device about;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -1;
    nvml_call start = reinterpret_cast<nvml_call>(dlsym(library, "nvmlInit_v2"));
    nvml_call stop = reinterpret_cast<nvml_call>(dlsym(library, "nvmlShutdown"));
    int32_t count = -1;
    if (start && stop && crn_gpu_describe(device, &about) == 0 && start() == NVML_SUCCESS) {
        count = count_with(library, device, about.mps);
        stop();
    }
    dlclose(library);
    return count;
}
