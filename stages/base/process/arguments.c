#include "stages/base/process/arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/nearest.h"

#define OPTIONS_MAX 64

/* The option that `text` abbreviates, if it is unambiguous; else NULL. */
static const char *complete(const char *text, const struct option *options)
{
    const char *found = NULL;
    for (; options->name; options++) {
        if (strncmp(options->name, text, strlen(text)) != 0)
            continue;
        if (found)
            return NULL;
        found = options->name;
    }
    return found;
}

static const char *suggest(const char *text, const struct option *options)
{
    const char *names[OPTIONS_MAX];
    size_t count = 0;
    const char *completed = *text ? complete(text, options) : NULL;
    if (completed)
        return completed;
    for (; options[count].name && count < OPTIONS_MAX; count++)
        names[count] = options[count].name;
    return crn_nearest(text, names, count);
}

/* Checks `name` or `name=value`. 0, 1 if the next argument is its value, or -EINVAL. */
static int check_long(const char *program, const char *text, bool last,
                      const struct option *options, crn_error *error)
{
    size_t length = strcspn(text, "=");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    for (const struct option *option = options; option->name; option++) {
        if (strlen(option->name) != length || strncmp(option->name, text, length) != 0)
            continue;
        if (option->has_arg == no_argument && text[length])
            return crn_error_set(error, -EINVAL, "--%s takes no value; see %s --help", name,
                                 program);
        if (option->has_arg == no_argument || text[length])
            return 0;
        return last ? crn_error_set(error, -EINVAL, "--%s needs a value; see %s --help", name,
                                    program)
                    : 1;
    }
    const char *meant = suggest(name, options);
    if (meant)
        return crn_error_set(error, -EINVAL, "unknown option '--%s'; did you mean '--%s'?", name,
                             meant);
    return crn_error_set(error, -EINVAL, "unknown option '--%s'; see %s --help", name, program);
}

/* Checks the letters after one dash. 0, 1 if the next argument is the last letter's value,
 * or -EINVAL. */
static int check_short(const char *program, const char *letters, bool last,
                       const char *short_options, crn_error *error)
{
    for (; *letters; letters++) {
        const char *found = *letters == ':' ? NULL : strchr(short_options, *letters);
        if (!found)
            return crn_error_set(error, -EINVAL, "unknown option '-%c'; see %s --help", *letters,
                                 program);
        if (found[1] != ':')
            continue;
        if (letters[1])
            return 0; /* the rest is its value */
        return last ? crn_error_set(error, -EINVAL, "-%c needs a value; see %s --help", *letters,
                                    program)
                    : 1;
    }
    return 0;
}

int crn_arguments_check(const char *program, char *const argv[], const char *short_options,
                        const struct option *options, crn_error *error)
{
    for (int i = 1; argv[0] && argv[i]; i++) {
        const char *argument = argv[i];
        if (argument[0] != '-' || !argument[1])
            continue; /* an operand */
        if (!strcmp(argument, "--"))
            return 0;
        int r = argument[1] == '-'
                    ? check_long(program, argument + 2, !argv[i + 1], options, error)
                    : check_short(program, argument + 1, !argv[i + 1], short_options, error);
        if (r < 0)
            return r;
        i += r;
    }
    return 0;
}
