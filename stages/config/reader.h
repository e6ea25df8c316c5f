/*
 * Files of settings in YAML: bytes to a tree of nodes with source positions, a walk over its keys
 * by tables of rows, and all errors at once, each with file, line, column and cure. For the line's
 * file (config.h) and for those of other programs, each of which has its own table of sections.
 */
#ifndef CRN_STAGES_CONFIG_READER_H
#define CRN_STAGES_CONFIG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/base/utf8.h"
#include "stages/config/config.h"

/* --- diagnostics --- */

/* Source position, line and column (in characters) counted from 1. */
typedef struct crn_source_position {
    int32_t line, column;
} crn_source_position;

typedef struct crn_fault {
    crn_source_position position;
    size_t number; /* in order of detection */
    char *text;    /* owned */
} crn_fault;

/* The errors of one file. Zero-initialise, except `file`. Reading stops when `full` is set, so that
 * the time that a faulty file takes is bounded, whatever it holds. */
typedef struct crn_diagnostics {
    const char *file; /* the caller's */
    crn_fault *item;
    size_t count, capacity;
    bool full;      /* one more could not be kept: beyond the limit, or out of memory */
    bool no_memory; /* memory ran out while it was read: the file itself may be good */
} crn_diagnostics;

CRN_API __attribute__((format(printf, 3, 4))) void
crn_diagnostics_add(crn_diagnostics *faults, crn_source_position position, const char *format, ...);

/* True if an error was reported at exactly that position. */
CRN_API bool crn_diagnostics_at(const crn_diagnostics *faults, crn_source_position position);

/* Prints all errors in file order, one per line; `out` NULL: no output. */
void crn_diagnostics_print(crn_diagnostics *faults, FILE *out);
void crn_diagnostics_done(crn_diagnostics *faults);

/* A value as a message quotes it: shortened, unprintable
 * characters escaped, between two `mark`s. */
#define CRN_SHOWN_BYTES 280
typedef struct crn_quoted {
    char text[CRN_SHOWN_BYTES];
} crn_quoted;
CRN_API crn_quoted crn_quote(const char *text, size_t length, char mark);

/* The names that are valid in one context. */
#define CRN_NAMES_MAX 64
typedef struct crn_names {
    int32_t count;
    const char *item[CRN_NAMES_MAX];
} crn_names;

/* Returns the valid name nearest to `word`, for "did you mean", or NULL. */
CRN_API const char *crn_names_nearest(const crn_names *names, const char *word);
/* "a, b or c"; `last` is "or" or "and". */
CRN_API void crn_names_join(const crn_names *names, const char *last, char *out, size_t out_bytes);

/* --- the tree of a YAML file --- */

typedef enum crn_node_kind {
    CRN_NODE_SCALAR,
    CRN_NODE_LIST,
    CRN_NODE_MAP,     /* children: key, value, key, value, … */
    CRN_NODE_REFUSED, /* an error was already reported for it */
} crn_node_kind;

typedef struct crn_node {
    crn_node_kind kind;
    bool plain;    /* SCALAR: without quotes */
    bool verbatim; /* SCALAR: stands in the file as in `text`, but for quotes */
    crn_source_position position;
    char *text; /* SCALAR: `length` bytes and a terminating zero; may contain zeros */
    size_t length;
    struct crn_node *parent, *first, *last; /* the children are linked by `next` */
    struct crn_node *next;
    struct crn_node *older; /* links all nodes, to free them */
} crn_node;

typedef struct crn_tree {
    crn_node *root;   /* NULL for an empty file */
    crn_node *newest; /* owns them all through `older` */
} crn_tree;

/*
 * Builds the tree. Returns 0, -ENOMEM, or -EINVAL with the errors that make the file unreadable (an
 * anchor, alias or tag is an error, too, but the tree is complete and 0 is returned). *tree must be
 * zeroed before, and freed with crn_tree_done in every case.
 */
int crn_tree_read(crn_tree *tree, const char *bytes, size_t length, crn_diagnostics *faults);
void crn_tree_done(crn_tree *tree);

/* Returns the value of the map's first key of that name, or NULL; `map` may be any node or NULL. */
CRN_API const crn_node *crn_node_value(const crn_node *map, const char *key);
/* Noun for the kind of a node, for messages: "a list", … */
CRN_API const char *crn_node_noun(const crn_node *node);
/* True for an empty plain scalar: a key without a value. */
CRN_API bool crn_node_empty(const crn_node *node);

/* --- scalars --- */

typedef struct crn_scalar {
    const char *text;
    size_t length;
    bool plain; /* without quotes */
} crn_scalar;

/*
 * Parses one scalar as the row's type (TEXTS: one of its texts, into a char[CRN_TEXT_BYTES]; SIZES:
 * one crn_size, NUMBERS: one int64_t, REALS: one double) into *value, which is unchanged on
 * failure. Returns 0, or -EINVAL with a clause in *error.
 */
int crn_scalar_read(const crn_param *row, const crn_scalar *scalar, void *value, crn_error *error);

/* Memory layout of a list type: an int32_t count, then the items. */
typedef struct crn_list_kind {
    crn_param_type type, item;
    size_t list_bytes, item_bytes, first; /* first: offset of the items */
    int32_t max;
    const char *noun; /* of an item */
} crn_list_kind;

