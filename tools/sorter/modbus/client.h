/*
 * A Modbus TCP client: one connection to a PLC, made again with growing pauses. Its calls wait for
 * the PLC's answer, at most timeout_ms: they are for a thread of their own. client_none.c stands
 * for it in a build without libmodbus.
 *
 * All requests return 0, -ENOTCONN while there is no connection, -EIO if the connection ended
 * before the answer, so that it is not known whether the PLC did it, or -EPROTO if the PLC refused
 * it.
 */
#ifndef CRN_TOOLS_SORTER_MODBUS_CLIENT_H
#define CRN_TOOLS_SORTER_MODBUS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"

typedef struct crn_modbus_client crn_modbus_client;

typedef struct crn_modbus_client_plan {
    const char *address; /* HOST:PORT */
    int32_t unit;        /* identifier of the PLC behind the address */
    int64_t timeout_ms;  /* of connecting and of each answer */
} crn_modbus_client_plan;

typedef struct crn_modbus_client_stats {
    uint64_t connected; /* 1: now */
    uint64_t connects, requests, failures, refused;
} crn_modbus_client_stats;

/* Does not connect so far. 0 or a negative errno with one line in *error. */
int crn_modbus_client_open(const crn_modbus_client_plan *plan, crn_modbus_client **ret_client,
                           crn_error *error);
void crn_modbus_client_close(crn_modbus_client **client);

/* Connects where there is no connection and a try is due. True if it is a new one. */
bool crn_modbus_client_connect(crn_modbus_client *client, int64_t now_ns);

/* When the next try is due; CRN_NEVER_NS while connected. */
int64_t crn_modbus_client_next_ns(const crn_modbus_client *client);

int crn_modbus_client_write_coil(crn_modbus_client *client, int64_t address, bool on);
int crn_modbus_client_write(crn_modbus_client *client, int64_t address, int32_t count,
                            const uint16_t *values);

/* Reads holding registers, or input registers. */
int crn_modbus_client_read(crn_modbus_client *client, bool inputs, int64_t address, int32_t count,
                           uint16_t *ret_values);

/* Reads discrete inputs, one byte of 0 or 1 each. */
int crn_modbus_client_read_bits(crn_modbus_client *client, int64_t address, int32_t count,
                                uint8_t *ret_bits);

const crn_modbus_client_stats *crn_modbus_client_get_stats(const crn_modbus_client *client);

#endif
