/* The verdict's tables of keys are consistent, and documented in src/publish/README.md. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/view/reason.h"
#include "src/formats/verdict/fields.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/readme_reference.h"

static const char *const type_names[] = {
    [CRN_FIELD_BOOL] = "boolean",
    [CRN_FIELD_UNSIGNED] = "integer ≥ 0",
    [CRN_FIELD_INTEGER] = "integer",
    [CRN_FIELD_REAL] = "number",
    [CRN_FIELD_TEXT] = "text",
    [CRN_FIELD_PAIR] = "[number, number]",
    [CRN_FIELD_BOX] = "[x0, y0, x1, y1]",
    [CRN_FIELD_POINTS] = "bin of f32 x, y pairs, little-endian; JSON: [[x, y], …]",
    [CRN_FIELD_TEXTS] = "list of texts",
    [CRN_FIELD_TIMES] = "map",
    [CRN_FIELD_INTEGERS] = "list of integers",
    [CRN_FIELD_SURFACE] = "map",
    [CRN_FIELD_TOTALS] = "map by class",
    [CRN_FIELD_MEASURES] = "map by class",
    [CRN_FIELD_VIEWS] = "list of maps",
    [CRN_FIELD_DEFECTS] = "list of maps",
    [CRN_FIELD_TEXTURES] = "list of maps",
    [CRN_FIELD_POSES] = "list of maps",
    [CRN_FIELD_SPOTS] = "list of maps",
};

/* The table of the maps that are or hold the field's value, or NULL. */
static const crn_field *members_of(crn_field_type type, const char **ret_suffix)
{
    bool list = type >= CRN_FIELD_VIEWS;
    *ret_suffix = list ? "[]." : type >= CRN_FIELD_TOTALS ? ".<class>." : ".";
    return type == CRN_FIELD_TIMES      ? crn_time_fields
           : type == CRN_FIELD_TOTALS   ? crn_total_fields
           : type == CRN_FIELD_VIEWS    ? crn_view_fields
           : type == CRN_FIELD_DEFECTS  ? crn_defect_fields
           : type == CRN_FIELD_TEXTURES ? crn_texture_fields
           : type == CRN_FIELD_SURFACE  ? crn_surface_fields
           : type == CRN_FIELD_MEASURES ? crn_measure_fields
           : type == CRN_FIELD_POSES    ? crn_pose_fields
           : type == CRN_FIELD_SPOTS    ? crn_spot_fields
                                        : NULL;
}

static void print_fields(const char *path, const crn_field *fields, FILE *out)
{
    for (const crn_field *field = fields; field->key; field++) {
        fprintf(out, "| `%s%s` | %s | %s | %s |\n", path, field->key, type_names[field->type],
                field->unit, field->help);
        char below[100];
        const char *suffix;
        const crn_field *members = members_of(field->type, &suffix);
        snprintf(below, sizeof below, "%s%s%s", path, field->key, suffix);
        if (members)
            print_fields(below, members, out);
    }
}

static void expect_table(const crn_field *fields)
{
    for (const crn_field *field = fields; field->key; field++) {
        size_t length = strlen(field->help);
        if (length == 0 || field->help[length - 1] == '.' || strpbrk(field->help, "|\n"))
            fail_msg("%s: the help is not one clause", field->key);
        for (const crn_field *other = fields; other != field; other++)
            assert_string_not_equal(other->key, field->key);
        const char *suffix;
        const crn_field *members = members_of(field->type, &suffix);
        if (members)
            expect_table(members);
    }
}

static void the_tables_are_whole(void **state)
{
    (void)state;
    expect_table(crn_verdict_fields);
}

static void print_reference(FILE *out)
{
    fputs("| Key | Type | Unit | Meaning |\n|---|---|---|---|\n", out);
    print_fields("", crn_verdict_fields, out);
}

static void print_reasons(FILE *out)
{
    fputs("| state | reason | meaning |\n|---|---|---|\n"
          "| refused | as in the topic `status` | the fault of its first message |\n",
          out);
    for (crn_view_reason reason = CRN_REASON_NONE + 1; reason < CRN_REASONS; reason++)
        fprintf(out, "| %s | `%s` | %s |\n", reason < CRN_REASON_NOT_FINITE ? "lost" : "judged",
                crn_view_reason_names[reason], crn_view_reason_meanings[reason]);
    fputs("| judged | `truncated` | a limit cut its defects |\n"
          "| judged | `skipped` | it went without an optional step |\n",
          out);
}

static void the_readme_has_the_reference(void **state)
{
    (void)state;
    readme_expect_reference("src/publish/README.md", print_reference);
    readme_expect_reference("src/publish/README.md", print_reasons);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_are_whole),
        cmocka_unit_test(the_readme_has_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
