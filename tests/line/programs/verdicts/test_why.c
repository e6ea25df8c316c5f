/* cernita-why on the log of a whole line: the cause that a test provoked is the cause that is
 * named. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/line/gate.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/shell.h"

#define HEIGHT 48
#define WIDTH  64
#define LANE   3

#define LINE_WITH(backend)                                                                         \
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"               \
    "chain: [contours: {border: closed}]\n"                                                        \
    "run: {backend: " backend ", workers: 1, threads: 1}\n"                                        \
    "log: {level: error}\n"

#define LINE LINE_WITH("serial")

/* No deadline expires while a test waits for something else. */
#define PATIENT "latency: {budget_ms: 60000, assemble_ms: 60000}\n"

static line_fixture line;
static float *maps;
static char output[16384]; /* of the latest command */

/* --- the line --- */

static int set_up(void **state)
{
    crn_gate_close(0);
    maps = line_discs(HEIGHT, WIDTH, 3);
    return logged_setup(state);
}

static int tear_down(void **state)
{
    free(maps);
    return logged_teardown(state);
}

static void start(const char *yaml, const crn_stage *stage)
{
    line_configure(&line, yaml);
    snprintf(line.config.publish.log.dir, CRN_TEXT_BYTES, "%s", logged_folder);
    if (stage)
        line.config.chain[0].stage = stage;
    line_run(&line, NULL);
}

/* Ends the line, and with it the log. */
static void stop(void)
{
    crn_gate_let_through(64);
    line_stop(&line);
    assert_int_equal(line.metrics.publish.log.dropped, 0);
}

static crn_view_header header_of(uint64_t fruit, uint16_t view, uint16_t views)
{
    crn_view_header header = line_header(&line, fruit, view, views, HEIGHT, WIDTH);
    header.lane = LANE;
    return header;
}

static void send_view(uint64_t fruit, uint16_t view, uint16_t views)
{
    line_send(&line, header_of(fruit, view, views), maps, NULL);
}

/* Sends a view whose deadline has passed: its fruit is judged at once. */
static void send_due(uint64_t fruit, uint16_t view, uint16_t views)
{
    crn_view_header header = header_of(fruit, view, views);
    header.deadline_ns = (uint64_t)crn_realtime_ns() - 1;
    line_send(&line, header, maps, NULL);
}

static void receive(uint64_t fruit, const char *kind)
{
    seen_verdict verdict;
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_string_equal(verdict.verdict, kind);
}

/* --- the program --- */

static int run_why_on(const char *source, const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "TZ=UTC exec " CRN_BIN "/cernita-why '%s' %s 2>&1", source,
             arguments);
    return crn_test_shell(command, output, sizeof output);
}

static int run_why(const char *arguments)
{
    return run_why_on(logged_folder, arguments);
}

/* Asserts that the output has this line, an extended regular expression. */
static void expect_line(const char *expected)
{
    regex_t pattern;
    char whole[1024];
    snprintf(whole, sizeof whole, "^%s$", expected);
    assert_int_equal(regcomp(&pattern, whole, REG_EXTENDED | REG_NOSUB | REG_NEWLINE), 0);
    int found = regexec(&pattern, output, 0, NULL, 0);
    regfree(&pattern);
    if (found != 0)
        fail_msg("no line '%s' in:\n%s", expected, output);
}

/* Asserts that every line fits a terminal of 80 columns, but for the sentence. */
static void expect_narrow(void)
{
    char copy[sizeof output];
    strcpy(copy, output);
    for (char *at = copy, *text; (text = strsep(&at, "\n"));)
        if (strlen(text) > 80 && !strstr(text, ": "))
            fail_msg("%zu columns: %s", strlen(text), text);
}

static void expect_why(uint64_t fruit, const char *sentence)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "%d %llu", LANE, (unsigned long long)fruit);
    assert_int_equal(run_why(arguments), 0);
    expect_line(sentence);
    expect_narrow();
}

#define MS "[0-9.]+"

/* --- the tests --- */

static void a_fruit_in_time(void **state)
{
    (void)state;
    start(LINE PATIENT, NULL);
    send_view(1, 0, 2);
    send_view(1, 1, 2);
    receive(1, "complete");
    stop();
    expect_why(1, "complete: " MS " of 60000 ms, (most of it|the largest part) .* \\(" MS
                  " ms\\)(;.*)?");
    expect_line("lane 3  fruit 1  complete  published 20..-..-.. ..:..:..\\....");
    expect_line("  0 \\|-*#+ *\\| +0.0 +" MS " +" MS "  judged serial");
    expect_line("  1 \\|\\.*-*#+ *\\| +" MS " +" MS " +" MS "  judged serial");
    expect_line("  assembly: first view to close +" MS " ms +" MS " %");
    expect_line("  total: first view to publication +" MS " ms  100.0 %");
    expect_line("  latency: close to publication +" MS " ms +" MS " %  100.0 %");
}

