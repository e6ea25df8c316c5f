#include "src/monitor/fruits/trace.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/engine/device/device.h"
#include "stages/backend.h"
#include "stages/base/clock.h"

/* Numbers of the rows ("threads" of one process). */
enum row {
    ROW_LINE = 1,
    ROW_WORKERS = 100,
    ROW_DEVICES = 1000,
};

#define PROCESS    1
#define TEXT_BYTES 96

/* A batch that is in the trace already. */
typedef struct seen_batch {
    int64_t row, begun_ns;
} seen_batch;

typedef struct trace {
    const crn_config *config;
    crn_encoder *encoder;
    int64_t origin_ns;             /* the trace's time 0 */
    const crn_flight_fruit *fruit; /* the one whose views are written */
    uint32_t batches;
    seen_batch batch[CRN_TRACE_VIEWS];
} trace;

static int64_t row_of_worker(int64_t worker)
{
    return ROW_WORKERS + worker;
}

static int64_t row_of_stream(const crn_run_place *place)
{
    return ROW_DEVICES + place->device * CRN_DEVICE_SLOTS + place->stream;
}

/* --- events --- */

/* The format counts microseconds, and viewers read them as doubles. Counted from the machine's
 * start they would lose the nanoseconds after some 50 days, and spans that meet would overlap. */
static double us(const trace *self, int64_t ns)
{
    return (double)(ns - self->origin_ns) / 1e3;
}

/* Begins an event of `extra` further keys. */
static void begin(trace *self, const char *kind, const char *name, int64_t row, int64_t at_ns,
                  uint32_t extra)
{
    crn_encoder_map(self->encoder, 5 + extra);
    crn_encoder_pair_text(self->encoder, "ph", kind);
    crn_encoder_pair_text(self->encoder, "name", name);
    crn_encoder_pair_unsigned(self->encoder, "pid", PROCESS);
    crn_encoder_pair_unsigned(self->encoder, "tid", (uint64_t)row);
    crn_encoder_pair_real(self->encoder, "ts", us(self, at_ns));
}

static void span(trace *self, const char *name, int64_t row, int64_t from_ns, int64_t to_ns)
{
    begin(self, "X", name, row, from_ns, 1);
    /* The difference of the rounded times, so that to readers that add doubles a span ends exactly
     * where the next one begins. */
    crn_encoder_pair_real(self->encoder, "dur",
                          to_ns > from_ns ? us(self, to_ns) - us(self, from_ns) : 0);
    crn_encoder_map_end(self->encoder);
}

static void name_row(trace *self, int64_t row, const char *name)
{
    begin(self, "M", "thread_name", row, self->origin_ns, 1);
    crn_encoder_text(self->encoder, "args");
    crn_encoder_map(self->encoder, 1);
    crn_encoder_pair_text(self->encoder, "name", name);
    crn_encoder_map_end(self->encoder);
    crn_encoder_map_end(self->encoder);
}

/* One end of an asynchronous span (kind b or e), or of an arrow (s or f). */
static void link_event(trace *self, const char *kind, const char *category, const char *name,
                       int64_t row, int64_t at_ns, uint64_t id)
{
    char text[24];
    bool last = *kind == 'f';
    snprintf(text, sizeof text, "%" PRIu64, id);
    begin(self, kind, name, row, at_ns, last ? 3 : 2);
    crn_encoder_pair_text(self->encoder, "cat", category);
    crn_encoder_pair_text(self->encoder, "id", text);
    if (last)
        crn_encoder_pair_text(self->encoder, "bp", "e"); /* ends at the span around it */
    crn_encoder_map_end(self->encoder);
}

/* --- views --- */

/* The halves of the steps, one after the other, as they ran. */
static void put_steps(trace *self, const crn_judgement *judgement, bool finish, int64_t row,
                      int64_t at_ns)
{
    for (int32_t step = 0; step < self->fruit->steps; step++) {
        char name[TEXT_BYTES];
        int64_t finish_ns = judgement->stage_finish_ns[step];
        int64_t took_ns = finish ? finish_ns : judgement->stage_ns[step] - finish_ns;
        if (took_ns <= 0)
            continue;
        crn_step_kind_name(&self->fruit->step[step], name, sizeof name);
        span(self, name, row, at_ns, at_ns + took_ns);
        at_ns += took_ns;
    }
}

/* The time that all steps took without their finish halves. */
static int64_t enqueue_ns(const trace *self, const crn_judgement *judgement)
{
    int64_t sum_ns = 0;
    for (int32_t step = 0; step < self->fruit->steps; step++)
        sum_ns += judgement->stage_ns[step] - judgement->stage_finish_ns[step];
    return sum_ns;
}

/* The batch that the view ran in, once for all its views. */
static void put_batch(trace *self, const crn_flight_view *view)
{
    const crn_judgement *judgement = &view->judgement;
    char name[TEXT_BYTES];
    int64_t row = row_of_stream(&judgement->place);
    for (uint32_t i = 0; i < self->batches; i++)
        if (self->batch[i].row == row && self->batch[i].begun_ns == view->begun_ns)
            return;
    self->batch[self->batches++] = (seen_batch){row, view->begun_ns};
    snprintf(name, sizeof name, "batch of %d", judgement->place.batch);
    span(self, name, row, view->begun_ns, view->begun_ns + enqueue_ns(self, judgement));
    put_steps(self, judgement, false, row, view->begun_ns);
}

