#include "tools/bench/line/outlets/trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "src/formats/verdict/decode.h"
#include "stages/base/clock.h"
#include "stages/base/process/priority.h"
#include "tools/bench/line/outlets/coils.h"
#include "tools/bench/line/outlets/plc.h"
#include "tools/bench/line/senders/sender.h"
#include "tools/bench/time.h"

#define READ_WITHIN_NS    CRN_NS_PER_S
#define VERDICT_WITHIN_MS 1000

/* The belt, as the views tell its position. Each fruit's coil is due one tick after the camera, so
 * when its decision comes it is written at once. */
#define NS_PER_TICK   100000
#define TICKS_PER_S   (CRN_NS_PER_S / NS_PER_TICK)
#define COIL_WITHIN_S 10

/* When something happened to a fruit, of crn_now_ns(); 0: it did not. */
typedef struct fruit_times {
    int64_t captured_ns, sent_ns, end_ns[CRN_OUTLETS_ENDS];
    int64_t to_realtime_ns; /* from these to crn_realtime_ns() */
} fruit_times;

/* What the views are sent to: the line, or the floor. */
typedef struct subject {
    crn_peer peer;
    crn_bench_sender sender;
    crn_bench_plc *plc;
    crn_bench_coils *coils;
    uint16_t coils_port;
    fruit_times *times;
} subject;

typedef struct outlets_trial {
    const crn_outlets_plan *plan;
    uint64_t fruits, epoch, missing;
    void *zmq, *viewer;
    crn_peer sorter;
    subject line, floor;
    int64_t *published_ns; /* by fruit, of crn_realtime_ns() */
} outlets_trial;

/* --- starting --------------------------------------------------------------------------------- */

static int write_sorter_file(const subject *line, uint16_t port, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -errno;
    fprintf(file,
            "line: {endpoint: '%s'}\n"
            "outlets: {names: [first, second, waste, again], default: first, late: waste,\n"
            "          partial: rules, silence: again, unmeasured: waste}\n"
            "rules:\n"
            "  - {outlet: waste, when: 'rot.area_px > 40 or any(rot, mean_probability > 0.9)'}\n"
            "  - {outlet: second, when: 'bruise.outlines > 0 and bruise.area_px > 300'}\n"
            "outputs:\n"
            "  modbus_server: {bind: '127.0.0.1:%u'}\n"
            "  modbus_client: {address: '127.0.0.1:%u', timeout_ms: 10000}\n"
            "firing: {source: views, width: 64, speed_max: %lld, age_ms: 60000, tolerance: %lld}\n"
            "ejectors:\n"
            "  - {outlet: first, distance: 1, coil: 0}\n"
            "  - {outlet: second, distance: 1, coil: 1}\n"
            "  - {outlet: waste, distance: 1, coil: 2}\n",
            line->peer.out, (unsigned)port, (unsigned)line->coils_port, 2LL * TICKS_PER_S,
            (long long)COIL_WITHIN_S * TICKS_PER_S);
    return fclose(file) == 0 ? 0 : -errno;
}

static int open_coils(subject *of)
{
    int r = crn_peer_find_port(&of->coils_port);
    return r == 0 ? crn_bench_coils_open(of->coils_port, &of->coils) : r;
}

static int start_line(outlets_trial *self)
{
    uint16_t port = 0;
    char yaml[128];
    subject *line = &self->line;
    int r = crn_peer_start(&line->peer, CRN_PEER_DAEMON, self->plan->config, CRN_PEER_IPC);
    if (r == 0)
        r = open_coils(line);
    if (r == 0)
        r = crn_peer_find_port(&port);
    snprintf(yaml, sizeof yaml, "%s/sorter.yaml", line->peer.folder);
    if (r == 0)
        r = write_sorter_file(line, port, yaml);
    const char *const arguments[] = {"cernita-sorter", "--config", yaml, NULL};
    if (r == 0)
        r = crn_peer_start_beside(&line->peer, arguments[0], arguments, &self->sorter);
    return r == 0 ? crn_bench_plc_open(port, &line->plc) : r;
}

static int start_floor(outlets_trial *self)
{
    uint16_t port = 0;
    char in[sizeof self->floor.peer.in], number[8], coils[8];
    subject *floor = &self->floor;
    int r = open_coils(floor);
    if (r == 0)
        r = crn_peer_find_port(&port);
    snprintf(in, sizeof in, "ipc://%s/floor", self->line.peer.folder);
    snprintf(number, sizeof number, "%u", (unsigned)port);
    snprintf(coils, sizeof coils, "%u", (unsigned)floor->coils_port);
    const char *const arguments[] = {"cernita-bench", "reader-writer", in, number, coils, NULL};
    if (r == 0)
        r = crn_peer_start_beside(&self->line.peer, arguments[0], arguments, &floor->peer);
    strcpy(floor->peer.in, in);
    return r == 0 ? crn_bench_plc_open(port, &floor->plc) : r;
}

