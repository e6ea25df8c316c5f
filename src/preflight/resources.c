/* What the start will take of the machine: memory, descriptors, threads, devices, priorities. */
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/ingest/socket/descriptors.h"
#include "src/line/line.h"
#include "src/service/machine.h"
#include "src/preflight/internal.h"
#include "src/realtime/realtime.h"
#include "stages/backend.h"
#include "stages/base/process/thread.h"

/* Descriptors that the line opens without any peer: sockets, their monitors, libzmq's wake-ups,
 * files; some thirty were counted with one worker and no device. */
#define DESCRIPTORS_OWN 64

/* libzmq's threads for a context with one I/O thread. */
#define CONTEXT_THREADS 2

void crn_preflight_memory(crn_preflight_check *check)
{
    const crn_config *config = check->config;
    uint64_t bytes = crn_line_bytes(config);
    uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t used, resident;
    struct rlimit space;
    const char *rings = config->ingest.slots.path[0] ? ", ingest.slots" : "";
    crn_machine_memory(&used, &resident);
    if (bytes > there)
        crn_preflight_fail(
            check, "limits",
            "they reserve %" PRIu64 " MiB, %" PRId64 " + %" PRId64 " slots of %" PRId64
            " MiB among them, and this machine has %" PRIu64
            " MiB of memory; lower limits.slots, monitor.keep_slots%s or limits.view_mib",
            bytes >> 20, config->limits.slots,
            crn_line_kept_slots(config) + crn_line_recorded_slots(config), config->limits.view_mib,
            there >> 20, rings);
    else if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY &&
             bytes + used > space.rlim_cur)
        crn_preflight_fail(check, "limits",
                           "they reserve %" PRIu64 " MiB, and this process may have %" PRIu64
                           " MiB of address space; lower limits.slots, monitor.keep_slots%s or "
                           "limits.view_mib, or "
                           "raise it (ulimit -v, LimitAS= of a unit)",
                           bytes >> 20, (uint64_t)space.rlim_cur >> 20, rings);
}

/* Same computation as crn_descriptors_reserve: the soft limit is
 * raised as far as the hard one allows. */
void crn_preflight_descriptors(crn_preflight_check *check)
{
    struct rlimit files;
    int64_t needed = crn_descriptors_needed(CRN_LINE_PORTS, check->config->limits.peers);
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= (rlim_t)needed)
        return;
    int64_t there = (int64_t)files.rlim_max;
    if (there < DESCRIPTORS_OWN)
        crn_preflight_fail(check, "limits.peers",
                           "this process may open %" PRId64
                           " files, and the line needs %d without any peer; "
                           "raise it (ulimit -Hn, LimitNOFILE= of a unit)",
                           there, DESCRIPTORS_OWN);
    else
        crn_preflight_note(
            check, "limits.peers",
            "%" PRId64 " connections to each port need %" PRId64
            " descriptors and this process may have %" PRId64
            ", so the start lowers it; raise them (ulimit -Hn, LimitNOFILE= of a unit)",
            check->config->limits.peers, needed, there);
}

/* Threads that the line starts beside the one that calls this. */
static int threads_needed(const crn_config *config)
{
    int64_t count = 2 * CONTEXT_THREADS + 1 /* viewers */ + 1 /* control */ + 1 /* service */ +
                    1 /* conditions */ + 1 /* minutes */;
    count += config->monitor.http[0] != '\0';
    /* A writer, and a thread that asks for the free space. */
    count += config->record.dir[0] ? 2 : 0;
    count += config->publish.log.dir[0] ? 2 : 0;
    count += config->state.dir[0] ? 3 : 0; /* alarms and changes are written */
    count += config->access.keys[0] ? 2 : 0;
    count += crn_config_measures(config);
    return (int)(count + config->run.workers * config->run.threads);
}

void crn_preflight_threads(crn_preflight_check *check)
{
    int needed = threads_needed(check->config), room = crn_thread_room(needed);
    if (room < needed)
        crn_preflight_fail(
            check, "run.workers",
            "the line needs %d threads, %" PRId64 " workers of %" PRId64
            " among them, and can start %d; raise their number (ulimit -u; LimitNPROC= and "
            "TasksMax= of a unit; a container's pids limit) or lower run.workers and run.threads",
            needed, check->config->run.workers, check->config->run.threads, room);
}

void crn_preflight_devices(crn_preflight_check *check, const crn_gpu *gpu)
{
    const crn_config *config = check->config;
    int32_t backend = config->run.backend;
    if (!gpu || (backend != CRN_BACKEND_CUDA && backend != CRN_BACKEND_AUTO))
        return;
    int32_t there = gpu->count();
    for (int32_t i = 0; i < config->run.devices.count; i++) {
        int64_t number = config->run.devices.item[i];
        if (number >= there && backend == CRN_BACKEND_CUDA)
            crn_preflight_fail(check, "run.devices",
                               "there is no device %" PRId64
                               "; this machine has %d, numbered from 0",
                               number, (int)there);
        else if (number >= there)
            crn_preflight_note(check, "run.devices",
                               "there is no device %" PRId64
                               "; this machine has %d, numbered from 0; it is left out",
                               number, (int)there);
    }
}

void crn_preflight_realtime(crn_preflight_check *check)
{
    crn_realtime_problem problems[CRN_REALTIME_PROBLEMS_MAX];
    int count = crn_realtime_try(check->config, problems);
    for (int i = 0; i < count; i++) {
        if (problems[i].fatal)
            crn_preflight_fail(check, problems[i].key, "%s", problems[i].text);
        else
            crn_preflight_note(check, problems[i].key, "%s", problems[i].text);
    }
}
