/*
 * Which resource is short: the processor, by other programs, by the virtual machine's host or by a
 * quota; memory; a disk; a device; or nothing but the number of fruits.
 *
 * Read once a second by one thread that is not the line's. All but levels are differences over the
 * last CRN_RESOURCES_WINDOW_S seconds, so that one odd second decides nothing and what is over is
 * forgotten. Nothing is allocated after crn_resources_create, and no call waits for a disk.
 */
#ifndef CRN_SRC_MONITOR_RESOURCES_RESOURCES_H
#define CRN_SRC_MONITOR_RESOURCES_RESOURCES_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_RESOURCES_WINDOW_S 5

/* In the place of a figure that the kernel does not tell, as in a container, or not yet: below any
 * threshold. Known figures are 0 or more. */
#define CRN_RESOURCE_UNKNOWN (-1)

/* --- the figures ------------------------------------------------------------------------------ */

/* Shares (0 to 1) of the time of the CPUs that the line's thread, the workers and the devices'
 * threads may run on. */
typedef struct crn_resource_processor {
    int32_t cpus;      /* that many; 0: unknown */
    double quota_cpus; /* the lowest cpu.max of the control group and its parents; unknown: none */
    double own;        /* by this process */
    double others;     /* by other programs */
    double interrupts; /* by the kernel, of any device */
    double stolen;     /* by the host of the virtual machine */
    /* Of the quota's periods (100 ms each) in which this process ran, those in which the quota ran
     * out, and the time for which CPUs then stood still, the mean over the CPUs. */
    double periods_throttled, throttled;
} crn_resource_processor;

/* Threads by what they do, found by their names. */
typedef enum crn_resource_threads {
    CRN_RESOURCE_LINE, /* the process's first thread */
    CRN_RESOURCE_WORKERS,
    CRN_RESOURCE_DEVICES,
    CRN_RESOURCE_WRITERS, /* the recorder's and the verdict log's */
    CRN_RESOURCE_REST,
    CRN_RESOURCE_THREAD_GROUPS,
} crn_resource_threads;

typedef struct crn_resource_group {
    int32_t threads;
    double ran;   /* shares of the time of one thread: their sum that ran */
    double delay; /* of the thread that waited longest for a CPU although it could have run */
} crn_resource_group;

/* Pressure stall information: shares of the time in which some, or all, of the tasks waited. Of the
 * daemon's control group, or of the whole machine where that has none. */
typedef struct crn_resource_pressure {
    double some, full;
    bool of_group;
} crn_resource_pressure;

typedef struct crn_resource_memory {
    int64_t resident_bytes;
    int64_t swap_bytes;       /* of this process, that are swapped out */
    int64_t swap_grown_bytes; /* by which they grew within the window */
    /* Of what is nearest to its end: a memory.max of the group and its parents, or the machine's
     * memory. Available is what can be had without swapping; used, the share that cannot. */
    int64_t limit_bytes, available_bytes;
    double used;
} crn_resource_memory;

/* Folders that the daemon writes to. */
typedef enum crn_resource_use {
    CRN_RESOURCE_RECORD, /* record.dir */
    CRN_RESOURCE_LOG,    /* publish.log.dir */
    CRN_RESOURCE_STATE,  /* the state folder */
    CRN_RESOURCE_DISKS,
} crn_resource_use;

extern const char *const crn_resource_use_names[CRN_RESOURCE_DISKS]; /* "record", "log", "state" */

typedef struct crn_resource_disk {
    bool on;             /* a folder is set */
    int64_t free_bytes;  /* to this user, as of the last answer */
    int64_t size_bytes;  /* 0: the disk never answered, or it refused */
    double silent_s;     /* for so long the disk has not answered; 0: it does */
    double fall_bytes_s; /* at which free space falls; unknown: it does not, or not known yet */
    double hours_left;   /* until spare_bytes are left at that rate; 0: they are not; else unknown
                            with it */
} crn_resource_disk;

