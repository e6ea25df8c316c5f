#include "tools/common/rules/fields.h"

#include <stddef.h>
#include <string.h>

#include "stages/base/buffer/text.h"
#include "stages/base/nearest.h"

#define LANE_MAX  4294967295.0
#define COUNT_MAX 4294967295.0
#define ENDLESS   1e300

/* A sum over the views: of a fruit that was not judged whole it may be more. */
static crn_range sum(const crn_rule_source *source, double value)
{
    if (!isfinite(value))
        return crn_range_any();
    return (crn_range){value, source->verdict->kind == CRN_VERDICT_COMPLETE ? value : INFINITY};
}

static crn_range read_kind(const crn_rule_source *source)
{
    return crn_range_of(source->verdict->kind);
}

static crn_range read_stale(const crn_rule_source *source)
{
    return crn_range_of(source->verdict->stale);
}

static crn_range read_truncated(const crn_rule_source *source)
{
    return crn_range_of(source->verdict->truncated);
}

static crn_range read_lane(const crn_rule_source *source)
{
    return crn_range_of((double)source->verdict->lane);
}

static const char *read_recipe(const crn_rule_source *source)
{
    return source->verdict->recipe;
}

static const char *read_lot(const crn_rule_source *source)
{
    return source->verdict->lot;
}

/* 0 stands for a number that the sender did not tell. */
static crn_range read_views_expected(const crn_rule_source *source)
{
    uint64_t views = source->verdict->views_expected;
    return views ? crn_range_of((double)views) : crn_range_any();
}

static crn_range read_views_received(const crn_rule_source *source)
{
    return crn_range_of((double)source->verdict->views_received);
}

static crn_range read_views_judged(const crn_rule_source *source)
{
    return crn_range_of((double)source->verdict->views_judged);
}

static crn_range read_outlines(const crn_rule_source *source)
{
    return source->total ? sum(source, (double)source->total->count) : crn_range_any();
}

static crn_range read_class_area_px(const crn_rule_source *source)
{
    return source->total ? sum(source, source->total->area_px) : crn_range_any();
}

static crn_range read_area_px(const crn_rule_source *source)
{
    return crn_range_of(source->defect->area_px);
}

static crn_range read_mean_probability(const crn_rule_source *source)
{
    return crn_range_of(source->defect->mean_probability);
}

static crn_range read_width_px(const crn_rule_source *source)
{
    return crn_range_of(source->defect->bbox[2] - source->defect->bbox[0]);
}

static crn_range read_height_px(const crn_rule_source *source)
{
    return crn_range_of(source->defect->bbox[3] - source->defect->bbox[1]);
}

static crn_range read_closed(const crn_rule_source *source)
{
    return crn_range_of(source->defect->closed);
}

/* --- measures, of the fruit's surface ------------------------------------------------------- */

static crn_range measured(const crn_rule_source *source, double value)
{
    return source->verdict->surface.is_measured ? crn_range_of(value) : crn_range_any();
}

static crn_range read_coverage(const crn_rule_source *source)
{
    return measured(source, source->verdict->surface.coverage);
}

static crn_range read_diameter_mm(const crn_rule_source *source)
{
    return measured(source, source->verdict->surface.diameter_mm);
}

static crn_range read_length_of_fruit_mm(const crn_rule_source *source)
{
    return measured(source, source->verdict->surface.length_mm);
}

static crn_range read_count(const crn_rule_source *source)
{
    return source->measure ? sum(source, (double)source->measure->count) : crn_range_any();
}

static crn_range read_class_area_mm2(const crn_rule_source *source)
{
    return source->measure ? sum(source, source->measure->area_mm2) : crn_range_any();
}

static crn_range read_area_percent(const crn_rule_source *source)
{
    return source->measure
               ? sum(source, 100 * source->measure->area_mm2 / source->verdict->surface.seen_mm2)
               : crn_range_any();
}

static crn_range read_largest_mm2(const crn_rule_source *source)
{
    return source->measure ? sum(source, source->measure->largest_mm2) : crn_range_any();
}

static crn_range read_longest_mm(const crn_rule_source *source)
{
    return source->measure ? sum(source, source->measure->longest_mm) : crn_range_any();
}

static crn_range read_area_mm2(const crn_rule_source *source)
{
    return crn_range_of(source->spot->area_mm2);
}

static crn_range read_length_mm(const crn_rule_source *source)
{
    return crn_range_of(source->spot->length_mm);
}

static crn_range read_width_mm(const crn_rule_source *source)
{
    return crn_range_of(source->spot->width_mm);
}

#define FRUIT(field, unit_, max_, ...)                                                             \
    {                                                                                              \
        .name = #field, .scope = CRN_SCOPE_FRUIT, .unit = unit_, .max = max_, __VA_ARGS__          \
    }
#define CLASS(field, unit_, max_, ...)                                                             \
    {                                                                                              \
        .name = #field, .scope = CRN_SCOPE_CLASS, .unit = unit_, .max = max_, __VA_ARGS__          \
    }
#define DEFECT(field, unit_, max_, ...)                                                            \
    {                                                                                              \
        .name = #field, .scope = CRN_SCOPE_DEFECT, .unit = unit_, .max = max_, __VA_ARGS__         \
    }
