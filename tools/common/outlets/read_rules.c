/* Reads the section `rules`: a list of outlets and conditions. */
#include <errno.h>
#include <string.h>

#include "tools/common/outlets/outlets.h"

/* An entry of `rules`, as the file has it. */
typedef struct rule_entry {
    char outlet[CRN_TEXT_BYTES], when[CRN_TEXT_BYTES];
} rule_entry;

static const crn_param rule_keys[] = {CRN_PARAM(rule_entry, outlet, .help = "one of outlets.names"),
                                      CRN_PARAM(rule_entry, when, .help = "the condition"),
                                      {0}};

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

static void read_rule(crn_reader *reader, crn_rules *rules, const char *path, const crn_node *item)
{
    rule_entry rule = {"", ""};
    crn_rule_faults faults = {.count = 0};
    const crn_table tables[2] = {{.rows = rule_keys, .settings = &rule}};
    size_t before = reader->faults->count;
    crn_read_keys(reader, path, item->position, item, tables, NULL);
    if (reader->faults->count > before)
        return;
    const crn_node *when = crn_node_value(item, "when");
    int r = crn_rules_add(rules, when->text, when->length, &faults);
    if (r == -ENOMEM)
        reader->faults->full = reader->faults->no_memory = true;
    report(reader, path, when, &faults);
}

void crn_outlets_read_rules(crn_reader *reader, const crn_section *section,
                            crn_source_position position, const crn_node *node)
{
    crn_outlets *outlets = (void *)((char *)reader->settings + section->at);
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
        read_rule(reader, outlets->rules, path, item);
    }
}
