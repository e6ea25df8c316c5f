/*
 * cernita-bench line --lanes N: a machine of many lanes. Producers on the same host leave views in
 * slots at a rate, for a time; one daemon judges them, or several beside each other, each with
 * lanes and producers of its own. A rate that nobody keeps shows what they carry: slots hold the
 * producers back, so that no view is lost.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tools/bench/line/answers.h"
#include "tools/bench/line/line.h"
#include "tools/bench/line/senders/producers.h"
#include "tools/bench/time.h"

/* At first a daemon captures graphs, and touches its memory for the first time. */
#define WARM_UP_S 2

/* Without an answer for this long after the last view, no more are expected. */
#define SILENCE_NS (3 * CRN_NS_PER_S)

/* Answers that are read from the socket before the first of them is decoded. */
#define WAITING_MAX 4096

/* One daemon with its producers and grader. */
typedef struct bench_machine {
    crn_peer peer;
    void *zmq;
    crn_bench_producers *producers;
    crn_bench_producers_times times;
    crn_bench_producers_result sent;
    crn_peer_threads before, after; /* CPU time when counting began, and at the end */
    pthread_t grader;
    bool is_started, is_graded;
    atomic_bool all_sent;
    int status; /* the grader's */
    uint64_t complete, answered, capacity;
    double *latency_ms; /* of all that answered: from the last view's capture to the answer */
} bench_machine;

/* --- the grader's thread --- */

static int note_answer(bench_machine *self, crn_bench_answer *answer)
{
    crn_bench_verdict verdict;
    int r = crn_bench_answers_read(answer, &verdict);
    zmq_msg_close(&answer->message);
    if (r < 0 || verdict.captured_ns < self->times.counted_from_ns)
        return r;
    if (self->answered == self->capacity) {
        uint64_t capacity = self->capacity ? 2 * self->capacity : 65536;
        double *more = realloc(self->latency_ms, capacity * sizeof *more);
        if (!more)
            return -ENOMEM;
        self->latency_ms = more;
        self->capacity = capacity;
    }
    int64_t captured_ns = (int64_t)(verdict.captured_ns - self->times.counted_from_ns);
    self->latency_ms[self->answered++] =
        (double)(answer->arrived_ns - self->times.count_ns - captured_ns) / 1e6;
    self->complete += verdict.kind == CRN_VERDICT_COMPLETE;
    return 0;
}

/* All answers that wait are read, and so have their time, before one is decoded. */
static uint32_t read_waiting(void *socket, crn_bench_answer *waiting)
{
    uint32_t count = 0;
    int r = 0;
    while (count < WAITING_MAX &&
           (r = crn_bench_answers_receive(socket, ZMQ_DONTWAIT, &waiting[count])) >= 0)
        count += r == 1;
    return count;
}

static void *grade(void *argument)
{
    bench_machine *self = argument;
    void *socket = crn_bench_answers_connect(&self->peer, self->zmq);
    crn_bench_answer *waiting = calloc(WAITING_MAX, sizeof *waiting);
    int64_t heard_ns = crn_now_ns();
    self->status = waiting ? 0 : -ENOMEM;
    while (self->status == 0) {
        zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
        zmq_poll(&item, 1, 100);
        uint32_t count = read_waiting(socket, waiting);
        for (uint32_t i = 0; i < count && self->status == 0; i++)
            self->status = note_answer(self, &waiting[i]);
        bool is_over = atomic_load(&self->all_sent);
        if (count > 0 || !is_over)
            heard_ns = crn_now_ns();
        if (is_over && (self->answered >= self->sent.sent || crn_now_ns() - heard_ns > SILENCE_NS))
            break;
    }
    free(waiting);
    zmq_close(socket);
    return NULL;
}

/* --- a run --- */

static crn_config config_of(const crn_bench_line *given)
{
    crn_config config = given->config;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (config.ingest.slots.producers < given->producers)
        config.ingest.slots.producers = given->producers;
    if (config.limits.lanes < given->lanes)
        config.limits.lanes = given->lanes;
    if (config.run.workers == 0 && given->daemons > 1) { /* each a share of the cores */
        config.run.workers = cores / given->daemons > 1 ? cores / given->daemons - 1 : 1;
        config.run.threads = 1;
    }
    return config;
}

