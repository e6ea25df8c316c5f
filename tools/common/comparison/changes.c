#include "tools/common/comparison/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

crn_run_changes *crn_run_changes_create(void)
{
    return calloc(1, sizeof(crn_run_changes));
}

static void free_worst(crn_worst_fruit **worst)
{
    if (!*worst)
        return;
    crn_decoded_free(&(*worst)->before);
    crn_decoded_free(&(*worst)->after);
    free(*worst);
    *worst = NULL;
}

void crn_run_changes_free(crn_run_changes **changes)
{
    if (!*changes)
        return;
    for (uint32_t i = 0; i < CRN_WORST_MAX; i++)
        free_worst(&(*changes)->worst[i]);
    free(*changes);
    *changes = NULL;
}

/* NULL: more classes than two lines have. */
static crn_class_changes *find_class(crn_run_changes *changes, const char *name)
{
    for (uint32_t i = 0; i < changes->class_count; i++)
        if (strcmp(changes->classes[i].name, name) == 0)
            return &changes->classes[i];
    if (changes->class_count == 2 * CRN_CLASSES_MAX)
        return NULL;
    crn_class_changes *class = &changes->classes[changes->class_count++];
    strcpy(class->name, name);
    class->level[CRN_BEFORE] = class->level[CRN_AFTER] = NAN;
    return class;
}

static double finite_or_0(double value)
{
    return isfinite(value) ? value : 0;
}

/* A fruit of both runs counts in each class's table, also in those that neither verdict names: the
 * rest of them is [0][0]. */
static void add_class(crn_run_changes *changes, const crn_class_change *change)
{
    const crn_class_measures *run = change->run;
    crn_class_changes *class = find_class(changes, change->name);
    if (!class)
        return;
    class->fruits[crn_class_is_found(&run[0])][crn_class_is_found(&run[1])]++;
    bool is_measured = isfinite(run[0].area_mm2) && isfinite(run[1].area_mm2);
    class->measured += is_measured;
    for (int i = 0; i < CRN_COMPARED_RUNS; i++) {
        class->contours[i] += run[i].contours;
        class->area_px[i] += finite_or_0(run[i].area_px);
        class->area_mm2[i] += is_measured ? run[i].area_mm2 : 0;
        if (isfinite(run[i].level))
            class->level[i] = run[i].level;
    }
}

/* Of another kind or outlet. */
static bool stands_out(const crn_fruit_change *change)
{
    return change->kind_differs || change->outlet_differs;
}

static bool precedes(const crn_fruit_change *a, const crn_fruit_change *b)
{
    return stands_out(a) != stands_out(b) ? stands_out(a) : a->changed_px > b->changed_px;
}

/* Of CRN_WORST_MAX, which one makes room for a fruit; CRN_WORST_MAX: the fruit itself goes. */
static uint32_t find_least(const crn_run_changes *changes, const crn_fruit_change *fruit)
{
    const crn_fruit_change *last[2] = {NULL, NULL}; /* of the others, and of another kind
                                                     * or outlet */
    uint32_t count[2] = {0, 0}, at[2];
    for (uint32_t i = 0; i < CRN_WORST_MAX; i++) {
        bool kind = stands_out(&changes->worst[i]->change);
        last[kind] = &changes->worst[i]->change;
        count[kind]++;
        at[kind] = i;
    }
    bool kind = stands_out(fruit);
    count[kind]++;
    if (!last[kind] || fruit->changed_px <= last[kind]->changed_px) {
        last[kind] = fruit;
        at[kind] = CRN_WORST_MAX;
    }
    bool of_kind =
        !last[0] || (count[1] > CRN_WORST_OF_KIND && last[1]->changed_px < last[0]->changed_px);
    return at[of_kind];
}

static void remove_worst(crn_run_changes *changes, uint32_t at)
{
    free_worst(&changes->worst[at]);
    changes->worst_count--;
    memmove(&changes->worst[at], &changes->worst[at + 1],
            (changes->worst_count - at) * sizeof *changes->worst);
}

/* The new one's place is found from the end, so that equal ones keep their order. */
static int keep_worst(crn_run_changes *changes, const crn_compared_fruit *fruit, uint64_t order,
                      crn_worst_fruit **ret_worst)
{
    bool is_full = changes->worst_count == CRN_WORST_MAX;
    uint32_t least = is_full ? find_least(changes, fruit->change) : 0;
    if (least == CRN_WORST_MAX)
        return 0;
    crn_worst_fruit *worst = malloc(sizeof *worst);
    if (!worst)
        return -ENOMEM;
    *worst = (crn_worst_fruit){.lane = fruit->lane,
                               .epoch = fruit->epoch,
                               .fruit = fruit->fruit,
                               .differences = fruit->differences,
                               .order = order,
                               .change = *fruit->change};
    if (is_full)
        remove_worst(changes, least);
    uint32_t at = changes->worst_count;
    while (at > 0 && precedes(fruit->change, &changes->worst[at - 1]->change))
        at--;
    memmove(&changes->worst[at + 1], &changes->worst[at],
            (changes->worst_count - at) * sizeof *changes->worst);
    changes->worst[at] = worst;
    changes->worst_count++;
    *ret_worst = worst;
    return 0;
}

static void add_outlets(crn_run_changes *changes, const crn_compared_fruit *fruit)
{
    const int32_t *outlet = fruit->change->outlet;
    uint64_t at = changes->outlets.differ;
    if (outlet[CRN_BEFORE] == CRN_NO_OUTLET || outlet[CRN_AFTER] == CRN_NO_OUTLET)
        return;
    if (crn_outlet_changes_add(&changes->outlets, outlet) && at < CRN_MOVED_MAX)
        changes->moved[at] = (crn_moved_fruit){
            fruit->lane, fruit->epoch, fruit->fruit, {outlet[CRN_BEFORE], outlet[CRN_AFTER]}};
}

int crn_run_changes_add(crn_run_changes *changes, const crn_compared_fruit *fruit,
                        crn_worst_fruit **ret_worst)
{
    const crn_fruit_change *change = fruit->change;
    *ret_worst = NULL;
    changes->kinds[change->kind[CRN_BEFORE]][change->kind[CRN_AFTER]]++;
    for (int i = 0; i < CRN_COMPARED_RUNS; i++)
        changes->alone[i] +=
            change->kind[i] != CRN_NO_VERDICT && change->kind[!i] == CRN_NO_VERDICT;
    if (change->kind[CRN_BEFORE] == CRN_NO_VERDICT || change->kind[CRN_AFTER] == CRN_NO_VERDICT)
        return 0;
    uint64_t order = changes->fruits++;
    for (uint32_t i = 0; i < change->class_count; i++)
        add_class(changes, &change->classes[i]);
    add_outlets(changes, fruit);
    changes->kind_differs += change->kind_differs;
    changes->classes_differ += change->classes_differ;
    changes->areas_differ += change->areas_differ;
    changes->unequal += fruit->differences > 0;
    return fruit->differences ? keep_worst(changes, fruit, order, ret_worst) : 0;
}
