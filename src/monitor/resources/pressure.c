/* Pressure stall information, by the counters of stalled time: the averages beside them forget too
 * slowly. */
#include <stdlib.h>
#include <string.h>

#include "src/monitor/resources/internal.h"

static const char *const names[CRN_RESOURCE_PRESSURES] = {"cpu", "io", "memory"};

static bool find_total(const char *text, const char *kind, uint64_t *ret_us)
{
    const char *line = strstr(text, kind);
    const char *total = line ? strstr(line, "total=") : NULL;
    if (!total)
        return false;
    *ret_us = strtoull(total + strlen("total="), NULL, 10);
    return true;
}

void crn_resource_pressure_read(crn_resources_reader *reader, crn_resource_sample *ret_sample)
{
    for (int i = 0; i < CRN_RESOURCE_PRESSURES; i++) {
        crn_resource_stall *stall = &ret_sample->stalls[i];
        *stall = (crn_resource_stall){0};
        stall->of_group =
            crn_resource_read(reader, "/sys/fs/cgroup%s/%s.pressure", reader->group, names[i]);
        stall->known =
            (stall->of_group || crn_resource_read(reader, "/proc/pressure/%s", names[i])) &&
            find_total(reader->text, "some ", &stall->some_us);
        stall->full_known = stall->known && find_total(reader->text, "full ", &stall->full_us);
    }
}

static double share(uint64_t from_us, uint64_t to_us, double elapsed_us)
{
    double stalled = to_us > from_us ? (double)(to_us - from_us) / elapsed_us : 0;
    return stalled < 1 ? stalled : 1;
}

static crn_resource_pressure tell(const crn_resource_stall *from, const crn_resource_stall *to,
                                  double elapsed_us)
{
    crn_resource_pressure pressure = {
        .some = CRN_RESOURCE_UNKNOWN, .full = CRN_RESOURCE_UNKNOWN, .of_group = to->of_group};
    if (!from->known || !to->known || from->of_group != to->of_group || elapsed_us <= 0)
        return pressure;
    pressure.some = share(from->some_us, to->some_us, elapsed_us);
    if (from->full_known && to->full_known)
        pressure.full = share(from->full_us, to->full_us, elapsed_us);
    return pressure;
}

void crn_resource_pressure_tell(const crn_resource_sample *from, const crn_resource_sample *to,
                                crn_resources *ret_resources)
{
    double elapsed_us = (double)(to->ns - from->ns) / 1e3;
    ret_resources->cpu = tell(&from->stalls[0], &to->stalls[0], elapsed_us);
    ret_resources->io = tell(&from->stalls[1], &to->stalls[1], elapsed_us);
    ret_resources->memory_pressure = tell(&from->stalls[2], &to->stalls[2], elapsed_us);
}
