/* cernita-replay: sends recordings again, at the recorded pace or another. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/process/standard.h"
#include "src/client/handshake.h"
#include "tools/common/progress.h"
#include "tools/common/recordings.h"
#include "tools/common/signals.h"
#include "tools/replay/expect/expect.h"
#include "tools/replay/expect/report.h"
#include "tools/replay/in_flight.h"
#include "tools/replay/in_slots.h"
#include "tools/replay/part.h"
#include "tools/replay/plan.h"
#include "tools/replay/schedule.h"

/* Small, because messages queued here have not reached the line and are lost if it goes away. */
#define HIGH_WATER_MARK 16
#define LOOK_MS         100 /* how often failed handshakes are looked for */
#define LINGER_NS       (5 * CRN_NS_PER_S)

typedef struct replay {
    const crn_replay_plan *plan;
    crn_replay_schedule schedule;
    void *zmq, *socket;
    crn_in_slots in_slots; /* with --slots, instead of these two */
    crn_handshake handshake;
    int signals;  /* a signalfd, readable after a termination signal */
    bool stopped; /* by a signal */
    uint64_t epoch;
    int64_t start_ns;     /* CLOCK_MONOTONIC of the first view */
    uint64_t realtime_ns; /* CLOCK_REALTIME of the same instant */
    uint64_t views, fruits;
    int64_t late_ns; /* largest delay of a view behind its schedule */
    crn_progress progress;
    crn_expect *expect;            /* NULL: no comparison */
    crn_outlets outlets;           /* with --rules */
    crn_comparison_report *report; /* of it; NULL: none */
    crn_in_flight *in_flight;      /* NULL: the line's verdicts are not seen */
} replay;

static atomic_uint_fast64_t tensors_waiting, photographs_waiting; /* not sent by libzmq yet */

/* --- sending --- */

/* Waits until the line accepts a view: 1; 0 on a termination signal; -ETIMEDOUT after --wait;
 * -EACCES if it lets this program in only after another start. */
static int await_line(replay *r)
{
    int64_t until_ns = crn_now_ns() + r->plan->wait_ms * CRN_NS_PER_MS;
    for (;;) {
        zmq_pollitem_t items[2] = {{.socket = r->socket, .events = ZMQ_POLLOUT},
                                   {.fd = r->signals, .events = ZMQ_POLLIN}};
        int64_t left_ns = until_ns - crn_now_ns();
        int64_t left_ms = left_ns > 0 ? (left_ns + CRN_NS_PER_MS - 1) / CRN_NS_PER_MS : 0;
        int ready = zmq_poll(items, 2, left_ms < LOOK_MS ? (long)left_ms : LOOK_MS);
        if (items[1].revents)
            r->stopped = true;
        if (r->stopped)
            return 0;
        if (items[0].revents)
            return 1;
        if (crn_handshake_fault(&r->handshake) && r->handshake.final)
            return -EACCES;
        if (ready == 0 && left_ms == 0)
            return -ETIMEDOUT;
    }
}

/* 1 if sent, 0 on a termination signal, negative errno. Once libzmq accepts the first part it
 * accepts the others too. */
static int send_view(replay *r, const crn_view_header *header, const crn_recorded_view *view)
{
    zmq_msg_t parts[3];
    int count = 0, result = -ENOMEM;
    if (r->in_slots.producer) {
        result = crn_in_slots_send(&r->in_slots, header, view);
        r->stopped |= result == 0;
        return result;
    }
    bool lasting = r->schedule.in_memory;
    if (zmq_msg_init_size(&parts[0], CRN_WIRE_HEADER_BYTES))
        return result;
    crn_wire_pack(header, zmq_msg_data(&parts[count++]));
    if (crn_replay_part_fill(&parts[1], view->maps, (size_t)header->payload_bytes, lasting,
                             &tensors_waiting))
        goto done;
    count++;
    if (crn_wire_intensity_bytes(header)) {
        if (crn_replay_part_fill(&parts[2], view->intensity, crn_wire_intensity_bytes(header),
                                 lasting, &photographs_waiting))
            goto done;
        count++;
    }
    for (int i = 0; i < count; i++) {
        int more = i < count - 1 ? ZMQ_SNDMORE : 0;
        while (zmq_msg_send(&parts[i], r->socket, ZMQ_DONTWAIT | more) < 0) {
            result = errno == EAGAIN || errno == EINTR ? await_line(r) : -errno;
            if (result <= 0)
                goto done;
        }
    }
    result = 1;
done:
    for (int i = 0; i < count; i++)
        zmq_msg_close(&parts[i]); /* empty if the part was sent */
    return result;
}

