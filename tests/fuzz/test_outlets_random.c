/*
 * Mutated and random reports of outlets: each is refused with a text, or read as something that
 * pages may show, and written again it gives itself. CRN_CASES is the number of cases (100000 by
 * default), CRN_SEED the first seed (default: the clock).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/outlets/report.h"
#include "stages/base/utf8.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

static const char report[] =
    "{\"file\":\"a.yaml\",\"faults\":[{\"id\":\"plc_gone\",\"severity\":\"critical\",\"text\":"
    "\"no PLC\"},{\"id\":\"\\u00e4\",\"severity\":\"notice\",\"text\":\"\xc3\xa4\"}],\"outlets\":["
    "{\"name\":\"first\",\"fruits\":4711,\"per_minute\":412},{\"name\":\"w\",\"fruits\":"
    "9223372036854775807,\"per_minute\":0}],\"more\":[[{}],null,1e9,true]}";

static crn_encoder *encoder;
static uint64_t seed;

static void expect_shown(const char *shown, size_t size)
{
    char clean[CRN_OUTLET_FAULT_BYTES];
    size_t length = strnlen(shown, size);
    assert_in_range(length, 1, size - 1);
    memcpy(clean, shown, length + 1);
    crn_utf8_clean(clean);
    if (strcmp(clean, shown) != 0)
        fail_msg("seed %" PRIu64 ": not printable: %s", seed, clean);
}

static void expect_sound(const crn_outlet_report *read)
{
    assert_in_range(read->fault_count, 0, CRN_OUTLET_FAULTS_MAX);
    assert_in_range(read->outlet_count, 1, CRN_OUTLETS_MAX);
    expect_shown(read->file, sizeof read->file);
    for (int32_t i = 0; i < read->fault_count; i++) {
        expect_shown(read->faults[i].id, sizeof read->faults[i].id);
        expect_shown(read->faults[i].severity, sizeof read->faults[i].severity);
        expect_shown(read->faults[i].text, sizeof read->faults[i].text);
    }
    for (int32_t i = 0; i < read->outlet_count; i++)
        expect_shown(read->outlets[i].name, sizeof read->outlets[i].name);
}

static void expect_same_again(const crn_outlet_report *read)
{
    static crn_outlet_report again;
    const unsigned char *bytes;
    size_t size;
    crn_error error;
    crn_encoder_begin(encoder);
    crn_outlet_report_put(read, encoder);
    assert_int_equal(crn_encoder_end(encoder, &bytes, &size), 0);
    memset(&again, 0, sizeof again);
    if (crn_outlet_report_parse((const char *)bytes, size, &again, &error) < 0)
        fail_msg("seed %" PRIu64 ": written again it is refused: %s", seed, error.text);
    assert_memory_equal(&again, read, sizeof again);
}

static void reports_are_sound_or_refused(void **state)
{
    (void)state;
    uint32_t cases = crn_random_cases(100000), taken = 0;
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &encoder), 0);
    seed = crn_random_seed();
    for (uint32_t i = 0; i < cases; i++, seed++) {
        crn_random random = {seed};
        static crn_outlet_report read;
        crn_error error = {""};
        unsigned char bytes[sizeof report + CRN_SPOILT_MORE];
        memcpy(bytes, report, sizeof report);
        size_t size = crn_random_spoil(&random, bytes, sizeof report - 1);
        char *exact = malloc(size + 1); /* so that a sanitizer sees what is read beyond it */
        assert_non_null(exact);
        memcpy(exact, bytes, size);
        exact = realloc(exact, size ? size : 1);
        memset(&read, 0, sizeof read);
        int r = crn_outlet_report_parse(exact, size, &read, &error);
        free(exact);
        if (r == 0) {
            expect_sound(&read);
            expect_same_again(&read);
            taken++;
        } else if (!error.text[0]) {
            fail_msg("seed %" PRIu64 ": refused without a text", seed);
        }
    }
    print_message("%" PRIu32 " of %" PRIu32 " reports were taken\n", taken, cases);
    crn_encoder_free(&encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reports_are_sound_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
