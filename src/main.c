/* cernitad: command line, signals, and the only place that exits. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "stages/base/process/arguments.h"
#include "stages/base/log.h"
#include "stages/base/process/log_relay.h"
#include "stages/base/process/standard.h"
#include "stages/config/config.h"
#include "src/ingest/access/access.h"
#include "src/control/control.h"
#include "src/control/kept/kept_lot.h"
#include "src/control/kept/kept_recipe.h"
#include "src/ingest/socket/descriptors.h"
#include "src/line/line.h"
#include "src/monitor/log_messages/report.h"
#include "stages/base/process/malloc_tuning.h"
#include "src/preflight/preflight.h"
#include "src/realtime/realtime.h"
#include "src/self_check/self_check.h"
#include "src/service/service.h"
#include "stages/backend.h"

enum {
    EXIT_RUNTIME = 1,
    EXIT_CONFIG = 78, /* EX_CONFIG of sysexits.h: a service manager must not retry */
};

static const char usage[] =
    "usage: cernitad --config FILE [--check] [--print-config] [--backend B]\n"
    "       cernitad --self-check [--config FILE] [--json]\n"
    "\n"
    "Receives class-probability maps, outlines the defects, publishes one verdict per fruit in "
    "time.\n"
    "\n"
    "  -c, --config FILE    the machine's file (YAML)\n"
    "      --check          check the file and what the start will need, print the memory that\n"
    "                       its limits make, and exit\n"
    "      --self-check     print what the machine grants a line (with a file: this one), what "
    "each\n"
    "                       deficit costs and its cure, and exit; takes some seconds\n"
    "      --json           the same as JSON\n"
    "      --print-config   print the settings in full, defaults included, and exit\n"
    "      --reference      print the table of all keys (Markdown) and exit\n"
    "      --backend B      auto, serial, openmp or cuda, instead of the file's run.backend\n"
    "  -h, --help           this text\n"
    "      --version        the version\n"
    "\n"
    "exit status: 0 success, 1 failure at the start or while running, 78 bad configuration, or\n"
    "--check found that the start would fail; --self-check: 1 if a row is bad\n";

typedef struct options {
    const char *config_path;
    const char *backend;
    bool check, print_config, self_check, json;
} options;

static crn_line *running_line; /* for the signal handler, as the next */
static crn_control *running_control;

static void notify_line(int signal_number, siginfo_t *about, void *context)
{
    (void)context;
    if (signal_number == SIGHUP)
        crn_control_hang_up(running_control, about->si_uid, about->si_pid);
    else
        crn_line_stop(running_line);
}

/* Reports which thread crashed, or that another process ended this one, as a watchdog does; the
 * default action, which ends the process, follows. */
static void tell_crash(int signal_number, siginfo_t *about, void *context)
{
    (void)context;
    char name[16] = "?";
    prctl(PR_GET_NAME, name, 0, 0, 0);
    crn_log_relay_flush();
    bool sent = about->si_code == SI_USER && about->si_pid != getpid();
    const char *signal_name = sigabbrev_np(signal_number);
    const char *const parts[] = {sent ? "cernitad: another process sent SIG" : "cernitad: thread '",
                                 sent ? "" : name, sent ? "" : "' died of SIG",
                                 signal_name ? signal_name : "?", "; the daemon ends\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    raise(signal_number); /* SA_RESETHAND: the default action now */
}

/* Blocks or unblocks SIGTERM, SIGINT and SIGHUP. Called before there
 * are threads, which inherit the mask. */
static void block_signals(bool block)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}

/* From here on the line handles signals, first those that arrived while it was opened. */
static void set_up_signals(void)
{
    struct sigaction action = {.sa_sigaction = notify_line, .sa_flags = SA_SIGINFO};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    struct sigaction crash = {.sa_sigaction = tell_crash,
                              .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_NODEFER)};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &crash, NULL);
    block_signals(false);
}

