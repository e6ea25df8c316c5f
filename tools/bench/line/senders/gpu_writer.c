#include "tools/bench/line/senders/gpu_writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

typedef unsigned long long device_address;

/* The driver's functions (cuda.h): the member, the name in the library, the arguments. */
#define DRIVER_CALLS(ROW)                                                                          \
    ROW(init, "cuInit", (unsigned flags))                                                          \
    ROW(get_device, "cuDeviceGet", (int *ret_device, int ordinal))                                 \
    ROW(retain, "cuDevicePrimaryCtxRetain", (void **ret_context, int device))                      \
    ROW(leave, "cuDevicePrimaryCtxRelease_v2", (int device))                                       \
    ROW(set_current, "cuCtxSetCurrent", (void *context))                                           \
    ROW(stream_create, "cuStreamCreate", (void **ret_stream, unsigned flags))                      \
    ROW(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                      \
    ROW(synchronize, "cuStreamSynchronize", (void *stream))                                        \
    ROW(allocate, "cuMemAlloc_v2", (device_address * ret_address, size_t size))                    \
    ROW(upload, "cuMemcpyHtoDAsync_v2",                                                            \
        (device_address to, const void *from, size_t size, void *stream))                          \
    ROW(copy, "cuMemcpyDtoDAsync_v2",                                                              \
        (device_address to, device_address from, size_t size, void *stream))                       \
    ROW(get_info, "cuMemGetInfo_v2", (size_t * ret_free, size_t * ret_total))

#define NON_BLOCKING 1 /* CU_STREAM_NON_BLOCKING */

typedef struct writer_calls {
#define MEMBER(name, symbol, arguments) int(*name) arguments;
    DRIVER_CALLS(MEMBER)
#undef MEMBER
} writer_calls;

struct crn_gpu_writer {
    void *library;
    writer_calls calls;
    int device;
    void *context, *stream;
};

static int find_calls(void *library, writer_calls *ret_calls)
{
#define FIND(name, symbol, arguments)                                                              \
    *(void **)&ret_calls->name = dlsym(library, symbol);                                           \
    if (!ret_calls->name)                                                                          \
        return -ENOTSUP;
    DRIVER_CALLS(FIND)
#undef FIND
    return 0;
}

int crn_gpu_writer_open(crn_gpu_writer **ret_writer)
{
    crn_gpu_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return -ENOMEM;
    writer->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const writer_calls *calls = &writer->calls;
    int r = writer->library ? find_calls(writer->library, &writer->calls) : -ENOTSUP;
    if (r == 0 && (calls->init(0) || calls->get_device(&writer->device, 0) ||
                   calls->retain(&writer->context, writer->device)))
        r = -ENODEV;
    if (r == 0 && (calls->set_current(writer->context) ||
                   calls->stream_create(&writer->stream, NON_BLOCKING)))
        r = -ENODEV;
    if (r < 0)
        crn_gpu_writer_close(&writer);
    else
        *ret_writer = writer;
    return r;
}

int crn_gpu_writer_enter(const crn_gpu_writer *writer)
{
    return writer->calls.set_current(writer->context) ? -EIO : 0;
}

void crn_gpu_writer_close(crn_gpu_writer **writer)
{
    crn_gpu_writer *it = *writer;
    if (!it)
        return;
    if (it->stream) {
        crn_gpu_writer_enter(it);
        it->calls.synchronize(it->stream);
        it->calls.stream_destroy(it->stream);
    }
    if (it->context)
        it->calls.leave(it->device);
    if (it->library)
        dlclose(it->library);
    free(it);
    *writer = NULL;
}

static device_address address_of(const void *memory)
{
    return (device_address)(uintptr_t)memory;
}

void *crn_gpu_writer_load(crn_gpu_writer *writer, const void *bytes, size_t size)
{
    device_address address = 0;
    void *memory;
    if (writer->calls.allocate(&address, size))
        return NULL;
    memory = (void *)(uintptr_t)address;
    return crn_gpu_writer_upload(writer, memory, bytes, size) == 0 ? memory : NULL;
}

int crn_gpu_writer_copy(crn_gpu_writer *writer, void *to, const void *from, size_t size)
{
    return writer->calls.copy(address_of(to), address_of(from), size, writer->stream) ? -EIO : 0;
}

int crn_gpu_writer_upload(crn_gpu_writer *writer, void *to, const void *from, size_t size)
{
    /* From memory that is not pinned: it has been read when the call returns. */
    return writer->calls.upload(address_of(to), from, size, writer->stream) ? -EIO : 0;
}

void *crn_gpu_writer_stream(const crn_gpu_writer *writer)
{
    return writer->stream;
}

size_t crn_gpu_writer_free_bytes(const crn_gpu_writer *writer)
{
    size_t free_bytes = 0, total = 0;
    return writer->calls.get_info(&free_bytes, &total) ? 0 : free_bytes;
}
