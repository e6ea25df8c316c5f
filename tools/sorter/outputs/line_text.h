/* A decision as one line of text, for stdout and tcp clients. */
#ifndef CRN_TOOLS_SORTER_OUTPUTS_LINE_TEXT_H
#define CRN_TOOLS_SORTER_OUTPUTS_LINE_TEXT_H

#include <stddef.h>

#include "tools/sorter/decide/decider.h"

#define CRN_DECISION_LINE_BYTES 512

/* Writes the line with its final "\n" ("\r\n" of CRN_STDOUT_TEXT for tcp is the caller's choice of
 * `end`); returns its length. README.md defines both formats. */
size_t crn_decision_line(const crn_decision *decision, const crn_texts *outlets,
                         crn_stdout_format format, const char *end,
                         char ret_line[CRN_DECISION_LINE_BYTES]);

#endif
