#include "tools/bench/line/outlets/plc.h"

#include <errno.h>
#include <modbus.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "tools/common/window_registers.h"

#define CONNECT_WITHIN_NS (10 * CRN_NS_PER_S)
#define RETRY_MS          10

struct crn_bench_plc {
    modbus_t *modbus;
    uint16_t window[CRN_WINDOW_REGISTERS];
    uint16_t ack[CRN_WINDOW_ACKS]; /* run and number of the decision taken last */
};

int crn_bench_plc_open(uint16_t port, crn_bench_plc **ret_plc)
{
    int64_t until_ns = crn_now_ns() + CONNECT_WITHIN_NS;
    crn_bench_plc *self = calloc(1, sizeof *self);
    if (self)
        self->modbus = modbus_new_tcp("127.0.0.1", port);
    if (!self || !self->modbus) {
        free(self);
        return -ENOMEM;
    }
    while (modbus_connect(self->modbus) < 0) {
        if (crn_now_ns() > until_ns) {
            crn_bench_plc_close(&self);
            return -ETIMEDOUT;
        }
        poll(NULL, 0, RETRY_MS);
    }
    modbus_set_response_timeout(self->modbus, 10, 0);
    *ret_plc = self;
    return 0;
}

void crn_bench_plc_close(crn_bench_plc **plc)
{
    crn_bench_plc *self = *plc;
    if (!self)
        return;
    modbus_close(self->modbus);
    modbus_free(self->modbus);
    free(self);
    *plc = NULL;
}

/* Whether the window shows that fruit; what it shows is acknowledged with the next poll. */
static bool take_window(crn_bench_plc *self, uint64_t fruit)
{
    bool found = false;
    self->ack[0] = self->window[0];
    for (int i = 0; i < CRN_WINDOW_DECISIONS; i++) {
        const uint16_t *decision = self->window + CRN_WINDOW_HEADER + i * CRN_WINDOW_DECISION;
        if (!decision[1] && !decision[2])
            break;
        self->ack[1] = decision[1];
        self->ack[2] = decision[2];
        found = found || ((uint32_t)decision[3] << 16 | decision[4]) == (uint32_t)fruit;
    }
    return found;
}

int crn_bench_plc_await(crn_bench_plc *self, uint64_t fruit, int64_t until_ns)
{
    while (crn_now_ns() < until_ns) {
        if (modbus_write_and_read_registers(self->modbus, CRN_WINDOW_ACK, CRN_WINDOW_ACKS,
                                            self->ack, 0, CRN_WINDOW_REGISTERS, self->window) < 0)
            return errno < MODBUS_ENOBASE ? -errno : -EPROTO;
        if (take_window(self, fruit))
            return 0;
    }
    return -ETIMEDOUT;
}
