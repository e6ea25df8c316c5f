/* The table of conditions: its texts in every language. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "src/monitor/conditions/conditions.h"
#include "tests/support/cmocka_prelude.h"

/* Placeholders in a text, one bit each by their first letters, to compare languages. */
static unsigned placeholders(const char *text)
{
    unsigned found = 0;
    for (const char *at = text; (at = strchr(at, '{')) != NULL; at++)
        found |= 1u << (at[1] - 'a');
    return found;
}

/* A key or an address: a mark between two letters. */
static bool has_identifier(const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '_' || (*at == '.' && at > text && isalnum((unsigned char)at[1])))
            return true;
    return false;
}

/* "1 pictures": no language says one as it says many. */
static bool counts_a_noun(const char *text)
{
    const char *count = strstr(text, "{count} ");
    return count && isalpha((unsigned char)count[strlen("{count} ")]);
}

static void every_text_is_there_in_every_language(void **state)
{
    (void)state;
    for (int32_t i = 0; i < crn_condition_row_count; i++) {
        const crn_condition *row = crn_condition_rows[i];
        assert_non_null(row->details);
        for (int language = 0; language < CRN_LANGUAGES; language++) {
            const crn_condition_words *words = &row->words[language];
            if (!words->what || !words->action || !words->what[0] || !words->action[0])
                fail_msg("%s lacks its texts in %s", row->id, crn_language_codes[language]);
            if (has_identifier(words->what) || has_identifier(words->action))
                fail_msg("%s has an identifier in %s", row->id, crn_language_codes[language]);
            if (counts_a_noun(words->what))
                fail_msg("%s is wrong of one in %s", row->id, crn_language_codes[language]);
            if (placeholders(words->what) != placeholders(row->words[CRN_ENGLISH].what))
                fail_msg("%s has other figures in %s", row->id, crn_language_codes[language]);
            assert_int_equal(words->action[strlen(words->action) - 1], '.');
        }
    }
}

static void ids_and_alerts_are_there_once(void **state)
{
    (void)state;
    for (int32_t i = 0; i < crn_condition_row_count; i++)
        for (int32_t j = 0; j < i; j++) {
            assert_string_not_equal(crn_condition_rows[i]->id, crn_condition_rows[j]->id);
            assert_string_not_equal(crn_condition_rows[i]->alert, crn_condition_rows[j]->alert);
        }
    assert_string_equal(crn_condition_named("no_grader")->id, "no_grader");
    assert_null(crn_condition_named("nothing"));
}

static void figures_replace_their_names(void **state)
{
    char text[CRN_CONDITION_TEXT_BYTES];
    crn_condition_values values = {
        .lane = 2, .count = 1e6, .percent = 41.4, .seconds = 12, .hours = 1.25, .name = "a name"};
    (void)state;
    assert_string_equal(
        crn_condition_text("{lane} {count} {percent} {seconds} {hours} {name} {no} {", &values,
                           text),
        "2 1000000 41 12 1.2 a name {no} {");
    values.lane = -1;
    assert_string_equal(crn_condition_text("lane {lane}", &values, text), "lane ?");
    values.percent = 0.4;
    assert_string_equal(crn_condition_text("{percent} %", &values, text), "0.4 %");
    values.percent = 0.004; /* of many: what holds is never 0 % */
    assert_string_equal(crn_condition_text("{percent} %", &values, text), "0.1 %");
    char longest[2 * CRN_CONDITION_TEXT_BYTES];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(strlen(crn_condition_text(longest, &values, text)),
                     CRN_CONDITION_TEXT_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_is_there_in_every_language),
        cmocka_unit_test(ids_and_alerts_are_there_once),
        cmocka_unit_test(figures_replace_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
