#include "tools/sorter/monitor/families.h"

#include <inttypes.h>
#include <stddef.h>

#include "src/http/exposition.h"
#include "stages/base/clock.h"

typedef struct sorter_family sorter_family;

struct sorter_family {
    const char *name;
    crn_family_type type;
    const char *labels; /* "": none */
    const char *help;
    void (*samples)(const sorter_family *family, const crn_sorter_observation *observation,
                    FILE *out);
    size_t offset; /* of a uint64_t in the observation; of samples_value alone */
};

/* --- samples ---------------------------------------------------------------------------------- */

static void print_labelled(const sorter_family *family, const char *value, uint64_t number,
                           FILE *out)
{
    fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", family->name, family->labels, value, number);
}

static void samples_value(const sorter_family *family, const crn_sorter_observation *observation,
                          FILE *out)
{
    fprintf(out, "%s %" PRIu64 "\n", family->name,
            *(const uint64_t *)((const char *)observation + family->offset));
}

static void samples_build(const sorter_family *family, const crn_sorter_observation *observation,
                          FILE *out)
{
    (void)observation;
    print_labelled(family, CRN_VERSION, 1, out);
}

static void samples_started(const sorter_family *family, const crn_sorter_observation *observation,
                            FILE *out)
{
    fprintf(out, "%s %.3f\n", family->name, (double)observation->started_ns / CRN_NS_PER_S);
}

static void samples_line(const sorter_family *family, const crn_sorter_observation *observation,
                         FILE *out)
{
    for (crn_line_state state = 0; state <= CRN_LINE_SILENT; state++)
        print_labelled(family, crn_line_state_names[state], observation->line == state, out);
}

static void samples_fruits(const sorter_family *family, const crn_sorter_observation *observation,
                           FILE *out)
{
    const crn_texts *names = &observation->settings->outlets.names;
    for (int32_t i = 0; i < names->count; i++)
        print_labelled(family, names->item[i], observation->decided.outlet[i], out);
}

/* Of each outlet that has an ejector, what became of its fruits. */
static void samples_fired(const sorter_family *family, const crn_sorter_observation *observation,
                          FILE *out)
{
    const crn_sorter_settings *settings = observation->settings;
    bool is_fired[CRN_OUTLETS_MAX] = {false};
    for (int32_t i = 0; i < settings->ejectors.count; i++)
        is_fired[settings->ejectors.item[i].outlet] = true;
    for (int32_t i = 0; i < settings->outlets.names.count; i++) {
        const crn_firing_counts *one = &observation->outputs.plc.outlet[i];
        const uint64_t counts[] = {
            [CRN_FIRING_FIRED] = one->fired,   [CRN_FIRING_CONFIRMED] = one->confirmed,
            [CRN_FIRING_MISSED] = one->missed, [CRN_FIRING_TOO_LATE] = one->too_late,
            [CRN_FIRING_LOST] = one->lost,     [CRN_FIRING_RESULTS] = one->unexpected};
        for (size_t k = 0; is_fired[i] && k < sizeof counts / sizeof *counts; k++)
            fprintf(out, "%s{outlet=\"%s\",result=\"%s\"} %" PRIu64 "\n", family->name,
                    settings->outlets.names.item[i],
                    k < CRN_FIRING_RESULTS ? crn_firing_result_names[k] : "unexpected", counts[k]);
    }
}

static void samples_lead(const sorter_family *family, const crn_sorter_observation *observation,
                         FILE *out)
{
    fprintf(out, "%s %.6f\n", family->name, (double)observation->outputs.plc.lead_us / 1e6);
}

static void samples_decisions(const sorter_family *family,
                              const crn_sorter_observation *observation, FILE *out)
{
    for (int reason = 0; reason < CRN_DECISION_REASONS; reason++)
        print_labelled(family, crn_decision_reason_names[reason],
                       observation->decided.reason[reason], out);
}

static void samples_reloads(const sorter_family *family, const crn_sorter_observation *observation,
                            FILE *out)
{
    print_labelled(family, "taken_in", observation->reloads_taken, out);
    print_labelled(family, "refused", observation->reloads_refused, out);
}

