/* A verdict for cernita-tail, and the assertions on what it prints. */
#ifndef CRN_TESTS_SUPPORT_TAIL_OUTPUT_H
#define CRN_TESTS_SUPPORT_TAIL_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

/* Writes a complete verdict as JSON: fruit `sequence` + 1000, 12.5 of 100 ms. Returns its size. */
size_t tail_verdict(char *text, size_t size, const char *run, int lane, int sequence);

/* Starts cernita-tail with these arguments; `out` of the others is its stdout and stderr. */
FILE *tail_start(const char *arguments);

void tail_expect_line(FILE *out, const char *expected);

/* Asserts the line of tail_verdict()'s verdict. */
void tail_expect_verdict(FILE *out, int lane, int sequence);

/* Asserts no further output and this exit status. */
void tail_expect_end(FILE *out, int status);

#endif
