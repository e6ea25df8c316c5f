#include "src/http/exposition.h"

static const char *const types[] = {[CRN_FAMILY_COUNTER] = "counter",
                                    [CRN_FAMILY_GAUGE] = "gauge",
                                    [CRN_FAMILY_HISTOGRAM] = "histogram",
                                    [CRN_FAMILY_SUMMARY] = "summary"};

void crn_exposition_print_head(const char *name, crn_family_type type, const char *help, FILE *out)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, types[type]);
}

void crn_exposition_print_value(const char *value, FILE *out)
{
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\' || *c == '\n')
            fputc('\\', out);
        fputc(*c == '\n' ? 'n' : *c, out);
    }
}

void crn_exposition_print_reference_head(FILE *out)
{
    fputs("| Family | Type | Labels | Meaning |\n|---|---|---|---|\n", out);
}

void crn_exposition_print_reference(const char *name, crn_family_type type, const char *labels,
                                    const char *help, FILE *out)
{
    fprintf(out, "| `%s` | %s | %s | %s |\n", name, types[type], labels, help);
}
