/* cernita-reprocess: recordings through a chain, as fast as disks and processors allow. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/malloc_tuning.h"
#include "stages/base/process/standard.h"
#include "stages/base/process/thread.h"
#include "tools/common/cores.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/recordings.h"
#include "tools/reprocess/compare.h"
#include "tools/reprocess/judge.h"
#include "tools/reprocess/run.h"

#define PROGRESS_NS (200 * CRN_NS_PER_MS)
#define SHARDS_MAX  100000
#define JOBS_MAX    1024
#define BLOCK_BYTES 512 /* of ru_inblock */
#define BUSY_SHARE  0.8 /* of the processors' time, from which on they are what limits */
#define DISK_SHARE  0.3 /* of the readers' time, likewise */

typedef struct reprocess_plan {
    const char *config, *out, *compare;
    int32_t jobs;
    int32_t shard, shards; /* 1 to shards */
} reprocess_plan;

static void read_shard(const crn_tool *tool, const crn_option *option, const char *text,
                       void *settings);

static const crn_option options[] = {
    CRN_OPTION_AT("config", "NEW.yaml", reprocess_plan, config, .required = true,
                  .help = "a line's file: classes, chain, geometry"),
    CRN_OPTION_AT("out", "DIR", reprocess_plan, out, .required = true,
                  .help = "where the verdicts go: a verdict log, a file for each recording.\n"
                          "What is there already is not made again"),
    {.name = "shard",
     .value = "I/N",
     .help = "every Nth recording from the Ith on: one of N processes that share the work",
     .read = read_shard},
    CRN_OPTION_AT("compare", "DIR", reprocess_plan, compare,
                  .help = "then compares with the verdicts in DIR, a line's log or another run's\n"
                          "--out, and writes a report to the folder report in --out"),
    CRN_OPTION_AT("jobs", "N", reprocess_plan, jobs, .min = 1, .max = JOBS_MAX,
                  .help = "processor cores to use; all without it"),
    {0}};

static const crn_tool tool = {
    .name = "cernita-reprocess",
    .operands = "REC.tif…",
    .about = "Judges recordings, or folders of them, by a line's file, as fast as disks and\n"
             "processors allow. The verdicts are the line's, without its times: the same bytes\n"
             "whenever, wherever and in how many processes it runs. It may be stopped at any\n"
             "time, and goes on where it was when it is run again.",
    .options = options,
    .operands_min = 1,
    .operands_max = INT32_MAX,
};

static void read_shard(const crn_tool *it, const crn_option *option, const char *text,
                       void *settings)
{
    reprocess_plan *plan = settings;
    char rest;
    if (sscanf(text, "%" SCNd32 "/%" SCNd32 "%c", &plan->shard, &plan->shards, &rest) != 2 ||
        plan->shards < 1 || plan->shards > SHARDS_MAX || plan->shard < 1 ||
        plan->shard > plan->shards)
        crn_usage_error(it, "--%s '%s' is not I/N with I from 1 to N: 3/16", option->name, text);
}

/* --- the tasks, shared by all threads --- */

typedef struct reprocess {
    const reprocess_plan *plan;
    const crn_config *config;
    const crn_reprocess_segments *segments;
    crn_reprocess_meter meter;
    atomic_int next; /* index of the segment to look at next */
    atomic_int running;
    pthread_mutex_t lock;                /* of what follows, and of standard error */
    int32_t done, there, failed, flawed; /* segments */
    uint64_t fruits;
} reprocess;

/* Segments of this process. */
static bool is_own(const reprocess_plan *plan, int32_t index)
{
    return index % plan->shards == plan->shard - 1;
}

static int32_t count_own(const reprocess *r)
{
    int32_t count = 0;
    for (int32_t i = 0; i < r->segments->count; i++)
        count += is_own(r->plan, i);
    return count;
}

/* Of these, those that have no result yet. */
static int32_t count_left(const reprocess *r)
{
    int32_t count = 0;
    for (int32_t i = 0; i < r->segments->count; i++)
        count += is_own(r->plan, i) && crn_reprocess_segment_is_sound(&r->segments->items[i]) &&
                 !crn_reprocess_result_is_there(r->plan->out, r->segments, i);
    return count;
}

/* What was wrong with a segment that has a result nevertheless; true if anything was. */
static bool tell_flaws(const crn_reprocess_segment *segment, const crn_reprocess_outcome *outcome)
{
    if (outcome->damage.text[0])
        crn_tool_note(&tool, "%s; the views before are judged: copy it again, or accept that",
                      outcome->damage.text);
    if (outcome->refused)
        crn_tool_note(&tool, "%s: %" PRIu64 " of %" PRIu64 " views do not suit --config (%s): %s",
                      segment->path, outcome->refused, outcome->views,
                      crn_wire_fault_names[outcome->why_refused],
                      crn_wire_fault_hints[outcome->why_refused]);
    if (outcome->failed)
        crn_tool_note(&tool,
                      "%s: the chain failed on %" PRIu64 " of %" PRIu64
                      " views, for want of memory: lower --jobs",
                      segment->path, outcome->failed, outcome->views);
    return outcome->damage.text[0] || outcome->refused || outcome->failed;
}

