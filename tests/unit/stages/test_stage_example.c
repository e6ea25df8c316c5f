/* The example of stages/stage/README.md: the stage that stands there compiles, and does what it
 * says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/context.h"
#include "stages/stage/stage.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/settings.h"

/* --- as in the README, without its first lines --- */

typedef struct drop_faint_settings {
    double min_probability;
} drop_faint_settings;

static const crn_param params[] = {
    CRN_PARAM(drop_faint_settings, min_probability, .fallback = "0.6", .min = 0, .max = 1,
              .help = "defects whose mean_probability is lower are removed"),
    {.key = NULL},
};

static int drop_faint_finish(const void *settings, crn_job *job)
{
    const drop_faint_settings *set = settings;
    crn_defects *all = job->defects;
    /* The worst case, so that a later view does not allocate. */
    size_t bytes = 2 * all->defect_capacity * sizeof(int32_t);
    int32_t *moved = crn_context_scratch(job->context, CRN_SLOT_FINISH, bytes);
    if (!moved)
        return -ENOMEM;
    int32_t kept = 0, *parents = moved + all->defect_capacity;
    for (uint32_t i = 0; i < all->defect_count; i++)
        moved[i] = all->defects[i].mean_probability < set->min_probability ? -1 : kept++;
    /* The parent is the nearest that is kept, by its new index. */
    for (uint32_t i = 0; i < all->defect_count; i++) {
        int32_t parent = all->defects[i].parent;
        while (parent >= 0 && moved[parent] < 0)
            parent = all->defects[parent].parent;
        parents[i] = parent < 0 ? -1 : moved[parent];
    }
    /* Points and textures of removed defects stay where they are, and nothing refers to them. */
    for (uint32_t i = 0; i < all->defect_count; i++) {
        if (moved[i] < 0)
            continue;
        all->defects[moved[i]] = all->defects[i];
        all->defects[moved[i]].parent = parents[i];
    }
    all->defect_count = (uint32_t)kept;
    return 0;
}

const crn_stage crn_stage_drop_faint = {
    .name = "drop_faint",
    .help = "removes the defects of a low mean probability",
    .kind = CRN_STAGE_FEATURE,
    .params = params,
    .settings_bytes = sizeof(drop_faint_settings),
    .finish = drop_faint_finish,
};

/* --- tests --- */

#define DEFECTS 6

/* Of three defects one within the other, the middle one is faint; then a faint one with a child. */
static const crn_defect given[DEFECTS] = {
    {.channel = 1, .parent = -1, .mean_probability = 0.9},
    {.channel = 1, .parent = 0, .mean_probability = 0.5},
    {.channel = 1, .parent = 1, .mean_probability = 0.8},
    {.channel = 2, .parent = -1, .mean_probability = 0.2},
    {.channel = 2, .parent = 3, .mean_probability = 0.7},
    {.channel = 2, .parent = 4, .mean_probability = 0.6},
};

static void faint_defects_are_removed(void **state)
{
    (void)state;
    static const crn_defect wanted[] = {
        {.channel = 1, .parent = -1, .mean_probability = 0.9},
        {.channel = 1, .parent = 0, .mean_probability = 0.8},
        {.channel = 2, .parent = -1, .mean_probability = 0.7},
        {.channel = 2, .parent = 2, .mean_probability = 0.6},
    };
    const size_t count = sizeof wanted / sizeof *wanted;
    crn_defect all[DEFECTS];
    memcpy(all, given, sizeof all);
    crn_defects defects = {.defects = all, .defect_capacity = DEFECTS, .defect_count = DEFECTS};
    crn_job job = {.defects = &defects};
    assert_int_equal(crn_context_create(1, &job.context), 0);
    void *settings = crn_stage_settings(&crn_stage_drop_faint, NULL);
    assert_int_equal(crn_stage_drop_faint.finish(settings, &job), 0);
    assert_int_equal(defects.defect_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].channel, wanted[i].channel);
        assert_int_equal(all[i].parent, wanted[i].parent);
        assert_true(all[i].mean_probability == wanted[i].mean_probability);
    }
    free(settings);
    crn_context_free(&job.context);
}

/* The caller frees it. */
static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

static void it_is_the_guide_s(void **state)
{
    (void)state;
    char *readme = text_of(CRN_TEST_DATA "/../stages/stage/README.md");
    char *own = text_of(CRN_TEST_DATA "/unit/stages/test_stage_example.c");
    char *code = strstr(readme, "```c\n"), *body = code ? strstr(code, "typedef struct") : NULL;
    char *end = body ? strstr(body, "```") : NULL;
    assert_non_null(end);
    *end = '\0';
    if (!strstr(own, body))
        fail_msg("the example of stages/stage/README.md differs from %s", __FILE__);
    free(readme);
    free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faint_defects_are_removed),
        cmocka_unit_test(it_is_the_guide_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
