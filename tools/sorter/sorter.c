#include "tools/sorter/sorter.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/priority.h"
#include "src/client/connection.h"
#include "src/service/control_socket.h"
#include "src/service/notify.h"
#include "tools/sorter/monitor/health.h"
#include "tools/sorter/monitor/server.h"
#include "tools/sorter/outputs/outputs.h"
#include "tools/sorter/page/page.h"

#define BATCH_MAX     256 /* messages in a row, before outputs and signals are looked at */
#define WAIT_MAX_NS   (1 * CRN_NS_PER_S)
#define STATUS_EVERY  CRN_NS_PER_S
#define WATCHDOG_PART 3 /* it is fed so often within its interval */

struct crn_sorter {
    const char *path;
    crn_sorter_settings *settings; /* owned */
    char run[CRN_SORTER_RUN_BYTES];
    crn_connection connection;
    crn_decider *decider;
    crn_kept_sequences *kept; /* NULL: none */
    crn_outputs outputs;
    crn_line_state told_state;
    const char *told_fault;
    crn_sorter_http *http; /* NULL: none */
    crn_control_socket *control;
    crn_page_reporter *page;                                         /* NULL: none */
    char http_address[CRN_TEXT_BYTES], control_path[CRN_TEXT_BYTES]; /* longer than the settings */
    uint64_t unreadable_count, reloads_taken, reloads_refused;
    int64_t started_ns; /* CLOCK_REALTIME */
    crn_log_gate unreadable, lost, unmeasured, repeated;
    int64_t watchdog_ns, fed_ns, status_ns;
    bool stop;
};

/* --- decisions -------------------------------------------------------------------------------- */

static void log_lost(crn_sorter *self, const crn_decision *d)
{
    crn_log_gated(&self->lost, crn_now_ns(), CRN_LOG_WARNING,
                  "lane %" PRIu64 ": %" PRIu64 " verdict%s lost from sequence %" PRIu64
                  " on: their fruits are for outlet %s",
                  d->lane, d->lost, d->lost == 1 ? "" : "s", d->sequence,
                  self->settings->outlets.names.item[d->outlet]);
}

static void take_decision(void *context, const crn_decision *decision)
{
    crn_sorter *self = context;
    crn_outputs_send(&self->outputs, decision);
    if (decision->reason == CRN_DECIDED_LOST)
        log_lost(self, decision);
}

/* The first class of the rules that the verdict has no total of, or NULL. */
static const char *missing_class(const crn_rules *rules, const crn_decoded *verdict)
{
    for (int32_t class = 0; class < crn_rules_class_count(rules); class ++) {
        const char *name = crn_rules_class(rules, class);
        uint32_t i = 0;
        while (i < verdict->total_count && strcmp(verdict->totals[i].name, name) != 0)
            i++;
        if (i == verdict->total_count)
            return name;
    }
    return NULL;
}

static void log_unmeasured(crn_sorter *self, const crn_decoded *verdict, uint64_t before)
{
    const crn_decider_stats *stats = crn_decider_get_stats(self->decider);
    if (stats->reason[CRN_DECIDED_UNMEASURED] == before)
        return;
    const char *class = missing_class(self->settings->outlets.rules, verdict);
    crn_log_gated(&self->unmeasured, crn_now_ns(), CRN_LOG_WARNING,
                  "lane %" PRIu64 ", fruit %" PRIu64
                  ": a rule depends on what was not measured, %s%s%s: outlet %s",
                  verdict->lane, verdict->fruit, class ? "the line looks for no class '" : "",
                  class                                  ? class
                  : verdict->kind == CRN_VERDICT_PARTIAL ? "the fruit was not judged whole"
                                                         : "the verdict has no measurements in mm",
                  class ? "'" : "",
                  self->settings->outlets.names.item[self->settings->outlets.choice.unmeasured]);
}

static int take_verdict(crn_sorter *self, const crn_messagepack_json *packed, crn_error *error)
{
    crn_decoded *verdict = NULL;
    int r = crn_decode(packed, &verdict, error);
    if (r < 0)
        return r;
    const crn_decider_stats *stats = crn_decider_get_stats(self->decider);
    uint64_t unmeasured = stats->reason[CRN_DECIDED_UNMEASURED], repeated = stats->repeated;
    crn_decider_verdict(self->decider, verdict, crn_now_ns(), crn_realtime_ns());
    log_unmeasured(self, verdict, unmeasured);
    if (stats->repeated > repeated)
        crn_log_gated(&self->repeated, crn_now_ns(), CRN_LOG_WARNING,
                      "lane %" PRIu64 ": sequence %" PRIu64 " came again or out of order: ignored",
                      verdict->lane, verdict->sequence);
    crn_decoded_free(&verdict);
    return 0;
}

