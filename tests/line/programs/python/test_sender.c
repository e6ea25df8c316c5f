/*
 * sender.py in edge cases: no daemon, a daemon that accepts nothing, and --test against a line.
 * Skipped where Debian's Python has no zmq, numpy or msgpack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/programs/shell.h"

#define SCRIPT "/usr/bin/python3 -B " CRN_TEST_DATA "/../tools/python/sender.py "

static char output[8192];

static void need_python(void)
{
    if (system("/usr/bin/python3 -c 'import msgpack, numpy, zmq' 2>/dev/null"))
        skip();
}

/* Runs sender.py; returns its exit status, with its output in `output`. */
__attribute__((format(printf, 1, 2))) static int run_sender(const char *format, ...)
{
    char arguments[1024], command[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(command, sizeof command, "exec " SCRIPT "--wait 60 %s 2>&1", arguments);
    return crn_test_shell(command, output, sizeof output);
}

static void expect_said(const char *wanted)
{
    if (!strstr(output, wanted))
        fail_msg("'%s' is not in: %s", wanted, output);
}

static void an_absent_daemon_is_told_in_one_line(void **state)
{
    (void)state;
    need_python();
    assert_int_equal(
        run_sender("--wait 0.1 --fruits 1 --to ipc:///tmp/cernita-no-daemon-%ld", (long)getpid()),
        1);
    expect_said("sender.py: no daemon answers at ipc:///tmp/cernita-no-daemon-");
    expect_said("start cernitad");
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
    assert_int_equal(run_sender("--to nowhere"), 1);
    expect_said("sender.py: --to 'nowhere': ");
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
}

/* A 16 MiB view as numpy.save writes it: more than the kernel buffers per connection. */
static void write_large_view(const char *path)
{
    char header[118];
    int used = snprintf(header, sizeof header,
                        "{'descr': '|u1', 'fortran_order': False, 'shape': (2048, 4096, 2), }");
    memset(header + used, ' ', sizeof header - (size_t)used);
    header[sizeof header - 1] = '\n';
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fwrite(header, 1, sizeof header, file);
    assert_int_equal(fseek(file, 128 + 2048L * 4096 * 2 - 1, SEEK_SET), 0);
    fputc(0, file);
    assert_int_equal(fclose(file), 0);
}

static void what_is_not_delivered_is_counted(void **state)
{
    (void)state;
    need_python();
    char path[64], address[64];
    snprintf(path, sizeof path, "/tmp/cernita-view-%ld.npy", (long)getpid());
    snprintf(address, sizeof address, "ipc:///tmp/cernita-sender-%ld", (long)getpid());
    write_large_view(path);
    void *zmq = zmq_ctx_new(), *busy = zmq_socket(zmq, ZMQ_PULL);
    int one = 1;
    zmq_setsockopt(busy, ZMQ_RCVHWM, &one, sizeof one);
    assert_int_equal(zmq_bind(busy, address), 0); /* never read from */
    int status = run_sender(
        "--to %s --fruits 1 --views 6 --rate 1000 --classes a,b --linger 0.1 %s", address, path);
    unlink(path);
    zmq_close(busy);
    zmq_ctx_term(zmq);
    int sent = 0, refused = 0, lost = 0;
    int read = sscanf(output, "%d views sent, %d not taken, %d taken but perhaps not delivered",
                      &sent, &refused, &lost);
    if (read != 3)
        fail_msg("%s", output);
    assert_int_equal(status, 1);
    assert_int_equal(sent + lost, 6);
    assert_int_equal(refused, 0);
    assert_in_range(lost, 3, 6);
}

static const char yaml[] = "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                           "chain: [contours: {border: closed}]\n"
                           "run: {backend: openmp, workers: 1, threads: 1}\n"
                           "limits: {view_mib: 1, slots: 16}\n"
                           "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
                           "log: {level: error}\n";

static int try_out(const line_fixture *line, const char *arguments)
{
    return run_sender("--test --to ipc://%s/in --viewers ipc://%s/viewers %s", line->folder,
                      line->folder, arguments);
}

static void a_try_says_what_became_of_it(void **state)
{
    (void)state;
    need_python();
    static line_fixture line;
    line_start(&line, yaml);
    int good = try_out(&line, "--classes ground,rot --views 3");
    char *first = strdup(output);
    int wrong = try_out(&line, "--classes ground,rust");
    line_stop(&line);
    expect_said("\n8 refused (class_set): name the classes as the daemon's file does");
    expect_said("\n0 of 2 fruits complete, 8 messages refused\n");
    assert_int_equal(wrong, 1);
    snprintf(output, sizeof output, "%s", first);
    free(first);
    expect_said("sent: 6 of 6 views, 95 x 511 x 2 float32 as height x width x class, lane 0\n");
    expect_said("fruit 1: complete, 3 of 3 views judged, ");
    expect_said("\n2 of 2 fruits complete, 0 messages refused\n");
    assert_int_equal(good, 0);
}

/* A line that measures fruits: by the pose that the sender says, or not at all. */
static void a_try_says_what_was_measured(void **state)
{
    (void)state;
    need_python();
    char measuring[1024];
    snprintf(measuring, sizeof measuring,
             "%sgeometry: {mm_per_px: 0.5, fruit: {from: header}, surface: {optional: false}}\n",
             yaml);
    static line_fixture line;
    line_start(&line, measuring);
    int blind = try_out(&line, "--classes ground,rot");
    char *first = strdup(output);
    int good = try_out(&line, "--classes ground,rot --pose 255,47,40,36 --roll 90");
    line_stop(&line);
    expect_said("fruit 1: complete, 4 of 4 views judged, ");
    expect_said("\n  40.0 mm across, 9");
    assert_int_equal(good, 0);
    snprintf(output, sizeof output, "%s", first);
    free(first);
    expect_said("\n  not measured: no view shows where the fruit is (give --pose");
    assert_int_equal(blind, 0);
}

static void a_pose_that_is_none_is_named(void **state)
{
    (void)state;
    need_python();
    static const char *const poses[] = {"1,2,3", "1,2,3,x", "1,2,0,4", "1,2,3,nan", "1,2,3,4,5"};
    for (size_t i = 0; i < sizeof poses / sizeof *poses; i++) {
        assert_int_equal(run_sender("--pose %s", poses[i]), 2);
        expect_said("' is not X,Y,RX,RY, such as 255,47,40,40\n");
    }
    assert_int_equal(run_sender("--roll 90"), 2);
    expect_said("--roll goes with --pose\n");
}

/* A run shorter than the time between two messages of the topic `status`. */
static void refusals_of_a_short_run_are_told(void **state)
{
    (void)state;
    need_python();
    static line_fixture line;
    line_start(&line, yaml);
    int wrong = run_sender("--to ipc://%s/in --viewers ipc://%s/viewers --fruits 1 --views 2 "
                           "--classes ground,rust",
                           line.folder, line.folder);
    line_stop(&line);
    expect_said("2 messages refused (class_set): name the classes as the daemon's file does");
    expect_said("2 views sent, 0 not taken, 2 refused by the daemon\n");
    assert_int_equal(wrong, 1);
}

/* Runs Python with the module `sender`, a view `m` and send() by the package, which reports errors.
 */
static void run_python(const char *code)
{
    char script[64], command[256];
    snprintf(script, sizeof script, "/tmp/cernita-sender-%ld.py", (long)getpid());
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    fprintf(file,
            "import sys; sys.path.insert(0, '%s/../tools/python')\n"
            "import numpy as np, sender\n"
            "from cernita import Line\n"
            "m = np.zeros((4, 6, 2), 'f4')\n"
            "def send(maps, classes=(), lane=0, **given):\n"
            "    try:\n"
            "        with Line('ipc:///tmp/cernita-no-daemon-%ld', lane=lane, views=4, "
            "classes=classes) as line:\n"
            "            print(line.send(maps, **{**dict(fruit=0, view=0), **given}))\n"
            "    except Exception as fault: print(type(fault).__name__ + ':', fault)\n"
            "%s\n",
            CRN_TEST_DATA, (long)getpid(), code);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "exec /usr/bin/python3 -B %s 2>&1", script);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 0);
    unlink(script);
}