/* --- timing --- */

/* Waits until due_ns or a signal; absolute times avoid drift. */
static void await_time(replay *r, int64_t due_ns)
{
    while (!r->stopped) {
        int64_t left_ns = due_ns - crn_now_ns();
        struct pollfd signals = {r->signals, POLLIN, 0};
        struct timespec left = {left_ns / CRN_NS_PER_S, left_ns % CRN_NS_PER_S};
        if (left_ns <= 0)
            left = (struct timespec){0, 0};
        if (ppoll(&signals, 1, &left, NULL) > 0)
            r->stopped = true;
        if (left_ns <= 0)
            return;
    }
}

static void show_progress(replay *r)
{
    char note[64];
    if (!crn_progress_due(&r->progress))
        return;
    double seconds = (double)(crn_now_ns() - r->start_ns) * 1e-9;
    snprintf(note, sizeof note, "%.1f fruits/s", (double)r->fruits / seconds);
    crn_progress_update(&r->progress, r->views, note);
}

/* Before a view: 1, 0 on a termination signal, negative errno. */
static int await_room(replay *r, const crn_replay_schedule_view *entry, crn_error *error)
{
    if (!r->in_flight)
        return 1;
    crn_in_flight_read(r->in_flight);
    int result = entry->first ? crn_in_flight_await_room(r->in_flight, error) : 0;
    r->stopped |= result == -ECANCELED;
    return result == -ECANCELED ? 0 : result < 0 ? result : 1;
}

/* After a view. 0 or negative errno. */
static int note_sent(replay *r, const crn_replay_schedule_view *entry,
                     const crn_view_header *header, crn_error *error)
{
    crn_in_flight_fruit fruit = {header->lane, entry->fruit_views, header->epoch, header->fruit};
    int result = 0;
    r->views++;
    r->fruits += entry->first;
    if (entry->first && r->expect)
        result = crn_expect_sent(r->expect, header->lane, header->epoch - r->epoch, header->fruit);
    if (!result && entry->last && r->in_flight)
        result = crn_in_flight_sent(r->in_flight, &fruit);
    return result ? crn_error_set(error, result, "no memory to follow the verdicts") : 0;
}

/* Sends one view of one loop at its time. 1 if sent, 0 on a termination signal, negative errno. */
static int play_view(replay *r, size_t index, uint64_t loop, crn_error *error)
{
    const crn_replay_schedule_view *entry = &r->schedule.views[index];
    crn_recorded_view view;
    int result = crn_replay_schedule_read(&r->schedule, index, &view, error);
    if (result)
        return result;
    result = await_room(r, entry, error);
    if (result <= 0)
        return result;
    int64_t due_ns = crn_now_ns();
    if (r->plan->rate > 0) {
        double after_ns = (double)entry->due_ns + (double)loop * (double)r->schedule.period_ns;
        due_ns = r->start_ns + (int64_t)(after_ns / r->plan->rate);
    }
    await_time(r, due_ns);
    if (r->stopped)
        return 0;
    uint64_t captured_ns = r->realtime_ns + (uint64_t)(due_ns - r->start_ns);
    crn_view_header header =
        crn_replay_schedule_header(&r->schedule, index, loop, r->epoch, captured_ns);
    result = send_view(r, &header, &view);
    if (result == -ETIMEDOUT)
        crn_error_set(error, result,
                      "%s: no view was accepted for %" PRId64 " s; gave up after "
                      "%" PRIu64 " views",
                      r->plan->to, r->plan->wait_ms / 1000, r->views);
    else if (result < 0)
        crn_error_set(error, result, "%s: cannot send: %s", r->plan->to,
                      r->in_slots.producer ? crn_in_slots_error(&r->in_slots)
                      : r->handshake.text  ? r->handshake.text
                                           : zmq_strerror(-result));
    if (result <= 0)
        return result;
    int64_t late_ns = crn_now_ns() - due_ns;
    r->late_ns = late_ns > r->late_ns ? late_ns : r->late_ns;
    result = note_sent(r, entry, &header, error);
    show_progress(r);
    return result ? result : 1;
}

