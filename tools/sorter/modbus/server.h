/*
 * A Modbus TCP server: windows of decisions for PLCs, which poll and acknowledge. One thread; it
 * waits for no client. server_none.c stands for it in a build without libmodbus.
 */
#ifndef CRN_TOOLS_SORTER_MODBUS_SERVER_H
#define CRN_TOOLS_SORTER_MODBUS_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <zmq.h>

#include "stages/base/error.h"
#include "stages/base/param.h"
#include "tools/sorter/decide/decider.h"

#define CRN_MODBUS_CLIENTS   16
#define CRN_MODBUS_POLLS_MAX (CRN_MODBUS_CLIENTS + 1)

typedef struct crn_modbus_server crn_modbus_server;

typedef struct crn_modbus_plan {
    const char *address;
    const crn_texts *peers;   /* addresses that may connect; empty: any */
    const crn_numbers *lanes; /* those with a window of their own */
    uint32_t ring;            /* decisions that wait in each window */
    uint16_t run;             /* another one after each start */
} crn_modbus_plan;

typedef struct crn_modbus_stats {
    uint64_t requests, refused_peers, refused_acknowledgements, bad_frames;
    uint64_t added, acknowledged, overwritten; /* of all windows */
    uint64_t lost;    /* overwritten in a window that a PLC had acknowledged in before */
    uint64_t clients; /* now */
} crn_modbus_stats;

/* True if the program was built with libmodbus. */
bool crn_modbus_is_built(void);

/* 0 or a negative errno with one line in *error. */
int crn_modbus_server_open(const crn_modbus_plan *plan, crn_modbus_server **ret_server,
                           crn_error *error);
void crn_modbus_server_close(crn_modbus_server **server);

/* The address with its actual port. */
const char *crn_modbus_server_address(const crn_modbus_server *server);

/* Puts a decision into the windows; one that overwrites another is logged. */
void crn_modbus_server_add(crn_modbus_server *server, const crn_decision *decision, int64_t now_ns);

/* What to wait for; returns the number of items. */
int crn_modbus_server_polls(const crn_modbus_server *server,
                            zmq_pollitem_t items[CRN_MODBUS_POLLS_MAX]);

/* Accepts clients and answers requests that have arrived whole. */
void crn_modbus_server_serve(crn_modbus_server *server, crn_line_state state, int64_t now_ns);

crn_modbus_stats crn_modbus_server_get_stats(const crn_modbus_server *server);

#endif
