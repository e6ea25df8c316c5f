/* Reads the two lists of a line's file: the classes, and the chain of stages. */
#include <stdlib.h>
#include <string.h>

#include "stages/config/internal.h"

/* False if there is no list, which is then reported. */
static bool is_list(crn_reader *reader, const crn_section *section, crn_source_position position,
                    const crn_node *list, const char *expected)
{
    bool missing = !list || crn_node_empty(list) || (list->kind == CRN_NODE_LIST && !list->first);
    if (missing)
        crn_diagnostics_add(reader->faults, list ? list->position : position,
                            "%s %s, a list such as %s expected", section->key,
                            list ? "is empty" : "is missing", expected);
    else if (list->kind != CRN_NODE_LIST && list->kind != CRN_NODE_REFUSED)
        crn_diagnostics_add(reader->faults, list->position,
                            "%s: %s given, a list such as %s expected", section->key,
                            crn_node_noun(list), expected);
    return !missing && list->kind == CRN_NODE_LIST;
}

/* True if the name is valid for the next class; `positions` are those of the earlier classes. */
static bool name_is_good(crn_reader *reader, const crn_class_settings *settings,
                         crn_source_position position, const crn_source_position *positions)
{
    const crn_classes *classes = &reader->config->classes;
    size_t length = strlen(settings->name);
    if (length == 0) {
        crn_diagnostics_add(reader->faults, position,
                            "classes.name: an empty text, a name expected");
        return false;
    }
    if (length >= CRN_CLASS_NAME_MAX) {
        crn_diagnostics_add(
            reader->faults, position, "classes.name: %s is %zu bytes long, at most %d expected",
            crn_quote(settings->name, length, '\'').text, length, CRN_CLASS_NAME_MAX - 1);
        return false;
    }
    for (int32_t i = 0; i < classes->count; i++) {
        if (strcmp(classes->name[i], settings->name) == 0) {
            crn_diagnostics_add(
                reader->faults, position,
                "classes.name: '%s' is a duplicate, first on line %d, unique names expected",
                settings->name, positions[i].line);
            return false;
        }
    }
    return true;
}

void crn_read_classes(crn_reader *reader, const crn_section *section, crn_source_position position,
                      const crn_node *list)
{
    crn_classes *classes = &reader->config->classes;
    crn_source_position positions[CRN_CLASSES_MAX];
    size_t before = reader->faults->count;
    if (!is_list(reader, section, position, list, "'- {name: rot, level: 0.5}'"))
        return;
    for (const crn_node *item = list->first; item && !reader->faults->full; item = item->next) {
        if (classes->count == CRN_CLASSES_MAX) {
            crn_diagnostics_add(reader->faults, item->position,
                                "classes: too many, at most %d expected", CRN_CLASSES_MAX);
            break;
        }
        if (item->kind != CRN_NODE_MAP) {
            if (item->kind != CRN_NODE_REFUSED)
                crn_diagnostics_add(
                    reader->faults, item->position,
                    "classes: %s given, '{name: ...}' or '{name: ..., level: ...}' expected",
                    crn_node_noun(item));
            continue;
        }
        crn_class_settings settings = {.name = ""};
        const crn_table tables[2] = {{.rows = section->rows, .settings = &settings}};
        size_t item_before = reader->faults->count;
        crn_read_keys(reader, "classes", item->position, item, tables, NULL);
        const crn_node *name = crn_node_value(item, "name");
        if (!name || name->kind != CRN_NODE_SCALAR ||
            (!settings.name[0] && reader->faults->count > item_before) ||
            !name_is_good(reader, &settings, name->position, positions))
            continue;
        positions[classes->count] = name->position;
        memcpy(classes->name[classes->count], settings.name, CRN_CLASS_NAME_MAX);
        classes->level[classes->count++] = settings.level;
    }
    reader->classes_good = reader->faults->count == before;
}

static void add_unknown_stage(crn_reader *reader, const crn_node *name)
{
    crn_names names = {0};
    for (int32_t i = 0; crn_stages[i] && names.count < CRN_NAMES_MAX; i++)
        names.item[names.count++] = crn_stages[i]->name;
    crn_quoted shown = crn_quote(name->text, name->length, '\'');
    const char *nearest = crn_names_nearest(&names, name->text);
    char known[1024];
    crn_names_join(&names, "and", known, sizeof known);
    if (nearest)
        crn_diagnostics_add(reader->faults, name->position,
                            "chain: unknown stage %s, did you mean '%s'?", shown.text, nearest);
    else
        crn_diagnostics_add(reader->faults, name->position, "chain: unknown stage %s, known: %s",
                            shown.text, known);
}

