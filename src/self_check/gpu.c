/* Copies of pinned memory to and from a GPU, as views and results travel. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/engine/device/device.h"
#include "src/self_check/internal.h"
#include "stages/backend.h"
#include "stages/base/clock.h"

#define COPY_BYTES    ((size_t)32 << 20)
#define COPIES        8
#define LIMIT_NS      (10 * CRN_NS_PER_S)
#define FAST_GB_PER_S 5.0 /* of a PCIe 3.0 x8 link 6.5 remain */

#define SHARED_COST                                                                                \
    "a view waits for kernels of theirs: beside kernels of 20 ms some 12 ms, up to 40"
#define TURNS_COST "a view takes some milliseconds longer, as the processes take turns"
#define COST       "each view's upload takes longer: at 5 GB/s 0.2 ms a MiB"
#define CURE       "move the card to a slot with all lanes, or see the row PCIe link"

/* GB/s of `COPIES` copies; 0 or a negative errno. */
static int measure(const crn_gpu *gpu, crn_context *context, void *host, bool up,
                   double *ret_gb_per_s)
{
    void *device = crn_context_scratch(context, 0, COPY_BYTES);
    int r = device ? 0 : -ENOMEM;
    /* The first copy is not counted: the link may have to leave its idle state. */
    int64_t start_ns = 0;
    for (int i = 0; i <= COPIES && r == 0; i++) {
        r = up ? gpu->upload(context, device, host, COPY_BYTES)
               : gpu->download(context, host, device, COPY_BYTES);
        if (r == 0 && (i == 0 || i == COPIES))
            r = crn_gpu_wait(gpu, context, LIMIT_NS);
        if (i == 0)
            start_ns = crn_now_ns();
    }
    int64_t took_ns = crn_now_ns() - start_ns;
    *ret_gb_per_s = (double)COPY_BYTES * COPIES / (double)(took_ns > 0 ? took_ns : 1);
    return r;
}

/* Call it without a context of this process on the device, which would count. */
static void check_sharing(crn_self_check *check, int32_t number)
{
    crn_gpu_device about;
    if (check->gpu->describe(number, &about) < 0)
        return; /* the row of its copies says why */
    int32_t others = check->gpu->processes(number) - about.mps;
    if (others < 0)
        crn_self_check_add(check, "GPU sharing", CRN_FINDING_UNKNOWN, SHARED_COST,
                           CRN_DEVICE_SHARED_CURE,
                           "%d: the driver does not say which processes compute on it%s",
                           (int)number, about.mps ? "; an MPS server is active" : "");
    else
        crn_self_check_add(check, "GPU sharing", others == 0 ? CRN_FINDING_OK : CRN_FINDING_NOTE,
                           about.mps ? SHARED_COST : TURNS_COST, CRN_DEVICE_SHARED_CURE,
                           "%d: %d other process%s on it%s", (int)number, (int)others,
                           others == 1 ? " computes" : "es compute",
                           about.mps ? ", through an MPS server" : "");
}

static void check_device(crn_self_check *check, int32_t number)
{
    static const char name[] = "GPU copies";
    const crn_gpu *gpu = check->gpu;
    crn_gpu_device about = {.name = "?"};
    crn_context *context = NULL;
    double up = 0, down = 0;
    void *host = gpu->pinned_create(COPY_BYTES);
    int r = host ? gpu->describe(number, &about) : -ENOMEM;
    if (r == 0)
        r = gpu->context_create(number, 1, &context);
    if (r == 0) {
        memset(host, 1, COPY_BYTES);
        r = measure(gpu, context, host, true, &up);
    }
    if (r == 0)
        r = measure(gpu, context, host, false, &down);
    if (r == 0)
        crn_self_check_add(check, name,
                           up < FAST_GB_PER_S || down < FAST_GB_PER_S ? CRN_FINDING_NOTE
                                                                      : CRN_FINDING_OK,
                           COST, CURE, "%d, %.40s: %.1f GB/s to it, %.1f GB/s from it", (int)number,
                           about.name, up, down);
    else
        crn_self_check_add(check, name, CRN_FINDING_BAD,
                           "views are not judged on it, but by the processor", "nvidia-smi",
                           "%d, %.40s: %.100s", (int)number, about.name, crn_gpu_strerror(r));
    if (context)
        crn_context_free(&context);
    if (host && r != -ETIMEDOUT) /* else the device may still read it */
        gpu->pinned_free(host);
}

void crn_self_check_gpu(crn_self_check *check)
{
    int32_t count = check->gpu ? check->gpu->count() : 0;
    bool needed = check->config && check->config->run.backend == CRN_BACKEND_CUDA;
    if (count <= 0)
        crn_self_check_add(check, "GPU", needed ? CRN_FINDING_BAD : CRN_FINDING_OK,
                           "the line does not start", "run.backend: auto, or nvidia-smi",
                           "none: %.150s",
                           check->no_gpu ? check->no_gpu : "the driver has no device");
    for (int32_t i = 0; i < count; i++) {
        check_sharing(check, i);
        check_device(check, i);
    }
}