/* The second view comes when its deadline has passed, more than the budget after the first. */
static void a_slow_sender(void **state)
{
    (void)state;
    start(LINE "latency: {budget_ms: 200, assemble_ms: 60000}\n", &crn_gated);
    send_view(1, 0, 2);
    send_due(2, 0, 2); /* its verdict shows that the line has read what was sent before */
    receive(2, "late");
    line_move_clock(&line, 250 * CRN_NS_PER_MS);
    send_due(1, 1, 2);
    receive(1, "late");
    stop();
    expect_why(1, "late: view 1 arrived [0-9]{3,} ms after view 0 \\(CNN or camera\\), " MS
                  " ms past its deadline; also view 0 unfinished, view 1 (discarded|unfinished)");
    expect_why(2, "late: the deadline in a view's header had passed " MS " ms before the fruit "
                  "closed \\(the sender's deadline_ns, or clocks that disagree\\); also view 0 "
                  "(discarded|unfinished), view 1 missing");
}

static void a_view_that_never_comes(void **state)
{
    (void)state;
    start(LINE "latency: {budget_ms: 60000, assemble_ms: 30}\n", NULL);
    send_view(1, 1, 3);
    receive(1, "partial");
    stop();
    expect_why(1, "partial: views 0, 2 did not come in the 30 ms from the fruit's first view until "
                  "it closed \\(CNN, camera, or a message that was lost\\)");
    expect_line("  assembly: first view to close +30.00 ms +" MS " %");
}

/* The sender comes back after a fruit that it did not finish. */
static void a_sender_that_is_restarted(void **state)
{
    (void)state;
    start(LINE "latency: {budget_ms: 60000, assemble_ms: 30}\n", NULL);
    send_view(1, 0, 2);
    receive(1, "partial");
    crn_view_header header = header_of(2, 0, 1);
    header.epoch++;
    line.sequence = 0;
    line_send(&line, header, maps, NULL);
    receive(2, "complete");
    stop();
    expect_why(1, "partial: view 1 did not come in the 30 ms from the fruit's first view until it "
                  "closed \\(the sender was restarted: fruits after it have another epoch\\)");
}

static void a_device_that_is_lost(void **state)
{
    (void)state;
    line_configure(&line, LINE_WITH("cuda") PATIENT);
    snprintf(line.config.publish.log.dir, CRN_TEXT_BYTES, "%s", logged_folder);
    line_run(&line, crn_faulty_gpu(crn_fake_gpu(1, false)));
    uint64_t fruit = 0;
    while (crn_faulty_gpu_batches() < 2) {
        send_view(++fruit, 0, 1);
        receive(fruit, "complete");
    }
    crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    while (!crn_faulty_gpu_struck()) {
        send_view(++fruit, 0, 1);
        receive(fruit, "complete");
    }
    send_view(++fruit, 0, 1);
    receive(fruit, "complete");
    stop();
    expect_why(fruit, "complete: .*; it ran on the processor, [0-9]+ views? of the 30 s before it "
                      "on a device");
}

static void a_sender_whose_clock_is_wrong(void **state)
{
    (void)state;
    start(LINE PATIENT, NULL);
    crn_view_header header = header_of(1, 0, 1);
    header.captured_ns = (uint64_t)(crn_realtime_ns() - 3600 * CRN_NS_PER_S);
    line_send(&line, header, maps, NULL);
    receive(1, "complete");
    stop();
    expect_why(1, "complete: .*; view 0 is dated 36[0-9]{5} ms before its reception: its "
                  "sender's clock and this one disagree");
}

static void no_slot_while_another_fruit_runs(void **state)
{
    (void)state;
    start(LINE PATIENT "limits: {slots: 3}\n", &crn_gated);
    send_view(1, 0, 2); /* runs */
    crn_gate_wait();
    send_view(1, 1, 2); /* waits at the worker */
    send_view(2, 0, 3); /* holds the last slot */
    send_view(2, 1, 3); /* for this one there is none, */
    send_due(2, 2, 3);  /* nor for this one */
    receive(2, "late");
    crn_gate_let_through(2);
    receive(1, "complete");
    stop();
    expect_why(2, "late: no free slot for views 1, 2; 2 views were waiting, the worker spent " MS
                  " ms on fruit 1; also view 0 discarded");
}

