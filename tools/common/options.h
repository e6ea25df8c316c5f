/*
 * Command lines in one style for all tools: long options from a table, --help and --version
 * generated from it, and errors as one line `tool: what is wrong; what to do`.
 *
 * Exit status: 0 success, 1 failure, 2 usage error. Options must be written in full.
 */
#ifndef CRN_TOOLS_COMMON_OPTIONS_H
#define CRN_TOOLS_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CRN_EXIT_FAILED 1
#define CRN_EXIT_USAGE  2

typedef struct crn_option {
    const char *name;  /* without the dashes; NULL ends a table */
    const char *value; /* placeholder of the value in the help; NULL: a switch without a value */
    const char *help;  /* one clause, without a full stop; '\n' starts further lines */
} crn_option;

/* A tool, or one subcommand of a tool; all strings static. */
typedef struct crn_tool {
    const char *name;          /* "cernita-tail", "cernita-apply haar" */
    const char *operands;      /* as in the usage line: "REC.tif…" */
    const char *about;         /* description; one or more lines, without the last '\n' */
    const crn_option *options; /* at most 32 */
    int32_t operands_min, operands_max;
} crn_tool;

#define CRN_OPTIONS_END (-1)

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
void crn_option_size(const crn_tool *tool, const char *name, const char *text, int64_t min,
                     int64_t max, int32_t *ret_width, int32_t *ret_height);

/* Index of the text in the NULL-terminated `choices`; otherwise lists them and exits 2. */
int crn_option_choice(const crn_tool *tool, const char *name, const char *text,
                      const char *const *choices);

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
