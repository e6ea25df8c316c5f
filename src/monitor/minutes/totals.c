#include "src/monitor/minutes/totals.h"

#include <stdio.h>
#include <string.h>

static crn_minutes_total *find(crn_minutes_totals *totals, const char *name)
{
    for (int32_t i = 0; i < totals->count; i++)
        if (strcmp(totals->classes[i].name, name) == 0)
            return &totals->classes[i];
    if (totals->count >= CRN_CLASSES_MAX && strcmp(name, CRN_MINUTES_OTHER_CLASSES) != 0)
        return find(totals, CRN_MINUTES_OTHER_CLASSES);
    crn_minutes_total *added = &totals->classes[totals->count++];
    snprintf(added->name, sizeof added->name, "%s", name);
    return added;
}

void crn_minutes_totals_add(crn_minutes_totals *totals, const char *name, uint64_t looked_for,
                            uint64_t fruits)
{
    crn_minutes_total *total = find(totals, name);
    total->looked_for += looked_for;
    total->fruits += fruits;
}

static double share_of(const crn_minutes_total *total)
{
    return total->looked_for > 0 ? (double)total->fruits / (double)total->looked_for : 0;
}

const crn_minutes_total *crn_minutes_totals_worst(const crn_minutes_totals *totals)
{
    const crn_minutes_total *worst = NULL;
    for (int32_t i = 0; i < totals->count; i++) {
        const crn_minutes_total *total = &totals->classes[i];
        if (share_of(total) > (worst ? share_of(worst) : 0))
            worst = total;
    }
    return worst;
}
