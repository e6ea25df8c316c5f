/**
 * @file
 * Parameter tables: one row per key. The YAML parser, the range checks, the defaults,
 * `--print-config` and the reference in config/README.md are all derived from the same rows, so
 * they cannot disagree.
 */
#ifndef CRN_STAGES_BASE_PARAM_H
#define CRN_STAGES_BASE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"

CRN_C_BEGIN

/** Bytes of a text, its final 0 included. */
#define CRN_TEXT_BYTES 256
#define CRN_TEXTS_MAX  16

/** A list of texts, as `bind: [a, b]`. */
typedef struct crn_texts {
    int32_t count;
    char item[CRN_TEXTS_MAX][CRN_TEXT_BYTES];
} crn_texts;

/** A size in pixels: `5` is a square, `7x3` is 7 wide and 3 high. */
typedef struct crn_size {
    int32_t width, height;
} crn_size;

#define CRN_SIZES_MAX 16

/** A list of sizes, as `windows: [4, 8x16]`. */
typedef struct crn_sizes {
    int32_t count;
    crn_size item[CRN_SIZES_MAX];
} crn_sizes;

#define CRN_NUMBERS_MAX 16

/** A list of integers, as `devices: [0, 1]`. */
typedef struct crn_numbers {
    int32_t count;
    int64_t item[CRN_NUMBERS_MAX];
} crn_numbers;

#define CRN_REALS_MAX 64

/** A list of numbers, as `mm_per_px: [0.42, 0.41]`. */
typedef struct crn_reals {
    int32_t count;
    double item[CRN_REALS_MAX];
} crn_reals;

/** Type of a value, and the C type that stores it in the settings struct. */
typedef enum crn_param_type {
    CRN_PARAM_BOOL,    /**< bool */
    CRN_PARAM_INTEGER, /**< int64_t */
    CRN_PARAM_REAL,    /**< double */
    CRN_PARAM_CHOICE,  /**< int32_t, index into `choices` */
    CRN_PARAM_TEXT,    /**< char[CRN_TEXT_BYTES] */
    CRN_PARAM_TEXTS,   /**< crn_texts; a single text is a list of one */
    CRN_PARAM_SIZE,    /**< crn_size */
    CRN_PARAM_SIZES,   /**< crn_sizes; a single size is a list of one */
    CRN_PARAM_NUMBERS, /**< crn_numbers; a single number is a list of one */
    CRN_PARAM_REALS,   /**< crn_reals; likewise */
} crn_param_type;

/** One row of a table: a key of a settings struct. */
typedef struct crn_param {
    const char *key; /**< NULL ends a table */
    crn_param_type type;
    size_t offset; /**< of the value in the settings struct */
    /** The default as written in the file (a text without quotes); NULL: the key is required. ""
     * means no value for a REAL (NaN) and an empty list for TEXTS, SIZES, NUMBERS and REALS. */
    const char *fallback;
    double min, max; /**< INTEGER, REAL, NUMBERS, REALS, SIZE and SIZES (each side): inclusive */
    const char *const *choices; /**< CHOICE: NULL-terminated */
    /** TEXT: predefined names, NULL-terminated; any other text is the path of a file, which prepare
     * reads. NULL: the text is not the name of a file. */
    const char *const *names;
    const char *help; /**< one clause, without a full stop; with units if the key has none */
    bool live; /**< a running line takes in a changed value (reload); else only a start does */
} crn_param;

/** The type of a row whose value lies there. */
#define CRN_PARAM_TYPE(pointer)                                                                    \
    _Generic((pointer), bool *: CRN_PARAM_BOOL, int64_t *: CRN_PARAM_INTEGER,                      \
        double *: CRN_PARAM_REAL, int32_t *: CRN_PARAM_CHOICE,                                     \
        char(*)[CRN_TEXT_BYTES]: CRN_PARAM_TEXT, crn_texts *: CRN_PARAM_TEXTS,                     \
        crn_size *: CRN_PARAM_SIZE, crn_sizes *: CRN_PARAM_SIZES,                                  \
        crn_numbers *: CRN_PARAM_NUMBERS, crn_reals *: CRN_PARAM_REALS)

/** A row under that name for a place in a settings struct; then the other fields. */
#define CRN_PARAM_AT(name, settings, place, ...)                                                   \
    {                                                                                              \
        .key = (name), .type = CRN_PARAM_TYPE(&((settings *)0)->place),                            \
        .offset = offsetof(settings, place), __VA_ARGS__                                           \
    }

/** A row for a member of a settings struct, under the member's name. */
#define CRN_PARAM(settings, member, ...) CRN_PARAM_AT(#member, settings, member, __VA_ARGS__)

CRN_C_END

#endif
