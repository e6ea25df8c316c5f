/* Governors and frequency limits of the CPUs. */
#include <inttypes.h>
#include <string.h>

#include "src/self_check/internal.h"

#define COST_GOVERNOR                                                                              \
    "after idle time the first views run at a low clock until the governor raises it, within "     \
    "milliseconds: the same chain takes up to as much longer as the lowest clock is below the "    \
    "highest"
#define COST_LIMIT    "every view takes longer, in proportion"
#define CURE_GOVERNOR "cpupower frequency-set -g performance"
#define CURE_LIMIT    "cpupower frequency-set -u 100GHz"

static void check_governor(crn_self_check *check, const cpu_set_t *cpus)
{
    char text[CRN_SELF_CHECK_TEXT], driver[CRN_SELF_CHECK_TEXT] = "?", other[32] = "";
    int count = 0, slow = 0, example = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus) ||
            !crn_self_check_read(check, text,
                                 "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu))
            continue;
        count++;
        if (strcmp(text, "performance") == 0)
            continue;
        if (slow++ == 0) {
            example = cpu;
            snprintf(other, sizeof other, "%.31s", text);
        }
    }
    if (count == 0) {
        crn_self_check_add(check, "CPU governor", CRN_FINDING_UNKNOWN, NULL, NULL,
                           "no cpufreq: the hypervisor or the firmware decides");
        return;
    }
    if (slow == 0) {
        crn_self_check_add(check, "CPU governor", CRN_FINDING_OK, NULL, NULL,
                           "performance on %d CPUs", count);
        return;
    }
    crn_self_check_read(check, driver, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_driver",
                        example);
    /* Where the CPU itself chooses its clock (intel_pstate, amd-pstate-epp), powersave is not the
     * lowest one. */
    bool lowest = strcmp(other, "powersave") == 0 && !strstr(driver, "pstate");
    crn_self_check_add(check, "CPU governor", lowest ? CRN_FINDING_BAD : CRN_FINDING_NOTE,
                       lowest ? "the lowest clock for ever" : COST_GOVERNOR, CURE_GOVERNOR,
                       "%s on %d of %d CPUs (%.40s)", other, slow, count, driver);
}

static void check_limit(crn_self_check *check, const cpu_set_t *cpus)
{
    int64_t worst = 100, at_khz = 0, most_khz = 0;
    int count = 0, worst_cpu = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int64_t limit, most;
        static const char path[] = "/sys/devices/system/cpu/cpu";
        if (!CPU_ISSET(cpu, cpus) ||
            !crn_self_check_read_number(check, &limit, "%s%d/cpufreq/scaling_max_freq", path,
                                        cpu) ||
            !crn_self_check_read_number(check, &most, "%s%d/cpufreq/cpuinfo_max_freq", path, cpu) ||
            most <= 0)
            continue;
        int64_t percent = crn_self_check_percent(limit, most);
        if (count++ == 0 || percent < worst) {
            worst = percent;
            worst_cpu = cpu;
            at_khz = limit;
            most_khz = most;
        }
    }
    if (count == 0)
        crn_self_check_add(check, "CPU frequency limit", CRN_FINDING_UNKNOWN, NULL, NULL,
                           "no cpufreq: the hypervisor or the firmware decides");
    else
        crn_self_check_add(check, "CPU frequency limit",
                           worst >= 99   ? CRN_FINDING_OK
                           : worst >= 50 ? CRN_FINDING_NOTE
                                         : CRN_FINDING_BAD,
                           COST_LIMIT, CURE_LIMIT, "CPU %d: %" PRId64 " of %" PRId64 " MHz",
                           worst_cpu, at_khz / 1000, most_khz / 1000);
}

void crn_self_check_frequency(crn_self_check *check)
{
    cpu_set_t cpus = crn_self_check_cpus(check);
    check_governor(check, &cpus);
    check_limit(check, &cpus);
}
