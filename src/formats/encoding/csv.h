/* Cells of CSV that hold texts. */
#ifndef CRN_SRC_FORMATS_ENCODING_CSV_H
#define CRN_SRC_FORMATS_ENCODING_CSV_H

#include <stdio.h>

/* A cell in quotes. A text that a spreadsheet would take for a formula begins with an apostrophe,
 * which shows that it is a text. */
void crn_csv_put_text(const char *text, FILE *out);

#endif
