/* Decomposition of an element into runs (chords; Urbach and Wilkinson 2008), and of run lengths
 * into levels, each computed from a shorter one (morphology.h). */
#include "stages/openmp/morphology/morphology.h"

#include <errno.h>
#include <string.h>

#include "stages/kernel/element.h"

/* Maximum number of levels inserted between two run lengths: each is up to 3 times the
 * previous one. */
#define LEVELS_BETWEEN 16

/* The part of an element that can overlap the picture. */
typedef struct plan_extent {
    const crn_element *element;
    bool dilate;
    int32_t anchor_x, anchor_y;
    int32_t first_x, end_x, first_y, end_y;
} plan_extent;

static int32_t greater(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static plan_extent extent_of(const crn_element *element, bool dilate, int32_t height, int32_t width)
{
    plan_extent e = {element, dilate, element->width / 2, element->height / 2, 0, 0, 0, 0};
    e.first_x = greater(0, e.anchor_x - (width - 1));
    e.end_x = lesser(element->width, e.anchor_x + width);
    e.first_y = greater(0, e.anchor_y - (height - 1));
    e.end_y = lesser(element->height, e.anchor_y + height);
    return e;
}

static void reach(crn_morphology_plan *plan, int32_t dx, int32_t dy, int32_t length)
{
    plan->above = greater(plan->above, -dy);
    plan->below = greater(plan->below, dy);
    plan->left = greater(plan->left, -dx);
    plan->right = greater(plan->right, dx + length - 1);
}

/* Adds the members `first` to `end` - 1 of the element's row y. */
static void add_run(crn_morphology_plan *plan, const plan_extent *e, int32_t y, int32_t first,
                    int32_t end)
{
    first = greater(first, e->first_x);
    end = lesser(end, e->end_x);
    if (first >= end)
        return;
    crn_morphology_run run = {
        .dx = first - e->anchor_x, .dy = y - e->anchor_y, .length = end - first};
    if (e->dilate) {
        run.dx = -(end - 1 - e->anchor_x);
        run.dy = -run.dy;
    }
    reach(plan, run.dx, run.dy, run.length);
    plan->runs[plan->run_count++] = run;
}

/* The first column of the disk in row y; right of the anchor if the row is empty. */
static int32_t disk_begin(const crn_element *element, int32_t y)
{
    int32_t low = 0, high = element->width / 2 + 1;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (crn_element_has(element, middle, y))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void add_runs(crn_morphology_plan *plan, const plan_extent *e, int32_t y)
{
    const crn_element *element = e->element;
    int32_t begin = 0, end = element->width;
    switch (element->shape) {
    case CRN_ELEMENT_DISK:
        begin = disk_begin(element, y);
        if (2 * e->anchor_x - begin + 1 < end)
            end = 2 * e->anchor_x - begin + 1;
        break;
    case CRN_ELEMENT_CROSS:
        begin = y == e->anchor_y ? 0 : e->anchor_x;
        add_run(plan, e, y, begin, y == e->anchor_y ? element->width : begin + 1);
        return;
    case CRN_ELEMENT_RECT:
        break;
    case CRN_ELEMENT_PICTURE:
        for (int32_t x = e->first_x; x < e->end_x; x = end + 1) {
            for (end = x; end < e->end_x && crn_element_has(element, end, y);)
                end++;
            add_run(plan, e, y, x, end);
        }
        return;
    }
    add_run(plan, e, y, begin, end);
}

static void add_members(crn_morphology_plan *plan, const plan_extent *e, int32_t y)
{
    for (int32_t x = e->first_x; x < e->end_x; x++) {
        if (!crn_element_has(e->element, x, y))
            continue;
        float height = e->element->heights[(size_t)y * (size_t)e->element->width + (size_t)x];
        crn_morphology_member m = {x - e->anchor_x, y - e->anchor_y, -height};
        if (e->dilate)
            m = (crn_morphology_member){-m.dx, -m.dy, height};
        reach(plan, m.dx, m.dy, 1);
        plan->members[plan->member_count++] = m;
    }
}

/* Adds a level computed from the last one, at most 3 times as long. */
static void add_level(crn_morphology_plan *plan, int32_t length)
{
    int32_t from = plan->level_count - 1, shorter = plan->levels[from].length;
    crn_morphology_level level = {.length = length, .from = from, .parts = 2};
    level.offsets[1] = length - shorter;
    if (length > 2 * shorter) {
        level.parts = 3;
        level.offsets[1] = shorter;
        level.offsets[2] = length - shorter;
    }
    plan->levels[plan->level_count++] = level;
}

/* Adds a level of that length, longer than all others, with the intermediate levels that
 * it needs. */
static void climb_to(crn_morphology_plan *plan, int32_t length)
{
    int32_t steps[LEVELS_BETWEEN], count = 0, last = plan->levels[plan->level_count - 1].length;
    for (int32_t step = length; step > last; step = step > 3 * last ? (step + 2) / 3 : last)
        steps[count++] = step;
    while (count > 0)
        add_level(plan, steps[--count]);
}

/* level_of: level by length, up to `longest`. */
static void set_levels(crn_morphology_plan *plan, int32_t *level_of, int32_t longest)
{
    plan->levels[0] = (crn_morphology_level){.length = 1};
    plan->level_count = 1;
    memset(level_of, 0, ((size_t)longest + 1) * sizeof *level_of);
    for (size_t i = 0; i < plan->run_count; i++)
        level_of[plan->runs[i].length] = 1;
    for (int32_t length = 1; length <= longest; length++) {
        if (!level_of[length])
            continue;
        if (length > 1)
            climb_to(plan, length);
        level_of[length] = plan->level_count - 1;
    }
    for (size_t i = 0; i < plan->run_count; i++) {
        crn_morphology_run *run = &plan->runs[i];
        run->level = level_of[run->length];
        plan->levels[run->level].used = true;
        plan->levels[run->level].dx = run->dx;
    }
}

/* If only one run has the longest length, a level for it does not pay off: the run is replaced by
 * the runs that the level would be computed from. */
static void split_longest(crn_morphology_plan *plan)
{
    crn_morphology_level *last = &plan->levels[plan->level_count - 1];
    size_t found = 0, at = 0;
    for (size_t i = 0; i < plan->run_count; i++)
        if (plan->runs[i].length == last->length) {
            at = i;
            found++;
        }
    if (found != 1 || plan->level_count == 1)
        return;
    crn_morphology_run run = plan->runs[at];
    run.level = last->from;
    run.length = plan->levels[last->from].length;
    for (int32_t i = 1; i < last->parts; i++) {
        plan->runs[plan->run_count] = run;
        plan->runs[plan->run_count++].dx += last->offsets[i];
    }
    plan->runs[at] = run;
    if (!plan->levels[last->from].used)
        plan->levels[last->from].dx = run.dx;
    plan->levels[last->from].used = true;
    plan->level_count--;
}

static bool is_stack(const crn_morphology_plan *plan)
{
    for (size_t i = 1; i < plan->run_count; i++) {
        const crn_morphology_run *run = &plan->runs[i], *last = run - 1;
        int32_t down = run->dy - last->dy;
        if (run->dx != last->dx || run->length != last->length || (down != 1 && down != -1))
            return false;
    }
    return plan->run_count > 0;
}

/* The radius if the element is a rhombus with special kernels, or 0. */
static int32_t rhombus_radius(const crn_morphology_plan *plan)
{
    int32_t radius = (int32_t)(plan->run_count / 2);
    if ((plan->run_count != 3 && plan->run_count != 5) || radius != plan->above)
        return 0;
    for (size_t i = 0; i < plan->run_count; i++) {
        const crn_morphology_run *run = &plan->runs[i];
        int32_t half = radius - (run->dy < 0 ? -run->dy : run->dy);
        if (run->dx != -half || run->length != 2 * half + 1)
            return 0;
        if (i > 0 && run->dy == run[-1].dy)
            return 0;
    }
    return radius;
}

int crn_morphology_make_plan(crn_context *context, int32_t slot, const crn_element *element,
                             bool dilate, int32_t height, int32_t width,
                             crn_morphology_plan *ret_plan)
{
    plan_extent e = extent_of(element, dilate, height, width);
    size_t columns = (size_t)(e.end_x - e.first_x), rows = (size_t)(e.end_y - e.first_y);
    crn_morphology_plan plan = {.is_flat = !element->heights};
    size_t each =
        plan.is_flat ? (columns + 1) / 2 * sizeof *plan.runs : columns * sizeof *plan.members;
    size_t more = plan.is_flat ? 2 * sizeof *plan.runs : 0; /* runs added by split_longest */
    void *list = crn_context_scratch(context, slot, rows * each + more);
    plan.levels =
        crn_context_scratch(context, slot + 1, (columns + LEVELS_BETWEEN) * sizeof *plan.levels);
    int32_t *level_of = crn_context_scratch(context, slot + 2, (columns + 1) * sizeof *level_of);
    if (!list || !plan.levels || !level_of)
        return -ENOMEM;
    plan.runs = plan.is_flat ? list : NULL;
    plan.members = plan.is_flat ? NULL : list;
    for (int32_t y = e.first_y; y < e.end_y; y++) {
        if (plan.is_flat)
            add_runs(&plan, &e, y);
        else
            add_members(&plan, &e, y);
    }
    set_levels(&plan, level_of, (int32_t)columns);
    plan.is_stack = is_stack(&plan);
    plan.rhombus = plan.is_flat ? rhombus_radius(&plan) : 0;
    if (plan.rhombus)
        plan.level_count = 1;
    else if (plan.is_flat && !plan.is_stack)
        split_longest(&plan);
    if (!plan.is_flat)
        plan.levels[0].used = true;
    *ret_plan = plan;
    return 0;
}
