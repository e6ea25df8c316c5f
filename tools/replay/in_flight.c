#include "tools/replay/in_flight.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "src/client/connection.h"
#include "tools/common/verdicts/view_text.h"
#include "stages/base/buffer/array.h"

/* Views that suit a daemon that does not say how many slots it has: as many as the smallest. */
#define SLOTS_UNKNOWN 16

/* A verdict leaves at its deadline at the latest: after twice the budget and this time it was lost
 * on its way to this viewer. */
#define LOST_AFTER_NS (2 * CRN_NS_PER_S)

/* Shares of the budget below and above which more and fewer fruits are sent at a time. */
#define SHARE_LOW  0.25
#define SHARE_HIGH 0.5

typedef struct waiting_fruit {
    crn_in_flight_fruit fruit;
    int64_t sent_ns; /* CLOCK_MONOTONIC */
} waiting_fruit;

struct crn_in_flight {
    crn_in_flight_settings settings;
    crn_connection connection;
    crn_decoded_status line;
    waiting_fruit *waiting; /* oldest first */
    uint32_t count;
    uint32_t limit, limit_max; /* of waiting fruits */
    int64_t heard_ns;          /* the last verdict, or the last time that none was due */
    int64_t lost_after_ns;     /* 0 before the first verdict */
    crn_in_flight_result result;
};

/* --- one verdict --- */

/* True if the line did not judge a view as it was sent, or judged it without a step. What the
 * values of the maps, or a limit on defects, made partial is the recording's. */
static bool lost_views(const crn_decoded *verdict, uint32_t sent)
{
    bool all_came = verdict->views_received >= sent;
    for (uint32_t i = 0; i < verdict->view_count; i++) {
        const crn_decoded_view *view = &verdict->views[i];
        if (crn_decoded_view_is(view, "judged")
                ? !strcmp(view->reason, "skipped")
                : !all_came || !crn_decoded_view_is(view, "missing"))
            return true;
    }
    return !all_came || verdict->skipped_count > 0;
}

static void note_lost(crn_in_flight_result *result, const crn_in_flight_fruit *fruit,
                      const char *word, const crn_decoded *verdict)
{
    char views[sizeof result->example / 2];
    if (result->lost++ > 0)
        return;
    crn_views_text(verdict, views, sizeof views);
    snprintf(result->example, sizeof result->example,
             "lane %" PRIu32 ", fruit %" PRIu64 " %s%s%s%s%s", fruit->lane, fruit->fruit, word,
             *views ? ": " : "", views, verdict->skipped_count ? ", without " : "",
             verdict->skipped_count ? verdict->skipped[0] : "");
}

static void count_verdict(crn_in_flight_result *result, const crn_in_flight_fruit *fruit,
                          const crn_decoded *verdict)
{
    result->complete += verdict->kind == CRN_VERDICT_COMPLETE;
    result->partial += verdict->kind == CRN_VERDICT_PARTIAL;
    result->late += verdict->kind == CRN_VERDICT_LATE;
    if (verdict->kind == CRN_VERDICT_LATE)
        note_lost(result, fruit, "late", verdict);
    else if (verdict->kind == CRN_VERDICT_PARTIAL && lost_views(verdict, fruit->views))
        note_lost(result, fruit, "partial", verdict);
}

/* More fruits at a time while the line is well within its budget, half as many when it is not. */
static void adapt(crn_in_flight *self, const crn_decoded *verdict)
{
    double share = verdict->total_ms / verdict->budget_ms;
    if (self->settings.fruits || !isfinite(share))
        return;
    if (share > SHARE_HIGH || verdict->kind == CRN_VERDICT_LATE)
        self->limit = self->limit > 1 ? self->limit / 2 : 1;
    else if (share < SHARE_LOW && self->limit < self->limit_max)
        self->limit++;
}

static void forget(crn_in_flight *self, uint32_t at)
{
    self->count--;
    memmove(&self->waiting[at], &self->waiting[at + 1], (self->count - at) * sizeof *self->waiting);
}

