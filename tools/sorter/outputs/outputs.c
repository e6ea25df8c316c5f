#include "tools/sorter/outputs/outputs.h"

#include <stdio.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "tools/sorter/outputs/line_text.h"

/* Another number after each start; 0 is none. */
static uint16_t run_number(const char *run)
{
    return (uint16_t)(1 + strtoull(run, NULL, 16) % UINT16_MAX);
}

static int open_modbus(crn_outputs *outputs, const char *run, crn_error *error)
{
    const crn_sorter_settings *settings = outputs->settings;
    const crn_modbus_plan plan = {.address = settings->outputs.modbus_server.bind,
                                  .peers = &settings->outputs.modbus_server.peers,
                                  .lanes = &settings->outputs.modbus_server.lanes,
                                  .ring = (uint32_t)settings->outputs.modbus_server.ring,
                                  .run = run_number(run)};
    return crn_modbus_server_open(&plan, &outputs->modbus, error);
}

static void take_message(void *context, bool is_confirmation, const char *payload, size_t length)
{
    crn_plc_take_message(context, is_confirmation, payload, length, crn_now_ns(),
                         crn_realtime_ns());
}

static int open_mqtt(crn_outputs *outputs, const char *run, crn_error *error)
{
    const crn_sorter_settings *settings = outputs->settings;
    const crn_mqtt_plan plan = {.broker = settings->outputs.mqtt.broker,
                                .topic = settings->outputs.mqtt.topic,
                                .user = settings->outputs.mqtt.user,
                                .password_file = settings->outputs.mqtt.password_file,
                                .ca_file = settings->outputs.mqtt.ca_file,
                                .run = run,
                                .position_topic = outputs->plc ? settings->firing.topic : "",
                                .confirm_topic = outputs->plc ? settings->firing.confirm_topic : "",
                                .use = take_message,
                                .context = outputs->plc};
    return crn_mqtt_open(&plan, &outputs->mqtt, error);
}

int crn_outputs_open(crn_outputs *outputs, const crn_sorter_settings *settings, const char *run,
                     int64_t now_ns, crn_error *error)
{
    outputs->settings = settings;
    outputs->alive_ns = CRN_NEVER_NS;
    int r = settings->outputs.modbus_server.bind[0] ? open_modbus(outputs, run, error) : 0;
    if (r == 0 && settings->outputs.modbus_client.address[0])
        r = crn_plc_open(settings, run_number(run), &outputs->plc, error);
    if (r == 0 && settings->outputs.mqtt.broker[0])
        r = open_mqtt(outputs, run, error);
    if (r == 0 && settings->outputs.log.dir[0])
        r = crn_outcome_log_open(settings, run, &outputs->log, error);
    if (r < 0 || !settings->outputs.tcp.bind[0])
        return r;
    snprintf(outputs->greeting, sizeof outputs->greeting, "#cernita-sorter,%s,%s\r\n", CRN_VERSION,
             run);
    const crn_tcp_plan plan = {.address = settings->outputs.tcp.bind,
                               .greeting = outputs->greeting,
                               .clients = (int32_t)settings->outputs.tcp.clients,
                               .backlog_bytes = (size_t)settings->outputs.tcp.backlog_kib << 10};
    if (settings->outputs.tcp.alive_ms)
        outputs->alive_ns = now_ns;
    return crn_tcp_output_open(&plan, &outputs->tcp, error);
}

/* How it ended with fruits, into the log, where their decisions are already. */
static void log_endings(crn_outputs *outputs)
{
    crn_plc_ending ending;
    while (outputs->plc && outputs->log && crn_plc_take_ending(outputs->plc, &ending))
        crn_outcome_log_add_result(outputs->log, &ending.key, ending.result);
}

void crn_outputs_close(crn_outputs *outputs)
{
    crn_tcp_output_close(&outputs->tcp);
    crn_modbus_server_close(&outputs->modbus);
    crn_mqtt_close(&outputs->mqtt); /* before the PLC: it hands messages over */
    if (outputs->plc)
        crn_plc_end(outputs->plc);
    log_endings(outputs);
    crn_plc_close(&outputs->plc);
    crn_outcome_log_close(&outputs->log); /* last: it may have to wait for the disk */
}

