#include "tests/support/operators/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/images.h"

static bool is_same_point(const crn_point *a, const crn_point *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

void crn_assert_contours_equal(const crn_contours *got, const crn_contours *wanted,
                               const char *what)
{
    for (uint32_t i = 0; i < got->contour_count && i < wanted->contour_count; i++) {
        const crn_contour *g = &got->contours[i], *w = &wanted->contours[i];
        if (g->plane != w->plane || g->closed != w->closed || g->first != w->first ||
            g->count != w->count)
            fail_msg("%s: contour %u is plane %d closed %d first %u count %u, "
                     "wanted %d %d %u %u",
                     what, i, g->plane, g->closed, g->first, g->count, w->plane, w->closed,
                     w->first, w->count);
        for (uint32_t k = 0; k < g->count; k++) {
            const crn_point *p = &got->points[g->first + k], *q = &wanted->points[w->first + k];
            if (!is_same_point(p, q))
                fail_msg("%s: contour %u point %u of %u is (%.17g, %.17g), wanted (%.17g, %.17g)",
                         what, i, k, g->count, p->x, p->y, q->x, q->y);
        }
    }
    if (got->contour_count != wanted->contour_count)
        fail_msg("%s: %u contours, wanted %u", what, got->contour_count, wanted->contour_count);
    if (got->point_count != wanted->point_count)
        fail_msg("%s: %u points, wanted %u", what, got->point_count, wanted->point_count);
    if (got->truncated != wanted->truncated)
        fail_msg("%s: truncated is %d, wanted %d", what, got->truncated, wanted->truncated);
}

typedef struct directed_segment {
    crn_point from, to;
    int64_t plane;
} directed_segment;

static int compare_segments(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(directed_segment));
}

/* All segments, sorted by their bytes. The caller frees them. */
static directed_segment *segments_of(const crn_contours *contours, size_t *ret_count)
{
    directed_segment *all = calloc((size_t)contours->point_count + 1, sizeof *all);
    size_t count = 0;
    for (uint32_t i = 0; all && i < contours->contour_count; i++) {
        const crn_contour *c = &contours->contours[i];
        const crn_point *p = contours->points + c->first;
        for (uint32_t k = 1; k < c->count; k++)
            all[count++] = (directed_segment){p[k - 1], p[k], c->plane};
    }
    if (all)
        qsort(all, count, sizeof *all, compare_segments);
    *ret_count = count;
    return all;
}

void crn_assert_segments_equal(const crn_contours *got, const crn_contours *wanted,
                               const char *what)
{
    size_t count = 0, wanted_count = 0;
    directed_segment *a = segments_of(got, &count), *b = segments_of(wanted, &wanted_count);
    bool equal = a && b && count == wanted_count && memcmp(a, b, count * sizeof *a) == 0;
    free(a);
    free(b);
    if (!equal)
        fail_msg("%s: the segments differ (%zu, wanted %zu)", what, count, wanted_count);
}

static void compare_rows(const crn_image *got, const crn_image *wanted, int32_t plane, int32_t y,
                         bool any_nan, const char *what)
{
    size_t size = crn_type_bytes(got->type);
    if (got->step == 1 && wanted->step == 1 &&
        memcmp(crn_image_element(got, plane, y, 0), crn_image_element(wanted, plane, y, 0),
               size * (size_t)got->width) == 0)
        return; /* fast path */
    for (int32_t x = 0; x < got->width; x++) {
        if (crn_element_is(crn_image_element(got, plane, y, x),
                           crn_image_element(wanted, plane, y, x), size))
            continue;
        float g = crn_image_at(got, plane, y, x), w = crn_image_at(wanted, plane, y, x);
        if (!any_nan || !isnan(g) || !isnan(w))
            fail_msg("%s: plane %d, y %d, x %d is %.9g (%a), wanted %.9g (%a)", what, plane, y, x,
                     (double)g, (double)g, (double)w, (double)w);
    }
}

static void compare_images(const crn_image *got, const crn_image *wanted, bool any_nan,
                           const char *what)
{
    if (got->type != wanted->type || !crn_image_same_size(got, wanted))
        fail_msg("%s: type %d, %d x %d x %d, wanted type %d, %d x %d x %d", what, got->type,
                 got->planes, got->height, got->width, wanted->type, wanted->planes, wanted->height,
                 wanted->width);
    for (int32_t plane = 0; plane < got->planes; plane++)
        for (int32_t y = 0; y < got->height; y++)
            compare_rows(got, wanted, plane, y, any_nan, what);
}

void crn_assert_images_equal(const crn_image *got, const crn_image *wanted, const char *what)
{
    compare_images(got, wanted, false, what);
}

void crn_assert_images_equal_but_nans(const crn_image *got, const crn_image *wanted,
                                      const char *what)
{
    compare_images(got, wanted, true, what);
}
