#include "src/line/internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "src/publish/packed_defects.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/realtime/realtime.h"

/* Messages read before the loop handles everything else; due
 * verdicts are also handled after each one. */
#define MESSAGES_PER_ROUND 16

/* A worker that has run one view for this long will not return. */
#define WORKER_LIMIT_NS (10 * CRN_NS_PER_S)

#define WATCH_NS  (1 * CRN_NS_PER_S)
#define REPORT_NS (60 * CRN_NS_PER_S)

void crn_line_stop(crn_line *line)
{
    uint64_t one = 1;
    atomic_store(&line->stop_wanted, true);
    /* The counter cannot overflow, so the write cannot fail. */
    if (write(line->stop_descriptor, &one, sizeof one) < 0)
        return;
}

/* Reason of loss for a view that was returned with its status. */
static crn_view_reason reason_of(const crn_output *output)
{
    int status = output->status;
    if (status == -ENODEV && output->view->gpu.maps)
        return CRN_REASON_DEVICE_LOST;
    bool out_of_time = status == -ETIME || status == -ECANCELED;
    return out_of_time ? CRN_REASON_UNFINISHED : CRN_REASON_FAILED;
}

/* Collects finished views: stores their results and releases their slots. */
static void collect(crn_line *line)
{
    if (line->is_engine_woken) /* only then: this is called for every message */
        crn_engine_rearm(line->engine);
    line->is_engine_woken = false;
    crn_output *output;
    while ((output = crn_engine_collect(line->engine))) {
        crn_view *view = output->view;
        crn_judgement judgement = {.result = CRN_RESULT_NONE};
        if (output->status == 0)
            judgement = crn_line_keep(line->store, output);
        line->counts.truncated += output->status == 0 && judgement.truncated;
        line->counts.steps_skipped += output->status == 0 && judgement.skipped;
        if (output->status < 0 && reason_of(output) == CRN_REASON_FAILED)
            crn_notice_failure(&line->notices, output, crn_now_ns());
        if (output->status == 0 && view->check)
            crn_line_check_values(line, view, crn_line_sample(output));
        if (output->status == 0)
            crn_meters_view(&line->meters, view->config, &judgement);
        if (output->status == -ETIME)
            crn_fruits_give_up(line->fruits, output->took_ns);
        bool wanted =
            crn_fruits_done(line->fruits, view->ticket, output->status == 0 ? &judgement : NULL,
                            reason_of(output), crn_now_ns());
        if (!wanted && output->status == 0)
            crn_result_store_release(line->store, judgement.result);
        crn_engine_release(line->engine, output);
        line->settings.running[crn_config_slot(view->config)]--;
        crn_line_end_view(line, view);
    }
}

static void dispatch(crn_line *line, int64_t now_ns)
{
    crn_fruits_set_workers(line->fruits, crn_engine_parallel(line->engine));
    while (crn_engine_has_room(line->engine)) {
        crn_ticket ticket;
        uint32_t slot;
        int64_t deadline_ns;
        crn_next next = crn_fruits_next(line->fruits, now_ns, &ticket, &slot, &deadline_ns);
        if (next == CRN_NEXT_NONE)
            return;
        crn_view *view = crn_line_view_at(line, slot);
        if (next == CRN_NEXT_DISCARD) {
            crn_line_end_view(line, view);
            continue;
        }
        view->deadline_ns = deadline_ns;
        line->settings.running[crn_config_slot(view->config)]++;
        crn_engine_submit(line->engine, view); /* there was room, so it cannot fail */
    }
}

/* Gives the verdict just published to the history, the charts and the flight recorder. */
static void keep_verdict(crn_line *line, const crn_fruit *fruit)
{
    const crn_published *published = crn_publish_last(line->publish);
    crn_minute_counter_add(crn_minutes_counter(line->minutes), fruit, published);
    crn_drift_offer(line->drift, fruit, published);
    if (line->http)
        crn_flight_offer(line->flight, fruit, published, line->store);
}

