/* The table, in the order in which conditions of the same severity are told. */
#include <string.h>

#include "src/monitor/conditions/find.h"

const char *const crn_language_codes[CRN_LANGUAGES] = {"en", "it", "es", "fr", "de"};

const char *const crn_severity_names[CRN_SEVERITIES] = {"notice", "warning", "critical"};

#define ADDRESS(id) &crn_condition_##id,

const crn_condition *const crn_condition_rows[] = {CRN_CONDITIONS(ADDRESS)};

const int32_t crn_condition_row_count =
    (int32_t)(sizeof crn_condition_rows / sizeof *crn_condition_rows);

const crn_condition *crn_condition_named(const char *id)
{
    for (int32_t i = 0; i < crn_condition_row_count; i++)
        if (strcmp(crn_condition_rows[i]->id, id) == 0)
            return crn_condition_rows[i];
    return NULL;
}

bool crn_conditions_misjudged(const crn_condition_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i].row->misjudged)
            return true;
    return false;
}

const char *crn_conditions_level(const crn_condition_list *list)
{
    if (list->count > 0)
        return crn_severity_names[list->at[0].row->severity];
    return list->state == CRN_STATE_STARTING || list->state == CRN_STATE_STOPPING ? "none" : "good";
}
