/* Two processes send views of one lane, each with an epoch of its own. */
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/peers/http.h"

#define HEIGHT 16
#define WIDTH  16
#define EPOCHS 2

static const char yaml[] = "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                           "chain: [contours: {}]\n"
                           "run: {backend: serial, workers: 1, threads: 1, stop_ms: 0}\n"
                           "limits: {open_fruits: 4}\n"
                           "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
                           "monitor: {http: '127.0.0.1:0', keep_slots: 0}\n";

static uint64_t sequences[EPOCHS];

static void send_from(line_fixture *line, int process, crn_view_header header, const float *maps)
{
    header.epoch = 77 + (uint64_t)process;
    header.captured_ns = (uint64_t)crn_realtime_ns();
    line->sequence = sequences[process]++;
    line_send(line, header, maps, NULL);
}

/* Sends a view of two from each, and waits until the line has both. Until they are joined each
 * opens a fruit of its own, which is judged when more are open than may be. */
static void send_halves(line_fixture *line, uint64_t fruit, const float *maps,
                        crn_line_status *ret_status)
{
    for (uint16_t view = 0; view < 2; view++)
        send_from(line, view, line_header(line, fruit, view, 2, HEIGHT, WIDTH), maps);
    do
        assert_int_equal(crn_line_status_get(line->line, ret_status), 0);
    while (ret_status->views < 2 * (fruit + 1));
}

/* Once one fruit is complete, all are. */
static void views_of_two_senders_are_joined(void **state)
{
    (void)state;
    static line_fixture line;
    line_configure(&line, yaml);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    line_run(&line, NULL);
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    uint64_t fruit = 0;
    crn_line_status status = {.complete = 0};
    while (status.complete == 0)
        send_halves(&line, fruit++, maps, &status);
    for (uint64_t last = fruit + 20; fruit < last; fruit++) {
        send_halves(&line, fruit, maps, &status);
        seen_verdict verdict;
        do /* those of before come first, of which the last halves are judged now */
            assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        while (verdict.fruit < fruit);
        assert_int_equal(verdict.fruit, fruit);
        assert_int_equal(verdict.views_received, 2);
        assert_string_equal(verdict.verdict, "complete");
    }
    line_stop(&line);
    crn_log_capture_stop(&caught);
    free(maps);
    assert_int_equal(line.metrics.lanes.joined, 1);
    assert_int_equal(line.metrics.lanes.mixed, 0);
    assert_int_equal(line.metrics.lanes.restarts, 1);
    assert_non_null(strstr(caught.text, "info lane 0: the senders of epochs 7"));
    assert_non_null(strstr(caught.text, "each its own views of the same fruits: they are joined"));
}

/* The same program started twice: both are named in the log and on the page of conditions. */
static void two_senders_of_the_same_views_are_named(void **state)
{
    (void)state;
    static line_fixture line;
    line_configure(&line, yaml);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    line_run(&line, NULL);
    char address[64];
    snprintf(address, sizeof address, "%s", crn_line_http(line.line));
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    bool named = false;
    for (int64_t until_ns = crn_now_ns() + CRN_FIXTURE_PATIENCE_MS * CRN_NS_PER_MS; !named;) {
        static uint64_t fruit;
        assert_true(crn_now_ns() < until_ns);
        for (int process = 0; process < 2; process++) {
            seen_verdict verdict;
            send_from(&line, process, line_header(&line, fruit, 0, 1, HEIGHT, WIDTH), maps);
            assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
            assert_string_equal(verdict.verdict, "complete");
        }
        fruit++;
        int code;
        char *page = http_get(address, "/healthz", &code);
        named = strstr(page, "{\"id\":\"two_senders\",") != NULL;
        free(page);
    }
    line_stop(&line);
    crn_log_capture_stop(&caught);
    free(maps);
    assert_int_equal(line.metrics.lanes.joined, 0);
    assert_true(line.metrics.lanes.mixed > 0);
    assert_non_null(strstr(caught.text, "warning lane 0 has two senders at once, epochs 7"));
    assert_non_null(
        strstr(caught.text, "end one of them, or give each views or a lane of its own"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_of_two_senders_are_joined),
        cmocka_unit_test(two_senders_of_the_same_views_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
