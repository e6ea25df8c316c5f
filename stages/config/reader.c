/* Reads a file into settings by a table of sections: bytes, tree, and the walk over maps and their
 * keys. */
#include "stages/config/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"
#include "stages/config/internal.h"

#define PATH_BYTES 128

/* All valid keys of a map: sections first, then the rows of its tables. */
typedef struct key_set {
    crn_names names;
    const crn_section *section[CRN_NAMES_MAX]; /* or NULL: */
    const crn_param *row[CRN_NAMES_MAX];
    void *settings[CRN_NAMES_MAX];
    crn_source_position seen[CRN_NAMES_MAX]; /* line 0: not seen */
} key_set;

static void collect_keys(key_set *keys, const crn_table tables[2], const crn_section *sections)
{
    crn_names *names = &keys->names;
    for (const crn_section *s = sections; s && s->key && names->count < CRN_NAMES_MAX; s++) {
        keys->section[names->count] = s;
        names->item[names->count++] = s->key;
    }
    for (int t = 0; t < 2; t++) {
        const crn_param *row = tables ? tables[t].rows : NULL;
        for (; row && row->key && names->count < CRN_NAMES_MAX; row++) {
            keys->row[names->count] = row;
            keys->settings[names->count] = tables[t].settings;
            names->item[names->count++] = row->key;
        }
    }
}

/* Returns the section that has a key of that name, to explain a key in the wrong section. */
static const char *section_with(const crn_section *sections, const char *key)
{
    for (const crn_section *section = sections; section && section->key; section++) {
        for (const crn_section *s = section->sections; s && s->key; s++)
            if (strcmp(s->key, key) == 0)
                return section->key;
        for (const crn_param *row = section->rows; row && row->key; row++)
            if (strcmp(row->key, key) == 0)
                return section->key;
        const char *below = section_with(section->sections, key);
        if (below)
            return below;
    }
    return NULL;
}

static void add_unknown_key(crn_reader *reader, const char *path, const crn_node *key,
                            const crn_names *names)
{
    crn_quoted shown = crn_quote(key->text, key->length, '\'');
    const char *in = path[0] ? " in " : "";
    const char *nearest = crn_names_nearest(names, key->text);
    const char *section = section_with(reader->sections, key->text);
    char known[1024];
    crn_names_join(names, "and", known, sizeof known);
    if (nearest)
        crn_diagnostics_add(reader->faults, key->position, "unknown key %s%s%s, did you mean '%s'?",
                            shown.text, in, path, nearest);
    else if (section)
        crn_diagnostics_add(reader->faults, key->position,
                            "unknown key %s%s%s, it is a key of '%s' (indent it below)", shown.text,
                            in, path, section);
    else
        crn_diagnostics_add(reader->faults, key->position, "unknown key %s%s%s, known: %s",
                            shown.text, in, path, known);
}

/* Returns the key's index in the set; -1 after reporting an error, or for a section that is another
 * reader's. */
static int32_t find_key(crn_reader *reader, const char *path, const crn_node *key, key_set *keys)
{
    if (key->kind == CRN_NODE_REFUSED)
        return -1;
    if (key->kind != CRN_NODE_SCALAR) {
        crn_diagnostics_add(reader->faults, key->position, "%s as a key, a word expected",
                            crn_node_noun(key));
        return -1;
    }
    int32_t found = 0;
    while (found < keys->names.count &&
           (strcmp(keys->names.item[found], key->text) != 0 || strlen(key->text) != key->length))
        found++;
    if (found == keys->names.count) {
        if (!path[0] && reader->has_others)
            return -1;
        add_unknown_key(reader, path, key, &keys->names);
        return -1;
    }
    if (keys->seen[found].line) {
        crn_diagnostics_add(reader->faults, key->position,
                            "'%s' is a duplicate%s%s, first on line %d, one expected", key->text,
                            path[0] ? " in " : "", path, keys->seen[found].line);
        return -1;
    }
    keys->seen[found] = key->position;
    return found;
}

static void read_scalar(crn_reader *reader, const char *path, const crn_param *row,
                        const crn_node *node, void *value)
{
    crn_error error = {""};
    if (node->kind == CRN_NODE_REFUSED)
        return;
    if (node->kind != CRN_NODE_SCALAR) {
        char expected[600];
        crn_param_expected(row, expected, sizeof expected);
        crn_diagnostics_add(reader->faults, node->position, "%s: %s given, %s expected", path,
                            crn_node_noun(node), expected);
        return;
    }
    crn_scalar scalar = {.text = node->text, .length = node->length, .plain = node->plain};
    if (crn_scalar_read(row, &scalar, value, &error) < 0)
        crn_diagnostics_add(reader->faults, node->position, "%s: %s", path, error.text);
}

