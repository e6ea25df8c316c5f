#include "tools/sorter/modbus/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"

typedef struct window_entry {
    crn_decision decision;
    uint32_t number;
    int64_t added_ns;
} window_entry;

struct crn_window {
    uint32_t capacity, first, waiting; /* `first`: index of the oldest */
    uint32_t newest, acknowledged;     /* numbers; the first decision's is 1 */
    crn_window_counts counts;
    window_entry entry[];
};

int crn_window_create(uint32_t capacity, crn_window **ret_window)
{
    crn_window *window = calloc(1, sizeof *window + capacity * sizeof *window->entry);
    if (!window)
        return -ENOMEM;
    window->capacity = capacity;
    *ret_window = window;
    return 0;
}

void crn_window_free(crn_window **window)
{
    free(*window);
    *window = NULL;
}

static void remove_oldest(crn_window *window)
{
    window->first = (window->first + 1) % window->capacity;
    window->waiting--;
}

bool crn_window_add(crn_window *window, const crn_decision *decision, int64_t now_ns)
{
    bool is_full = window->waiting == window->capacity;
    if (is_full) {
        remove_oldest(window);
        window->counts.overwritten++;
    }
    if (++window->newest == 0) /* 0 stands for no decision */
        window->newest = 1;
    window->entry[(window->first + window->waiting++) % window->capacity] =
        (window_entry){.decision = *decision, .number = window->newest, .added_ns = now_ns};
    window->counts.added++;
    return !is_full;
}

bool crn_window_acknowledge(crn_window *window, uint32_t number)
{
    uint32_t count = 0;
    while (count < window->waiting &&
           window->entry[(window->first + count) % window->capacity].number != number)
        count++;
    if (count == window->waiting)
        return number == window->acknowledged;
    for (uint32_t left = count + 1; left; left--)
        remove_oldest(window);
    window->acknowledged = number;
    window->counts.acknowledged += count + 1;
    return true;
}

static uint16_t at_most_16_bits(uint64_t number)
{
    return number < UINT16_MAX ? (uint16_t)number : UINT16_MAX;
}

static void put_32_bits(uint16_t registers[2], uint64_t number)
{
    registers[0] = (uint16_t)(number >> 16);
    registers[1] = (uint16_t)number;
}

static void write_decision(const window_entry *entry, int64_t now_ns,
                           uint16_t registers[CRN_WINDOW_DECISION])
{
    const crn_decision *decision = &entry->decision;
    registers[0] = (uint16_t)decision->lane;
    put_32_bits(registers + 1, entry->number);
    put_32_bits(registers + 3, decision->fruit);
    put_32_bits(registers + 5, decision->encoder);
    registers[7] = (uint16_t)(decision->outlet + 1);
    registers[8] = (uint16_t)(decision->reason + 1);
    registers[9] = at_most_16_bits((uint64_t)(now_ns - entry->added_ns) / CRN_NS_PER_MS);
    registers[10] = at_most_16_bits(decision->lost);
}

void crn_window_write(const crn_window *window, const crn_window_state *state, int64_t now_ns,
                      uint16_t ret_registers[CRN_WINDOW_DISTANCE])
{
    memset(ret_registers, 0, CRN_WINDOW_DISTANCE * sizeof *ret_registers);
    ret_registers[0] = state->run;
    ret_registers[1] = state->heartbeat;
    ret_registers[2] = state->state;
    ret_registers[3] = at_most_16_bits(window->waiting);
    ret_registers[4] = (uint16_t)window->counts.overwritten;
    for (uint32_t i = 0; i < window->waiting && i < CRN_WINDOW_DECISIONS; i++)
        write_decision(&window->entry[(window->first + i) % window->capacity], now_ns,
                       ret_registers + CRN_WINDOW_HEADER + i * CRN_WINDOW_DECISION);
    ret_registers[CRN_WINDOW_ACK] = state->run;
    put_32_bits(ret_registers + CRN_WINDOW_ACK + 1, window->acknowledged);
}

crn_window_counts crn_window_get_counts(const crn_window *window)
{
    crn_window_counts counts = window->counts;
    counts.waiting = window->waiting;
    return counts;
}
