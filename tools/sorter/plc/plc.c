#include "tools/sorter/plc/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/base/process/priority.h"
#include "stages/base/process/thread.h"

#define QUEUE_BYTES    (1u << 20) /* some 4,000 decisions */
#define MESSAGES_BYTES (1u << 18)
#define ENDINGS_BYTES  (1u << 20) /* some 5,000 */
#define STATS_NS       (100 * CRN_NS_PER_MS)
#define MISSED_NS      (10 * CRN_NS_PER_S) /* so long a fruit that it lost says that it is missed */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- from other threads ----------------------------------------------------------------------- */

void crn_plc_add(crn_plc *plc, const crn_decision *decision, int64_t now_ns, int64_t utc_ns)
{
    crn_plc_item *item = crn_byte_ring_reserve(&plc->decisions, sizeof *item);
    if (!item) {
        atomic_fetch_add(&plc->dropped, 1);
        return;
    }
    *item =
        (crn_plc_item){.kind = CRN_PLC_DECISION, .decision = *decision, .time_ns = CRN_NEVER_NS};
    item->decision.run = ""; /* the caller's is not valid any more when this is taken */
    item->key = (crn_firing_key){.lane = decision->lane, .sequence = decision->sequence};
    snprintf(item->key.run, sizeof item->key.run, "%s", decision->run);
    if (decision->is_located)
        item->time_ns = now_ns - (utc_ns - (int64_t)decision->captured_ns);
    crn_byte_ring_push(&plc->decisions);
}

bool crn_plc_take_ending(crn_plc *plc, crn_plc_ending *ret_ending)
{
    const crn_plc_ending *ending = plc->has_endings ? crn_byte_ring_poll(&plc->endings) : NULL;
    if (!ending)
        return false;
    *ret_ending = *ending;
    crn_byte_ring_pop(&plc->endings);
    return true;
}

void crn_plc_set_state(crn_plc *plc, crn_line_state state)
{
    atomic_store(&plc->state, (int)state);
}

/* --- the thread ------------------------------------------------------------------------------- */

static int write_coil(void *context, int32_t ejector, bool on, int64_t *ret_round_ns)
{
    crn_plc *plc = context;
    int64_t start_ns = crn_now_ns();
    int r = crn_modbus_client_write_coil(plc->client, plc->ejectors.item[ejector].coil, on);
    *ret_round_ns = crn_now_ns() - start_ns;
    return r;
}

static void take_ending(void *context, const crn_firing_key *key, crn_firing_result result)
{
    crn_plc *plc = context;
    if (!plc->has_endings)
        return;
    crn_plc_ending *ending = crn_byte_ring_reserve(&plc->endings, sizeof *ending);
    if (!ending) {
        atomic_fetch_add(&plc->endings_dropped, 1);
        return;
    }
    *ending = (crn_plc_ending){.key = *key, .result = result};
    crn_byte_ring_push(&plc->endings);
}

/* Logs that fruits were not fired that should have been. */
static void tell_passed(crn_plc *plc, const crn_plc_stats *stats, int64_t now_ns)
{
    uint64_t lost = 0, too_late = 0;
    for (int32_t i = 0; i < plc->outlets.count; i++) {
        lost += stats->outlet[i].lost;
        too_late += stats->outlet[i].too_late;
    }
    if (lost + too_late == plc->told_passed)
        return;
    plc->told_passed = lost + too_late;
    crn_log_gated(&plc->passed, now_ns, CRN_LOG_ERROR,
                  "firing: fruits passed their ejectors: so far %" PRIu64
                  " whose place was not known or that the PLC did not answer for, %" PRIu64
                  " as their decision was too late",
                  lost, too_late);
}

/* True if fruits pass as the belt's position is not known. Where it comes with the views it is not
 * known while none arrive: then only if fruits are on their way, and after the first view of a
 * batch not before the second one is missing. */
static bool is_belt_missed(const crn_plc *plc, int64_t now_ns)
{
    crn_belt_motion motion;
    const crn_belt *belt = crn_firing_belt(plc->firing);
    if (crn_belt_get_motion(belt, now_ns, &motion))
        return false;
    return plc->source != CRN_SOURCE_VIEWS ||
           (crn_firing_waiting(plc->firing) > 0 && !crn_belt_is_beginning(belt, now_ns));
}

/* True for 10 s after a fruit was lost as the position was not known: where that comes with the
 * views, it may be known again at once. */
static bool was_belt_missed(crn_plc *plc, int64_t now_ns)
{
    uint64_t unplaced = crn_firing_unplaced(plc->firing);
    if (unplaced > plc->unplaced)
        plc->unplaced_ns = now_ns;
    plc->unplaced = unplaced;
    return plc->source == CRN_SOURCE_VIEWS && unplaced && now_ns - plc->unplaced_ns < MISSED_NS;
}