static void judge_due(crn_line *line)
{
    const crn_fruit *fruit;
    int64_t now_ns = crn_now_ns();
    while ((fruit = crn_fruits_due(line->fruits, now_ns))) {
        if (crn_line_measure(line, fruit, now_ns))
            continue;
        crn_publish_verdict(line->publish, fruit, line->store, now_ns);
        keep_verdict(line, fruit);
        crn_meters_fruit(&line->meters, fruit, now_ns);
        crn_quantiles_add(&line->latency, crn_fruit_latency_ns(fruit, now_ns));
        crn_notice_fruit(&line->notices, fruit, line->config->limits.views, now_ns);
        crn_line_release_fruit(line, fruit, now_ns);
        crn_fruits_judge(line->fruits, fruit);
        now_ns = crn_now_ns();
    }
}

/* Work that may be pending at any time: finished views, due verdicts, idle workers. */
static void run_pending(crn_line *line)
{
    collect(line);
    crn_line_collect_measurements(line);
    crn_line_reclaim(line);
    judge_due(line);
    dispatch(line, crn_now_ns());
}

/* Reads a round of messages; *ret_more is true if more may be waiting. */
static int receive_round(crn_line *line, bool *ret_more)
{
    for (int i = 0; i < MESSAGES_PER_ROUND; i++) {
        crn_view_header header;
        int r = crn_ingest_receive(line->ingest, &header);
        if (r < 0)
            return r;
        if (r == 0) {
            *ret_more = crn_ingest_pending(line->ingest);
            return 0;
        }
        crn_line_accept(line, &header, crn_now_ns());
        run_pending(line);
    }
    *ret_more = true;
    return 0;
}

static int watch(crn_line *line, int64_t now_ns, crn_error *error)
{
    if (now_ns < line->watch_ns)
        return 0;
    /* If this thread is late the process was stopped, and the workers
     * with it: restart their time limit. */
    if (now_ns - line->watch_ns > WATCH_NS)
        line->stopped_ns = now_ns;
    line->watch_ns = now_ns + WATCH_NS;
    crn_line_snapshot(line, now_ns);
    crn_minute_counter_look(crn_minutes_counter(line->minutes), crn_realtime_ns(), false);
    if (now_ns >= line->report_ns) {
        line->report_ns = now_ns + REPORT_NS;
        crn_metrics metrics = crn_line_metrics(line);
        crn_report_log(&line->report, &metrics, now_ns);
    }
    bool long_enough = now_ns - line->stopped_ns > WORKER_LIMIT_NS;
    return crn_engine_check(line->engine, now_ns, long_enough ? WORKER_LIMIT_NS : CRN_NEVER_NS,
                            error);
}

/* What the line's thread waits for. */
enum {
    POLL_SOCKET,
    POLL_EVENTS,
    POLL_GRADER,
    POLL_GRADER_EVENTS,
    POLL_SLOTS,
    POLL_ENGINE,
    POLL_REQUESTS,
    POLLED
};