void crn_outputs_use(crn_outputs *outputs, const crn_sorter_settings *settings)
{
    outputs->settings = settings;
}

void crn_outputs_send(crn_outputs *outputs, const crn_decision *decision)
{
    const crn_sorter_settings *settings = outputs->settings;
    crn_stdout_format format = (crn_stdout_format)settings->outputs.standard.format;
    char line[CRN_DECISION_LINE_BYTES];
    if (outputs->modbus)
        crn_modbus_server_add(outputs->modbus, decision, crn_now_ns());
    if (outputs->plc)
        crn_plc_add(outputs->plc, decision, crn_now_ns(), crn_realtime_ns());
    if (outputs->tcp) {
        size_t length =
            crn_decision_line(decision, &settings->outlets.names, CRN_STDOUT_TEXT, "\r\n", line);
        crn_tcp_output_send(outputs->tcp, line, length);
    }
    if (outputs->mqtt) {
        size_t length =
            crn_decision_line(decision, &settings->outlets.names, CRN_STDOUT_JSON, "", line);
        crn_mqtt_send(outputs->mqtt, line, length);
    }
    if (format != CRN_STDOUT_NONE) {
        size_t length = crn_decision_line(decision, &settings->outlets.names, format, "\n", line);
        crn_standard_output_send(&outputs->standard, line, length);
    }
    if (outputs->log)
        crn_outcome_log_add(outputs->log, decision, settings->outlets.names.item[decision->outlet]);
}

int64_t crn_outputs_look(crn_outputs *outputs, crn_line_state state,
                         const crn_decider_stats *decided, int64_t now_ns)
{
    int64_t next_ns = CRN_NEVER_NS;
    if (outputs->modbus)
        crn_modbus_server_serve(outputs->modbus, state, now_ns);
    if (outputs->plc)
        crn_plc_set_state(outputs->plc, state);
    log_endings(outputs);
    if (outputs->tcp)
        crn_tcp_output_serve(outputs->tcp);
    if (now_ns >= outputs->alive_ns) {
        char line[64];
        int length = snprintf(line, sizeof line, "#alive,%s\r\n", crn_line_state_names[state]);
        crn_tcp_output_send(outputs->tcp, line, (size_t)length);
        outputs->alive_ns = now_ns + outputs->settings->outputs.tcp.alive_ms * CRN_NS_PER_MS;
    }
    if (outputs->mqtt)
        next_ns =
            crn_mqtt_look(outputs->mqtt, state, decided, &outputs->settings->outlets.names, now_ns);
    return next_ns < outputs->alive_ns ? next_ns : outputs->alive_ns;
}

crn_outputs_stats crn_outputs_get_stats(const crn_outputs *outputs)
{
    crn_outputs_stats stats = {.tcp = {.clients = 0}};
    if (outputs->tcp)
        stats.tcp = *crn_tcp_output_get_stats(outputs->tcp);
    if (outputs->modbus)
        stats.modbus = crn_modbus_server_get_stats(outputs->modbus);
    if (outputs->plc)
        crn_plc_get_stats(outputs->plc, &stats.plc);
    if (outputs->mqtt)
        stats.mqtt = crn_mqtt_get_stats(outputs->mqtt);
    if (outputs->log)
        stats.log = crn_outcome_log_get_stats(outputs->log);
    stats.log.dropped += stats.plc.endings_dropped;
    return stats;
}

int crn_outputs_polls(const crn_outputs *outputs, zmq_pollitem_t items[CRN_OUTPUT_POLLS_MAX])
{
    int count = outputs->tcp ? crn_tcp_output_polls(outputs->tcp, items) : 0;
    return count + (outputs->modbus ? crn_modbus_server_polls(outputs->modbus, items + count) : 0);
}
