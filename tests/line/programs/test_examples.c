/* libcernita as programs of others have it: installed into an empty folder, where tools/examples
 * are built and run; and the grader among them, which gets real verdicts. */
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "src/surface/packed_surface.h"
#include "tests/unit/publish/verdict_bench.h"

static char folder[] = "/tmp/cernita-examples-XXXXXX";

/* Installs, moves the prefix to one with a space, and builds; the output goes to the folder's file
 * `log`. */
static int make_examples(void)
{
    char command[1024];
    if (!mkdtemp(folder))
        return -1;
    snprintf(command, sizeof command,
             "cd %s && mkdir work && {"
             " cmake --install " CRN_BIN "/.. --component library --prefix %s/before &&"
             " mv before 'moved prefix' &&"
             " CC='" CRN_CC "' CXX='" CRN_CXX "' " CRN_TEST_DATA
             "/../tools/packaging/check_library 'moved prefix' work " CRN_SANITIZE_FLAG
             "; } >log 2>&1",
             folder, folder);
    return system(command);
}

static void print_log(void)
{
    char command[128];
    snprintf(command, sizeof command, "tail -n 40 %s/log", folder);
    if (system(command) != 0)
        print_error("no log\n");
}

static int tear_down_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void examples_are_built_and_run_where_the_library_is_installed(void **state)
{
    (void)state;
    int status = make_examples();
    if (status != 0)
        print_log();
    assert_int_equal(status, 0);
}

static void send_message(void *socket, const char *topic, const void *body, size_t size)
{
    assert_int_equal(zmq_send(socket, topic, strlen(topic), ZMQ_SNDMORE), strlen(topic));
    assert_int_equal(zmq_send(socket, body, size, 0), size);
}

/* A verdict on the fixture's fruit, one view judged with a defect of that area of rot. */
static void send_verdict(void *socket, verdict_fixture *f, double area_px, uint64_t sequence)
{
    crn_defect rot = make_defect(1, -1, true, false, area_px);
    f->fruit.expected = 1;
    f->fruit.received = f->fruit.judged = 0;
    f->fruit.fruit = 100 + sequence;
    f->facts.sequence = sequence;
    f->facts.kind = CRN_VERDICT_COMPLETE;
    judge(f, 0, &rot, 1, 5);
    crn_verdict_bytes packed;
    pack_as(f, CRN_FORMAT_MSGPACK, &packed);
    send_message(socket, "fruit/7", packed.bytes, packed.size);
}

typedef struct grader_run {
    void *zmq, *socket; /* its verdicts */
    FILE *said;
} grader_run;

static grader_run start_grader(int count, const char *redirection)
{
    char endpoint[128], command[512];
    grader_run run = {.zmq = zmq_ctx_new()};
    run.socket = zmq_socket(run.zmq, ZMQ_PUSH);
    int patience_ms = 60000;
    zmq_setsockopt(run.socket, ZMQ_SNDTIMEO, &patience_ms, sizeof patience_ms);
    zmq_setsockopt(run.socket, ZMQ_LINGER, &patience_ms, sizeof patience_ms);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/grader", folder);
    assert_int_equal(zmq_bind(run.socket, endpoint), 0);
    snprintf(command, sizeof command,
             "exec timeout 60 %s/work/grader %s --count %d --alive-ms 20000 %s", folder, endpoint,
             count, redirection);
    run.said = popen(command, "r");
    assert_non_null(run.said);
    return run;
}

/* Returns its exit status and what it printed. */
static int end_grader(grader_run *run, char *ret_said, size_t capacity)
{
    size_t used = fread(ret_said, 1, capacity - 1, run->said);
    ret_said[used] = '\0';
    int status = pclose(run->said);
    zmq_close(run->socket);
    zmq_ctx_term(run->zmq);
    return status;
}

