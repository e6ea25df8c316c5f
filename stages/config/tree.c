/* Parses a file's bytes into a tree of nodes with source positions. The only user of libyaml. */
#include "stages/config/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Nesting limit; the keys need six levels. */
#define DEPTH_MAX 32

/* Limit of the values, keys, lists and maps of a file, so that a file of CRN_CONFIG_BYTES_MAX takes
 * no longer than one that is used. The largest that the keys allow has some 40,000: CRN_RECIPES_MAX
 * recipes, each with a level for each of CRN_CLASSES_MAX classes and a chain of its own. */
#define NODES_MAX 65536

/* The tree under construction. */
typedef struct builder {
    crn_tree *tree;
    crn_diagnostics *faults;
    crn_node *open; /* innermost list or map that is still open */
    int32_t depth;
    int32_t documents;
    int32_t nodes;
} builder;

static crn_source_position position_of(const yaml_mark_t *mark)
{
    return (crn_source_position){.line = (int32_t)mark->line + 1,
                                 .column = (int32_t)mark->column + 1};
}

/* libyaml reports an offset in bytes, not a line, if it cannot decode the text. */
static crn_source_position position_of_byte(const char *bytes, size_t offset)
{
    crn_source_position position = {.line = 1, .column = 1};
    for (size_t i = 0; i < offset; i++) {
        if (bytes[i] == '\n') {
            position.line++;
            position.column = 1;
        } else if (((unsigned char)bytes[i] & 0xc0) != 0x80) {
            position.column++;
        }
    }
    return position;
}

/* First byte of the character with that number, as in a mark's index; 0 at the end. */
static char character_at(const char *bytes, size_t length, size_t number)
{
    size_t at = 0;
    for (size_t passed = 0; at < length; at++)
        if (((unsigned char)bytes[at] & 0xc0) != 0x80 && passed++ == number)
            return bytes[at];
    return '\0';
}

