/* Limits of the process: real time, locked memory, open files. */
#include <inttypes.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "src/ingest/socket/descriptors.h"
#include "src/line/line.h"
#include "src/self_check/internal.h"

/* What the line's thread asks for without realtime.line_priority. */
#define DEFAULT_PRIORITY 10

#define COST_NO_REAL_TIME                                                                          \
    "the line's thread waits for others on busy CPUs, some milliseconds each time"
#define COST_THROTTLED                                                                             \
    "when real-time threads take a CPU for so long, they all stop for the rest of the period: "    \
    "workers under realtime.worker_priority that are never idle lose 50 ms a second"
#define COST_UNLOCKED                                                                              \
    "realtime.lock_memory is refused: pages that were swapped out or never used cost a page "      \
    "fault, up to milliseconds from a disk"
#define COST_FILES "fewer connections than limits.peers: further senders and viewers are cut"

/* Soft (0) or hard (1) limit in /proc/self/limits; INT64_MAX: unlimited. */
static bool read_limit(const crn_self_check *check, const char *label, int column,
                       int64_t *ret_limit)
{
    char text[CRN_SELF_CHECK_TEXT], value[2][32];
    if (!crn_self_check_read_field(check, "/proc/self/limits", label, text) ||
        sscanf(text, "%31s %31s", value[0], value[1]) != 2)
        return false;
    *ret_limit = strcmp(value[column], "unlimited") == 0 ? INT64_MAX : atoll(value[column]);
    return true;
}

static void check_real_time(crn_self_check *check)
{
    static const char name[] = "real-time limit";
    int64_t limit, asked = check->config ? check->config->realtime.line_priority : 0;
    int64_t wanted = asked ? asked : DEFAULT_PRIORITY;
    if (!read_limit(check, "Max realtime priority", 0, &limit))
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL, "no /proc/self/limits");
    else if (crn_self_check_capable(check, CAP_SYS_NICE))
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL, "any priority (CAP_SYS_NICE)");
    else
        crn_self_check_add(check, name,
                           limit >= wanted ? CRN_FINDING_OK
                           : asked         ? CRN_FINDING_BAD
                                           : CRN_FINDING_NOTE,
                           COST_NO_REAL_TIME, "LimitRTPRIO=99 in the unit (ulimit -r)",
                           "priorities up to %" PRId64 ", the line asks for %" PRId64, limit,
                           wanted);
}

static void check_throttling(crn_self_check *check)
{
    static const char name[] = "real-time throttling";
    static const char cure[] = "sysctl kernel.sched_rt_runtime_us=-1, once the line is known to "
                               "leave other threads a CPU";
    int64_t runtime, period = 1000000;
    if (!crn_self_check_read_number(check, &runtime, "/proc/sys/kernel/sched_rt_runtime_us")) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "no kernel.sched_rt_runtime_us");
        return;
    }
    crn_self_check_read_number(check, &period, "/proc/sys/kernel/sched_rt_period_us");
    bool workers = check->config && check->config->realtime.worker_priority > 0;
    if (runtime < 0)
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL, "off");
    else if (runtime == 0)
        crn_self_check_add(check, name, CRN_FINDING_BAD, COST_NO_REAL_TIME,
                           "sysctl kernel.sched_rt_runtime_us=950000",
                           "no time at all for real-time threads");
    else
        crn_self_check_add(check, name, workers ? CRN_FINDING_NOTE : CRN_FINDING_OK, COST_THROTTLED,
                           cure, "%" PRId64 " of %" PRId64 " ms", runtime / 1000, period / 1000);
}

static void check_locked(crn_self_check *check)
{
    static const char name[] = "locked memory";
    int64_t limit;
    bool wanted = check->config && check->config->realtime.lock_memory;
    if (!read_limit(check, "Max locked memory", 0, &limit))
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL, "no /proc/self/limits");
    else if (limit == INT64_MAX || crn_self_check_capable(check, CAP_IPC_LOCK))
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL, "unlimited");
    else
        crn_self_check_add(check, name, wanted ? CRN_FINDING_BAD : CRN_FINDING_OK, COST_UNLOCKED,
                           "LimitMEMLOCK=infinity in the unit (ulimit -l unlimited)",
                           "%" PRId64 " KiB; the file %s it", limit >> 10,
                           wanted ? "needs more for" : "does not ask for");
}

static void check_files(crn_self_check *check)
{
    static const char name[] = "open files";
    int64_t limit;
    if (!check->config)
        return;
    int64_t needed = crn_descriptors_needed(CRN_LINE_PORTS, check->config->limits.peers);
    if (!read_limit(check, "Max open files", 1, &limit))
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL, "no /proc/self/limits");
    else
        crn_self_check_add(check, name, limit >= needed ? CRN_FINDING_OK : CRN_FINDING_NOTE,
                           COST_FILES, "LimitNOFILE=65536 in the unit (ulimit -Hn)",
                           limit == INT64_MAX ? "unlimited"
                                              : "up to %" PRId64 ", limits.peers needs %" PRId64,
                           limit, needed);
}

void crn_self_check_limits(crn_self_check *check)
{
    check_real_time(check);
    check_throttling(check);
    check_locked(check);
    check_files(check);
}
