/* Reads the section `rules`: a list of outlets and conditions. */
#include <errno.h>
#include <string.h>

#include "tools/sorter/settings/internal.h"

/* The place of a rule's byte in the file, where its text stands there as it is, on one line. */
static crn_source_position position_in(const crn_node *node, size_t at)
{
    crn_source_position position = node->position;
    position.column += !node->plain;
    for (size_t i = 0; i < at && i < node->length; i++)
        position.column += ((unsigned char)node->text[i] & 0xc0) != 0x80;
    return position;
}

static void report(crn_reader *reader, const char *path, const crn_node *node,
                   const crn_rule_faults *faults)
{
    for (int32_t i = 0; i < faults->count; i++) {
        size_t at = faults->item[i].at;
        if (node->verbatim)
            crn_diagnostics_add(reader->faults, position_in(node, at), "%s.when: %s", path,
                                faults->item[i].text);
        else
            crn_diagnostics_add(reader->faults, node->position, "%s.when: at %s: %s", path,
                                crn_quote(node->text + at, node->length - at, '\'').text,
                                faults->item[i].text);
    }
}

static void read_rule(crn_reader *reader, const char *path, const crn_node *item)
{
    crn_sorter_settings *settings = reader->settings;
    crn_sorter_rule rule = {"", ""};
    crn_rule_faults faults = {.count = 0};
    const crn_table tables[2] = {{.rows = crn_sorter_rule_keys, .settings = &rule}};
    size_t before = reader->faults->count;
    crn_read_keys(reader, path, item->position, item, tables, NULL);
    if (reader->faults->count > before)
        return;
    const crn_node *when = crn_node_value(item, "when");
    int r = crn_rules_add(settings->rules, when->text, when->length, &faults);
    if (r == -ENOMEM)
        reader->faults->full = reader->faults->no_memory = true;
    report(reader, path, when, &faults);
}

void crn_sorter_read_rules(crn_reader *reader, const crn_section *section,
                           crn_source_position position, const crn_node *node)
{
    (void)position;
    if (!node || node->kind == CRN_NODE_REFUSED || crn_node_empty(node))
        return; /* no rules: all fruits go to the default */
    if (node->kind != CRN_NODE_LIST) {
        crn_diagnostics_add(reader->faults, node->position,
                            "%s: %s given, a list of {outlet: NAME, when: CONDITION} expected",
                            section->key, crn_node_noun(node));
        return;
    }
    int32_t number = 1;
    for (const crn_node *item = node->first; item && !reader->faults->full; item = item->next) {
        char path[32];
        snprintf(path, sizeof path, "rules[%d]", number++);
        read_rule(reader, path, item);
    }
}

void crn_sorter_check_rules(crn_reader *reader)
{
    crn_sorter_settings *settings = reader->settings;
    const crn_node *list = crn_node_value(reader->root, "rules");
    int32_t number = 0;
    if (!list || list->kind != CRN_NODE_LIST)
        return;
    for (const crn_node *item = list->first; item; item = item->next) {
        const crn_node *outlet = crn_node_value(item, "outlet");
        char key[48];
        snprintf(key, sizeof key, "rules[%d].outlet", ++number);
        if (number > CRN_RULES_MAX || !outlet || outlet->kind != CRN_NODE_SCALAR ||
            crn_diagnostics_at(reader->faults, outlet->position))
            continue;
        settings->rule_outlet[number - 1] =
            crn_sorter_find_outlet(reader, key, outlet->text, outlet);
    }
}
