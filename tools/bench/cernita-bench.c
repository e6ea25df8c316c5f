/* cernita-bench: how fast the operators are, and what the line adds to moving the bytes. */
#include <string.h>

#include "stages/base/process/standard.h"
#include "tools/bench/bench.h"

static const crn_tool tool = {
    .name = "cernita-bench",
    .operands = "operators|gpu|phases|values|judge|verdict|line [options]",
    .about = "Benchmarks: `operators` times each operator by size, backend and threads;\n"
             "`gpu` times the operators on a device against their targets;\n"
             "`phases` times the parts of contours and ranklets;\n"
             "`values` times what the check of probabilities adds to the copy of a view;\n"
             "`judge` times the library's chain, on the processor and on a device;\n"
             "`verdict` times what a verdict costs the line's thread, by its defects;\n"
             "`line` runs the daemon against a receiver that only receives and copies.\n"
             "Each has its own --help.",
    .options = (const crn_option[]){{0}},
    .operands_min = 1,
    .operands_max = 1,
};

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-bench");
    if (argc > 1 && strcmp(argv[1], "operators") == 0)
        return crn_bench_operators(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "gpu") == 0)
        return crn_bench_gpu(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "phases") == 0)
        return crn_bench_phases(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "values") == 0)
        return crn_bench_values(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "judge") == 0)
        return crn_bench_judge(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "verdict") == 0)
        return crn_bench_verdict(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "line") == 0)
        return crn_bench_line(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "receiver") == 0)
        return crn_bench_receiver(argc - 1, argv + 1);
    const char *value;
    crn_options_next(&tool, argc, argv, &value);
    crn_usage_error(
        &tool,
        "'%s' is not a benchmark; choose operators, gpu, phases, values, judge, verdict "
        "or line",
        argc > 1 ? argv[1] : "");
}
