/*
 * cernita-bench reprocess: cernita-reprocess beside what limits it. By turns, on the same cores:
 * the recordings read and not judged, views in memory judged and not read, and the program itself.
 */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"
#include "stages/base/clock.h"
#include "stages/base/process/thread.h"
#include "stages/cernita.h"
#include "tools/bench/bench.h"
#include "tools/bench/print.h"
#include "tools/bench/time.h"
#include "tools/common/cores.h"
#include "tools/common/recordings.h"

#define ROUNDS     5
#define ROUNDS_MAX 100
#define JOBS_MAX   256
#define KEPT_VIEWS 256 /* judged by turns: more than caches hold, as new views are in none */

typedef struct reprocess_trial {
    const char *config;
    int32_t jobs, rounds;
    bool json;
} reprocess_trial;

static const crn_tool tool = {
    .name = "cernita-bench reprocess",
    .operands = "REC.tif…",
    .about =
        "Runs cernita-reprocess over recordings, or folders of them, beside what limits it, by\n"
        "turns and on the same cores: reading the recordings alone, and the chain alone on\n"
        "views in memory. Says what share of the slower one's rate the program has, and of the\n"
        "rate of both one after the other, which is what the same cores can do unless a disk\n"
        "is slow. It uses the first --jobs of the cores that it may use.",
    .options =
        (const crn_option[]){
            CRN_OPTION_AT("config", "LINE.yaml", reprocess_trial, config, .required = true,
                          .help = "whose chain"),
            CRN_OPTION_AT("jobs", "N", reprocess_trial, jobs, .min = 1, .max = JOBS_MAX,
                          .help = "processor cores to use; all without it"),
            CRN_OPTION_AT("rounds", "N", reprocess_trial, rounds, .min = 1, .max = ROUNDS_MAX,
                          .help = "of the three, whose medians are printed; default 5"),
            CRN_BENCH_JSON(reprocess_trial),
            {0}},
    .operands_min = 1,
    .operands_max = INT32_MAX,
};

/* --- the work, shared by threads --- */

typedef struct trial_run {
    const reprocess_trial *trial;
    const crn_recordings *recordings;
    crn_recording_reader *readers[KEPT_VIEWS]; /* own the views that are judged by turns */
    crn_recorded_view kept[KEPT_VIEWS];
    int32_t kept_count;
    uint64_t views; /* of all recordings */
    atomic_int next;
    atomic_int failed;
} trial_run;

static void fail_once(trial_run *run, const char *text)
{
    if (atomic_exchange(&run->failed, 1) == 0)
        crn_tool_note(&tool, "%s", text);
}

/* Every recording that no other thread has. */
static void *read_some(void *argument)
{
    trial_run *run = argument;
    int index;
    while ((index = atomic_fetch_add(&run->next, 1)) < run->recordings->count) {
        crn_recording_reader *reader = NULL;
        crn_recorded_view view;
        crn_error error;
        int r = crn_recording_open(run->recordings->paths[index], &reader, &error);
        while (r == 0 && (r = crn_recording_next_planar(reader, &view, &error)) > 0)
            r = 0;
        if (r < 0)
            fail_once(run, error.text);
        crn_recording_end(&reader);
    }
    return NULL;
}

static int judge_view(crn_chain *chain, const crn_recorded_view *view)
{
    const crn_view_header *header = &view->header;
    int32_t channels = (int32_t)header->channels, height = (int32_t)header->height,
            width = (int32_t)header->width;
    const crn_defects *found;
    /* The chain only reads them. */
    crn_image maps = crn_image_dense((void *)(uintptr_t)view->maps, header->type, header->layout,
                                     channels, height, width);
    crn_image intensity =
        crn_image_dense((void *)(uintptr_t)view->intensity, CRN_U8, CRN_CHW, 1, height, width);
    return crn_chain_judge(chain, &maps, view->intensity ? &intensity : NULL, &found);
}

