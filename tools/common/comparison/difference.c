#include "tools/common/comparison/difference.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/fields.h"

#define NUMBER_BYTES 32
#define BOX_NUMBERS  4

/* The defects of one view and class, which stand together. */
typedef struct group {
    uint64_t view;
    const msgpack_object_str *class;
    const msgpack_object *first; /* `count` maps */
    uint32_t start, count;       /* index of the first in the verdict */
} group;

typedef struct groups {
    group *items;
    uint32_t count;
} groups;

typedef struct comparison {
    const crn_difference_fruit *fruit;
    double tolerance;
    FILE *out;
    crn_difference_counts *counts;
    crn_difference_summary *summary; /* NULL: all are printed */
    const group *group;              /* being compared */
    uint32_t number;                 /* of the defect in it, from 1 */
} comparison;

/* --- reading --- */

static uint32_t count_points(const msgpack_object *xy)
{
    if (xy && xy->type == MSGPACK_OBJECT_BIN)
        return xy->via.bin.size / (2 * sizeof(float));
    return crn_value_count(xy);
}

/* Point `at`, which exists. */
static void read_point(const msgpack_object *xy, uint32_t at, float point[2])
{
    if (xy->type == MSGPACK_OBJECT_BIN) {
        memcpy(point, xy->via.bin.ptr + at * 2 * sizeof *point, 2 * sizeof *point);
        return;
    }
    for (uint32_t i = 0; i < 2; i++)
        point[i] = (float)crn_value_real(crn_value_item(crn_value_item(xy, at), i));
}

/* --- grouping --- */

static bool is_in(const group *one, uint64_t view, const msgpack_object_str *class)
{
    return one->view == view && one->class->size == class->size &&
           memcmp(one->class->ptr, class->ptr, class->size) == 0;
}

/* Groups a verdict's defects. 0, -EBADMSG if they are none, or -ENOMEM. */
static int read_groups(const msgpack_object *verdict, groups *ret_groups)
{
    const msgpack_object *defects = crn_value_get(verdict, CRN_KEY(verdict, defects));
    if (!defects || defects->type != MSGPACK_OBJECT_ARRAY)
        return -EBADMSG;
    groups all = {calloc((size_t)crn_value_count(defects) + 1, sizeof *all.items), 0};
    if (!all.items)
        return -ENOMEM;
    for (uint32_t i = 0; i < crn_value_count(defects); i++) {
        const msgpack_object *defect = crn_value_item(defects, i);
        const msgpack_object *view = crn_value_get(defect, CRN_KEY(defect, view));
        const msgpack_object *class = crn_value_get(defect, CRN_KEY(defect, class));
        if (!view || view->type != MSGPACK_OBJECT_POSITIVE_INTEGER || !class ||
            class->type != MSGPACK_OBJECT_STR) {
            free(all.items);
            return -EBADMSG;
        }
        group *last = all.count ? &all.items[all.count - 1] : NULL;
        if (last && is_in(last, view->via.u64, &class->via.str))
            last->count++;
        else
            all.items[all.count++] = (group){view->via.u64, &class->via.str, defect, i, 1};
    }
    *ret_groups = all;
    return 0;
}

static const group *find_group(const groups *all, const group *like)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (is_in(&all->items[i], like->view, like->class))
            return &all->items[i];
    return NULL;
}

/* --- output --- */

/* Begins the line of a difference. */
static void begin_line(const comparison *c)
{
    c->counts->differences++;
    if (c->summary)
        crn_difference_summary_difference(c->summary, c->group ? c->group->class->ptr : NULL,
                                          c->group ? c->group->class->size : 0);
    fprintf(c->out, "lane %" PRIu64 ", fruit %" PRIu64, c->fruit->lane, c->fruit->fruit);
    if (!c->group)
        return;
    fprintf(c->out, ", view %" PRIu64 ", ", c->group->view);
    for (uint32_t i = 0; i < c->group->class->size; i++) {
        unsigned char byte = (unsigned char)c->group->class->ptr[i];
        fputc(byte < 0x20 || byte == 0x7f ? '?' : byte, c->out);
    }
    if (c->number)
        fprintf(c->out, ", defect %" PRIu32, c->number);
}

static const char *number_text(double value, char text[NUMBER_BYTES])
{
    snprintf(text, NUMBER_BYTES, "%.9g", value);
    if (isfinite(value) && strtod(text, NULL) != value)
        snprintf(text, NUMBER_BYTES, "%.17g", value);
    return text;
}

static void tell_number(const comparison *c, const char *what, double expected, double got)
{
    char one[NUMBER_BYTES], other[NUMBER_BYTES];
    begin_line(c);
    fprintf(c->out, ": %s %s, expected %s\n", what, number_text(got, one),
            number_text(expected, other));
}

/* --- comparison --- */

/* Same bits, so that -0 is not 0 and NaN is NaN, or a difference of `limit` at most, if above 0. */
static bool is_same(double expected, double got, double limit)
{
    return memcmp(&expected, &got, sizeof got) == 0 || (isnan(expected) && isnan(got)) ||
           (limit > 0 && fabs(expected - got) <= limit);
}

