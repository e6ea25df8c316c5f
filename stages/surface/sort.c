/* Heap sort of marks: qsort() allocates memory for large arrays. */
#include "stages/surface/surface.h"

static bool is_before(const crn_surface_mark *a, const crn_surface_mark *b)
{
    return a->group < b->group || (a->group == b->group && a->from < b->from);
}

/* Lets marks[at] sink until no child comes after it. */
static void sink(crn_surface_mark *marks, uint32_t at, uint32_t count)
{
    crn_surface_mark moved = marks[at];
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(&marks[child], &marks[child + 1]))
            child++;
        if (!is_before(&moved, &marks[child]))
            break;
        marks[at] = marks[child];
        at = child;
    }
    marks[at] = moved;
}

void crn_surface_sort(crn_surface_mark *marks, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sink(marks, i, count);
    for (uint32_t end = count; end-- > 1;) {
        crn_surface_mark last = marks[end];
        marks[end] = marks[0];
        marks[0] = last;
        sink(marks, 0, end);
    }
}