static void tell_failed(reprocess *r, const char *text)
{
    pthread_mutex_lock(&r->lock);
    crn_tool_note(&tool, "%s", text);
    r->failed++;
    pthread_mutex_unlock(&r->lock);
}

/* A result is worth keeping if any view was judged, or there was none. */
static int judge(reprocess *r, crn_reprocess_judge *it, int32_t index,
                 crn_reprocess_outcome *ret_outcome, crn_error *error)
{
    const crn_reprocess_segment *segment = &r->segments->items[index];
    crn_reprocess_result result;
    int status =
        crn_reprocess_result_open(r->plan->out, index + 1, segment->first_ns, &result, error);
    if (status < 0)
        return status;
    status = crn_reprocess_judge_run(it, r->segments, index, &result, ret_outcome, error);
    if (status == 0 && ret_outcome->views && ret_outcome->refused == ret_outcome->views)
        status =
            crn_error_set(error, -EINVAL, "%s: no view suits --config %s (%s): %s", segment->path,
                          r->plan->config, crn_wire_fault_names[ret_outcome->why_refused],
                          crn_wire_fault_hints[ret_outcome->why_refused]);
    if (status < 0) {
        crn_reprocess_result_drop(&result);
        return status;
    }
    bool again = ret_outcome->damage.text[0] || ret_outcome->refused || ret_outcome->failed;
    return crn_reprocess_result_finish(&result, again, error);
}

static void run_task(reprocess *r, crn_reprocess_judge *it, int32_t index)
{
    const crn_reprocess_segment *segment = &r->segments->items[index];
    crn_reprocess_outcome outcome;
    crn_error error;
    if (judge(r, it, index, &outcome, &error) < 0) {
        tell_failed(r, error.text);
        return;
    }
    pthread_mutex_lock(&r->lock);
    r->flawed += tell_flaws(segment, &outcome);
    r->fruits += outcome.fruits;
    r->done++;
    pthread_mutex_unlock(&r->lock);
}

/* False: there is nothing to do for the segment. */
static bool is_to_do(reprocess *r, int32_t index)
{
    const crn_reprocess_segment *segment = &r->segments->items[index];
    crn_error error;
    if (segment->fault < 0) {
        tell_failed(r, segment->why);
        return false;
    }
    if (segment->same_as >= 0) {
        crn_error_set(&error, -EEXIST,
                      "%s: begins with the same view as %s and is left out: name one of them only",
                      segment->path, r->segments->items[segment->same_as].path);
        tell_failed(r, error.text);
        return false;
    }
    if (!crn_reprocess_result_is_there(r->plan->out, r->segments, index))
        return true;
    pthread_mutex_lock(&r->lock);
    r->there++;
    pthread_mutex_unlock(&r->lock);
    return false;
}

static void *run_tasks(void *argument)
{
    reprocess *r = argument;
    crn_reprocess_judge *it = NULL;
    crn_error error;
    int32_t index;
    int status = 0;
    while (status == 0 && (index = atomic_fetch_add(&r->next, 1)) < r->segments->count) {
        if (!is_own(r->plan, index) || !is_to_do(r, index))
            continue;
        if (!it)
            status = crn_reprocess_judge_create(r->config, &r->meter, &it, &error);
        if (status == 0)
            run_task(r, it, index);
        else
            tell_failed(r, error.text);
    }
    crn_reprocess_judge_free(&it);
    atomic_fetch_sub(&r->running, 1);
    return NULL;
}

/* --- progress --- */

typedef struct reprocess_pace {
    double seconds;
    double views_s, bytes_s;
    const char *limit; /* the resource that is short */
} reprocess_pace;

static int64_t cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * CRN_NS_PER_S + time.tv_nsec;
}

/* True if most of what was read came from a disk, not from the page cache, and was waited for. */
static bool is_disk_slow(reprocess *r, double s, int32_t threads)
{
    struct rusage used;
    int64_t waited_ns = atomic_load(&r->meter.read_ns) - atomic_load(&r->meter.read_cpu_ns);
    return (double)waited_ns * 1e-9 >= DISK_SHARE * s * threads &&
           getrusage(RUSAGE_SELF, &used) == 0 &&
           (uint64_t)used.ru_inblock * BLOCK_BYTES >= atomic_load(&r->meter.bytes) / 2;
}

static reprocess_pace find_pace(reprocess *r, int64_t since_ns, int32_t threads)
{
    double s = (double)(crn_now_ns() - since_ns) * 1e-9;
    bool is_busy = (double)cpu_ns() * 1e-9 >= BUSY_SHARE * s * r->plan->jobs;
    return (reprocess_pace){.seconds = s,
                            .views_s = (double)atomic_load(&r->meter.views) / s,
                            .bytes_s = (double)atomic_load(&r->meter.bytes) / s,
                            .limit = is_busy                       ? "the processor"
                                     : is_disk_slow(r, s, threads) ? "the disk"
                                     : threads < r->plan->jobs     ? "the number of recordings"
                                                                   : "what else runs here"};
}

