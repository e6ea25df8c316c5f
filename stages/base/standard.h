/* Standard input, output and error of a program: there from the start, and checked at the end. */
#ifndef CRN_STAGES_BASE_STANDARD_H
#define CRN_STAGES_BASE_STANDARD_H

/*
 * To be called first in main. Opens descriptors 0 to 2 where they were closed: else the first
 * socket or file would become standard error, and messages would be written into it. What is
 * written to a standard output that was closed fails.
 *
 * At exit, standard output is flushed and closed; where that fails, or a write before it did (a
 * full disk), the program says so in one line after its name and exits 1. `program` is static.
 */
void crn_standard_streams(const char *program);

#endif