static int take_alive(crn_sorter *self, const crn_messagepack_json *packed, crn_error *error)
{
    crn_decoded_status status;
    int r = crn_decode_status(packed, &status, error);
    if (r == 0)
        crn_decider_alive(self->decider, &status, crn_now_ns());
    return r;
}

/* Topics that this version does not know are passed over. */
static void take_message(crn_sorter *self, const char *topic, zmq_msg_t *body)
{
    bool is_verdict = strncmp(topic, "fruit/", 6) == 0;
    if (!is_verdict && strcmp(topic, "alive") != 0)
        return;
    crn_messagepack_json packed;
    crn_error error = {""};
    int r = crn_messagepack_json_init(&packed, zmq_msg_data(body), zmq_msg_size(body), &error);
    if (r == 0) {
        r = is_verdict ? take_verdict(self, &packed, &error) : take_alive(self, &packed, &error);
        crn_messagepack_json_done(&packed);
    }
    if (r == 0)
        return;
    self->unreadable_count++;
    crn_log_gated(&self->unreadable, crn_now_ns(), CRN_LOG_ERROR,
                  "a message '%.40s' of the line cannot be read: %s", topic, error.text);
}

/* Takes what waits. Returns the number of messages, or a negative errno. */
static int take_messages(crn_sorter *self)
{
    int count = 0, r = 1;
    while (r > 0 && count < BATCH_MAX) {
        char topic[64];
        zmq_msg_t body;
        zmq_msg_init(&body);
        r = crn_connection_receive(&self->connection, topic, sizeof topic, &body);
        if (r > 0) {
            count++;
            take_message(self, topic, &body);
        }
        zmq_msg_close(&body);
    }
    return r < 0 ? r : count;
}

/* --- what it tells of itself ------------------------------------------------------------------ */

static void observe(void *context, crn_sorter_observation *ret_observation)
{
    const crn_sorter *self = context;
    *ret_observation = (crn_sorter_observation){
        .settings = self->settings,
        .run = self->run,
        .started_ns = self->started_ns,
        .line = crn_decider_state(self->decider),
        .unreadable = self->unreadable_count,
        .reloads_taken = self->reloads_taken,
        .reloads_refused = self->reloads_refused,
        .decided = *crn_decider_get_stats(self->decider),
        .outputs = crn_outputs_get_stats(&self->outputs),
    };
    crn_machine_read(&ret_observation->machine);
}

/* A faulty file, or one that needs a restart, changes nothing. Faults are lines of `out`. */
static int reload(crn_sorter *self, FILE *out)
{
    crn_sorter_settings *settings = calloc(1, sizeof *settings);
    crn_notify_send("RELOADING=1");
    int r = settings ? crn_sorter_settings_load(self->path, out, settings) : -ENOMEM;
    if (r == 0 && crn_sorter_settings_fixed(self->settings, settings, self->path, out) > 0)
        r = -EINVAL;
    crn_sorter_settings *unused = settings;
    if (r == 0) {
        unused = self->settings;
        self->settings = settings;
        self->reloads_taken++;
        crn_decider_use(self->decider, settings);
        crn_outputs_use(&self->outputs, settings);
        crn_log_set_level((crn_log_level)settings->log.level);
        crn_log(CRN_LOG_INFO, "%s: in force, %d rules", self->path,
                crn_rules_count(settings->outlets.rules));
    } else {
        self->reloads_refused++;
        crn_log(CRN_LOG_ERROR, "%s: not taken over, the settings before go on", self->path);
    }
    if (unused)
        crn_sorter_settings_done(unused);
    free(unused);
    crn_notify_send("READY=1");
    return r;
}

static int reload_for_cernitactl(void *context, FILE *lines)
{
    return reload(context, lines);
}

static void answer(void *context, const char *request, const crn_control_asker *asker, FILE *out)
{
    crn_sorter *self = context;
    if (strcmp(request, "reload") == 0) {
        crn_log(CRN_LOG_INFO, "control: '%s' by user %u, group %u, process %d", request,
                (unsigned)asker->user, (unsigned)asker->group, (int)asker->process);
        crn_control_answer_change(reload_for_cernitactl, self, stderr, out);
    } else if (strcmp(request, "status") == 0) {
        crn_sorter_observation observation;
        observe(self, &observation);
        fprintf(out, "ok\nfile      %s\n", self->path);
        crn_sorter_status_print(&observation, out);
    } else {
        fputs("refused\nthis is a sorter, which knows status and reload\n", out);
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static void make_run(char ret_run[CRN_SORTER_RUN_BYTES])
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)crn_realtime_ns();
    snprintf(ret_run, CRN_SORTER_RUN_BYTES, "%016" PRIx64, number);
}

