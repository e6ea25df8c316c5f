/* cernita-bench: how fast the operators are, and what the line adds to moving the bytes. */
#include <string.h>

#include "stages/base/process/standard.h"
#include "tools/bench/bench.h"

static const crn_tool tool = {
    .name = "cernita-bench",
    .operands =
        "operators|gpu|phases|values|judge|verdict|surface|line|outlets|reprocess|list [options]",
    .about = "Benchmarks: `operators` times each operator by size, backend and threads;\n"
             "`gpu` times the operators on a device against their targets;\n"
             "`phases` times the parts of contours and ranklets;\n"
             "`values` times what the check of probabilities adds to the copy of a view;\n"
             "`judge` times the library's chain, on the processor and on a device;\n"
             "`verdict` times what a verdict costs the line's thread, by its defects;\n"
             "`surface` says how exact areas on a fruit are, against synthetic fruits;\n"
             "`line` runs the daemon against a receiver that only receives and copies;\n"
             "`outlets` times the way from the camera to a register that a PLC reads;\n"
             "`reprocess` runs cernita-reprocess beside what limits it;\n"
             "`list` prints the cases of `operators` and `gpu`, for benchmarks of their peers.\n"
             "Each has its own --help.",
    .options = (const crn_option[]){{0}},
    .operands_min = 1,
    .operands_max = 1,
};

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} benchmarks[] = {
    {"operators", crn_bench_operators},
    {"gpu", crn_bench_gpu},
    {"phases", crn_bench_phases},
    {"values", crn_bench_values},
    {"judge", crn_bench_judge},
    {"verdict", crn_bench_verdict},
    {"surface", crn_bench_surface},
    {"line", crn_bench_of_line},
    {"list", crn_bench_list},
    {"receiver", crn_bench_receiver},
    {"floor", crn_bench_floor},
    {"outlets", crn_bench_outlets},
    {"reader-writer", crn_bench_reader_writer},
    {"reprocess", crn_bench_reprocess},
};

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-bench");
    for (size_t i = 0; argc > 1 && i < sizeof benchmarks / sizeof *benchmarks; i++)
        if (strcmp(argv[1], benchmarks[i].name) == 0)
            return benchmarks[i].run(argc - 1, argv + 1);
    const char *value;
    crn_options_next(&tool, argc, argv, &value);
    crn_usage_error(
        &tool,
        "'%s' is not a benchmark; choose operators, gpu, phases, values, judge, verdict, "
        "surface, line, outlets, reprocess or list",
        argc > 1 ? argv[1] : "");
}
