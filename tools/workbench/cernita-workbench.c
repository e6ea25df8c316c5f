/* cernita-workbench: every operator on a picture, in a browser. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/process/standard.h"
#include "src/http/uri.h"
#include "tools/common/options.h"
#include "tools/common/signals.h"
#include "tools/workbench/given.h"
#include "tools/workbench/levels/command.h"
#include "tools/workbench/levels/report.h"
#include "tools/workbench/requests.h"

#define LISTEN_DEFAULT "127.0.0.1:8080"

/* While jobs wait: how often is looked whether their clients are still there. */
#define TICK_MS 250

/* Rounds that libmicrohttpd takes to resume connections and to send their answers. */
#define LAST_RUNS 4

#define CLIENTS_MAX             64
#define CLIENTS_PER_ADDRESS_MAX 48
#define CLIENT_BYTES            (32 << 10)
#define IDLE_S                  20

static const crn_option options[] = {
    CRN_OPTION("listen", "HOST:PORT",
               "where the page is served (127.0.0.1:8080); port 0: any that is free; an\n"
               "address that other machines reach needs --token-file"),
    CRN_OPTION("token-file", "FILE",
               "a secret of 16 to 128 letters and digits, without which nobody is\n"
               "answered; the printed address has it"),
    CRN_OPTION("labels", "FILE",
               "what is known of the recordings' views, for the page's levels and for\n"
               "--levels: a CSV file (fruit,view,class,has_defect), or a folder with\n"
               "labels.csv, with masks FRUIT-VIEW.png, or with both"),
    CRN_OPTION("archive", "FILE",
               "verdicts of the recordings' fruits, of cernita-archive, so that they can be\n"
               "found by verdict, class and lot"),
    CRN_OPTION("log", "DIR", "the same of a line's verdict log (publish.log.dir)"),
    CRN_OPTION("levels", NULL,
               "no page: print each class's best level, its precision and recall over these\n"
               "recordings, files and folders, and the levels for a line's file"),
    CRN_OPTION("config", "FILE",
               "with --levels: the line's file, whose chain runs (contours of the classes\n"
               "that the recording names)"),
    CRN_OPTION("recall", "R",
               "with --levels: of the levels with at least this recall, 0 to 1, the one with\n"
               "the largest precision (the one with the largest F1)"),
    CRN_OPTION("curves", "FILE", "with --levels: write precision and recall of all levels as CSV"),
    {0},
};
enum {
    OPTION_LISTEN,
    OPTION_TOKEN_FILE,
    OPTION_LABELS,
    OPTION_ARCHIVE,
    OPTION_LOG,
    OPTION_LEVELS,
    OPTION_CONFIG,
    OPTION_RECALL,
    OPTION_CURVES,
};

static const crn_tool tool = {
    .name = "cernita-workbench",
    .operands = "[FILE…]",
    .about =
        "Every operator on a picture, in a browser: choose, run, compare, measure, and find the\n"
        "settings of a line's chain. Starts with generated pictures and the files given: TIFF,\n"
        "PNG, JPEG, NumPy's .npy, recordings and folders of them, whose fruits can be searched.\n"
        "Files opened in the page stay in memory.",
    .options = options,
    .operands_min = 0,
    .operands_max = 64,
};

/* --- the command line ------------------------------------------------------------------------- */

static bool is_loopback(const char *listen)
{
    return strncmp(listen, "127.", 4) == 0 || strncmp(listen, "localhost:", 10) == 0 ||
           strncmp(listen, "[::1]:", 6) == 0;
}

static void read_token(crn_workbench *bench, const char *path)
{
    crn_error error;
    if (crn_http_token_read(path, bench->token, &error) < 0)
        crn_usage_error(&tool, "--token-file %s", error.text);
}

static void check_listen(const crn_workbench *bench)
{
    const char *colon = strrchr(bench->listen, ':');
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : -1;
    if (!colon || colon == bench->listen || !colon[1] || *end || port < 0 || port > 65535 ||
        strlen(bench->listen) >= CRN_TEXT_BYTES)
        crn_usage_error(&tool, "--listen '%s' is not HOST:PORT", bench->listen);
    if (!is_loopback(bench->listen) && !bench->token[0])
        crn_usage_error(
            &tool, "--listen %s: other machines may reach this address: give --token-file, too",
            bench->listen);
}