/* NULL for a single value. */
const crn_list_kind *crn_list_kind_of(crn_param_type type);

/*
 * Stores the row's default in the settings struct. "" means no value: NaN for a REAL, an empty list
 * for TEXTS, SIZES, NUMBERS and REALS. Rows without a default are skipped. Returns 0, or -EINVAL
 * with a clause in *error if the table is wrong.
 */
int crn_param_fall_back(const crn_param *row, void *settings, crn_error *error);

/* Describes the row's valid values: "a whole number from 1 to 64", "low or high", … */
void crn_param_expected(const crn_param *row, char *out, size_t out_bytes);

/* --- sections --- */

typedef struct crn_reader crn_reader;

typedef enum crn_section_kind {
    CRN_SECTION_KEYS,
    CRN_SECTION_CLASSES, /* a list; `rows` describe crn_class_settings */
    CRN_SECTION_CHAIN,   /* a list; `rows` describe crn_step and add to every stage's own */
    CRN_SECTION_RECIPES, /* a map of names */
    CRN_SECTION_OWN,     /* read by `read` */
} crn_section_kind;

typedef struct crn_section {
    const char *key; /* NULL ends a table */
    crn_section_kind kind;
    const crn_param *rows; /* KEYS: of the file's settings, from `at` on; NULL for none */
    size_t at;
    const struct crn_section *sections; /* subsections; NULL for none */
    bool optional;    /* of KEYS: printed only if the file has it, which its first row then tells */
    const char *help; /* of RECIPES and OWN */
    const char *shape; /* of OWN, in the reference; NULL: "a list" */
    /* Reads an OWN section; `node` NULL: the file lacks it, to be reported at `position` where it
     * is required. */
    void (*read)(crn_reader *reader, const struct crn_section *section,
                 crn_source_position position, const crn_node *node);
    /* Prints an OWN section of a line's file, its key included, as far as it has one. */
    void (*print)(const crn_config *config, int indent, FILE *out);
} crn_section;

/* The rows of section `log`, which each program's file has: of a crn_log_settings. */
CRN_API extern const crn_param crn_keys_log[];

/* --- reading --- */

/* What a program's file consists of. */
typedef struct crn_file_scheme {
    const crn_section *sections;
    const char *contents; /* what an empty file lacks: "classes and a chain" */
    bool has_others;      /* sections of other names are another reader's, and passed over */
    /* Checks what rows cannot express, after all keys were read. */
    void (*check)(crn_reader *reader);
} crn_file_scheme;

/* State while reading one file. */
struct crn_reader {
    crn_diagnostics *faults;
    const crn_node *root;
    const crn_section *sections; /* of the whole file */
    bool has_others;             /* of the scheme */
    void *settings;
    bool keeps; /* what a subsection leaves out stays as it is, instead of the default */
    /* Of a line's file alone: */
    crn_config *config;             /* the settings */
    bool classes_good;              /* no error in them */
    bool step_good[CRN_STAGES_MAX]; /* no error in that step */
    crn_source_position step_position[CRN_STAGES_MAX];
};

/* Rows and the struct that they describe. */
typedef struct crn_table {
    const crn_param *rows; /* NULL for none */
    void *settings;
    bool keeps; /* what the file leaves out stays as it is, instead of the default */
} crn_table;

/*
 * Reads a map according to up to two tables of rows and its subsections (NULL: none): defaults
 * first, then the file's values. `path` names the map in messages ("" for the file itself), missing
 * keys are reported at `position`; `map` NULL or empty: defaults only.
 */
CRN_API void crn_read_keys(crn_reader *reader, const char *path, crn_source_position position,
                           const crn_node *map, const crn_table tables[2],
                           const crn_section *sections);

/*
 * True if the key's value is the first half of a number with a comma, as in {level: 0,5}, which
 * YAML reads as two keys, 5 without a value; reported. The caller passes over the second one. `row`
 * of the key.
 */
bool crn_report_comma(crn_reader *reader, const char *path, const crn_node *key,
                      const crn_param *row);

/*
 * Reads and checks a file, each error as one line on `faults` in file order (NULL: no output).
 * *settings, zeroed before, is written even where there are errors. Returns 0; -EINVAL for an
 * invalid file; another negative errno, also reported as a line, if it cannot be read.
 */
CRN_API int crn_file_load(const crn_file_scheme *scheme, const char *path, FILE *faults,
                          void *settings);

/* The whole file's bytes, of at most CRN_CONFIG_BYTES_MAX; the caller frees them. 0 or a negative
 * errno with one line in *error. */
int crn_file_bytes(const char *path, char **ret_bytes, size_t *ret_length, crn_error *error);

/* crn_file_load() from memory; reader.settings and reader.config are the caller's. */
int crn_file_parse(const crn_file_scheme *scheme, crn_reader *reader, const char *bytes,
                   size_t length, FILE *faults);

/* Prints the value of a row as in a file. */
CRN_API void crn_print_value(const crn_param *row, const void *settings, FILE *out);

/* The rows of a reference of all keys, for the Markdown table of a README. */
CRN_API void crn_file_print_reference(const crn_section *sections, FILE *out);

#endif
