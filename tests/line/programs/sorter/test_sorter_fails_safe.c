/*
 * cernita-sorter as a program: rows of the table of fail-safes in tools/sorter/README.md. Those
 * that need no process are in test_decider.c, those of a PLC in test_sorter_modbus.c. CRN_CASES is
 * how often the sorter is killed. How long it took until each outlet was told is printed.
 */
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/sorter_program.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

static void read_until(const char *wanted)
{
    daemon_read_until(&sorter.process, wanted);
}

/* Prints the times from what happened until its outlet was told. */
static void report(const char *what, const char *outlet, int64_t *took_ns, uint32_t count)
{
    int64_t sum_ns = 0, most_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum_ns += took_ns[i];
        most_ns = took_ns[i] > most_ns ? took_ns[i] : most_ns;
    }
    print_message("%s, %u times: outlet %s after %.1f ms in the mean, %.1f at most\n", what, count,
                  outlet, (double)sum_ns / 1e6 / count, (double)most_ns / 1e6);
}

/* The run of the greeting at the tcp output. */
static void read_run(int port, char ret_run[32])
{
    char address[32], text[256] = "";
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    int client = http_connect(address);
    assert_true(http_read_until(client, "\r\n", text, sizeof text));
    close(client);
    assert_int_equal(sscanf(text, "#cernita-sorter,%*[^,],%31s", ret_run), 1);
}

/* Each time some verdicts are lost with it; the next one sends their fruits to the outlet of
 * silence, and has another run. */
static void a_sorter_that_is_killed(void **state)
{
    (void)state;
    char more[64], below[128], run[32], last_run[32] = "";
    crn_random random = {crn_random_seed()};
    int port = crn_test_free_ports(false, 1), sequence = 0;
    uint32_t kills = crn_random_cases(100);
    int64_t *took_ns = calloc(kills + 1, sizeof *took_ns), killed_ns = crn_now_ns();
    sorter_bind();
    snprintf(more, sizeof more, ", tcp: {bind: '127.0.0.1:%d'}", port);
    snprintf(below, sizeof below, "state: {file: '%s/sequences'}", test_folder);
    sorter_write_file(&(sorter_file){.outputs = more, .below = below});
    for (uint32_t i = 0; i <= kills; i++) {
        char lost[64] = "", decided[64];
        int gap = i ? (int)crn_random_below(&random, 4) : 0;
        if (gap)
            snprintf(lost, sizeof lost, "3,%d,,,4,dead,lost,,%d\n", sequence, gap);
        sequence += gap;
        snprintf(decided, sizeof decided, "3,%d,%d,9,1,first,default,,0\n", sequence,
                 100 + sequence);
        sorter_start();
        sorter_send(&(sorter_verdict){.lane = 3, .sequence = sequence++});
        read_until(decided);
        took_ns[i] = crn_now_ns() - killed_ns;
        sorter_expect_said(lost);
        assert_int_equal(strstr(sorter.process.text, ",lost,") != NULL, gap > 0);
        read_run(port, run);
        assert_string_not_equal(run, last_run);
        strcpy(last_run, run);
        killed_ns = crn_now_ns();
        if (i < kills)
            sorter_kill();
    }
    report("sorter killed and started again, the lane's next verdict", "dead", took_ns + 1, kills);
    free(took_ns);
    sorter_stop(SIGTERM);
}

#define SILENCES 20

/* The line tells its alive_ms, of which 3 are the limit. */
static void a_line_that_is_killed(void **state)
{
    (void)state;
    int64_t took_ns[SILENCES];
    sorter_bind();
    sorter_write_file(&(sorter_file){.rule = NULL});
    sorter_start();
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 7});
    read_until("3,7,107,9,1,first,default,,0\n");
    for (int i = 0; i < SILENCES; i++) {
        sorter.process.text[0] = '\0'; /* the silence before */
        sorter_send_text("alive", "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"alive_ms\":20,"
                                  "\"lanes\":[{\"lane\":3,\"sequence\":7}]}");
        int64_t sent_ns = crn_now_ns();
        read_until("3,,,,4,dead,silence,,0\n");
        took_ns[i] = crn_now_ns() - sent_ns;
    }
    report("line silent, alive_ms 20", "dead", took_ns, SILENCES);
    sorter_kill_line();
    sorter_restart_line();
    sorter_send(&(sorter_verdict){.run = "b", .lane = 3, .sequence = 2});
    read_until("3,0,,,4,dead,lost,,2\n");
    read_until("3,2,102,9,1,first,default,,0\n");
    sorter_stop(SIGTERM);
}

