/*
 * cernita-bench line: the daemon against a receiver that only receives and copies, over the same
 * sockets and views, one after the other in the same run: latency that the line adds to a fruit,
 * throughput, and behaviour at twice the throughput.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stages/config/config.h"
#include "stages/backend.h"
#include "tools/bench/bench.h"
#include "tools/bench/line/line.h"
#include "tools/bench/line/search.h"
#include "stages/base/clock.h"

/* A rate is sustained if this share of the fruits is complete and the sender keeps its schedule. */
#define CARRIED_SHARE     0.999
#define CARRIED_BEHIND_MS 100

/* Bytes of the run without a pace: a fraction of a second. */
#define GUESS_BYTES (UINT64_C(1) << 30)

/* Views sent in a loop. */
#define FRAMES_MAX 32

const char *const crn_bench_kind_names[] = {"memfd", "vmm", NULL};

const crn_tool crn_bench_line_tool = {
    .name = "cernita-bench line",
    .operands = "",
    .about =
        "Runs cernitad (one worker less than there are cores) and a receiver that only receives\n"
        "and copies, one after the other on the same views: latency and CPU at a steady rate, the\n"
        "throughput of each, and the daemon at twice its throughput. With the defaults it takes\n"
        "4 minutes, 5 at most: two steady runs, the search, and 4 probes at twice the throughput.\n"
        "What it does is printed on stderr, and each figure once it is known.",
    .options =
        (const crn_option[]){
            CRN_OPTION_AT("recording", "REC.tif|DIR", crn_bench_line, recording,
                          .help = "the views to send, or a folder of recordings (cernita-synth "
                                  "makes one)",
                          .required = true),
            CRN_OPTION_AT("config", "FILE", crn_bench_line, daemon_config,
                          .help = "the daemon's, except for its sockets; default: the installed "
                                  "line.yaml"),
            CRN_OPTION_AT("rate", "N", crn_bench_line, rate,
                          .help = "fruits per second of the steady run, default 10", .min = 0.1,
                          .max = 1e6),
            CRN_OPTION_AT("seconds", "S", crn_bench_line, seconds,
                          .help = "of the steady run, default 60", .min = 1, .max = 1e6),
            CRN_OPTION_AT("probe-seconds", "S", crn_bench_line, probe_seconds,
                          .help = "of each run of the throughput search, default 4", .min = 0.5,
                          .max = 1e4),
            CRN_OPTION_AT(
                "search-seconds", "S", crn_bench_line, search_seconds,
                .help = "of the throughput search, after which no run begins, default 80; if they\n"
                        "do not suffice, the highest rate so far is given with \"at least\"",
                .min = 1, .max = 1e5),
            CRN_OPTION_AT("backend", "B", crn_bench_line, backend,
                          .help = "its run.backend, default openmp; serial makes the work, not the "
                                  "transport, the limit",
                          .choices = crn_backend_names),
            CRN_OPTION_AT("slots", NULL, crn_bench_line, slots,
                          .help =
                              "compares instead the ways by which views reach the daemon: tcp,\n"
                              "ipc, and slots, without copies"),
            CRN_OPTION_AT("pairs", "N", crn_bench_line, pairs,
                          .help =
                              "compares these, and a bare reader that runs the same chain over\n"
                              "the same slots (the floor), by turns: medians of N rounds; each\n"
                              "takes 10 times --probe-seconds",
                          .min = 1, .max = 1000),
            CRN_OPTION_AT("beside", "FILE", crn_bench_line, beside,
                          .help = "with --pairs: compares instead the daemon with these settings\n"
                                  "and with those of --config, by turns at the steady rate"),
            CRN_OPTION_AT(
                "lanes", "N", crn_bench_line, lanes,
                .help = "measures instead a machine of N lanes: producers on this host leave\n"
                        "views in slots, all together --rate fruits/s for --seconds; a rate\n"
                        "that nobody keeps, as 1e6, shows what the daemon carries",
                .min = 1, .max = 4096),
            CRN_OPTION_AT("producers", "N", crn_bench_line, producers,
                          .help = "of --lanes, threads of this program that share the lanes; "
                                  "default 4",
                          .min = 1, .max = 64),
            CRN_OPTION_AT("kind", "K", crn_bench_line, kind,
                          .help = "of --lanes, where their slots are: memfd, host memory, the\n"
                                  "default; vmm, the memory of the first GPU, where producers\n"
                                  "copy views that are there already",
                          .choices = crn_bench_kind_names),
            CRN_OPTION_AT("daemons", "N", crn_bench_line, daemons,
                          .help = "of --lanes, beside each other, each with lanes and producers of "
                                  "its own; default 1",
                          .min = 1, .max = CRN_PEERS_MAX),
            CRN_OPTION_AT("json", NULL, crn_bench_line, json,
                          .help = "one JSON object instead of the table"),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

static const crn_bench_subject only_receives = {CRN_PEER_RECEIVER, CRN_PEER_IPC, "receiver"};
static const crn_bench_subject daemon_ipc = {CRN_PEER_DAEMON, CRN_PEER_IPC, "daemon"};

int crn_bench_line_run(const crn_bench_line *given, const crn_bench_subject *of,
                       const crn_drive_load *load, crn_drive_result *ret_result)
{
    crn_peer peer;
    int r = crn_peer_start(&peer, of->kind, &given->config, of->path);
    if (r == 0)
        r = crn_drive(&peer, &given->frames, load, ret_result);
    crn_peer_stop(&peer);
    return r;
}

static int run_steady(const crn_bench_line *given, const crn_bench_subject *of,
                      crn_drive_result *ret_result)
{
    crn_drive_load load = {.fruits = (uint64_t)(given->rate * given->seconds), .rate = given->rate};
    crn_tool_note(&crn_bench_line_tool, "%s at %.4g fruits/s for %.4g s", of->name, given->rate,
                  given->seconds);
    return crn_bench_line_run(given, of, &load, ret_result);
}

/* --- the throughput search --- */

typedef struct bench_trial {
    const crn_bench_line *given;
    const crn_bench_subject *of;
    crn_drive_result best; /* of the highest rate that was kept up with */
} bench_trial;

static bool carried(const crn_drive_result *result)
{
    return !result->given_up && (double)result->complete >= CARRIED_SHARE * (double)result->sent &&
           result->behind_ms < CARRIED_BEHIND_MS;
}

/* Two attempts, because machines are shared: a single success counts. */
static int keeps_up(void *context, double rate)
{
    bench_trial *trial = context;
    crn_drive_load load = {.fruits = (uint64_t)(rate * trial->given->probe_seconds) + 4,
                           .rate = rate,
                           .behind_max_ms = CARRIED_BEHIND_MS};
    bool good = false;
    for (int attempts = 0; attempts < 2 && !good; attempts++) {
        crn_drive_result result;
        int r = crn_bench_line_run(trial->given, trial->of, &load, &result);
        if (r < 0)
            return r;
        good = carried(&result);
        if (good && result.fruits_per_s > trial->best.fruits_per_s)
            trial->best = result;
        crn_tool_note(&crn_bench_line_tool, "%s at %.1f fruits/s: %s", trial->of->name, rate,
                      good              ? "kept up"
                      : result.given_up ? "the sender could not keep its pace"
                                        : "not all fruits were complete");
    }
    return good;
}

static int64_t trial_now_ns(void *context)
{
    (void)context;
    return crn_now_ns();
}

/* The rate of a short run without a pace, at which the search begins. */
static int guess_rate(const bench_trial *trial, double *ret_rate)
{
    const crn_bench_frames *frames = &trial->given->frames;
    uint64_t bytes = frames->views * frames->view[0].header.payload_bytes;
    uint64_t fruits = GUESS_BYTES / bytes;
    crn_drive_load load = {.fruits = fruits < 20 ? 20 : fruits > 500 ? 500 : fruits};
    crn_drive_result result;
    int r = crn_bench_line_run(trial->given, trial->of, &load, &result);
    if (r == 0)
        *ret_rate = result.fruits_per_s;
    return r;
}

/* The highest sustained rate, within 5 % if there is time; *ret_best is the run at it. */
static int find_carried(const crn_bench_line *given, const crn_bench_subject *of, int64_t until_ns,
                        crn_search_result *ret_result, crn_drive_result *ret_best)
{
    bench_trial trial = {.given = given, .of = of};
    double guess = 0;
    int r = guess_rate(&trial, &guess);
    if (r == 0)
        r = crn_search(&(crn_search_trial){keeps_up, trial_now_ns, &trial}, guess, until_ns,
                       ret_result);
    *ret_best = trial.best;
    return r;
}

/* --- output --- */

static void print_row(const char *name, const crn_drive_result *one)
{
    printf("%-22s %8.1f %6llu/%-6llu %8llu %9.3f %9.3f %9.3f %11.3f\n", name, one->fruits_per_s,
           (unsigned long long)one->answered, (unsigned long long)one->sent,
           (unsigned long long)one->complete, one->p50_ms, one->p99_ms, one->max_ms,
           one->cpu_ms_per_fruit);
}

static void print_header(void)
{
    printf("%-22s %8s %13s %8s %9s %9s %9s %11s\n", "", "fruits/s", "answered/sent", "complete",
           "p50 ms", "p99 ms", "max ms", "CPU ms/fruit");
}

static void print_overload(const crn_drive_result *one, double wanted)
{
    print_row("daemon, twice that", one);
    printf("  target %.1f fruits/s, sent %.1f; answered more than once: %llu; "
           "complete %.1f %%, "
           "partial %llu, late %llu\n"
           "  past the deadline p99.9 %.3f ms, max %.3f ms; resident %.1f MiB after a quarter, "
           "%.1f MiB at the end\n",
           wanted, one->fruits_per_s, (unsigned long long)one->repeated,
           100.0 * (double)one->complete / (double)one->sent, (unsigned long long)one->partial,
           (unsigned long long)one->late, one->past_p999_ms, one->past_max_ms,
           (double)one->resident_before_bytes / (1 << 20),
           (double)one->resident_after_bytes / (1 << 20));
}

typedef struct bench_line_results {
    crn_drive_result receiver, daemon, overload;
    crn_search_result receiver_carries, daemon_carries;
} bench_line_results;

static void print_json(const bench_line_results *all)
{
    const crn_drive_result *receiver = &all->receiver, *daemon = &all->daemon;
    const crn_drive_result *overload = &all->overload;
    printf("{\"added_p50_ms\":%.4f,\"added_cpu_ms_per_fruit\":%.4f,\"receiver_carries\":%.2f,"
           "\"receiver_carries_exactly\":%s,\"daemon_carries\":%.2f,"
           "\"daemon_carries_exactly\":%s,\"steady\":{\"sent\":%llu,\"answered\":%llu,"
           "\"complete\":%llu,\"p50_ms\":%.4f,\"p99_ms\":%.4f},"
           "\"overload\":{\"sent\":%llu,\"answered\":%llu,\"repeated\":%llu,"
           "\"complete\":%llu,\"past_p999_ms\":%.4f}}\n",
           daemon->p50_ms - receiver->p50_ms, daemon->cpu_ms_per_fruit - receiver->cpu_ms_per_fruit,
           all->receiver_carries.rate, all->receiver_carries.timely ? "true" : "false",
           all->daemon_carries.rate, all->daemon_carries.timely ? "true" : "false",
           (unsigned long long)daemon->sent, (unsigned long long)daemon->answered,
           (unsigned long long)daemon->complete, daemon->p50_ms, daemon->p99_ms,
           (unsigned long long)overload->sent, (unsigned long long)overload->answered,
           (unsigned long long)overload->repeated, (unsigned long long)overload->complete,
           overload->past_p999_ms);
}

static void print_steady(const crn_bench_line *given, const bench_line_results *all)
{
    printf("%u views of %ux%ux%u a fruit, %ld cores\n", given->frames.views,
           given->frames.view[0].header.width, given->frames.view[0].header.height,
           given->frames.view[0].header.channels, sysconf(_SC_NPROCESSORS_ONLN));
    print_header();
    print_row("receiver, steady", &all->receiver);
    print_row("daemon, steady", &all->daemon);
    printf("  the daemon adds %.3f ms to p50 and %.3f ms of CPU per fruit\n",
           all->daemon.p50_ms - all->receiver.p50_ms,
           all->daemon.cpu_ms_per_fruit - all->receiver.cpu_ms_per_fruit);
    fflush(stdout);
}

/* "at least" a rate where time ran out, or the search ended at its upper limit. */
static void print_carried(const crn_search_result *receiver, const crn_search_result *daemon)
{
    const crn_search_result *both[] = {receiver, daemon};
    printf("  carried:");
    for (int i = 0; i < 2; i++)
        printf(" %s %s%.1f fruits/s,", i ? "daemon" : "receiver",
               both[i]->rate > 0 && (!both[i]->timely || !both[i]->above) ? "at least " : "",
               both[i]->rate);
    printf(" ratio %.2f\n", receiver->rate > 0 ? daemon->rate / receiver->rate : 0);
    fflush(stdout);
}

/* At twice what it carries; at the lowest rate where the search found none. */
static int run_overload(const crn_bench_line *given, bench_line_results *all)
{
    double carries = all->daemon_carries.rate;
    double rate = 2 * (carries > 0 ? carries : CRN_SEARCH_RATE_MIN);
    crn_drive_load load = {.fruits = (uint64_t)(rate * given->probe_seconds * 4) + 4, .rate = rate};
    crn_tool_note(&crn_bench_line_tool, "daemon at %.1f fruits/s", rate);
    int r = crn_bench_line_run(given, &daemon_ipc, &load, &all->overload);
    if (r == 0 && !given->json)
        print_overload(&all->overload, rate);
    return r;
}

static int run_all(const crn_bench_line *given)
{
    bench_line_results all;
    crn_drive_result best;
    int r = run_steady(given, &only_receives, &all.receiver);
    if (r == 0)
        r = run_steady(given, &daemon_ipc, &all.daemon);
    if (r < 0)
        return r;
    if (!given->json)
        print_steady(given, &all);
    int64_t half_ns = (int64_t)(given->search_seconds / 2 * 1e9), start_ns = crn_now_ns();
    r = find_carried(given, &only_receives, start_ns + half_ns, &all.receiver_carries, &best);
    if (r == 0)
        r = find_carried(given, &daemon_ipc, start_ns + 2 * half_ns, &all.daemon_carries, &best);
    if (r < 0)
        return r;
    if (!given->json)
        print_carried(&all.receiver_carries, &all.daemon_carries);
    r = run_overload(given, &all);
    if (r == 0 && given->json)
        print_json(&all);
    return r;
}

/* --- the ways by which views come --- */

/* The paths that are compared: the first ones. */
#define WAYS (CRN_PEER_SLOTS + 1)

typedef struct bench_way {
    crn_drive_result steady, best;
    crn_search_result carries;
} bench_way;

static void print_ways(const crn_bench_line *given, const bench_way ways[WAYS])
{
    printf("%u views of %ux%ux%u a fruit, %ld cores; steady: %.4g fruits/s\n", given->frames.views,
           given->frames.view[0].header.width, given->frames.view[0].header.height,
           given->frames.view[0].header.channels, sysconf(_SC_NPROCESSORS_ONLN), given->rate);
    printf("%-8s %10s %12s %14s %12s %12s %14s %14s\n", "", "carried/s", "CPU ms/fruit",
           "line us/view", "steady p50", "steady p99", "CPU ms/fruit", "line us/view");
    for (int i = 0; i < WAYS; i++)
        printf("%-8s %10.1f %12.3f %14.1f %9.3f ms %9.3f ms %14.3f %14.1f\n",
               crn_peer_path_names[i], ways[i].carries.rate, ways[i].best.cpu_ms_per_fruit,
               ways[i].best.line_us_per_view, ways[i].steady.p50_ms, ways[i].steady.p99_ms,
               ways[i].steady.cpu_ms_per_fruit, ways[i].steady.line_us_per_view);
}

static void print_ways_json(const bench_way ways[WAYS])
{
    for (int i = 0; i < WAYS; i++)
        printf("%s\"%s\":{\"carries\":%.2f,\"carries_exactly\":%s,\"cpu_ms_per_fruit\":%.4f,"
               "\"line_us_per_view\":%.3f,"
               "\"steady\":{\"complete\":%llu,\"p50_ms\":%.4f,\"p99_ms\":%.4f,"
               "\"cpu_ms_per_fruit\":%.4f,\"line_us_per_view\":%.3f}}",
               i ? "," : "{", crn_peer_path_names[i], ways[i].carries.rate,
               ways[i].carries.timely ? "true" : "false", ways[i].best.cpu_ms_per_fruit,
               ways[i].best.line_us_per_view, (unsigned long long)ways[i].steady.complete,
               ways[i].steady.p50_ms, ways[i].steady.p99_ms, ways[i].steady.cpu_ms_per_fruit,
               ways[i].steady.line_us_per_view);
    printf("}\n");
}

/* The daemon by each of its paths: a steady run, and the highest rate that it keeps up with. */
static int compare_ways(const crn_bench_line *given)
{
    bench_way ways[WAYS];
    int64_t share_ns = (int64_t)(given->search_seconds / WAYS * 1e9);
    int r = 0;
    for (int i = 0; i < WAYS && r == 0; i++) {
        const crn_bench_subject of = {CRN_PEER_DAEMON, (crn_peer_path)i, crn_peer_path_names[i]};
        r = run_steady(given, &of, &ways[i].steady);
        if (r == 0)
            r = find_carried(given, &of, crn_now_ns() + share_ns, &ways[i].carries, &ways[i].best);
    }
    if (r == 0 && given->json)
        print_ways_json(ways);
    else if (r == 0)
        print_ways(given, ways);
    return r;
}

/*
 * Finds the configuration installed with this program: PREFIX/share/cernita/line.yaml for
 * PREFIX/bin/cernita-bench, also in a build folder. Sets *path to the path tried even if false.
 */
static bool find_config(char path[PATH_MAX])
{
    char program[PATH_MAX - 64], *slash;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2 && (slash = strrchr(program, '/')); up++)
        *slash = '\0';
    snprintf(path, PATH_MAX, "%s/share/cernita/line.yaml", program);
    return access(path, R_OK) == 0;
}

int crn_bench_line_config(const char *path, crn_error *error, crn_config *ret_config)
{
    char installed[PATH_MAX];
    if (!path && !find_config(installed))
        return crn_error_set(error, -ENOENT,
                             "%.200s: does not exist; name a configuration with --config",
                             installed);
    path = path ? path : installed;
    return crn_config_load(path, stderr, ret_config) < 0
               ? crn_error_set(error, -EINVAL, "%.200s: see above", path)
               : 0;
}

int crn_bench_line_frames(const char *recording, bool photographs, crn_error *error,
                          crn_bench_frames *ret_frames)
{
    crn_recordings recordings = {0};
    int r = crn_recordings_list(&recording, 1, &recordings, error);
    if (r == 0)
        r = crn_frames_load(&recordings, FRAMES_MAX, photographs, ret_frames, error);
    crn_recordings_free(&recordings);
    return r;
}

/* The daemon with the settings of --beside instead of --config. */
static int compare_beside(const crn_bench_line *given)
{
    crn_bench_line other = *given;
    if (crn_config_load(given->beside, stderr, &other.config) < 0)
        return -EINVAL;
    other.config.run.backend = given->backend;
    int r = crn_bench_line_beside(given, &other);
    crn_config_done(&other.config);
    return r;
}

int crn_bench_of_line(int argc, char **argv)
{
    static crn_bench_line given = {.backend = CRN_BACKEND_OPENMP,
                                   .producers = 4,
                                   .daemons = 1,
                                   .rate = 10,
                                   .seconds = 60,
                                   .probe_seconds = 4,
                                   .search_seconds = 80};
    crn_error error;
    crn_options_read(&crn_bench_line_tool, argc, argv, &given);
    if (given.lanes && given.producers > given.lanes)
        given.producers = given.lanes;
    if (given.beside && !given.pairs)
        return crn_tool_fail(&crn_bench_line_tool, "--beside goes with --pairs N");
    if (crn_bench_line_config(given.daemon_config, &error, &given.config) < 0)
        return crn_tool_fail(&crn_bench_line_tool, "%s", error.text);
    given.config.run.backend = given.backend;
    const char *why = "";
    if (!crn_backend_ops((crn_backend)given.config.run.backend, &why))
        return crn_tool_fail(&crn_bench_line_tool, "--backend %s: %s; choose openmp, or auto",
                             crn_backend_names[given.backend], why);
    crn_peer_stop_on_signal();
    int r = crn_bench_line_frames(given.recording, given.beside != NULL, &error, &given.frames);
    if (r < 0)
        return crn_tool_fail(&crn_bench_line_tool, "%s", error.text);
    r = given.lanes    ? crn_bench_line_lanes(&given)
        : given.beside ? compare_beside(&given)
        : given.pairs  ? crn_bench_line_pairs(&given)
        : given.slots  ? compare_ways(&given)
                       : run_all(&given);
    crn_frames_free(&given.frames);
    if (r == -ECHILD)
        return crn_tool_fail(&crn_bench_line_tool,
                             "the daemon, or the receiver, ended before it had all views; "
                             "cernitad with this configuration says why");
    return r < 0 ? crn_tool_fail(&crn_bench_line_tool, "%s", strerror(-r)) : 0;
}