/* Reads a list, or a single item without brackets. `list` is zeroed. */
static void read_list(crn_reader *reader, const char *path, const crn_param *row,
                      const crn_list_kind *kind, const crn_node *node, void *list)
{
    int32_t *count = list; /* first member of every list type */
    char *items = (char *)list + kind->first;
    if (node->kind != CRN_NODE_LIST) {
        read_scalar(reader, path, row, node, items);
        *count = 1;
        return;
    }
    bool may_be_empty = row->fallback && !row->fallback[0];
    if (!node->first && !may_be_empty)
        crn_diagnostics_add(reader->faults, node->position,
                            "%s: an empty list, at least one %s expected", path, kind->noun);
    for (const crn_node *item = node->first; item; item = item->next) {
        if (*count == kind->max) {
            crn_diagnostics_add(reader->faults, item->position,
                                "%s: too many %ss, at most %d expected", path, kind->noun,
                                kind->max);
            return;
        }
        read_scalar(reader, path, row, item, items + kind->item_bytes * (size_t)(*count)++);
    }
}

static void read_value(crn_reader *reader, const char *path, const crn_param *row,
                       const crn_node *node, void *value)
{
    const crn_list_kind *kind = crn_list_kind_of(row->type);
    if (!kind) {
        read_scalar(reader, path, row, node, value);
        return;
    }
    memset(value, 0, kind->list_bytes); /* the file's list replaces the default */
    read_list(reader, path, row, kind, node, value);
}

/* `node` NULL: the file does not have the section. */
static void read_section(crn_reader *reader, const char *path, crn_source_position position,
                         const crn_section *section, const crn_node *node)
{
    const crn_table tables[2] = {{.rows = section->rows,
                                  .settings = (char *)reader->settings + section->at,
                                  .keeps = reader->keeps}};
    if (section->kind == CRN_SECTION_CLASSES)
        crn_read_classes(reader, section, position, node);
    else if (section->kind == CRN_SECTION_CHAIN)
        crn_read_chain(reader, section, position, node);
    else if (section->kind == CRN_SECTION_RECIPES)
        crn_read_recipes(reader, node);
    else if (section->kind == CRN_SECTION_OWN)
        section->read(reader, section, position, node);
    else
        crn_read_keys(reader, path, position, node, tables, section->sections);
}

bool crn_report_comma(crn_reader *reader, const char *path, const crn_node *key,
                      const crn_param *row)
{
    const crn_node *value = key->next, *next = value->next;
    if (!next || !next->next || value->kind != CRN_NODE_SCALAR || !value->plain ||
        next->kind != CRN_NODE_SCALAR || !next->plain || !crn_node_empty(next->next) ||
        next->position.line != value->position.line)
        return false;
    const char *digits = value->text + (value->text[0] == '-');
    if (!digits[0] || digits[strspn(digits, "0123456789")] || !next->text[0] ||
        next->text[strspn(next->text, "0123456789")])
        return false;
    char expected[64] = "a plain whole number";
    if (row && row->type == CRN_PARAM_REAL)
        snprintf(expected, sizeof expected, "%.20s.%.20s", value->text, next->text);
    crn_diagnostics_add(reader->faults, value->position,
                        "%s%s%.60s: '%.20s,%.20s' has a comma, which ends a value within braces, "
                        "%s expected",
                        path, path[0] ? "." : "", key->text, value->text, next->text, expected);
    return true;
}

static void read_pairs(crn_reader *reader, const char *path, const crn_node *map, key_set *keys)
{
    for (const crn_node *key = map->first; key && key->next && !reader->faults->full;
         key = key->next->next) {
        int32_t k = find_key(reader, path, key, keys);
        if (k < 0)
            continue;
        if (crn_report_comma(reader, path, key, keys->row[k])) {
            key = key->next->next;
            continue;
        }
        char below[PATH_BYTES];
        snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "." : "", keys->names.item[k]);
        const crn_param *row = keys->row[k];
        if (keys->section[k])
            read_section(reader, below, key->position, keys->section[k], key->next);
        else
            read_value(reader, below, row, key->next, (char *)keys->settings[k] + row->offset);
    }
}

