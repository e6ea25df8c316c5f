/*
 * A command line checked as a whole before getopt_long reads it. getopt_long takes any unambiguous
 * beginning of an option for the option, so that a mistyped one can pass for another.
 */
#ifndef CRN_STAGES_BASE_ARGUMENTS_H
#define CRN_STAGES_BASE_ARGUMENTS_H

#include <getopt.h>

#include "stages/base/error.h"

/*
 * Every option must be written in full and have a value exactly where it takes one. 0, or -EINVAL
 * with the line to print after the program's name, cure included. `short_options` and `options` as
 * getopt_long takes them; argv is not permuted.
 */
int crn_arguments_check(const char *program, char *const argv[], const char *short_options,
                        const struct option *options, crn_error *error);

#endif
