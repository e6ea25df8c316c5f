/* Table of the CUDA backend's functions, and whether this machine has a usable device. */
#include <stdio.h>

#include "gpu/device_internal.cuh"

/* The lowest compute capability that the kernels are built for. */
#define CAPABILITY_MIN 75

/* True if this means that the machine has no device or no driver, and not that one fails. */
static bool means_none(cudaError_t error)
{
    return error == cudaSuccess || error == cudaErrorNoDevice ||
           error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary;
}

bool crn_gpu_is_failing(const char **ret_why)
{
    static char why[160];
    int all = 0;
    crn_gpu_device device;
    cudaError_t counted = cudaGetDeviceCount(&all);
    cudaGetLastError(); /* clears the error */
    int described = counted == cudaSuccess && all > 0 ? crn_gpu_describe(0, &device) : 0;
    if (means_none(counted) && described == 0)
        return false;
    snprintf(why, sizeof why, "the CUDA driver fails: %.100s",
             described < 0 ? crn_gpu_strerror(described) : cudaGetErrorString(counted));
    *ret_why = why;
    return true;
}

static int32_t count_devices(void)
{
    int all = 0;
    if (cudaGetDeviceCount(&all) != cudaSuccess) {
        cudaGetLastError(); /* clears the error */
        return 0;
    }
    /* The list ends at the first device that is too old: numbers must match the driver's. */
    for (int32_t i = 0; i < all; i++) {
        crn_gpu_device device;
        if (crn_gpu_describe(i, &device) < 0 || device.capability < CAPABILITY_MIN)
            return i;
    }
    return all;
}

static const crn_ops device_ops =
    CRN_OPS("cuda", crn_, _cuda, crn_widen_cuda, crn_narrow_cuda, crn_sum_runs_cuda,
            crn_mean_boxes_cuda, crn_see_values_cuda);

static const crn_gpu table = {
    &device_ops,           count_devices,          crn_gpu_describe,
    crn_gpu_processes,     crn_gpu_context_create, crn_gpu_use,
    crn_gpu_pinned_create, crn_gpu_pinned_free,    crn_gpu_pin,
    crn_gpu_unpin,         crn_gpu_upload,         crn_gpu_download,
    crn_gpu_copy,          crn_gpu_poll,           crn_gpu_record_event,
    crn_gpu_elapsed,       crn_gpu_begin_capture,  crn_gpu_end_capture,
    crn_gpu_launch,        crn_gpu_graph_free,     crn_gpu_context_create_on,
    crn_gpu_probe,         crn_gpu_export_create,  crn_gpu_export_free,
    crn_gpu_signal_create, crn_gpu_signal_query,   crn_gpu_signal_free,
};

const crn_gpu *crn_gpu_get(const char **ret_why)
{
    if (count_devices() > 0)
        return &table;
    if (crn_gpu_is_failing(ret_why))
        return NULL;
    *ret_why = "this machine has no CUDA device of compute capability 7.5 or later, or no driver "
               "for one";
    return NULL;
}
