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

#include "src/config/config.h"
#include "stages/backend.h"
#include "tools/bench/bench.h"
#include "tools/bench/line/drive.h"

/* A rate is sustained if this share of the fruits is complete and the sender keeps its schedule. */
#define CARRIED_SHARE     0.999
#define CARRIED_BEHIND_MS 100

/* Views sent in a loop. */
#define FRAMES_MAX 32

typedef struct bench_line_settings {
    const char *recording;
    double rate;
    double seconds;       /* of the run at `rate` */
    double probe_seconds; /* of each run of the throughput search */
    bool json;
    crn_config config; /* the daemon's */
    crn_bench_frames frames;
} bench_line_settings;

enum {
    OPTION_RECORDING,
    OPTION_CONFIG,
    OPTION_RATE,
    OPTION_SECONDS,
    OPTION_PROBE,
    OPTION_BACKEND,
    OPTION_JSON,
};

static const crn_tool tool = {
    .name = "cernita-bench line",
    .operands = "",
    .about =
        "Runs cernitad (one worker less than there are cores) and a receiver that only receives\n"
        "and copies, one after the other on the same views: latency and CPU at a steady rate, the\n"
        "throughput of each, and the daemon at twice its throughput.",
    .options =
        (const crn_option[]){
            {"recording", "REC.tif|DIR",
             "the views to send, or a folder of recordings (cernita-synth makes one);\n"
             "required"},
            {"config", "FILE",
             "the daemon's, except for its sockets; default: the installed line.yaml"},
            {"rate", "N", "fruits per second of the steady run, default 10"},
            {"seconds", "S", "of the steady run, default 60"},
            {"probe-seconds", "S", "of each run of the throughput search, default 4"},
            {"backend", "B",
             "its run.backend, default openmp; serial makes the work, not the transport, the "
             "limit"},
            {"json", NULL, "one JSON object instead of the table"},
            {NULL, NULL, NULL}},
    .operands_min = 0,
    .operands_max = 0,
};

static int run_once(const bench_line_settings *given, bool daemon, uint64_t fruits, double rate,
                    crn_drive_result *ret_result)
{
    crn_peer peer;
    int r = daemon ? crn_peer_start_daemon(&peer, &given->config) : crn_peer_start_receiver(&peer);
    if (r == 0)
        r = crn_drive(&peer, &given->frames, fruits, rate, ret_result);
    crn_peer_stop(&peer);
    return r;
}

static bool carried(const crn_drive_result *result)
{
    return (double)result->complete >= CARRIED_SHARE * (double)result->sent &&
           result->behind_ms < CARRIED_BEHIND_MS;
}

/* Two attempts, because machines are shared: a single success counts. */
static bool carries(const bench_line_settings *given, bool daemon, double rate)
{
    uint64_t fruits = (uint64_t)(rate * given->probe_seconds) + 4;
    for (int attempts = 0; attempts < 2; attempts++) {
        crn_drive_result result;
        if (run_once(given, daemon, fruits, rate, &result) == 0 && carried(&result))
            return true;
    }
    return false;
}