static int play(replay *r, crn_error *error)
{
    const crn_replay_schedule *schedule = &r->schedule;
    uint64_t limit = r->plan->fruits ? r->plan->fruits : UINT64_MAX;
    uint64_t loops = r->plan->loops ? r->plan->loops : UINT64_MAX;
    crn_progress_begin(&r->progress, "views",
                       r->plan->loops && !r->plan->fruits ? loops * schedule->count : 0);
    r->start_ns = crn_now_ns();
    r->realtime_ns = r->epoch = (uint64_t)crn_realtime_ns();
    int result = 1;
    for (uint64_t loop = 0; loop < loops && loop * schedule->fruits < limit && result > 0; loop++)
        for (size_t i = 0; i < schedule->count && result > 0; i++)
            if (loop * schedule->fruits + schedule->views[i].fruit < limit)
                result = play_view(r, i, loop, error);
    crn_progress_end(&r->progress);
    return result < 0 ? result : 0;
}

/* --- run --- */

static int connect_slots(replay *r, crn_error *error)
{
    uint64_t most = 0;
    for (size_t i = 0; i < r->schedule.count; i++) {
        const crn_view_header *header = &r->schedule.views[i].recorded.header;
        uint64_t bytes =
            crn_slots_view_bytes(header->payload_bytes, crn_wire_intensity_bytes(header));
        most = bytes > most ? bytes : most;
    }
    r->in_slots.signals = r->signals;
    r->in_slots.wait_ms = r->plan->wait_ms;
    int result = crn_in_slots_open(r->plan->slots, most, &r->in_slots, error);
    r->stopped |= result == 0;
    return result < 0 ? result : 0;
}

static int connect_line(replay *r, crn_error *error)
{
    int mark = HIGH_WATER_MARK, yes = 1, none = 0;
    r->signals = crn_signals_catch();
    int opened = crn_client_context(&r->zmq, error);
    if (opened == 0 && r->plan->slots)
        return connect_slots(r, error);
    if (opened < 0)
        return opened;
    r->socket = zmq_socket(r->zmq, ZMQ_PUSH);
    if (r->signals < 0 || !r->socket)
        return crn_error_set(error, -ENOMEM, "no socket: %s", zmq_strerror(errno));
    zmq_setsockopt(r->socket, ZMQ_SNDHWM, &mark, sizeof mark);
    zmq_setsockopt(r->socket, ZMQ_LINGER, &none, sizeof none);
    /* Queues views only for an established connection. */
    zmq_setsockopt(r->socket, ZMQ_IMMEDIATE, &yes, sizeof yes);
    int connected = crn_handshake_watch(&r->handshake, r->zmq, r->socket, &r->plan->keys, error);
    if (connected == 0)
        connected = crn_client_connect(r->socket, r->plan->to, &r->plan->keys, error);
    if (connected < 0)
        return connected;
    int ready = await_line(r);
    if (ready < 0 && r->handshake.text)
        return crn_error_set(error, ready, "%s: %s", r->plan->to, r->handshake.text);
    if (ready < 0)
        return crn_error_set(error, ready,
                             "%s: no line listens after %" PRId64
                             " s: start the line, or name its ingest.bind; where it requires keys "
                             "(access.keys), --key and --server-key: its log names what it refused",
                             r->plan->to, r->plan->wait_ms / 1000);
    return 0;
}

static int follow_verdicts(replay *r, crn_error *error)
{
    const crn_replay_plan *p = r->plan;
    crn_in_flight_settings settings = {.endpoint = p->verdicts,
                                       .keys = &p->keys,
                                       .wait_ms = p->wait_ms,
                                       .fruits = p->in_flight,
                                       .limited = p->in_flight || p->rate == 0,
                                       .views_max = r->schedule.views_max,
                                       .open_max = r->schedule.open_max,
                                       .signals = r->signals};
    int result = crn_in_flight_open(&settings, &r->in_flight, error);
    r->stopped |= result == -ECANCELED;
    if (!result)
        crn_in_flight_tell_classes(r->in_flight, &r->schedule.classes, &crn_replay_tool);
    return result == -ECANCELED ? 0 : result;
}

