/*
 * What the config*.c files share, in the order of a file's way through them: tree.c (bytes
 * to a tree, the only user of libyaml), diagnostics.c, scalar.c, keys.c,
 * chain.c, check.c. Nobody else includes it but their tests.
 */
#ifndef CRN_SRC_CONFIG_INTERNAL_H
#define CRN_SRC_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/base/error.h"
#include "stages/base/param.h"
#include "src/config/config.h"

/* --- faults --- */

/* A place in the file, line and column (in characters) from 1. */
typedef struct crn_source_position {
    int32_t line, column;
} crn_source_position;

typedef struct crn_fault {
    crn_source_position place;
    size_t number; /* in order of finding */
    char *text;    /* owned */
} crn_fault;

/* The faults of one file. Starts zeroed but for `file`. */
typedef struct crn_diagnostics {
    const char *file; /* the caller's */
    crn_fault *item;
    size_t count, capacity;
    size_t untold; /* past the most that are kept, or for want of memory */
} crn_diagnostics;

__attribute__((format(printf, 3, 4))) void
crn_diagnostics_add(crn_diagnostics *faults, crn_source_position place, const char *format, ...);

/* Whether one was told of that very place. */
bool crn_diagnostics_at(const crn_diagnostics *faults, crn_source_position place);

/* All of them in file order, a line each; `out` NULL: silence. */
void crn_diagnostics_print(crn_diagnostics *faults, FILE *out);
void crn_diagnostics_done(crn_diagnostics *faults);

/* A value as a fault shows it: shortened, what does not print escaped, between two `mark`s. */
#define CRN_SHOWN_BYTES 280
typedef struct crn_shown {
    char text[CRN_SHOWN_BYTES];
} crn_shown;
crn_shown crn_show(const char *text, size_t length, char mark);

/* Reads one UTF-8 character of at most `length` > 0
 * bytes; its bytes in *ret_length. -1: not UTF-8. */
int32_t crn_utf8_read(const char *text, size_t length, size_t *ret_length);
/* False for controls, line separators, writing-direction overrides and non-characters. */
bool crn_utf8_prints(int32_t character);

/* The names that could stand in a place. */
#define CRN_NAMES_MAX 64
typedef struct crn_names {
    int32_t count;
    const char *item[CRN_NAMES_MAX];
} crn_names;

/* The name that `word` was probably meant to be, or NULL. */
const char *crn_names_nearest(const crn_names *names, const char *word);
/* "a, b or c"; `last` is "or" or "and". */
void crn_names_join(const crn_names *names, const char *last, char *out, size_t out_bytes);

/* --- the tree of a YAML file --- */

typedef enum crn_node_kind {
    CRN_NODE_SCALAR,
    CRN_NODE_LIST,
    CRN_NODE_MAP,     /* children: key, value, key, value, … */
    CRN_NODE_REFUSED, /* a fault was told of it already */
} crn_node_kind;

typedef struct crn_node {
    crn_node_kind kind;
    bool plain; /* SCALAR: without quotes */
    crn_source_position place;
    char *text; /* SCALAR: `length` bytes and a zero; there may be zeros among them */
    size_t length;
    struct crn_node *parent, *first, *last; /* the children are linked by `next` */
    struct crn_node *next;
    struct crn_node *older; /* all nodes, to free them */
} crn_node;

typedef struct crn_tree {
    crn_node *root;   /* NULL: an empty file */
    crn_node *newest; /* owns them all through `older` */
} crn_tree;

/*
 * Builds the tree. 0, -EINVAL with the faults that keep it from being read (a refused anchor, alias
 * or tag is a fault, but the tree is whole and 0 is returned), or -ENOMEM. *tree starts zeroed and
 * is to be done in every case.
 */
int crn_tree_read(crn_tree *tree, const char *bytes, size_t length, crn_diagnostics *faults);
void crn_tree_done(crn_tree *tree);

/* The value of a map's first key of that name, or NULL; `map` may be anything, NULL too. */
const crn_node *crn_node_value(const crn_node *map, const char *key);
/* What a node is, for a fault: "a list", … */
const char *crn_node_noun(const crn_node *node);
/* An empty plain scalar: a key without a value. */
bool crn_node_empty(const crn_node *node);

/* --- scalars --- */

typedef struct crn_scalar {
    const char *text;
    size_t length;
    bool plain; /* without quotes */
} crn_scalar;

/*
 * Reads one scalar as the row's type (TEXTS: one of its texts, into a char[CRN_TEXT_BYTES]; SIZES:
 * one crn_size, NUMBERS: one int64_t) into *value, which is untouched on failure. 0, or -EINVAL
 * with a clause in *error.
 */
int crn_scalar_read(const crn_param *row, const crn_scalar *scalar, void *value, crn_error *error);

/*
 * Puts the row's fallback into the settings struct. "" is no value: NaN for a REAL, an empty list
 * for TEXTS, SIZES and NUMBERS. 0, or -EINVAL with a clause in *error when the table is wrong; rows
 * without a fallback are left alone.
 */
int crn_param_fall_back(const crn_param *row, void *settings, crn_error *error);

/* What may stand for the row: "a whole number from 1 to 64", "low or high", … */
void crn_param_meant(const crn_param *row, char *out, size_t out_bytes);
/* Its range alone: "1 to 64", "at least 0", "a finite one". */
void crn_param_range(const crn_param *row, char *out, size_t out_bytes);

/* --- the keys --- */

typedef enum crn_section_kind {
    CRN_SECTION_KEYS,
    CRN_SECTION_CLASSES, /* a list; `rows` are over crn_class_settings */
    CRN_SECTION_CHAIN,   /* a list; `rows` are over crn_step and stand beside every stage's own */
} crn_section_kind;

typedef struct crn_section {
    const char *key; /* NULL ends a table */
    crn_section_kind kind;
    const crn_param *rows;              /* KEYS: over crn_config; NULL: none */
    const struct crn_section *sections; /* below it; NULL: none */
} crn_section;

typedef struct crn_class_settings {
    char name[CRN_TEXT_BYTES];
    double level;
} crn_class_settings;

/* The sections of a file, in the order they are printed in. */
extern const crn_section crn_sections[];

/* The section of that kind: there is one of CLASSES and one of CHAIN. */
const crn_section *crn_section_of(crn_section_kind kind);

/* --- reading --- */

/* One file being read. */
typedef struct crn_reader {
    crn_diagnostics *faults;
    const crn_node *root;
    crn_config *config;
    bool classes_good;              /* no fault in them */
    bool step_good[CRN_STAGES_MAX]; /* nor in that step */
    crn_source_position step_place[CRN_STAGES_MAX];
} crn_reader;

/* Rows and the struct they are over. */
typedef struct crn_table {
    const crn_param *rows; /* NULL: none */
    void *settings;
} crn_table;

/*
 * A map by up to two tables of rows and the sections below it (NULL: none): the fallbacks first,
 * then what the file says. `path` names it in faults ("" for the file itself), `place` is where
 * missing keys are told; `map` NULL or empty: the fallbacks alone.
 */
void crn_read_keys(crn_reader *reader, const char *path, crn_source_position place,
                   const crn_node *map, const crn_table tables[2], const crn_section *sections);

/* The two lists; `list` NULL: there is none, which is told at `place`. */
void crn_read_classes(crn_reader *reader, const crn_section *section, crn_source_position place,
                      const crn_node *list);
void crn_read_chain(crn_reader *reader, const crn_section *section, crn_source_position place,
                    const crn_node *list);

/* What rows cannot say: keys that depend on each other, endpoints, the stages' own checks. */
void crn_check_config(crn_reader *reader);

#endif
