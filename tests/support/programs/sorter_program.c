#include "tests/support/programs/sorter_program.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <zmq.h>

#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"

sorter_program sorter;

static void open_grader(void)
{
    int linger = 0;
    sorter.grader = zmq_socket(sorter.zmq, ZMQ_PUSH);
    zmq_setsockopt(sorter.grader, ZMQ_LINGER, &linger, sizeof linger);
}

int sorter_set_up(void **state)
{
    memset(&sorter, 0, sizeof sorter);
    sorter.zmq = zmq_ctx_new();
    open_grader();
    return test_folder_make(state);
}

int sorter_tear_down(void **state)
{
    if (sorter.grader)
        zmq_close(sorter.grader);
    zmq_ctx_term(sorter.zmq);
    return test_folder_remove(state);
}

void sorter_bind(void)
{
    size_t size = sizeof sorter.endpoint;
    assert_int_equal(zmq_bind(sorter.grader, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(sorter.grader, ZMQ_LAST_ENDPOINT, sorter.endpoint, &size), 0);
}

void sorter_kill_line(void)
{
    zmq_close(sorter.grader);
    sorter.grader = NULL;
}

void sorter_restart_line(void)
{
    open_grader();
    while (zmq_bind(sorter.grader, sorter.endpoint) < 0) /* until the old socket is gone */
        assert_int_equal(zmq_errno(), EADDRINUSE);
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

void sorter_write_file(const sorter_file *file)
{
    char yaml[2048], path[128];
    snprintf(yaml, sizeof yaml,
             "line: {endpoint: '%s'%s}\n"
             "outlets: {names: [first, waste, again, dead], default: first, late: again,\n"
             "          partial: rules, silence: dead, unmeasured: again}\n"
             "rules: [{outlet: waste, when: %s}]\n"
             "outputs: {stdout: {format: %s}%s}\n"
             "%s\n",
             sorter.endpoint, or_nothing(file->line), file->rule ? file->rule : "rot.area_px > 50",
             file->is_quiet ? "none" : "text", or_nothing(file->outputs), or_nothing(file->below));
    daemon_write_config(test_folder, "sorter.yaml", yaml, path);
}

void sorter_start_with(void (*prepare)(void))
{
    char path[128];
    snprintf(path, sizeof path, "%s/sorter.yaml", test_folder);
    const char *const arguments[] = {"cernita-sorter", "--config", path, NULL};
    daemon_start_as(&sorter.process, CRN_BIN "/cernita-sorter", arguments, prepare);
}

void sorter_start(void)
{
    sorter_start_with(NULL);
}

void sorter_stop(int signal_number)
{
    kill(sorter.process.pid, signal_number);
    int status = daemon_end(&sorter.process);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

void sorter_kill(void)
{
    kill(sorter.process.pid, SIGKILL);
    assert_true(WIFSIGNALED(daemon_end(&sorter.process)));
    sorter_kill_line();
    sorter_restart_line();
}

void sorter_expect_said(const char *wanted)
{
    if (!strstr(sorter.process.text, wanted))
        fail_msg("'%s' was not said, but: %s", wanted, sorter.process.text);
}

void sorter_send_text(const char *topic, const char *text)
{
    assert_true(zmq_send(sorter.grader, topic, strlen(topic), ZMQ_SNDMORE) >= 0);
    assert_true(zmq_send(sorter.grader, text, strlen(text), 0) >= 0);
}

void sorter_send(const sorter_verdict *verdict)
{
    char topic[32], text[512];
    snprintf(topic, sizeof topic, "fruit/%d", verdict->lane);
    snprintf(text, sizeof text,
             "{\"v\":1,\"run\":\"%s\",\"lane\":%d,\"fruit\":%d,\"sequence\":%d,\"verdict\":\"%s\","
             "\"stale\":%s,\"deadline_ns\":%" PRId64 ",\"encoder\":%d,\"captured_ns\":%" PRId64
             ",\"totals\":{\"rot\":{\"count\":1,\"area_px\":%d}}}",
             verdict->run ? verdict->run : "a", verdict->lane, 100 + verdict->sequence,
             verdict->sequence, verdict->kind ? verdict->kind : "complete",
             verdict->stale ? "true" : "false", verdict->deadline_ns,
             verdict->encoder ? verdict->encoder : 9, verdict->captured_ns, verdict->area_px);
    sorter_send_text(topic, text);
}
