#include "src/formats/encoding/csv.h"

#include <string.h>

void crn_csv_put_text(const char *text, FILE *out)
{
    fputc('"', out);
    if (text[0] && strchr("=+-@\t\r", text[0]))
        fputc('\'', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}
