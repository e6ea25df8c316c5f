/* In a build without libmodbus. */
#include <errno.h>

#include "tools/bench/bench.h"
#include "tools/bench/line/outlets/coils.h"
#include "tools/bench/line/outlets/plc.h"

int crn_bench_plc_open(uint16_t port, crn_bench_plc **ret_plc)
{
    (void)port;
    (void)ret_plc;
    return -ENOTSUP;
}

void crn_bench_plc_close(crn_bench_plc **plc)
{
    (void)plc;
}

int crn_bench_plc_await(crn_bench_plc *plc, uint64_t fruit, int64_t until_ns)
{
    (void)plc;
    (void)fruit;
    (void)until_ns;
    return -ENOTSUP;
}

int crn_bench_coils_open(uint16_t port, crn_bench_coils **ret_coils)
{
    (void)port;
    (void)ret_coils;
    return -ENOTSUP;
}

void crn_bench_coils_close(crn_bench_coils **coils)
{
    (void)coils;
}

int crn_bench_coils_await(crn_bench_coils *coils, int64_t since_ns, int64_t until_ns,
                          int64_t *ret_written_ns)
{
    (void)coils;
    (void)since_ns;
    (void)until_ns;
    (void)ret_written_ns;
    return -ENOTSUP;
}

int crn_bench_reader_writer(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return CRN_EXIT_FAILED;
}
