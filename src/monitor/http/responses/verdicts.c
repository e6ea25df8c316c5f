#include "src/monitor/http/responses/verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "src/monitor/http/responses/pieces.h"
#include "src/formats/verdict_log/format.h"
#include "stages/base/clock.h"

/* The verdicts that are sent to one reader. */
typedef struct verdicts {
    crn_piece_source source;
    const crn_flight *flight;
    uint64_t next, end;   /* numbers of verdicts */
    unsigned char *bytes; /* a copy of the one being sent */
    size_t capacity;
    unsigned char header[CRN_VERDICT_LOG_HEADER_BYTES];
    bool begun;
} verdicts;

static bool hold(verdicts *self, const crn_flight_fruit *fruit)
{
    if (fruit->size > self->capacity) {
        unsigned char *larger = realloc(self->bytes, fruit->size);
        if (!larger)
            return false;
        self->bytes = larger;
        self->capacity = fruit->size;
    }
    memcpy(self->bytes, fruit->record, fruit->size);
    return true;
}

static bool next_verdict(crn_piece_source *source, const unsigned char **ret_bytes,
                         size_t *ret_size)
{
    verdicts *self = (verdicts *)source;
    if (!self->begun) {
        self->begun = true;
        *ret_bytes = self->header;
        *ret_size = sizeof self->header;
        return true;
    }
    crn_flight_range kept = crn_flight_kept(self->flight);
    if (self->next < kept.first)
        self->next = kept.first;
    if (self->next >= self->end)
        return false;
    const crn_flight_fruit *fruit = crn_flight_at(self->flight, self->next++);
    if (!hold(self, fruit))
        return false;
    *ret_bytes = self->bytes;
    *ret_size = fruit->size;
    return true;
}

static void free_verdicts(crn_piece_source *source)
{
    verdicts *self = (verdicts *)source;
    free(self->bytes);
    free(self);
}

struct MHD_Response *crn_verdicts_open(const crn_flight *flight)
{
    crn_flight_range kept = crn_flight_kept(flight);
    verdicts *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->source = (crn_piece_source){.next = next_verdict, .free = free_verdicts};
    self->flight = flight;
    self->next = kept.first;
    self->end = kept.end;
    crn_verdict_log_pack_header(self->header, (uint64_t)crn_realtime_ns());
    return crn_pieces_answer(&self->source);
}
