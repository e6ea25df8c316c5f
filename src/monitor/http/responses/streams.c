#include "src/monitor/http/responses/streams.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Bytes that libmicrohttpd asks for at once: they lie in the connection's own memory. */
#define BLOCK_BYTES 4096

/* A client, and the event that it is reading. */
typedef struct stream {
    crn_streams *streams;
    struct MHD_Connection *connection; /* NULL: the entry is free */
    bool suspended;
    uint64_t event;
    char *text;
    size_t capacity, size, sent;
} stream;

struct crn_streams {
    stream at[CRN_STREAMS_MAX];
    uint64_t count;
    uint64_t event; /* number of the latest; 0: none yet */
    char *text;
    size_t capacity, size;
    bool ended;
};

crn_streams *crn_streams_create(void)
{
    crn_streams *streams = calloc(1, sizeof *streams);
    for (int i = 0; streams && i < CRN_STREAMS_MAX; i++)
        streams->at[i].streams = streams;
    return streams;
}

void crn_streams_free(crn_streams **streams)
{
    if (!streams || !*streams)
        return;
    for (int i = 0; i < CRN_STREAMS_MAX; i++)
        free((*streams)->at[i].text);
    free((*streams)->text);
    free(*streams);
    *streams = NULL;
}

uint64_t crn_streams_count(const crn_streams *streams)
{
    return streams->count;
}

/* Copies an event into a buffer that grows. */
static bool store(char **buffer, size_t *capacity, const char *text, size_t size)
{
    if (size > *capacity) {
        char *larger = realloc(*buffer, size);
        if (!larger)
            return false;
        *buffer = larger;
        *capacity = size;
    }
    memcpy(*buffer, text, size);
    return true;
}

/* Makes the latest event the client's next one; false if it had that already. */
static bool next_event(stream *client)
{
    const crn_streams *streams = client->streams;
    if (client->event == streams->event ||
        !store(&client->text, &client->capacity, streams->text, streams->size))
        return false;
    client->event = streams->event;
    client->size = streams->size;
    client->sent = 0;
    return true;
}

static ssize_t read_stream(void *context, uint64_t position, char *buffer, size_t capacity)
{
    stream *client = context;
    (void)position;
    if (client->streams->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (client->sent == client->size && !next_event(client)) {
        client->suspended = true;
        MHD_suspend_connection(client->connection);
        return 0;
    }
    size_t left = client->size - client->sent;
    size_t part = left < capacity ? left : capacity;
    memcpy(buffer, client->text + client->sent, part);
    client->sent += part;
    return (ssize_t)part;
}

static void close_stream(void *context)
{
    stream *client = context;
    client->connection = NULL;
    client->suspended = false;
    client->streams->count--;
}

struct MHD_Response *crn_streams_open(crn_streams *streams, struct MHD_Connection *connection)
{
    stream *client = streams->at;
    while (client < streams->at + CRN_STREAMS_MAX && client->connection)
        client++;
    if (client == streams->at + CRN_STREAMS_MAX)
        return NULL;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, client, close_stream);
    if (!response)
        return NULL;
    streams->count++;
    client->connection = connection;
    client->suspended = false;
    client->event = 0;
    client->size = client->sent = 0;
    return response;
}

static void resume_all(crn_streams *streams)
{
    for (int i = 0; i < CRN_STREAMS_MAX; i++) {
        stream *client = &streams->at[i];
        if (client->connection && client->suspended) {
            client->suspended = false;
            MHD_resume_connection(client->connection);
        }
    }
}

void crn_streams_send(crn_streams *streams, const char *text, size_t size)
{
    if (!store(&streams->text, &streams->capacity, text, size))
        return;
    streams->size = size;
    streams->event++;
    resume_all(streams);
}

void crn_streams_end(crn_streams *streams)
{
    streams->ended = true;
    resume_all(streams);
}
