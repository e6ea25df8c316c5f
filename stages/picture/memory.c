#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stages/picture/internal.h"

#define LINE_BYTES 4352 /* a cgroup's path and more */

/* Reads the value of a line `key value`, or the whole file if key is empty. */
static bool read_number(const char *path, const char *key, uint64_t *ret_value)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char line[256];
    size_t length = strlen(key);
    bool found = false;
    while (!found && fgets(line, sizeof line, file))
        found = !strncmp(line, key, length) && (!length || line[length] == ' ') &&
                sscanf(line + length, "%" SCNu64, ret_value) == 1; /* fails for `max` */
    fclose(file);
    return found;
}

/* A cgroup version: its names of the files and keys. */
typedef struct generation {
    const char *controllers, *mount, *limit, *used, *idle, *active;
} generation;

static const generation generations[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file", "total_active_file"},
};

/* Memory left in one group: its limit less its usage, not counting cached file pages. */
static uint64_t left_in_group(const generation *g, const char *root, const char *group)
{
    char path[LINE_BYTES + 128];
    uint64_t limit = 0, used = 0, idle = 0, active = 0;
    snprintf(path, sizeof path, "%s%s%s/%s", root, g->mount, group, g->limit);
    if (!read_number(path, "", &limit))
        return UINT64_MAX;
    snprintf(path, sizeof path, "%s%s%s/%s", root, g->mount, group, g->used);
    if (!read_number(path, "", &used))
        return limit;
    snprintf(path, sizeof path, "%s%s%s/memory.stat", root, g->mount, group);
    read_number(path, g->idle, &idle);
    read_number(path, g->active, &active);
    used -= idle + active < used ? idle + active : used;
    return used < limit ? limit - used : 0;
}

/* The minimum over a group and its ancestors. */
static uint64_t left_in_groups(const generation *g, const char *root, char *group)
{
    uint64_t min = UINT64_MAX;
    for (;;) {
        uint64_t left = left_in_group(g, root, group);
        min = left < min ? left : min;
        char *slash = strrchr(group, '/');
        if (!slash)
            return min;
        *slash = '\0';
    }
}

uint64_t crn_memory_available_under(const char *root)
{
    char path[LINE_BYTES];
    uint64_t available = UINT64_MAX, kib;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_number(path, "MemAvailable:", &kib))
        available = kib * 1024;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    char line[LINE_BYTES];
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0'; /* number:controllers:/path */
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
            if (strcmp(controllers + 1, generations[i].controllers))
                continue;
            uint64_t left = left_in_groups(&generations[i], root, group);
            available = left < available ? left : available;
        }
    }
    if (file)
        fclose(file);
    return available;
}

uint64_t crn_memory_available_bytes(void)
{
    return crn_memory_available_under("");
}

const char *crn_bytes_format(uint64_t bytes, char text[CRN_BYTES_TEXT])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(text, CRN_BYTES_TEXT, "%u bytes", (unsigned)bytes);
        return text;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, CRN_BYTES_TEXT, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}
