/* Samples by class, of src/monitor/minutes. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "src/monitor/samples.h"

/* A copy with the classes in force, so that each begins with 0 and not with its first minute. */
static crn_minutes_totals totals_of(const crn_observation *observation)
{
    crn_minutes_totals totals = *observation->totals;
    const crn_classes *classes = &observation->facts->config->classes;
    for (int32_t i = 0; i < classes->count; i++)
        if (!isnan(classes->level[i]))
            crn_minutes_totals_add(&totals, classes->name[i], 0, 0);
    return totals;
}

void crn_samples_classes(const crn_family *family, const crn_observation *observation, FILE *out)
{
    if (!observation->totals)
        return;
    crn_minutes_totals totals = totals_of(observation);
    for (int32_t i = 0; i < totals.count; i++) {
        const crn_minutes_total *total = &totals.classes[i];
        fprintf(out, "%s{class=\"", family->name);
        crn_exposition_print_value(total->name, out);
        fprintf(out, "\"} %" PRIu64 "\n",
                *(const uint64_t *)((const char *)total + family->offset));
    }
}
