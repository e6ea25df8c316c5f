/*
 * Command lines in one style for all tools: long options from a table, --help and --version
 * generated from it, and errors as one line `tool: what is wrong; what to do`.
 *
 * Exit status: 0 success, 1 failure, 2 usage error. Options must be written in full.
 */
#ifndef CRN_TOOLS_COMMON_OPTIONS_H
#define CRN_TOOLS_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/param.h"

#define CRN_EXIT_FAILED 1
#define CRN_EXIT_USAGE  2

typedef struct crn_tool crn_tool;
typedef struct crn_option crn_option;

/* How the value of an option is read, and the C type that stores it in the settings. */
typedef enum crn_option_kind {
    CRN_OPTION_OTHER,  /* by `read`, or by the caller of crn_options_next */
    CRN_OPTION_SWITCH, /* bool */
    CRN_OPTION_TEXT,   /* const char * */
    CRN_OPTION_INT32,  /* a whole number, or the index of one of `choices` */
    CRN_OPTION_UINT32,
    CRN_OPTION_INT64,
    CRN_OPTION_UINT64,
    CRN_OPTION_REAL, /* double */
    CRN_OPTION_SIZE, /* crn_size: N, or WxH */
} crn_option_kind;

/* One row of a table of options. */
struct crn_option {
    const char *name;  /* without the dashes; NULL ends a table */
    const char *value; /* placeholder of the value in the help; NULL: a switch without a value */
    const char *help;  /* one clause, without a full stop; '\n' starts further lines. --help adds
                          the choices and the value without the option */
    crn_option_kind kind;
    size_t offset;              /* of the value in the settings */
    double min, max;            /* of numbers, and of the sides of sizes */
    int64_t unit;               /* a whole number is stored as a multiple of it; 0: 1 */
    int32_t first;              /* stored for the first of the choices */
    const char *const *choices; /* NULL-terminated */
    const char *initial; /* the value without the option, for the help and forms; NULL: none */
    bool required;
    const char *missing; /* appended where it is required and missing: ": how many fruits?" */
    /* Reads the value instead; exits 2 if it cannot. */
    void (*read)(const crn_tool *tool, const crn_option *option, const char *text, void *settings);
};

/* A row whose value is read by the caller of crn_options_next(). */
#define CRN_OPTION(option, placeholder, text)                                                      \
    {                                                                                              \
        .name = (option), .value = (placeholder), .help = (text)                                   \
    }

/* How a value is read that lies there. */
#define CRN_OPTION_KIND(pointer)                                                                   \
    _Generic((pointer), bool *: CRN_OPTION_SWITCH, const char **: CRN_OPTION_TEXT,                 \
        int32_t *: CRN_OPTION_INT32, uint32_t *: CRN_OPTION_UINT32, int64_t *: CRN_OPTION_INT64,   \
        uint64_t *: CRN_OPTION_UINT64, double *: CRN_OPTION_REAL, crn_size *: CRN_OPTION_SIZE)

/* A row whose value goes to a place in a settings struct; then the other fields. */
#define CRN_OPTION_AT(option, placeholder, settings, place, ...)                                   \
    {                                                                                              \
        .name = (option), .value = (placeholder),                                                  \
        .kind = CRN_OPTION_KIND(&((settings *)0)->place), .offset = offsetof(settings, place),     \
        __VA_ARGS__                                                                                \
    }

/* Rows for a crn_client_keys in a settings struct. */
#define CRN_OPTIONS_OF_KEYS(settings, place)                                                       \
    CRN_OPTION_AT("key", "FILE", settings, place.key,                                              \
                  .help = "this client's secret key, where the line requires keys (access.keys)"), \
        CRN_OPTION_AT("server-key", "FILE", settings, place.server_key,                            \
                      .help = "with --key: the line's public key, its server.pub")

/* A tool, or one subcommand of a tool; all strings static. */
struct crn_tool {
    const char *name;          /* "cernita-tail", "cernita-apply haar" */
    const char *operands;      /* as in the usage line: "REC.tif…" */
    const char *about;         /* description; one or more lines, without the last '\n' */
    const crn_option *options; /* at most 32 */
    int32_t operands_min, operands_max;
};

#define CRN_OPTIONS_END (-1)

/*
 * Parses all options into *settings as their rows say; required ones must be there. Otherwise, and
 * afterwards, as crn_options_next().
 */
void crn_options_read(const crn_tool *tool, int argc, char **argv, void *settings);

/*
 * Parses the next option. Returns its index in tool->options and its value (argv's memory; NULL for
 * a switch), or CRN_OPTIONS_END; argv[optind] is then the first operand, and their number was
 * checked. --help and --version print to stdout and exit 0; errors exit 2. Options and operands may
 * be mixed; the tool's arguments start at argv[1].
 */
int crn_options_next(const crn_tool *tool, int argc, char **argv, const char **ret_value);

/* Parses the value of option `name` as a number from min to max; exits 2 otherwise. */
int64_t crn_option_integer(const crn_tool *tool, const char *name, const char *text, int64_t min,
                           int64_t max);
double crn_option_real(const crn_tool *tool, const char *name, const char *text, double min,
                       double max);

/* Parses N or WxH (N alone: a square), each from min to max; exits 2 otherwise. */
crn_size crn_option_size(const crn_tool *tool, const char *name, const char *text, int64_t min,
                         int64_t max);

/* `tool: text; see tool --help` on stderr, exit 2. */
__attribute__((format(printf, 2, 3), noreturn)) void crn_usage_error(const crn_tool *tool,
                                                                     const char *format, ...);

/* Prints `tool: text` on stderr, clearing a progress bar; returns CRN_EXIT_FAILED. */
__attribute__((format(printf, 2, 3))) int crn_tool_fail(const crn_tool *tool, const char *format,
                                                        ...);

/* Prints the same line as a notice, without failing. */
__attribute__((format(printf, 2, 3))) void crn_tool_note(const crn_tool *tool, const char *format,
                                                         ...);

#endif