static int add_syntax_fault(builder *b, const yaml_parser_t *parser, const char *bytes,
                            size_t length)
{
    const char *problem = parser->problem ? parser->problem : "no reason given";
    if (parser->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    if (parser->error == YAML_READER_ERROR) {
        size_t offset = parser->problem_offset < length ? parser->problem_offset : length;
        crn_diagnostics_add(b->faults, position_of_byte(bytes, offset),
                            "not a text file: %s (0x%02x), printable UTF-8 expected", problem,
                            (unsigned)parser->problem_value);
        return -EINVAL;
    }
    /* Usual causes: a tab where only spaces are allowed, "key:value" without a space, keys that are
     * not aligned. The parser may notice lines later. */
    const yaml_mark_t *mark = &parser->problem_mark;
    const char *context = parser->context ? parser->context : "", *cure = "";
    if (character_at(bytes, length, mark->index) == '\t')
        cure = ", spaces instead of the tab expected";
    else if (strstr(context, "block") || strstr(problem, "expected ':'") ||
             strstr(problem, "mapping values"))
        cure = ", one 'key: value' a line and keys that belong together in one column expected, "
               "here and above";
    crn_diagnostics_add(b->faults, position_of(mark), "not YAML: %s%s%s%s", problem,
                        *context ? " " : "", context, cure);
    return -EINVAL;
}

/* Returns NULL if out of memory. */
static crn_node *add_node(builder *b, crn_node_kind kind, const yaml_mark_t *mark)
{
    crn_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->kind = kind;
    node->position = position_of(mark);
    node->older = b->tree->newest;
    b->tree->newest = node;
    node->parent = b->open;
    if (!b->open)
        b->tree->root = node;
    else if (b->open->last)
        b->open->last->next = node;
    else
        b->open->first = node;
    if (b->open)
        b->open->last = node;
    return node;
}

/* True if the file has the scalar's value as it is, on one line, apart from quotes around it. */
static bool is_verbatim(const yaml_event_t *event)
{
    const yaml_mark_t *start = &event->start_mark, *end = &event->end_mark;
    size_t characters = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? 0 : 2;
    for (size_t i = 0; i < event->data.scalar.length; i++)
        characters += (event->data.scalar.value[i] & 0xc0) != 0x80;
    return start->line == end->line && end->column - start->column == characters;
}

static int add_scalar(builder *b, const yaml_event_t *event)
{
    crn_node *node = add_node(b, CRN_NODE_SCALAR, &event->start_mark);
    char *text = node ? malloc(event->data.scalar.length + 1) : NULL;
    if (!text)
        return -ENOMEM;
    memcpy(text, event->data.scalar.value, event->data.scalar.length);
    text[event->data.scalar.length] = '\0';
    node->text = text;
    node->length = event->data.scalar.length;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->verbatim = is_verbatim(event);
    if (event->data.scalar.tag)
        node->kind = CRN_NODE_REFUSED;
    return 0;
}

static int open_node(builder *b, crn_node_kind kind, const yaml_event_t *event)
{
    if (++b->depth > DEPTH_MAX) {
        crn_diagnostics_add(b->faults, position_of(&event->start_mark),
                            "nested more than %d levels deep, sections with keys expected",
                            DEPTH_MAX);
        return -EINVAL;
    }
    crn_node *node = add_node(b, kind, &event->start_mark);
    if (!node)
        return -ENOMEM;
    b->open = node;
    return 0;
}

static void refuse_marks(builder *b, const yaml_event_t *event, const yaml_char_t *anchor,
                         const yaml_char_t *tag)
{
    if (anchor)
        crn_diagnostics_add(b->faults, position_of(&event->start_mark),
                            "an anchor (&...) is not supported, the bare value expected");
    if (tag)
        crn_diagnostics_add(b->faults, position_of(&event->start_mark),
                            "a tag (!...) is not supported, the bare value expected");
}

/* Ends a file of too many nodes or faults. */
static int check_limits(builder *b, const yaml_event_t *event)
{
    bool is_node = event->type == YAML_ALIAS_EVENT || event->type == YAML_SCALAR_EVENT ||
                   event->type == YAML_SEQUENCE_START_EVENT ||
                   event->type == YAML_MAPPING_START_EVENT;
    if (is_node && ++b->nodes > NODES_MAX)
        crn_diagnostics_add(b->faults, position_of(&event->start_mark),
                            "more than %d keys and values, fewer expected: the rest of the file "
                            "was not read",
                            NODES_MAX);
    return b->nodes > NODES_MAX || b->faults->full ? -EINVAL : 0;
}

/* Handles one parser event. */
static int accept_event(builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->documents++ == 0)
            return 0;
        crn_diagnostics_add(b->faults, position_of(&event->start_mark),
                            "a second document (---), one expected");
        return -EINVAL;
    case YAML_ALIAS_EVENT:
        crn_diagnostics_add(b->faults, position_of(&event->start_mark),
                            "an alias (*...) is not supported, the value itself expected");
        return add_node(b, CRN_NODE_REFUSED, &event->start_mark) ? 0 : -ENOMEM;
    case YAML_SCALAR_EVENT:
        refuse_marks(b, event, event->data.scalar.anchor, event->data.scalar.tag);
        return add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        refuse_marks(b, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        return open_node(b, CRN_NODE_LIST, event);
    case YAML_MAPPING_START_EVENT:
        refuse_marks(b, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        return open_node(b, CRN_NODE_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->open = b->open->parent;
        b->depth--;
        return 0;
    default:
        return 0;
    }
}

int crn_tree_read(crn_tree *tree, const char *bytes, size_t length, crn_diagnostics *faults)
{
    static const char bom[] = "\xef\xbb\xbf";
    if (length >= 3 && memcmp(bytes, bom, 3) == 0) {
        bytes += 3;
        length -= 3;
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return -ENOMEM;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, length);
    builder b = {.tree = tree, .faults = faults};
    int r = 0;
    bool ended = false;
    while (r == 0 && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            r = add_syntax_fault(&b, &parser, bytes, length);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        r = check_limits(&b, &event);
        if (r == 0)
            r = accept_event(&b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return r;
}

void crn_tree_done(crn_tree *tree)
{
    for (crn_node *node = tree->newest, *older; node; node = older) {
        older = node->older;
        free(node->text);
        free(node);
    }
    *tree = (crn_tree){0};
}

const crn_node *crn_node_value(const crn_node *map, const char *key)
{
    if (!map || map->kind != CRN_NODE_MAP)
        return NULL;
    for (const crn_node *node = map->first; node && node->next; node = node->next->next)
        if (node->kind == CRN_NODE_SCALAR && strcmp(node->text, key) == 0)
            return node->next;
    return NULL;
}

const char *crn_node_noun(const crn_node *node)
{
    static const char *const nouns[] = {"a value", "a list", "a map of keys", "nothing"};
    return nouns[node->kind];
}

bool crn_node_empty(const crn_node *node)
{
    return node->kind == CRN_NODE_SCALAR && node->plain && node->length == 0;
}
