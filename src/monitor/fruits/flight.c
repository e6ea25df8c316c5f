#include "src/monitor/fruits/flight.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/formats/encoding/encoder.h"
#include "src/formats/verdict_log/format.h"
#include "stages/base/byte_ring.h"

#define ALIGN_BYTES 16

/* Fruits kept at most: a power of two, and more than CRN_FLIGHT_BYTES holds of usual ones. */
#define KEPT_MAX 16384

/* Followed by the views, and then by the verdict, which has `fruit.size` bytes. */
typedef struct queued_fruit {
    crn_flight_fruit fruit;
    crn_flight_view views[];
} queued_fruit;

struct crn_flight {
    const crn_config *config;
    crn_byte_ring queue;
    atomic_uint_fast64_t dropped;

    /* Of the line's thread: */
    crn_verdict *packer;
    crn_encoder *encoder;

    /* Of the HTTP thread: */
    crn_flight_range kept;
    unsigned char *memory; /* CRN_FLIGHT_BYTES, a ring of fruits */
    size_t used;           /* end of the latest fruit */
    crn_flight_fruit *fruits[KEPT_MAX];
};

int crn_flight_create(const crn_config *config, crn_flight **ret_flight)
{
    crn_flight *flight = calloc(1, sizeof *flight);
    if (!flight)
        return -ENOMEM;
    flight->config = config;
    flight->memory = malloc(CRN_FLIGHT_BYTES); /* becomes resident as it is used */
    int r = flight->memory ? crn_byte_ring_init(&flight->queue, CRN_FLIGHT_QUEUE_BYTES) : -ENOMEM;
    if (r == 0)
        r = crn_verdict_create(config, &flight->packer);
    if (r == 0)
        r = crn_encoder_create(CRN_FORMAT_MSGPACK, &flight->encoder);
    if (r < 0)
        crn_flight_free(&flight);
    *ret_flight = flight;
    return r;
}

void crn_flight_free(crn_flight **flight)
{
    crn_flight *freed = *flight;
    if (!freed)
        return;
    free(freed->memory);
    crn_verdict_free(&freed->packer);
    crn_encoder_free(&freed->encoder);
    crn_byte_ring_done(&freed->queue);
    free(freed);
    *flight = NULL;
}

static void count_dropped(crn_flight *flight)
{
    atomic_fetch_add_explicit(&flight->dropped, 1, memory_order_relaxed);
}

uint64_t crn_flight_dropped(const crn_flight *flight)
{
    return atomic_load_explicit(&flight->dropped, memory_order_relaxed);
}

/* --- the line's thread --- */

static void copy_view(const crn_fruit_view *view, int64_t number, int64_t now_ns,
                      crn_flight_view *ret_view)
{
    bool judged = view->state == CRN_VIEW_JUDGED;
    *ret_view = (crn_flight_view){.number = (uint16_t)number,
                                  .height_px = view->height_px,
                                  .width_px = view->width_px,
                                  .state = view->state,
                                  .received_ns = view->received_ns,
                                  .begun_ns = view->begun_ns,
                                  .ended_ns = view->lost_ns ? view->lost_ns : now_ns};
    if (judged) {
        ret_view->judgement = view->judgement;
        ret_view->begun_ns = view->received_ns + view->judgement.queue_ns;
        ret_view->ended_ns = ret_view->begun_ns + view->judgement.run_ns;
    }
}

/* The block behind the views. */
static unsigned char *verdict_of(const queued_fruit *queued)
{
    return (unsigned char *)(uintptr_t)(queued->views + queued->fruit.view_count);
}

static void queue_fruit(crn_flight *flight, const crn_fruit *fruit, const crn_verdict_facts *facts,
                        const crn_verdict_bytes *packed, queued_fruit *queued)
{
    queued->fruit = (crn_flight_fruit){.lane = facts->lane,
                                       .epoch = fruit->epoch,
                                       .fruit = fruit->fruit,
                                       .kind = facts->kind,
                                       .judged = fruit->judged,
                                       .expected = fruit->expected,
                                       .opened_ns = fruit->opened_ns,
                                       .closed_ns = fruit->closed_ns,
                                       .published_ns = facts->now_ns,
                                       .size = packed->size};
    const crn_config *config = fruit->config ? fruit->config : flight->config;
    queued->fruit.budget_ns = config->latency.budget_ms * CRN_NS_PER_MS;
    queued->fruit.steps = config->steps;
    for (int32_t i = 0; i < config->steps; i++)
        queued->fruit.step[i] = crn_config_step_kind(config, i);
    for (int64_t i = 0; i < flight->config->limits.views; i++)
        if (crn_fruit_view_is_received(&fruit->views[i]))
            copy_view(&fruit->views[i], i, facts->now_ns,
                      &queued->views[queued->fruit.view_count++]);
    unsigned char *verdict = verdict_of(queued);
    memcpy(verdict, packed->bytes, packed->size);
    crn_encoder_set_bool(CRN_FORMAT_MSGPACK, verdict + packed->stale_at,
                         facts->now_ns > fruit->deadline_ns);
}

