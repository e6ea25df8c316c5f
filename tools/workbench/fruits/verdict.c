#include "tools/workbench/fruits/verdict.h"

int crn_fruit_verdict_print(const crn_fruit_sources *sources, const crn_recorded_fruit *fruit,
                            FILE *out, crn_error *error)
{
    int r = 0;
    fputs("{\"verdict\":", out);
    if (fruit->kind == CRN_FRUIT_NO_VERDICT)
        fputs("null", out);
    else if (sources->log)
        r = crn_fruit_print_logged(sources->log, fruit, out, error);
    else
        r = crn_fruit_print_archived(sources->archive, fruit, out, error);
    fputs("}\n", out);
    return r;
}