/* Returns the node with the step's name, with its parameters (or NULL) in *ret_map; NULL on an
 * error, which has been reported. */
static const crn_node *step_name(crn_reader *reader, const crn_node *item, const crn_node **ret_map)
{
    const crn_node *name = item->kind == CRN_NODE_MAP ? item->first : item;
    if (item->kind == CRN_NODE_REFUSED || (name && name->kind == CRN_NODE_REFUSED))
        return NULL;
    if (!name || name->kind != CRN_NODE_SCALAR) {
        crn_diagnostics_add(
            reader->faults, item->position,
            "chain: %s given, a stage with its parameters expected, such as '- contours: "
            "{...}'",
            name ? crn_node_noun(name) : "an empty map");
        return NULL;
    }
    const crn_node *second = name == item ? NULL : name->next->next;
    if (second && second->kind == CRN_NODE_SCALAR)
        crn_diagnostics_add(reader->faults, second->position,
                            "chain: %s beside the stage %s, one stage a step expected (a parameter "
                            "is indented below its stage)",
                            crn_quote(second->text, second->length, '\'').text,
                            crn_quote(name->text, name->length, '\'').text);
    *ret_map = name == item ? NULL : name->next;
    return name;
}

/* False if the step has no name or names no stage; reported. */
static bool read_step(crn_reader *reader, const crn_section *section, const crn_node *item)
{
    const crn_node *map = NULL;
    const crn_node *name = step_name(reader, item, &map);
    bool whole = name && strlen(name->text) == name->length;
    const crn_stage *stage = whole ? crn_stage_find(name->text) : NULL;
    if (!stage) {
        if (name)
            add_unknown_stage(reader, name);
        return false;
    }
    int32_t index = reader->config->steps;
    crn_step *step = &reader->config->chain[index];
    size_t before = reader->faults->count;
    step->settings = stage->settings_bytes ? calloc(1, stage->settings_bytes) : NULL;
    if (stage->settings_bytes && !step->settings) {
        reader->faults->no_memory = true;
        crn_diagnostics_add(reader->faults, name->position, "chain: no memory for '%s'",
                            stage->name);
        return false;
    }
    reader->config->steps++;
    const crn_table tables[2] = {{.rows = stage->params, .settings = step->settings},
                                 {.rows = section->rows, .settings = step}};
    step->stage = stage;
    crn_read_keys(reader, stage->name, name->position, map, tables, NULL);
    reader->step_position[index] = name->position;
    reader->step_good[index] = reader->faults->count == before;
    return true;
}

/* Image stages, then exactly one contours, then feature stages. */
static void check_order(crn_reader *reader, crn_source_position position, bool all_known)
{
    const crn_config *config = reader->config;
    const crn_source_position *positions = reader->step_position;
    int32_t first = 0;
    while (first < config->steps && config->chain[first].stage->kind != CRN_STAGE_CONTOURS)
        first++;
    if (first == config->steps) {
        /* A misspelt step may have been the contours step: report only one error then. */
        if (all_known)
            crn_diagnostics_add(reader->faults, position,
                                "chain: no contours stage, exactly one expected");
        return;
    }
    for (int32_t i = 0; i < config->steps; i++) {
        const crn_stage *stage = config->chain[i].stage;
        if (stage->kind == CRN_STAGE_CONTOURS && i > first)
            crn_diagnostics_add(
                reader->faults, positions[i],
                "chain: '%s' is a duplicate, first on line %d, exactly one expected", stage->name,
                positions[first].line);
        else if (stage->kind == CRN_STAGE_IMAGE && i > first)
            crn_diagnostics_add(
                reader->faults, positions[i],
                "chain: '%s' works on the maps, a position before contours (line %d) expected",
                stage->name, positions[first].line);
        else if (stage->kind == CRN_STAGE_FEATURE && i < first)
            crn_diagnostics_add(
                reader->faults, positions[i],
                "chain: '%s' works on contours, a position after contours (line %d) expected",
                stage->name, positions[first].line);
    }
}

void crn_read_chain(crn_reader *reader, const crn_section *section, crn_source_position position,
                    const crn_node *list)
{
    bool all_known = true;
    if (!is_list(reader, section, position, list, "'- contours: {...}'"))
        return;
    for (const crn_node *item = list->first; item && !reader->faults->full; item = item->next) {
        if (reader->config->steps == CRN_STAGES_MAX) {
            crn_diagnostics_add(reader->faults, item->position,
                                "chain: too many stages, at most %d expected", CRN_STAGES_MAX);
            break;
        }
        all_known &= read_step(reader, section, item);
    }
    check_order(reader, position, all_known);
}
