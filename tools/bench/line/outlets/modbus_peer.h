/* A Modbus server with one client, as a PLC's own: what the floor answers polls with, and what
 * coils are written to. For one thread. In a build with libmodbus alone. */
#ifndef CRN_TOOLS_BENCH_LINE_OUTLETS_MODBUS_PEER_H
#define CRN_TOOLS_BENCH_LINE_OUTLETS_MODBUS_PEER_H

#include <modbus.h>
#include <stdint.h>

typedef struct crn_bench_modbus_peer {
    modbus_t *modbus;
    modbus_mapping_t *mapping;
    int listener, client; /* -1: none */
} crn_bench_modbus_peer;

/* Listens at that port of this machine. 0 or a negative errno; to be closed in both cases. */
int crn_bench_modbus_open(crn_bench_modbus_peer *self, uint16_t port, int coils, int registers);
void crn_bench_modbus_close(crn_bench_modbus_peer *self);

/* What to wait for: the client, or that one connects. */
int crn_bench_modbus_descriptor(const crn_bench_modbus_peer *self);

/* Once that is readable: lets a client in, or answers its request. Returns the length of the
 * request in `query`, of MODBUS_TCP_MAX_ADU_LENGTH bytes; at most 0: there was none. */
int crn_bench_modbus_serve(crn_bench_modbus_peer *self, uint8_t *query);

#endif
