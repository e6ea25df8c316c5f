/* Files of up to CRN_CONFIG_BYTES_MAX made to take long: reading them ends at a limit of faults or
 * of values. Work is counted, not timed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"
#include "stages/base/nearest.h"
#include "tests/support/cmocka_prelude.h"

#define FAULTS 1000
#define GOOD   "classes: [{name: rot, level: 0.5}]\nchain: [contours]\n"

static int guesses;

/* In place of the library's: each unknown key costs one. */
const char *crn_nearest(const char *word, const char *const words[], size_t count)
{
    (void)word;
    (void)words;
    (void)count;
    guesses++;
    return NULL;
}

static const struct hostile_file {
    const char *begin, *again, *end;
    const char *last; /* of the messages; NULL: the limit of faults */
} files[] = {
    {GOOD, "a: 1\n", "", NULL},
    {GOOD, "log:\n", "", NULL},
    {GOOD, "{}: 1\n", "", NULL},
    {GOOD "latency:\n", "  guard_ms: 1\n", "", NULL},
    {GOOD "recipes:\n", "  a: 1\n", "", NULL},
    {GOOD "recipes:\n a:\n", "  x: 1\n", "", NULL},
    {GOOD "recipes:\n a:\n  chain: []\n  classes:\n", "   rot: 0.5\n", "", NULL},
    {"chain: [contours]\nclasses:\n", "- 1\n", "", NULL},
    {"chain: [contours]\nclasses:\n", "- {a: 1}\n", "", NULL},
    {"classes: [{name: rot, level: 0.5}]\nchain:\n", "- x\n", "", NULL},
    {"chain:\n", "- &a 1\n", "", NULL},
    {"chain:\n", "- *a\n", "", NULL},
    {"a: [", "!x y,", "]\n", NULL},
    {"a: [", "{b: 1},", "]\n", "more than 65536 keys and values"},
    {GOOD "recipes:\n a: {classes: {", "x: 1,", "}}\n", "more than 65536 keys and values"},
    {"classes: [{name: rot, level: 2}]\nchain: [contours]\nrecipes:\n a:\n  classes:\n",
     "   x: 1\n", "", "more than 65536 keys and values"},
};

static char *make(const struct hostile_file *file)
{
    size_t step = strlen(file->again);
    char *text = malloc(CRN_CONFIG_BYTES_MAX + 1), *at = stpcpy(text, file->begin);
    size_t times = (CRN_CONFIG_BYTES_MAX - strlen(text) - strlen(file->end)) / step;
    if (!file->last && times > 20000) /* below the limit of values */
        times = 20000;
    for (; times > 0; times--)
        at = stpcpy(at, file->again);
    strcpy(at, file->end);
    return text;
}

static void reading_ends_at_a_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        static crn_config config;
        char *faults = NULL, *text = make(&files[i]);
        size_t length = 0;
        FILE *out = open_memstream(&faults, &length);
        guesses = 0;
        int r = crn_config_parse("f", text, strlen(text), out, &config);
        fclose(out);
        assert_int_equal(r, -EINVAL);
        size_t lines = 0;
        for (const char *at = faults; *at; at++)
            lines += *at == '\n';
        const char *last =
            files[i].last ? files[i].last
                          : "\nf: more faults than these 1000: the rest of the file was not read\n";
        if (!strstr(faults, last) || lines > FAULTS + 1 || guesses > FAULTS + 1)
            fail_msg("case %zu, %d guesses, %zu lines: %s", i, guesses, lines,
                     faults + (length > 200 ? length - 200 : 0));
        free(faults);
        free(text);
    }
}

/* The largest that the keys allow is below the limits. */
static void a_full_file_is_read(void **state)
{
    (void)state;
    static crn_config config;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fputs("chain: [contours]\nclasses:\n", out);
    for (int class = 0; class < CRN_CLASSES_MAX; class ++)
        fprintf(out, "- {name: class%d, level: 0.5}\n", class);
    fputs("recipes:\n", out);
    for (int recipe = 0; recipe < CRN_RECIPES_MAX; recipe++) {
        fprintf(out, "  recipe%d:\n    latency: {budget_ms: 90, assemble_ms: 50, guard_ms: 3}\n",
                recipe);
        fputs("    chain:\n    - contours: {connectivity: low, border: closed}\n", out);
        for (int step = 1; step < CRN_STAGES_MAX; step++)
            fputs("    - ranklet: {windows: [8, 16, 8x16], optional: true}\n", out);
        fputs("    classes:\n", out);
        for (int class = 0; class < CRN_CLASSES_MAX; class ++)
            fprintf(out, "      class%d: {level: 0.25}\n", class);
    }
    fclose(out);
    assert_true(length < CRN_CONFIG_BYTES_MAX);
    assert_int_equal(crn_config_parse("f", text, length, stderr, &config), 0);
    assert_int_equal(config.recipes->count, CRN_RECIPES_MAX);
    crn_config_done(&config);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_ends_at_a_limit),
        cmocka_unit_test(a_full_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