/* The arrow from a view to its fruit's verdict. Each has an id of its own: one that passed through
 * all views would have to begin at the one that ran first. */
static void put_arrow(trace *self, const crn_flight_fruit *fruit, int64_t row, int64_t at_ns,
                      uint64_t id)
{
    link_event(self, "s", "views", "fruit", row, at_ns, id);
    link_event(self, "f", "views", "fruit", ROW_LINE, fruit->published_ns, id);
}

/* An arrow begins at the last span before it in the trace, hence before the steps. */
static void put_view(trace *self, const crn_flight_fruit *fruit, const crn_flight_view *view,
                     uint64_t id)
{
    char name[TEXT_BYTES];
    const crn_judgement *judgement = &view->judgement;
    bool judged = view->state == CRN_VIEW_JUDGED;
    snprintf(name, sizeof name, "lane %" PRIu32 " fruit %" PRIu64 " view %d%s", fruit->lane,
             fruit->fruit, view->number, judged ? "" : ": not judged");
    if (!judged) {
        span(self, name, ROW_LINE, view->received_ns, view->received_ns);
        put_arrow(self, fruit, ROW_LINE, view->received_ns, id);
        return;
    }
    int64_t row = row_of_worker(judgement->place.worker);
    int64_t finish_ns = view->begun_ns + judgement->finish_ns;
    int64_t from_ns = judgement->on_device ? finish_ns : view->begun_ns;
    span(self, name, row, from_ns, view->ended_ns);
    put_arrow(self, fruit, row, from_ns, id);
    if (judgement->on_device)
        put_batch(self, view);
    else
        put_steps(self, judgement, false, row, view->begun_ns);
    put_steps(self, judgement, true, row, finish_ns);
}

/* `id` tells apart the fruits of a trace. */
static void put_fruit(trace *self, const crn_flight_fruit *fruit, uint64_t id)
{
    char name[TEXT_BYTES];
    self->fruit = fruit;
    snprintf(name, sizeof name, "lane %" PRIu32 " fruit %" PRIu64 " %s", fruit->lane, fruit->fruit,
             crn_verdict_kind_names[fruit->kind]);
    link_event(self, "b", "fruit", name, ROW_LINE, fruit->opened_ns, id);
    span(self, name, ROW_LINE, fruit->published_ns, fruit->published_ns);
    for (uint32_t i = 0; i < fruit->view_count; i++)
        put_view(self, fruit, &fruit->views[i], id * CRN_FRUIT_VIEWS_MAX + i);
    link_event(self, "e", "fruit", name, ROW_LINE, fruit->published_ns, id);
}

/* --- the trace --- */

static void name_rows(trace *self)
{
    char name[TEXT_BYTES];
    name_row(self, ROW_LINE, "line: verdicts, and views that were not judged");
    for (int64_t worker = 0; worker < self->config->run.workers; worker++) {
        snprintf(name, sizeof name, "worker %" PRId64, worker);
        name_row(self, row_of_worker(worker), name);
    }
    if (self->config->run.backend != CRN_BACKEND_CUDA)
        return;
    for (int32_t i = 0; i < self->config->run.devices.count; i++)
        for (int16_t stream = 0; stream < CRN_DEVICE_SLOTS; stream++) {
            int16_t device = (int16_t)self->config->run.devices.item[i];
            snprintf(name, sizeof name, "device %d stream %d", device, stream);
            name_row(self, row_of_stream(&(crn_run_place){.device = device, .stream = stream}),
                     name);
        }
}

/* Number of the oldest fruit to show. */
static uint64_t first_of(const crn_flight *flight, crn_flight_range kept)
{
    uint64_t views = 0, first = kept.end;
    if (kept.first == kept.end)
        return first;
    int64_t from_ns = crn_flight_at(flight, kept.end - 1)->published_ns - CRN_TRACE_NS;
    while (first > kept.first) {
        const crn_flight_fruit *fruit = crn_flight_at(flight, first - 1);
        views += fruit->view_count;
        if (views > CRN_TRACE_VIEWS || fruit->published_ns < from_ns)
            break;
        first--;
    }
    return first;
}

/* A fruit that was published later may have opened earlier, on another lane. */
static int64_t earliest_ns(const crn_flight *flight, uint64_t first, uint64_t end)
{
    int64_t earliest = INT64_MAX;
    for (uint64_t number = first; number < end; number++) {
        int64_t opened_ns = crn_flight_at(flight, number)->opened_ns;
        earliest = opened_ns < earliest ? opened_ns : earliest;
    }
    return earliest;
}

void crn_trace_emit(const crn_config *config, const crn_flight *flight, crn_encoder *encoder)
{
    crn_flight_range kept = crn_flight_kept(flight);
    uint64_t first = first_of(flight, kept);
    trace self = {.config = config,
                  .encoder = encoder,
                  .origin_ns = earliest_ns(flight, first, kept.end) - CRN_TRACE_BEGIN_NS};
    crn_encoder_map(encoder, 2);
    crn_encoder_pair_text(encoder, "displayTimeUnit", "ms");
    crn_encoder_text(encoder, "traceEvents");
    crn_encoder_array(encoder, 0); /* JSON counts nothing */
    name_rows(&self);
    for (uint64_t number = first; number < kept.end; number++)
        put_fruit(&self, crn_flight_at(flight, number), number);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}
