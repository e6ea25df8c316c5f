#include "src/monitor/http/server_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/http/address.h"
#include "src/http/uri.h"
#include "src/service/watchdog.h"
#include "stages/backend.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"

/* Below the workers' 10: a page can wait, a view cannot. */
#define NICE 15

/* While clients are connected: how often slow ones are looked for, and new snapshots sent. */
#define TICK_NS (200 * CRN_NS_PER_MS)

/* How often the flight recorder's queue is emptied at least. */
#define TAKE_NS (1 * CRN_NS_PER_S)

/* Without a new snapshot the last one is sent again, so that clients see its age grow. */
#define REPEAT_NS (2 * CRN_NS_PER_S)

/* Rounds that libmicrohttpd takes to resume the streams, and to send their ends. */
#define LAST_RUNS 3

/* --- the thread ------------------------------------------------------------------------------- */

/* Sends the latest snapshot to the clients that read it, if it is new or the last one is old. */
static void update_streams(crn_http *http, int64_t now_ns)
{
    if (crn_streams_count(http->streams) > 0 &&
        (crn_snapshots_latest(http->from.snapshots)->number != http->event_number ||
         now_ns - http->event_ns >= REPEAT_NS))
        crn_http_send_event(http, now_ns);
}

/* Looks at what is new: fruits, and numbers. */
static void update(crn_http *http, int64_t now_ns)
{
    const crn_snapshot *latest = crn_snapshots_latest(http->from.snapshots);
    crn_flight_take(http->from.flight);
    crn_last_fruits_update(&http->fruits, http->from.flight);
    if (latest->number == http->history_number)
        return;
    http->history_number = latest->number;
    crn_history_update(http->history, latest, now_ns);
    crn_event_rates_update(&http->rates, latest);
    if (crn_streams_count(http->streams) > 0)
        crn_last_fruits_show(&http->fruits, http->from.flight, http->from.photos, http->sheets);
}

/* Waits for clients, for the next tick, or until the server is stopped (false). */
static bool wait_for_clients(crn_http *http, int epoll)
{
    struct pollfd polled[] = {{.fd = epoll, .events = POLLIN},
                              {.fd = http->wake_descriptor, .events = POLLIN}};
    MHD_UNSIGNED_LONG_LONG wanted_ms;
    int wait_ms = (int)((http->stats.connections > 0 ? TICK_NS : TAKE_NS) / CRN_NS_PER_MS);
    if (MHD_get_timeout(http->daemon, &wanted_ms) == MHD_YES &&
        wanted_ms < (MHD_UNSIGNED_LONG_LONG)wait_ms)
        wait_ms = (int)wanted_ms;
    (void)poll(polled, 2, wait_ms);
    return !(polled[1].revents & POLLIN);
}

static void *serve(void *argument)
{
    crn_http *http = argument;
    prctl(PR_SET_NAME, "http", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    int epoll = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    while (wait_for_clients(http, epoll)) {
        int64_t now_ns = crn_now_ns();
        update(http, now_ns);
        update_streams(http, now_ns);
        crn_clients_drop(&http->clients, now_ns);
        MHD_run(http->daemon);
        crn_pulse_done(http->pulse);
    }
    crn_streams_end(http->streams);
    for (int i = 0; i < LAST_RUNS; i++)
        MHD_run(http->daemon);
    return NULL;
}

/* --- open and close --------------------------------------------------------------------------- */

static int start_daemon(crn_http *http, int listener)
{
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, crn_http_handle, http,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CRN_HTTP_CLIENTS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)CRN_HTTP_CLIENTS_PER_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CRN_HTTP_CLIENT_BYTES, MHD_OPTION_NOTIFY_CONNECTION, crn_clients_changed,
        &http->clients, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, crn_http_note_uri, NULL, MHD_OPTION_END);
    return http->daemon ? 0 : -ENOMEM;
}

static int start_thread(crn_http *http)
{
    int r = crn_thread_start(&http->thread, serve, http);
    http->started = r == 0;
    if (r == 0)
        crn_watchdog_add(http->pulse, CRN_PULSE_ROUNDS, "http");
    return r;
}

