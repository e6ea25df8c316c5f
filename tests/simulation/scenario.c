#include "tests/simulation/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/line/line.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/config/config.h"
#include "tests/simulation/machine/descriptors.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/machine/schedule.h"
#include "tests/simulation/senders.h"
#include "tests/simulation/machine/sockets.h"

typedef struct scenario {
    const char *folder;
    uint32_t fruits;
    crn_config config;
    crn_error error;
    sim_sender_settings senders[CRN_SIM_LANES_MAX];
    uint32_t lanes;
    bool grader_stalls, grader_dies, clock_is_set, disk_fails;
    bool ended; /* senders have sent all */
} scenario;

static int32_t draw(int32_t min, int32_t max)
{
    return crn_random_between(sim_random(), min, max);
}

/* Once in 10 to 100 in some runs, never in the others. */
static uint32_t draw_rate(void)
{
    return draw(0, 1) ? (uint32_t)draw(10, 100) : 0;
}

/* --- the line's settings ---------------------------------------------------------------------- */

/* Half of the lines keep a log. */
static void write_log(const char *folder, FILE *file)
{
    char dir[256];
    if (draw(0, 1))
        return;
    snprintf(dir, sizeof dir, "%s/log", folder);
    sim_disk_clear(dir);
    fprintf(file, "  log: {dir: '%s', segment_mib: 1}\n", dir);
}

static void write_file(const char *folder, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        sim_fail("%s cannot be written", path);
    int32_t budget_ms = draw(4, 60), workers = draw(1, 3);
    fprintf(file,
            "classes: [{name: background}, {name: rot, level: 0.5}]\n"
            "chain: [contours]\n"
            "run: {backend: openmp, workers: %d, threads: 1, stop_ms: %d}\n"
            "latency: {budget_ms: %d, assemble_ms: %d, guard_ms: %d}\n"
            "limits: {slots: %d, open_fruits: %d, judged_fruits: 4096, view_mib: 1, views: %d, "
            "lanes: %d, points: 4096, defects: 64, viewers_mib: 1}\n"
            "ingest: {bind: ['tcp://127.0.0.1:5555'], high_water_mark: %d}\n"
            "publish:\n"
            "  grader: {bind: 'tcp://127.0.0.1:5556', high_water_mark: %d, alive_ms: %d}\n"
            "  viewers: {bind: 'tcp://127.0.0.1:5557'}\n",
            workers, draw(1, 100), budget_ms, draw(20, 200), draw(0, 3), draw(4, 24), draw(3, 16),
            CRN_SIM_VIEWS_MAX, CRN_SIM_LANES_MAX, draw(2, 32), draw(2, 64), draw(0, 1) * 100);
    write_log(folder, file);
    fprintf(file, "monitor: {http: ''}\nlog: {level: error}\n");
    fclose(file);
}