static int open_sender(outlets_trial *self, subject *of)
{
    of->times = calloc(self->fruits, sizeof *of->times);
    return of->times ? crn_bench_sender_open(&of->peer, self->zmq,
                                             crn_frames_largest(self->plan->frames), &of->sender)
                     : -ENOMEM;
}

/* Who hears each verdict when the sorter does; its messages are read at the end. */
static int open_viewer(outlets_trial *self)
{
    int unlimited = 0, wait_ms = VERDICT_WITHIN_MS;
    self->viewer = zmq_socket(self->zmq, ZMQ_SUB);
    zmq_setsockopt(self->viewer, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(self->viewer, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(self->viewer, ZMQ_SUBSCRIBE, "fruit/", strlen("fruit/"));
    return zmq_connect(self->viewer, self->line.peer.viewers) == 0 ? 0 : -zmq_errno();
}

static int start_all(outlets_trial *self)
{
    self->zmq = zmq_ctx_new();
    self->published_ns = calloc(self->fruits, sizeof *self->published_ns);
    int r = self->zmq && self->published_ns ? start_line(self) : -ENOMEM;
    if (r == 0)
        r = start_floor(self);
    if (r == 0)
        r = open_sender(self, &self->line);
    if (r == 0)
        r = open_sender(self, &self->floor);
    return r == 0 ? open_viewer(self) : r;
}

static void close_subject(subject *of)
{
    crn_bench_sender_close(&of->sender);
    crn_bench_plc_close(&of->plc);
    crn_bench_coils_close(&of->coils);
    free(of->times);
}

static void stop_all(outlets_trial *self)
{
    close_subject(&self->line);
    close_subject(&self->floor);
    if (self->viewer)
        zmq_close(self->viewer);
    if (self->zmq)
        zmq_ctx_term(self->zmq);
    crn_peer_stop_beside(&self->floor.peer);
    crn_peer_stop_beside(&self->sorter);
    crn_peer_stop(&self->line.peer);
    free(self->published_ns);
}

/* --- running ---------------------------------------------------------------------------------- */

static int send_views(outlets_trial *self, subject *of, uint64_t fruit, int64_t start_ns)
{
    const crn_outlets_plan *plan = self->plan;
    const crn_bench_frames *frames = plan->frames;
    fruit_times *times = &of->times[fruit];
    /* Line and floor have half of the time each, the views half of that. */
    int64_t gap_ns = (int64_t)(1e9 / plan->rate / 4 / frames->views);
    int r = 0;
    for (uint32_t view = 0; view < frames->views && r == 0; view++) {
        uint64_t number = fruit * frames->views + view;
        crn_bench_wait_until(start_ns + view * gap_ns);
        times->captured_ns = crn_now_ns();
        crn_view_header header = crn_bench_header(frames, number, self->epoch);
        header.encoder = header.captured_ns / NS_PER_TICK;
        if (view + 1 == frames->views)
            crn_bench_wait_until(times->captured_ns + (int64_t)(plan->cnn_ms * 1e6));
        times->sent_ns = crn_now_ns();
        r = crn_bench_sender_send(&of->sender, &header, frames->view[number % frames->count].maps);
    }
    return r;
}

/* Waits for the fruit's register and coil. */
static int await_ends(subject *of, uint64_t fruit)
{
    fruit_times *times = &of->times[fruit];
    int64_t until_ns = times->sent_ns + READ_WITHIN_NS;
    int r = crn_bench_plc_await(of->plc, fruit, until_ns);
    if (r == 0) {
        times->end_ns[CRN_OUTLETS_REGISTER] = crn_now_ns();
        times->to_realtime_ns = crn_realtime_ns() - times->end_ns[CRN_OUTLETS_REGISTER];
        r = crn_bench_coils_await(of->coils, times->sent_ns, until_ns,
                                  &times->end_ns[CRN_OUTLETS_COIL]);
    }
    return r;
}

static int run_fruit(outlets_trial *self, subject *of, uint64_t fruit, int64_t start_ns)
{
    int r = send_views(self, of, fruit, start_ns);
    if (r == 0)
        r = await_ends(of, fruit);
    if (r != -ETIMEDOUT)
        return r;
    self->missing += fruit >= CRN_DRIVE_WARM_UP;
    return 0;
}

/* --- evaluating ------------------------------------------------------------------------------- */

static void note_verdict(outlets_trial *self, zmq_msg_t *body)
{
    crn_messagepack_json packed;
    crn_decoded *verdict = NULL;
    crn_error error;
    if (crn_messagepack_json_init(&packed, zmq_msg_data(body), zmq_msg_size(body), &error) < 0)
        return;
    if (crn_decode_head(&packed, &verdict, &error) == 0 && verdict->fruit < self->fruits)
        self->published_ns[verdict->fruit] = (int64_t)verdict->published_ns;
    crn_decoded_free(&verdict);
    crn_messagepack_json_done(&packed);
}

static void read_verdicts(outlets_trial *self)
{
    for (uint64_t i = 0; i < self->fruits; i++) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        bool is_topic = zmq_msg_recv(&part, self->viewer, 0) >= 0;
        bool is_verdict = is_topic && zmq_msg_recv(&part, self->viewer, 0) >= 0;
        if (is_verdict)
            note_verdict(self, &part);
        zmq_msg_close(&part);
        if (!is_verdict)
            return;
    }
}

static void add(crn_outlets_times *times, int64_t from_ns, int64_t until_ns)
{
    if (from_ns && until_ns)
        times->ms[times->count++] = (double)(until_ns - from_ns) / 1e6;
}

#define WAYS (2 * CRN_OUTLETS_ENDS)

static crn_outlets_way *way_of(crn_outlets_result *result, int i)
{
    return i < CRN_OUTLETS_ENDS ? &result->line[i] : &result->floor[i - CRN_OUTLETS_ENDS];
}

static int allocate(crn_outlets_result *result, uint64_t fruits)
{
    int r = 0;
    for (int i = 0; i < WAYS; i++) {
        crn_outlets_way *way = way_of(result, i);
        crn_outlets_times *all[] = {&way->from_verdict, &way->from_view, &way->from_camera};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (!(all[k]->ms = calloc(fruits, sizeof *all[k]->ms)))
                r = -ENOMEM;
    }
    return r;
}

static void evaluate_way(const outlets_trial *self, const subject *of, crn_outlets_end end,
                         crn_outlets_way *way)
{
    for (uint64_t fruit = CRN_DRIVE_WARM_UP; fruit < self->fruits; fruit++) {
        const fruit_times *times = &of->times[fruit];
        int64_t published_ns = of == &self->line ? self->published_ns[fruit] : 0;
        if (published_ns)
            add(&way->from_verdict, published_ns - times->to_realtime_ns, times->end_ns[end]);
        add(&way->from_view, times->sent_ns, times->end_ns[end]);
        add(&way->from_camera, times->captured_ns, times->end_ns[end]);
    }
    crn_bench_sort(way->from_verdict.ms, way->from_verdict.count);
    crn_bench_sort(way->from_view.ms, way->from_view.count);
    crn_bench_sort(way->from_camera.ms, way->from_camera.count);
}

static void evaluate(const outlets_trial *self, crn_outlets_result *result)
{
    for (int end = 0; end < CRN_OUTLETS_ENDS; end++) {
        evaluate_way(self, &self->line, end, &result->line[end]);
        evaluate_way(self, &self->floor, end, &result->floor[end]);
    }
    result->missing = self->missing;
}

void crn_outlets_result_free(crn_outlets_result *result)
{
    for (int i = 0; i < WAYS; i++) {
        crn_outlets_way *way = way_of(result, i);
        free(way->from_verdict.ms);
        free(way->from_view.ms);
        free(way->from_camera.ms);
    }
}

int crn_outlets_run(const crn_outlets_plan *plan, crn_outlets_result *ret_result)
{
    crn_outlets_result result = {.missing = 0};
    outlets_trial self = {.plan = plan,
                          .fruits = plan->fruits + CRN_DRIVE_WARM_UP,
                          .epoch = (uint64_t)crn_realtime_ns()};
    int r = start_all(&self);
    if (r == 0)
        r = allocate(&result, self.fruits);
    crn_priority_raise(); /* camera and PLC are other machines: they do not wait for this one */
    int64_t period_ns = (int64_t)(1e9 / plan->rate), start_ns = crn_now_ns();
    for (uint64_t fruit = 0; fruit < self.fruits && r == 0; fruit++) {
        if (fruit <= CRN_DRIVE_WARM_UP)
            start_ns = crn_now_ns(); /* at first all wait for the daemon's start */
        r = run_fruit(&self, &self.line, fruit, start_ns);
        if (r == 0)
            r = run_fruit(&self, &self.floor, fruit, start_ns + period_ns / 2);
        start_ns += period_ns;
    }
    if (r == 0) {
        read_verdicts(&self);
        evaluate(&self, &result);
    }
    stop_all(&self);
    if (r < 0)
        crn_outlets_result_free(&result);
    else
        *ret_result = result;
    return r;
}
