#include "tests/support/slots/vmm_producer.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"

int crn_vmm_producer_create(const char *path, size_t view_bytes, bool is_on_gpu,
                            crn_vmm_producer *ret_producer)
{
    const crn_producer_settings settings = {.path = path, .view_bytes = view_bytes};
    *ret_producer = (crn_vmm_producer){.producer = NULL};
    int r = is_on_gpu ? crn_gpu_writer_open(&ret_producer->writer) : 0;
    if (r == 0 && is_on_gpu)
        r = crn_producer_gpu_create(&ret_producer->gpu);
    if (r == 0)
        r = crn_producer_create(&settings, &ret_producer->producer);
    if (r == 0 && is_on_gpu)
        r = crn_producer_use_kind(ret_producer->producer, crn_producer_gpu_kind(ret_producer->gpu));
    return r;
}

int crn_vmm_producer_open(const char *path, size_t view_bytes, bool is_on_gpu,
                          crn_vmm_producer *ret_producer)
{
    int r = crn_vmm_producer_create(path, view_bytes, is_on_gpu, ret_producer);
    if (r < 0)
        return r;
    while ((r = crn_producer_connect(ret_producer->producer, 60000)) == -ENOENT ||
           r == -ECONNREFUSED)
        sched_yield();
    return r;
}

void crn_vmm_producer_close(crn_vmm_producer *producer)
{
    crn_producer_free(&producer->producer);
    crn_producer_gpu_free(&producer->gpu);
    crn_gpu_writer_close(&producer->writer);
}

int crn_vmm_producer_write(crn_vmm_producer *producer, const crn_producer_slot *slot, size_t at,
                           const void *bytes, size_t size)
{
    char *to = (char *)slot->tensor + at;
    if (producer->writer)
        return crn_gpu_writer_upload(producer->writer, to, bytes, size);
    memcpy(to, bytes, size);
    return 0;
}

int crn_vmm_producer_record(crn_vmm_producer *producer, const crn_producer_slot *slot)
{
    return producer->gpu ? crn_producer_gpu_record(producer->gpu, slot,
                                                   crn_gpu_writer_stream(producer->writer))
                         : 0;
}

size_t crn_vmm_free_bytes(void)
{
    int status;
    size_t *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    pid_t child = crn_cleanup_fork();
    if (child == 0) {
        crn_gpu_writer *writer = NULL;
        if (crn_gpu_writer_open(&writer) == 0)
            *shared = crn_gpu_writer_free_bytes(writer);
        crn_gpu_writer_close(&writer);
        _exit(0);
    }
    assert_int_equal(crn_cleanup_wait(child, &status), child);
    size_t free_bytes = *shared;
    munmap(shared, sizeof *shared);
    return free_bytes;
}

void crn_vmm_require_gpu(void)
{
    if (crn_vmm_free_bytes() > 0)
        return;
    if (getenv("CRN_REQUIRE_GPU"))
        fail_msg("there is no GPU");
    skip();
}