static int start(const crn_bench_line *given, bench_machine *self)
{
    crn_config config = config_of(given);
    const crn_bench_producers_load load = {.producers = (uint32_t)given->producers,
                                           .lanes = (uint32_t)given->lanes,
                                           .rate = given->rate,
                                           .warm_up_s = WARM_UP_S,
                                           .seconds = given->seconds};
    atomic_init(&self->all_sent, false);
    self->zmq = zmq_ctx_new();
    int r = crn_peer_start(&self->peer, CRN_PEER_DAEMON, &config,
                           given->kind ? CRN_PEER_VMM : CRN_PEER_SLOTS);
    self->is_started = r == 0;
    if (r == 0)
        r = crn_bench_producers_start(&self->peer, &given->frames, self->zmq, &load,
                                      &self->producers);
    if (r == 0) {
        self->times = crn_bench_producers_get_times(self->producers);
        r = -pthread_create(&self->grader, NULL, grade, self);
        self->is_graded = r == 0;
    }
    return r;
}

static int end(bench_machine *self)
{
    int r = self->producers ? crn_bench_producers_join(&self->producers, &self->sent) : 0;
    atomic_store(&self->all_sent, true);
    if (self->is_graded)
        pthread_join(self->grader, NULL);
    if (self->is_started)
        crn_peer_stop(&self->peer);
    zmq_ctx_term(self->zmq);
    if (self->latency_ms)
        crn_bench_sort(self->latency_ms, self->answered);
    return r < 0 ? r : self->status;
}

/* Starts all daemons, counts while all of them run, and ends them. */
static int run_machines(const crn_bench_line *given, bench_machine *machines)
{
    int32_t started = 0;
    int r = 0;
    while (started < given->daemons && r == 0)
        r = start(given, &machines[started++]);
    for (int32_t i = 0; i < started && r == 0; i++) {
        crn_bench_wait_until(machines[i].times.count_ns);
        crn_peer_list_threads(&machines[i].peer, &machines[i].before);
    }
    for (int32_t i = 0; i < started && r == 0; i++) {
        crn_bench_wait_until(machines[i].times.end_ns);
        crn_peer_list_threads(&machines[i].peer, &machines[i].after);
    }
    for (int32_t i = 0; i < started; i++) {
        int ended = end(&machines[i]);
        r = r < 0 ? r : ended;
    }
    return r;
}

/* --- output --- */

typedef struct bench_row {
    double fruits_per_s, daemon_cores, producer_cores, line_us_per_view;
    uint64_t sent, complete;
} bench_row;

/* Cores that the daemon's thread number `i` of the list took. */
static double cores_of(const crn_bench_line *given, const bench_machine *machine, uint32_t i)
{
    int64_t ns = machine->after.of[i].ns;
    for (uint32_t k = 0; k < machine->before.count; k++)
        if (strcmp(machine->before.of[k].name, machine->after.of[i].name) == 0)
            ns -= machine->before.of[k].ns;
    return (double)ns / 1e9 / given->seconds;
}

static bench_row row_of(const crn_bench_line *given, const bench_machine *machine)
{
    bench_row row = {.sent = machine->sent.sent,
                     .complete = machine->complete,
                     .fruits_per_s = (double)machine->complete / given->seconds,
                     .producer_cores = machine->sent.cores};
    double views_per_s = (double)machine->sent.sent * given->frames.views / given->seconds;
    for (uint32_t i = 0; i < machine->after.count; i++) {
        row.daemon_cores += cores_of(given, machine, i);
        if (strcmp(machine->after.of[i].name, "line") == 0)
            row.line_us_per_view = 1e6 * cores_of(given, machine, i) / views_per_s;
    }
    return row;
}

