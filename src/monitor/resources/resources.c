#include "src/monitor/resources/resources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/resources/internal.h"
#include "stages/base/clock.h"

/* Below this distance of two samples ticks of 10 ms would decide. */
#define APART_NS (CRN_NS_PER_S / 2)

/* How long the start waits for a disk's first answer. */
#define FIRST_ANSWER_NS CRN_NS_PER_S

const char *const crn_resource_use_names[CRN_RESOURCE_DISKS] = {"record", "log", "state"};

int crn_resources_create(const crn_resources_settings *settings, crn_resources_reader **ret_reader)
{
    crn_resources_reader *reader = calloc(1, sizeof *reader);
    int r = reader ? 0 : -ENOMEM;
    if (r < 0)
        return r;
    const char *root = settings->root ? settings->root : "";
    if (strlen(root) >= sizeof reader->root)
        r = -ENAMETOOLONG;
    else
        strcpy(reader->root, root);
    reader->cpus_given = settings->cpus != NULL;
    if (settings->cpus)
        reader->cpus = *settings->cpus;
    if (r == 0)
        crn_resource_find_group(reader);
    for (int i = 0; r == 0 && i < CRN_RESOURCE_DISKS; i++)
        if (settings->folders[i].path && settings->folders[i].path[0])
            r = crn_resource_disk_watch_start(&settings->folders[i], &reader->disks[i]);
    if (r < 0) {
        crn_resources_free(&reader);
        return r;
    }
    int64_t until_ns = crn_now_ns() + FIRST_ANSWER_NS;
    for (int i = 0; i < CRN_RESOURCE_DISKS; i++)
        crn_resource_disk_watch_await(reader->disks[i], until_ns);
    *ret_reader = reader;
    return 0;
}

void crn_resources_free(crn_resources_reader **reader)
{
    if (!reader || !*reader)
        return;
    for (int i = 0; i < CRN_RESOURCE_DISKS; i++)
        crn_resource_disk_watch_stop(&(*reader)->disks[i]);
    free(*reader);
    *reader = NULL;
}

void crn_resources_disks(crn_resources_reader *reader,
                         crn_resource_disk ret_disks[CRN_RESOURCE_DISKS])
{
    for (int i = 0; i < CRN_RESOURCE_DISKS; i++)
        crn_resource_disk_watch_read(reader ? reader->disks[i] : NULL, crn_now_ns(), &ret_disks[i]);
}

static void take_sample(crn_resources_reader *reader, int64_t now_ns, crn_resource_memory *memory)
{
    reader->round++;
    crn_resource_sample *sample = &reader->samples[reader->round % CRN_RESOURCE_SAMPLES];
    cpu_set_t cpus;
    crn_resource_threads_read(reader, &cpus);
    crn_resource_processor_read(reader, &cpus, sample);
    crn_resource_pressure_read(reader, sample);
    crn_resource_memory_read(reader, memory);
    sample->swap_bytes = memory->swap_bytes;
    sample->ns = now_ns;
}

static void tell(crn_resources_reader *reader, crn_resources *resources)
{
    uint64_t rounds =
        reader->round - 1 < CRN_RESOURCES_WINDOW_S ? reader->round - 1 : CRN_RESOURCES_WINDOW_S;
    const crn_resource_sample *to = &reader->samples[reader->round % CRN_RESOURCE_SAMPLES];
    const crn_resource_sample *from =
        &reader->samples[(reader->round - rounds) % CRN_RESOURCE_SAMPLES];
    resources->window_s = (double)(to->ns - from->ns) / (double)CRN_NS_PER_S;
    crn_resource_threads_tell(reader, rounds, resources);
    crn_resource_processor_tell(reader, from, to, &resources->processor);
    crn_resource_pressure_tell(from, to, resources);
    if (rounds > 0 && from->swap_bytes >= 0 && to->swap_bytes >= 0)
        resources->memory.swap_grown_bytes =
            to->swap_bytes > from->swap_bytes ? to->swap_bytes - from->swap_bytes : 0;
}

void crn_resources_read(crn_resources_reader *reader, crn_resources *ret_resources)
{
    int64_t now_ns = crn_now_ns();
    const crn_resource_sample *last = &reader->samples[reader->round % CRN_RESOURCE_SAMPLES];
    if (reader->round == 0 || now_ns - last->ns >= APART_NS) {
        take_sample(reader, now_ns, &reader->latest.memory);
        tell(reader, &reader->latest);
    }
    *ret_resources = reader->latest;
    crn_resources_disks(reader, ret_resources->disks);
}