static void check_levels(bool wanted, int count, const crn_levels_options *levels)
{
    if (wanted && !levels->labels)
        crn_usage_error(&tool, "--levels needs --labels: which views have a defect?");
    if (wanted && count == 0)
        crn_usage_error(&tool, "--levels needs a recording");
    if (!wanted && (levels->config || levels->curves || levels->recall >= 0))
        crn_usage_error(&tool, "--config, --recall and --curves need --levels");
}

/* Returns whether --levels is given. */
static bool read_options(int argc, char **argv, crn_workbench *bench, crn_levels_options *levels)
{
    const char *text = NULL;
    bool wanted = false;
    int option;
    bench->listen = LISTEN_DEFAULT;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        if (option == OPTION_LISTEN)
            bench->listen = text;
        else if (option == OPTION_TOKEN_FILE)
            read_token(bench, text);
        else if (option == OPTION_LABELS)
            levels->labels = text;
        else if (option == OPTION_ARCHIVE)
            bench->sources.archive = text;
        else if (option == OPTION_LOG)
            bench->sources.log = text;
        else if (option == OPTION_LEVELS)
            wanted = true;
        else if (option == OPTION_CONFIG)
            levels->config = text;
        else if (option == OPTION_CURVES)
            levels->curves = text;
        else
            levels->recall = crn_option_real(&tool, "recall", text, 0, 1);
    }
    check_levels(wanted, argc - optind, levels);
    if (bench->sources.archive && bench->sources.log)
        crn_usage_error(&tool,
                        "--archive and --log are two sources of the same verdicts: give one");
    if ((bench->sources.archive || bench->sources.log) && argc == optind)
        crn_usage_error(&tool, "--archive and --log need a recording, or a folder of them");
    check_listen(bench);
    return wanted;
}

/* --- the start -------------------------------------------------------------------------------- */

static int read_catalogue(crn_workbench *bench, crn_error *error)
{
    crn_task task = {0};
    crn_job_end end = {0};
    struct stat status = {0};
    int r = crn_start_run(bench, crn_task_catalogue, &task, &end);
    if (r == 0 && fstat(end.output, &status) == 0)
        bench->catalogue = malloc((size_t)status.st_size + 1);
    if (bench->catalogue &&
        pread(end.output, bench->catalogue, (size_t)status.st_size, 0) == status.st_size)
        bench->catalogue_bytes = (size_t)status.st_size;
    if (!bench->catalogue_bytes)
        r = crn_error_set(error, -EIO, "the operators cannot be listed: %s",
                          end.said && *end.said ? end.said : "no memory");
    crn_start_end_free(&end);
    return r;
}

/* The pictures to begin with. */
static int generate(crn_workbench *bench, crn_error *error)
{
    const crn_task field = {.first = 7, .count = 8, .roughness = 0.5, .out = "field-8-7.png"};
    const crn_task fruit = {.first = 4, /* with rot and bruises in this view */
                            .count = 2,
                            .out = "fruit-4-2-maps.tif",
                            .out_photograph = "fruit-4-2-photograph.png"};
    crn_job_end end = {0};
    crn_stored *made[3] = {0};
    int r = crn_start_run(bench, crn_task_field, &field, &end);
    if (r == 0)
        made[0] = crn_store_add(&bench->store, field.out, &end.report.pictures[0], false);
    crn_start_end_free(&end);
    r = r < 0 ? r : crn_start_run(bench, crn_task_fruit, &fruit, &end);
    if (r == 0) {
        made[1] = crn_store_add(&bench->store, fruit.out, &end.report.pictures[0], false);
        made[2] =
            crn_store_add(&bench->store, fruit.out_photograph, &end.report.pictures[1], false);
    }
    crn_start_end_free(&end);
    if (!made[0] || !made[1] || !made[2])
        return crn_error_set(error, -ENOMEM, "%s: no room for the first pictures",
                             bench->store.folder);
    made[1]->photograph = made[2]->id;
    snprintf(made[0]->spec, sizeof made[0]->spec, "field:8:7:0.5");
    snprintf(made[1]->spec, sizeof made[1]->spec, "fruit:4:2:maps");
    snprintf(made[2]->spec, sizeof made[2]->spec, "fruit:4:2:photograph");
    return 0;
}

