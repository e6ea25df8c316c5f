#include "tools/sorter/monitor/health.h"

#include <inttypes.h>

static const crn_sorter_fault line_faults[] = {
    [CRN_LINE_WAITING] = {"line_waiting", "notice",
                          "nothing was heard from the line since the start"},
    [CRN_LINE_SILENT] = {"line_silent", "critical",
                         "the line is silent: all fruits are for outlets.silence"},
};
static const crn_sorter_fault plc_gone = {"plc_gone", "critical",
                                          "no connection to the PLC: fruits pass all ejectors"};
static const crn_sorter_fault belt_unknown = {
    "belt_unknown", "critical", "the belt's position is not known: fruits pass all ejectors"};

int32_t crn_sorter_faults(crn_line_state line, const crn_plc_stats *plc,
                          const crn_sorter_settings *settings,
                          const crn_sorter_fault *ret_faults[CRN_SORTER_FAULTS_MAX])
{
    int32_t count = 0;
    if (line != CRN_LINE_HEARD)
        ret_faults[count++] = &line_faults[line];
    if (settings->ejectors.count && !plc->client.connected)
        ret_faults[count++] = &plc_gone;
    else if (settings->ejectors.count && plc->belt_missed)
        ret_faults[count++] = &belt_unknown;
    return count;
}

static int32_t faults_of(const crn_sorter_observation *observation,
                         const crn_sorter_fault *ret_faults[CRN_SORTER_FAULTS_MAX])
{
    return crn_sorter_faults(observation->line, &observation->outputs.plc, observation->settings,
                             ret_faults);
}

bool crn_sorter_is_healthy(const crn_sorter_observation *observation)
{
    const crn_sorter_fault *faults[CRN_SORTER_FAULTS_MAX];
    return faults_of(observation, faults) == 0;
}

uint64_t crn_sorter_fruits(const crn_decider_stats *decided)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < CRN_OUTLETS_MAX; i++)
        sum += decided->outlet[i];
    return sum;
}

void crn_sorter_health_print(const crn_sorter_observation *observation, FILE *out)
{
    const crn_sorter_fault *faults[CRN_SORTER_FAULTS_MAX];
    int32_t count = faults_of(observation, faults);
    fprintf(out, "{\"state\":\"%s\",\"healthy\":%s,\"reasons\":[",
            crn_line_state_names[observation->line], count ? "false" : "true");
    for (int32_t i = 0; i < count; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", faults[i]->text);
    fprintf(out, "],\"fruits\":%" PRIu64 ",\"run\":\"%s\",\"version\":\"" CRN_VERSION "\"}\n",
            crn_sorter_fruits(&observation->decided), observation->run);
}

/* What became of the fruits of an outlet that has an ejector. */
static void print_fired(const crn_firing_counts *counts, FILE *out)
{
    fprintf(out,
            ": %" PRIu64 " fired, %" PRIu64 " confirmed, %" PRIu64 " missed, %" PRIu64
            " too late, %" PRIu64 " lost",
            counts->fired, counts->confirmed, counts->missed, counts->too_late, counts->lost);
}

static bool has_ejector(const crn_ejectors *ejectors, int32_t outlet)
{
    for (int32_t i = 0; i < ejectors->count; i++)
        if (ejectors->item[i].outlet == outlet)
            return true;
    return false;
}

void crn_sorter_status_print(const crn_sorter_observation *observation, FILE *out)
{
    const crn_sorter_settings *settings = observation->settings;
    fprintf(out, "line      %s, %s\n", crn_line_state_names[observation->line],
            settings->line.endpoint);
    fprintf(out, "rules     %d\n", crn_rules_count(settings->outlets.rules));
    fprintf(out, "fruits    %" PRIu64 ", %" PRIu64 " of them lost\n",
            crn_sorter_fruits(&observation->decided), observation->decided.lost);
    const crn_plc_stats *plc = &observation->outputs.plc;
    if (settings->outputs.modbus_client.address[0])
        fprintf(out, "plc       %s, %s\n", plc->client.connected ? "connected" : "gone",
                settings->outputs.modbus_client.address);
    if (settings->ejectors.count)
        fprintf(out, "belt      %s, %" PRIu64 " jumps, %" PRIu64 " silences\n",
                plc->belt_known ? "known" : "unknown", plc->belt.jumps, plc->belt.silences);
    for (int32_t i = 0; i < settings->outlets.names.count; i++) {
        fprintf(out, "outlet    %d %s: %" PRIu64, i + 1, settings->outlets.names.item[i],
                observation->decided.outlet[i]);
        if (has_ejector(&settings->ejectors, i))
            print_fired(&plc->outlet[i], out);
        fputc('\n', out);
    }
}
