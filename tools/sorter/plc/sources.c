/* Where readings of the belt, confirmations and decisions come from. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tools/sorter/plc/internal.h"

#define MESSAGE_BYTES 80

/* --- MQTT, by its thread ---------------------------------------------------------------------- */

/* "TICK TIME_NS", of CLOCK_REALTIME: without a time a late message would be a false position. */
static bool read_position(const char *text, int64_t to_monotonic_ns, crn_plc_item *item)
{
    uint64_t tick, time_ns;
    int64_t here_ns;
    int end = 0;
    if (sscanf(text, "%" SCNu64 " %" SCNu64 "%n", &tick, &time_ns, &end) != 2 || text[end] ||
        __builtin_add_overflow(time_ns, to_monotonic_ns, &here_ns))
        return false;
    item->kind = CRN_PLC_READING;
    item->reading = (crn_belt_reading){.tick = tick, .time_ns = here_ns};
    return true;
}

/* "LANE OUTLET", by name. */
static bool read_confirmation(const char *text, const crn_texts *outlets, crn_plc_item *item)
{
    char name[CRN_OUTLET_NAME_BYTES];
    int end = 0;
    if (sscanf(text, "%" SCNu64 " %31s%n", &item->decision.lane, name, &end) != 2 || text[end])
        return false;
    item->kind = CRN_PLC_CONFIRMATION;
    for (int32_t i = 0; i < outlets->count; i++)
        if (strcmp(outlets->item[i], name) == 0) {
            item->decision.outlet = i;
            return true;
        }
    return false;
}

void crn_plc_take_message(crn_plc *plc, bool is_confirmation, const char *payload, size_t length,
                          int64_t now_ns, int64_t utc_ns)
{
    char text[MESSAGE_BYTES];
    crn_plc_item item = {.time_ns = now_ns};
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text),
             payload);
    bool is_good = length < sizeof text && strlen(text) == length &&
                   (is_confirmation ? read_confirmation(text, &plc->outlets, &item)
                                    : read_position(text, now_ns - utc_ns, &item));
    /* From a clock that is ahead, or was set back meanwhile. */
    if (is_good && item.kind == CRN_PLC_READING && item.reading.time_ns > now_ns)
        is_good = false;
    crn_plc_item *place = is_good ? crn_byte_ring_reserve(&plc->messages, sizeof item) : NULL;
    if (!place) {
        atomic_fetch_add(&plc->unreadable, 1);
        return;
    }
    *place = item;
    crn_byte_ring_push(&plc->messages);
}

/* --- what was handed over --------------------------------------------------------------------- */

static void take_decision(crn_plc *plc, const crn_plc_item *item)
{
    const crn_decision *decision = &item->decision;
    int64_t now_ns = crn_now_ns();
    bool is_past = item->time_ns <= now_ns; /* not so: unknown, or of a clock that is ahead */
    if (plc->window && !crn_window_add(plc->window, decision, now_ns))
        crn_log_gated(&plc->overwritten, now_ns, CRN_LOG_ERROR,
                      "outputs.modbus_client: the PLC acknowledges too slowly, decisions were "
                      "overwritten (%" PRIu64 " so far)",
                      crn_window_get_counts(plc->window).overwritten);
    if (!plc->firing || decision->reason >= CRN_DECIDED_LOST)
        return;
    if (plc->source == CRN_SOURCE_VIEWS && is_past)
        crn_firing_read(plc->firing,
                        &(crn_belt_reading){.tick = decision->encoder, .time_ns = item->time_ns});
    crn_firing_add(plc->firing,
                   &(crn_firing_fruit){.key = item->key,
                                       .outlet = decision->outlet,
                                       .encoder = decision->encoder,
                                       .captured_ns = is_past ? item->time_ns : CRN_NEVER_NS});
}

void crn_plc_take(crn_plc *plc, const crn_plc_item *item)
{
    if (item->kind == CRN_PLC_DECISION)
        take_decision(plc, item);
    else if (item->kind == CRN_PLC_READING && plc->firing)
        crn_firing_read(plc->firing, &item->reading);
    else if (item->kind == CRN_PLC_CONFIRMATION)
        for (int32_t i = 0; i < plc->ejectors.count; i++)
            if (plc->ejectors.item[i].outlet == item->decision.outlet &&
                (uint64_t)plc->ejectors.item[i].lane == item->decision.lane)
                crn_firing_confirm(plc->firing, i, item->time_ns);
}

/* --- Modbus ----------------------------------------------------------------------------------- */

/* The counter's registers, the high word first; it was read somewhere between request and answer.
 */
static void poll_counter(crn_plc *plc)
{
    uint16_t words[4] = {0};
    int32_t count = (plc->width + 15) / 16;
    int64_t start_ns = crn_now_ns();
    if (crn_modbus_client_read(plc->client, plc->input_registers, plc->register_address, count,
                               words) < 0)
        return;
    int64_t half_ns = (crn_now_ns() - start_ns) / 2;
    crn_belt_reading reading = {.time_ns = start_ns + half_ns, .uncertain_ns = half_ns};
    for (int32_t i = 0; i < count; i++)
        reading.tick = reading.tick << 16 | words[i];
    crn_firing_read(plc->firing, &reading);
}

/* A fruit passes a light barrier: its input was 0 and is 1. */
static void poll_inputs(crn_plc *plc)
{
    if (crn_modbus_client_read_bits(plc->client, plc->first_input, plc->input_count, plc->bits[1]) <
        0)
        return;
    int64_t now_ns = crn_now_ns();
    for (int32_t i = 0; i < plc->ejectors.count && plc->has_bits; i++) {
        int64_t at = plc->ejectors.item[i].input - plc->first_input;
        if (plc->ejectors.item[i].input != CRN_NO_INPUT && plc->bits[1][at] && !plc->bits[0][at])
            crn_firing_confirm(plc->firing, i, now_ns);
    }
    memcpy(plc->bits[0], plc->bits[1], (size_t)plc->input_count);
    plc->has_bits = true;
}

int64_t crn_plc_poll(crn_plc *plc, int64_t now_ns)
{
    if (!plc->firing)
        return CRN_NEVER_NS;
    if (now_ns < plc->poll_ns_next || !crn_modbus_client_get_stats(plc->client)->connected)
        return now_ns < plc->poll_ns_next ? plc->poll_ns_next : CRN_NEVER_NS;
    plc->poll_ns_next = now_ns + plc->poll_ns;
    if (plc->source == CRN_SOURCE_MODBUS)
        poll_counter(plc);
    if (plc->input_count)
        poll_inputs(plc);
    return plc->poll_ns_next;
}
