/*
 * cernita-tail: prints verdicts as lines, as JSON, as pictures, as a table of latencies. The tools'
 * only subscriber to verdicts.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/standard.h"
#include "src/formats/verdict_log/reader.h"
#include "src/formats/verdict/decode.h"
#include "src/client/connection.h"
#include "tools/common/verdicts/sequence_check.h"
#include "tools/tail/latency.h"
#include "tools/common/options.h"
#include "tools/tail/renderer.h"
#include "tools/common/recordings.h"
#include "tools/tail/verdict_text.h"

#define BATCH_MAX    1000 /* messages handled before the output is flushed */
#define WAIT_MS      200
#define SILENT_NS    (5 * CRN_NS_PER_S) /* a daemon sends viewers its status every second */
#define OVER_MAX     16
#define DRAWING_NICE 10

typedef struct tail_settings {
    const char *endpoint; /* NULL: reads `log` */
    const char *log;
    bool grader, json, table;
    uint64_t count; /* 0: no end */
    int64_t lane;
    int64_t timeout_ns; /* CRN_NEVER_NS: none */
    const char *draw;
    const char *over[OVER_MAX];
    int32_t over_count, last;
    crn_client_keys keys;
} tail_settings;

static void read_timeout(const crn_tool *tool, const crn_option *option, const char *text,
                         void *settings)
{
    double seconds = crn_option_real(tool, option->name, text, 0.001, 1e6);
    ((tail_settings *)settings)->timeout_ns = (int64_t)(seconds * 1e9);
}

static void read_over(const crn_tool *tool, const crn_option *option, const char *text,
                      void *settings)
{
    tail_settings *set = settings;
    if (set->over_count == OVER_MAX)
        crn_usage_error(tool, "--%s is given more than %d times", option->name, OVER_MAX);
    set->over[set->over_count++] = text;
}

static const crn_option options[] = {
    CRN_OPTION_AT("grader", NULL, tail_settings, grader,
                  .help = "connect as the grader: another connected grader then gets only\n"
                          "every other verdict; not on a machine that sorts"),
    CRN_OPTION_AT("log", "DIR", tail_settings, log,
                  .help = "the verdicts in a daemon's log (publish.log.dir), and no ENDPOINT"),
    CRN_OPTION_AT("json", NULL, tail_settings, json,
                  .help = "one line of JSON per verdict; all else goes to stderr"),
    CRN_OPTION_AT("count", "N", tail_settings, count, .min = 1, .max = (double)INT64_MAX,
                  .help = "end after N verdicts"),
    CRN_OPTION_AT("lane", "N", tail_settings, lane, .max = UINT32_MAX,
                  .help = "only this lane's verdicts"),
    {.name = "timeout",
     .value = "S",
     .help = "end, with status 1, when no verdict came for S seconds",
     .read = read_timeout},
    CRN_OPTION_AT("table", NULL, tail_settings, table,
                  .help = "at the end, latencies per stage and the number of lost verdicts"),
    CRN_OPTION_AT("draw", "DIR", tail_settings, draw,
                  .help = "a picture of each verdict, DIR/fruit_<lane>_<fruit>.png"),
    {.name = "over",
     .value = "REC.tif|DIR",
     .help = "draw the contours over the recording's photographs, or those of all\n"
             "recordings in a folder; may be given several times",
     .read = read_over},
    CRN_OPTION_AT("last", "N", tail_settings, last, .min = 1, .max = CRN_PICTURES_MAX,
                  .help = "draw only the last N verdicts (1 to 16), at the end"),
    CRN_OPTIONS_OF_KEYS(tail_settings, keys),
    {0},
};

static const crn_tool tool = {
    .name = "cernita-tail",
    .operands = "ENDPOINT | --log DIR",
    .about =
        "Prints a line's verdicts, one per line. ENDPOINT is where the daemon publishes:\n"
        "publish.viewers of its configuration (or publish.grader, with --grader). Viewers may\n"
        "come and go: a slow one loses verdicts, reports it, and delays nothing.",
    .options = options,
    .operands_min = 0,
    .operands_max = 1,
};

