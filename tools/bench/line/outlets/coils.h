/* A PLC whose coils are written, by a thread of its own, which notes when. plc_none.c stands for it
 * in a build without libmodbus. */
#ifndef CRN_TOOLS_BENCH_LINE_OUTLETS_COILS_H
#define CRN_TOOLS_BENCH_LINE_OUTLETS_COILS_H

#include <stdint.h>

#define CRN_BENCH_COILS 8

typedef struct crn_bench_coils crn_bench_coils;

/* Listens at that port of this machine. 0, -ENOTSUP: built without libmodbus, or another negative
 * errno. */
int crn_bench_coils_open(uint16_t port, crn_bench_coils **ret_coils);
void crn_bench_coils_close(crn_bench_coils **coils);

/* Waits for a coil that was written on at `since_ns` or later, at most until `until_ns`. Each is
 * told once; of several that nobody waited for, the last. All times are of crn_now_ns(). 0 or
 * -ETIMEDOUT. For one thread. */
int crn_bench_coils_await(crn_bench_coils *coils, int64_t since_ns, int64_t until_ns,
                          int64_t *ret_written_ns);

#endif