static void publish_stats(crn_plc *plc, int64_t now_ns, bool is_last)
{
    if (now_ns - plc->stats_ns < STATS_NS && !is_last)
        return;
    crn_plc_stats stats = {.client = *crn_modbus_client_get_stats(plc->client)};
    plc->stats_ns = now_ns;
    if (plc->window)
        stats.window = crn_window_get_counts(plc->window);
    if (plc->firing) {
        crn_belt_motion motion;
        const crn_belt *belt = crn_firing_belt(plc->firing);
        stats.belt_known = crn_belt_get_motion(belt, now_ns, &motion);
        stats.belt = belt->stats;
        stats.belt_missed = was_belt_missed(plc, now_ns) || is_belt_missed(plc, now_ns);
        stats.waiting = crn_firing_waiting(plc->firing);
        stats.lead_us = (uint64_t)(crn_firing_lead_ns(plc->firing) / CRN_NS_PER_US);
        for (int32_t i = 0; i < plc->outlets.count; i++)
            stats.outlet[i] = crn_firing_get_counts(plc->firing, i);
    }
    tell_passed(plc, &stats, now_ns);
    pthread_mutex_lock(&plc->lock);
    plc->stats = stats;
    pthread_mutex_unlock(&plc->lock);
}

/* Logs once that fruits pass as the belt's position is not known, and that it is known again. */
static void tell_belt(crn_plc *plc, int64_t now_ns)
{
    crn_belt_motion motion;
    bool is_known = crn_belt_get_motion(crn_firing_belt(plc->firing), now_ns, &motion);
    if (!plc->told_missed && is_belt_missed(plc, now_ns)) {
        crn_log_gated(&plc->unknown, now_ns, CRN_LOG_ERROR,
                      "firing: the belt's position is not known: fruits pass all ejectors");
        plc->told_missed = true;
    } else if (plc->told_missed && is_known) {
        crn_log_gated(&plc->known, now_ns, CRN_LOG_INFO, "firing: the belt's position is known");
        plc->told_missed = false;
    }
}

/* Does what is due. Returns when to come again. */
static int64_t serve(crn_plc *plc)
{
    int64_t now_ns = crn_now_ns(), fire_ns = CRN_NEVER_NS, next_ns;
    if (crn_modbus_client_connect(plc->client, now_ns)) {
        plc->has_bits = false;
        if (plc->firing)
            crn_firing_reconnected(plc->firing);
    }
    if (plc->firing) {
        now_ns = crn_now_ns();
        fire_ns = crn_firing_run(plc->firing, now_ns);
        tell_belt(plc, now_ns);
        if (fire_ns <= now_ns)
            return fire_ns;
    }
    /* A request shortly before a coil is due would delay it; one that waits too long goes first. */
    int64_t guard_ns = plc->firing ? crn_firing_guard_ns(plc->firing) : 0;
    int64_t waits_ns = now_ns - earlier(plc->poll_ns_next, plc->window_ns_next);
    if (fire_ns - now_ns < guard_ns && waits_ns < plc->poll_ns)
        return fire_ns;
    next_ns = crn_modbus_client_next_ns(plc->client);
    next_ns = earlier(next_ns, crn_plc_poll(plc, now_ns));
    next_ns = earlier(next_ns, crn_plc_serve_window(plc, now_ns));
    publish_stats(plc, now_ns, false);
    return earlier(earlier(next_ns, fire_ns), now_ns + STATS_NS);
}

static void *run(void *context)
{
    crn_plc *plc = context;
    bool ended = false;
    crn_priority_raise();
    crn_priority_wake_at_once();
    while (!ended) {
        int64_t next_ns = serve(plc);
        void *item = crn_byte_ring_wait_until(&plc->decisions, next_ns, &ended);
        while (item) {
            crn_plc_take(plc, item);
            crn_byte_ring_pop(&plc->decisions);
            item = crn_byte_ring_wait_until(&plc->decisions, 0, &ended);
        }
        while ((item = crn_byte_ring_poll(&plc->messages))) {
            crn_plc_take(plc, item);
            crn_byte_ring_pop(&plc->messages);
        }
    }
    if (plc->firing)
        crn_firing_end(plc->firing);
    publish_stats(plc, crn_now_ns(), true);
    return NULL;
}

/* --- open and close --------------------------------------------------------------------------- */

static void find_inputs(crn_plc *plc)
{
    int64_t last = CRN_NO_INPUT;
    for (int32_t i = 0; i < plc->ejectors.count; i++) {
        int64_t input = plc->ejectors.item[i].input;
        if (input == CRN_NO_INPUT)
            continue;
        plc->first_input = last == CRN_NO_INPUT ? input : earlier(plc->first_input, input);
        last = input > last ? input : last;
    }
    plc->input_count = last == CRN_NO_INPUT ? 0 : (int32_t)(last - plc->first_input + 1);
}