/* The verdict as it is kept. */
static int pack(crn_flight *flight, const crn_fruit *fruit, const crn_published *published,
                const crn_result_store *store, crn_verdict_bytes *ret_packed)
{
    bool in_msgpack = published->msgpack.bytes != NULL;
    size_t size = in_msgpack ? published->msgpack.size : published->grader_bytes;
    crn_verdict_facts facts = published->facts;
    facts.totals_only = size > CRN_FLIGHT_WHOLE_BYTES;
    if (facts.totals_only || !in_msgpack)
        return crn_verdict_pack(flight->packer, flight->encoder, fruit, &facts, store, ret_packed);
    *ret_packed = published->msgpack;
    return 0;
}

void crn_flight_offer(crn_flight *flight, const crn_fruit *fruit, const crn_published *published,
                      const crn_result_store *store)
{
    crn_verdict_bytes packed;
    queued_fruit *queued = NULL;
    if (pack(flight, fruit, published, store, &packed) == 0)
        queued = crn_byte_ring_reserve(&flight->queue,
                                       sizeof *queued + fruit->received * sizeof queued->views[0] +
                                           packed.size);
    if (!queued) {
        count_dropped(flight);
        return;
    }
    queue_fruit(flight, fruit, &published->facts, &packed, queued);
    crn_byte_ring_push(&flight->queue);
}

/* --- the HTTP thread --- */

static size_t bytes_of(const crn_flight_fruit *fruit)
{
    size_t bytes = sizeof *fruit + fruit->view_count * sizeof fruit->views[0] + fruit->size;
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static size_t offset_of(const crn_flight *flight, const crn_flight_fruit *fruit)
{
    return (size_t)((const unsigned char *)fruit - flight->memory);
}

/* Finds room for `size` bytes behind the latest fruit, or at the start of the memory if they do not
 * fit before its end, and drops the fruits that lie there: they are the oldest. */
static crn_flight_fruit *make_room(crn_flight *flight, size_t size)
{
    bool wraps = size > CRN_FLIGHT_BYTES - flight->used;
    size_t at = wraps ? 0 : flight->used;
    while (flight->kept.first < flight->kept.end) {
        const crn_flight_fruit *oldest = flight->fruits[flight->kept.first % KEPT_MAX];
        size_t begin = offset_of(flight, oldest);
        bool covered = begin < at + size && at < begin + bytes_of(oldest);
        bool left_over = wraps && begin >= flight->used;
        bool all_taken = flight->kept.end - flight->kept.first == KEPT_MAX;
        if (!covered && !left_over && !all_taken)
            break;
        flight->kept.first++;
    }
    flight->used = at + size;
    return (crn_flight_fruit *)(void *)(flight->memory + at);
}

/* A fruit, its views and its record, one behind the other. */
static void keep(crn_flight *flight, const queued_fruit *queued)
{
    crn_flight_fruit fruit = queued->fruit;
    fruit.size += CRN_VERDICT_RECORD_BYTES;
    crn_flight_fruit *copy = make_room(flight, bytes_of(&fruit));
    crn_flight_view *views = (crn_flight_view *)(copy + 1);
    unsigned char *record = (unsigned char *)(views + fruit.view_count);
    memcpy(views, queued->views, fruit.view_count * sizeof *views);
    crn_verdict_record_pack(record, fruit.lane, verdict_of(queued), queued->fruit.size);
    memcpy(record + CRN_VERDICT_RECORD_BYTES, verdict_of(queued), queued->fruit.size);
    *copy = fruit;
    copy->views = views;
    copy->record = record;
    flight->fruits[flight->kept.end++ % KEPT_MAX] = copy;
}

void crn_flight_take(crn_flight *flight)
{
    const queued_fruit *queued;
    while ((queued = crn_byte_ring_poll(&flight->queue))) {
        keep(flight, queued);
        crn_byte_ring_pop(&flight->queue);
    }
}

crn_flight_range crn_flight_kept(const crn_flight *flight)
{
    return flight->kept;
}

const crn_flight_fruit *crn_flight_at(const crn_flight *flight, uint64_t number)
{
    return flight->fruits[number % KEPT_MAX];
}
