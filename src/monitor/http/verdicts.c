#include "src/monitor/http/verdicts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "src/publish/log/format.h"
#include "stages/base/clock.h"

/* Bytes that libmicrohttpd asks for at once. */
#define BLOCK_BYTES 32768

/* A reader of the page: its own copy of what it is being sent. */
typedef struct page_reader {
    const crn_flight *flight;
    uint64_t next, end; /* numbers of verdicts */
    unsigned char *bytes;
    size_t capacity, size, sent;
} page_reader;

static bool hold(page_reader *self, const void *bytes, size_t size)
{
    if (size > self->capacity) {
        unsigned char *larger = realloc(self->bytes, size);
        if (!larger)
            return false;
        self->bytes = larger;
        self->capacity = size;
    }
    memcpy(self->bytes, bytes, size);
    self->size = size;
    self->sent = 0;
    return true;
}

static bool hold_next(page_reader *self)
{
    crn_flight_range kept = crn_flight_kept(self->flight);
    if (self->next < kept.first)
        self->next = kept.first;
    if (self->next >= self->end)
        return false;
    const crn_flight_fruit *fruit = crn_flight_at(self->flight, self->next++);
    return hold(self, fruit->record, fruit->size);
}

static ssize_t read_page(void *context, uint64_t position, char *buffer, size_t capacity)
{
    page_reader *self = context;
    (void)position;
    size_t copied = 0;
    while (copied < capacity && (self->sent < self->size || hold_next(self))) {
        size_t left = self->size - self->sent, room = capacity - copied;
        size_t part = left < room ? left : room;
        memcpy(buffer + copied, self->bytes + self->sent, part);
        self->sent += part;
        copied += part;
    }
    return copied ? (ssize_t)copied : MHD_CONTENT_READER_END_OF_STREAM;
}

static void close_page(void *context)
{
    page_reader *self = context;
    free(self->bytes);
    free(self);
}

struct MHD_Response *crn_verdicts_open(const crn_flight *flight)
{
    unsigned char header[CRN_VERDICT_LOG_HEADER_BYTES];
    crn_flight_range kept = crn_flight_kept(flight);
    page_reader *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    *self = (page_reader){.flight = flight, .next = kept.first, .end = kept.end};
    crn_verdict_log_pack_header(header, (uint64_t)crn_realtime_ns());
    struct MHD_Response *response = NULL;
    if (hold(self, header, sizeof header))
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_page, self,
                                                     close_page);
    if (!response)
        close_page(self);
    return response;
}