void crn_read_keys(crn_reader *reader, const char *path, crn_source_position position,
                   const crn_node *map, const crn_table tables[2], const crn_section *sections)
{
    key_set keys = {.names = {0}};
    collect_keys(&keys, tables, sections);
    for (int t = 0; tables && t < 2; t++)
        for (const crn_param *row = tables[t].rows; row && row->key && !tables[t].keeps; row++)
            crn_param_fall_back(row, tables[t].settings, NULL);
    if (map && map->kind == CRN_NODE_MAP) {
        read_pairs(reader, path, map, &keys);
    } else if (map && map->kind != CRN_NODE_REFUSED && !crn_node_empty(map)) {
        char known[1024];
        crn_names_join(&keys.names, "and", known, sizeof known);
        crn_diagnostics_add(reader->faults, map->position, "%s%s%s given, keys expected: %s", path,
                            path[0] ? ": " : "", crn_node_noun(map), known);
        return;
    }
    bool refused = map && map->kind == CRN_NODE_REFUSED;
    for (int32_t k = 0; k < keys.names.count && !refused; k++) {
        char below[PATH_BYTES];
        snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "." : "", keys.names.item[k]);
        if (keys.seen[k].line)
            continue;
        if (keys.section[k])
            read_section(reader, below, position, keys.section[k], NULL);
        else if (!keys.row[k]->fallback)
            crn_diagnostics_add(reader->faults, position, "%s is missing, it has no default",
                                below);
    }
}

/* Stores the tree's values in the settings and reports errors. */
static void read_tree(const crn_file_scheme *scheme, crn_reader *reader)
{
    crn_diagnostics *faults = reader->faults;
    if (!reader->root || crn_node_empty(reader->root)) {
        crn_diagnostics_add(faults, (crn_source_position){1, 1}, "the file is empty, %s expected",
                            scheme->contents);
        return;
    }
    crn_read_keys(reader, "", reader->root->position, reader->root, NULL, scheme->sections);
    if (!faults->full)
        scheme->check(reader);
}

int crn_file_parse(const crn_file_scheme *scheme, crn_reader *reader, const char *bytes,
                   size_t length, FILE *out)
{
    crn_diagnostics *faults = reader->faults;
    crn_tree tree = {0};
    int r = crn_tree_read(&tree, bytes, length, faults);
    reader->root = tree.root;
    reader->sections = scheme->sections;
    reader->has_others = scheme->has_others;
    if (r == 0)
        read_tree(scheme, reader);
    if (r == -ENOMEM && out)
        fprintf(out, "%s: not enough memory to read it\n", faults->file);
    crn_diagnostics_print(faults, out);
    if (r == 0 && (faults->count || faults->full))
        r = faults->no_memory ? -ENOMEM : -EINVAL;
    crn_tree_done(&tree);
    crn_diagnostics_done(faults);
    return r;
}

int crn_file_bytes(const char *path, char **ret_bytes, size_t *ret_length, crn_error *error)
{
    size_t length = 0;
    ssize_t got = 1;
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    char *bytes = malloc(CRN_CONFIG_BYTES_MAX + 1);
    while (bytes && got && length <= CRN_CONFIG_BYTES_MAX) {
        got = read(fd, bytes + length, CRN_CONFIG_BYTES_MAX + 1 - length);
        if (got < 0)
            break;
        length += (size_t)got;
    }
    int r = !bytes ? -ENOMEM : got < 0 ? -errno : length > CRN_CONFIG_BYTES_MAX ? -EFBIG : 0;
    close(fd);
    if (r < 0) {
        free(bytes);
        return crn_error_set(error, r, "%s: cannot be read: %s", path, strerror(-r));
    }
    *ret_bytes = bytes;
    *ret_length = length;
    return 0;
}

int crn_file_load(const crn_file_scheme *scheme, const char *path, FILE *out, void *settings)
{
    char *bytes = NULL;
    size_t length = 0;
    crn_error error;
    crn_diagnostics faults = {.file = path};
    crn_reader reader = {.faults = &faults, .settings = settings};
    int r = crn_file_bytes(path, &bytes, &length, &error);
    if (r == 0)
        r = crn_file_parse(scheme, &reader, bytes, length, out);
    else if (out)
        fprintf(out, "%s\n", error.text);
    free(bytes);
    return r;
}
