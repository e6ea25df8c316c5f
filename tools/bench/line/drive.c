#include "tools/bench/line/drive.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "stages/base/clock.h"
#include "tools/bench/line/answers.h"
#include "tools/bench/line/senders/sender.h"
#include "tools/bench/time.h"

/* Without an answer for this long after the last view, no more are expected. */
#define SILENCE_MS 3000

/* How often to look whether a peer that does not answer still runs. */
#define CHECK_MS 100

typedef struct drive {
    const crn_peer *peer;
    const crn_bench_frames *frames;
    uint64_t fruits;
    void *zmq;
    int64_t *sent_ns; /* by fruit: when its last view was sent */
    crn_bench_answer *answers;
    uint64_t answer_count;
    sem_t answered; /* one post for each answer */
    atomic_bool all_sent, given_up;
} drive;

static int copy_view(const crn_recorded_view *view, bool photograph, crn_recorded_view *ret_copy)
{
    size_t bytes = view->header.payload_bytes, more = crn_wire_intensity_bytes(&view->header);
    photograph = photograph && view->intensity;
    unsigned char *maps = malloc(bytes + (photograph ? more : 0));
    if (!maps)
        return -ENOMEM;
    memcpy(maps, view->maps, bytes);
    if (photograph)
        memcpy(maps + bytes, view->intensity, more);
    *ret_copy = *view;
    ret_copy->header.flags = photograph ? CRN_WIRE_FLAG_INTENSITY : 0;
    ret_copy->maps = maps;
    ret_copy->intensity = NULL;
    return 0;
}

/* Adds a recording's views until there are `max`. */
static int add_frames(const char *path, uint32_t max, bool photographs, crn_bench_frames *frames,
                      crn_error *error)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    int r = crn_recording_open(path, &reader, error);
    while (!r && frames->count < max && (r = crn_recording_next(reader, &view, error)) > 0) {
        r = copy_view(&view, photographs, &frames->view[frames->count]);
        if (r < 0)
            crn_error_set(error, r, "%s: no memory for a view", path);
        else
            frames->count++;
    }
    crn_recording_end(&reader);
    return r;
}

int crn_frames_load(const crn_recordings *recordings, uint32_t max, bool photographs,
                    crn_bench_frames *ret_frames, crn_error *error)
{
    crn_bench_frames frames = {.view = calloc(max, sizeof *frames.view)};
    int r = frames.view ? 0 : crn_error_set(error, -ENOMEM, "no memory for %u views", max);
    for (int i = 0; i < recordings->count && !r; i++)
        r = add_frames(recordings->paths[i], max, photographs, &frames, error);
    if (!r && !frames.count)
        r = crn_error_set(error, -ENODATA, "%s: no views in it", recordings->paths[0]);
    if (r < 0) {
        crn_frames_free(&frames);
        return r;
    }
    frames.views = frames.view[0].header.views ? frames.view[0].header.views : 1;
    if (frames.views > frames.count)
        frames.views = frames.count;
    frames.count -= frames.count % frames.views;
    *ret_frames = frames;
    return 0;
}

void crn_frames_free(crn_bench_frames *frames)
{
    for (uint32_t i = 0; frames->view && i < frames->count; i++)
        free((void *)(uintptr_t)frames->view[i].maps);
    free(frames->view);
    frames->view = NULL;
}

/* Reads one message; true if it was an answer. */
static bool receive_answer(drive *self, void *socket)
{
    if (crn_bench_answers_receive(socket, 0, &self->answers[self->answer_count]) != 1)
        return false;
    self->answer_count++;
    sem_post(&self->answered);
    return true;
}

/* The collecting thread timestamps messages on arrival and defers decoding, to disturb the
 * measurement as little as possible. */
static void *collect_answers(void *argument)
{
    drive *self = argument;
    void *socket = crn_bench_answers_connect(self->peer, self->zmq);
    int64_t silent_since_ns = 0;
    while (self->answer_count < 2 * self->fruits) {
        zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
        if (zmq_poll(&item, 1, 100) > 0 && receive_answer(self, socket)) {
            silent_since_ns = 0;
            continue;
        }
        if (!atomic_load(&self->all_sent))
            continue;
        if (atomic_load(&self->given_up))
            break;
        if (self->answer_count >= self->fruits)
            break;
        if (silent_since_ns == 0)
            silent_since_ns = crn_now_ns();
        if (crn_now_ns() - silent_since_ns > SILENCE_MS * CRN_NS_PER_MS)
            break;
    }
    zmq_close(socket);
    return NULL;
}