static int start_daemon(crn_workbench *bench, crn_error *error)
{
    int listener;
    int r = crn_http_listen(bench->listen, &listener, bench->address, error);
    if (r < 0)
        return r;
    bench->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, crn_request_handle, bench,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLIENTS_MAX,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CLIENTS_PER_ADDRESS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, crn_request_completed, bench,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, crn_http_note_uri, NULL, MHD_OPTION_END);
    if (bench->daemon)
        return 0;
    close(listener);
    return crn_error_set(error, -ENOMEM, "%s: cannot be served", bench->listen);
}

static int start(crn_workbench *bench, int signals, const char *labels, int count, char **files,
                 crn_error *error)
{
    int r = crn_store_open(&bench->store, error);
    bench->jobs.folder = bench->quick.folder = bench->store.folder;
    bench->jobs.interrupt = bench->quick.interrupt = signals;
    if (r == 0 && crn_encoder_create(CRN_FORMAT_JSON, &bench->encoder) < 0)
        r = crn_error_set(error, -ENOMEM, "no memory");
    if (r == 0)
        r = read_catalogue(bench, error);
    if (r == 0)
        r = generate(bench, error);
    if (r == 0 && labels)
        r = crn_given_open(bench, labels, NULL, error);
    if (r == 0)
        r = crn_given_open_all(bench, count, files, error);
    return r < 0 ? r : start_daemon(bench, error);
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Serves until a signal comes. */
static void serve(crn_workbench *bench, int signals)
{
    int epoll = MHD_get_daemon_info(bench->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    for (;;) {
        MHD_UNSIGNED_LONG_LONG wanted_ms;
        struct pollfd polled[] = {{.fd = signals, .events = POLLIN},
                                  {.fd = epoll, .events = POLLIN},
                                  {.fd = crn_jobs_descriptor(&bench->jobs), .events = POLLIN},
                                  {.fd = crn_jobs_descriptor(&bench->quick), .events = POLLIN}};
        int wait_ms = bench->resumed ? 0 : bench->waiting ? TICK_MS : -1;
        if (MHD_get_timeout(bench->daemon, &wanted_ms) == MHD_YES &&
            (wait_ms < 0 || wanted_ms < (MHD_UNSIGNED_LONG_LONG)wait_ms))
            wait_ms = (int)wanted_ms;
        (void)poll(polled, 4, wait_ms);
        if (polled[0].revents & POLLIN)
            return;
        bench->resumed = false;
        MHD_run(bench->daemon);
        crn_jobs_step(&bench->jobs);
        crn_jobs_step(&bench->quick);
        crn_requests_drop_gone(bench);
    }
}

static void stop(crn_workbench *bench)
{
    crn_requests_end(bench);
    for (int i = 0; bench->daemon && i < LAST_RUNS; i++)
        MHD_run(bench->daemon);
    if (bench->daemon)
        MHD_stop_daemon(bench->daemon);
    crn_store_close(&bench->store);
    crn_encoder_free(&bench->encoder);
    free(bench->catalogue);
    crn_given_close(bench);
}

int main(int argc, char **argv)
{
    static crn_workbench bench; /* static: large */
    crn_levels_options levels = {.recall = CRN_RECALL_NONE};
    crn_error error = {0};
    crn_standard_streams("cernita-workbench");
    if (read_options(argc, argv, &bench, &levels))
        return crn_levels_command(&tool, &levels, (const char *const *)argv + optind,
                                  argc - optind);
    signal(SIGPIPE, SIG_IGN);
    int signals = crn_signals_catch();
    int r = start(&bench, signals, levels.labels, argc - optind, argv + optind, &error);
    if (r == 0) {
        printf("cernita-workbench: open http://%s/%s%s in a browser; Ctrl-C ends it\n",
               bench.address, bench.token[0] ? "?token=" : "", bench.token);
        fflush(stdout);
        serve(&bench, signals);
    }
    stop(&bench);
    close(signals);
    if (r == -EINTR) /* a signal at the start */
        return 0;
    return r < 0 ? crn_tool_fail(&tool, "%s", error.text) : 0;
}
