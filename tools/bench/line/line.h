/* What the measurements of the line benchmark share. */
#ifndef CRN_TOOLS_BENCH_LINE_LINE_H
#define CRN_TOOLS_BENCH_LINE_LINE_H

#include "stages/config/config.h"
#include "tools/bench/line/drive.h"
#include "tools/common/options.h"

typedef struct crn_bench_line {
    const char *recording, *daemon_config, *beside;
    int32_t backend;
    int32_t pairs;
    int32_t lanes, producers, daemons; /* of --lanes; lanes 0: not asked for */
    int32_t kind;                      /* of their slots: index in crn_bench_kind_names */
    double rate;
    double seconds;        /* of the run at `rate` */
    double probe_seconds;  /* of each run of the throughput search */
    double search_seconds; /* of the search, for receiver and daemon together */
    bool json, slots;
    crn_config config; /* the daemon's */
    crn_bench_frames frames;
} crn_bench_line;

extern const crn_tool crn_bench_line_tool;

extern const char *const crn_bench_kind_names[]; /* "memfd", "vmm", NULL */

/* Loads the daemon's settings; path NULL: those installed with this program. 0 or a negative errno
 * with *error. */
int crn_bench_line_config(const char *path, crn_error *error, crn_config *ret_config);

/* The first views of a recording, or of a folder of recordings, that are sent in a loop. 0 or a
 * negative errno with *error. */
int crn_bench_line_frames(const char *recording, bool photographs, crn_error *error,
                          crn_bench_frames *ret_frames);

/* What is measured. */
typedef struct crn_bench_subject {
    crn_peer_kind kind;
    crn_peer_path path; /* by which views reach it */
    const char *name;
} crn_bench_subject;

/* Starts the peer, sends it that load, and stops it. As crn_drive(). */
int crn_bench_line_run(const crn_bench_line *given, const crn_bench_subject *of,
                       const crn_drive_load *load, crn_drive_result *ret_result);

typedef struct crn_bench_spread {
    double median, min, max;
} crn_bench_spread;

/* Sorts the values. */
crn_bench_spread crn_bench_spread_of(double *values, int count);

/* Measures the daemon with the settings of both by turns, given->pairs times, and prints the
 * medians and what the other has more. 0 or a negative errno. */
int crn_bench_line_beside(const crn_bench_line *given, const crn_bench_line *other);

/* Measures floor and daemon by turns, given->pairs times, and prints the medians. 0 or a negative
 * errno. */
int crn_bench_line_pairs(const crn_bench_line *given);

/* Measures daemons with many lanes, and prints it. 0 or a negative errno. */
int crn_bench_line_lanes(const crn_bench_line *given);

#endif