static void print_machine(const crn_bench_line *given, const bench_machine *machine, int32_t number)
{
    bench_row row = row_of(given, machine);
    const double *ms = machine->latency_ms;
    uint64_t count = machine->answered;
    printf("daemon %-4d %9.1f %10.1f %9llu %9llu %8.3f %8.3f %8.3f %8.3f %8.2f %9.2f %8.1f\n",
           number, row.fruits_per_s, row.fruits_per_s * given->frames.views,
           (unsigned long long)row.sent, (unsigned long long)row.complete,
           crn_bench_quantile(ms, count, 0.5), crn_bench_quantile(ms, count, 0.99),
           crn_bench_quantile(ms, count, 0.999), count ? ms[count - 1] : 0, row.daemon_cores,
           row.producer_cores, row.line_us_per_view);
    printf("            cores by thread:");
    for (uint32_t i = 0; i < machine->after.count; i++)
        if (cores_of(given, machine, i) >= 0.005)
            printf(" %s %.2f", machine->after.of[i].name, cores_of(given, machine, i));
    printf("; producers at most %.1f ms behind\n", machine->sent.behind_ms);
}

static void print_table(const crn_bench_line *given, const bench_machine *machines)
{
    const crn_view_header *header = &given->frames.view[0].header;
    bench_row sum = {.sent = 0};
    printf("%d daemon%s, each with %d producers (%s), %d lanes, %.6g fruits/s; %u views of "
           "%ux%ux%u %s a fruit; %ld cores\n",
           given->daemons, given->daemons == 1 ? "" : "s", given->producers,
           crn_bench_kind_names[given->kind], given->lanes, given->rate, given->frames.views,
           header->width, header->height, header->channels, crn_type_name(header->type),
           sysconf(_SC_NPROCESSORS_ONLN));
    printf("%-11s %9s %10s %9s %9s %8s %8s %8s %8s %8s %9s %8s\n", "", "fruits/s", "views/s",
           "sent", "complete", "p50 ms", "p99 ms", "p99.9", "max", "cores", "producers", "us/view");
    for (int32_t i = 0; i < given->daemons; i++) {
        bench_row row = row_of(given, &machines[i]);
        print_machine(given, &machines[i], i + 1);
        sum.fruits_per_s += row.fruits_per_s;
        sum.sent += row.sent;
        sum.complete += row.complete;
        sum.daemon_cores += row.daemon_cores;
        sum.producer_cores += row.producer_cores;
    }
    if (given->daemons > 1)
        printf("%-11s %9.1f %10.1f %9llu %9llu %35s %8.2f %9.2f\n", "together", sum.fruits_per_s,
               sum.fruits_per_s * given->frames.views, (unsigned long long)sum.sent,
               (unsigned long long)sum.complete, "", sum.daemon_cores, sum.producer_cores);
    printf("cores: CPU time of a daemon and of its producers by time; us/view: CPU time of the "
           "line's thread\n");
}

static void print_json(const crn_bench_line *given, const bench_machine *machines)
{
    printf("{\"lanes\":%d,\"producers\":%d,\"rate\":%.6g,\"daemons\":[", given->lanes,
           given->producers, given->rate);
    for (int32_t i = 0; i < given->daemons; i++) {
        const bench_machine *one = &machines[i];
        bench_row row = row_of(given, one);
        printf("%s{\"fruits_per_s\":%.2f,\"sent\":%llu,\"complete\":%llu,\"p50_ms\":%.4f,"
               "\"p99_ms\":%.4f,\"p999_ms\":%.4f,\"cores\":%.4f,\"producer_cores\":%.4f,"
               "\"line_us_per_view\":%.3f}",
               i ? "," : "", row.fruits_per_s, (unsigned long long)row.sent,
               (unsigned long long)row.complete,
               crn_bench_quantile(one->latency_ms, one->answered, 0.5),
               crn_bench_quantile(one->latency_ms, one->answered, 0.99),
               crn_bench_quantile(one->latency_ms, one->answered, 0.999), row.daemon_cores,
               row.producer_cores, row.line_us_per_view);
    }
    printf("]}\n");
}

int crn_bench_line_lanes(const crn_bench_line *given)
{
    bench_machine *machines = calloc((size_t)given->daemons, sizeof *machines);
    int r = machines ? run_machines(given, machines) : -ENOMEM;
    if (r == 0 && given->json)
        print_json(given, machines);
    else if (r == 0)
        print_table(given, machines);
    for (int32_t i = 0; machines && i < given->daemons; i++)
        free(machines[i].latency_ms);
    free(machines);
    return r;
}