static int parse_backend(const char *name, int32_t *ret_backend)
{
    for (int32_t i = 0; crn_backend_names[i]; i++) {
        if (strcmp(crn_backend_names[i], name) == 0) {
            *ret_backend = i;
            return 0;
        }
    }
    crn_error error;
    crn_error_set(&error, 0, "cernitad: --backend %s: must be auto, serial, openmp or cuda", name);
    fprintf(stderr, "%s\n", error.text);
    return -EINVAL;
}

static const char short_options[] = "c:h";
static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},  {"check", no_argument, NULL, 'k'},
    {"self-check", no_argument, NULL, 's'},    {"json", no_argument, NULL, 'j'},
    {"print-config", no_argument, NULL, 'p'},  {"reference", no_argument, NULL, 'r'},
    {"backend", required_argument, NULL, 'b'}, {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},       {NULL, 0, NULL, 0},
};

/* Checks that the options go together and that nothing else was given; tells what is wrong. */
static int check_options(int argc, char **argv, const options *given)
{
    crn_error error;
    if (given->json && !given->self_check) {
        fprintf(stderr, "cernitad: --json is for --self-check; see cernitad --help\n");
        return -EINVAL;
    }
    if (optind < argc || !(given->config_path || given->self_check)) {
        crn_error_set(&error, 0, "cernitad: %s%s; see cernitad --help",
                      optind < argc ? "unexpected argument " : "--config FILE is missing",
                      optind < argc ? argv[optind] : "");
        fprintf(stderr, "%s\n", error.text);
        return -EINVAL;
    }
    return 0;
}

/* Returns 0 to continue with *ret_options; a positive value: exit with status value - 1. */
static int parse_options(int argc, char **argv, options *ret_options)
{
    crn_error error;
    if (crn_arguments_check("cernitad", argv, short_options, long_options, &error) < 0) {
        fprintf(stderr, "cernitad: %s\n", error.text);
        return 1 + EXIT_CONFIG;
    }
    options given = {.config_path = NULL};
    int option;
    while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        switch (option) {
        case 'c':
            given.config_path = optarg;
            break;
        case 'k':
            given.check = true;
            break;
        case 'p':
            given.print_config = true;
            break;
        case 's':
            given.self_check = true;
            break;
        case 'j':
            given.json = true;
            break;
        case 'b':
            given.backend = optarg;
            break;
        case 'r':
            crn_config_print_reference(stdout);
            return 1 + EXIT_SUCCESS;
        case 'h':
            fputs(usage, stdout);
            return 1 + EXIT_SUCCESS;
        case 'v':
            puts("cernitad " CRN_VERSION);
            return 1 + EXIT_SUCCESS;
        }
    }
    if (check_options(argc, argv, &given) < 0)
        return 1 + EXIT_CONFIG;
    *ret_options = given;
    return 0;
}

/* Waiting OpenMP threads of a worker must not spin on cores that ingest and publishing need.
 * libgomp reads the environment before main, so the daemon re-executes itself. */