typedef struct tail {
    const tail_settings *set;
    crn_connection connection;
    crn_verdict_reader *log; /* NULL: the connection is used */
    crn_sequence_check *follow;
    crn_latency *latency;
    crn_renderer *pictures; /* NULL: draws nothing */
    crn_screen screen;
    crn_log_gate unreadable;
    uint64_t unreadable_count;
    char state[CRN_DECODED_TEXT_BYTES]; /* as reported by the daemon; empty before that */
    uint64_t verdicts;
    int64_t last_ns; /* arrival of the last one */
    bool heard;      /* any message came, or its absence was told */
} tail;

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void read_options(int argc, char **argv, tail_settings *ret_set)
{
    tail_settings set = {.lane = CRN_ALL_LANES, .timeout_ns = CRN_NEVER_NS};
    crn_options_read(&tool, argc, argv, &set);
    if (!set.draw && (set.over_count || set.last))
        crn_usage_error(&tool, "--%s needs --draw DIR", set.last ? "last" : "over");
    if (!set.log && optind == argc)
        crn_usage_error(&tool, "ENDPOINT or --log DIR is missing");
    if (set.log && (optind < argc || set.grader || set.timeout_ns != CRN_NEVER_NS))
        crn_usage_error(&tool, "--log takes no ENDPOINT, --grader or --timeout");
    set.endpoint = argv[optind];
    *ret_set = set;
}

static int read_photographs(tail *t, crn_error *error)
{
    crn_recordings recordings = {0};
    int r = crn_recordings_list(t->set->over, t->set->over_count, &recordings, error);
    for (int i = 0; i < recordings.count && r >= 0; i++) {
        error->text[0] = '\0';
        r = crn_renderer_over(t->pictures, recordings.paths[i], error);
        if (r >= 0 && *error->text)
            crn_tool_note(&tool, "%s", error->text);
    }
    crn_recordings_free(&recordings);
    return r;
}

/*
 * Connects before reading photographs, so that nothing published meanwhile is missed. Negative
 * errno with *error; tail_done cleans up in any case.
 */
static int tail_init(tail *t, const tail_settings *set, crn_error *error)
{
    t->set = set;
    crn_screen_init(&t->screen, set->json ? stderr : stdout);
    int r = set->log ? crn_verdict_reader_open(set->log, &t->log, error)
                     : crn_connection_open(&t->connection, set->endpoint, set->grader, set->lane,
                                           &set->keys, error);
    if (r < 0)
        return r;
    if (crn_sequence_check_create(&t->follow) < 0 || crn_latency_create(&t->latency) < 0)
        return crn_error_set(error, -ENOMEM, "no memory");
    if (set->draw) {
        /* Lowers the priority of drawing below the line's; libzmq's thread keeps its own. */
        if (nice(DRAWING_NICE) < 0)
            errno = 0;
        r = crn_renderer_create(set->draw, set->last, &t->pictures, error);
    }
    return r < 0 ? r : read_photographs(t, error);
}

static void tail_done(tail *t)
{
    crn_renderer_free(&t->pictures);
    crn_latency_free(&t->latency);
    crn_sequence_check_free(&t->follow);
    crn_verdict_reader_close(&t->log);
    crn_connection_close(&t->connection);
}

static void report_lost(tail *t, uint64_t lane, uint64_t first, uint64_t last)
{
    char which[128];
    crn_sequence_check_name_gap(first, last, which, sizeof which);
    crn_screen_add(&t->screen, "lane %" PRIu64 ": %" PRIu64 " verdict%s lost (sequence %s)", lane,
                   last - first + 1, last == first ? "" : "s", which);
}

static void report_run(tail *t, const char *run)
{
    if (crn_sequence_check_run(t->follow, run))
        crn_screen_add(&t->screen, "the daemon was restarted (run %s)", run);
}

static void report_sequence(tail *t, const crn_decoded *verdict)
{
    uint64_t first;
    report_run(t, verdict->run);
    crn_sequence_finding followed =
        crn_sequence_check_verdict(t->follow, verdict->lane, verdict->sequence, &first);
    if (followed == CRN_FOLLOWED_GAP)
        report_lost(t, verdict->lane, first, verdict->sequence - 1);
    else if (followed == CRN_FOLLOWED_OLD)
        crn_screen_add(&t->screen, "lane %" PRIu64 ": sequence %" PRIu64 " again or out of order",
                       verdict->lane, verdict->sequence);
}

/* Handles the daemon's status, once a second: also
 * reveals lost verdicts that no later one followed. */
static int handle_status(tail *t, const crn_messagepack_json *packed, crn_error *error)
{
    crn_decoded_status status;
    int r = crn_decode_status(packed, &status, error);
    if (r < 0)
        return r;
    report_run(t, status.run);
    for (uint32_t i = 0; i < status.lane_count; i++) {
        uint64_t first, lane = status.lanes[i].lane, last = status.lanes[i].sequence;
        if (crn_sequence_check_last(t->follow, lane, last, &first))
            report_lost(t, lane, first, last);
    }
    if (*t->state && strcmp(t->state, status.state))
        crn_screen_add(&t->screen, "the daemon is %s now, it was %s before", status.state,
                       t->state);
    memcpy(t->state, status.state, sizeof t->state);
    return 0;
}

