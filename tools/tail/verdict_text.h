/* Verdicts in a person's words, a line each, and a screen that such lines go to without lag. */
#ifndef CRN_TOOLS_TAIL_VERDICT_TEXT_H
#define CRN_TOOLS_TAIL_VERDICT_TEXT_H

#include <stdio.h>

#include "tools/common/decode.h"

#define CRN_LINE_BYTES   1024
#define CRN_SCREEN_LINES 64

/*
 * One verdict as a line without its end: when it was published (local time), lane, fruit, verdict,
 * views judged of those expected, total latency against the budget, what was found, what became of
 * views that were not judged whole, what else is special. Coloured by terminal codes if asked.
 */
void crn_verdict_text(const crn_decoded *verdict, bool color, char line[CRN_LINE_BYTES]);

/*
 * Lines that wait for the next flush. A terminal slower than the line gets the latest
 * CRN_SCREEN_LINES of them and how many it did not get; anything else gets them all.
 */
typedef struct crn_screen {
    FILE *out;
    bool terminal, color;
    uint64_t added, flushed;
    char line[CRN_SCREEN_LINES][CRN_LINE_BYTES];
} crn_screen;

/* Colour only on a terminal, unless NO_COLOR is set. */
void crn_screen_init(crn_screen *ret_screen, FILE *out);

__attribute__((format(printf, 2, 3))) void crn_screen_add(crn_screen *screen, const char *format,
                                                          ...);

void crn_screen_flush(crn_screen *screen);

#endif
