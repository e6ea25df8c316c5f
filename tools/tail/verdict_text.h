/* Verdicts as text, one line each, and an output buffer that keeps a slow terminal up to date. */
#ifndef CRN_TOOLS_TAIL_VERDICT_TEXT_H
#define CRN_TOOLS_TAIL_VERDICT_TEXT_H

#include <stdio.h>

#include "src/formats/verdict/decode.h"

#define CRN_LINE_BYTES   1024
#define CRN_SCREEN_LINES 64

/*
 * Formats one verdict as a line without newline: publication time (local), lane, fruit, verdict,
 * views judged of those expected, total latency against the budget, defects found, views not judged
 * whole, other special states. Coloured by terminal codes if `color`.
 */
void crn_verdict_text(const crn_decoded *verdict, bool color, char line[CRN_LINE_BYTES]);

/*
 * Lines that wait for the next flush. A terminal slower than the line gets the latest
 * CRN_SCREEN_LINES of them and the number omitted; any other output gets all.
 */
typedef struct crn_screen {
    FILE *out;
    bool terminal, color;
    uint64_t added, flushed;
    char line[CRN_SCREEN_LINES][CRN_LINE_BYTES];
} crn_screen;

/* Uses colour only on a terminal and if NO_COLOR is not set. */
void crn_screen_init(crn_screen *ret_screen, FILE *out);

__attribute__((format(printf, 2, 3))) void crn_screen_add(crn_screen *screen, const char *format,
                                                          ...);

void crn_screen_flush(crn_screen *screen);

#endif
