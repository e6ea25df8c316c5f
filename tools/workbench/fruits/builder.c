/* From views to fruits, and to what their verdicts say. */
#include "tools/workbench/fruits/builder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/buffer/array.h"

/* A verdict leaves some time after its fruit's views arrived, by clocks that may differ. */
#define SPAN_MARGIN_NS (INT64_C(600) * 1000 * 1000 * 1000)

#define COMPARE CRN_FRUITS_COMPARE

static int compare_fruits(uint64_t lane, uint64_t epoch, uint64_t fruit, const crn_met_view *with)
{
    int order = COMPARE(lane, (uint64_t)with->lane);
    if (order == 0)
        order = COMPARE(epoch, with->epoch);
    return order ? order : COMPARE(fruit, with->fruit);
}

static int by_fruit(const void *left, const void *right)
{
    const crn_met_view *a = left, *b = right;
    int order = compare_fruits(a->lane, a->epoch, a->fruit, b);
    if (order == 0)
        order = COMPARE(a->at.view, b->at.view);
    if (order == 0)
        order = COMPARE(b->is_new, a->is_new); /* of a file that was written again */
    return order ? order : COMPARE(a->time_ns, b->time_ns);
}

/* Views of a fruit that were recorded twice count once, as the first. */
static void join_views(crn_fruit_builder *builder)
{
    size_t kept = 0;
    if (builder->met_count > 0)
        qsort(builder->met, builder->met_count, sizeof *builder->met, by_fruit);
    for (size_t i = 0; i < builder->met_count; i++) {
        const crn_met_view *view = &builder->met[i];
        const crn_met_view *last = kept > 0 ? &builder->met[kept - 1] : NULL;
        bool same = last && compare_fruits(view->lane, view->epoch, view->fruit, last) == 0;
        if (!same)
            builder->fruits[builder->head.fruit_count++] =
                (crn_met_fruit){.of = {.epoch = view->epoch,
                                       .fruit = view->fruit,
                                       .lane = view->lane,
                                       .time_ns = view->time_ns,
                                       .first_view = (uint32_t)kept,
                                       .shown_view = view->at.view,
                                       .kind = CRN_FRUIT_NO_VERDICT},
                                .number = CRN_FRUIT_NEW};
        crn_met_fruit *fruit = &builder->fruits[builder->head.fruit_count - 1];
        if (view->number != CRN_FRUIT_NEW)
            fruit->number = view->number;
        if (same && view->at.view == last->at.view)
            continue;
        fruit->of.view_count++;
        if (view->time_ns < fruit->of.time_ns)
            fruit->of.time_ns = view->time_ns;
        builder->met[kept++] = *view;
    }
    builder->met_count = kept;
    builder->head.view_count = kept;
}

int crn_fruit_builder_join(crn_fruit_builder *builder, crn_error *error)
{
    builder->fruits = calloc(builder->met_count + 1, sizeof *builder->fruits);
    if (!builder->fruits)
        return crn_error_set(error, -ENOMEM, "no memory for an index of so many views");
    join_views(builder);
    return 0;
}

/* --- verdicts --------------------------------------------------------------------------------- */

uint64_t crn_fruit_builder_class(crn_fruit_builder *builder, const char *name)
{
    crn_classes *classes = &builder->head.classes;
    uint64_t bit = crn_fruit_class_bit(&builder->head, name);
    if (bit || classes->count == CRN_CLASSES_MAX)
        return bit;
    snprintf(classes->name[classes->count], CRN_CLASS_NAME_MAX, "%s", name);
    return UINT64_C(1) << classes->count++;
}

void crn_fruit_builder_span(const crn_fruit_builder *builder, int64_t *ret_from_ns,
                            int64_t *ret_to_ns)
{
    *ret_from_ns = builder->judged_to_ns;
    *ret_to_ns = INT64_MIN;
    for (size_t i = 0; i < builder->met_count; i++) {
        if (builder->met[i].is_new && builder->met[i].time_ns < *ret_from_ns)
            *ret_from_ns = builder->met[i].time_ns;
        if (builder->met[i].time_ns > *ret_to_ns)
            *ret_to_ns = builder->met[i].time_ns;
    }
    if (__builtin_sub_overflow(*ret_from_ns, SPAN_MARGIN_NS, ret_from_ns))
        *ret_from_ns = INT64_MIN;
    if (__builtin_add_overflow(*ret_to_ns, SPAN_MARGIN_NS, ret_to_ns))
        *ret_to_ns = INT64_MAX;
}

static int find_lot(crn_fruit_builder *builder, const char *name, uint32_t *ret_lot)
{
    *ret_lot = 0;
    if (!name || !*name)
        return 0;
    for (uint64_t i = builder->head.lot_count; i-- > 1;) /* the last one is the likeliest */
        if (strncmp(builder->lots[i], name, CRN_CLASS_NAME_MAX - 1) == 0) {
            *ret_lot = (uint32_t)i;
            return 0;
        }
    if (crn_array_grow(&builder->lots, builder->head.lot_count, sizeof *builder->lots) < 0)
        return -ENOMEM;
    *ret_lot = (uint32_t)builder->head.lot_count++;
    snprintf(builder->lots[*ret_lot], CRN_CLASS_NAME_MAX, "%s", name);
    return 0;
}

static crn_recorded_fruit *find_fruit(crn_fruit_builder *builder, const crn_fruit_verdict *verdict)
{
    uint64_t low = 0, high = builder->head.fruit_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const crn_met_view *view = &builder->met[builder->fruits[middle].of.first_view];
        int order = compare_fruits(verdict->lane, verdict->epoch, verdict->fruit, view);
        if (order == 0)
            return &builder->fruits[middle].of;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

int crn_fruit_builder_judge(crn_fruit_builder *builder, const crn_fruit_verdict *verdict)
{
    crn_recorded_fruit *fruit = find_fruit(builder, verdict);
    if (!fruit)
        return 0;
    builder->head.verdicts += fruit->kind == CRN_FRUIT_NO_VERDICT;
    fruit->kind = verdict->kind;
    fruit->found = verdict->found;
    fruit->verdict = verdict->place;
    for (uint32_t i = 0; i < fruit->view_count; i++)
        if (builder->met[fruit->first_view + i].at.view == verdict->shown_view)
            fruit->shown_view = verdict->shown_view;
    return find_lot(builder, verdict->lot, &fruit->lot);
}
