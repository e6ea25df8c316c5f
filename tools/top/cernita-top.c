/* cernita-top: how a running line does, in a terminal. */
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/process/standard.h"
#include "src/client/fetch.h"
#include "tools/common/options.h"
#include "tools/top/layout.h"
#include "src/client/daemon_state.h"
#include "tools/top/stream.h"
#include "tools/top/terminal.h"

#define DEFAULT_ENDPOINT "127.0.0.1:9464"

/* How long --once waits for an event. */
#define ONCE_NS (10 * CRN_NS_PER_S)

/* Drawn again at least so often: it says how long the connection has been lost. */
#define REDRAW_MS 1000

/* The canvas of --once: for the figures, and for the longer of the lists. */
#define ONCE_ROWS    28
#define ONCE_COLUMNS 100

static const crn_option options[] = {
    CRN_OPTION("once", NULL, "print the state once, as text, and exit: 1 if there is no daemon"),
    {0},
};
enum {
    OPTION_ONCE,
};

static const crn_tool tool = {
    "cernita-top",
    "[HOST:PORT]",
    "Shows how a running line does: what is wrong with it and what to do, its budget, latencies,\n"
    "rates, lanes, the last fruits that were late, partial or over budget. HOST:PORT is\n"
    "monitor.http in the daemon's file (" DEFAULT_ENDPOINT "). Keys: q quits, ? helps.",
    options,
    0,
    1};

typedef struct top {
    crn_stream *stream;
    crn_daemon_state *status; /* the latest */
    bool received;            /* an event, which could be read */
    crn_top_view view;
} top;

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

/* An event came. One that cannot be read leaves the last one in place. */
static void take_event(void *context, const char *data, size_t size)
{
    top *t = context;
    crn_error error;
    crn_daemon_state *next = calloc(1, sizeof *next);
    if (next && crn_daemon_state_parse(data, size, next, &error) == 0) {
        free(t->status);
        t->status = next;
        t->received = true;
        return;
    }
    free(next);
}

static void update_view(top *t)
{
    int64_t lost_ns = crn_stream_lost_ns(t->stream);
    const char *fault = crn_stream_fault(t->stream);
    bool lost = lost_ns > 0 && (t->received || fault[0]);
    t->view.status = t->status;
    t->view.lost_s = lost ? (double)(crn_now_ns() - lost_ns) / (double)CRN_NS_PER_S : -1;
    t->view.fault = fault;
}

static int print_once(top *t)
{
    int64_t end_ns = crn_now_ns() + ONCE_NS;
    while (!t->received && crn_now_ns() < end_ns && !crn_stream_fault(t->stream)[0])
        crn_stream_wait(t->stream, -1, 100);
    if (!t->received)
        return crn_tool_fail(&tool, "%s: %s; " CRN_FETCH_CURE, t->view.endpoint,
                             crn_stream_fault(t->stream)[0] ? crn_stream_fault(t->stream)
                                                            : "no event came");
    crn_canvas canvas;
    update_view(t);
    int more = t->status->lane_count - 8;
    if (!crn_canvas_init(&canvas, ONCE_ROWS + (more > 0 ? 5 * more / 2 : 0), ONCE_COLUMNS))
        return crn_tool_fail(&tool, "no memory");
    crn_layout(&t->view, &canvas);
    crn_canvas_print(&canvas, stdout);
    crn_canvas_done(&canvas);
    return EXIT_SUCCESS;
}

static void draw(top *t)
{
    int rows, columns;
    crn_canvas canvas;
    crn_terminal_size(&rows, &columns);
    if (rows < 1 || columns < 1 || !crn_canvas_init(&canvas, rows, columns))
        return;
    update_view(t);
    crn_layout(&t->view, &canvas);
    crn_terminal_show(&canvas);
    crn_canvas_done(&canvas);
}

/* False: quit. */
static bool handle_keys(top *t)
{
    int last = t->status ? t->status->lane_count - 1 : 0;
    for (crn_key key; (key = crn_terminal_key()) != CRN_KEY_NONE;) {
        if (key == CRN_KEY_QUIT)
            return false;
        if (key == CRN_KEY_HELP)
            t->view.help = !t->view.help;
        if (key == CRN_KEY_UP && t->view.first_lane > 0)
            t->view.first_lane--;
        if (key == CRN_KEY_DOWN && t->view.first_lane < last)
            t->view.first_lane++;
    }
    return true;
}

static int run(top *t)
{
    crn_error error;
    struct sigaction action = {.sa_handler = stop};
    if (crn_terminal_open(&error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    while (!stopped && handle_keys(t)) {
        draw(t);
        crn_stream_wait(t->stream, STDIN_FILENO, REDRAW_MS);
    }
    crn_terminal_close();
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *value;
    bool once = false;
    crn_error error;
    crn_standard_streams(tool.name);
    while (crn_options_next(&tool, argc, argv, &value) != CRN_OPTIONS_END)
        once = true;
    setlocale(LC_CTYPE, "");
    top t = {.view = {.endpoint = optind < argc ? argv[optind] : DEFAULT_ENDPOINT,
                      .ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0}};
    if (crn_stream_open(t.view.endpoint, take_event, &t, &t.stream, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    int status = once ? print_once(&t) : run(&t);
    crn_stream_close(&t.stream);
    free(t.status);
    return status;
}
