#include "tools/common/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/process/arguments.h"
#include "stages/base/utf8.h"
#include "tools/common/progress.h"
#include "stages/base/buffer/text.h"

#define OPTIONS_MAX  32
#define CODE_HELP    1000 /* above every index of an option table */
#define CODE_VERSION 1001

__attribute__((format(printf, 2, 0))) static void
print_line(const crn_tool *tool, const char *format, va_list arguments, const char *after)
{
    char text[1400], shown[1600];
    vsnprintf(text, sizeof text, format, arguments);
    crn_utf8_show(text, strlen(text), shown, sizeof shown);
    crn_progress_hide();
    fprintf(stderr, "%s: %s%s\n", tool->name, shown, after);
}

void crn_usage_error(const crn_tool *tool, const char *format, ...)
{
    char after[128];
    snprintf(after, sizeof after, "; see %s --help", tool->name);
    va_list arguments;
    va_start(arguments, format);
    print_line(tool, format, arguments, after);
    va_end(arguments);
    exit(CRN_EXIT_USAGE);
}

int crn_tool_fail(const crn_tool *tool, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(tool, format, arguments, "");
    va_end(arguments);
    return CRN_EXIT_FAILED;
}

void crn_tool_note(const crn_tool *tool, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(tool, format, arguments, "");
    va_end(arguments);
}

/* Prints one row of the help: the option in its own column, further lines aligned. */
static void print_row(const char *name, const char *value, const char *help)
{
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", name, value ? " " : "", value ? value : "");
    printf("  %-24s ", left);
    if (strlen(left) > 24)
        printf("\n%27s", "");
    for (; *help; help++) {
        putchar(*help);
        if (*help == '\n')
            printf("%27s", "");
    }
    putchar('\n');
}

#define HELP_WIDTH 68

/* What the row says beside its help: the choices, in a line of their own where that is full, and
 * the value without the option. */
static void print_option(const crn_option *option)
{
    char text[1024], list[512] = "";
    for (int i = 0; option->choices && option->choices[i]; i++) {
        size_t used = strlen(list);
        const char *before = i == 0 ? "" : option->choices[i + 1] ? ", " : " or ";
        snprintf(list + used, sizeof list - used, "%s%s", before, option->choices[i]);
    }
    const char *last = strrchr(option->help, '\n');
    bool full = strlen(last ? last + 1 : option->help) + strlen(list) > HELP_WIDTH;
    const char *without = option->required ? "required" : option->initial;
    snprintf(text, sizeof text, "%s%s%s%s%s%s", option->help,
             !list[0] ? ""
             : full   ? ":\n"
                      : ": ",
             list, without ? " (" : "", without ? without : "", without ? ")" : "");
    print_row(option->name, option->value, text);
}

static void print_help(const crn_tool *tool)
{
    bool any = tool->options && tool->options[0].name;
    printf("usage: %s%s%s%s\n\n%s\n\n", tool->name, any ? " [options]" : "",
           *tool->operands ? " " : "", tool->operands, tool->about);
    for (const crn_option *option = tool->options; any && option->name; option++)
        print_option(option);
    print_row("help", NULL, "this text");
    print_row("version", NULL, "the version");
    printf("\nexit status: 0 success, 1 failure, 2 usage error\n");
}

static void check_operands(const crn_tool *tool, int argc, char **argv)
{
    int count = argc - optind;
    if (count > tool->operands_max)
        crn_usage_error(tool, "'%s' is one operand too many: expected %s",
                        argv[optind + tool->operands_max],
                        *tool->operands ? tool->operands : "none");
    if (count < tool->operands_min)
        crn_usage_error(tool, "an operand is missing: expected %s", tool->operands);
}

/* Runs before the first option is read: getopt permutes argv later. */
static void check_arguments(const crn_tool *tool, char **argv, const struct option *rows)
{
    crn_error error;
    if (optind > 1 || crn_arguments_check(tool->name, argv, "", rows, &error) == 0)
        return;
    crn_tool_note(tool, "%s", error.text);
    exit(CRN_EXIT_USAGE);
}

int crn_options_next(const crn_tool *tool, int argc, char **argv, const char **ret_value)
{
    struct option rows[OPTIONS_MAX + 3] = {0};
    int count = 0;
    for (; tool->options && tool->options[count].name && count < OPTIONS_MAX; count++)
        rows[count] = (struct option){tool->options[count].name,
                                      tool->options[count].value ? required_argument : no_argument,
                                      NULL, count + 1};
    rows[count] = (struct option){"help", no_argument, NULL, CODE_HELP};
    rows[count + 1] = (struct option){"version", no_argument, NULL, CODE_VERSION};

    check_arguments(tool, argv, rows);
    int code = getopt_long(argc, argv, "", rows, NULL);
    switch (code) {
    case -1:
        check_operands(tool, argc, argv);
        return CRN_OPTIONS_END;
    case CODE_HELP:
        print_help(tool);
        exit(0);
    case CODE_VERSION:
        printf("%s %s\n", tool->name, CRN_VERSION);
        exit(0);
    default:
        *ret_value = optarg;
        return code - 1;
    }
}