static void show(reprocess *r, crn_progress *progress, int64_t since_ns, int32_t threads)
{
    char note[128];
    pthread_mutex_lock(&r->lock);
    if (crn_progress_due(progress)) {
        reprocess_pace pace = find_pace(r, since_ns, threads);
        snprintf(note, sizeof note, "%.0f views/s, %.2f GB/s, limited by %s", pace.views_s,
                 pace.bytes_s * 1e-9, pace.limit);
        crn_progress_update(progress, (uint64_t)(r->done + r->there + r->failed), note);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Exit status. */
static int report(reprocess *r, int64_t since_ns, int32_t threads)
{
    reprocess_pace pace = find_pace(r, since_ns, threads);
    printf("%" PRId32 " recording%s judged, %" PRId32 " were before: %" PRIu64 " fruits of %" PRIu64
           " views, %.2f GB in %.1f s",
           r->done, r->done == 1 ? "" : "s", r->there, r->fruits, atomic_load(&r->meter.views),
           (double)atomic_load(&r->meter.bytes) * 1e-9, pace.seconds);
    if (r->done)
        printf(": %.0f views/s, limited by %s", pace.views_s, pace.limit);
    putchar('\n');
    if (r->failed)
        return crn_tool_fail(&tool,
                             "%" PRId32 " of %" PRId32
                             " recordings were not judged; mend what the lines above tell and run "
                             "it again: what is done is kept",
                             r->failed, count_own(r));
    return r->flawed ? CRN_EXIT_FAILED : 0;
}

/* Exit status. */
static int run(reprocess *r, int32_t threads)
{
    pthread_t thread[JOBS_MAX];
    int32_t started = 0;
    int status = 0;
    int64_t since_ns = crn_now_ns();
    crn_progress progress;
    crn_progress_begin(&progress, "recordings", (uint64_t)count_own(r));
    atomic_store(&r->running, threads);
    for (; started < threads && status == 0; started += status == 0)
        status = crn_thread_start(&thread[started], run_tasks, r);
    if (status < 0)
        atomic_fetch_sub(&r->running, threads - started);
    while (atomic_load(&r->running) > 0) {
        struct timespec pause = {0, PROGRESS_NS / 10};
        nanosleep(&pause, NULL);
        show(r, &progress, since_ns, threads);
    }
    for (int32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    crn_progress_end(&progress);
    if (started == 0)
        return crn_tool_fail(&tool,
                             "no thread can be started: %s; raise the user's limit (ulimit "
                             "-u)",
                             strerror(-status));
    return report(r, since_ns, threads);
}

/* Exit status. */
static int load_config(const reprocess_plan *plan, crn_config *config)
{
    crn_error error;
    if (crn_config_load(plan->config, stderr, config) < 0)
        return CRN_EXIT_FAILED;
    if (crn_config_hash(config, &config->hash, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    return 0;
}

/* Exit status. */
static int reprocess_all(reprocess_plan *plan, crn_config *config,
                         const crn_reprocess_segments *segments)
{
    crn_error error;
    reprocess r = {
        .plan = plan, .config = config, .segments = segments, .lock = PTHREAD_MUTEX_INITIALIZER};
    if ((plan->compare && crn_reprocess_compare_check(plan->compare, &error) < 0) ||
        crn_reprocess_run_begin(plan->out, config->hash, segments, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    int32_t left = count_left(&r), threads = left < plan->jobs ? left : plan->jobs;
    threads = threads < 1 ? 1 : threads;
    crn_reprocess_prepare(config, plan->jobs / threads, plan->jobs);
    int status = run(&r, threads);
    if (plan->compare &&
        crn_reprocess_compare(plan->compare, plan->out, segments, stdout, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    return status;
}

int main(int argc, char **argv)
{
    crn_standard_streams(tool.name);
    reprocess_plan plan = {.shard = 1, .shards = 1, .jobs = crn_core_count()};
    crn_options_read(&tool, argc, argv, &plan);
    if (plan.compare && plan.shards > 1)
        crn_usage_error(&tool, "--compare is for all recordings: run it again without --shard");
    crn_log_set_level(CRN_LOG_ERROR);
    crn_malloc_keep_pages();
    static crn_config config;
    crn_recordings recordings = {0};
    crn_reprocess_segments segments = {0};
    crn_error error;
    int status = load_config(&plan, &config);
    if (status)
        return status;
    int r =
        crn_recordings_list((const char *const *)argv + optind, argc - optind, &recordings, &error);
    if (r == 0)
        r = crn_reprocess_segments_open(recordings.paths, recordings.count, &segments, &error);
    status =
        r < 0 ? crn_tool_fail(&tool, "%s", error.text) : reprocess_all(&plan, &config, &segments);
    crn_reprocess_segments_close(&segments);
    crn_recordings_free(&recordings);
    crn_config_done(&config);
    return status;
}