static int handle_verdict(tail *t, const crn_messagepack_json *packed, crn_error *error)
{
    crn_decoded *verdict = NULL;
    int r = crn_decode(packed, &verdict, error);
    if (r < 0)
        return r;
    if (t->set->lane == CRN_ALL_LANES || verdict->lane == (uint64_t)t->set->lane) {
        t->verdicts++;
        t->last_ns = crn_now_ns();
        report_sequence(t, verdict);
        r = crn_latency_add(t->latency, verdict);
        if (t->set->json) {
            crn_messagepack_json_print(packed, stdout);
        } else {
            char line[CRN_LINE_BYTES];
            crn_verdict_text(verdict, t->screen.color, line);
            crn_screen_add(&t->screen, "%s", line);
        }
        if (t->pictures)
            crn_renderer_offer(t->pictures, &verdict);
    }
    crn_decoded_free(&verdict);
    return r;
}

/* Reports an unreadable message, at most once a second, and skips it; silently skips topics that
 * this version does not know. */
static int handle_message(tail *t, const char *topic, const void *bytes, size_t size)
{
    bool is_verdict = strncmp(topic, "fruit/", 6) == 0;
    /* The grader's `alive` carries the same fields as the viewers' `status`. */
    if (!is_verdict && strcmp(topic, "status") != 0 && strcmp(topic, "alive") != 0)
        return 0;
    crn_messagepack_json packed;
    crn_error error = {""};
    int r = crn_messagepack_json_init(&packed, bytes, size, &error);
    if (!r) {
        r = is_verdict ? handle_verdict(t, &packed, &error) : handle_status(t, &packed, &error);
        crn_messagepack_json_done(&packed);
    }
    bool skipped = r == -EBADMSG || r == -ENOMEM;
    t->unreadable_count += skipped;
    if (skipped && crn_log_gate_open(&t->unreadable, crn_now_ns())) {
        crn_screen_flush(&t->screen); /* keeps the notice after earlier lines */
        char others[48] = "";
        if (t->unreadable.held)
            snprintf(others, sizeof others, ", nor %" PRIu64 " before it", t->unreadable.held);
        t->unreadable.held = 0;
        crn_tool_note(&tool, "a message '%.40s' cannot be read%s: %s", topic, others, error.text);
    }
    return skipped ? 0 : r;
}

static bool is_counted(const tail *t)
{
    return t->set->count && t->verdicts == t->set->count;
}

static void flush(tail *t)
{
    crn_screen_flush(&t->screen);
    if (t->set->json)
        fflush(stdout);
}

/* Handles all waiting messages. Returns their number, or -errno. */
static int read_batch(tail *t)
{
    int count = 0, r = 1;
    while (r > 0 && count < BATCH_MAX && !is_counted(t) && !interrupted) {
        char topic[64];
        zmq_msg_t body;
        zmq_msg_init(&body);
        r = crn_connection_receive(&t->connection, topic, sizeof topic, &body);
        if (r > 0) {
            count++;
            int handled = handle_message(t, topic, zmq_msg_data(&body), zmq_msg_size(&body));
            r = handled < 0 ? handled : r;
        }
        zmq_msg_close(&body);
    }
    flush(t);
    if (ferror(stdout) && !interrupted)
        return -EIO;
    return r < 0 ? r : count;
}

/* Waits for input, or draws meanwhile. 0 or -errno with *error. */
static int pass_time(tail *t, crn_error *error)
{
    if (t->pictures && crn_renderer_waiting(t->pictures)) {
        int r = crn_renderer_draw(t->pictures, error);
        return r < 0 ? r : 0;
    }
    zmq_pollitem_t item = {.socket = t->connection.socket, .events = ZMQ_POLLIN};
    zmq_poll(&item, 1, WAIT_MS);
    return 0;
}

/* Tells a viewer that hears nothing at all, once, and either at once if the line does not let it
 * in. 0, or -EACCES with *error if it never will. */
static int tell_silence(tail *t, int64_t silent_ns, crn_error *error)
{
    const char *fault = crn_handshake_fault(&t->connection.handshake);
    if (fault && t->connection.handshake.final)
        return crn_error_set(error, -EACCES, "%s: %s", t->set->endpoint, fault);
    if (t->heard || (!fault && (t->set->grader || silent_ns < SILENT_NS)))
        return 0;
    t->heard = true;
    if (fault)
        crn_tool_note(&tool, "%s: %s", t->set->endpoint, fault);
    else
        crn_tool_note(&tool, "%s: nothing came for 5 s: %s", t->set->endpoint, crn_connection_hint);
    return 0;
}