void crn_bench_wait_until(int64_t when_ns)
{
    struct timespec when = {.tv_sec = when_ns / CRN_NS_PER_S, .tv_nsec = when_ns % CRN_NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
        continue;
}

crn_view_header crn_bench_header(const crn_bench_frames *frames, uint64_t number, uint64_t epoch)
{
    crn_view_header header = frames->view[number % frames->count].header;
    header.sequence = number;
    header.epoch = epoch;
    header.fruit = number / frames->views;
    header.lane = 0;
    header.view = (uint16_t)(number % frames->views);
    header.views = (uint16_t)frames->views;
    header.class_set = 0;
    header.deadline_ns = 0;
    header.captured_ns = (uint64_t)crn_realtime_ns();
    return header;
}

uint64_t crn_frames_largest(const crn_bench_frames *frames)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < frames->count; i++)
        if (frames->view[i].header.payload_bytes > bytes)
            bytes = frames->view[i].header.payload_bytes;
    return bytes;
}

/* Waits for one more answer. -ECHILD: none can come; -ETIMEDOUT: none comes. */
static int await_answer(drive *self)
{
    for (int waited_ms = 0; waited_ms < SILENCE_MS; waited_ms += CHECK_MS) {
        int64_t until_ns = crn_realtime_ns() + CHECK_MS * CRN_NS_PER_MS;
        struct timespec until = {.tv_sec = until_ns / CRN_NS_PER_S,
                                 .tv_nsec = until_ns % CRN_NS_PER_S};
        if (sem_timedwait(&self->answered, &until) == 0)
            return 0;
        if (crn_peer_has_ended(self->peer))
            return -ECHILD;
    }
    return -ETIMEDOUT;
}

static int send_fruits(drive *self, const crn_drive_load *load, crn_drive_result *result)
{
    double rate = load->rate;
    const crn_bench_frames *frames = self->frames;
    crn_bench_sender sender;
    int r = crn_bench_sender_open(self->peer, self->zmq, crn_frames_largest(frames), &sender);
    uint64_t number = 0, epoch = (uint64_t)crn_realtime_ns();
    double gap_ns = rate > 0 ? 1e9 / rate / frames->views : 0;
    int64_t start_ns = crn_now_ns() + 300 * CRN_NS_PER_MS; /* time for the sockets to connect */
    int64_t cpu_ns = 0, line_ns = 0, counted_ns = start_ns;
    uint64_t first = 0; /* view at start_ns */
    crn_bench_wait_until(start_ns);
    for (uint64_t fruit = 0; fruit < self->fruits && r == 0 && !result->given_up; fruit++) {
        if (load->at_once && fruit >= load->at_once)
            r = await_answer(self);
        for (uint32_t view = 0; view < frames->views && r == 0; view++, number++) {
            int64_t due_ns = start_ns + (int64_t)(gap_ns * (double)(number - first));
            int64_t now_ns = crn_now_ns();
            if (due_ns > now_ns)
                crn_bench_wait_until(due_ns);
            else if (rate > 0 && fruit >= CRN_DRIVE_WARM_UP &&
                     (double)(now_ns - due_ns) / 1e6 > result->behind_ms)
                result->behind_ms = (double)(now_ns - due_ns) / 1e6;
            self->sent_ns[fruit] = crn_now_ns();
            crn_view_header header = crn_bench_header(frames, number, epoch);
            r = crn_bench_sender_send(&sender, &header, frames->view[number % frames->count].maps);
        }
        if (fruit + 1 == CRN_DRIVE_WARM_UP) {
            /* The first view waited for the peer's start: the schedule begins here. */
            start_ns = counted_ns = crn_now_ns();
            first = number;
            cpu_ns = crn_peer_cpu_ns(self->peer);
            line_ns = crn_peer_line_ns(self->peer);
        }
        result->given_up = load->behind_max_ms > 0 && result->behind_ms > load->behind_max_ms;
        if (fruit == self->fruits / 4)
            result->resident_before_bytes = crn_peer_resident_bytes(self->peer);
    }
    result->seconds = (double)(crn_now_ns() - counted_ns) / 1e9;
    result->resident_after_bytes = crn_peer_resident_bytes(self->peer);
    result->cpu_ms_per_fruit =
        (double)(crn_peer_cpu_ns(self->peer) - cpu_ns) / 1e6 / (double)result->sent;
    result->line_us_per_view = (double)(crn_peer_line_ns(self->peer) - line_ns) / 1e3 /
                               (double)(result->sent * frames->views);
    crn_bench_sender_close(&sender);
    return r;
}

