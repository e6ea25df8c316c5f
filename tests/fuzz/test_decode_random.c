/*
 * Mutated verdicts (bytes changed, inserted and deleted) and random bytes through all decoders.
 * CRN_CASES is the number of cases (20000 by default), CRN_SEED the first seed (default: the
 * clock); a failing run names the case's own seed, and CRN_CASES=1 with it repeats that case alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "src/formats/verdict/decode.h"
#include "tools/tail/verdict_text.h"

#define BYTES_MAX 2048

static const char json[] =
    "{\"v\":1,\"run\":\"0011223344556677\",\"lane\":3,\"epoch\":18446744073709551615,\"fruit\":17,"
    "\"sequence\":40,\"stale\":false,\"verdict\":\"partial\",\"views_expected\":4,"
    "\"views_received\":3,\"views_judged\":2,\"budget_ms\":100,\"skipped\":[\"ranklet\"],"
    "\"truncated\":true,\"latency_ms\":{\"queue\":0.5,\"total\":12.25},\"state\":\"running\","
    "\"lanes\":[{\"lane\":3,\"sequence\":7}],\"totals\":{\"rot\":{\"count\":1,\"area_px\":2.5}},"
    "\"defects\":[{\"view\":1,\"class\":\"rot\",\"closed\":true,\"hole\":false,\"area_px\":2.5,"
    "\"mean_probability\":null,\"bbox\":[1,2,3,4],\"centroid\":[2,3],"
    "\"xy\":[[1,2],[3.25,4],[1,2]]}]}";

/* First bytes of values that declare large sizes. */
static const unsigned char claims[] = {0xdd, 0xdf, 0xdc, 0xde, 0xc6, 0xc9, 0xdb, 0xff,
                                       0x00, '[',  '{',  '"',  '\\', 'e',  '-',  '9'};

static size_t spoil(crn_random *random, unsigned char *bytes, size_t size)
{
    int32_t changes = crn_random_between(random, 0, 6);
    for (int32_t i = 0; i < changes && size; i++) {
        size_t at = (size_t)crn_random_below(random, (uint32_t)size);
        switch (crn_random_between(random, 0, 4)) {
        case 0:
            bytes[at] ^= (unsigned char)(1 << crn_random_between(random, 0, 7));
            break;
        case 1:
            bytes[at] = claims[crn_random_below(random, sizeof claims)];
            break;
        case 2:
            size = at;
            break;
        case 3:
            memmove(bytes + at, bytes + at + 1, size - at - 1);
            size--;
            break;
        default:
            if (size < BYTES_MAX) {
                memmove(bytes + at + 1, bytes + at, size - at);
                bytes[at] = (unsigned char)crn_random_between(random, 0, 255);
                size++;
            }
        }
    }
    return size;
}

/* True if it could be decoded. */
static bool read_all(uint64_t seed, const unsigned char *bytes, size_t size, FILE *nowhere)
{
    static crn_decoded_status status;
    crn_decoded *verdict = NULL;
    crn_error error = {""};
    crn_messagepack_json packed;
    unsigned char *exact = malloc(size + !size);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    int r = crn_messagepack_json_init(&packed, exact, size, &error);
    if (r == 0) {
        int decoded = crn_decode(&packed, &verdict, &error);
        if (decoded == 0) {
            char line[CRN_LINE_BYTES];
            crn_verdict_text(verdict, false, line);
            crn_decoded_free(&verdict);
        }
        if (decoded != 0 && decoded != -EBADMSG)
            fail_msg("CRN_SEED=%" PRIu64 ": %d: %s", seed, decoded, error.text);
        crn_decode_status(&packed, &status, &error);
        assert_int_equal(crn_messagepack_json_print(&packed, nowhere), 0);
        crn_messagepack_json_done(&packed);
    } else if (r != -EBADMSG || !*error.text) {
        fail_msg("CRN_SEED=%" PRIu64 ": %d: %s", seed, r, error.text);
    }
    free(exact);
    return r == 0;
}

static void whatever_comes_is_read_or_refused(void **state)
{
    (void)state;
    uint64_t first = crn_random_seed(), cases = crn_random_cases(20000), good = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    crn_messagepack_json whole;
    assert_non_null(nowhere);
    assert_int_equal(crn_messagepack_json_init(&whole, json, strlen(json), NULL), 0);
    for (uint64_t seed = first; seed < first + cases; seed++) {
        crn_random random = {seed};
        unsigned char bytes[BYTES_MAX];
        size_t size;
        if (seed % 3 == 0) {
            size = (size_t)crn_random_between(&random, 0, 64);
            for (size_t i = 0; i < size; i++)
                bytes[i] = (unsigned char)crn_random_between(&random, 0, 255);
        } else {
            bool text = seed % 3 == 1;
            size = text ? strlen(json) : whole.repacked.size;
            memcpy(bytes, text ? json : whole.repacked.data, size);
            size = spoil(&random, bytes, size);
        }
        good += read_all(seed, bytes, size, nowhere);
    }
    if (cases > 1000) /* otherwise no mutated verdict reached the field decoders */
        assert_in_range(good, cases / 20, cases * 9 / 10);
    crn_messagepack_json_done(&whole);
    fclose(nowhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_comes_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
