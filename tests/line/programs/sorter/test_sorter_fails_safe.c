/*
 * cernita-sorter as a program: rows of the table of fail-safes in tools/sorter/README.md. Those
 * that need no process are in test_decider.c, those of a PLC in test_sorter_modbus.c. CRN_CASES is
 * how often the sorter is killed.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/sorter_program.h"
#include "tests/support/random.h"

static void read_until(const char *wanted)
{
    daemon_read_until(&sorter.process, wanted);
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
        sorter_expect_said(lost);
        assert_int_equal(strstr(sorter.process.text, ",lost,") != NULL, gap > 0);
        read_run(port, run);
        assert_string_not_equal(run, last_run);
        strcpy(last_run, run);
        if (i < kills)
            sorter_kill();
    }
    sorter_stop(SIGTERM);
}

static void a_line_that_is_killed(void **state)
{
    (void)state;
    sorter_bind();
    sorter_write_file(&(sorter_file){.line = ", silence_ms: 60"});
    sorter_start();
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 7});
    read_until("3,7,107,9,1,first,default,,0\n");
    sorter_kill_line();
    read_until("3,,,,4,dead,silence,,0\n");
    sorter_restart_line();
    sorter_send(&(sorter_verdict){.run = "b", .lane = 3, .sequence = 2});
    read_until("3,0,,,4,dead,lost,,2\n");
    read_until("3,2,102,9,1,first,default,,0\n");
    sorter_stop(SIGTERM);
}

static void verdicts_past_their_deadline(void **state)
{
    (void)state;
    sorter_bind();
    sorter_write_file(&(sorter_file){.rule = NULL});
    sorter_start();
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 0, .area_px = 60, .stale = true});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 1, .area_px = 60, .deadline_ns = 1});
    read_until("3,0,100,9,3,again,stale,,0\n");
    read_until("3,1,101,9,3,again,stale,,0\n");
    sorter_stop(SIGTERM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sorter_set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_sorter_that_is_killed),
        TEST(a_line_that_is_killed),
        TEST(verdicts_past_their_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
