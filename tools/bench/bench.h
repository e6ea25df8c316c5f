/* The benchmarks behind cernita-bench; each prints its own table. */
#ifndef CRN_TOOLS_BENCH_BENCH_H
#define CRN_TOOLS_BENCH_BENCH_H

#include "tools/common/options.h"

/* Each takes the arguments from the subcommand (argv[0]) on and returns the exit status. */
int crn_bench_operators(int argc, char **argv);
int crn_bench_gpu(int argc, char **argv);
int crn_bench_phases(int argc, char **argv);
int crn_bench_values(int argc, char **argv);
int crn_bench_verdict(int argc, char **argv);
int crn_bench_judge(int argc, char **argv);
int crn_bench_line(int argc, char **argv);

/* `cernita-bench receiver IN OUT`: the baseline process of the line benchmark, see peer.h. */
int crn_bench_receiver(int argc, char **argv);

#endif
