#include "tools/bench/line/senders/producers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "stages/base/clock.h"
#include "tools/bench/line/senders/sender.h"

typedef struct producer {
    const crn_bench_producers *all;
    uint32_t number;
    pthread_t thread;
    crn_bench_sender sender;
    int status;
    uint64_t sent;
    int64_t behind_ns, cpu_ns;
} producer;

struct crn_bench_producers {
    const crn_bench_frames *frames;
    crn_bench_producers_load load;
    crn_bench_producers_times times;
    int64_t begin_ns; /* of the schedule */
    uint64_t epoch;
    uint32_t opened, started;
    producer each[];
};

static int64_t thread_cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * CRN_NS_PER_S + used.tv_nsec;
}

/* The header of view `view` of this producer's fruit `number`: it serves its lanes by turns. */
static crn_view_header header_of(const producer *self, uint64_t number, uint32_t view)
{
    const crn_bench_producers *all = self->all;
    uint32_t producers = all->load.producers, views = all->frames->views;
    uint32_t lanes = (all->load.lanes - self->number + producers - 1) / producers;
    uint64_t fruit = number / lanes;
    crn_view_header header = crn_bench_header(all->frames, number * views + view, all->epoch);
    header.lane = self->number + producers * (uint32_t)(number % lanes);
    header.fruit = fruit;
    header.sequence = fruit * views + view;
    return header;
}

/* Waits for a view's time in the schedule; how far behind it is. */
static int64_t await_turn(const producer *self, uint64_t number, uint32_t view)
{
    const crn_bench_producers_load *load = &self->all->load;
    double gap_ns = 1e9 / load->rate / self->all->frames->views;
    double views_before = (double)(number * load->producers) * self->all->frames->views +
                          (double)view * load->producers + self->number;
    int64_t due_ns = self->all->begin_ns + (int64_t)(gap_ns * views_before), now_ns = crn_now_ns();
    if (due_ns > now_ns)
        crn_bench_wait_until(due_ns);
    return due_ns > now_ns ? 0 : now_ns - due_ns;
}

static int send_fruit(producer *self, uint64_t number)
{
    const crn_bench_frames *frames = self->all->frames;
    int64_t behind_ns = 0;
    uint64_t captured_ns = 0;
    for (uint32_t view = 0; view < frames->views; view++) {
        behind_ns = await_turn(self, number, view);
        crn_view_header header = header_of(self, number, view);
        captured_ns = header.captured_ns;
        uint64_t frame = (number * frames->views + view) % frames->count;
        int r = crn_bench_sender_send(&self->sender, &header, frames->view[frame].maps);
        if (r < 0)
            return r;
    }
    if (captured_ns >= self->all->times.counted_from_ns) {
        self->sent++;
        self->behind_ns = behind_ns > self->behind_ns ? behind_ns : self->behind_ns;
    }
    return 0;
}

static void *produce(void *argument)
{
    producer *self = argument;
    const crn_bench_producers_times *times = &self->all->times;
    int64_t cpu_ns = -1;
    for (uint64_t number = 0; crn_now_ns() < times->end_ns && self->status == 0; number++) {
        if (cpu_ns < 0 && crn_now_ns() >= times->count_ns)
            cpu_ns = thread_cpu_ns();
        self->status = send_fruit(self, number);
    }
    self->cpu_ns = cpu_ns < 0 ? 0 : thread_cpu_ns() - cpu_ns;
    return NULL;
}

static int open_producers(crn_bench_producers *all, const crn_peer *peer, void *zmq)
{
    int r = 0;
    for (uint32_t i = 0; i < all->load.producers && r == 0; i++) {
        all->each[i] = (producer){.all = all, .number = i};
        r = crn_bench_sender_open(peer, zmq, crn_frames_largest(all->frames), &all->each[i].sender);
        all->opened++;
    }
    return r;
}

/* The schedule begins when all are connected. */
static void begin(crn_bench_producers *all)
{
    crn_bench_producers_times *times = &all->times;
    all->begin_ns = crn_now_ns();
    times->count_ns = all->begin_ns + (int64_t)(all->load.warm_up_s * 1e9);
    times->end_ns = times->count_ns + (int64_t)(all->load.seconds * 1e9);
    times->counted_from_ns = (uint64_t)(times->count_ns - crn_now_ns() + crn_realtime_ns());
}

crn_bench_producers_times crn_bench_producers_get_times(const crn_bench_producers *producers)
{
    return producers->times;
}

int crn_bench_producers_start(const crn_peer *peer, const crn_bench_frames *frames, void *zmq,
                              const crn_bench_producers_load *load,
                              crn_bench_producers **ret_producers)
{
    crn_bench_producers *all = calloc(1, sizeof *all + load->producers * sizeof *all->each);
    if (!all)
        return -ENOMEM;
    *all = (crn_bench_producers){
        .frames = frames, .load = *load, .epoch = (uint64_t)crn_realtime_ns()};
    int r = open_producers(all, peer, zmq);
    begin(all);
    while (r == 0 && all->started < load->producers) {
        producer *one = &all->each[all->started];
        r = -pthread_create(&one->thread, NULL, produce, one);
        all->started += r == 0;
    }
    if (r < 0) {
        crn_bench_producers_result result;
        crn_bench_producers_join(&all, &result);
        return r;
    }
    *ret_producers = all;
    return 0;
}

int crn_bench_producers_join(crn_bench_producers **producers,
                             crn_bench_producers_result *ret_result)
{
    crn_bench_producers *all = *producers;
    double counted_ns = (double)(all->times.end_ns - all->times.count_ns);
    int r = 0;
    *ret_result = (crn_bench_producers_result){.sent = 0};
    for (uint32_t i = 0; i < all->opened; i++) {
        producer *one = &all->each[i];
        if (i < all->started)
            pthread_join(one->thread, NULL);
        crn_bench_sender_close(&one->sender);
        r = one->status < 0 ? one->status : r;
        ret_result->sent += one->sent;
        ret_result->cores += (double)one->cpu_ns / counted_ns;
        if ((double)one->behind_ns / 1e6 > ret_result->behind_ms)
            ret_result->behind_ms = (double)one->behind_ns / 1e6;
    }
    free(all);
    *producers = NULL;
    return r;
}
