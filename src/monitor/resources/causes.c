/*
 * Which resource explains that views or copies were lost. For each the question is: would nothing
 * have been lost without it? The processor time that all views would have needed is compared with
 * what there is; so other programs are not blamed for too many fruits, nor the reverse.
 */
#include "src/monitor/resources/resources.h"

/* Of the CPUs' time, or of the workers': views arrive unevenly, so that some wait from here on. */
#define OVERLOADED 0.85

/* Taken by others (or the host) that alone explains losses of a line that would else have had
 * enough: below, a machine's usual services. */
#define TAKEN 0.10

/* Taken that is blamed beside an overload: the programs that send the views and read the verdicts
 * of such a line take up to a third themselves. */
#define TAKEN_BESIDE_OVERLOAD 0.40

/* Others harm only if a thread waits: so much of its time is more than scheduling by turns, */
#define DELAYED 0.05

/* and only if there is no other CPU for it: all of them are in use, or it waits for long all the
 * same, as one that is bound to a CPU. */
#define ALL_IN_USE   0.85
#define DELAYED_LONG 0.20

/* Of the quota's periods: each costs up to 100 ms, a fruit's budget. */
#define THROTTLED 0.05

/* Of the time in which some task waited for memory; a healthy machine has next to nothing. */
#define MEMORY_STALLED 0.10
#define SWAP_GROWN     (INT64_C(16) << 20)

/* Of the time in which some task waited for a disk: below, a writer that loses copies lacked the
 * processor, not the disk. */
#define DISK_STALLED 0.10

/* A disk that answers nothing for so long takes nothing, either. */
#define DISK_SILENT_S 5

/* Of a device's batches, one in so many near its time limit. */
#define SLOW_BATCHES 16

static uint64_t views_lost(const crn_resource_demand *demand)
{
    return demand->views_discarded + demand->views_unfinished;
}

/* The processor time of a view's run, in seconds. Those that were stopped had half of it, in the
 * mean. Unknown if nothing ran, or the kernel does not tell. */
static double seconds_a_view(const crn_resources *resources, const crn_resource_demand *demand)
{
    double ran = resources->threads[CRN_RESOURCE_WORKERS].ran;
    double views = (double)demand->views_judged + (double)demand->views_unfinished / 2;
    if (!crn_resource_known(ran) || views <= 0)
        return CRN_RESOURCE_UNKNOWN;
    return ran * demand->seconds / views;
}

/* Processor time that the lost views would have taken, in CPUs. */
static double lacking_cpus(const crn_resources *resources, const crn_resource_demand *demand)
{
    double each = seconds_a_view(resources, demand);
    double views = (double)demand->views_discarded + (double)demand->views_unfinished / 2;
    return crn_resource_known(each) && demand->seconds > 0 ? views * each / demand->seconds
                                                           : CRN_RESOURCE_UNKNOWN;
}

/* Whether the views needed more than this machine has, were it the line's alone. */
static bool is_overloaded(const crn_resources *resources, const crn_resource_demand *demand)
{
    const crn_resource_processor *processor = &resources->processor;
    const crn_resource_group *workers = &resources->threads[CRN_RESOURCE_WORKERS];
    double lacking = lacking_cpus(resources, demand);
    if (resources->threads[CRN_RESOURCE_LINE].ran >= OVERLOADED)
        return true;
    if (!crn_resource_known(lacking))
        return false;
    if (crn_resource_known(processor->own) &&
        processor->own * processor->cpus + lacking >= OVERLOADED * processor->cpus)
        return true;
    return workers->ran + lacking >= OVERLOADED * workers->threads;
}

/* The longest wait for a CPU of the threads that judge; unknown if the kernel does not tell. */
static double worst_delay(const crn_resources *resources)
{
    double worst = CRN_RESOURCE_UNKNOWN;
    for (int i = CRN_RESOURCE_LINE; i <= CRN_RESOURCE_DEVICES; i++)
        if (resources->threads[i].delay > worst)
            worst = resources->threads[i].delay;
    return worst;
}

static bool is_enough(double share, bool overloaded)
{
    return share >= (overloaded ? TAKEN_BESIDE_OVERLOAD : TAKEN);
}

/* Whether what other programs have explains losses: a CNN beside the line takes CPUs that are free.
 */
static bool is_taken(const crn_resource_processor *processor, bool overloaded, double delay)
{
    double in_use = processor->own + processor->others + processor->interrupts + processor->stolen;
    if (!is_enough(processor->others, overloaded))
        return false;
    return !crn_resource_known(delay) || delay >= DELAYED_LONG ||
           (delay >= DELAYED && in_use >= ALL_IN_USE);
}

static bool memory_is_short(const crn_resources *resources)
{
    return resources->memory_pressure.some >= MEMORY_STALLED ||
           resources->memory.swap_grown_bytes >= SWAP_GROWN;
}

static bool device_is_busy(const crn_resource_demand *demand)
{
    return demand->device_batches_slow > 0 &&
           demand->device_batches_slow * SLOW_BATCHES >= demand->device_views;
}

static unsigned causes_of_views(const crn_resources *resources, const crn_resource_demand *demand)
{
    const crn_resource_processor *processor = &resources->processor;
    bool overloaded = is_overloaded(resources, demand);
    double delay = worst_delay(resources);
    unsigned causes = 0;
    if (overloaded)
        causes |= CRN_RESOURCE_CAUSE_OVERLOAD;
    if (is_taken(processor, overloaded, delay))
        causes |= CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN;
    /* A guest does not see its threads wait for the host. */
    if (is_enough(processor->stolen, overloaded))
        causes |= CRN_RESOURCE_CAUSE_PROCESSOR_STOLEN;
    if (processor->periods_throttled >= THROTTLED)
        causes |= CRN_RESOURCE_CAUSE_PROCESSOR_THROTTLED;
    if (memory_is_short(resources))
        causes |= CRN_RESOURCE_CAUSE_MEMORY;
    if (device_is_busy(demand))
        causes |= CRN_RESOURCE_CAUSE_DEVICE_BUSY;
    /* Nothing was taken from the line, and its processor suffices: they are too many for a device.
     */
    if (causes == 0 && demand->device_views > 0)
        causes |= CRN_RESOURCE_CAUSE_OVERLOAD;
    return causes;
}

/* The queue of a writer at a low priority also gets full when it gets no processor. */
static unsigned causes_of_dropped_copies(const crn_resources *resources)
{
    const crn_resource_group *writers = &resources->threads[CRN_RESOURCE_WRITERS];
    bool disk_is_idle = crn_resource_known(resources->io.some) && resources->io.some < DISK_STALLED;
    if (disk_is_idle && writers->delay >= DELAYED && resources->processor.others >= TAKEN)
        return CRN_RESOURCE_CAUSE_WRITERS_DELAYED;
    return CRN_RESOURCE_CAUSE_DISK;
}

unsigned crn_resources_causes(const crn_resources *resources, const crn_resource_demand *demand)
{
    unsigned causes = 0;
    if (views_lost(demand) > 0)
        causes |= causes_of_views(resources, demand);
    if (demand->copies_dropped > 0)
        causes |= causes_of_dropped_copies(resources);
    if (demand->copies_refused > 0)
        causes |= CRN_RESOURCE_CAUSE_DISK;
    for (int i = CRN_RESOURCE_RECORD; i <= CRN_RESOURCE_LOG; i++)
        if (resources->disks[i].silent_s >= DISK_SILENT_S)
            causes |= CRN_RESOURCE_CAUSE_DISK;
    return causes;
}
