/* A PLC that polls a window of registers, and the least program that serves one. plc_none.c stands
 * for both in a build without libmodbus. */
#ifndef CRN_TOOLS_BENCH_LINE_OUTLETS_PLC_H
#define CRN_TOOLS_BENCH_LINE_OUTLETS_PLC_H

#include <stdint.h>

typedef struct crn_bench_plc crn_bench_plc;

/* Connects as soon as somebody listens at that port of this machine. 0; -ETIMEDOUT; -ENOTSUP: built
 * without libmodbus; another negative errno. */
int crn_bench_plc_open(uint16_t port, crn_bench_plc **ret_plc);
void crn_bench_plc_close(crn_bench_plc **plc);

/* Polls, one request after the other, until that fruit's decision is read, and acknowledges what it
 * reads. `until_ns` is of crn_now_ns(). 0, -ETIMEDOUT, or another negative errno. */
int crn_bench_plc_await(crn_bench_plc *plc, uint64_t fruit, int64_t until_ns);

#endif
