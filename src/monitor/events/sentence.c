#include "src/monitor/events/sentence.h"

#include <stdio.h>
#include <string.h>

/* What a state means where nothing else has to be said; NULL: nothing. */
static const char *const meanings[CRN_STATES] = {
    [CRN_STATE_STARTING] = "memory is being reserved, devices are being prepared",
    [CRN_STATE_READY] = "no view has arrived yet",
    [CRN_STATE_STOPPING] = "no more views are read, open fruits are judged",
};

void crn_sentence_write(const crn_condition_list *list, char *text, size_t size)
{
    const char *meaning = meanings[list->state], *state = crn_state_names[list->state];
    if (meaning)
        snprintf(text, size, "%s: %s", state, meaning);
    else
        snprintf(text, size, "%s%s", state, list->count ? "" : ", nothing out of the ordinary");
    size_t used = strlen(text);
    for (uint32_t i = 0; i < list->count; i++) {
        char clause[CRN_CONDITION_CLAUSE_BYTES];
        crn_condition_clause(&list->at[i], clause);
        const char *more = i ? " And more." : "; and more";
        if (used + strlen("; ") + strlen(clause) + strlen(more) >= size) {
            snprintf(text + used, size - used, "%s", more);
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i         ? " "
                                 : meaning ? "; "
                                           : ": ",
                                 clause);
    }
}
