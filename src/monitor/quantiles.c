#include "src/monitor/quantiles.h"

#include <math.h>

/* Edges within an octave: 2 to the power of i/8. */
static const double steps[CRN_QUANTILES_PER_OCTAVE] = {
    1.0,
    1.0905077326652577,
    1.189207115002721,
    1.2968395546510096,
    1.4142135623730951,
    1.5422108254079407,
    1.681792830507429,
    1.8340080864093424,
};

double crn_quantiles_edge_ns(const crn_quantiles *quantiles, int32_t i)
{
    double step = steps[i % CRN_QUANTILES_PER_OCTAVE];
    int octave = i / CRN_QUANTILES_PER_OCTAVE - CRN_QUANTILES_BELOW;
    return ldexp((double)quantiles->reference_ns * step, octave);
}

/* The first bucket whose edge is not below the duration. */
static int32_t bucket_of(const crn_quantiles *quantiles, int64_t ns)
{
    if (ns <= 0)
        return 0;
    int exponent;
    double mantissa = 2 * frexp((double)ns / (double)quantiles->reference_ns, &exponent);
    int32_t octave = exponent - 1 + CRN_QUANTILES_BELOW, step = 0;
    if (octave < 0)
        return 0;
    while (step < CRN_QUANTILES_PER_OCTAVE && steps[step] < mantissa)
        step++;
    int32_t bucket = octave * CRN_QUANTILES_PER_OCTAVE + step;
    return bucket < CRN_QUANTILES_EDGES ? bucket : CRN_QUANTILES_EDGES;
}

void crn_quantiles_add(crn_quantiles *quantiles, int64_t ns)
{
    quantiles->count[bucket_of(quantiles, ns)]++;
}

uint64_t crn_quantiles_count(const crn_quantiles *quantiles)
{
    uint64_t total = 0;
    for (int32_t i = 0; i <= CRN_QUANTILES_EDGES; i++)
        total += quantiles->count[i];
    return total;
}

double crn_quantiles_at_ns(const crn_quantiles *quantiles, double share)
{
    double rank = share * (double)crn_quantiles_count(quantiles);
    double before = 0, from_ns = 0;
    for (int32_t i = 0; i < CRN_QUANTILES_EDGES; i++) {
        double to_ns = crn_quantiles_edge_ns(quantiles, i);
        double count = (double)quantiles->count[i];
        if (count > 0 && before + count >= rank)
            return from_ns + (to_ns - from_ns) * (rank - before) / count;
        before += count;
        from_ns = to_ns;
    }
    return quantiles->count[CRN_QUANTILES_EDGES] > 0 ? from_ns : 0;
}

crn_quantiles crn_quantiles_since(const crn_quantiles *now, const crn_quantiles *before)
{
    crn_quantiles since = *now;
    for (int32_t i = 0; i <= CRN_QUANTILES_EDGES; i++)
        since.count[i] -= before->count[i];
    return since;
}