/* The highest sustained rate, within 5 %: doubles until it fails, then bisects. */
static double find_carried(const bench_line_settings *given, bool daemon)
{
    double high = 4; /* below this, a fruit's views would be further apart than assemble_ms */
    while (high < 1e5 && carries(given, daemon, high))
        high *= 2;
    double low = high / 2;
    while (high / low > 1.05) {
        double middle = (low + high) / 2;
        if (carries(given, daemon, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

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

static void print_json(const crn_drive_result *receiver, const crn_drive_result *daemon,
                       const crn_drive_result *overload, double receiver_carries,
                       double daemon_carries)
{
    printf("{\"added_p50_ms\":%.4f,\"added_cpu_ms_per_fruit\":%.4f,\"receiver_carries\":%.2f,"
           "\"daemon_carries\":%.2f,\"steady\":{\"sent\":%llu,\"answered\":%llu,\"complete\":%llu,"
           "\"p50_ms\":%.4f,\"p99_ms\":%.4f},\"overload\":{\"sent\":%llu,\"answered\":%llu,"
           "\"repeated\":%llu,"
           "\"complete\":%llu,\"past_p999_ms\":%.4f}}\n",
           daemon->p50_ms - receiver->p50_ms, daemon->cpu_ms_per_fruit - receiver->cpu_ms_per_fruit,
           receiver_carries, daemon_carries, (unsigned long long)daemon->sent,
           (unsigned long long)daemon->answered, (unsigned long long)daemon->complete,
           daemon->p50_ms, daemon->p99_ms, (unsigned long long)overload->sent,
           (unsigned long long)overload->answered, (unsigned long long)overload->repeated,
           (unsigned long long)overload->complete, overload->past_p999_ms);
}

static int run_all(const bench_line_settings *given)
{
    crn_drive_result receiver, daemon, overload;
    uint64_t fruits = (uint64_t)(given->rate * given->seconds);
    int r = run_once(given, false, fruits, given->rate, &receiver);
    if (r == 0)
        r = run_once(given, true, fruits, given->rate, &daemon);
    if (r < 0)
        return r;
    if (!given->json) {
        printf("%u views of %ux%ux%u a fruit, %ld cores\n", given->frames.views,
               given->frames.view[0].header.width, given->frames.view[0].header.height,
               given->frames.view[0].header.channels, sysconf(_SC_NPROCESSORS_ONLN));
        print_header();
        print_row("receiver, steady", &receiver);
        print_row("daemon, steady", &daemon);
        printf("  the daemon adds %.3f ms to p50 and %.3f ms of CPU per fruit\n",
               daemon.p50_ms - receiver.p50_ms,
               daemon.cpu_ms_per_fruit - receiver.cpu_ms_per_fruit);
        fflush(stdout);
    }
    double receiver_carries = find_carried(given, false);
    double daemon_carries = find_carried(given, true);
    r = run_once(given, true, (uint64_t)(2 * daemon_carries * given->probe_seconds * 4) + 4,
                 2 * daemon_carries, &overload);
    if (r < 0)
        return r;
    if (given->json) {
        print_json(&receiver, &daemon, &overload, receiver_carries, daemon_carries);
        return 0;
    }
    printf("  carried: receiver %.1f fruits/s, daemon %.1f fruits/s, ratio %.2f\n",
           receiver_carries, daemon_carries,
           receiver_carries > 0 ? daemon_carries / receiver_carries : 0);
    print_overload(&overload, 2 * daemon_carries);
    return 0;
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

int crn_bench_line(int argc, char **argv)
{
    static bench_line_settings given = {.rate = 10, .seconds = 60, .probe_seconds = 4};
    char installed[PATH_MAX];
    const char *config = NULL, *backend = "openmp", *value;
    for (int option; (option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END;) {
        if (option == OPTION_RECORDING)
            given.recording = value;
        else if (option == OPTION_CONFIG)
            config = value;
        else if (option == OPTION_RATE)
            given.rate = crn_option_real(&tool, "rate", value, 0.1, 1e6);
        else if (option == OPTION_SECONDS)
            given.seconds = crn_option_real(&tool, "seconds", value, 1, 1e6);
        else if (option == OPTION_PROBE)
            given.probe_seconds = crn_option_real(&tool, "probe-seconds", value, 0.5, 1e4);
        else if (option == OPTION_BACKEND)
            backend = value;
        else if (option == OPTION_JSON)
            given.json = true;
    }
    if (!given.recording)
        crn_usage_error(&tool, "--recording is missing");
    if (!config && !find_config(installed))
        return crn_tool_fail(&tool, "%s: does not exist; name a configuration with --config",
                             installed);
    if (crn_config_load(config ? config : installed, stderr, &given.config) < 0)
        return CRN_EXIT_FAILED;
    given.config.run.backend = crn_option_choice(&tool, "backend", backend, crn_backend_names);
    const char *why = "";
    if (!crn_backend_ops((crn_backend)given.config.run.backend, &why))
        return crn_tool_fail(&tool, "--backend %s: %s; choose openmp, or auto", backend, why);
    crn_peer_stop_on_signal();
    crn_recordings recordings = {0};
    crn_error error;
    int r = crn_recordings_list(&given.recording, 1, &recordings, &error);
    if (r == 0)
        r = crn_frames_load(&recordings, FRAMES_MAX, &given.frames, &error);
    crn_recordings_free(&recordings);
    if (r < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    r = run_all(&given);
    crn_frames_free(&given.frames);
    if (r == -ECHILD)
        return crn_tool_fail(&tool, "the daemon, or the receiver, ended before it had all views; "
                                    "cernitad with this configuration says why");
    return r < 0 ? crn_tool_fail(&tool, "%s", strerror(-r)) : 0;
}
