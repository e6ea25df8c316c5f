/**
 * @file
 * Standard streams of a program: opened at the start, checked at exit.
 */
#ifndef CRN_STAGES_BASE_PROCESS_STANDARD_H
#define CRN_STAGES_BASE_PROCESS_STANDARD_H

#include "stages/base/api.h"

/**
 * Prepares the standard streams; call first in main. Opens descriptors 0 to 2 if they were closed:
 * else the first socket or file would become standard error and receive messages. Writing to a
 * standard output that was closed fails.
 *
 * At exit, standard output is flushed and closed; if that or an earlier write failed (a full
 * disk), the program prints one line after its name and exits with status 1.
 *
 * @param program its name; static
 */
CRN_API void crn_standard_streams(const char *program);

#endif