static void compare_number(const comparison *c, const char *what, const msgpack_object *expected,
                           const msgpack_object *got, double limit)
{
    double a = crn_value_real(expected), b = crn_value_real(got);
    if (!is_same(a, b, limit))
        tell_number(c, what, a, b);
}

static const char *flag_text(const msgpack_object *value)
{
    bool known = value && value->type == MSGPACK_OBJECT_BOOLEAN;
    return !known ? "nothing" : value->via.boolean ? "true" : "false";
}

static void compare_flag(const comparison *c, const char *key, const msgpack_object *expected,
                         const msgpack_object *got)
{
    const char *a = flag_text(crn_value_get(expected, key)),
               *b = flag_text(crn_value_get(got, key));
    if (strcmp(a, b) == 0)
        return;
    begin_line(c);
    fprintf(c->out, ": %s %s, expected %s\n", key, b, a);
}

/* The first difference of an array of numbers. */
static void compare_numbers(const comparison *c, const char *key, uint32_t count,
                            const msgpack_object *expected, const msgpack_object *got)
{
    const msgpack_object *a = crn_value_get(expected, key), *b = crn_value_get(got, key);
    for (uint32_t i = 0; i < count; i++) {
        double x = crn_value_real(crn_value_item(a, i)), y = crn_value_real(crn_value_item(b, i));
        if (is_same(x, y, c->tolerance))
            continue;
        char what[NUMBER_BYTES];
        snprintf(what, sizeof what, "%s[%" PRIu32 "]", key, i);
        tell_number(c, what, x, y);
        return;
    }
}

static bool is_same_point(const comparison *c, const float a[2], const float b[2])
{
    return memcmp(a, b, 2 * sizeof *a) == 0 ||
           (c->tolerance > 0 && fabs((double)a[0] - b[0]) <= c->tolerance &&
            fabs((double)a[1] - b[1]) <= c->tolerance);
}

static void compare_points(const comparison *c, const msgpack_object *expected,
                           const msgpack_object *got)
{
    const msgpack_object *a = crn_value_get(expected, CRN_KEY(defect, xy)),
                         *b = crn_value_get(got, CRN_KEY(defect, xy));
    uint32_t count = count_points(a), differ = 0, first = 0;
    if (count != count_points(b)) {
        begin_line(c);
        fprintf(c->out, ": %" PRIu32 " points, expected %" PRIu32 "\n", count_points(b), count);
        return;
    }
    float p[2], q[2];
    for (uint32_t i = count; i-- > 0;) {
        read_point(a, i, p);
        read_point(b, i, q);
        if (!is_same_point(c, p, q)) {
            first = i;
            differ++;
        }
    }
    if (!differ)
        return;
    read_point(a, first, p);
    read_point(b, first, q);
    begin_line(c);
    fprintf(c->out,
            ": point %" PRIu32 " (%.9g, %.9g), expected (%.9g, %.9g); %" PRIu32 " of %" PRIu32
            " points differ\n",
            first + 1, (double)q[0], (double)q[1], (double)p[0], (double)p[1], differ, count);
}

static void compare_textures(const comparison *c, const msgpack_object *expected,
                             const msgpack_object *got)
{
    const msgpack_object *a = crn_value_get(expected, CRN_KEY(defect, ranklet)),
                         *b = crn_value_get(got, CRN_KEY(defect, ranklet));
    if (crn_value_count(a) != crn_value_count(b)) {
        begin_line(c);
        fprintf(c->out, ": textures of %" PRIu32 " windows, expected %" PRIu32 "\n",
                crn_value_count(b), crn_value_count(a));
        return;
    }
    static const int keys[] = {CRN_KEY_texture_vertical, CRN_KEY_texture_horizontal,
                               CRN_KEY_texture_diagonal};
    for (uint32_t i = 0; i < crn_value_count(a); i++) {
        const msgpack_object *one = crn_value_item(a, i), *other = crn_value_item(b, i);
        const msgpack_object *window = crn_value_get(one, CRN_KEY(texture, window)),
                             *seen = crn_value_get(other, CRN_KEY(texture, window));
        for (uint32_t side = 0; side < 2; side++)
            compare_number(c, side ? "window height" : "window width", crn_value_item(window, side),
                           crn_value_item(seen, side), 0);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const char *key = crn_texture_fields[keys[k]].key;
            char what[96];
            snprintf(what, sizeof what, "ranklet %.9gx%.9g %s",
                     crn_value_real(crn_value_item(window, 0)),
                     crn_value_real(crn_value_item(window, 1)), key);
            compare_number(c, what, crn_value_get(one, key), crn_value_get(other, key),
                           c->tolerance);
        }
    }
}

/* `parent` counts from the group's first defect, as those before may differ in number. */
static void compare_parents(const comparison *c, const msgpack_object *expected,
                            const msgpack_object *got, uint32_t expected_start, uint32_t got_start)
{
    double a = crn_value_real(crn_value_get(expected, CRN_KEY(defect, parent))),
           b = crn_value_real(crn_value_get(got, CRN_KEY(defect, parent)));
    a = a < 0 ? a : a - expected_start;
    b = b < 0 ? b : b - got_start;
    if (!is_same(a, b, 0))
        tell_number(c, "parent in its view and class", a, b);
}

