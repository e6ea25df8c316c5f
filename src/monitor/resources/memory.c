/* This process's memory, and what is left of the machine's and of the control group's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/monitor/resources/internal.h"

static int64_t find_kib(const char *text, const char *key)
{
    uint64_t kib;
    return crn_resource_find(text, key, &kib) ? (int64_t)(kib * 1024) : CRN_RESOURCE_UNKNOWN;
}

/* Keeps the limit that is nearest to its end. */
static void consider(int64_t limit, int64_t available, crn_resource_memory *memory)
{
    if (limit <= 0 || available < 0)
        return;
    available = available < limit ? available : limit;
    double used = 1 - (double)available / (double)limit;
    if (crn_resource_known(memory->used) && used <= memory->used)
        return;
    memory->limit_bytes = limit;
    memory->available_bytes = available;
    memory->used = used;
}

/* Cached file pages are given up before the limit is felt. */
static void read_group(crn_resources_reader *reader, const char *group, crn_resource_memory *memory)
{
    uint64_t limit, used, idle = 0, active = 0;
    if (!crn_resource_read(reader, "/sys/fs/cgroup%s/memory.max", group) ||
        !crn_resource_find(reader->text, "", &limit) || /* "max": none */
        !crn_resource_read(reader, "/sys/fs/cgroup%s/memory.current", group) ||
        !crn_resource_find(reader->text, "", &used))
        return;
    if (crn_resource_read(reader, "/sys/fs/cgroup%s/memory.stat", group)) {
        crn_resource_find(reader->text, "inactive_file ", &idle);
        crn_resource_find(reader->text, "active_file ", &active);
    }
    used -= idle + active < used ? idle + active : used;
    consider((int64_t)limit, used < limit ? (int64_t)(limit - used) : 0, memory);
}

void crn_resource_memory_read(crn_resources_reader *reader, crn_resource_memory *ret_memory)
{
    char group[CRN_RESOURCE_FOLDER_BYTES];
    *ret_memory = (crn_resource_memory){.resident_bytes = CRN_RESOURCE_UNKNOWN,
                                        .swap_bytes = CRN_RESOURCE_UNKNOWN,
                                        .swap_grown_bytes = CRN_RESOURCE_UNKNOWN,
                                        .limit_bytes = CRN_RESOURCE_UNKNOWN,
                                        .available_bytes = CRN_RESOURCE_UNKNOWN,
                                        .used = CRN_RESOURCE_UNKNOWN};
    if (crn_resource_read(reader, "/proc/self/status")) {
        ret_memory->resident_bytes = find_kib(reader->text, "VmRSS:");
        ret_memory->swap_bytes = find_kib(reader->text, "VmSwap:");
    }
    if (crn_resource_read(reader, "/proc/meminfo"))
        consider(find_kib(reader->text, "MemTotal:"), find_kib(reader->text, "MemAvailable:"),
                 ret_memory);
    strcpy(group, reader->group);
    do
        read_group(reader, group, ret_memory);
    while (crn_resource_group_parent(group));
}
