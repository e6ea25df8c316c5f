#include "tools/sorter/monitor/health.h"

#include <inttypes.h>

static const char *const reasons[] = {
    [CRN_LINE_WAITING] = "nothing was heard from the line since the start",
    [CRN_LINE_SILENT] = "the line is silent: all fruits are for outlets.silence",
};

bool crn_sorter_is_healthy(const crn_sorter_observation *observation)
{
    return observation->line == CRN_LINE_HEARD;
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
    bool healthy = crn_sorter_is_healthy(observation);
    fprintf(out,
            "{\"state\":\"%s\",\"healthy\":%s,\"reasons\":[%s%s%s],\"fruits\":%" PRIu64
            ",\"run\":\"%s\",\"version\":\"" CRN_VERSION "\"}\n",
            crn_line_state_names[observation->line], healthy ? "true" : "false",
            healthy ? "" : "\"", healthy ? "" : reasons[observation->line], healthy ? "" : "\"",
            crn_sorter_fruits(&observation->decided), observation->run);
}

void crn_sorter_status_print(const crn_sorter_observation *observation, FILE *out)
{
    const crn_sorter_settings *settings = observation->settings;
    fprintf(out, "line      %s, %s\n", crn_line_state_names[observation->line],
            settings->line.endpoint);
    fprintf(out, "rules     %d\n", crn_rules_count(settings->rules));
    fprintf(out, "fruits    %" PRIu64 ", %" PRIu64 " of them lost\n",
            crn_sorter_fruits(&observation->decided), observation->decided.lost);
    for (int32_t i = 0; i < settings->outlets.names.count; i++)
        fprintf(out, "outlet    %d %s: %" PRIu64 "\n", i + 1, settings->outlets.names.item[i],
                observation->decided.outlet[i]);
}