static void compare_defects(const comparison *c, const msgpack_object *expected,
                            const msgpack_object *got)
{
    const char *area = CRN_KEY(defect, area_px), *perimeter = CRN_KEY(defect, perimeter_px),
               *mean = CRN_KEY(defect, mean_probability), *level = CRN_KEY(defect, level);
    double around = crn_value_real(crn_value_get(expected, perimeter));
    uint32_t points = count_points(crn_value_get(expected, CRN_KEY(defect, xy)));
    compare_number(c, level, crn_value_get(expected, level), crn_value_get(got, level), 0);
    compare_flag(c, CRN_KEY(defect, closed), expected, got);
    compare_flag(c, CRN_KEY(defect, hole), expected, got);
    compare_points(c, expected, got);
    compare_numbers(c, CRN_KEY(defect, bbox), BOX_NUMBERS, expected, got);
    compare_number(c, area, crn_value_get(expected, area), crn_value_get(got, area),
                   c->tolerance * around);
    compare_number(c, perimeter, crn_value_get(expected, perimeter), crn_value_get(got, perimeter),
                   2 * c->tolerance * points);
    compare_numbers(c, CRN_KEY(defect, centroid), 2, expected, got);
    compare_number(c, mean, crn_value_get(expected, mean), crn_value_get(got, mean), c->tolerance);
    compare_textures(c, expected, got);
}

static crn_difference_area sum_area(const group *one)
{
    crn_difference_area sum = {
        .level = one ? crn_value_real(crn_value_get(one->first, CRN_KEY(defect, level))) : 0};
    for (uint32_t i = 0; one && i < one->count; i++) {
        bool is_hole = crn_value_is_true(crn_value_get(&one->first[i], CRN_KEY(defect, hole)));
        double area_px = crn_value_real(crn_value_get(&one->first[i], CRN_KEY(defect, area_px)));
        sum.area_px += !isfinite(area_px) ? 0 : is_hole ? -area_px : area_px;
        sum.defects += !is_hole;
    }
    return sum;
}

/* Of one view and class; NULL: there are none. */
static void compare_group(comparison *c, const group *expected, const group *got)
{
    uint32_t count = expected ? expected->count : 0, seen = got ? got->count : 0;
    c->group = expected ? expected : got;
    c->number = 0;
    if (c->summary) {
        crn_difference_area before = sum_area(expected), now = sum_area(got);
        crn_difference_summary_add(c->summary, c->group->class->ptr, c->group->class->size, &before,
                                   &now);
    }
    if (count != seen) {
        begin_line(c);
        fprintf(c->out, ": %" PRIu32 " defect%s, expected %" PRIu32 "\n", seen,
                seen == 1 ? "" : "s", count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        c->number = i + 1;
        c->counts->defects++;
        compare_defects(c, &expected->first[i], &got->first[i]);
        compare_parents(c, &expected->first[i], &got->first[i], expected->start, got->start);
    }
}

static void compare_kind(const comparison *c, const msgpack_object *expected,
                         const msgpack_object *got)
{
    static const msgpack_object nothing = {.type = MSGPACK_OBJECT_STR, .via.str = {4, "none"}};
    const msgpack_object *a = crn_value_get(expected, CRN_KEY(verdict, verdict)),
                         *b = crn_value_get(got, CRN_KEY(verdict, verdict));
    a = a && a->type == MSGPACK_OBJECT_STR ? a : &nothing;
    b = b && b->type == MSGPACK_OBJECT_STR ? b : &nothing;
    if (a->via.str.size == b->via.str.size &&
        memcmp(a->via.str.ptr, b->via.str.ptr, a->via.str.size) == 0)
        return;
    begin_line(c);
    fprintf(c->out, ": verdict %.*s, expected %.*s\n", (int)b->via.str.size, b->via.str.ptr,
            (int)a->via.str.size, a->via.str.ptr);
}

int crn_difference_find(const crn_difference_fruit *fruit, const msgpack_object *expected,
                        const msgpack_object *got, double tolerance, FILE *out,
                        crn_difference_counts *counts, crn_difference_summary *summary)
{
    comparison c = {fruit, tolerance, out, counts, summary, NULL, 0};
    groups all = {0}, seen = {0};
    compare_kind(&c, expected, got);
    int r = read_groups(expected, &all);
    if (!r)
        r = read_groups(got, &seen);
    if (r == -EBADMSG) {
        begin_line(&c);
        fprintf(out, ": the %s verdict has no defects that can be read\n",
                all.items ? "line's" : "expected");
    }
    for (uint32_t i = 0; !r && i < all.count; i++)
        compare_group(&c, &all.items[i], find_group(&seen, &all.items[i]));
    for (uint32_t i = 0; !r && i < seen.count; i++)
        if (!find_group(&all, &seen.items[i]))
            compare_group(&c, NULL, &seen.items[i]);
    free(all.items);
    free(seen.items);
    return r == -ENOMEM ? r : 0;
}