static int evaluate(drive *self, crn_drive_result *result)
{
    double *latency_ms = calloc(2 * self->answer_count + 1, sizeof *latency_ms);
    uint8_t *seen = calloc(self->fruits, 1);
    int r = latency_ms && seen ? 0 : -ENOMEM;
    double *past_ms = latency_ms + self->answer_count;
    uint64_t count = 0;
    for (uint64_t i = 0; i < self->answer_count; i++) {
        crn_bench_verdict one = {.fruit = 0};
        if (r == 0)
            r = crn_bench_answers_read(&self->answers[i], &one);
        if (r == 0 && one.fruit >= CRN_DRIVE_WARM_UP && one.fruit < self->fruits) {
            result->complete += one.kind == CRN_VERDICT_COMPLETE;
            result->partial += one.kind == CRN_VERDICT_PARTIAL;
            result->late += one.kind == CRN_VERDICT_LATE;
            result->answered += seen[one.fruit] == 0;
            result->repeated += seen[one.fruit] != 0;
            seen[one.fruit] = 1;
            past_ms[count] = one.past_ms;
            latency_ms[count++] =
                (double)(self->answers[i].arrived_ns - self->sent_ns[one.fruit]) / 1e6;
        }
        zmq_msg_close(&self->answers[i].message);
    }
    if (r == 0 && count > 0) {
        crn_bench_sort(latency_ms, count);
        crn_bench_sort(past_ms, count);
        result->p50_ms = crn_bench_quantile(latency_ms, count, 0.5);
        result->p99_ms = crn_bench_quantile(latency_ms, count, 0.99);
        result->max_ms = latency_ms[count - 1];
        result->past_p999_ms = crn_bench_quantile(past_ms, count, 0.999);
        result->past_max_ms = past_ms[count - 1];
    }
    free(latency_ms);
    free(seen);
    return r;
}

int crn_drive(const crn_peer *peer, const crn_bench_frames *frames, const crn_drive_load *load,
              crn_drive_result *ret_result)
{
    crn_drive_result result = {.sent = load->fruits};
    uint64_t fruits = load->fruits + CRN_DRIVE_WARM_UP;
    drive self = {
        .peer = peer,
        .frames = frames,
        .fruits = fruits,
        .zmq = zmq_ctx_new(),
        .sent_ns = calloc(fruits, sizeof *self.sent_ns),
        .answers = calloc(2 * fruits, sizeof *self.answers),
    };
    sem_init(&self.answered, 0, 0);
    atomic_init(&self.all_sent, false);
    atomic_init(&self.given_up, false);
    pthread_t collector;
    int r = -ENOMEM;
    if (self.zmq && self.sent_ns && self.answers)
        r = -pthread_create(&collector, NULL, collect_answers, &self);
    if (r == 0) {
        r = send_fruits(&self, load, &result);
        atomic_store(&self.given_up, result.given_up || r < 0);
        atomic_store(&self.all_sent, true);
        pthread_join(collector, NULL);
        result.fruits_per_s = (double)result.sent / result.seconds;
        int evaluated = evaluate(&self, &result);
        r = r < 0 ? r : evaluated;
    }
    if (self.zmq)
        zmq_ctx_term(self.zmq);
    sem_destroy(&self.answered);
    free(self.sent_ns);
    free(self.answers);
    if (r == 0)
        *ret_result = result;
    return r;
}
