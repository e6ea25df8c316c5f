/* How long each thread ran, and how long it waited for a CPU: /proc/self/task/ID/schedstat. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/monitor/resources/internal.h"

/* A thread's name may come some time after its start: so many rounds it is looked at again. */
#define NAMING_ROUNDS 3

static crn_resource_threads group_of(crn_resources_reader *reader, int32_t id, uint64_t process)
{
    static const struct {
        const char *begin;
        crn_resource_threads group;
    } names[] = {
        {"worker ", CRN_RESOURCE_WORKERS},
        {"device ", CRN_RESOURCE_DEVICES},
        {"recorder", CRN_RESOURCE_WRITERS},
        {"verdict-log", CRN_RESOURCE_WRITERS},
    };
    if ((uint64_t)id == process)
        return CRN_RESOURCE_LINE;
    if (crn_resource_read(reader, "/proc/self/task/%d/comm", (int)id))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(reader->text, names[i].begin, strlen(names[i].begin)) == 0)
                return names[i].group;
    return CRN_RESOURCE_REST;
}

/* The thread's entry, a new one if it has none; NULL if all are taken. */
static crn_resource_thread *find_thread(crn_resources_reader *reader, int32_t id)
{
    crn_resource_thread *unused = NULL;
    for (int i = 0; i < CRN_RESOURCE_THREADS_MAX; i++) {
        if (reader->threads[i].id == id)
            return &reader->threads[i];
        if (!unused && reader->threads[i].id == 0)
            unused = &reader->threads[i];
    }
    if (unused)
        *unused = (crn_resource_thread){.id = id, .first = reader->round};
    return unused;
}

static void read_times(crn_resources_reader *reader, crn_resource_thread *thread)
{
    size_t now = reader->round % CRN_RESOURCE_SAMPLES;
    size_t before = (reader->round - 1) % CRN_RESOURCE_SAMPLES;
    char *end = reader->text;
    thread->timed = crn_resource_read(reader, "/proc/self/task/%d/schedstat", (int)thread->id);
    thread->ran_ns[now] = thread->timed ? strtoull(reader->text, &end, 10) : 0;
    thread->waited_ns[now] = thread->timed ? strtoull(end, NULL, 10) : 0;
    /* Another thread has got the number of one that ended. */
    if (thread->first < reader->round && thread->ran_ns[now] < thread->ran_ns[before])
        thread->first = reader->round;
}

static void add_cpus(const crn_resource_thread *thread, cpu_set_t *cpus)
{
    cpu_set_t own;
    if (thread->group <= CRN_RESOURCE_DEVICES &&
        sched_getaffinity(thread->id, sizeof own, &own) == 0)
        CPU_OR(cpus, cpus, &own);
}

static void read_thread(crn_resources_reader *reader, int32_t id, uint64_t process, cpu_set_t *cpus)
{
    crn_resource_thread *thread = find_thread(reader, id);
    if (!thread)
        return;
    thread->last = reader->round;
    if (reader->round - thread->first < NAMING_ROUNDS)
        thread->group = group_of(reader, id, process);
    read_times(reader, thread);
    if (!reader->cpus_given)
        add_cpus(thread, cpus);
}

void crn_resource_threads_read(crn_resources_reader *reader, cpu_set_t *ret_cpus)
{
    char path[2 * CRN_RESOURCE_FOLDER_BYTES];
    uint64_t process = 0;
    if (crn_resource_read(reader, "/proc/self/stat"))
        process = strtoull(reader->text, NULL, 10);
    snprintf(path, sizeof path, "%s/proc/self/task", reader->root);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t size = 0;
    *ret_cpus = reader->cpus;
    while (folder >= 0 && (size = getdents64(folder, reader->entries, sizeof reader->entries)) > 0)
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(reader->entries + at);
            at += entry->d_reclen;
            int32_t id = (int32_t)strtol(entry->d_name, NULL, 10);
            if (id > 0)
                read_thread(reader, id, process, ret_cpus);
        }
    if (folder >= 0)
        close(folder);
    for (int i = 0; i < CRN_RESOURCE_THREADS_MAX; i++)
        if (reader->threads[i].last != reader->round)
            reader->threads[i].id = 0;
}

/* What one thread adds to its group. */
static void tell_thread(const crn_resources_reader *reader, const crn_resource_thread *thread,
                        uint64_t rounds, crn_resource_group *group)
{
    uint64_t known = reader->round - thread->first;
    size_t to = reader->round % CRN_RESOURCE_SAMPLES;
    size_t from = (reader->round - (known < rounds ? known : rounds)) % CRN_RESOURCE_SAMPLES;
    group->threads++;
    if (from == to || !thread->timed)
        return;
    double elapsed_ns = (double)(reader->samples[to].ns - reader->samples[from].ns);
    double ran = (double)(thread->ran_ns[to] - thread->ran_ns[from]) / elapsed_ns;
    double delay = (double)(thread->waited_ns[to] - thread->waited_ns[from]) / elapsed_ns;
    /* A wait is counted at its end, and may have begun before the window. */
    delay = delay < 1 ? delay : 1;
    group->ran = (crn_resource_known(group->ran) ? group->ran : 0) + ran;
    group->delay = delay > group->delay ? delay : group->delay;
}

void crn_resource_threads_tell(const crn_resources_reader *reader, uint64_t rounds,
                               crn_resources *ret_resources)
{
    for (int i = 0; i < CRN_RESOURCE_THREAD_GROUPS; i++)
        ret_resources->threads[i] =
            (crn_resource_group){.ran = CRN_RESOURCE_UNKNOWN, .delay = CRN_RESOURCE_UNKNOWN};
    for (int i = 0; i < CRN_RESOURCE_THREADS_MAX; i++)
        if (reader->threads[i].id > 0)
            tell_thread(reader, &reader->threads[i], rounds,
                        &ret_resources->threads[reader->threads[i].group]);
}
