#include "tools/sorter/monitor/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <microhttpd.h>

#include "src/http/address.h"
#include "src/http/exposition.h"
#include "src/http/headers.h"
#include "src/http/uri.h"
#include "stages/base/clock.h"
#include "tools/sorter/monitor/families.h"
#include "tools/sorter/monitor/health.h"

#define CLIENTS_MAX  16u
#define CLIENT_BYTES 16384 /* memory for a request and its headers */
#define IDLE_S       10u

struct crn_sorter_http {
    const char *given;
    char address[CRN_HTTP_ADDRESS_BYTES];
    crn_sorter_observe *observe;
    void *context;
    struct MHD_Daemon *daemon;
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              char *text, size_t size, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(size, text, mode);
    if (!response) {
        if (mode == MHD_RESPMEM_MUST_FREE)
            free(text);
        return MHD_NO;
    }
    crn_http_add_headers(response, type);
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result r = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return r;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *why)
{
    return answer(connection, code, CRN_HTTP_TEXT, (char *)(uintptr_t)why, strlen(why),
                  MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result answer_page(crn_sorter_http *http, struct MHD_Connection *connection,
                                   bool metrics)
{
    char *text = NULL;
    size_t size = 0;
    crn_sorter_observation observation;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return MHD_NO;
    http->observe(http->context, &observation);
    (metrics ? crn_sorter_families_print : crn_sorter_health_print)(&observation, out);
    if (fclose(out) != 0) {
        free(text);
        return MHD_NO;
    }
    bool good = metrics || crn_sorter_is_healthy(&observation);
    return answer(connection, good ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                  metrics ? CRN_EXPOSITION_MEDIA_TYPE : CRN_HTTP_JSON, text, size,
                  MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    crn_sorter_http *http = context;
    const char *host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    bool metrics = strcmp(path, "/metrics") == 0, health = strcmp(path, "/healthz") == 0;
    (void)version;
    (void)upload;
    (void)upload_size;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET, HEAD\n");
    if (!crn_http_host_is_own(host, http->given, NULL))
        return refuse(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                      "unknown host name: use the address, localhost, the machine's name, or the "
                      "name that monitor.http gives\n");
    if (*request == crn_http_faulty_uri || (!metrics && !health))
        return refuse(connection, MHD_HTTP_NOT_FOUND,
                      "no such page; there are /metrics and /healthz\n");
    return answer_page(http, connection, metrics);
}

int crn_sorter_http_open(const char *address, crn_sorter_observe *observe, void *context,
                         crn_sorter_http **ret_http, crn_error *error)
{
    int listener;
    crn_sorter_http *http = calloc(1, sizeof *http);
    if (!http)
        return crn_error_set(error, -ENOMEM, "monitor.http: no memory");
    http->given = address;
    http->observe = observe;
    http->context = context;
    crn_error fault;
    int r = crn_http_listen(address, &listener, http->address, &fault);
    if (r < 0) {
        free(http);
        return crn_error_set(error, r, "monitor.http: %s", fault.text);
    }
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CLIENT_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, crn_http_note_uri, NULL, MHD_OPTION_END);
    if (!http->daemon) {
        close(listener);
        free(http);
        return crn_error_set(error, -ENOMEM, "monitor.http: no memory");
    }
    *ret_http = http;
    return 0;
}

void crn_sorter_http_close(crn_sorter_http **http)
{
    if (!*http)
        return;
    MHD_stop_daemon((*http)->daemon);
    free(*http);
    *http = NULL;
}

const char *crn_sorter_http_address(const crn_sorter_http *http)
{
    return http->address;
}

zmq_pollitem_t crn_sorter_http_poll(const crn_sorter_http *http)
{
    int epoll = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return (zmq_pollitem_t){.fd = epoll, .events = ZMQ_POLLIN};
}

int64_t crn_sorter_http_serve(crn_sorter_http *http, int64_t now_ns)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    MHD_run(http->daemon);
    if (MHD_get_timeout(http->daemon, &wait_ms) != MHD_YES)
        return CRN_NEVER_NS;
    return now_ns + (int64_t)wait_ms * CRN_NS_PER_MS;
}
