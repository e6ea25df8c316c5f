/* cernita-apply: one operator on one file. */
#include "stages/base/file/new_file.h"
#include "stages/base/process/standard.h"
#include "stages/base/buffer/text.h"
#include "tools/common/operators/operators.h"

static char about[2048], names[512];

/* Completes both texts from the table of operators. */
static void list_operators(void)
{
    crn_text list = CRN_TEXT_IN(about), words = CRN_TEXT_IN(names);
    crn_text_add(&list,
                 "Applies one operator to a picture: TIFF, PNG, JPEG or NumPy's .npy; the result "
                 "is TIFF or\nPNG. The pages and samples of a file are its planes. Each operator "
                 "has its own --help:\n");
    for (int i = 0; i < CRN_OPERATORS; i++) {
        const char *between = i == 0 ? "" : i < CRN_OPERATORS - 1 ? ", " : " or ";
        crn_text_add(&list, "\n  %-14s  %s", crn_operators[i]->name, crn_operators[i]->summary);
        crn_text_add(&words, "%s%s", between, crn_operators[i]->name);
    }
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-apply");
    crn_new_file_remove_at_signals();
    list_operators();
    crn_tool tool = {.name = "cernita-apply",
                     .operands = "OPERATOR [options] IN OUT",
                     .about = about,
                     .options = (const crn_option[]){{0}},
                     .operands_min = 1,
                     .operands_max = 1};
    const crn_operator *found = argc > 1 ? crn_operator_find(argv[1]) : NULL;
    if (found)
        return crn_operator_run(found, argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-')
        crn_usage_error(&tool, "unknown operator '%s'; choose %s", argv[1], names);
    const char *value;
    crn_options_next(&tool, argc, argv, &value); /* --help, --version or a fault */
    crn_usage_error(&tool, "an operator is missing");
}