static void a_wrong_argument_is_named(void **state)
{
    (void)state;
    need_python();
    run_python("send(m.astype('f8'))\n"
               "send(m > 0)\n"
               "send(m.astype(int))\n"
               "send(m[:0])\n"
               "send([[1]])\n"
               "send(m[..., 0])\n"
               "send(m.transpose(2, 0, 1), classes=['a', 'b'])\n"
               "send(m, classes='a,b')\n"
               "send(m, intensity=np.ones((4, 6)))\n"
               "send(m, intensity=np.ones((4, 5), 'u1'))\n"
               "send(m, intensity=[[1]])\n"
               "send(m, view=4)\n"
               "send(m, lane=-1)\n"
               "send(m, captured_ns=1.5)\n"
               "send(m, classes=['a', 'b'], intensity=np.ones((4, 6), 'u1'))\n");
    expect_said("TypeError: maps must be u8 (p = v/255), f16 or f32, not float64; "
                "maps.astype('float32') makes them so\n");
    expect_said("f16 or f32, not bool; 255 * maps.astype('uint8') makes them so\n");
    expect_said("not int64; maps.astype('uint8'), if 255 is certainty, makes them so\n");
    expect_said("ValueError: maps must have no side of 0, not [0, 6, 2]\n");
    expect_said("TypeError: maps must be a numpy array, not list");
    expect_said("ValueError: maps must be [height, width, class], one channel for each class, "
                "not [4, 6]\n");
    expect_said("not [2, 4, 6]; maps.transpose(1, 2, 0) puts the class last\n");
    expect_said("TypeError: classes must be a list of names, not one text");
    expect_said(
        "ValueError: intensity must be uint8[4, 6], as high and wide as the maps, "
        "not float64[4, 6]; scaled to 0 to 255, intensity.astype('uint8') is of that type\n");
    expect_said("not uint8[4, 5]\n");
    expect_said("TypeError: intensity must be a numpy array, not list\n");
    expect_said("ValueError: view must be 0 to 3, as views is 4, not 4\n");
    expect_said("ValueError: lane must be from 0 to 4294967295, not -1\n");
    expect_said("TypeError: captured_ns must be a whole number, not 1.5\n");
    assert_string_equal(output + strlen(output) - 6, "False\n");
}

