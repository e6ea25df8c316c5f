#include "tests/support/programs/tail_output.h"

#include <sys/wait.h>

#include "tests/support/cmocka_prelude.h"

size_t tail_verdict(char *text, size_t size, const char *run, int lane, int sequence)
{
    int length =
        snprintf(text, size,
                 "{\"v\":1,\"run\":\"%s\",\"lane\":%d,\"fruit\":%d,\"fruit_text\":\"%d\","
                 "\"sequence\":%d,\"verdict\":\"complete\","
                 "\"views_expected\":4,\"views_received\":4,\"views_judged\":4,\"budget_ms\":100,"
                 "\"published_ns\":0,\"latency_ms\":{\"queue\":0.5,\"total\":12.5},"
                 "\"totals\":{\"rot\":{\"count\":2,\"area_px\":143.2}},\"defects\":[]}",
                 run, lane, sequence + 1000, sequence + 1000, sequence);
    assert_in_range(length, 1, size - 1);
    return (size_t)length;
}

FILE *tail_start(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "TZ=UTC exec " CRN_BIN "/cernita-tail %s 2>&1", arguments);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    return out;
}

void tail_expect_line(FILE *out, const char *expected)
{
    char line[2048];
    assert_non_null(fgets(line, sizeof line, out));
    assert_string_equal(line, expected);
}

void tail_expect_verdict(FILE *out, int lane, int sequence)
{
    char expected[256];
    snprintf(expected, sizeof expected,
             "    --:--:--  lane %-2d  fruit %6d  complete  views 4/4     12.5 of 100 ms  "
             "rot 2 (143 px)\n",
             lane, sequence + 1000);
    tail_expect_line(out, expected);
}

void tail_expect_end(FILE *out, int status)
{
    assert_int_equal(fgetc(out), EOF);
    int ended = pclose(out);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), status);
}
