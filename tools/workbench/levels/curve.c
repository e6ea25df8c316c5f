#include "tools/workbench/levels/curve.h"

#include <math.h>

double crn_level_at(int32_t index)
{
    return index / (double)(CRN_LEVEL_COUNT - 1);
}

void crn_curve_label(crn_curve *curve, bool has_defect)
{
    if (has_defect)
        curve->positives++;
    else
        curve->negatives++;
}

void crn_curve_find(crn_curve *curve, int32_t index, bool has_defect)
{
    if (has_defect)
        curve->hits[index]++;
    else
        curve->alarms[index]++;
}

double crn_curve_precision(const crn_curve *curve, int32_t index)
{
    uint64_t found = curve->hits[index] + curve->alarms[index];
    return found ? (double)curve->hits[index] / (double)found : NAN;
}

double crn_curve_recall(const crn_curve *curve, int32_t index)
{
    return curve->positives ? (double)curve->hits[index] / (double)curve->positives : NAN;
}

double crn_curve_f1(const crn_curve *curve, int32_t index)
{
    uint64_t found = curve->hits[index] + curve->alarms[index];
    if (!curve->positives)
        return NAN;
    return 2.0 * (double)curve->hits[index] / (double)(found + curve->positives);
}

/* Index in the middle of the longest series of the largest scores, the lower of two middles; NaN is
 * no score. Not 0 or 1, at which everything or nothing is found. -1: there is none. */
static int32_t middle_of_best(const double scores[CRN_LEVEL_COUNT])
{
    double best = -INFINITY;
    int32_t first = -1, longest = 0;
    for (int32_t i = 1; i < CRN_LEVEL_COUNT - 1; i++)
        if (scores[i] > best)
            best = scores[i];
    for (int32_t i = 1, length = 0; i < CRN_LEVEL_COUNT - 1; i++) {
        length = scores[i] == best ? length + 1 : 0;
        if (length > longest) {
            longest = length;
            first = i - length + 1;
        }
    }
    return first < 0 ? -1 : first + (longest - 1) / 2;
}

int32_t crn_curve_best(const crn_curve *curve)
{
    double scores[CRN_LEVEL_COUNT];
    for (int32_t i = 0; i < CRN_LEVEL_COUNT; i++)
        scores[i] = curve->hits[i] ? crn_curve_f1(curve, i) : NAN;
    return middle_of_best(scores);
}

int32_t crn_curve_at_recall(const crn_curve *curve, double recall)
{
    double scores[CRN_LEVEL_COUNT];
    for (int32_t i = 0; i < CRN_LEVEL_COUNT; i++)
        scores[i] = crn_curve_recall(curve, i) >= recall ? crn_curve_precision(curve, i) : NAN;
    return middle_of_best(scores);
}