static void make_openmp_passive(char **argv)
{
    if (!getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv("/proc/self/exe", argv);
}

/* Returns the GPU interface if the backend may use it, otherwise NULL. */
static const crn_gpu *find_gpu(const crn_config *config)
{
    const char *no_gpu;
    bool on_gpu =
        config->run.backend == CRN_BACKEND_CUDA || config->run.backend == CRN_BACKEND_AUTO;
    return on_gpu ? crn_gpu_get(&no_gpu) : NULL;
}

/* --self-check; `config` NULL: without a line's file. */
static int self_check(const crn_config *config, bool json)
{
    const char *no_gpu = NULL;
    crn_realtime_problem problems[CRN_REALTIME_PROBLEMS_MAX];
    int count = config ? crn_realtime_try(config, problems) : 0;
    for (int i = 0; i < count; i++)
        if (problems[i].fatal) {
            fprintf(stderr, "%s: %s: %s\n", config->file, problems[i].key, problems[i].text);
            return EXIT_CONFIG;
        }
    const crn_gpu *gpu = crn_gpu_get(&no_gpu);
    if (config && !find_gpu(config)) {
        no_gpu = gpu ? "run.backend does not use any" : no_gpu;
        gpu = NULL;
    }
    return crn_self_check_command(config, gpu, no_gpu, json);
}

static void print_classes(const crn_classes *classes)
{
    bool any = false;
    for (int32_t i = 0; i < classes->count; i++) {
        if (isnan(classes->level[i]))
            continue;
        printf("%s%s %.6g", any ? ", " : "", classes->name[i], classes->level[i]);
        any = true;
    }
    puts(any ? "" : "no class has a level");
}

/* The levels of the file's own settings and of its recipes, a line each. */
static void print_levels(const crn_config *config)
{
    fputs("levels: ", stdout);
    print_classes(&config->classes);
    for (int32_t i = 0; config->recipes && i < config->recipes->count; i++) {
        printf("levels of recipe %s: ", config->recipes->item[i].name);
        print_classes(&config->recipes->item[i].classes);
    }
}

/* --check: reports whether the start would succeed, and the resources that the line needs. */
static int check(const crn_config *config, const crn_gpu *gpu)
{
    char *notes = NULL;
    size_t size = 0;
    FILE *later = open_memstream(&notes, &size);
    int r = crn_preflight(config, gpu, stderr, later);
    if (later)
        fclose(later);
    if (r == 0)
        printf("OK: %d class%s, %d stage%s, at most %zu MiB, %s\n", config->classes.count,
               config->classes.count == 1 ? "" : "es", config->steps, config->steps == 1 ? "" : "s",
               crn_line_bytes(config) >> 20,
               config->realtime.lock_memory
                   ? "locked at the start, with the threads' stacks and heaps"
               : gpu && gpu->count() > 0 ? "taken at the start where a GPU reads them"
                                         : "used as views arrive");
    if (r == 0)
        print_levels(config);
    /* Behind the faults, wherever both are read. */
    fputs(notes ? notes : "", r == 0 ? stdout : stderr);
    free(notes);
    return r == 0 ? EXIT_SUCCESS : EXIT_CONFIG;
}

/* Called around every reload, by the control thread. */
static void tell_reloading(bool begins)
{
    if (begins)
        crn_service_reloading();
    else
        crn_service_ready();
}

/* `file`: the settings as loaded, not resolved. `backend`: that of the command line, or -1. */
static int run(crn_config *config, const crn_config *file, int32_t backend, const crn_gpu *gpu)
{
    crn_error error = {""};
    char starting[CRN_SERVICE_STATUS_BYTES];
    crn_line_starting(starting);
    int r = crn_service_start(starting);
    if (r < 0)
        crn_error_set(&error, r, "cannot start a thread: %s", strerror(-r));
    else
        r = crn_access_open(config->access.keys, config->access.ipc, &config->guard, &error);
    if (r == 0)
        r = crn_line_open(config, gpu, &running_line, &error);
    if (r == 0) {
        crn_control_settings settings = {.reload = {running_line, file, config, backend, NULL},
                                         .reloading = tell_reloading};
        crn_kept_lot_resume(config, &settings.lot);
        crn_line_begin_lot(running_line, &settings.lot);
        r = crn_control_open(&settings, &running_control, &error);
    }
    if (r < 0) {
        crn_log(CRN_LOG_ERROR, "%s", error.text);
        crn_line_close(&running_line);
        crn_service_stop(error.text);
        return EXIT_RUNTIME;
    }
    set_up_signals();
    r = crn_line_run(running_line, &error);
    crn_metrics metrics = crn_line_metrics(running_line);
    crn_report_log_totals(&metrics);
    if (r < 0) {
        /* A worker may never return, so no thread is joined: only what
         * libzmq has accepted is still sent. */
        crn_log(CRN_LOG_ERROR, "%s; the daemon ends", error.text);
        crn_service_stop(error.text);
        crn_log_relay_end();
        _exit(EXIT_RUNTIME);
    }
    block_signals(true); /* the line is about to be freed: signals can no longer be handled */
    crn_control_close(&running_control);
    bool ended = crn_line_close(&running_line);
    crn_access_close(&config->guard);
    crn_service_stop("");
    crn_log(CRN_LOG_INFO, "stopped");
    crn_log_relay_end();
    if (!ended)
        _exit(EXIT_SUCCESS); /* otherwise the driver's exit handler would wait for the device */
    return EXIT_SUCCESS;
}

/* Runs the line by the recipe that was in force before the start. */
static int run_resumed(const crn_config *config, const crn_config *file, int32_t backend,
                       const crn_gpu *gpu)
{
    static crn_config resumed;
    crn_error error;
    int status = EXIT_RUNTIME;
    crn_log_relay_start();
    if (crn_kept_recipe_resume(config, file, &resumed, &error) < 0) {
        crn_log(CRN_LOG_ERROR, "%s", error.text);
    } else {
        status = run(&resumed, file, backend, gpu);
        crn_config_done(&resumed);
    }
    crn_log_relay_end();
    return status;
}

/* Runs the line according to the options; returns the exit status. */
static int serve(const options *given, char **argv, crn_config *config)
{
    int32_t backend = -1;
    if (given->backend && parse_backend(given->backend, &backend) < 0)
        return EXIT_CONFIG;
    if (backend >= 0)
        config->run.backend = backend;
    if (given->print_config) {
        crn_config_print(config, stdout);
        return EXIT_SUCCESS;
    }
    crn_error error;
    if (crn_config_hash(config, &config->hash, &error) < 0) {
        fprintf(stderr, "cernitad: %s\n", error.text);
        return EXIT_CONFIG;
    }
    static crn_config file;
    file = *config; /* shares the steps' settings, which nobody changes */
    crn_config_resolve(config, (int32_t)sysconf(_SC_NPROCESSORS_ONLN));
    crn_config_use_unit_folders(config, given->check);
    if (given->self_check)
        return self_check(config, given->json);
    if (config->run.threads > 1)
        make_openmp_passive(argv);
    crn_log_set_level((crn_log_level)config->log.level);
    const char *why = "";
    if (!crn_backend_ops((crn_backend)config->run.backend, &why)) {
        fprintf(stderr, "%s: run.backend: %s: %s; choose openmp, or auto\n", given->config_path,
                crn_backend_names[config->run.backend], why);
        /* A driver may work again. */
        return crn_gpu_is_failing(&why) && !given->check ? EXIT_RUNTIME : EXIT_CONFIG;
    }
    /* The file must say it: no service manager need try again. */
    if (!given->check && crn_access_check_exposed(config, stderr) < 0)
        return EXIT_CONFIG;
    const crn_gpu *gpu = find_gpu(config);
    if (given->check)
        return check(config, gpu);
    crn_preflight_unit_log(config);
    /* Not EXIT_CONFIG: an address or a disk may become available later,
     * so a service manager should retry. */
    if (crn_preflight(config, gpu, stderr, NULL) < 0)
        return EXIT_RUNTIME;
    char levels[CRN_ODD_LEVELS_BYTES];
    if (crn_config_odd_levels(config, levels))
        crn_log(CRN_LOG_WARNING, "classes.level: %s", levels);
    crn_malloc_keep_pages();
    crn_descriptors_reserve("limits.peers", CRN_LINE_PORTS, &config->limits.peers);
    return run_resumed(config, &file, backend, gpu);
}

int main(int argc, char **argv)
{
    options given;
    block_signals(true); /* first, because a hang-up or a stop signal may arrive at any time */
    crn_standard_streams("cernitad");
    prctl(PR_SET_NAME, "cernitad", 0, 0, 0);
    int r = parse_options(argc, argv, &given);
    if (r > 0)
        return r - 1;
    if (given.check || given.print_config || given.self_check)
        block_signals(false);
    if (!given.config_path)
        return self_check(NULL, given.json);
    static crn_config config;
    if (crn_config_load(given.config_path, stderr, &config) < 0)
        return EXIT_CONFIG;
    config.file = given.config_path;
    int status = serve(&given, argv, &config);
    crn_config_done(&config);
    return status;
}