static int start(crn_http *http, crn_error *error)
{
    const char *address = http->facts.config->monitor.http;
    int listener;
    int r = http->facts.config->monitor.http_named
                ? crn_http_listen(address, &listener, http->address, error)
                : crn_http_listen_near(address, &listener, http->address, error);
    if (r < 0)
        return r;
    if (crn_http_moved(http))
        crn_log(CRN_LOG_WARNING,
                "monitor.http: %s is in use, by another line perhaps: the live page is at "
                "http://%s; an address in monitor.http stays the same over starts",
                address, http->address);
    http->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = http->wake_descriptor < 0 ? -errno : start_daemon(http, listener);
    if (!http->daemon)
        close(listener);
    if (r == 0)
        r = crn_encoder_create(CRN_FORMAT_JSON, &http->encoder);
    if (r == 0 && !(http->streams = crn_streams_create()))
        r = -ENOMEM;
    if (r == 0)
        r = crn_history_create((int32_t)http->facts.config->limits.lanes, &http->history);
    if (r == 0)
        r = crn_sheets_create(&http->sheets);
    if (r == 0)
        r = start_thread(http);
    return r < 0 ? crn_error_set(error, r, "cannot serve %s: %s", address, strerror(-r)) : 0;
}

int crn_http_open(const crn_config *config, const crn_http_settings *settings, crn_http **ret_http,
                  crn_error *error)
{
    const char *why;
    crn_backend backend = (crn_backend)config->run.backend;
    const crn_ops *ops =
        crn_backend_ops(backend == CRN_BACKEND_CUDA ? CRN_BACKEND_OPENMP : backend, &why);
    crn_http *http = calloc(1, sizeof *http);
    if (!http)
        return crn_error_set(error, -ENOMEM, "monitor.http: no memory");
    http->facts.config = config;
    http->facts.processor = ops ? ops->name : "";
    http->facts.started_ns = crn_realtime_ns();
    http->facts.began_ns = crn_now_ns();
    snprintf(http->facts.run, sizeof http->facts.run, "%s", settings->run);
    http->from = *settings;
    http->clients.stats = &http->stats;
    http->clients.idle_s = settings->idle_s;
    http->clients.request_s = settings->request_s;
    http->wake_descriptor = -1;
    http->pulse = crn_pulse_create();
    crn_error fault;
    const char *token_file = config->monitor.token_file;
    int r = token_file[0] ? crn_http_token_read(token_file, http->token, &fault) : 0;
    if (r < 0) {
        crn_http_close(&http);
        return crn_error_set(error, r, "monitor.token_file: %s", fault.text);
    }
    r = http->pulse ? start(http, &fault) : crn_error_set(&fault, -ENOMEM, "no memory");
    if (r < 0)
        crn_http_close(&http); /* sets it to NULL */
    if (r < 0 && config->monitor.http_named)
        return crn_error_set(error, r, "monitor.http: %s", fault.text);
    if (r < 0)
        crn_log(CRN_LOG_WARNING,
                "monitor.http: %s; the line runs without metrics: name a free address in "
                "monitor.http, or \"\" "
                "for none",
                fault.text);
    *ret_http = http;
    return 0;
}

void crn_http_close(crn_http **http)
{
    crn_http *closing = *http;
    if (!closing)
        return;
    if (closing->started) {
        crn_watchdog_remove(closing->pulse);
        uint64_t one = 1;
        while (write(closing->wake_descriptor, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(closing->thread, NULL);
    }
    if (closing->daemon)
        MHD_stop_daemon(closing->daemon);
    if (closing->metrics)
        MHD_destroy_response(closing->metrics);
    crn_minutes_answers_free(&closing->minutes);
    if (closing->wake_descriptor >= 0)
        close(closing->wake_descriptor);
    crn_streams_free(&closing->streams);
    crn_history_free(&closing->history);
    crn_sheets_free(&closing->sheets);
    crn_encoder_free(&closing->encoder);
    free(closing->pulse);
    free(closing);
    *http = NULL;
}

bool crn_http_moved(const crn_http *http)
{
    const crn_config *config = http ? http->facts.config : NULL;
    return config && !config->monitor.http_named &&
           strcmp(http->address, config->monitor.http) != 0;
}

const char *crn_http_address(const crn_http *http)
{
    return http ? http->address : "";
}
