/* geometry.lanes: the scales of lanes whose cameras have another one than geometry.mm_per_px. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "stages/config/internal.h"

double crn_config_mm_per_px(const crn_config *config, uint32_t lane, uint32_t view)
{
    const crn_reals *scales = &config->geometry.mm_per_px;
    for (int32_t i = 0; i < config->lane_scales.count; i++) {
        const crn_lane_scale *own = &config->lane_scales.at[i];
        if (lane >= own->lanes.first && lane <= own->lanes.last)
            scales = &own->mm_per_px;
    }
    return scales->item[view < (uint32_t)scales->count ? (int32_t)view : scales->count - 1];
}

/* One lane, or a range of them. */
static int parse_lanes(const crn_node *key, crn_lane_range *ret_lanes)
{
    crn_texts texts = {.count = 1};
    crn_lane_ranges ranges;
    if (key->kind != CRN_NODE_SCALAR || key->length >= sizeof texts.item[0] ||
        strlen(key->text) != key->length)
        return -EINVAL;
    memcpy(texts.item[0], key->text, key->length);
    if (crn_lane_ranges_parse(&texts, &ranges) < 0 || ranges.count != 1)
        return -EINVAL;
    *ret_lanes = ranges.at[0];
    return 0;
}

/* NULL: no other entry has one of these lanes. */
static const crn_lane_scale *find_overlap(const crn_lane_scales *scales,
                                          const crn_lane_range *lanes)
{
    for (int32_t i = 0; i < scales->count; i++)
        if (lanes->first <= scales->at[i].lanes.last && lanes->last >= scales->at[i].lanes.first)
            return &scales->at[i];
    return NULL;
}

static void read_entry(crn_reader *reader, const crn_node *key)
{
    crn_lane_scales *scales = &reader->config->lane_scales;
    crn_lane_scale *entry = &scales->at[scales->count];
    crn_quoted shown = crn_quote(key->text ? key->text : "", key->text ? key->length : 0, '\'');
    crn_lane_range lanes;
    char path[64];
    if (key->kind == CRN_NODE_REFUSED)
        return;
    if (parse_lanes(key, &lanes) < 0) {
        crn_diagnostics_add(reader->faults, key->position,
                            "geometry.lanes: %s is not a lane, a number or a range such as 0-3 "
                            "expected",
                            shown.text);
        return;
    }
    const crn_lane_scale *other = find_overlap(scales, &lanes);
    if (other) {
        crn_diagnostics_add(reader->faults, key->position,
                            "geometry.lanes: %s overlaps %" PRIu32 "-%" PRIu32
                            ", each lane once expected",
                            shown.text, other->lanes.first, other->lanes.last);
        return;
    }
    snprintf(path, sizeof path, "geometry.lanes.%.32s", key->text);
    const crn_table tables[2] = {{.rows = crn_keys_lane_scale, .settings = entry}};
    crn_read_keys(reader, path, key->position, key->next, tables, NULL);
    entry->lanes = lanes;
    scales->count++;
}

void crn_read_lane_scales(crn_reader *reader, const crn_section *section,
                          crn_source_position position, const crn_node *node)
{
    (void)section;
    (void)position;
    if (!node || node->kind == CRN_NODE_REFUSED || crn_node_empty(node))
        return;
    if (node->kind != CRN_NODE_MAP) {
        crn_diagnostics_add(reader->faults, node->position,
                            "geometry.lanes: %s given, a map such as {0-3: {mm_per_px: 0.41}} "
                            "expected",
                            crn_node_noun(node));
        return;
    }
    for (const crn_node *key = node->first; key && key->next && !reader->faults->full;
         key = key->next->next) {
        if (reader->config->lane_scales.count == CRN_LANE_SCALES_MAX) {
            crn_diagnostics_add(reader->faults, key->position,
                                "geometry.lanes: too many entries, at most %d expected",
                                CRN_LANE_SCALES_MAX);
            return;
        }
        read_entry(reader, key);
    }
}

void crn_check_lane_scales(crn_reader *reader, const crn_node *map)
{
    const crn_config *config = reader->config;
    const crn_node *node = crn_node_value(map, "lanes");
    for (int32_t i = 0; node && i < config->lane_scales.count; i++) {
        const crn_lane_scale *entry = &config->lane_scales.at[i];
        if (entry->mm_per_px.count > config->limits.views)
            crn_diagnostics_add(reader->faults, node->position,
                                "geometry.lanes: %d scales of lane %" PRIu32
                                ", at most limits.views, which is %" PRId64 ", expected",
                                entry->mm_per_px.count, entry->lanes.first, config->limits.views);
    }
}

void crn_print_lane_scales(const crn_config *config, int indent, FILE *out)
{
    const crn_lane_scales *scales = &config->lane_scales;
    if (scales->count > 0)
        fprintf(out, "%*slanes:\n", indent, "");
    for (int32_t i = 0; i < scales->count; i++) {
        const crn_lane_range *lanes = &scales->at[i].lanes;
        fprintf(out, "%*s%" PRIu32, indent + 2, "", lanes->first);
        if (lanes->last != lanes->first)
            fprintf(out, "-%" PRIu32, lanes->last);
        fprintf(out, ": {%s: ", crn_keys_lane_scale->key);
        crn_print_value(crn_keys_lane_scale, &scales->at[i], out);
        fputs("}\n", out);
    }
}
