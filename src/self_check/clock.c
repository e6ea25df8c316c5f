/* Clock source, synchronisation with other machines, and timer slack. */
#include <inttypes.h>
#include <string.h>

#include "src/ingest/access/access.h"
#include "src/self_check/internal.h"

/* Senders' clocks must agree to a millisecond with this one. */
#define ERROR_OK_US 1000

#define SLACK_DEFAULT_NS 50000

#define COST_SOURCE                                                                                \
    "reading the clock is a system call and a slow register, about a microsecond instead of 25 "   \
    "ns; the line reads it several times for each view"
#define COST_UNSYNCHRONISED                                                                        \
    "deadline_ns and captured_ns of senders on other machines are off by what the clocks differ: " \
    "fruits are late unseen, or deadlines ignored"
#define COST_SLACK "sleeps of all threads but the line's end so much later"

static void check_source(crn_self_check *check)
{
    static const char name[] = "clock source";
    /* Read without a system call. */
    static const char *const fast[] = {"tsc", "arch_sys_counter", "kvm-clock",
                                       "hyperv_clocksource_tsc_page", "riscv_clocksource"};
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
    char source[CRN_SELF_CHECK_TEXT];
    if (!crn_self_check_read(check, source,
                             "/sys/devices/system/clocksource/clocksource0/current_clocksource")) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "the machine does not say");
        return;
    }
    crn_finding_level level = CRN_FINDING_NOTE;
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        if (strcmp(source, fast[i]) == 0)
            level = CRN_FINDING_OK;
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (strcmp(source, slow[i]) == 0)
            level = CRN_FINDING_BAD;
    crn_self_check_add(check, name, level, COST_SOURCE,
                       "echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource",
                       "%.60s", source);
}

/* True if no other machine can reach the file's addresses for views and verdicts, so that all
 * times are of one clock. */
static bool is_local(const crn_self_check *check)
{
    const crn_config *config = check->config;
    if (!config)
        return false;
    bool exposed = crn_access_is_exposed(config->publish.grader.bind) ||
                   crn_access_is_exposed(config->publish.viewers.bind);
    for (int32_t i = 0; i < config->ingest.bind.count; i++)
        exposed |= crn_access_is_exposed(config->ingest.bind.item[i]);
    return !exposed;
}

static void check_synchronisation(crn_self_check *check)
{
    static const char name[] = "clock synchronisation";
    static const char cure[] = "apt-get install chrony (or linuxptp, for microseconds)";
    struct timex state = {.modes = 0};
    int r = check->adjtimex(&state);
    if (r < 0)
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "adjtimex is not allowed here");
    else if (r == TIME_ERROR || state.status & STA_UNSYNC)
        crn_self_check_add(check, name, is_local(check) ? CRN_FINDING_NOTE : CRN_FINDING_BAD,
                           COST_UNSYNCHRONISED, cure, "not synchronised%s",
                           is_local(check) ? "; all addresses are this machine's own" : "");
    else
        crn_self_check_add(
            check, name, state.esterror > ERROR_OK_US ? CRN_FINDING_NOTE : CRN_FINDING_OK,
            COST_UNSYNCHRONISED, cure, "estimated error %ld us, at most %ld us; offset %ld %s",
            state.esterror, state.maxerror, state.offset, state.status & STA_NANO ? "ns" : "us");
}

static void check_slack(crn_self_check *check)
{
    static const char name[] = "timer slack";
    int64_t ns;
    if (!crn_self_check_read_number(check, &ns, "/proc/self/timerslack_ns"))
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "no /proc/self/timerslack_ns");
    else
        crn_self_check_add(check, name, ns <= SLACK_DEFAULT_NS ? CRN_FINDING_OK : CRN_FINDING_NOTE,
                           COST_SLACK, "TimerSlackNSec=50us in the unit",
                           "%" PRId64 " us; the line's thread sets its own to none", ns / 1000);
}

void crn_self_check_clock(crn_self_check *check)
{
    check_source(check);
    check_synchronisation(check);
    check_slack(check);
}
