/*
 * A window of Modbus registers: the oldest decisions that the PLC has not acknowledged, and the
 * ring of those behind them. REGISTERS.md is the document for the PLC's programmer.
 */
#ifndef CRN_TOOLS_SORTER_MODBUS_WINDOW_H
#define CRN_TOOLS_SORTER_MODBUS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/window_registers.h"
#include "tools/sorter/decide/decider.h"

typedef struct crn_window crn_window;

/* `capacity`: decisions that wait at once. 0 or -ENOMEM. */
int crn_window_create(uint32_t capacity, crn_window **ret_window);
void crn_window_free(crn_window **window);

/* Appends a decision; returns false if the oldest was overwritten for it. */
bool crn_window_add(crn_window *window, const crn_decision *decision, int64_t now_ns);

/* Removes the decisions up to that number; false, and nothing changes, if it is not the number of
 * one that waits, or of the last one acknowledged. */
bool crn_window_acknowledge(crn_window *window, uint32_t number);

/* What stands in every window's header. */
typedef struct crn_window_state {
    uint16_t run, heartbeat, state;
} crn_window_state;

/* Writes the window's registers, and behind them `run` and the number acknowledged last. */
void crn_window_write(const crn_window *window, const crn_window_state *state, int64_t now_ns,
                      uint16_t ret_registers[CRN_WINDOW_DISTANCE]);

typedef struct crn_window_counts {
    uint64_t added, acknowledged, overwritten;
    uint32_t waiting;
} crn_window_counts;
crn_window_counts crn_window_get_counts(const crn_window *window);

#endif