static void take_verdict(crn_in_flight *self, const crn_decoded *verdict)
{
    self->heard_ns = crn_now_ns();
    if (isfinite(verdict->budget_ms))
        self->lost_after_ns = (int64_t)(2e6 * verdict->budget_ms) + LOST_AFTER_NS;
    for (uint32_t i = 0; i < self->count; i++) {
        const crn_in_flight_fruit *fruit = &self->waiting[i].fruit;
        if (fruit->lane != verdict->lane || fruit->fruit != verdict->fruit ||
            fruit->epoch != verdict->epoch)
            continue;
        count_verdict(&self->result, fruit, verdict);
        adapt(self, verdict);
        forget(self, i);
        return;
    }
}

/* --- receiving --- */

static void take_message(crn_in_flight *self, const char *topic, zmq_msg_t *body)
{
    crn_messagepack_json packed;
    crn_decoded *verdict = NULL;
    crn_error ignored;
    if (crn_messagepack_json_init(&packed, zmq_msg_data(body), zmq_msg_size(body), &ignored))
        return;
    if (!strcmp(topic, "status"))
        crn_decode_status(&packed, &self->line, &ignored);
    else if (!crn_decode_head(&packed, &verdict, &ignored))
        take_verdict(self, verdict);
    crn_decoded_free(&verdict);
    crn_messagepack_json_done(&packed);
}

/* A fruit whose verdict is overdue counts as unseen: viewers lose some under load. */
static void forget_overdue(crn_in_flight *self)
{
    int64_t now_ns = crn_now_ns();
    while (self->lost_after_ns && self->count &&
           now_ns - self->waiting[0].sent_ns > self->lost_after_ns) {
        self->result.unseen++;
        forget(self, 0);
    }
}

void crn_in_flight_read(crn_in_flight *self)
{
    char topic[32];
    zmq_msg_t body;
    zmq_msg_init(&body);
    while (crn_connection_receive(&self->connection, topic, sizeof topic, &body) > 0)
        take_message(self, topic, &body);
    zmq_msg_close(&body);
    forget_overdue(self);
}

/* Waits for a message, for 50 ms at most. 0, or -ECANCELED. */
static int await_message(crn_in_flight *self)
{
    zmq_pollitem_t items[2] = {{.socket = self->connection.socket, .events = ZMQ_POLLIN},
                               {.fd = self->settings.signals, .events = ZMQ_POLLIN}};
    zmq_poll(items, 2, 50);
    crn_in_flight_read(self);
    return items[1].revents ? -ECANCELED : 0;
}

/* Waits until at most `most` fruits have no verdict. */
static int await_verdicts(crn_in_flight *self, uint32_t most, crn_error *error)
{
    int r = 0;
    crn_in_flight_read(self);
    while (!r && self->count > most) {
        r = await_message(self);
        if (!r && self->count > most &&
            crn_now_ns() - self->heard_ns > self->settings.wait_ms * CRN_NS_PER_MS)
            return crn_error_set(error, -ETIMEDOUT,
                                 "%s: no verdict came for %" PRId64 " s, and %" PRIu32
                                 " fruits wait for theirs: is this the publish.viewers.bind of the "
                                 "line at --to? Its log says what it did with the views",
                                 self->settings.endpoint, self->settings.wait_ms / 1000,
                                 self->count);
    }
    return r;
}

/* --- sending --- */

int crn_in_flight_await_room(crn_in_flight *self, crn_error *error)
{
    for (;;) { /* the limit may fall meanwhile */
        uint32_t most = self->limit - 1;
        int r = self->settings.limited ? await_verdicts(self, most, error) : 0;
        if (r || !self->settings.limited || self->count < self->limit)
            return r;
    }
}

int crn_in_flight_sent(crn_in_flight *self, const crn_in_flight_fruit *fruit)
{
    if (crn_array_grow(&self->waiting, self->count, sizeof *self->waiting) < 0)
        return -ENOMEM;
    int64_t now_ns = crn_now_ns();
    if (!self->count)
        self->heard_ns = now_ns;
    self->waiting[self->count++] = (waiting_fruit){*fruit, now_ns};
    if (self->count > self->result.most)
        self->result.most = self->count;
    return 0;
}

