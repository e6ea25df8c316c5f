/* How near the charts are to their limits. */
#include <inttypes.h>

#include "src/monitor/samples.h"

typedef struct drift_samples {
    const crn_family *family;
    const crn_classes *classes;
    FILE *out;
} drift_samples;

static void print_drift(void *context, const crn_drift_level *level)
{
    const drift_samples *samples = context;
    fprintf(samples->out, "%s{lane=\"%" PRIu32 "\",class=\"", samples->family->name, level->lane);
    crn_exposition_print_value(samples->classes->name[level->class], samples->out);
    fprintf(samples->out, "\"} %.3f\n", level->part);
}

void crn_samples_drift(const crn_family *family, const crn_observation *observation, FILE *out)
{
    drift_samples samples = {family, &observation->facts->config->classes, out};
    if (observation->drift)
        crn_drift_tell(observation->drift, print_drift, &samples);
}
