/* Text that came from elsewhere, made fit for JSON. */
#ifndef CRN_TOOLS_WORKBENCH_TEXT_H
#define CRN_TOOLS_WORKBENCH_TEXT_H

#include <stddef.h>

/* Bytes of the UTF-8 sequence at `text`, which a 0 ends; 0 where it is none. */
size_t crn_utf8_bytes(const char *text);

/* Replaces bytes that are not UTF-8 by question marks. */
void crn_utf8_mend(char *text);

#endif
