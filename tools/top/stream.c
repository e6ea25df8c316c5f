#include "tools/top/stream.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/client/daemon_url.h"

#define CONNECT_MS 3000

/* Before each attempt to connect: doubled up to the latter. */
#define RETRY_FIRST_NS (1 * CRN_NS_PER_S)
#define RETRY_LAST_NS  (5 * CRN_NS_PER_S)

struct crn_stream {
    char url[CRN_DAEMON_URL_BYTES];
    crn_sse sse;
    crn_sse_fn *event;
    void *context;
    CURLM *multi;
    CURL *curl;       /* NULL: not connected */
    int64_t event_ns; /* of the last event, or of the opening */
    int64_t begun_ns; /* when the connection was begun */
    int64_t retry_ns, pause_ns;
    bool alive; /* an event has come on this connection */
    char fault[256];
};

static void on_event(void *context, const char *data, size_t size)
{
    crn_stream *stream = context;
    stream->event_ns = crn_now_ns();
    stream->alive = true;
    stream->pause_ns = RETRY_FIRST_NS;
    stream->fault[0] = '\0';
    stream->event(stream->context, data, size);
}

/* libcurl's callback for what came. */
static size_t read_bytes(char *bytes, size_t one, size_t count, void *context)
{
    crn_stream *stream = context;
    long status = 0;
    curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return one * count; /* an answer in words, which the status sums up */
    return crn_sse_read(&stream->sse, bytes, one * count) ? one * count : 0;
}

static void disconnect(crn_stream *stream, const char *why)
{
    if (stream->curl) {
        curl_multi_remove_handle(stream->multi, stream->curl);
        curl_easy_cleanup(stream->curl);
    }
    stream->curl = NULL;
    stream->alive = false;
    stream->retry_ns = crn_now_ns() + stream->pause_ns;
    stream->pause_ns *= 2;
    if (stream->pause_ns > RETRY_LAST_NS)
        stream->pause_ns = RETRY_LAST_NS;
    snprintf(stream->fault, sizeof stream->fault, "%s", why);
}

static void connect_again(crn_stream *stream)
{
    crn_sse_restart(&stream->sse);
    stream->begun_ns = crn_now_ns();
    stream->curl = curl_easy_init();
    if (!stream->curl) {
        disconnect(stream, "no memory");
        return;
    }
    curl_easy_setopt(stream->curl, CURLOPT_URL, stream->url);
    curl_easy_setopt(stream->curl, CURLOPT_WRITEFUNCTION, read_bytes);
    curl_easy_setopt(stream->curl, CURLOPT_WRITEDATA, stream);
    curl_easy_setopt(stream->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(stream->curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(stream->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(stream->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_multi_add_handle(stream->multi, stream->curl);
}

int crn_stream_open(const char *endpoint, crn_sse_fn *event, void *context, crn_stream **ret_stream,
                    crn_error *error)
{
    crn_stream *stream = calloc(1, sizeof *stream);
    *ret_stream = stream;
    if (!stream || !(stream->multi = curl_multi_init())) {
        crn_stream_close(ret_stream);
        return crn_error_set(error, -ENOMEM, "no memory");
    }
    if (!crn_daemon_url(endpoint, "/events", stream->url)) {
        crn_stream_close(ret_stream);
        return crn_error_set(error, -ENAMETOOLONG, "%s: this is not HOST:PORT", endpoint);
    }
    stream->event = event;
    stream->context = context;
    stream->event_ns = crn_now_ns();
    stream->pause_ns = RETRY_FIRST_NS;
    stream->sse = (crn_sse){.event = on_event, .context = stream, .bytes_max = (size_t)4 << 20};
    return 0;
}

void crn_stream_close(crn_stream **stream)
{
    if (!*stream)
        return;
    if ((*stream)->curl)
        disconnect(*stream, "");
    if ((*stream)->multi)
        curl_multi_cleanup((*stream)->multi);
    crn_sse_done(&(*stream)->sse);
    free(*stream);
    *stream = NULL;
}

/* Looks whether the connection has ended. */
static void look_after(crn_stream *stream)
{
    int left;
    CURLMsg *message = curl_multi_info_read(stream->multi, &left);
    if (message && message->msg == CURLMSG_DONE) {
        long status = 0;
        char why[256];
        curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &status);
        if (status == 503)
            snprintf(why, sizeof why, "too many pages are open there");
        else if (status && status != 200)
            snprintf(why, sizeof why, "it answers with status %ld, so it is not cernitad", status);
        else if (message->data.result == CURLE_WRITE_ERROR)
            snprintf(why, sizeof why, "it sends something else, so it is not cernitad");
        else
            snprintf(why, sizeof why, "%s",
                     message->data.result == CURLE_OK ? "the daemon ended the connection"
                                                      : curl_easy_strerror(message->data.result));
        disconnect(stream, why);
        return;
    }
    int64_t since_ns = stream->alive ? stream->event_ns : stream->begun_ns;
    if (stream->curl && crn_now_ns() - since_ns > CRN_STREAM_SILENCE_NS)
        disconnect(stream, "the daemon sends nothing");
}

void crn_stream_wait(crn_stream *stream, int descriptor, int wait_ms)
{
    struct curl_waitfd wanted = {.fd = descriptor, .events = CURL_WAIT_POLLIN};
    int running;
    if (!stream->curl && crn_now_ns() >= stream->retry_ns)
        connect_again(stream);
    curl_multi_perform(stream->multi, &running);
    curl_multi_poll(stream->multi, &wanted, descriptor >= 0, wait_ms, NULL);
    curl_multi_perform(stream->multi, &running);
    look_after(stream);
}

const char *crn_stream_fault(const crn_stream *stream)
{
    return stream->fault;
}

int64_t crn_stream_lost_ns(const crn_stream *stream)
{
    return stream->alive ? 0 : stream->event_ns;
}
