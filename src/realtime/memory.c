/* Locked memory, stacks and huge pages. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/realtime/realtime.h"
#include "src/realtime/stack.h"
#include "stages/base/log.h"

#define PAGE_BYTES 4096

__attribute__((noinline)) void crn_stack_touch(void)
{
    volatile unsigned char stack[CRN_STACK_BYTES];
    for (size_t i = 0; i < sizeof stack; i += PAGE_BYTES)
        stack[i] = 0;
}

static bool has_capability(int number)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    return data[number / 32].effective >> (number % 32) & 1;
}

void crn_realtime_lock_memory(const crn_config *config, bool devices)
{
    struct rlimit limit = {0};
    if (!config->realtime.lock_memory)
        return;
    crn_stack_touch(); /* the main thread's stack is mapped as it grows */
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    bool unlimited = limit.rlim_cur == RLIM_INFINITY || has_capability(CAP_IPC_LOCK);
    /* MCL_FUTURE under a limit would make allocations fail later, and libzmq aborts then. */
    int how = MCL_CURRENT | (unlimited ? MCL_FUTURE : 0) | (devices ? MCL_ONFAULT : 0);
    if (mlockall(how) == 0)
        return;
    int fault = errno;
    crn_log(CRN_LOG_WARNING,
            "realtime.lock_memory: memory is not locked: %s, with a limit of %llu KiB; set "
            "LimitMEMLOCK=infinity in the unit (ulimit -l unlimited)",
            strerror(fault), (unsigned long long)limit.rlim_cur >> 10);
}

void crn_realtime_huge_pages(const crn_config *config, void *memory, size_t bytes)
{
    if (config->realtime.huge_pages && madvise(memory, bytes, MADV_HUGEPAGE) < 0)
        crn_log(CRN_LOG_WARNING,
                "realtime.huge_pages: the slots get none: %s; this kernel has no transparent huge "
                "pages",
                strerror(errno));
}