int64_t crn_option_integer(const crn_tool *tool, const char *name, const char *text, int64_t min,
                           int64_t max)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < min || value > max)
        crn_usage_error(tool, "--%s '%s' is not a whole number from %lld to %lld", name, text,
                        (long long)min, (long long)max);
    return value;
}

double crn_option_real(const crn_tool *tool, const char *name, const char *text, double min,
                       double max)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < min || value > max)
        crn_usage_error(tool, "--%s '%s' is not a number from %g to %g", name, text, min, max);
    return value;
}

crn_size crn_option_size(const crn_tool *tool, const char *name, const char *text, int64_t min,
                         int64_t max)
{
    char *end;
    errno = 0;
    long long width = strtoll(text, &end, 10), height = width;
    bool good = end != text;
    if (good && *end == 'x') {
        const char *second = end + 1;
        height = strtoll(second, &end, 10);
        good = end != second;
    }
    if (!good || *end || errno || width < min || width > max || height < min || height > max)
        crn_usage_error(tool, "--%s '%s' is not N or WxH with sides from %lld to %lld", name, text,
                        (long long)min, (long long)max);
    return (crn_size){(int32_t)width, (int32_t)height};
}

/* Index of the text in the NULL-terminated `choices`; otherwise lists them and exits 2. */
static int read_choice(const crn_tool *tool, const char *name, const char *text,
                       const char *const *choices)
{
    char bytes[400];
    crn_text list = CRN_TEXT_IN(bytes);
    for (int i = 0; choices[i]; i++) {
        if (!strcmp(choices[i], text))
            return i;
        crn_text_add(&list, "%s%s", i ? ", " : "", choices[i]);
    }
    crn_usage_error(tool, "--%s '%s' is not one of %s", name, text, bytes);
}

/* --- values by their rows --- */

static int64_t read_integer(const crn_tool *tool, const crn_option *row, const char *text)
{
    if (row->choices)
        return row->first + read_choice(tool, row->name, text, row->choices);
    int64_t max = row->max >= 0x1p63 ? INT64_MAX : (int64_t)row->max;
    int64_t value = crn_option_integer(tool, row->name, text, (int64_t)row->min, max);
    return row->unit ? value * row->unit : value;
}

static void read_value(const crn_tool *tool, const crn_option *row, const char *text, void *place)
{
    switch (row->kind) {
    case CRN_OPTION_OTHER:
        break;
    case CRN_OPTION_SWITCH:
        *(bool *)place = true;
        break;
    case CRN_OPTION_TEXT:
        *(const char **)place = text;
        break;
    case CRN_OPTION_INT32:
        *(int32_t *)place = (int32_t)read_integer(tool, row, text);
        break;
    case CRN_OPTION_UINT32:
        *(uint32_t *)place = (uint32_t)read_integer(tool, row, text);
        break;
    case CRN_OPTION_INT64:
        *(int64_t *)place = read_integer(tool, row, text);
        break;
    case CRN_OPTION_UINT64:
        *(uint64_t *)place = (uint64_t)read_integer(tool, row, text);
        break;
    case CRN_OPTION_REAL:
        *(double *)place = crn_option_real(tool, row->name, text, row->min, row->max);
        break;
    case CRN_OPTION_SIZE:
        *(crn_size *)place =
            crn_option_size(tool, row->name, text, (int64_t)row->min, (int64_t)row->max);
        break;
    }
}

void crn_options_read(const crn_tool *tool, int argc, char **argv, void *settings)
{
    const char *text = NULL;
    uint32_t given = 0;
    int index;
    while ((index = crn_options_next(tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        const crn_option *row = &tool->options[index];
        given |= UINT32_C(1) << index;
        if (row->read)
            row->read(tool, row, text, settings);
        else
            read_value(tool, row, text, (char *)settings + row->offset);
    }
    for (index = 0; tool->options[index].name; index++)
        if (tool->options[index].required && !(given >> index & 1))
            crn_usage_error(tool, "--%s is missing%s", tool->options[index].name,
                            tool->options[index].missing ? tool->options[index].missing : "");
}