static void a_refused_class_set(void **state)
{
    (void)state;
    start(LINE PATIENT, &crn_gated);
    send_view(1, 0, 3);
    crn_view_header header = header_of(1, 1, 3);
    header.class_set ^= 1;
    line_send(&line, header, maps, NULL);
    send_due(1, 2, 3);
    receive(1, "late");
    stop();
    expect_why(1, "late: view 1's message was refused \\(class_set\\): the sender's class names or "
                  "their order are not those of the file; also view 0 unfinished, view 2 "
                  "(discarded|unfinished)");
}

/* The step holds its view beyond the deadline. */
static void a_step_that_takes_too_long(void **state)
{
    (void)state;
    start(LINE PATIENT, &crn_gated);
    send_view(1, 0, 1);
    crn_gate_wait();
    line_move_clock(&line, 60 * CRN_NS_PER_S);
    receive(1, "late");
    stop();
    expect_why(1,
               "late: view 0 had run for " MS " ms, after waiting " MS " ms, when its time was up "
               "\\(latency.budget_ms, run.workers, or a lighter chain\\)"
               "(; the verdict left [0-9]+ ms after the close, of 60000 ms)?");
}

static void too_many_open_fruits(void **state)
{
    (void)state;
    start(LINE PATIENT "limits: {open_fruits: 2, slots: 8}\n", NULL);
    send_view(1, 0, 2);
    send_view(9, 0, 1); /* runs after it, on the only worker */
    receive(9, "complete");
    send_view(2, 0, 2);
    send_view(3, 0, 1);
    receive(1, "partial");
    receive(3, "complete");
    send_view(2, 1, 2);
    receive(2, "complete");
    stop();
    expect_why(1,
               "partial: it was judged early, " MS " ms after its first view, because "
               "limits.open_fruits was reached \\([12] other fruits? (was|were) open, of which 0 "
               "lacked views\\): raise it, or see why views do not come; also view 1 missing");
}

static void a_daemon_that_is_stopped(void **state)
{
    (void)state;
    start(LINE PATIENT, NULL);
    send_view(1, 0, 2);
    send_due(2, 0, 1);
    receive(2, "late");
    stop();
    expect_why(1,
               "partial: the daemon was stopped, which closed the fruit " MS " ms after its first "
               "view; also view 1 missing");
}

static void selections_and_what_is_not_there(void **state)
{
    (void)state;
    for (int run = 0; run < 2; run++) {
        start(LINE "latency: {budget_ms: 60000, assemble_ms: 20}\n", NULL);
        for (uint64_t fruit = 1; fruit <= 12; fruit++) {
            send_view(fruit, 0, fruit == 5 ? 2 : 1);
            receive(fruit, fruit == 5 ? "partial" : "complete");
        }
        stop();
    }
    assert_int_equal(run_why("--partial"), 0);
    expect_line("lane 3  fruit 5  partial .*");
    expect_line("view +in ms:   after  wait   run  state");
    assert_int_equal(run_why("--partial --late --over-budget --lane 3 --json --last 1"), 0);
    expect_line("\\{\"lane\":3,\"epoch\":7,\"epoch_text\":\"7\",\"fruit\":5,\"fruit_text\":\"5\",.*"
                "\"cause\":\"missing\",.*\\}");
    expect_line("cernita-why: this is the last one of 2; --last N shows more");
    assert_int_equal(run_why("--slowest 3"), 0);
    assert_int_equal(run_why("--late"), 0);
    expect_line("no such fruit");
    expect_line("the log covers .* to .*: 24 verdicts, lane 3, 2 runs of the daemon");
    assert_int_equal(run_why("3 5"), 0);
    expect_line(
        "cernita-why: this is the last of 2 verdicts on a fruit 5 of lane 3: senders or the "
        "daemon were restarted; --epoch N chooses another");
    assert_int_equal(run_why("3 5 --epoch 8"), 1);
    expect_line("cernita-why: .*: lane 3, fruit 5, epoch 8 is not in this log");
    assert_int_equal(run_why("3 99"), 1);
    expect_line("cernita-why: .*: lane 3, fruit 99 is not in this log");
    expect_line("the log covers .* to .*: 24 verdicts, lane 3, 2 runs of the daemon");
    assert_int_equal(run_why("--partial --since '2999-01-01 00:00'"), 0);
    expect_line("no such fruit");
}