int crn_in_flight_finish(crn_in_flight *self, crn_error *error)
{
    int r = await_verdicts(self, 0, error);
    self->result.unseen += self->count;
    self->count = 0;
    return r;
}

/* --- open and close --- */

/* Of the slots those of the fruits that are still being sent are taken; a quarter stays free for
 * views that a judged fruit still holds. */
static void choose_limit(crn_in_flight *self)
{
    const crn_in_flight_settings *settings = &self->settings;
    uint64_t slots = self->line.slots ? self->line.slots : SLOTS_UNKNOWN;
    uint64_t fruits = slots * 3 / 4 / settings->views_max;
    fruits = fruits > settings->open_max ? fruits - settings->open_max : 1;
    self->limit_max = fruits < UINT32_MAX ? (uint32_t)fruits : UINT32_MAX;
    self->limit = self->limit_max < 2 ? self->limit_max : 2;
    if (settings->fruits)
        self->limit = settings->fruits;
}

static int await_line(crn_in_flight *self, crn_error *error)
{
    int64_t until_ns = crn_now_ns() + self->settings.wait_ms * CRN_NS_PER_MS;
    while (!*self->line.run) {
        int r = await_message(self);
        if (r)
            return r;
        const char *fault = crn_handshake_fault(&self->connection.handshake);
        if (fault && self->connection.handshake.final)
            return crn_error_set(error, -EACCES, "--verdicts %s: %s", self->settings.endpoint,
                                 fault);
        if (!*self->line.run && crn_now_ns() >= until_ns)
            return crn_error_set(error, -ETIMEDOUT,
                                 "--verdicts %s: heard nothing of a line for %" PRId64 " s: %s",
                                 self->settings.endpoint, self->settings.wait_ms / 1000,
                                 fault ? fault : crn_connection_hint);
    }
    choose_limit(self);
    return 0;
}

int crn_in_flight_open(const crn_in_flight_settings *settings, crn_in_flight **ret_in_flight,
                       crn_error *error)
{
    crn_in_flight *self = calloc(1, sizeof *self);
    if (!self)
        return crn_error_set(error, -ENOMEM, "no memory to follow the verdicts");
    self->settings = *settings;
    int r = crn_connection_open(&self->connection, settings->endpoint, false, CRN_ALL_LANES,
                                settings->keys, error);
    /* The subscription to the status follows that to the verdicts: with the first status both are
     * in force. */
    if (!r)
        r = await_line(self, error);
    if (r) {
        crn_in_flight_close(&self);
        return r;
    }
    *ret_in_flight = self;
    return 0;
}

void crn_in_flight_close(crn_in_flight **in_flight)
{
    if (!*in_flight)
        return;
    crn_connection_close(&(*in_flight)->connection);
    free((*in_flight)->waiting);
    free(*in_flight);
    *in_flight = NULL;
}

void crn_in_flight_tell_classes(const crn_in_flight *self, const crn_classes *recorded,
                                const crn_tool *tool)
{
    const crn_decoded_status *line = &self->line;
    uint32_t count = (uint32_t)recorded->count;
    if (!count || !line->class_count)
        return;
    if (count != line->class_count)
        crn_tool_note(tool, "the recordings have %" PRIu32 " classes, the line has %" PRIu32, count,
                      line->class_count);
    for (uint32_t i = 0; i < line->class_count && i < count; i++)
        if (strcmp(recorded->name[i], line->classes[i]) != 0) {
            crn_tool_note(tool,
                          "channel %" PRIu32
                          " is the class '%s' in the recordings, and '%s' on the "
                          "line, whose level it gets",
                          i, recorded->name[i], line->classes[i]);
            return;
        }
}

crn_in_flight_result crn_in_flight_get_result(const crn_in_flight *self)
{
    return self->result;
}
