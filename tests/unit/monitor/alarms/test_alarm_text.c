/* Alarms as JSON and as CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/alarms/text.h"
#include "tests/support/cmocka_prelude.h"

#define RAISED_MS INT64_C(1764230000005) /* 2025-11-27T07:53:20.005Z */

static char *text;
static size_t size;

static const char *json_of(const crn_alarm *alarm, int64_t now_ms)
{
    static char copy[4096];
    const unsigned char *bytes;
    crn_encoder *encoder;
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &encoder), 0);
    crn_encoder_begin(encoder);
    crn_alarm_json(alarm, now_ms, encoder);
    assert_int_equal(crn_encoder_end(encoder, &bytes, &size), 0);
    snprintf(copy, sizeof copy, "%.*s", (int)size, (const char *)bytes);
    crn_encoder_free(&encoder);
    return copy;
}

static const char *csv_of(const crn_alarm *alarm)
{
    free(text);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    crn_alarm_csv(alarm, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void json_has_what_applies(void **state)
{
    (void)state;
    crn_alarm alarm = {.number = 812,
                       .row = crn_condition_named("lane_silent"),
                       .values = {.lane = 2},
                       .raised_ms = RAISED_MS};
    static const char pairs[] =
        "{\"number\":812,\"id\":\"lane_silent\",\"severity\":\"critical\",\"misjudged\":true,"
        "\"lane\":2,\"values\":{\"count\":0,\"percent\":0,\"seconds\":0,\"hours\":0,"
        "\"name\":\"\"},\"what\":\"Lane 2: no pictures\",\"action\":\"Check camera and CNN of this "
        "lane.\",\"details\":\"";
    const char *json = json_of(&alarm, RAISED_MS);
    assert_memory_equal(json, pairs, strlen(pairs));
    assert_non_null(strstr(json, "\",\"raised_ms\":1764230000005}"));
    alarm.values.lane = -1;
    assert_null(strstr(json_of(&alarm, RAISED_MS), "\"lane\""));
    alarm.cleared_ms = RAISED_MS + 1;
    alarm.acknowledged_ms = RAISED_MS + 2;
    alarm.shelved_until_ms = RAISED_MS + 4;
    snprintf(alarm.acknowledged_by, sizeof alarm.acknowledged_by, "192.168.0.7");
    assert_non_null(strstr(json_of(&alarm, RAISED_MS + 3),
                           ",\"raised_ms\":1764230000005,\"cleared_ms\":1764230000006,"
                           "\"acknowledged_ms\":1764230000007,\"acknowledged_by\":\"192.168.0.7\","
                           "\"shelved_until_ms\":1764230000009}"));
    assert_null(strstr(json_of(&alarm, RAISED_MS + 4), "shelved"));
}

static void csv_has_a_line_of_cells(void **state)
{
    (void)state;
    crn_alarm alarm = {.number = 812,
                       .row = crn_condition_named("lane_silent"),
                       .values = {.lane = 2},
                       .raised_ms = RAISED_MS};
    assert_string_equal(csv_of(&alarm),
                        "812,lane_silent,critical,yes,2,2025-11-27T07:53:20.005Z,,,\"\",,\"Lane 2: "
                        "no pictures\",\"Check camera and CNN of this lane.\"\r\n");
    alarm.row = crn_condition_named("no_sender");
    alarm.values.lane = -1;
    alarm.cleared_ms = RAISED_MS + 995;
    alarm.acknowledged_ms = RAISED_MS + 60000;
    alarm.shelved_until_ms = RAISED_MS + 120000;
    snprintf(alarm.acknowledged_by, sizeof alarm.acknowledged_by, "local");
    assert_string_equal(
        csv_of(&alarm),
        "812,no_sender,warning,no,,2025-11-27T07:53:20.005Z,2025-11-27T07:53:21."
        "000Z,2025-11-27T07:54:20.005Z,\"local\",2025-11-27T07:55:20.005Z,\"No "
        "CNN is connected\",\"Start the CNN, or ignore this after the shift.\"\r\n");
}

/* Quotes are doubled, and a text that a spreadsheet would calculate is told as one. */
static void csv_quotes_texts(void **state)
{
    (void)state;
    static const struct {
        const char *given, *cell;
    } cases[] = {
        {"a \"b\", c", "\"a \"\"b\"\", c\""},
        {"a\r\nb", "\"a\r\nb\""},
        {"=1+1", "\"'=1+1\""},
        {"+1", "\"'+1\""},
        {"-1", "\"'-1\""},
        {"@SUM(A1)", "\"'@SUM(A1)\""},
        {"\tx", "\"'\tx\""},
        {"\rx", "\"'\rx\""},
        {"1=1", "\"1=1\""},
        {"", "\"\""},
        {"Käse", "\"Käse\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_condition row = {.id = "x"};
        char wanted[128];
        row.words[CRN_ENGLISH] = (crn_condition_words){cases[i].given, "{name}"};
        crn_alarm alarm = {.number = 1, .row = &row, .values = {.lane = 0}};
        snprintf(alarm.values.name, sizeof alarm.values.name, "%s", cases[i].given);
        snprintf(wanted, sizeof wanted, ",%s,%s\r\n", cases[i].cell, cases[i].cell);
        const char *line = csv_of(&alarm);
        assert_string_equal(line + strlen(line) - strlen(wanted), wanted);
    }
}

static void the_head_has_as_many_cells(void **state)
{
    (void)state;
    crn_alarm alarm = {.number = 1, .row = crn_condition_named("no_sender")};
    int cells[2] = {0, 0};
    for (const char *at = csv_of(&alarm); *at; at++)
        cells[0] += *at == ',' && at[1] != ' ';
    free(text);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    crn_alarm_csv_head(out);
    assert_int_equal(fclose(out), 0);
    for (const char *at = text; *at; at++)
        cells[1] += *at == ',';
    assert_int_equal(cells[0], cells[1]);
    assert_string_equal(text + size - 2, "\r\n");
}

static int free_text(void **state)
{
    (void)state;
    free(text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_what_applies),
        cmocka_unit_test(csv_has_a_line_of_cells),
        cmocka_unit_test(csv_quotes_texts),
        cmocka_unit_test(the_head_has_as_many_cells),
    };
    return cmocka_run_group_tests(tests, NULL, free_text);
}
