/* The benchmarks behind cernita-bench; each prints its own table. */
#ifndef CRN_TOOLS_BENCH_BENCH_H
#define CRN_TOOLS_BENCH_BENCH_H

#include "tools/common/options.h"

/* Rows of the options that several benchmarks have; `settings` has the field of that name. */
#define CRN_BENCH_JSON(settings)                                                                   \
    CRN_OPTION_AT("json", NULL, settings, json,                                                    \
                  .help = "one JSON object per line instead of the table")
#define CRN_BENCH_SECONDS_OPTION(settings, text)                                                   \
    CRN_OPTION_AT("seconds", "S", settings, seconds,                                               \
                  .help = "measuring time per row; default " text, .min = 1e-6, .max = 3600)

/* Each takes the arguments from the subcommand (argv[0]) on and returns the exit status. */
int crn_bench_operators(int argc, char **argv);
int crn_bench_gpu(int argc, char **argv);
int crn_bench_phases(int argc, char **argv);
int crn_bench_values(int argc, char **argv);
int crn_bench_verdict(int argc, char **argv);
int crn_bench_judge(int argc, char **argv);
int crn_bench_surface(int argc, char **argv);
int crn_bench_of_line(int argc, char **argv);
int crn_bench_outlets(int argc, char **argv);
int crn_bench_reprocess(int argc, char **argv);
int crn_bench_list(int argc, char **argv);

/* `cernita-bench receiver IN OUT`: the baseline process of the line benchmark, see peer.h. */
int crn_bench_receiver(int argc, char **argv);

/* `cernita-bench floor LINE.yaml OUT`: the least that a line with slots can cost, see floor.c. */
int crn_bench_floor(int argc, char **argv);

/* `cernita-bench reader-writer IN PORT COILS`: the least between a camera and a PLC, see
 * line/outlets/reader_writer.c. */
int crn_bench_reader_writer(int argc, char **argv);

#endif