static void samples_cpu(const sorter_family *family, const crn_sorter_observation *observation,
                        FILE *out)
{
    fprintf(out, "%s %.6f\n", family->name, observation->machine.cpu_s);
}

/* --- the table -------------------------------------------------------------------------------- */

#define VALUE(name, type, member, help)                                                            \
    {                                                                                              \
        name, type, "", help, samples_value, offsetof(crn_sorter_observation, member)              \
    }
#define COUNT(name, member, help) VALUE("cernita_sorter_" name "_total", COUNTER, member, help)
#define LEVEL(name, member, help) VALUE("cernita_sorter_" name, GAUGE, member, help)
#define COUNTER                   CRN_FAMILY_COUNTER
#define GAUGE                     CRN_FAMILY_GAUGE

static const sorter_family families[] = {
    {"cernita_sorter_build_info", GAUGE, "version", "always 1", samples_build, 0},
    {"cernita_sorter_start_time_seconds", GAUGE, "", "start of the sorter, in seconds since 1970",
     samples_started, 0},
    {"cernita_sorter_line_state", GAUGE, "state",
     "1 for the line's current state, 0 for the others: waiting (nothing was heard so far), "
     "running, silent",
     samples_line, 0},
    {"cernita_sorter_fruits_total", COUNTER, "outlet", "fruits by outlet, lost ones included",
     samples_fruits, 0},
    {"cernita_sorter_decisions_total", COUNTER, "reason",
     "decisions by reason; one lost decision may stand for several fruits, one of silence for a "
     "lane",
     samples_decisions, 0},
    COUNT("verdicts_lost", decided.lost, "verdicts that never arrived, by gaps in the sequence"),
    COUNT("verdicts_repeated", decided.repeated,
          "verdicts that came again or out of order: ignored"),
    COUNT("silences", decided.silences, "times that the line fell silent"),
    COUNT("lanes_refused", decided.lanes_refused,
          "verdicts of lanes beyond the 1024 whose silence is reported"),
    COUNT("messages_unreadable", unreadable, "messages of the line that could not be read"),
    {"cernita_sorter_reloads_total", COUNTER, "result",
     "reloads of the file: taken_in, or refused (the log says why)", samples_reloads, 0},
    LEVEL("tcp_clients", outputs.tcp.clients, "clients of outputs.tcp"),
    COUNT("tcp_connections", outputs.tcp.connected, "clients that connected"),
    COUNT("tcp_clients_refused", outputs.tcp.refused, "clients beyond outputs.tcp.clients"),
    COUNT("tcp_clients_cut", outputs.tcp.cut, "clients disconnected because they did not read"),
    LEVEL("modbus_clients", outputs.modbus.clients, "PLCs connected to outputs.modbus_server"),
    COUNT("modbus_requests", outputs.modbus.requests, "requests of PLCs"),
    COUNT("modbus_decisions", outputs.modbus.added,
          "decisions put into windows; one of a lane with a window of its own counts twice"),
    COUNT("modbus_acknowledged", outputs.modbus.acknowledged, "of these, acknowledged by a PLC"),
    COUNT("modbus_overwritten", outputs.modbus.overwritten,
          "of these, overwritten before a PLC acknowledged them"),
    COUNT("modbus_lost", outputs.modbus.lost,
          "of these, in windows that a PLC had acknowledged in before: it never got them"),
    COUNT("modbus_acknowledgements_refused", outputs.modbus.refused_acknowledgements,
          "acknowledgements of another run, or of a decision that does not wait"),
    COUNT("modbus_bad_frames", outputs.modbus.bad_frames,
          "connections closed because what came was not Modbus TCP"),
    COUNT(
        "modbus_peers_refused", outputs.modbus.refused_peers,
        "connections from addresses that outputs.modbus_server.peers does not name, or beyond 16"),
    LEVEL("plc_connected", outputs.plc.client.connected,
          "1 while connected to outputs.modbus_client.address"),
    COUNT("plc_connections", outputs.plc.client.connects, "connections to that PLC so far"),
    COUNT("plc_requests", outputs.plc.client.requests, "requests to it"),
    COUNT("plc_failures", outputs.plc.client.failures,
          "of these, without an answer: the connection ended"),
    COUNT("plc_refusals", outputs.plc.client.refused, "of these, that the PLC refused"),
    COUNT("plc_dropped", outputs.plc.dropped,
          "decisions that found the PLC's queue full: neither written nor fired"),
    COUNT("plc_decisions", outputs.plc.window.added, "decisions for the PLC's window"),
    COUNT("plc_acknowledged", outputs.plc.window.acknowledged, "of these, acknowledged by the PLC"),
    COUNT("plc_overwritten", outputs.plc.window.overwritten,
          "of these, overwritten before the PLC acknowledged them"),
    {"cernita_sorter_firings_total", COUNTER, "outlet,result",
     "fruits by outlet with an ejector, each as fired, too_late or lost; of fired ones, confirmed "
     "or "
     "missed; unexpected: seen in an outlet without a coil",
     samples_fired, 0},
    LEVEL("firing_waiting", outputs.plc.waiting, "fruits on their way to an ejector"),
    {"cernita_sorter_firing_lead_seconds", GAUGE, "",
     "time by which coils are written before they are due, as learnt from the PLC's answers",
     samples_lead, 0},
    LEVEL("belt_known", outputs.plc.belt_known, "1 while the belt's position is known"),
    LEVEL("belt_missed", outputs.plc.belt_missed,
          "1 while the belt's position should be known and is not; with firing.source views only "
          "while fruits are on their way, and for 10 s after one was lost by it"),
    COUNT("belt_readings", outputs.plc.belt.readings, "readings of the belt's counter"),
    COUNT("belt_readings_late", outputs.plc.belt.late,
          "of these, not later than the one before: passed over"),
    COUNT("belt_readings_refused", outputs.plc.belt.refused,
          "of these, in contradiction to those before"),
    COUNT("belt_jumps", outputs.plc.belt.jumps,
          "jumps of the counter: fruits on their way were lost"),
    COUNT("belt_silences", outputs.plc.belt.silences,
          "times without a reading for firing.age_ms: fruits on their way were lost"),
    COUNT("firing_messages_unreadable", outputs.plc.unreadable,
          "MQTT messages of firing.topic or firing.confirm_topic that could not be read"),
    LEVEL("mqtt_connected", outputs.mqtt.connected, "1 while connected to outputs.mqtt.broker"),
    COUNT("mqtt_connections", outputs.mqtt.connects, "connections to the broker so far"),
    COUNT("mqtt_messages", outputs.mqtt.sent, "messages handed to the connection"),
    COUNT("mqtt_messages_dropped", outputs.mqtt.dropped,
          "messages that the broker did not take, or while there was no connection"),
    COUNT("outcomes_logged", outputs.log.written, "outcomes written to outputs.log.dir"),
    COUNT("outcomes_dropped", outputs.log.dropped,
          "outcomes not written there, as the disk is too slow"),
    COUNT("outcomes_failed", outputs.log.failed,
          "outcomes not written there, as the disk refused them (a log line says why)"),
    VALUE("process_resident_memory_bytes", GAUGE, machine.resident_bytes, "memory of the process"),
    {"process_cpu_seconds_total", COUNTER, "", "processor time of the process", samples_cpu, 0},
    VALUE("process_open_fds", GAUGE, machine.descriptors, "open files and connections"),
};

#define FAMILIES (sizeof families / sizeof *families)

void crn_sorter_families_print(const crn_sorter_observation *observation, FILE *out)
{
    for (const sorter_family *family = families; family < families + FAMILIES; family++) {
        crn_exposition_print_head(family->name, family->type, family->help, out);
        family->samples(family, observation, out);
    }
}

void crn_sorter_families_print_reference(FILE *out)
{
    crn_exposition_print_reference_head(out);
    for (const sorter_family *family = families; family < families + FAMILIES; family++)
        crn_exposition_print_reference(family->name, family->type, family->labels, family->help,
                                       out);
}
