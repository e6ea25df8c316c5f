/* Device copies of the caller's small arrays, found by content. */
#include "gpu/device_internal.cuh"

#include <stdlib.h>
#include <string.h>

void crn_gpu_constants_free(crn_gpu_constant_table *table)
{
    for (int32_t i = 0; i < table->count; i++) {
        free(table->entry[i].host);
        cudaFree(table->entry[i].device);
    }
    table->count = 0;
}

/* Moves an entry to the end, as the most recently used: a full table evicts the first, and a launch
 * with several arrays must not lose one of them to the next. */
static const void *make_last(crn_gpu_constant_table *table, int32_t i)
{
    crn_gpu_constant found = table->entry[i];
    memmove(&table->entry[i], &table->entry[i + 1],
            (size_t)(table->count - i - 1) * sizeof table->entry[0]);
    table->entry[table->count - 1] = found;
    return found.device;
}

const void *crn_gpu_constants(crn_context *context, const void *bytes, size_t count)
{
    crn_gpu_state *state = crn_gpu_state_of(context);
    crn_gpu_constant_table *table = &state->constants;
    for (int32_t i = 0; i < table->count; i++)
        if (table->entry[i].bytes == count && memcmp(table->entry[i].host, bytes, count) == 0)
            return make_last(table, i);
    if (count > CRN_GPU_CONSTANT_BYTES_MAX || state->capturing)
        return NULL;
    void *host = malloc(count), *device = NULL;
    /* Not cudaMemcpy: from pageable memory it may return before the bytes have arrived on the
     * device, and this stream would not wait for them. */
    bool uploaded = host && cudaMalloc(&device, count) == cudaSuccess &&
                    cudaMemcpyAsync(device, bytes, count, cudaMemcpyHostToDevice, state->stream) ==
                        cudaSuccess &&
                    cudaStreamSynchronize(state->stream) == cudaSuccess;
    if (uploaded && table->count == CRN_GPU_CONSTANTS_MAX) {
        /* Only tools that try many kernels get here; a machine's chain has a few. cudaFree waits
         * for running work, and graphs that hold the address become invalid. */
        crn_context_advance_generation(context);
        free(table->entry[0].host);
        cudaFree(table->entry[0].device);
        memmove(&table->entry[0], &table->entry[1],
                (CRN_GPU_CONSTANTS_MAX - 1) * sizeof table->entry[0]);
        table->count--;
    }
    cudaGetLastError(); /* clears the error */
    if (!uploaded) {
        free(host);
        cudaFree(device);
        return NULL;
    }
    memcpy(host, bytes, count);
    table->entry[table->count].host = host;
    table->entry[table->count].device = device;
    table->entry[table->count].bytes = count;
    table->count++;
    return device;
}