/* Runs until the count, a signal, or the timeout without a verdict. 0 or -errno with *error. */
static int follow_line(tail *t, crn_error *error)
{
    t->last_ns = crn_now_ns();
    while (!is_counted(t) && !interrupted) {
        int read = read_batch(t);
        if (read < 0)
            return crn_error_set(error, read, "%s: %s",
                                 read == -EIO ? "cannot write" : t->set->endpoint, strerror(-read));
        t->heard |= read > 0;
        if (read)
            continue;
        int64_t silent_ns = crn_now_ns() - t->last_ns;
        int told = tell_silence(t, silent_ns, error);
        if (told < 0)
            return told;
        if (silent_ns >= t->set->timeout_ns)
            return crn_error_set(error, -ETIMEDOUT,
                                 "%s: no verdict for %.3g s (%" PRIu64 " received before)",
                                 t->set->endpoint, (double)t->set->timeout_ns / 1e9, t->verdicts);
        int r = pass_time(t, error);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Handles the log's next verdict. 1, 0 at its end, or -errno with *error. */
static int handle_logged(tail *t, crn_error *error)
{
    crn_logged_verdict verdict;
    int r = crn_verdict_reader_next(t->log, &verdict, error);
    if (r < 0) {
        flush(t); /* keeps the notice after earlier lines */
        crn_tool_note(&tool, "%s", error->text);
        return 1;
    }
    if (r == 0)
        return 0;
    char topic[32];
    snprintf(topic, sizeof topic, "fruit/%" PRIu32, verdict.lane);
    r = handle_message(t, topic, verdict.bytes, verdict.size);
    if (r < 0)
        return crn_error_set(error, r, "%s: %s", t->set->log, strerror(-r));
    if (t->pictures && crn_renderer_waiting(t->pictures))
        r = crn_renderer_draw(t->pictures, error);
    return r < 0 ? r : 1;
}

/* Reads to the log's end, the count or a signal. 0 or -errno with *error. */
static int read_log(tail *t, crn_error *error)
{
    int r = 1;
    while (r > 0 && !is_counted(t) && !interrupted) {
        r = handle_logged(t, error);
        if (t->screen.added - t->screen.flushed > CRN_SCREEN_LINES / 2)
            flush(t); /* a terminal, too, gets every line */
        if (ferror(stdout) && !interrupted)
            r = crn_error_set(error, -EIO, "cannot write: %s", strerror(EIO));
    }
    flush(t);
    return r < 0 ? r : 0;
}

/* Draws the remaining verdicts and prints the table. 0 or -errno with *error. */
static int conclude(tail *t, crn_error *error)
{
    int r = t->pictures ? 1 : 0;
    while (r > 0)
        r = crn_renderer_draw(t->pictures, error);
    if (t->pictures) {
        uint64_t drawn, missed;
        crn_renderer_count(t->pictures, &drawn, &missed);
        if (missed)
            crn_tool_note(&tool,
                          "%" PRIu64 " pictures drawn; %" PRIu64
                          " verdicts arrived too fast to be drawn (--last N draws the last ones)",
                          drawn, missed);
    }
    if (t->unreadable_count)
        crn_tool_note(&tool, "%" PRIu64 " message%s could not be read and %s skipped",
                      t->unreadable_count, t->unreadable_count == 1 ? "" : "s",
                      t->unreadable_count == 1 ? "was" : "were");
    if (t->set->table)
        crn_latency_print(t->latency, crn_sequence_check_get_stats(t->follow),
                          t->set->json ? stderr : stdout);
    return r;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-tail");
    tail_settings set;
    read_options(argc, argv, &set);
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: interrupts waiting */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);

    static tail t; /* static, because the screen's lines are large */
    crn_error error = {""}, late_error = {""};
    int r = tail_init(&t, &set, &error);
    if (r >= 0) {
        if (isatty(STDERR_FILENO) && !t.log)
            crn_tool_note(&tool, "waiting for verdicts from %s", set.endpoint);
        r = t.log ? read_log(&t, &error) : follow_line(&t, &error);
        int concluded = conclude(&t, &late_error);
        if (concluded < 0 && r >= 0) {
            error = late_error;
            r = concluded;
        }
    }
    bool short_of_count = set.count && t.verdicts < set.count;
    tail_done(&t);
    if (r < 0 && ferror(stdout))
        return CRN_EXIT_FAILED; /* reported at exit, see stages/base/process/standard.h */
    if (r < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    return short_of_count ? CRN_EXIT_FAILED : 0;
}