/* As many views as there are, of those in memory. */
static void *judge_some(void *argument)
{
    trial_run *run = argument;
    crn_context *context = NULL;
    crn_chain *chain = NULL;
    int r = crn_context_open(NULL, &context);
    if (r == 0)
        r = crn_chain_open(context, run->trial->config, &chain);
    for (int at; r == 0 && (at = atomic_fetch_add(&run->next, 1)) < (int)run->views;)
        r = judge_view(chain, &run->kept[at % run->kept_count]);
    if (r < 0)
        fail_once(run, context ? crn_context_error(context) : "no memory");
    crn_chain_free(&chain);
    crn_context_free(&context);
    return NULL;
}

static int run_threads(trial_run *run, void *(*work)(void *))
{
    pthread_t threads[JOBS_MAX];
    int32_t started = 0;
    atomic_store(&run->next, 0);
    while (started < run->trial->jobs && crn_thread_start(&threads[started], work, run) == 0)
        started++;
    for (int32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started && !atomic_load(&run->failed) ? 0 : -EIO;
}

/* --- the program --- */

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

/* In the child: the program that lies beside this one, without its output. */
static void execute(const trial_run *run, const char *out)
{
    char program[512], jobs[16];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    strcpy(slash ? slash + 1 : program, "cernita-reprocess");
    snprintf(jobs, sizeof jobs, "%d", (int)run->trial->jobs);
    const char **arguments = calloc((size_t)run->recordings->count + 8, sizeof *arguments);
    const char *const begin[] = {program,  "--config", run->trial->config, "--out", out,
                                 "--jobs", jobs};
    if (!arguments || !freopen("/dev/null", "w", stdout))
        _exit(1);
    memcpy(arguments, begin, sizeof begin);
    memcpy(arguments + sizeof begin / sizeof *begin, run->recordings->paths,
           (size_t)run->recordings->count * sizeof *arguments);
    execv(program, (char *const *)arguments);
    _exit(127);
}

static int run_program(trial_run *run)
{
    char folder[] = "/tmp/cernita-bench-XXXXXX", out[sizeof folder + 4];
    int status = 0;
    if (!mkdtemp(folder))
        return -errno;
    snprintf(out, sizeof out, "%s/out", folder);
    pid_t pid = fork();
    if (pid == 0)
        execute(run, out);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
        fail_once(run, "cernita-reprocess failed; run it by itself to see why");
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return atomic_load(&run->failed) ? -EIO : 0;
}

/* --- rounds --- */

typedef enum trial_row {
    ROW_READING,
    ROW_OPERATORS,
    ROW_PROGRAM,
    ROWS,
} trial_row;

static const char *const names[ROWS] = {"reading alone", "operators alone", "cernita-reprocess"};

typedef struct printed_row {
    const char *what;
    double views_s, wall_ms, cpu_ms, of_slower, of_both;
} printed_row;

static const crn_bench_column columns[] = {
    {"what", "what", CRN_CELL(printed_row, what), -18},
    {"views_s", "views/s", CRN_CELL(printed_row, views_s), 10, 1, 1},
    {"ms", "ms a view", CRN_CELL(printed_row, wall_ms), 10, 3, 4},
    {"cpu_ms", "cpu ms a view", CRN_CELL(printed_row, cpu_ms), 14, 3, 4},
    {"of_slower", "of the slower", CRN_CELL(printed_row, of_slower), 14, 2, 4, .missing = ""},
    {"of_both", "of both, in turn", CRN_CELL(printed_row, of_both), 17, 2, 4, .missing = ""},
    {0},
};

static double cpu_ms(int whose)
{
    struct rusage used;
    getrusage(whose, &used);
    return 1e3 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int time_row(trial_run *run, trial_row row, double *ret_wall_ms, double *ret_cpu_ms)
{
    int whose = row == ROW_PROGRAM ? RUSAGE_CHILDREN : RUSAGE_SELF;
    double before_ms = cpu_ms(whose);
    int64_t begin_ns = crn_now_ns();
    int r = row == ROW_READING     ? run_threads(run, read_some)
            : row == ROW_OPERATORS ? run_threads(run, judge_some)
                                   : run_program(run);
    *ret_wall_ms = (double)(crn_now_ns() - begin_ns) / 1e6 / (double)run->views;
    *ret_cpu_ms = (cpu_ms(whose) - before_ms) / (double)run->views;
    return r;
}

static double median(double *values, int32_t count)
{
    crn_bench_sort(values, (size_t)count);
    return crn_bench_median(values, (size_t)count);
}

/* Exit status. */
static int time_rounds(trial_run *run)
{
    static double wall_ms[ROWS][ROUNDS_MAX], spent_ms[ROWS][ROUNDS_MAX], of_slower[ROUNDS_MAX],
        of_both[ROUNDS_MAX];
    const reprocess_trial *trial = run->trial;
    for (int32_t i = 0; i < trial->rounds; i++) {
        for (trial_row row = 0; row < ROWS; row++)
            if (time_row(run, row, &wall_ms[row][i], &spent_ms[row][i]) < 0)
                return CRN_EXIT_FAILED;
        double reading = wall_ms[ROW_READING][i], operators = wall_ms[ROW_OPERATORS][i];
        of_slower[i] = fmax(reading, operators) / wall_ms[ROW_PROGRAM][i];
        of_both[i] = (reading + operators) / wall_ms[ROW_PROGRAM][i];
    }
    if (!trial->json)
        crn_bench_print_headings(columns);
    for (trial_row row = 0; row < ROWS; row++) {
        double ms = median(wall_ms[row], trial->rounds);
        printed_row printed = {names[row],
                               1e3 / ms,
                               ms,
                               median(spent_ms[row], trial->rounds),
                               row == ROW_PROGRAM ? median(of_slower, trial->rounds) : NAN,
                               row == ROW_PROGRAM ? median(of_both, trial->rounds) : NAN};
        crn_bench_print_row(columns, &printed, trial->json);
    }
    return 0;
}

/* --- before and after --- */

/* Counts the views, and keeps some in memory. */
static int prepare(trial_run *run, crn_error *error)
{
    int r = 0;
    for (int i = 0; i < run->recordings->count && r == 0; i++) {
        const char *path = run->recordings->paths[i];
        crn_recording_reader *reader = NULL;
        crn_recorded_view view;
        r = crn_recording_open(path, &reader, error);
        while (r == 0) {
            crn_recording_position position = crn_recording_tell(reader);
            r = crn_recording_skip(reader, &view, error);
            if (r <= 0)
                break;
            run->views++;
            int32_t at = run->kept_count;
            r = 0;
            if (at == KEPT_VIEWS)
                continue;
            r = crn_recording_open(path, &run->readers[at], error);
            if (r < 0)
                break;
            crn_recording_go_to(run->readers[at], position);
            r = crn_recording_next_planar(run->readers[at], &run->kept[at], error);
            run->kept_count += r > 0;
            r = r < 0 ? r : 0;
        }
        crn_recording_end(&reader);
    }
    return r == 0 && run->kept_count == 0 ? crn_error_set(error, -ENODATA, "there is no view") : r;
}

/* Of the cores that may be used the first ones, for this process and its children. */
static void use_cores(int32_t count)
{
    cpu_set_t may, use;
    CPU_ZERO(&use);
    if (sched_getaffinity(0, sizeof may, &may) < 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&use) < count; cpu++)
        if (CPU_ISSET(cpu, &may))
            CPU_SET(cpu, &use);
    sched_setaffinity(0, sizeof use, &use);
}

int crn_bench_reprocess(int argc, char **argv)
{
    reprocess_trial trial = {.jobs = crn_core_count(), .rounds = ROUNDS};
    crn_recordings recordings = {0};
    trial_run run = {.trial = &trial, .recordings = &recordings};
    crn_error error;
    crn_options_read(&tool, argc, argv, &trial);
    use_cores(trial.jobs);
    int r =
        crn_recordings_list((const char *const *)argv + optind, argc - optind, &recordings, &error);
    if (r == 0)
        r = prepare(&run, &error);
    int status = r < 0 ? crn_tool_fail(&tool, "%s", error.text) : time_rounds(&run);
    for (int32_t i = 0; i < run.kept_count; i++)
        crn_recording_end(&run.readers[i]);
    crn_recordings_free(&recordings);
    return status;
}
