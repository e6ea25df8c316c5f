/* What a control group (a container, a unit's CPUQuota= and MemoryMax=) grants, versions 1 and 2.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/line/line.h"
#include "src/self_check/internal.h"

#define GROUP_BYTES 300

#define COST_QUOTA                                                                                 \
    "once the threads together have used it up, all stop for the rest of the period, up to 100 "   \
    "ms: a fruit's whole budget"
#define COST_MEMORY "the kernel ends the daemon when the line has taken that much"

/* The process's group of a hierarchy: "" for version 2, else that of the controller. */
static bool find_group(const crn_self_check *check, const char *controller,
                       char ret_group[GROUP_BYTES])
{
    char label[32], text[CRN_SELF_CHECK_TEXT];
    for (int hierarchy = 0; hierarchy < 32; hierarchy++) {
        snprintf(label, sizeof label, "%d:", hierarchy);
        if (!crn_self_check_read_field(check, "/proc/self/cgroup", label, text))
            continue;
        char *path = strchr(text, ':');
        if (!path)
            continue;
        *path++ = '\0';
        bool found = controller[0] == '\0' ? hierarchy == 0 && text[0] == '\0' : false;
        char *rest = text;
        for (char *name; controller[0] && (name = strsep(&rest, ",")) != NULL;)
            found |= strcmp(name, controller) == 0;
        if (found) {
            snprintf(ret_group, GROUP_BYTES, "%.*s", GROUP_BYTES - 1,
                     strcmp(path, "/") == 0 ? "" : path);
            return true;
        }
    }
    return false;
}

/* Cuts the last part of a group's path; false at the root. */
static bool parent_of(char group[GROUP_BYTES])
{
    char *slash = strrchr(group, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* CPUs that the quotas of the group and its parents leave, in hundredths; false if none limits. */
static bool find_quota(const crn_self_check *check, int64_t *ret_percent, bool *ret_known)
{
    char group[GROUP_BYTES], text[CRN_SELF_CHECK_TEXT], quota_text[32];
    int64_t quota, period;
    *ret_known = false;
    bool limited = false;
    *ret_percent = INT64_MAX;
    if (find_group(check, "", group)) {
        do {
            if (!crn_self_check_read(check, text, "/sys/fs/cgroup%s/cpu.max", group))
                continue;
            *ret_known = true;
            if (sscanf(text, "%31s %" SCNd64, quota_text, &period) == 2 && period > 0 &&
                strcmp(quota_text, "max") != 0) {
                quota = atoll(quota_text);
                limited = true;
                if (crn_self_check_percent(quota, period) < *ret_percent)
                    *ret_percent = crn_self_check_percent(quota, period);
            }
        } while (parent_of(group));
    }
    if (find_group(check, "cpu", group)) {
        do {
            if (!crn_self_check_read_number(check, &quota, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us",
                                            group) ||
                !crn_self_check_read_number(check, &period,
                                            "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group))
                continue;
            *ret_known = true;
            if (quota > 0 && period > 0) {
                limited = true;
                if (crn_self_check_percent(quota, period) < *ret_percent)
                    *ret_percent = crn_self_check_percent(quota, period);
            }
        } while (parent_of(group));
    }
    return limited;
}

static void check_quota(crn_self_check *check)
{
    static const char name[] = "CPU quota";
    cpu_set_t cpus = crn_self_check_cpus(check);
    int64_t percent;
    bool known;
    if (find_quota(check, &percent, &known))
        crn_self_check_add(
            check, name, percent >= 100 * CPU_COUNT(&cpus) ? CRN_FINDING_NOTE : CRN_FINDING_BAD,
            COST_QUOTA, "systemctl set-property cernitad CPUQuota= (docker run without --cpus)",
            "%" PRId64 ".%02" PRId64 " CPUs' time, of %d", percent / 100, percent % 100,
            CPU_COUNT(&cpus));
    else if (known)
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL, "none");
    else
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "no control group has one, or it cannot be read");
}

/* The lowest memory limit of the group and its parents; INT64_MAX for none. False: unknown. */
static bool find_memory(const crn_self_check *check, int64_t *ret_bytes)
{
    char group[GROUP_BYTES];
    int64_t bytes;
    char text[CRN_SELF_CHECK_TEXT];
    bool known = false;
    *ret_bytes = INT64_MAX;
    if (find_group(check, "", group)) {
        do {
            if (!crn_self_check_read(check, text, "/sys/fs/cgroup%s/memory.max", group))
                continue;
            known = true;
            if (strcmp(text, "max") != 0 && atoll(text) < *ret_bytes)
                *ret_bytes = atoll(text);
        } while (parent_of(group));
    }
    if (find_group(check, "memory", group)) {
        do {
            if (!crn_self_check_read_number(check, &bytes,
                                            "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", group))
                continue;
            known = true;
            /* Version 1 writes "none" as the largest multiple of a page. */
            if (bytes < INT64_MAX - (1 << 20) && bytes < *ret_bytes)
                *ret_bytes = bytes;
        } while (parent_of(group));
    }
    return known;
}

void crn_self_check_cgroup(crn_self_check *check)
{
    static const char name[] = "memory limit";
    int64_t limit, needed = check->config ? (int64_t)crn_line_bytes(check->config) : 0;
    check_quota(check);
    if (!find_memory(check, &limit))
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "no control group has one, or it cannot be read");
    else if (limit == INT64_MAX)
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL, "none");
    else
        crn_self_check_add(
            check, name, limit > needed ? CRN_FINDING_OK : CRN_FINDING_BAD, COST_MEMORY,
            "systemctl set-property cernitad MemoryMax=infinity (docker run "
            "--memory), or lower limits.slots",
            "%" PRId64 " MiB, the line reserves %" PRId64 " MiB", limit >> 20, needed >> 20);
}
