/* Who uses the processor: /proc/stat, and the control group's quota. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/resources/internal.h"

/* Fields of a CPU's line; those behind are parts of the first two. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };

/* Fields of /proc/self/stat behind the name, of which the first is the state. */
enum { FIELD_STATE = 3, FIELD_UTIME = 14 };

static void add_cpu(const char *fields, crn_resource_ticks *ticks)
{
    uint64_t field[FIELDS] = {0};
    char *end = (char *)(uintptr_t)fields;
    for (int i = 0; i < FIELDS; i++) {
        const char *begin = end;
        field[i] = strtoull(begin, &end, 10);
        ticks->all += field[i];
    }
    ticks->idle += field[IDLE] + field[IOWAIT];
    ticks->interrupts += field[IRQ] + field[SOFTIRQ];
    ticks->stolen += field[STEAL];
}

/* False if a CPU is missing: some containers number them in their own way. */
static bool add_cpus(const char *text, const cpu_set_t *cpus, crn_resource_ticks *ticks)
{
    int found = 0;
    for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;) {
        char *fields;
        unsigned long cpu = strtoul(line + 3, &fields, 10);
        if (fields > line + 3 && line[3] != ' ' && cpu < CPU_SETSIZE && CPU_ISSET(cpu, cpus)) {
            add_cpu(fields, ticks);
            found++;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return found > 0 && found == CPU_COUNT(cpus);
}

static bool read_own(crn_resources_reader *reader, uint64_t *ret_ticks)
{
    if (!crn_resource_read(reader, "/proc/self/stat"))
        return false;
    char *at = strrchr(reader->text, ')'); /* the name may have blanks and parentheses */
    for (int field = FIELD_STATE - 1; at && field < FIELD_UTIME; field++) {
        at = strchr(at, ' ');
        at += at != NULL;
    }
    if (!at)
        return false;
    uint64_t user = strtoull(at, &at, 10);
    *ret_ticks = user + strtoull(at, NULL, 10);
    return true;
}

static void read_throttling(crn_resources_reader *reader, crn_resource_throttling *ret_throttling)
{
    *ret_throttling = (crn_resource_throttling){0};
    ret_throttling->known =
        crn_resource_read(reader, "/sys/fs/cgroup%s/cpu.stat", reader->group) &&
        crn_resource_find(reader->text, "nr_periods ", &ret_throttling->periods) &&
        crn_resource_find(reader->text, "nr_throttled ", &ret_throttling->throttled_periods) &&
        crn_resource_find(reader->text, "throttled_usec ", &ret_throttling->throttled_us);
}

void crn_resource_processor_read(crn_resources_reader *reader, const cpu_set_t *cpus,
                                 crn_resource_sample *ret_sample)
{
    crn_resource_ticks *ticks = &ret_sample->ticks;
    *ticks = (crn_resource_ticks){.cpus = *cpus};
    ticks->known = crn_resource_read(reader, "/proc/stat") && add_cpus(reader->text, cpus, ticks) &&
                   read_own(reader, &ticks->own);
    read_throttling(reader, &ret_sample->throttling);
}

/* The lowest quota of the group and its parents, in CPUs. */
static double find_quota(crn_resources_reader *reader)
{
    char group[CRN_RESOURCE_FOLDER_BYTES];
    double lowest = CRN_RESOURCE_UNKNOWN;
    strcpy(group, reader->group);
    do {
        uint64_t quota, period;
        if (crn_resource_read(reader, "/sys/fs/cgroup%s/cpu.max", group) &&
            sscanf(reader->text, "%" SCNu64 " %" SCNu64, &quota, &period) == 2 && period > 0 &&
            (!crn_resource_known(lowest) || (double)quota / (double)period < lowest))
            lowest = (double)quota / (double)period;
    } while (crn_resource_group_parent(group));
    return lowest;
}

/* Counters fall when a CPU goes and comes back; then there is nothing to tell. */
static bool have_advanced(const crn_resource_ticks *from, const crn_resource_ticks *to)
{
    return from->known && to->known && CPU_EQUAL(&from->cpus, &to->cpus) && to->all > from->all &&
           to->idle >= from->idle && to->interrupts >= from->interrupts &&
           to->stolen >= from->stolen && to->own >= from->own;
}

static void tell_shares(const crn_resource_ticks *from, const crn_resource_ticks *to,
                        crn_resource_processor *processor)
{
    double all = (double)(to->all - from->all);
    double idle = (double)(to->idle - from->idle) / all;
    processor->own = (double)(to->own - from->own) / all;
    processor->own = processor->own < 1 ? processor->own : 1;
    processor->interrupts = (double)(to->interrupts - from->interrupts) / all;
    processor->stolen = (double)(to->stolen - from->stolen) / all;
    double others = 1 - idle - processor->own - processor->interrupts - processor->stolen;
    processor->others = others > 0 ? others : 0;
}

static void tell_throttling(const crn_resource_sample *from, const crn_resource_sample *to,
                            crn_resource_processor *processor)
{
    const crn_resource_throttling *before = &from->throttling, *now = &to->throttling;
    if (!before->known || !now->known || now->throttled_us < before->throttled_us)
        return;
    double elapsed_us = (double)(to->ns - from->ns) / 1e3 * (processor->cpus ? processor->cpus : 1);
    uint64_t periods = now->periods - before->periods;
    double throttled = (double)(now->throttled_us - before->throttled_us) / elapsed_us;
    processor->throttled = throttled < 1 ? throttled : 1;
    processor->periods_throttled =
        periods > 0 ? (double)(now->throttled_periods - before->throttled_periods) / (double)periods
                    : 0;
}

void crn_resource_processor_tell(crn_resources_reader *reader, const crn_resource_sample *from,
                                 const crn_resource_sample *to,
                                 crn_resource_processor *ret_processor)
{
    *ret_processor =
        (crn_resource_processor){.cpus = to->ticks.known ? CPU_COUNT(&to->ticks.cpus) : 0,
                                 .quota_cpus = find_quota(reader),
                                 .own = CRN_RESOURCE_UNKNOWN,
                                 .others = CRN_RESOURCE_UNKNOWN,
                                 .interrupts = CRN_RESOURCE_UNKNOWN,
                                 .stolen = CRN_RESOURCE_UNKNOWN,
                                 .periods_throttled = CRN_RESOURCE_UNKNOWN,
                                 .throttled = CRN_RESOURCE_UNKNOWN};
    if (to->ns <= from->ns)
        return;
    if (have_advanced(&from->ticks, &to->ticks))
        tell_shares(&from->ticks, &to->ticks, ret_processor);
    tell_throttling(from, to, ret_processor);
}
