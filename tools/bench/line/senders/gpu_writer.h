/*
 * What a CNN does on a GPU, as far as a sender of views is concerned: a context and a stream in
 * this process, maps in its memory, copies from there into slots. The driver is loaded when it is
 * used. Of one thread at a
 * time.
 */
#ifndef CRN_TOOLS_BENCH_LINE_GPU_WRITER_H
#define CRN_TOOLS_BENCH_LINE_GPU_WRITER_H

#include <stddef.h>
#include <stdint.h>

typedef struct crn_gpu_writer crn_gpu_writer;

/* On the first GPU, whose context becomes current in the calling thread. Returns 0, -ENOTSUP: no
 * driver, -ENODEV: no GPU, or -ENOMEM. */
int crn_gpu_writer_open(crn_gpu_writer **ret_writer);

/* Makes its context current in the calling thread. Returns 0 or -EIO. */
int crn_gpu_writer_enter(const crn_gpu_writer *writer);

/* Waits for its copies; NULL is allowed. */
void crn_gpu_writer_close(crn_gpu_writer **writer);

/* Device memory with these bytes, until the end of the context; NULL if it is short. */
void *crn_gpu_writer_load(crn_gpu_writer *writer, const void *bytes, size_t size);

/* Enqueues a copy within the device. Returns 0 or -EIO. */
int crn_gpu_writer_copy(crn_gpu_writer *writer, void *to, const void *from, size_t size);

/* A copy to the device of memory that may be reused when it returns; 0 or -EIO. */
int crn_gpu_writer_upload(crn_gpu_writer *writer, void *to, const void *from, size_t size);

/* A CUstream. */
void *crn_gpu_writer_stream(const crn_gpu_writer *writer);

/* Free bytes of the device's memory, of all processes. */
size_t crn_gpu_writer_free_bytes(const crn_gpu_writer *writer);

#endif
