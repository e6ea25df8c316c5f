/* Free memory, swap and huge pages. */
#include <inttypes.h>
#include <string.h>

#include "src/line/line.h"
#include "src/self_check/internal.h"

#define COST_FREE                                                                                  \
    "the kernel must first drop its cache, page others out, or end a process, while views wait"
#define COST_SWAP                                                                                  \
    "memory of the line that was paged out comes back from the disk: 0.1 ms from an SSD, 10 ms "   \
    "from a hard disk, for each page"
#define COST_HUGE                                                                                  \
    "the kernel may move memory to make large pages while a thread waits for its page, for "       \
    "milliseconds"

static void check_free(crn_self_check *check)
{
    static const char name[] = "free memory";
    int64_t kib, needed = check->config ? (int64_t)(crn_line_bytes(check->config) >> 20) : 0;
    if (!crn_self_check_read_field_number(check, "/proc/meminfo", "MemAvailable:", &kib))
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL, "no /proc/meminfo");
    else if (!check->config)
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL, "%" PRId64 " MiB", kib >> 10);
    else
        crn_self_check_add(
            check, name, kib >> 10 > needed ? CRN_FINDING_OK : CRN_FINDING_BAD, COST_FREE,
            check->config->ingest.slots.path[0]
                ? "lower limits.slots, ingest.slots or limits.view_mib, or stop others"
                : "lower limits.slots or limits.view_mib, or stop others",
            "%" PRId64 " MiB, the line reserves %" PRId64 " MiB", kib >> 10, needed);
}

static void check_swap(crn_self_check *check)
{
    static const char name[] = "swap";
    int64_t total, left;
    if (!crn_self_check_read_field_number(check, "/proc/meminfo", "SwapTotal:", &total) ||
        !crn_self_check_read_field_number(check, "/proc/meminfo", "SwapFree:", &left)) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL, "no /proc/meminfo");
        return;
    }
    bool locked = check->config && check->config->realtime.lock_memory;
    if (total == 0)
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL, "none");
    else
        crn_self_check_add(check, name, total > left && !locked ? CRN_FINDING_NOTE : CRN_FINDING_OK,
                           COST_SWAP,
                           "realtime.lock_memory: true in the line's file, or swapoff -a",
                           "%" PRId64 " of %" PRId64 " MiB in use%s", (total - left) >> 10,
                           total >> 10, locked ? "; the line's memory is locked" : "");
}

/* The word in brackets of a sysfs choice: "always [madvise] never". */
static bool read_choice(const crn_self_check *check, const char *path, char ret_choice[32])
{
    char text[CRN_SELF_CHECK_TEXT];
    return crn_self_check_read(check, text, "%s", path) &&
           sscanf(text, "%*[^[][%31[^]]", ret_choice) == 1;
}

static bool read_first_choice(const crn_self_check *check, const char *path, char ret_choice[32])
{
    char text[CRN_SELF_CHECK_TEXT];
    if (read_choice(check, path, ret_choice))
        return true;
    return crn_self_check_read(check, text, "%s", path) &&
           sscanf(text, "[%31[^]]", ret_choice) == 1;
}

static void check_huge(crn_self_check *check)
{
    static const char name[] = "huge pages";
    char enabled[32] = "", defrag[32] = "?";
    int64_t reserved = 0;
    crn_self_check_read_field_number(check, "/proc/meminfo", "HugePages_Free:", &reserved);
    if (!read_first_choice(check, "/sys/kernel/mm/transparent_hugepage/enabled", enabled)) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "no transparent ones; reserved and free: %" PRId64, reserved);
        return;
    }
    read_first_choice(check, "/sys/kernel/mm/transparent_hugepage/defrag", defrag);
    bool stalls = strcmp(enabled, "always") == 0 && strcmp(defrag, "always") == 0;
    bool wanted = check->config && check->config->realtime.huge_pages;
    bool never = strcmp(enabled, "never") == 0;
    crn_self_check_add(check, name, stalls || (wanted && never) ? CRN_FINDING_NOTE : CRN_FINDING_OK,
                       stalls ? COST_HUGE : "realtime.huge_pages has no effect",
                       "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled",
                       "transparent: %s, defrag: %s; reserved and free: %" PRId64, enabled, defrag,
                       reserved);
}

void crn_self_check_memory(crn_self_check *check)
{
    check_free(check);
    check_swap(check);
    check_huge(check);
}
