/* Lines on standard output. A reader that stops reading costs lines, which are counted, not time.
 */
#ifndef CRN_TOOLS_SORTER_OUTPUTS_STANDARD_H
#define CRN_TOOLS_SORTER_OUTPUTS_STANDARD_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. */
typedef struct crn_standard_output {
    uint64_t dropped; /* lines that could not be written */
} crn_standard_output;

void crn_standard_output_send(crn_standard_output *output, const char *line, size_t length);

#endif