/* Generating large ones takes seconds each. */
static void no_more_views_are_generated_than_are_sent(void **state)
{
    (void)state;
    need_python();
    run_python("sender.make_view = lambda *_: made.append(1)\n"
               "for words in '--test', '--fruits 1', '--fruits 9 --views 2':\n"
               "    made, sys.argv = [], ['sender.py', *words.split()]\n"
               "    sender.make_pool(sender.read_options(), ['a'])\n"
               "    print(len(made))\n");
    assert_string_equal(output, "2\n4\n8\n");
    assert_int_equal(run_sender("--size 0x5"), 1);
    expect_said("sender.py: --size '0x5' is not WIDTHxHEIGHT, such as 511x95\n");
}

/* Runs sender.py with a file that the Python code `code` creates from `m`. */
static int run_with_file(const char *code, const char *arguments)
{
    char path[64], save[256];
    snprintf(path, sizeof path, "/tmp/cernita-maps-%ld.npy", (long)getpid());
    snprintf(save, sizeof save, "f = open('%s', 'wb')\n%s\nf.close()", path, code);
    run_python(save);
    assert_string_equal(output, "");
    int status = run_sender("%s %s", arguments, path);
    unlink(path);
    return status;
}

static void a_file_that_holds_no_maps_is_named(void **state)
{
    (void)state;
    need_python();
    const char *const files[] = {"", "np.savez(f, m=m)", "np.save(f, m.astype('f8'))",
                                 "np.save(f, m[0])"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(run_with_file(files[i], "--classes a,b"), 1);
        expect_said("sender.py: /tmp/cernita-maps-");
        assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
    }
}

