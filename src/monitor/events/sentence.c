#include "src/monitor/events/sentence.h"

#include <stdio.h>
#include <string.h>

void crn_sentence_write(const crn_observation *observation, char *text, size_t size)
{
    static const char more[] = "; and more";
    crn_reasons reasons;
    crn_reasons_find(observation, &reasons);
    snprintf(text, size, "%s%s", crn_state_names[observation->snapshot->state],
             reasons.count ? "" : ", nothing out of the ordinary");
    size_t used = strlen(text);
    for (uint32_t i = 0; i < reasons.count; i++) {
        const char *clause = reasons.at[i].text;
        if (used + strlen("; ") + strlen(clause) + sizeof more > size) {
            snprintf(text + used, size - used, "%s", more);
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "; " : ": ", clause);
    }
}
