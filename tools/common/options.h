/*
 * Command lines, in one style for all tools: long options from a table, --help and --version made
 * from it, and faults as one line `tool: what is wrong; what to do`.
 *
 * Exit codes: 0 success, 1 failure, 2 usage error. Options must be written in full.
 */
#ifndef CRN_TOOLS_COMMON_OPTIONS_H
#define CRN_TOOLS_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CRN_EXIT_FAILED 1
#define CRN_EXIT_USAGE  2

typedef struct crn_option {
    const char *name;  /* without the dashes; NULL ends a table */
    const char *value; /* what the help calls its value; NULL: a switch without one */
    const char *help;  /* one clause, without a full stop; may hold '\n' for further lines */
} crn_option;

/* A tool, or one subcommand of a tool; all of it static. */
typedef struct crn_tool {
    const char *name;          /* "cernita-tail", "cernita-apply haar" */
    const char *operands;      /* as the usage line shows them: "REC.tif…" */
    const char *about;         /* what it does; one line or several, without the last '\n' */
    const crn_option *options; /* at most 32 */
    int32_t operands_min, operands_max;
} crn_tool;

#define CRN_OPTIONS_END (-1)

/*
 * The next option: its index in tool->options, with its value's text (argv's memory; NULL for a
 * switch), or CRN_OPTIONS_END once all are read. argv[optind] is then the first operand, and their
 * number was checked. --help and --version print to stdout and exit 0; what is wrong exits 2.
 * Options and operands may stand in any order; the tool's arguments start at argv[1].
 */
int crn_options_next(const crn_tool *tool, int argc, char **argv, const char **ret_value);

/* The value of option `name` as a number, within min and max; else says so and exits 2. */
int64_t crn_option_integer(const crn_tool *tool, const char *name, const char *text, int64_t min,
                           int64_t max);
double crn_option_real(const crn_tool *tool, const char *name, const char *text, double min,
                       double max);

/* N or WxH (N alone is a square), each within min and max; else says so and exits 2. */
void crn_option_size(const crn_tool *tool, const char *name, const char *text, int64_t min,
                     int64_t max, int32_t *ret_width, int32_t *ret_height);

/* Index of the text in the NULL-ended `choices`; else lists them and exits 2. */
int crn_option_choice(const crn_tool *tool, const char *name, const char *text,
                      const char *const *choices);

/* `tool: text; see tool --help` on stderr, exit 2. */
__attribute__((format(printf, 2, 3), noreturn)) void crn_usage_error(const crn_tool *tool,
                                                                     const char *format, ...);

/* `tool: text` on stderr, over a progress bar if one stands there; returns CRN_EXIT_FAILED. */
__attribute__((format(printf, 2, 3))) int crn_tool_fail(const crn_tool *tool, const char *format,
                                                        ...);

/* The same line without a failure: something that a person should know. */
__attribute__((format(printf, 2, 3))) void crn_tool_note(const crn_tool *tool, const char *format,
                                                         ...);

#endif