typedef struct crn_resources {
    double window_s; /* covered by the differences; 0: there are none yet */
    crn_resource_processor processor;
    crn_resource_group threads[CRN_RESOURCE_THREAD_GROUPS];
    crn_resource_pressure cpu, io, memory_pressure;
    crn_resource_memory memory;
    crn_resource_disk disks[CRN_RESOURCE_DISKS];
} crn_resources;

/* False for CRN_RESOURCE_UNKNOWN. */
static inline bool crn_resource_known(double figure)
{
    return figure >= 0;
}

/* --- reading them ----------------------------------------------------------------------------- */

typedef struct crn_resources_reader crn_resources_reader;

/* A folder that the daemon writes to, and the free space at which it stops. */
typedef struct crn_resource_folder {
    const char *path; /* NULL or "": none */
    int64_t spare_bytes;
} crn_resource_folder;

/* Copied. */
typedef struct crn_resources_settings {
    const char *root;      /* before /proc and /sys/fs/cgroup; NULL: this machine's */
    const cpu_set_t *cpus; /* in the place of those that the threads may run on; NULL: those */
    crn_resource_folder folders[CRN_RESOURCE_DISKS];
} crn_resources_settings;

/* Starts a thread for each folder, as a disk that hangs holds whoever asks it, and waits up to a
 * second for their first answers. Returns 0 or a negative errno. */
int crn_resources_create(const crn_resources_settings *settings, crn_resources_reader **ret_reader);

/* The figures as of now; by one thread. Calls less than half a second apart return the same. */
void crn_resources_read(crn_resources_reader *reader, crn_resources *ret_resources);

/* The disks alone, at once, from any thread; `reader` NULL: none. */
void crn_resources_disks(crn_resources_reader *reader,
                         crn_resource_disk ret_disks[CRN_RESOURCE_DISKS]);

/* Frees and sets *reader to NULL; NULL is allowed. The thread of a disk that hangs is left
 * behind. */
void crn_resources_free(crn_resources_reader **reader);

/* --- the judgement ---------------------------------------------------------------------------- */

/* A set of them: each alone would explain losses. */
typedef enum crn_resource_cause {
    CRN_RESOURCE_CAUSE_NONE = 0,
    CRN_RESOURCE_CAUSE_OVERLOAD = 1 << 0,            /* too many views for this machine */
    CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN = 1 << 1,     /* by other programs: processor.others */
    CRN_RESOURCE_CAUSE_PROCESSOR_STOLEN = 1 << 2,    /* by the host: processor.stolen */
    CRN_RESOURCE_CAUSE_PROCESSOR_THROTTLED = 1 << 3, /* by the quota: processor.throttled */
    CRN_RESOURCE_CAUSE_MEMORY = 1 << 4,              /* the kernel reclaims or swaps */
    CRN_RESOURCE_CAUSE_DISK = 1 << 5,                /* of record.dir or publish.log.dir */
    CRN_RESOURCE_CAUSE_DEVICE_BUSY = 1 << 6,         /* batches take much longer than usual */
    CRN_RESOURCE_CAUSE_WRITERS_DELAYED = 1 << 7, /* of copies alone: others took the processor */
} crn_resource_cause;

/* What the line did in the last CRN_RESOURCES_WINDOW_S seconds: differences of its counts. */
typedef struct crn_resource_demand {
    double seconds;            /* that they cover */
    uint64_t views_judged;     /* ran to their end, wherever */
    uint64_t views_discarded;  /* never ran: discarded, no_slot */
    uint64_t views_unfinished; /* stopped */
    uint64_t copies_dropped;   /* by recorder and verdict log, as their queue was full */
    uint64_t copies_refused;   /* by their disks */
    uint64_t device_views;     /* of views_judged, those that a device ran */
    uint64_t device_batches_slow;
} crn_resource_demand;

/* The set of causes (crn_resource_cause) of what was lost; none if nothing was and each disk that
 * is written to answers. */
unsigned crn_resources_causes(const crn_resources *resources, const crn_resource_demand *demand);

CRN_C_END

#endif
