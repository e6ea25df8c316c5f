#include "stages/base/process/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads one number of a list; NULL if there is none, or no CPU can have it. */
static const char *read_cpu(const char *text, int *ret_cpu)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return NULL;
    unsigned long number = strtoul(text, &end, 10);
    if (number >= CPU_SETSIZE)
        return NULL;
    *ret_cpu = (int)number;
    return end;
}

int crn_cpus_parse(const char *text, cpu_set_t *ret_cpus)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    while (*text) {
        int first, last;
        text = read_cpu(text, &first);
        if (!text)
            return -EINVAL;
        last = first;
        if (*text == '-' && !(text = read_cpu(text + 1, &last)))
            return -EINVAL;
        if (last < first)
            return -EINVAL;
        for (int cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, &cpus);
        if (*text == ',' && text[1])
            text++;
        else if (*text)
            return -EINVAL;
    }
    *ret_cpus = cpus;
    return 0;
}

const char *crn_cpus_text(const cpu_set_t *cpus, char text[CRN_CPUS_TEXT])
{
    size_t used = 0;
    snprintf(text, CRN_CPUS_TEXT, "none");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        char range[32];
        int first = cpu;
        if (!CPU_ISSET(cpu, cpus))
            continue;
        while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, cpus))
            cpu++;
        size_t size =
            (size_t)(first == cpu
                         ? snprintf(range, sizeof range, "%s%d", used ? "," : "", cpu)
                         : snprintf(range, sizeof range, "%s%d-%d", used ? "," : "", first, cpu));
        if (used + size + sizeof "..." > CRN_CPUS_TEXT) {
            strcpy(text + used, "...");
            return text;
        }
        memcpy(text + used, range, size + 1);
        used += size;
    }
    return text;
}

cpu_set_t crn_cpus_slice(const cpu_set_t *cpus, int first, int count)
{
    cpu_set_t slice;
    CPU_ZERO(&slice);
    for (int cpu = 0, index = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus))
            continue;
        if (index >= first && index < first + count)
            CPU_SET(cpu, &slice);
        index++;
    }
    return slice;
}