static void a_try_says_how_to_make_probabilities_of_maps(void **state)
{
    (void)state;
    need_python();
    static const struct {
        const char *code, *said;
    } cases[] = {
        {"np.save(f, m + 200)", "\nout_of_range: maps must be probabilities, 0 to 1"},
        {"np.save(f, m + np.nan)", "\nnot_finite: NaN or infinity"},
        {"np.save(f, np.ones((4, 6, 2), 'u1'))", "\nmask_values: a u8 mask"},
    };
    static line_fixture line;
    line_start(&line, yaml);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[512];
        snprintf(arguments, sizeof arguments,
                 "--test --to ipc://%s/in --viewers ipc://%s/viewers --classes ground,rot",
                 line.folder, line.folder);
        assert_int_equal(run_with_file(cases[i].code, arguments), 1);
        expect_said(cases[i].said);
        expect_said("\n0 of 2 fruits complete, 0 messages refused\n");
    }
    line_stop(&line);
}

/* Maps that are dead or of another scale, where the classes have a background and where not. */
static void a_try_tells_a_dead_cnn_and_other_scales(void **state)
{
    (void)state;
    need_python();
    static const struct {
        const char *code, *reason;
    } cases[] = {
        {"np.save(f, m * 0)", "all_zero: all values are 0"},
        {"m[..., 0] = 1 - m[..., 1]; np.save(f, m / np.float32(255))", "divided_by_255: "},
        {"np.save(f, np.arange(48).reshape(4, 6, 2).astype('u1') % 4)", "labels: u8 maps of small"},
        {"m[..., 1] = .3; m[..., 0] = .7; np.save(f, (m * 100).astype('u1'))", "per_cent: "},
        {"np.save(f, np.arange(48).reshape(4, 6, 2).astype('u1') % 2 * 2)", "labels: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool has_background = i % 2 == 0;
        char arguments[512], text[1000], said[200];
        snprintf(text, sizeof text, "%s", yaml);
        memcpy(strstr(text, "ground"), has_background ? "BG    " : "skin  ", 6);
        static line_fixture line;
        line_start(&line, text);
        snprintf(arguments, sizeof arguments,
                 "--test --to ipc://%s/in --viewers ipc://%s/viewers --classes %s", line.folder,
                 line.folder, has_background ? "BG,rot" : "skin,rot");
        assert_int_equal(run_with_file(cases[i].code, arguments), 1);
        if (has_background)
            snprintf(said, sizeof said, "\n%s", cases[i].reason);
        else
            snprintf(said, sizeof said, "\nunproven: no value of 0.5 or more (u8: 128): %s",
                     strchr(cases[i].reason, ' ') + 1);
        expect_said(said);
        expect_said(has_background ? "\n0 of 2 fruits complete, 0 messages refused\n"
                                   : "\n2 of 2 fruits complete, 0 messages refused\n");
        line_stop(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_daemon_is_told_in_one_line),
        cmocka_unit_test(what_is_not_delivered_is_counted),
        cmocka_unit_test(a_try_says_what_became_of_it),
        cmocka_unit_test(a_try_says_what_was_measured),
        cmocka_unit_test(a_pose_that_is_none_is_named),
        cmocka_unit_test(refusals_of_a_short_run_are_told),
        cmocka_unit_test(a_wrong_argument_is_named),
        cmocka_unit_test(no_more_views_are_generated_than_are_sent),
        cmocka_unit_test(a_file_that_holds_no_maps_is_named),
        cmocka_unit_test(a_try_says_how_to_make_probabilities_of_maps),
        cmocka_unit_test(a_try_tells_a_dead_cnn_and_other_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