static void fill_polled(const crn_line *line, struct pollfd polled[POLLED])
{
    int descriptors[POLLED] = {[POLL_SLOTS] = crn_slots_descriptor(line->slots),
                               [POLL_ENGINE] = crn_engine_descriptor(line->engine),
                               [POLL_REQUESTS] = line->stop_descriptor};
    crn_ingest_descriptors(line->ingest, descriptors + POLL_SOCKET);
    crn_publish_descriptors(line->publish, descriptors + POLL_GRADER);
    /* While stopping, messages are no longer read. */
    if (line->stopping)
        descriptors[POLL_SOCKET] = descriptors[POLL_EVENTS] = descriptors[POLL_SLOTS] = -1;
    for (int i = 0; i < POLLED; i++)
        polled[i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
}

static int64_t find_wake_ns(const crn_line *line)
{
    int64_t wake_ns = crn_fruits_wake_ns(line->fruits);
    int64_t publish_ns = crn_publish_wake_ns(line->publish);
    if (publish_ns < wake_ns)
        wake_ns = publish_ns;
    if (line->watch_ns < wake_ns)
        wake_ns = line->watch_ns;
    int64_t engine_ns = crn_engine_wake_ns(line->engine, crn_now_ns());
    return engine_ns < wake_ns ? engine_ns : wake_ns;
}

/* Nothing is looked at in the next pass but what poll found readable; NULL: everything is. */
static void look_at(crn_line *line, const struct pollfd polled[POLLED])
{
    crn_ingest_set_quiet(
        line->ingest,
        (crn_ingest_quiet){.socket = polled && !polled[POLL_SOCKET].revents,
                           .events = polled && !polled[POLL_EVENTS].revents && !line->stopping,
                           .slots = polled && !polled[POLL_SLOTS].revents});
    crn_publish_set_quiet(line->publish, polled && !polled[POLL_GRADER].revents &&
                                             !polled[POLL_GRADER_EVENTS].revents);
    line->is_engine_woken = !polled || polled[POLL_ENGINE].revents;
    line->is_asked = !polled || polled[POLL_REQUESTS].revents;
}

/* Sleeps until a message, a finished view, a stop signal, or the next event that falls due. */
static void wait_for_work(crn_line *line)
{
    struct pollfd polled[POLLED];
    fill_polled(line, polled);
    int64_t wait_ns = find_wake_ns(line) - crn_now_ns();
    if (wait_ns < 0)
        wait_ns = 0;
    struct timespec timeout = {.tv_sec = wait_ns / CRN_NS_PER_S, .tv_nsec = wait_ns % CRN_NS_PER_S};
    bool is_polled = ppoll(polled, POLLED, &timeout, NULL) >= 0;
    look_at(line, is_polled ? polled : NULL);
}

/* Handles the requests of signals and of other threads. */
static void read_requests(crn_line *line)
{
    uint64_t count;
    if (!line->is_asked || read(line->stop_descriptor, &count, sizeof count) < 0)
        return;
    crn_line_answer(line);
    if (!atomic_load(&line->stop_wanted) || line->stopping)
        return;
    int64_t now_ns = crn_now_ns();
    line->stopping = true;
    crn_service_stopping();
    crn_fruits_end(line->fruits, now_ns,
                   now_ns + line->settings.in_force->run.stop_ms * CRN_NS_PER_MS);
    crn_log(CRN_LOG_INFO, "stopping: %d open fruits are judged first",
            crn_fruits_open(line->fruits));
    crn_line_snapshot(line, now_ns);
}

static bool is_over(const crn_line *line)
{
    return line->stopping && crn_fruits_open(line->fruits) == 0;
}

/* A lost device may still read rings, and has those in its own memory with it. */
static void leave_lost_devices(crn_line *line)
{
    crn_engine_device device;
    crn_slots_keep(line->slots);
    for (int32_t i = 0; crn_engine_get_device(line->engine, i, &device); i++)
        if (device.is_lost)
            crn_slots_lose(line->slots, device.number);
}

/* The main loop, until the line is stopped or cannot continue. */
static int run(crn_line *line, crn_error *error)
{
    crn_pulse *pulse = crn_line_service_pulse(line->service);
    look_at(line, NULL);
    while (!is_over(line)) {
        crn_pulse_done(pulse);
        bool more = false;
        if (!line->stopping) {
            int r = receive_round(line, &more);
            if (r < 0)
                return crn_error_set(error, r, "ingest: cannot receive: %s", strerror(-r));
        }
        read_requests(line);
        run_pending(line);
        crn_line_retire(line);
        more |= crn_ingest_service(line->ingest);
        if (crn_engine_get_stats(line->engine)->lost > 0)
            leave_lost_devices(line);
        crn_slots_service(line->slots, crn_now_ns());
        crn_publish_service(line->publish, crn_state_names[crn_line_state(line)], crn_now_ns());
        int r = watch(line, crn_now_ns(), error);
        if (r < 0)
            return r;
        if (more)
            look_at(line, NULL);
        else if (!is_over(line))
            wait_for_work(line);
    }
    return 0;
}

int crn_line_run(crn_line *line, crn_error *error)
{
    crn_realtime_enter(line->config, CRN_THREAD_LINE, 0);
    crn_notice_ready(line->config, line->ingest, line->publish, line->engine,
                     crn_http_address(line->http));
    crn_line_snapshot(line, crn_now_ns());
    line->watch_ns = crn_now_ns() + WATCH_NS;
    crn_metrics metrics = crn_line_metrics(line);
    crn_report_begin(&line->report, &metrics, crn_now_ns());
    line->report_ns = crn_now_ns() + REPORT_NS;
    crn_line_service_begin(line->service,
                           crn_http_moved(line->http) ? crn_http_address(line->http) : "");
    int r = run(line, error);
    crn_line_end_answers(line);
    crn_line_service_end(line->service);
    crn_line_snapshot(line, crn_now_ns());
    return r;
}
