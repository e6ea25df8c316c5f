/* cernita-apply: one operator on one file. */
#include <stdio.h>
#include <string.h>

#include "stages/base/file/new_file.h"
#include "stages/base/process/standard.h"
#include "tools/common/operators/operators.h"

/* The description of all, which lists the operators. */
static const char *write_about(void)
{
    static char text[2048] =
        "Applies one operator to a picture: TIFF, PNG, JPEG or NumPy's .npy; the result is TIFF "
        "or\n"
        "PNG. The pages and samples of a file are its planes. Each operator has its own --help:\n";
    for (int i = 0; i < CRN_OPERATORS; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "\n  %-14s  %s", crn_operators[i]->name,
                 crn_operators[i]->summary);
    }
    return text;
}

/* "contours, morphology, … or diamond-square" */
static const char *write_names(void)
{
    static char text[512];
    size_t used = 0;
    for (int i = 0; i < CRN_OPERATORS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 i == 0                  ? ""
                                 : i < CRN_OPERATORS - 1 ? ", "
                                                         : " or ",
                                 crn_operators[i]->name);
    return text;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-apply");
    crn_new_file_remove_at_signals();
    crn_tool tool = {.name = "cernita-apply",
                     .operands = "OPERATOR [options] IN OUT",
                     .about = write_about(),
                     .options = (const crn_option[]){{0}},
                     .operands_min = 1,
                     .operands_max = 1};
    const crn_operator *found = argc > 1 ? crn_operator_find(argv[1]) : NULL;
    if (found)
        return crn_operator_run(found, argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-')
        crn_usage_error(&tool, "unknown operator '%s'; choose %s", argv[1], write_names());
    const char *value;
    crn_options_next(&tool, argc, argv, &value); /* --help, --version or a fault */
    crn_usage_error(&tool, "an operator is missing");
}
