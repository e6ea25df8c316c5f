#include "tools/sorter/monitor/health.h"

#include <inttypes.h>

static const char *const reasons[] = {
    [CRN_LINE_WAITING] = "nothing was heard from the line since the start",
    [CRN_LINE_SILENT] = "the line is silent: all fruits are for outlets.silence",
};

bool crn_sorter_is_healthy(const crn_sorter_observation *observation)
{
    return observation->line == CRN_LINE_HEARD &&
           !crn_plc_fault(&observation->outputs.plc, observation->settings);
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
    const char *line = observation->line == CRN_LINE_HEARD ? NULL : reasons[observation->line];
    const char *plc = crn_plc_fault(&observation->outputs.plc, observation->settings);
    fprintf(out, "{\"state\":\"%s\",\"healthy\":%s,\"reasons\":[",
            crn_line_state_names[observation->line], line || plc ? "false" : "true");
    if (line)
        fprintf(out, "\"%s\"%s", line, plc ? "," : "");
    if (plc)
        fprintf(out, "\"%s\"", plc);
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
    fprintf(out, "rules     %d\n", crn_rules_count(settings->rules));
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
