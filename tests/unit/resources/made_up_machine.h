/* Shared by the tests of this folder: a machine whose counters a test advances, as files below a
 * root. */
#ifndef CRN_TESTS_UNIT_RESOURCES_MADE_UP_MACHINE_H
#define CRN_TESTS_UNIT_RESOURCES_MADE_UP_MACHINE_H

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/monitor/resources/resources.h"
#include "stages/base/clock.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"

#define CRN_MADE_UP_CPUS    4
#define CRN_MADE_UP_PROCESS 100

typedef struct made_up_thread {
    int id;
    const char *name;
    double ran_s, waited_s;
} made_up_thread;

/* Counters since the boot. The threads: as many as have a name. */
typedef struct made_up_counters {
    double busy_s, interrupts_s, stolen_s, idle_s; /* sums over the CPUs; busy: by all programs */
    double own_s;
    double some_s[3], full_s[3]; /* cpu, io, memory */
    int periods, throttled;
    double throttled_s;
    int64_t resident_kib, swap_kib, available_kib;
    made_up_thread threads[6];
} made_up_counters;

/* Writes one file below the root, with its folders. */
__attribute__((format(printf, 2, 3))) static inline void made_up_file(const char *path,
                                                                      const char *format, ...)
{
    char whole[400];
    snprintf(whole, sizeof whole, "%s%s", test_folder, path);
    for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
}

static inline long made_up_ticks(double seconds)
{
    return (long)(seconds * 100 + 0.5);
}

static inline void made_up_processor(const made_up_counters *c)
{
    char text[2000] = "cpu  1 2 3 4 5 6 7 8 9 10\n";
    for (int cpu = 0; cpu < CRN_MADE_UP_CPUS; cpu++)
        sprintf(text + strlen(text), "cpu%d %ld 0 0 %ld 0 0 %ld %ld 0 0\n", cpu,
                made_up_ticks(c->busy_s / CRN_MADE_UP_CPUS),
                made_up_ticks(c->idle_s / CRN_MADE_UP_CPUS),
                made_up_ticks(c->interrupts_s / CRN_MADE_UP_CPUS),
                made_up_ticks(c->stolen_s / CRN_MADE_UP_CPUS));
    made_up_file("/proc/stat", "%sintr 1 2 3\nctxt 4\n", text);
    made_up_file("/proc/self/stat", "%d (cer) nitad) S 1 1 1 0 -1 0 0 0 0 0 %ld 0 0 0 20 0 5 0 9 0",
                 CRN_MADE_UP_PROCESS, made_up_ticks(c->own_s));
}

static inline void made_up_threads(const made_up_counters *c)
{
    char path[100];
    for (size_t i = 0; i < sizeof c->threads / sizeof *c->threads && c->threads[i].name; i++) {
        const made_up_thread *thread = &c->threads[i];
        sprintf(path, "/proc/self/task/%d/comm", thread->id);
        made_up_file(path, "%s\n", thread->name);
        sprintf(path, "/proc/self/task/%d/schedstat", thread->id);
        made_up_file(path, "%.0f %.0f 77\n", thread->ran_s * 1e9, thread->waited_s * 1e9);
    }
}

/* In that folder, as cpu.pressure or as cpu. */
static inline void made_up_pressure(const made_up_counters *c, const char *folder, const char *end)
{
    static const char *const names[] = {"cpu", "io", "memory"};
    for (int i = 0; i < 3; i++) {
        char path[200];
        sprintf(path, "%s/%s%s", folder, names[i], end);
        made_up_file(path,
                     "some avg10=9.00 avg60=9.00 avg300=9.00 total=%.0f\n"
                     "full avg10=9.00 avg60=9.00 avg300=9.00 total=%.0f\n",
                     c->some_s[i] * 1e6, c->full_s[i] * 1e6);
    }
}

static inline void made_up_memory(const made_up_counters *c)
{
    made_up_file("/proc/self/status", "Name:\tcernitad\nVmRSS:\t%8ld kB\nVmSwap:\t%8ld kB\n",
                 (long)c->resident_kib, (long)c->swap_kib);
    made_up_file("/proc/meminfo",
                 "MemTotal:       1000000 kB\nMemFree:   7 kB\nMemAvailable:   %ld kB\n",
                 (long)c->available_kib);
}

/* The parts that every machine has. */
static inline void made_up_write(const made_up_counters *c)
{
    made_up_processor(c);
    made_up_threads(c);
    made_up_memory(c);
}

/* A reader of it, freed after the test. */
static inline void made_up_free(void *reader)
{
    crn_resources_reader *own = reader;
    crn_resources_free(&own);
}

static inline crn_resources_reader *made_up_open(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int cpu = 0; cpu < CRN_MADE_UP_CPUS; cpu++)
        CPU_SET(cpu, &cpus);
    crn_resources_settings settings = {.root = test_folder, .cpus = &cpus};
    crn_resources_reader *reader = NULL;
    assert_int_equal(crn_resources_create(&settings, &reader), 0);
    crn_cleanup_add(made_up_free, reader);
    return reader;
}

#endif