/* Waits at most LINGER_NS for libzmq's queued views, and reports those left over. */
static void hand_over(replay *r)
{
    int64_t until_ns = crn_now_ns() + LINGER_NS;
    while ((atomic_load(&tensors_waiting) || atomic_load(&photographs_waiting)) &&
           crn_now_ns() < until_ns && !r->stopped)
        await_time(r, crn_now_ns() + CRN_NS_PER_MS);
    uint64_t left = atomic_load(&tensors_waiting), pictures = atomic_load(&photographs_waiting);
    left = pictures > left ? pictures : left;
    if (left)
        crn_tool_note(&crn_replay_tool, "%s: %" PRIu64 " views were not accepted any more",
                      r->plan->to, left);
}

static void report(const replay *r)
{
    double seconds = (double)(crn_now_ns() - r->start_ns) * 1e-9;
    printf("%" PRIu64 " views, %" PRIu64 " fruits in %.2f s: %.2f fruits/s, %.1f views/s", r->views,
           r->fruits, seconds, (double)r->fruits / seconds, (double)r->views / seconds);
    if (r->plan->rate > 0)
        printf("; at most %.2f ms behind its schedule", (double)r->late_ns * 1e-6);
    putchar('\n');
}

static void report_selection(const crn_replay_schedule *schedule)
{
    if (schedule->recorded_views > schedule->count)
        printf("%zu of %" PRIu64 " views, %" PRIu64 " of %" PRIu64 " fruits are selected\n",
               schedule->count, schedule->recorded_views, schedule->fruits,
               schedule->recorded_fruits);
}

/* Waits for the verdicts that are due, and reports them. 0 if the line judged all that was sent. */
static int report_verdicts(replay *r, crn_error *error)
{
    int waited = r->stopped ? 0 : crn_in_flight_finish(r->in_flight, error);
    crn_in_flight_result seen = crn_in_flight_get_result(r->in_flight);
    printf("verdicts: %" PRIu64 " complete, %" PRIu64 " partial, %" PRIu64 " late; at most %" PRIu32
           " fruit%s without one at a time\n",
           seen.complete, seen.partial, seen.late, seen.most, seen.most == 1 ? "" : "s");
    if (waited == -ECANCELED || r->stopped)
        return 0;
    if (waited)
        return waited;
    if (seen.lost)
        return crn_error_set(error, -EBADMSG,
                             "the line lost views of %" PRIu64 " of %" PRIu64
                             " fruits; %s. Replay them at a lower --rate or --in-flight, or give "
                             "the line limits.slots, run.workers or latency.budget_ms; cernita-why "
                             "says where its time went",
                             seen.lost, r->fruits, seen.example);
    if (seen.unseen)
        return crn_error_set(
            error, -EBADMSG,
            "%s: no verdict was seen of %" PRIu64 " of %" PRIu64
            " fruits: viewers lose some under load; the line's publish.log has all",
            r->plan->verdicts, seen.unseen, r->fruits);
    return 0;
}

/* Without a pace and without verdicts nothing says that the line kept up, which is not a success.
 */
static int tell_unwatched(const replay *r, crn_error *error)
{
    const crn_replay_plan *p = r->plan;
    if (p->rate > 0 || p->verdicts || p->expect || p->unwatched || r->stopped)
        return 0;
    return crn_error_set(
        error, -ENODATA,
        "--rate max sends faster than a line judges, and no verdict was seen: name "
        "the line's publish.viewers.bind (--verdicts ENDPOINT), which also makes "
        "it wait for the line; or --unwatched, to accept that");
}

/* --- comparison --- */

static bool is_stopped(void *context)
{
    replay *r = context;
    await_time(r, 0);
    return r->stopped;
}

