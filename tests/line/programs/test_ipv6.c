/* Every program that connects to a line, at a line that listens on IPv6 alone. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/programs/shell.h"

#define PYTHON CRN_TEST_DATA "/../tools/python"

enum { INGEST, GRADER, VIEWERS, RECORDER, PORTS };

static char folder[64], address[PORTS][32];
static daemon_process line;

/* Ports of this machine's IPv6 loopback that nobody has; false without one. */
static bool find_ports(void)
{
    int port = crn_test_free_ports(true, PORTS);
    for (int i = 0; i < PORTS && port > 0; i++)
        snprintf(address[i], sizeof address[i], "tcp://[::1]:%d", port + i);
    return port > 0;
}

static int set_up(void **state)
{
    (void)state;
    char path[128], yaml[1024];
    if (!find_ports())
        return 0;
    if (daemon_make_folder(folder))
        return -1;
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['%s']}\n"
             "publish: {grader: {bind: '%s'}, viewers: {bind: '%s'}}\n"
             "monitor: {http: ''}\n"
             "classes: [{name: background}, {name: rot, level: 0.5}, {name: rust, level: 0.4}]\n"
             "chain: [contours]\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n",
             address[INGEST], address[GRADER], address[VIEWERS]);
    daemon_write_config(folder, "line.yaml", yaml, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start(&line, arguments);
    daemon_read_until(&line, "ready");
    char command[256], output[512];
    snprintf(command, sizeof command,
             CRN_BIN
             "/cernita-synth %s/rec.tif --fruits 10 --views 4 --classes 3 --size 48x32 2>&1",
             folder);
    return crn_test_shell(command, output, sizeof output);
}

static int tear_down(void **state)
{
    (void)state;
    if (!folder[0])
        return 0;
    kill(line.pid, SIGTERM);
    daemon_end(&line);
    return daemon_remove_folder(folder);
}

/* Runs a command of the shell, in which the addresses, the folder and the programs are variables.
 */
static void run(const char *command)
{
    char whole[2048], output[4096];
    if (!folder[0])
        skip();
    snprintf(
        whole, sizeof whole,
        "IN=%s GRADER=%s VIEWERS=%s RECORDER=%s DIR=%s BIN=%s; export PYTHONPATH=%s; (%s\n) 2>&1",
        address[INGEST], address[GRADER], address[VIEWERS], address[RECORDER], folder, CRN_BIN,
        PYTHON, command);
    if (crn_test_shell(whole, output, sizeof output) != 0)
        fail_msg("%s", output);
}

static void replay_and_tail(void **state)
{
    (void)state;
    /* The viewer may miss the first fruits, so that more follow until it has seen one. */
    run("timeout 90 $BIN/cernita-tail $VIEWERS --count 1 & T=$!; "
        "timeout 90 $BIN/cernita-replay $DIR/rec.tif --to $IN --wait 60 --rate 4 --loop 100 & "
        "R=$!; "
        "wait $T; S=$?; kill $R; wait $R; exit $S");
}

static void tail_as_the_grader(void **state)
{
    (void)state;
    run("timeout 90 $BIN/cernita-tail --grader $GRADER --count 1");
}

static void record(void **state)
{
    (void)state;
    run("$BIN/cernita-record --from $RECORDER --to $IN --dir $DIR --queue 8 > $DIR/said 2>&1 & "
        "P=$!; "
        "timeout 90 $BIN/cernita-replay $DIR/rec.tif --to $RECORDER --wait 60 --rate max "
        "--unwatched --loop 1; "
        "S=$?; timeout 90 $BIN/cernita-tail --grader $GRADER --count 10; kill $P; wait $P; "
        "grep '40 messages, 40 passed on' $DIR/said || exit 1; exit $S");
}

static void python(void **state)
{
    (void)state;
    if (system("/usr/bin/python3 -c 'import numpy, zmq, msgpack' 2>/dev/null"))
        skip();
    run("/usr/bin/python3 -B - $IN $GRADER $VIEWERS <<'EOF'\n"
        "import sys\n"
        "import numpy as np\n"
        "import cernita\n"
        "to, grader, viewers = sys.argv[1:]\n"
        "with cernita.Verdicts(grader, grader=True, timeout_s=60) as verdicts, \\\n"
        "        cernita.Verdicts(viewers, status=True, timeout_s=60) as seen, \\\n"
        "        cernita.Line(to, views=1) as line:\n"
        "    assert isinstance(seen.receive(), cernita.Status)\n"
        "    assert line.wait(60)\n"
        "    maps = np.zeros((32, 48, 3), np.float32)\n"
        "    maps[..., 0] = 1\n"
        "    assert line.send(maps, fruit=1, view=0)\n"
        "    while verdicts.receive().epoch != line.epoch:\n"
        "        pass\n"
        "EOF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_and_tail),
        cmocka_unit_test(tail_as_the_grader),
        cmocka_unit_test(record),
        cmocka_unit_test(python),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
