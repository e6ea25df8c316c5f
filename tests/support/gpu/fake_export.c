#include "tests/support/gpu/fake_export.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/fruit/values/values.h"

static atomic_int exported, refusal;

void crn_fake_gpu_probe(const crn_image *in, int32_t views, crn_values_probe *probes)
{
    const char *maps = in->data;
    const crn_view_header header = {.height = (uint32_t)in->height,
                                    .width = (uint32_t)in->width,
                                    .channels = (uint32_t)in->planes,
                                    .type = in->type,
                                    .layout = in->plane_stride == 1 ? CRN_HWC : CRN_CHW};
    for (int32_t v = 0; v < views; v++)
        crn_values_probe_maps(&header,
                              (const unsigned char *)maps +
                                  (size_t)v * crn_image_elements(in) * crn_type_bytes(in->type),
                              &probes[v]);
}

void crn_fake_gpu_uuid(int32_t device, unsigned char ret_uuid[16])
{
    memset(ret_uuid, 0xf0 + device, 16);
}

int crn_fake_gpu_exported(void)
{
    return atomic_load(&exported);
}

void crn_fake_gpu_refuse_exports(int error)
{
    atomic_store(&refusal, error);
}

int crn_fake_gpu_export_create(int32_t device, size_t bytes, crn_gpu_export *ret_export)
{
    int error = atomic_load(&refusal);
    if (error < 0)
        return error;
    crn_gpu_export made = {.device = device};
    made.bytes = (bytes + CRN_GPU_EXPORT_UNIT - 1) / CRN_GPU_EXPORT_UNIT * CRN_GPU_EXPORT_UNIT;
    made.descriptor = memfd_create("fake-gpu", MFD_CLOEXEC);
    if (made.descriptor < 0 || ftruncate(made.descriptor, (off_t)made.bytes) < 0)
        return -ENOMEM;
    made.memory = mmap(NULL, made.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.descriptor, 0);
    if (made.memory == MAP_FAILED)
        return -ENOMEM;
    atomic_fetch_add(&exported, 1);
    *ret_export = made;
    return 0;
}

void crn_fake_gpu_export_free(crn_gpu_export *given)
{
    munmap(given->memory, given->bytes);
    given->memory = NULL;
    atomic_fetch_sub(&exported, 1);
}

/* Signals are of this pool, as those of a GPU are the driver's: what a lost one may still use,
 * which the line forgets unfreed, is not a leak of the heap. */
#define SIGNALS_MAX 4096

typedef struct fake_signal {
    atomic_bool pending; /* the work before its record is not done */
    atomic_bool taken;
} fake_signal;

static fake_signal signals[SIGNALS_MAX];

int crn_fake_gpu_signal_create(int32_t device, void **ret_signal,
                               unsigned char ret_handle[CRN_GPU_SIGNAL_BYTES])
{
    (void)device;
    for (int i = 0; i < SIGNALS_MAX; i++) {
        fake_signal *signal = &signals[i];
        if (atomic_exchange(&signal->taken, true))
            continue;
        atomic_bool *pending = &signal->pending;
        atomic_store(pending, false);
        memset(ret_handle, 0, CRN_GPU_SIGNAL_BYTES);
        memcpy(ret_handle, &pending, sizeof pending);
        atomic_fetch_add(&exported, 1);
        *ret_signal = signal;
        return 0;
    }
    return -ENOMEM;
}

int crn_fake_gpu_signal_query(void *signal)
{
    return atomic_load(&((fake_signal *)signal)->pending) ? -EAGAIN : 0;
}

void crn_fake_gpu_signal_free(void *signal)
{
    atomic_store(&((fake_signal *)signal)->taken, false);
    atomic_fetch_sub(&exported, 1);
}

void crn_fake_gpu_record(const unsigned char handle[CRN_GPU_SIGNAL_BYTES], bool is_done)
{
    atomic_bool *pending;
    memcpy(&pending, handle, sizeof pending);
    atomic_store(pending, !is_done);
}