static int open_comparison(replay *r, crn_error *error)
{
    const crn_replay_plan *p = r->plan;
    crn_comparison_settings settings = {.dir = p->report,
                                        .run = {p->expect, p->got},
                                        .tolerance_px = p->tolerance,
                                        .outlets = p->rules ? &r->outlets.names : NULL};
    int result = p->rules ? crn_expect_outlets_load(p->rules, &r->outlets, error) : 0;
    if (!result)
        result = crn_expect_open(p->expect, p->got, &r->expect, error);
    if (!result && p->report)
        result = crn_comparison_report_open(&settings, &r->report, error);
    return result;
}

/* 0 if all verdicts are equal. */
static int compare(replay *r, crn_error *error)
{
    const crn_replay_plan *p = r->plan;
    crn_expect_settings settings = {.expected = p->expect,
                                    .got = p->got,
                                    .tolerance = p->tolerance,
                                    .all = p->all,
                                    .wait_ms = p->wait_ms,
                                    .epochs = r->schedule.epochs,
                                    .epoch_count = r->schedule.epoch_count,
                                    .run_epoch = r->epoch,
                                    .outlets = p->rules ? &r->outlets : NULL,
                                    .report = r->report,
                                    .whole = !p->fruits &&
                                             r->schedule.count == r->schedule.recorded_views};
    crn_expect_result result;
    int status = crn_expect_run(r->expect, &settings, is_stopped, r, stdout, &result, error);
    if (status)
        return status;
    if (r->stopped)
        return crn_error_set(error, -EINTR, "stopped while it waited for verdicts");
    crn_expect_print(&settings, &result, stdout);
    status = r->report ? crn_expect_report_finish(r->report, &r->schedule, error) : 0;
    if (status)
        return status;
    if (result.counts.differences || !result.fruits)
        return crn_error_set(error, -EBADMSG, "%s: the verdicts are not those of %s", p->got,
                             p->expect);
    return 0;
}

/* Sends, and says what came of it. A difference is told, too, where the line lost views. */
static int run(replay *r, crn_error *error)
{
    crn_error lost;
    int result = play(r, error);
    hand_over(r);
    report(r);
    if (!result)
        result = tell_unwatched(r, error);
    if (result)
        return result;
    if (r->in_flight && (result = report_verdicts(r, &lost))) {
        *error = lost;
        if (r->expect)
            crn_tool_note(&crn_replay_tool, "%s", lost.text);
    }
    if (!r->expect)
        return result;
    int compared = r->stopped ? crn_error_set(error, -EINTR, "stopped: nothing was compared")
                              : compare(r, error);
    return compared ? compared : result;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-replay");
    crn_replay_plan p;
    crn_replay_plan_read(argc, argv, &p);
    prctl(PR_SET_TIMERSLACK, 1UL); /* wakes waits on time */
    replay r = {.plan = &p, .signals = -1};
    crn_error error = {0};
    crn_recordings recordings = {0};
    int result =
        crn_recordings_list((const char *const *)argv + optind, argc - optind, &recordings, &error);
    if (!result)
        result = crn_replay_schedule_open(&crn_replay_tool, recordings.paths, recordings.count,
                                          &p.filter, p.preload_bytes, &r.schedule, &error);
    if (!result && p.expect)
        result = open_comparison(&r, &error);
    if (!result)
        result = connect_line(&r, &error);
    if (!result && !r.stopped && p.verdicts)
        result = follow_verdicts(&r, &error);
    if (!result && !r.stopped) {
        report_selection(&r.schedule);
        result = run(&r, &error);
    }
    /* Messages over preloaded memory end with the context. */
    crn_handshake_close(&r.handshake);
    if (r.socket)
        zmq_close(r.socket);
    if (r.zmq)
        zmq_ctx_term(r.zmq);
    crn_in_slots_close(&r.in_slots);
    crn_in_flight_close(&r.in_flight);
    crn_expect_close(&r.expect);
    crn_comparison_report_free(&r.report);
    crn_outlets_done(&r.outlets);
    crn_replay_schedule_close(&r.schedule);
    crn_recordings_free(&recordings);
    return result ? crn_tool_fail(&crn_replay_tool, "%s", error.text) : 0;
}
