/* The sections `outlets` and `rules`: their keys, and what rows cannot express. */
#include "tools/common/outlets/outlets.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* outlets.partial may have it instead of a name. */
#define RULES_DECIDE "rules"

#define OUTLET(name, member, ...) CRN_PARAM_AT(name, crn_outlets, member, .live = true, __VA_ARGS__)

const crn_param crn_outlets_keys[] = {
    CRN_PARAM(
        crn_outlets, names,
        .help = "all outlets, at most 16, as letters, digits, _ and -; the first has the number 1"),
    OUTLET("default", by_default, .help = "of fruits for which no rule holds"),
    OUTLET("late", late, .help = "of late and stale verdicts"),
    OUTLET("partial", partial,
           .help = "of fruits that were not judged whole; rules: the rules decide"),
    OUTLET("silence", silence, .help = "of fruits whose verdict is lost, or whose line is silent"),
    OUTLET("unmeasured", unmeasured,
           .help = "of fruits for which a rule depends on what was not measured"),
    {0}};

static const crn_node *value_of(const crn_reader *reader, const char *key)
{
    return crn_node_value(crn_node_value(reader->root, "outlets"), key);
}

int32_t crn_outlets_find(const crn_outlets *outlets, crn_reader *reader, const char *key,
                         const char *name, const crn_node *node)
{
    const crn_texts *texts = &outlets->names;
    crn_names names = {.count = texts->count};
    for (int32_t i = 0; i < texts->count; i++) {
        if (strcmp(texts->item[i], name) == 0)
            return i;
        names.item[i] = texts->item[i];
    }
    const char *nearest = crn_names_nearest(&names, name);
    crn_quoted shown = crn_quote(name, strlen(name), '\'');
    char known[1024];
    crn_names_join(&names, "or", known, sizeof known);
    if (nearest)
        crn_diagnostics_add(reader->faults, node->position,
                            "%s: %s is not in outlets.names, did you mean '%s'?", key, shown.text,
                            nearest);
    else
        crn_diagnostics_add(reader->faults, node->position,
                            "%s: %s is not in outlets.names, %s expected", key, shown.text, known);
    return CRN_NO_OUTLET;
}

static bool is_outlet_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    return length > 0 && length < CRN_OUTLET_NAME_BYTES && strcmp(name, RULES_DECIDE) != 0;
}

static void check_names(crn_reader *reader, const crn_texts *names)
{
    const crn_node *node = value_of(reader, "names");
    const crn_node *item = node && node->kind == CRN_NODE_LIST ? node->first : node;
    for (int32_t i = 0; i < names->count && item; i++, item = item->next) {
        if (crn_diagnostics_at(reader->faults, item->position))
            continue;
        if (!is_outlet_name(names->item[i]))
            crn_diagnostics_add(reader->faults, item->position,
                                "outlets.names: %s is not a name for an outlet, at most %d "
                                "letters, digits, _ and - expected, and not 'rules'",
                                crn_quote(names->item[i], strlen(names->item[i]), '\'').text,
                                CRN_OUTLET_NAME_BYTES - 1);
        for (int32_t before = 0; before < i; before++)
            if (strcmp(names->item[before], names->item[i]) == 0)
                crn_diagnostics_add(reader->faults, item->position,
                                    "outlets.names: '%s' is a duplicate, one expected",
                                    names->item[i]);
    }
}

/* Looks up the outlet of a key of section outlets. */
static int32_t outlet_of(const crn_outlets *outlets, crn_reader *reader, const char *key,
                         const char *name)
{
    const crn_node *node = value_of(reader, key);
    char path[48];
    snprintf(path, sizeof path, "outlets.%s", key);
    if (!node || crn_diagnostics_at(reader->faults, node->position))
        return CRN_NO_OUTLET;
    return crn_outlets_find(outlets, reader, path, name, node);
}

static void check_choice(crn_reader *reader, crn_outlets *outlets)
{
    crn_outlet_choice *choice = &outlets->choice;
    choice->by_default = outlet_of(outlets, reader, "default", outlets->by_default);
    choice->late = outlet_of(outlets, reader, "late", outlets->late);
    choice->silence = outlet_of(outlets, reader, "silence", outlets->silence);
    choice->unmeasured = outlet_of(outlets, reader, "unmeasured", outlets->unmeasured);
    choice->partial = CRN_NO_OUTLET;
    if (strcmp(outlets->partial, RULES_DECIDE) != 0)
        choice->partial = outlet_of(outlets, reader, "partial", outlets->partial);
}

/* The faults of the rules themselves are told when they are read. */
static void check_rules(crn_reader *reader, crn_outlets *outlets)
{
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
        outlets->rule_outlet[number - 1] =
            crn_outlets_find(outlets, reader, key, outlet->text, outlet);
    }
}

void crn_outlets_check(crn_reader *reader, crn_outlets *outlets)
{
    check_names(reader, &outlets->names);
    check_choice(reader, outlets);
    check_rules(reader, outlets);
}

/* --- the file without its other sections --- */

static const crn_section sections[] = {CRN_OUTLETS_SECTIONS(0), {0}};

/* A sorter may go without rules; who compares by them has named another file, or misspelt it. */
static void check_file(crn_reader *reader)
{
    crn_outlets *outlets = reader->settings;
    crn_outlets_check(reader, outlets);
    if (!reader->faults->count && !crn_rules_count(outlets->rules))
        crn_diagnostics_add(reader->faults, reader->root->position,
                            "rules: there is none, a list of {outlet: NAME, when: CONDITION} "
                            "expected, as in a file of cernita-sorter");
}

int crn_outlets_load(const char *path, FILE *faults, crn_outlets *outlets)
{
    static const crn_file_scheme scheme = {.sections = sections,
                                           .contents = "outlets and rules",
                                           .has_others = true,
                                           .check = check_file};
    if (crn_rules_create(&outlets->rules) < 0) {
        fprintf(faults, "%s: not enough memory to read it\n", path);
        return -ENOMEM;
    }
    return crn_file_load(&scheme, path, faults, outlets);
}

void crn_outlets_done(crn_outlets *outlets)
{
    crn_rules_free(&outlets->rules);
}