static void lost_verdicts(void **state)
{
    (void)state;
    int64_t took_ns[20];
    sorter_bind();
    sorter_write_file(&(sorter_file){.rule = NULL});
    sorter_start();
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 0});
    read_until("3,0,100,9,1,first,default,,0\n");
    for (int i = 0; i < 20; i++) {
        char lost[64];
        snprintf(lost, sizeof lost, "3,%d,,,4,dead,lost,,1\n", 2 * i + 1);
        int64_t sent_ns = crn_now_ns();
        sorter_send(&(sorter_verdict){.lane = 3, .sequence = 2 * i + 2});
        read_until(lost);
        took_ns[i] = crn_now_ns() - sent_ns;
    }
    report("verdicts lost, the lane's next one", "dead", took_ns, 20);
    sorter_stop(SIGTERM);
}

/* The sorter has a clock of its own, by libfaketime, which is set forward and back. */
static char faked[128]; /* the file with its offset */
static glob_t library;

static void fake_clock(void)
{
    setenv("LD_PRELOAD", library.gl_pathv[0], 1);
    setenv("FAKETIME_TIMESTAMP_FILE", faked, 1);
    setenv("FAKETIME_NO_CACHE", "1", 1);
    setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
}

static void set_clock(const char *offset)
{
    char path[128];
    daemon_write_config(test_folder, "new", offset, path);
    assert_int_equal(rename(path, faked), 0);
}

static void expect_with_clock(const char *offset, int sequence, const char *decided)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "3,%d,%d,9,%s,,0\n", sequence, 100 + sequence, decided);
    set_clock(offset);
    int64_t sent_ns = crn_now_ns();
    sorter_send(&(sorter_verdict){
        .lane = 3, .sequence = sequence, .deadline_ns = crn_realtime_ns() + 600 * CRN_NS_PER_S});
    read_until(wanted);
    int64_t took_ns = crn_now_ns() - sent_ns;
    report("clock set, the next verdict", decided, &took_ns, 1);
}

static void a_clock_that_is_set(void **state)
{
    (void)state;
    if (glob("/usr/lib/*/faketime/libfaketimeMT.so.1", 0, NULL, &library) != 0)
        skip(); /* Debian: faketime */
#ifdef CRN_SANITIZED
    skip(); /* a sanitizer must be loaded first */
#endif
    snprintf(faked, sizeof faked, "%s/offset", test_folder);
    set_clock("+0");
    sorter_bind();
    sorter_write_file(&(sorter_file){.line = ", silence_ms: 60000"});
    sorter_start_with(fake_clock);
    expect_with_clock("+0", 0, "1,first,default");
    expect_with_clock("+3600", 1, "3,again,stale");
    expect_with_clock("-3600", 2, "1,first,default");
    expect_with_clock("+0", 3, "1,first,default");
    sorter_stop(SIGTERM);
    assert_null(strstr(sorter.process.text, "silence"));
    globfree(&library);
}

static void verdicts_past_their_deadline(void **state)
{
    (void)state;
    sorter_bind();
    sorter_write_file(&(sorter_file){.rule = NULL});
    sorter_start();
    int64_t sent_ns = crn_now_ns(), took_ns;
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 0, .area_px = 60, .stale = true});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 1, .area_px = 60, .deadline_ns = 1});
    read_until("3,0,100,9,3,again,stale,,0\n");
    read_until("3,1,101,9,3,again,stale,,0\n");
    took_ns = crn_now_ns() - sent_ns;
    report("verdicts past their deadline", "again", &took_ns, 1);
    sorter_stop(SIGTERM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sorter_set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_sorter_that_is_killed),      TEST(a_line_that_is_killed), TEST(lost_verdicts),
        TEST(verdicts_past_their_deadline), TEST(a_clock_that_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
