#include "tools/common/comparison/change.h"

#include <math.h>
#include <string.h>

const char *crn_changed_kind_name(int kind)
{
    return kind == CRN_NO_VERDICT ? "none" : crn_verdict_kind_names[kind];
}

/* NULL: there are as many as two verdicts can name. */
static crn_class_change *find_class(crn_fruit_change *change, const char *name)
{
    for (uint32_t i = 0; i < change->class_count; i++)
        if (strcmp(change->classes[i].name, name) == 0)
            return &change->classes[i];
    if (change->class_count == 2 * CRN_CLASSES_MAX)
        return NULL;
    crn_class_change *class = &change->classes[change->class_count++];
    memset(class, 0, sizeof *class);
    strcpy(class->name, name);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++)
        class->run[run] = (crn_class_measures){0, 0, NAN, NAN, NAN, NAN, NAN};
    return class;
}

static void add_run(crn_fruit_change *change, const crn_decoded *verdict, int run)
{
    change->kind[run] = verdict ? (int)verdict->kind : CRN_NO_VERDICT;
    for (uint32_t i = 0; verdict && i < verdict->total_count; i++) {
        const crn_decoded_total *total = &verdict->totals[i];
        crn_class_change *class = find_class(change, total->name);
        if (!class)
            continue;
        class->run[run].contours = total->count;
        class->run[run].area_px = total->area_px;
        class->run[run].level = total->level;
    }
    for (uint32_t i = 0; verdict && i < verdict->surface.measure_count; i++) {
        const crn_decoded_measure *measure = &verdict->surface.measures[i];
        crn_class_change *class = find_class(change, measure->name);
        if (!class)
            continue;
        class->run[run].spots = (double)measure->count;
        class->run[run].area_mm2 = measure->area_mm2;
        class->run[run].largest_mm2 = measure->largest_mm2;
        class->run[run].longest_mm = measure->longest_mm;
    }
}

/* What was measured and has none of a class has 0 mm² of it, though its verdict does not name it.
 */
static void fill_measured(crn_fruit_change *change, const crn_decoded *verdict, int run)
{
    for (uint32_t i = 0; verdict && verdict->surface.is_measured && i < change->class_count; i++) {
        crn_class_measures *measures = &change->classes[i].run[run];
        if (isnan(measures->spots))
            measures->spots = measures->area_mm2 = measures->largest_mm2 = measures->longest_mm = 0;
    }
}

void crn_fruit_change_find(const crn_decoded *before, const crn_decoded *after, double tolerance_px,
                           crn_fruit_change *ret_change)
{
    crn_fruit_change *change = ret_change;
    change->class_count = 0;
    add_run(change, before, CRN_BEFORE);
    add_run(change, after, CRN_AFTER);
    fill_measured(change, before, CRN_BEFORE);
    fill_measured(change, after, CRN_AFTER);
    change->kind_differs = change->kind[CRN_BEFORE] != change->kind[CRN_AFTER];
    change->classes_differ = change->areas_differ = change->outlet_differs = false;
    change->outlet[CRN_BEFORE] = change->outlet[CRN_AFTER] = CRN_NO_OUTLET;
    change->changed_px = 0;
    for (uint32_t i = 0; i < change->class_count; i++) {
        const crn_class_measures *run = change->classes[i].run;
        double apart = fabs(run[CRN_AFTER].area_px - run[CRN_BEFORE].area_px);
        change->classes_differ |= crn_class_is_found(&run[0]) != crn_class_is_found(&run[1]);
        change->areas_differ |=
            apart > tolerance_px || isfinite(run[0].area_px) != isfinite(run[1].area_px);
        change->changed_px += isfinite(change->changed_px + apart) ? apart : 0;
    }
}
