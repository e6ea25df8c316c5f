/* The window in the PLC's registers: written until the PLC's program acknowledges. */
#include "stages/base/clock.h"
#include "tools/sorter/plc/internal.h"

#define HEARTBEAT_NS (100 * CRN_NS_PER_MS)
#define REPEAT_NS    (10 * CRN_NS_PER_MS) /* while decisions wait */

int64_t crn_plc_serve_window(crn_plc *plc, int64_t now_ns)
{
    uint16_t registers[CRN_WINDOW_DISTANCE], ack[CRN_WINDOW_ACKS];
    crn_window_state state = {.run = plc->run,
                              .heartbeat = (uint16_t)(now_ns / HEARTBEAT_NS),
                              .state = (uint16_t)atomic_load(&plc->state)};
    if (!plc->window || !crn_modbus_client_get_stats(plc->client)->connected)
        return CRN_NEVER_NS;
    if (now_ns < plc->window_ns_next)
        return plc->window_ns_next;
    crn_window_write(plc->window, &state, now_ns, registers);
    int r =
        crn_modbus_client_write(plc->client, plc->window_address, CRN_WINDOW_WRITTEN, registers);
    if (r == 0)
        r = crn_modbus_client_read(plc->client, false, plc->window_address + CRN_WINDOW_ACK,
                                   CRN_WINDOW_ACKS, ack);
    if (r == 0 && ack[0] == plc->run)
        crn_window_acknowledge(plc->window, (uint32_t)ack[1] << 16 | ack[2]);
    bool is_waiting = crn_window_get_counts(plc->window).waiting > 0;
    plc->window_ns_next = now_ns + (is_waiting ? REPEAT_NS : HEARTBEAT_NS);
    return plc->window_ns_next;
}
