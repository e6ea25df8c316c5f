/* Shared by the files of this folder only: a sample of the kernel's counters, one function for each
 * kind, and how they read files. */
#ifndef CRN_SRC_MONITOR_RESOURCES_INTERNAL_H
#define CRN_SRC_MONITOR_RESOURCES_INTERNAL_H

#include <stddef.h>

#include "src/monitor/resources/disks.h"
#include "src/monitor/resources/resources.h"

#define CRN_RESOURCE_SAMPLES       (CRN_RESOURCES_WINDOW_S + 1)
#define CRN_RESOURCE_THREADS_MAX   256
#define CRN_RESOURCE_FOLDER_BYTES  512
#define CRN_RESOURCE_TEXT_BYTES    65536 /* /proc/stat of some 600 CPUs, which come first in it */
#define CRN_RESOURCE_PRESSURES     3
#define CRN_RESOURCE_ENTRIES_BYTES 8192

/* Ticks of the CPUs, from their start. */
typedef struct crn_resource_ticks {
    bool known;
    cpu_set_t cpus; /* those that are counted */
    uint64_t all, idle, interrupts, stolen, own;
} crn_resource_ticks;

/* Of the control group. */
typedef struct crn_resource_throttling {
    bool known;
    uint64_t periods, throttled_periods, throttled_us;
} crn_resource_throttling;

typedef struct crn_resource_stall {
    bool known, full_known, of_group;
    uint64_t some_us, full_us;
} crn_resource_stall;

typedef struct crn_resource_sample {
    int64_t ns;
    crn_resource_ticks ticks;
    crn_resource_throttling throttling;
    crn_resource_stall stalls[CRN_RESOURCE_PRESSURES]; /* cpu, io, memory */
    int64_t swap_bytes;
} crn_resource_sample;

typedef struct crn_resource_thread {
    int32_t id; /* 0: a free entry */
    crn_resource_threads group;
    bool timed;           /* the kernel tells its times */
    uint64_t first, last; /* rounds in which it was seen */
    uint64_t ran_ns[CRN_RESOURCE_SAMPLES], waited_ns[CRN_RESOURCE_SAMPLES];
} crn_resource_thread;

struct crn_resources_reader {
    char root[CRN_RESOURCE_FOLDER_BYTES];
    char group[CRN_RESOURCE_FOLDER_BYTES]; /* path of the control group; "": the root of all */
    bool cpus_given;
    cpu_set_t cpus;
    uint64_t round;                                    /* the number of the last sample, from 1 */
    crn_resource_sample samples[CRN_RESOURCE_SAMPLES]; /* that of a round at round % SAMPLES */
    crn_resource_thread threads[CRN_RESOURCE_THREADS_MAX];
    crn_resource_disk_watch *disks[CRN_RESOURCE_DISKS];
    crn_resources latest;
    char text[CRN_RESOURCE_TEXT_BYTES]; /* of the file in hand */
    _Alignas(8) char entries[CRN_RESOURCE_ENTRIES_BYTES];
};

/* --- files.c --- */

/* Reads the file below the root into reader->text, as far as it fits. False if there is none. */
__attribute__((format(printf, 2, 3))) bool crn_resource_read(crn_resources_reader *reader,
                                                             const char *format, ...);

/* The number behind `key` at the start of a line of the text. */
bool crn_resource_find(const char *text, const char *key, uint64_t *ret_number);

/* Finds the process's control group of version 2. */
void crn_resource_find_group(crn_resources_reader *reader);

/* Cuts the last part of a group's path; false at the root. */
bool crn_resource_group_parent(char group[CRN_RESOURCE_FOLDER_BYTES]);

/* --- one for each kind --- */

/* Reads the threads' times of this round; *ret_cpus: where those that judge may run. */
void crn_resource_threads_read(crn_resources_reader *reader, cpu_set_t *ret_cpus);
void crn_resource_threads_tell(const crn_resources_reader *reader, uint64_t rounds,
                               crn_resources *ret_resources);

void crn_resource_processor_read(crn_resources_reader *reader, const cpu_set_t *cpus,
                                 crn_resource_sample *ret_sample);
void crn_resource_processor_tell(crn_resources_reader *reader, const crn_resource_sample *from,
                                 const crn_resource_sample *to,
                                 crn_resource_processor *ret_processor);

void crn_resource_pressure_read(crn_resources_reader *reader, crn_resource_sample *ret_sample);
void crn_resource_pressure_tell(const crn_resource_sample *from, const crn_resource_sample *to,
                                crn_resources *ret_resources);

/* Levels, and what the sample needs of them. */
void crn_resource_memory_read(crn_resources_reader *reader, crn_resource_memory *ret_memory);

#endif