/* What the running daemon tells is what its log says afterwards. */
static void a_running_daemon(void **state)
{
    (void)state;
    static const char arguments[] = "--last 3";
    char live[sizeof output];
    start(LINE PATIENT "monitor: {http: '127.0.0.1:0'}\n", NULL);
    const char *address = crn_line_http(line.line);
    if (run_why_on(address, "--late") && strstr(output, ": this build cannot ask a daemon")) {
        stop();
        skip();
    }
    expect_line("no such fruit");
    send_view(1, 0, 1);
    receive(1, "complete");
    send_due(2, 0, 2);
    receive(2, "late");
    do /* the line hands its numbers over once a second */
        assert_int_equal(run_why_on(address, ""), 0);
    while (!strstr(output, "the line now: running"));
    assert_int_equal(run_why_on(address, arguments), 0);
    expect_line("lane 3  fruit 1  complete  .*");
    expect_line("lane 3  fruit 2  late  .*");
    strcpy(live, output);
    char *now = strstr(live, "\nthe line now: "); /* only while something is wrong */
    if (now)
        *now = '\0';
    assert_int_equal(run_why_on(address, "--json"), 0);
    expect_line("\\{\"state\":\"running\",\"headline\":\\{.*\\},\"conditions\":\\[.*\\]\\}");
    assert_int_equal(run_why_on(address, "--trace /dev/stdout"), 0);
    assert_non_null(strstr(output, "\"lane 3 fruit 1 view 0\""));
    assert_int_equal(run_why_on(address, "3 9"), 1);
    expect_line("cernita-why: 127.0.0.1:[0-9]+: lane 3, fruit 9 is not among its last fruits; "
                "publish.log keeps more");
    assert_int_equal(run_why_on(address, "--trace /dev/null --late"), 2);
    stop();
    assert_int_equal(run_why(arguments), 0);
    assert_string_equal(live, output);
}

static void wrong_uses_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *said;
        int status;
    } uses[] = {
        {"",
         "which fruits\\? name LANE FRUIT, or --late, --partial, --over-budget, --slowest N or "
         "--last N",
         2},
        {"3", "FRUIT is missing: expected LOGDIR\\|ENDPOINT LANE FRUIT", 2},
        {"3 x", "FRUIT 'x' is not a whole number from 0 to 18446744073709551615", 2},
        {"3 -1", ".*", 2},
        {"3 4 --late", "LANE FRUIT chooses one fruit: leave out --late, .*", 2},
        {"--late --epoch 3", "--epoch needs LANE FRUIT", 2},
        {"--slowest 3 --last 3", "--last and --slowest exclude each other", 2},
        {"--slowest 0", "--slowest '0' is not a whole number from 1 to 1000", 2},
        {"--late --since noon", "--since 'noon' is not a time: expected .*", 2},
        {"--late", ".*: there is no verdict log \\(cernita-\\*.verdicts\\) in this folder", 1},
    };
    char expected[512];
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        assert_int_equal(run_why(uses[i].arguments), uses[i].status);
        snprintf(expected, sizeof expected, "cernita-why: %s%s", uses[i].said,
                 uses[i].status == 2 ? "; see cernita-why --help" : "");
        expect_line(uses[i].arguments[0] && uses[i].said[0] == '.' && uses[i].status == 2
                        ? "cernita-why: .*"
                        : expected);
    }
    assert_int_equal(run_why_on("/no/such", "--late"), 1);
    expect_line("cernita-why: /no/such: there is no such folder; expected the folder that "
                "publish.log.dir names in the daemon's file, or HOST:PORT of its monitor.http");
    assert_int_equal(run_why_on("127.0.0.1:1", "--late"), 1);
    expect_line(
        "cernita-why: 127.0.0.1:1: (.*[Cc]onnect.*; is the daemon running[?] expected the address "
        "of monitor.http in its file, which its log names at the start|this build cannot .*)");
}

#define ON_LOG(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_LOG(a_fruit_in_time),
        ON_LOG(a_slow_sender),
        ON_LOG(a_view_that_never_comes),
        ON_LOG(a_sender_that_is_restarted),
        ON_LOG(a_device_that_is_lost),
        ON_LOG(a_sender_whose_clock_is_wrong),
        ON_LOG(no_slot_while_another_fruit_runs),
        ON_LOG(a_refused_class_set),
        ON_LOG(a_step_that_takes_too_long),
        ON_LOG(too_many_open_fruits),
        ON_LOG(a_daemon_that_is_stopped),
        ON_LOG(selections_and_what_is_not_there),
        ON_LOG(a_running_daemon),
        ON_LOG(wrong_uses_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