static int open_monitor(crn_sorter *self, crn_error *error)
{
    const crn_sorter_settings *settings = self->settings;
    const crn_control_plan plan = {.path = self->control_path, .answer = answer, .context = self};
    strcpy(self->control_path, settings->control.path);
    strcpy(self->http_address, settings->monitor.http);
    int r = crn_control_socket_open(&plan, &self->control, error);
    if (r == 0 && self->http_address[0])
        r = crn_sorter_http_open(self->http_address, observe, self, &self->http, error);
    if (r == 0 && self->http)
        crn_log(CRN_LOG_INFO, "monitor: http://%s/metrics", crn_sorter_http_address(self->http));
    return r;
}

int crn_sorter_open(const char *path, crn_sorter_settings *settings, crn_sorter **ret_sorter,
                    crn_error *error)
{
    crn_sorter *self = calloc(1, sizeof *self);
    if (!self) {
        crn_sorter_settings_done(settings);
        free(settings);
        return crn_error_set(error, -ENOMEM, "no memory");
    }
    self->path = path;
    self->settings = settings;
    self->started_ns = crn_realtime_ns();
    self->watchdog_ns = crn_notify_watchdog_ns();
    make_run(self->run);
    crn_client_keys keys = {.key = settings->line.key[0] ? settings->line.key : NULL,
                            .server_key =
                                settings->line.server_key[0] ? settings->line.server_key : NULL};
    int r = crn_outputs_open(&self->outputs, settings, self->run, crn_now_ns(), error);
    if (r == 0 && settings->state.file[0])
        r = crn_kept_sequences_open(settings->state.file, &self->kept, error);
    if (r == 0 && crn_decider_create(settings, take_decision, self, self->kept, &self->decider) < 0)
        r = crn_error_set(error, -ENOMEM, "no memory");
    crn_priority_saved saved = crn_priority_begin_io(); /* libzmq's threads inherit it */
    if (r == 0)
        r = crn_connection_open(&self->connection, settings->line.endpoint, true, CRN_ALL_LANES,
                                &keys, error);
    crn_priority_end_io(&saved);
    if (r == 0)
        r = open_monitor(self, error);
    if (r == 0 && settings->line.page[0])
        r = crn_page_reporter_open(path, settings, &self->page, error);
    if (r < 0)
        crn_sorter_close(&self);
    else
        *ret_sorter = self;
    return r < 0 ? r : 0;
}

void crn_sorter_close(crn_sorter **sorter)
{
    crn_sorter *self = *sorter;
    if (!self)
        return;
    crn_sorter_http_close(&self->http);
    crn_control_socket_close(&self->control);
    crn_connection_close(&self->connection);
    crn_decider_free(&self->decider);
    crn_kept_sequences_close(&self->kept);
    crn_outputs_close(&self->outputs);
    crn_page_reporter_close(&self->page); /* last: it may have to wait */
    crn_sorter_settings_done(self->settings);
    free(self->settings);
    free(self);
    *sorter = NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

static void take_signals(crn_sorter *self, int signals)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            reload(self, stderr);
        else
            self->stop = true;
    }
}

/* Logs once when the line is heard, falls silent, or refuses this program. 0, or -EACCES with
 * *error if it never will let it in. */
static int tell_line(crn_sorter *self, crn_error *error)
{
    crn_line_state state = crn_decider_state(self->decider);
    const char *fault = crn_handshake_fault(&self->connection.handshake);
    const char *endpoint = self->settings->line.endpoint;
    if (fault && self->connection.handshake.final)
        return crn_error_set(error, -EACCES, "line.endpoint: %s: %s", endpoint, fault);
    if (fault && fault != self->told_fault)
        crn_log(CRN_LOG_ERROR, "%s: %s", endpoint, fault);
    self->told_fault = fault;
    if (state == CRN_LINE_SILENT && self->told_state != state)
        crn_log(CRN_LOG_ERROR, "%s: silent for %" PRId64 " ms: all fruits are for outlet %s",
                endpoint, crn_decider_silence_ns(self->decider) / CRN_NS_PER_MS,
                self->settings->outlets.names.item[self->settings->outlets.choice.silence]);
    else if (state == CRN_LINE_HEARD && self->told_state != state)
        crn_log(CRN_LOG_INFO, "%s: heard", endpoint);
    self->told_state = state;
    return 0;
}