static void the_grader_decides_on_real_verdicts(void **state)
{
    verdict_fixture *f = *state;
    char said[2048];
    grader_run run = start_grader(7, "2>&1");
    void *socket = run.socket;
    crn_classes *classes = &f->config.classes;
    strcpy(classes->name[3], "mould");
    f->facts.published_ns = crn_realtime_ns() + 3600u * CRN_NS_PER_S;
    send_verdict(socket, f, 12, 0);
    send_message(socket, "alive", "\x80", 1);
    send_verdict(socket, f, 55, 1);
    send_verdict(socket, f, NAN, 4);
    send_message(socket, "fruit/7", "no MessagePack", 14);
    classes->level[3] = NAN; /* no level in the recipe: nobody knows whether it is mouldy */
    send_verdict(socket, f, 12, 5);
    send_verdict(socket, f, 55, 6);
    classes->level[3] = 0.5;
    f->facts.published_ns = 1763672705223456789u; /* its deadline has passed */
    send_verdict(socket, f, 12, 7);
    int status = end_grader(&run, said, sizeof said);
    assert_string_equal(said,
                        "fruit/7 100: keep, 1 defects, 5 points\n"
                        "fruit/7 101: reject, 1 defects, 5 points\n"
                        "FAIL-SAFE: 2 verdicts lost\n"
                        "fruit/7 104: fail-safe, 1 defects, 5 points\n"
                        "fruit/7 0: fail-safe, 0 defects, 0 points\n"
                        "FAIL-SAFE for every fruit: mould was not looked for: give it a level "
                        "in the line's file or recipe, or correct REJECTED\n"
                        "fruit/7 105: fail-safe, 1 defects, 5 points\n"
                        "fruit/7 106: fail-safe, 1 defects, 5 points\n"
                        "fruit/7 107: fail-safe, 1 defects, 5 points\n");
    assert_int_equal(status, 0);
}

/* A verdict with measures: so much of rot, so much of the fruit seen; or without, where it could
 * not be measured or there was no time. */
static void send_measured(void *socket, verdict_fixture *f, double area_mm2, double coverage,
                          uint64_t sequence)
{
    const crn_surface_total totals[CRN_CLASSES_MAX] = {[1] = {.count = 1, .area_mm2 = area_mm2}};
    const crn_surface_fruit fruit = {
        .diameter_mm = 60, .length_mm = 60, .coverage = coverage, .totals = totals};
    crn_measurement measurement = {.config = &f->config};
    crn_surface_packer packer = {{NULL}};
    assert_int_equal(crn_surface_packer_init(&f->config, &packer), 0);
    assert_int_equal(crn_surface_pack(&packer, coverage > 0 ? &fruit : NULL, &measurement), 0);
    f->fruit.surface = isfinite(area_mm2) ? &measurement.packed : NULL;
    send_verdict(socket, f, 1000, sequence); /* of pixels, which decide nothing here */
    f->fruit.surface = NULL;
    crn_surface_packer_done(&packer);
}

static void the_grader_decides_by_square_millimetres_where_there_are_any(void **state)
{
    verdict_fixture *f = *state;
    char said[1024];
    grader_run run = start_grader(5, "2>&1");
    f->config.geometry.mm_per_px.count = 1;
    strcpy(f->config.classes.name[3], "mould");
    f->facts.published_ns = crn_realtime_ns() + 3600u * CRN_NS_PER_S;
    send_measured(run.socket, f, 49, 0.95, 0);
    send_measured(run.socket, f, 51, 0.95, 1);
    send_measured(run.socket, f, 49, 0.85, 2);
    send_measured(run.socket, f, 49, 0, 3);
    send_measured(run.socket, f, NAN, 0, 4);
    int status = end_grader(&run, said, sizeof said);
    assert_string_equal(said, "fruit/7 100: keep, 1 defects, 5 points\n"
                              "fruit/7 101: reject, 1 defects, 5 points\n"
                              "fruit/7 102: fail-safe, 1 defects, 5 points\n"
                              "fruit/7 103: fail-safe, 1 defects, 5 points\n"
                              "fruit/7 104: fail-safe, 1 defects, 5 points\n");
    assert_int_equal(status, 0);
}

/* A full disk, and a pipe whose reader has left. */
static void what_cannot_be_printed_does_not_end_the_grader(void **state)
{
    verdict_fixture *f = *state;
    static const char *const causes[][2] = {{"2>&1 >/dev/full", "No space left on device"},
                                            {"2>&1 >&9", "Broken pipe"}};
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(dup2(fds[1], 9), 9); /* a shell redirects to one digit */
    close(fds[0]);
    f->facts.published_ns = crn_realtime_ns() + 3600u * CRN_NS_PER_S;
    for (size_t i = 0; i < 2; i++) {
        char said[512], expected[128];
        grader_run run = start_grader(2, causes[i][0]);
        send_verdict(run.socket, f, 12, 2 * i);
        send_verdict(run.socket, f, 12, 2 * i + 1);
        assert_int_equal(end_grader(&run, said, sizeof said), 0);
        snprintf(expected, sizeof expected,
                 "grader: decisions go on, what is printed is lost: stdout: %s\n", causes[i][1]);
        assert_string_equal(said, expected);
    }
    close(fds[1]);
    close(9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_built_and_run_where_the_library_is_installed),
        cmocka_unit_test_setup_teardown(the_grader_decides_on_real_verdicts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_grader_decides_by_square_millimetres_where_there_are_any, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_printed_does_not_end_the_grader, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down_folder);
}
