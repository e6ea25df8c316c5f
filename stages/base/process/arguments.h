/**
 * @file
 * Validates a whole command line before getopt_long parses it. getopt_long accepts any unambiguous
 * abbreviation, so that a mistyped option can pass for another.
 */
#ifndef CRN_STAGES_BASE_PROCESS_ARGUMENTS_H
#define CRN_STAGES_BASE_PROCESS_ARGUMENTS_H

#include <getopt.h>

#include "stages/base/api.h"
#include "stages/base/error.h"

/**
 * Requires every option to be written in full, with a value exactly if it takes one.
 *
 * @param program name of the program, for the message
 * @param argv NULL-terminated; not permuted
 * @param short_options,options as getopt_long takes them
 * @param error the line to print after the program's name, cure included
 * @return 0 or -EINVAL
 */
CRN_API int crn_arguments_check(const char *program, char *const argv[], const char *short_options,
                                const struct option *options, crn_error *error);

#endif