static void load_config(scenario *self)
{
    char path[256];
    snprintf(path, sizeof path, "%s/line.yaml", self->folder);
    write_file(self->folder, path);
    if (crn_config_load(path, stderr, &self->config) < 0)
        sim_fail("%s is not a line's file", path);
    crn_config_resolve(&self->config, 2);
    crn_log_set_level(getenv("CRN_LOG") ? CRN_LOG_DEBUG : CRN_LOG_ERROR);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void draw_senders(scenario *self, int32_t views)
{
    self->lanes = (uint32_t)draw(1, CRN_SIM_LANES_MAX - 1);
    int64_t straggler_us =
        2 * (self->config.latency.assemble_ms + self->config.latency.budget_ms) * 1000;
    for (uint32_t lane = 0; lane < self->lanes; lane++)
        self->senders[lane] = (sim_sender_settings){.lane = lane,
                                                    .fruits = self->fruits / self->lanes,
                                                    .views = (uint16_t)views,
                                                    .views_told = draw(0, 9) > 0,
                                                    .interval_us = draw(2000, 100000),
                                                    .delay_max_us = straggler_us / 4,
                                                    .faults = {.lose = draw_rate(),
                                                               .repeat = draw_rate(),
                                                               .reorder = draw_rate(),
                                                               .spoil = draw_rate(),
                                                               .delay = draw_rate(),
                                                               .stall = draw_rate(),
                                                               .restart = draw_rate(),
                                                               .hurry = draw_rate(),
                                                               .burst = draw_rate()}};
}

static void draw_faults(scenario *self)
{
    sim_disturbance how = {.preempt_once_in = draw(0, 3) ? (uint32_t)draw(2, 40) : 0};
    if (how.preempt_once_in && draw(0, 2) == 0) {
        how.stall_once_in = (uint32_t)draw(200, 2000);
        how.stall_ns = draw(100, 5000) * CRN_NS_PER_US;
        sim_w.may_miss_budget = true;
    }
    sim_disturb(how);
    sim_w.work_us_min = (uint32_t)draw(50, 1000);
    sim_w.work_us_max = sim_w.work_us_min + (uint32_t)draw(0, 5000);
    sim_w.fail_once_in = draw_rate();
    sim_w.slow_once_in = draw_rate();
    sim_sockets_interrupt(draw(0, 3) ? 0 : (uint32_t)draw(5, 50));
    self->grader_stalls = draw(0, 1);
    self->grader_dies = draw(0, 1);
    self->clock_is_set = draw(0, 3) == 0;
    self->disk_fails = draw(0, 1);
}

/* --- threads beside the line ------------------------------------------------------------------ */

static void *run_line(void *argument)
{
    scenario *self = argument;
    if (crn_line_run(sim_w.line, &self->error) < 0)
        sim_fail("the line ended: %s", self->error.text);
    return NULL;
}

static void read_all(void)
{
    sim_message *message;
    while ((message = sim_grader_read())) {
        sim_note_received(message->tag);
        sim_message_free(message);
    }
}

/* Reads, stalls, dies and comes back. */
static void *run_grader(void *argument)
{
    scenario *self = argument;
    sim_sleep_until(sim_now_ns() + draw(0, 200) * CRN_NS_PER_MS);
    sim_connect_grader(draw(1, 64));
    while (!self->ended) {
        sim_sleep_until(sim_now_ns() + draw(100, 3000) * CRN_NS_PER_US);
        read_all();
        if (self->grader_stalls && draw(0, 200) == 0)
            sim_sleep_until(sim_now_ns() + draw(10, 500) * CRN_NS_PER_MS);
        if (self->grader_dies && draw(0, 400) == 0) {
            sim_break_grader(sim_now_ns() + draw(0, draw(0, 1) ? 5000 : 3) * CRN_NS_PER_MS);
            while (sim_grader_is_connected())
                sim_sleep_until(sim_now_ns() + CRN_NS_PER_MS);
            sim_sleep_until(sim_now_ns() + draw(0, 300) * CRN_NS_PER_MS);
            sim_connect_grader(draw(1, 64));
        }
    }
    return NULL;
}

/* Somebody corrects the machine's clock. */
static void *set_clock(void *argument)
{
    const scenario *self = argument;
    while (!self->ended) {
        sim_sleep_until(sim_now_ns() + draw(100, 2000) * CRN_NS_PER_MS);
        sim_set_realtime((draw(0, 1) ? 1 : -1) * (int64_t)draw(0, 3600000) * CRN_NS_PER_MS);
    }
    return NULL;
}

/* The disk is full, fails or is slow for a while, and sound again. */
static void *spoil_disk(void *argument)
{
    const scenario *self = argument;
    while (!self->ended) {
        sim_sleep_until(sim_now_ns() + draw(1, 300) * CRN_NS_PER_MS);
        sim_disk_set(draw(0, 1) ? CRN_SIM_DISK_SOUND
                                : (sim_disk_state)draw(1, CRN_SIM_DISK_STATES - 1));
    }
    return NULL;
}

static void run_scenario(void *argument)
{
    scenario *self = argument;
    sim_thread *senders[CRN_SIM_LANES_MAX];
    int32_t views = draw(1, 4);
    load_config(self);
    draw_senders(self, views);
    draw_faults(self);
    sim_w.config = &self->config;
    if (crn_line_open(&self->config, NULL, &sim_w.line, &self->error) < 0)
        sim_fail("%s", self->error.text);
    sim_thread *line = sim_start(run_line, self);
    sim_thread *grader = sim_start(run_grader, self);
    sim_thread *clock = self->clock_is_set ? sim_start(set_clock, self) : NULL;
    sim_thread *disk = self->disk_fails ? sim_start(spoil_disk, self) : NULL;
    if (draw(0, 1))
        sim_connect_viewer();
    for (uint32_t i = 0; i < self->lanes; i++)
        senders[i] = sim_start(sim_run_sender, &self->senders[i]);
    for (uint32_t i = 0; i < self->lanes; i++)
        sim_join(senders[i]);
    /* Half of the runs stop while fruits are open and messages on their way. */
    bool waits = draw(0, 1);
    while (waits && sim_senders_are_busy()) {
        sim_check_unread();
        sim_sleep_until(sim_now_ns() + CRN_NS_PER_MS);
    }
    sim_check_unread();
    sim_w.stop_ns = sim_now_ns();
    crn_line_stop(sim_w.line);
    sim_join(line);
    crn_metrics metrics = crn_line_metrics(sim_w.line);
    sim_check_stopped(&metrics);
    self->ended = true;
    sim_join(grader);
    if (clock)
        sim_join(clock);
    if (disk)
        sim_join(disk);
    sim_senders_end();
    crn_line_close(&sim_w.line);
    read_all();
    sim_check_closed();
    crn_config_done(&self->config);
}

sim_outcome sim_run_line(uint64_t seed, const char *folder, uint32_t fruits)
{
    static scenario self;
    static const sim_socket_watch watch = {
        .received = sim_note_read, .sent = sim_note_sent, .sent_in_vain = sim_note_sent_in_vain};
    self = (scenario){.folder = folder, .fruits = fruits};
    memset(&sim_w, 0, sizeof sim_w);
    sim_sockets_begin(&watch);
    sim_outcome outcome = {.failure = sim_run(seed, run_scenario, &self)};
    outcome.at_ns = sim_now_ns() - CRN_SIM_START_NS;
    outcome.traced = sim_traced();
    outcome.counts = sim_w.counts;
    sim_sockets_end();
    sim_descriptors_forget();
    return outcome;
}
