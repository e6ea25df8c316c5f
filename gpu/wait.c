/* Waits for a context's work, with a timeout. */
#include <errno.h>
#include <time.h>

#include "gpu/gpu.h"
#include "stages/base/clock.h"

#define BUSY_NS 50000
#define NAP_NS  20000

int crn_gpu_wait(const crn_gpu *gpu, crn_context *context, int64_t limit_ns)
{
    int64_t begin_ns = crn_now_ns();
    for (;;) {
        int r = gpu->poll(context);
        if (r != -EAGAIN)
            return r;
        int64_t waited_ns = crn_now_ns() - begin_ns;
        if (waited_ns > limit_ns)
            return -ETIMEDOUT;
        if (waited_ns > BUSY_NS)
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}