static int make_parts(crn_plc *plc, const crn_sorter_settings *settings)
{
    const crn_firing_plan plan = {.ejectors = &plc->ejectors,
                                  .belt = {.bits = (int32_t)settings->firing.width,
                                           .speed_max = settings->firing.speed_max,
                                           .stop_ns = settings->firing.stop_ms * CRN_NS_PER_MS,
                                           .age_max_ns = settings->firing.age_ms * CRN_NS_PER_MS},
                                  .tolerance = settings->firing.tolerance,
                                  .write = write_coil,
                                  .use = take_ending,
                                  .context = plc};
    int r = crn_byte_ring_init(&plc->decisions, QUEUE_BYTES);
    if (r == 0)
        r = crn_byte_ring_init(&plc->messages, MESSAGES_BYTES);
    if (r == 0 && plc->has_endings)
        r = crn_byte_ring_init(&plc->endings, ENDINGS_BYTES);
    if (r == 0 && plc->ejectors.count)
        r = crn_firing_create(&plan, &plc->firing);
    if (r == 0 && plc->window_address >= 0)
        r = crn_window_create((uint32_t)settings->outputs.modbus_client.ring, &plc->window);
    return r;
}

int crn_plc_open(const crn_sorter_settings *settings, uint16_t run_number, crn_plc **ret_plc,
                 crn_error *error)
{
    crn_plc *plc = calloc(1, sizeof *plc);
    if (!plc)
        return crn_error_set(error, -ENOMEM, "outputs.modbus_client: no memory");
    plc->ejectors = settings->ejectors;
    plc->outlets = settings->outlets.names;
    plc->source = (crn_firing_source)settings->firing.source;
    plc->told_missed = plc->source != CRN_SOURCE_VIEWS; /* it is never known at the start */
    plc->input_registers = settings->firing.registers == CRN_REGISTERS_INPUT;
    plc->register_address = settings->firing.address;
    plc->poll_ns = settings->firing.poll_ms * CRN_NS_PER_MS;
    plc->window_address = settings->outputs.modbus_client.window;
    plc->width = (int32_t)settings->firing.width;
    plc->run = run_number;
    plc->has_endings = settings->outputs.log.dir[0] != '\0';
    pthread_mutex_init(&plc->lock, NULL);
    find_inputs(plc);
    if (plc->source != CRN_SOURCE_MODBUS && !plc->input_count)
        plc->poll_ns_next = CRN_NEVER_NS;
    if (plc->window_address < 0)
        plc->window_ns_next = CRN_NEVER_NS;
    const crn_modbus_client_plan plan = {.address = settings->outputs.modbus_client.address,
                                         .unit = (int32_t)settings->outputs.modbus_client.unit,
                                         .timeout_ms = settings->outputs.modbus_client.timeout_ms};
    int r = make_parts(plc, settings);
    if (r < 0)
        crn_error_set(error, r, "outputs.modbus_client: no memory");
    else
        r = crn_modbus_client_open(&plan, &plc->client, error);
    if (r == 0) {
        r = crn_thread_start(&plc->thread, run, plc);
        plc->is_started = r == 0;
        if (r < 0)
            crn_error_set(error, r, "outputs.modbus_client: no thread: %s", strerror(-r));
    }
    if (r < 0)
        crn_plc_close(&plc);
    else
        *ret_plc = plc;
    return r;
}

void crn_plc_end(crn_plc *plc)
{
    if (!plc->is_started)
        return;
    crn_byte_ring_end(&plc->decisions);
    pthread_join(plc->thread, NULL);
    plc->is_started = false;
}

void crn_plc_close(crn_plc **plc)
{
    crn_plc *self = *plc;
    if (!self)
        return;
    crn_plc_end(self);
    crn_modbus_client_close(&self->client);
    crn_firing_free(&self->firing);
    crn_window_free(&self->window);
    crn_byte_ring_done(&self->decisions);
    crn_byte_ring_done(&self->messages);
    crn_byte_ring_done(&self->endings);
    pthread_mutex_destroy(&self->lock);
    free(self);
    *plc = NULL;
}

void crn_plc_get_stats(crn_plc *plc, crn_plc_stats *ret_stats)
{
    pthread_mutex_lock(&plc->lock);
    *ret_stats = plc->stats;
    pthread_mutex_unlock(&plc->lock);
    ret_stats->dropped = atomic_load(&plc->dropped);
    ret_stats->unreadable = atomic_load(&plc->unreadable);
    ret_stats->endings_dropped = atomic_load(&plc->endings_dropped);
}