/* Tells the service manager how it goes. Returns when to come again. */
static int64_t serve_manager(crn_sorter *self, int64_t now_ns)
{
    const crn_decider_stats *stats = crn_decider_get_stats(self->decider);
    if (!crn_notify_is_wanted())
        return CRN_NEVER_NS;
    if (now_ns - self->status_ns >= STATUS_EVERY) {
        char text[256];
        snprintf(text, sizeof text,
                 "STATUS=line %s: %" PRIu64 " fruits, %" PRIu64 " of them lost, %" PRIu64
                 " unmeasured",
                 crn_line_state_names[self->told_state], crn_sorter_fruits(stats), stats->lost,
                 stats->reason[CRN_DECIDED_UNMEASURED]);
        crn_notify_send(text);
        self->status_ns = now_ns;
    }
    int64_t step_ns = self->watchdog_ns / WATCHDOG_PART;
    if (step_ns && now_ns - self->fed_ns >= step_ns) {
        crn_notify_send("WATCHDOG=1");
        self->fed_ns = now_ns;
    }
    return step_ns ? self->fed_ns + step_ns : CRN_NEVER_NS;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Hands over what the line's page shows, once a second. Returns when to come again. */
static int64_t serve_page(crn_sorter *self, int64_t now_ns)
{
    if (!self->page)
        return CRN_NEVER_NS;
    if (now_ns >= crn_page_reporter_due(self->page)) {
        const crn_sorter_fault *faults[CRN_SORTER_FAULTS_MAX];
        crn_outputs_stats outputs = crn_outputs_get_stats(&self->outputs);
        int32_t count = crn_sorter_faults(self->told_state, &outputs.plc, self->settings, faults);
        crn_page_reporter_offer(self->page, crn_decider_get_stats(self->decider), faults, count,
                                now_ns);
    }
    return crn_page_reporter_due(self->page);
}

/* Waits for messages, clients, signals, or until then. */
static void wait_until(crn_sorter *self, int signals, int64_t until_ns)
{
    zmq_pollitem_t items[3 + CRN_CONTROL_DESCRIPTORS + CRN_OUTPUT_POLLS_MAX] = {
        {.socket = self->connection.socket, .events = ZMQ_POLLIN},
        {.fd = signals, .events = ZMQ_POLLIN}};
    int count = 2, descriptors[CRN_CONTROL_DESCRIPTORS];
    crn_control_socket_descriptors(self->control, descriptors);
    for (int i = 0; i < CRN_CONTROL_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            items[count++] = (zmq_pollitem_t){.fd = descriptors[i], .events = ZMQ_POLLIN};
    if (self->http)
        items[count++] = crn_sorter_http_poll(self->http);
    count += crn_outputs_polls(&self->outputs, items + count);
    int64_t wait_ns = earlier(until_ns - crn_now_ns(), WAIT_MAX_NS);
    long wait_ms =
        wait_ns > 0 ? (long)((wait_ns + CRN_NS_PER_MS - 1) / CRN_NS_PER_MS) : 0; /* rounded up */
    zmq_poll(items, count, wait_ms);
}

int crn_sorter_run(crn_sorter *self, int signals, crn_error *error)
{
    crn_priority_raise();
    crn_priority_wake_at_once();
    crn_notify_send("READY=1");
    while (!self->stop) {
        int taken = take_messages(self);
        if (taken < 0)
            return crn_error_set(error, taken, "%s: %s", self->settings->line.endpoint,
                                 strerror(-taken));
        int64_t now_ns = crn_now_ns();
        int64_t next_ns = crn_decider_look(self->decider, now_ns);
        int r = tell_line(self, error);
        if (r < 0)
            return r;
        next_ns = earlier(next_ns, crn_outputs_look(&self->outputs, self->told_state,
                                                    crn_decider_get_stats(self->decider), now_ns));
        if (self->http)
            next_ns = earlier(next_ns, crn_sorter_http_serve(self->http, now_ns));
        next_ns = earlier(next_ns, serve_manager(self, now_ns));
        next_ns = earlier(next_ns, serve_page(self, now_ns));
        crn_control_socket_serve(self->control);
        take_signals(self, signals);
        wait_until(self, signals, taken == BATCH_MAX || self->stop ? now_ns : next_ns);
    }
    crn_notify_send("STOPPING=1");
    const crn_decider_stats *stats = crn_decider_get_stats(self->decider);
    crn_log(CRN_LOG_INFO, "stopped: %" PRIu64 " fruits, %" PRIu64 " of them lost",
            crn_sorter_fruits(stats), stats->lost);
    return 0;
}
