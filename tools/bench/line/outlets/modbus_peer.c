#include "tools/bench/line/outlets/modbus_peer.h"

#include <errno.h>
#include <unistd.h>

int crn_bench_modbus_open(crn_bench_modbus_peer *self, uint16_t port, int coils, int registers)
{
    *self = (crn_bench_modbus_peer){.listener = -1, .client = -1};
    self->modbus = modbus_new_tcp("127.0.0.1", port);
    self->mapping = modbus_mapping_new(coils, 0, registers, 0);
    if (!self->modbus || !self->mapping)
        return -ENOMEM;
    self->listener = modbus_tcp_listen(self->modbus, 1);
    return self->listener < 0 ? -errno : 0;
}

void crn_bench_modbus_close(crn_bench_modbus_peer *self)
{
    modbus_mapping_free(self->mapping);
    if (self->client >= 0)
        modbus_close(self->modbus);
    if (self->listener >= 0)
        close(self->listener);
    modbus_free(self->modbus);
}

int crn_bench_modbus_descriptor(const crn_bench_modbus_peer *self)
{
    return self->client >= 0 ? self->client : self->listener;
}

int crn_bench_modbus_serve(crn_bench_modbus_peer *self, uint8_t *query)
{
    if (self->client < 0) {
        self->client = modbus_tcp_accept(self->modbus, &self->listener);
        return 0;
    }
    int length = modbus_receive(self->modbus, query);
    if (length > 0)
        modbus_reply(self->modbus, query, length, self->mapping);
    if (length < 0) {
        modbus_close(self->modbus);
        self->client = -1;
    }
    return length;
}