#define SPOT(field, unit_, max_, ...)                                                              \
    DEFECT(field, unit_, max_, .defects = CRN_DEFECTS_SPOTS, __VA_ARGS__)

const crn_rule_field crn_rule_fields[] = {
    FRUIT(kind, "kind", CRN_VERDICT_PARTIAL, .type = CRN_RULE_KIND, .read = read_kind,
          .help = "`complete` or `partial`; a late fruit meets no rule"),
    FRUIT(truncated, "", 1, .type = CRN_RULE_FLAG, .read = read_truncated,
          .help = "a limit cut the defects"),
    FRUIT(stale, "", 1, .type = CRN_RULE_FLAG, .read = read_stale,
          .help = "past its deadline; such a fruit meets no rule"),
    FRUIT(lane, "lane", LANE_MAX, .whole = true, .read = read_lane, .help = "its lane's number"),
    FRUIT(recipe, "recipe", 0, .type = CRN_RULE_TEXT, .text = read_recipe,
          .help = "the recipe in force at its first view; `\"\"`: none"),
    FRUIT(lot, "lot", 0, .type = CRN_RULE_TEXT, .text = read_lot,
          .help = "the lot in force at its first view; `\"\"`: none"),
    FRUIT(views_expected, "views", 64, .whole = true, .read = read_views_expected,
          .help = "number of its views; unknown where its sender does not say"),
    FRUIT(views_received, "views", 64, .whole = true, .read = read_views_received,
          .help = "number of its views that were received"),
    FRUIT(views_judged, "views", 64, .whole = true, .read = read_views_judged,
          .help = "number of these that were judged"),
    FRUIT(coverage, "share", 1, .read = read_coverage,
          .help = "share of its surface that was seen, 0 to 1"),
    FRUIT(diameter_mm, "mm", ENDLESS, .read = read_diameter_mm, .help = "its diameter"),
    FRUIT(length_mm, "mm", ENDLESS, .read = read_length_of_fruit_mm,
          .help = "its length along the roll axis"),
    CLASS(outlines, "outlines", COUNT_MAX, .whole = true, .read = read_outlines,
          .help = "`totals.CLASS.count`: outlines in all views, where a defect that three views "
                  "saw counts three times"),
    CLASS(area_px, "px²", ENDLESS, .read = read_class_area_px,
          .help = "`totals.CLASS.area_px`: their area, holes subtracted"),
    CLASS(count, "defects", COUNT_MAX, .whole = true, .read = read_count,
          .help = "defects on the fruit's surface, each once"),
    CLASS(area_mm2, "mm²", ENDLESS, .read = read_class_area_mm2,
          .help = "area on the fruit's surface"),
    CLASS(area_percent, "%", 100, .read = read_area_percent,
          .help = "the same, of the surface that was seen"),
    CLASS(largest_mm2, "mm²", ENDLESS, .read = read_largest_mm2,
          .help = "area of the largest defect"),
    CLASS(longest_mm, "mm", ENDLESS, .read = read_longest_mm,
          .help = "length of the longest defect"),
    DEFECT(area_px, "px²", ENDLESS, .read = read_area_px,
           .help = "area within the outline, its holes included"),
    DEFECT(mean_probability, "share", 1, .read = read_mean_probability,
           .help = "mean of the class's map within the outline, 0 to 1"),
    DEFECT(width_px, "px", ENDLESS, .read = read_width_px,
           .help = "width of the box around the outline"),
    DEFECT(height_px, "px", ENDLESS, .read = read_height_px, .help = "its height"),
    DEFECT(closed, "", 1, .type = CRN_RULE_FLAG, .read = read_closed,
           .help = "false where the picture's border cuts the outline"),
    SPOT(area_mm2, "mm²", ENDLESS, .read = read_area_mm2, .help = "area on the fruit's surface"),
    SPOT(length_mm, "mm", ENDLESS, .read = read_length_mm, .help = "longest extent on it"),
    SPOT(width_mm, "mm", ENDLESS, .read = read_width_mm, .help = "extent across that"),
    {.name = NULL},
};

const crn_rule_field *crn_rule_field_find(crn_rule_scope scope, const char *name)
{
    for (const crn_rule_field *field = crn_rule_fields; field->name; field++)
        if (field->scope == scope && strcmp(field->name, name) == 0)
            return field;
    return NULL;
}

const char *crn_rule_field_nearest(crn_rule_scope scope, const char *name)
{
    const char *names[sizeof crn_rule_fields / sizeof *crn_rule_fields];
    size_t count = 0;
    for (const crn_rule_field *field = crn_rule_fields; field->name; field++)
        if (field->scope == scope)
            names[count++] = field->name;
    return crn_nearest(name, names, count);
}

void crn_rule_field_list(crn_rule_scope scope, char ret_text[CRN_RULE_KNOWN_BYTES])
{
    crn_text text = crn_text_in(ret_text, CRN_RULE_KNOWN_BYTES);
    for (const crn_rule_field *field = crn_rule_fields; field->name; field++)
        if (field->scope == scope)
            crn_text_add(&text, "%s%s", text.used ? ", " : "", field->name);
}
