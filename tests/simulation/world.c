#include "tests/simulation/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/line/internal.h"
#include "stages/base/clock.h"
#include "tests/simulation/machine/descriptors.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/machine/schedule.h"

/* How late the line may be where nothing holds its thread up: its passes take microseconds. */
#define SLACK_NS CRN_NS_PER_MS

sim_world sim_w;

uint32_t sim_defects_of(uint32_t index, uint32_t view)
{
    return 1 + (index * 7 + view * 3) % 4;
}

static int bits(uint32_t mask)
{
    return __builtin_popcount(mask);
}

/* A time by which something must have happened, later where threads were held up. */
static int64_t with_slack(int64_t time_ns)
{
    return time_ns + SLACK_NS + (sim_w.may_miss_budget ? sim_stalled_ns() : 0);
}

sim_fruit *sim_fruit_of(uint64_t encoder)
{
    if (encoder == 0 || encoder > sim_w.fruit_count)
        sim_fail("a fruit that no sender sent: encoder %" PRIu64, encoder);
    return &sim_w.fruits[encoder - 1];
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#define FAIL_FRUIT(it, format, ...)                                                                \
    sim_fail("lane %" PRIu32 " epoch %" PRIu64 " fruit %" PRIu64 ": " format, (it)->lane,          \
             (it)->epoch, (it)->fruit, __VA_ARGS__)

/* --- messages --------------------------------------------------------------------------------- */

/* What the view's header says of the deadline; one that is 10 s away is a wrong clock's. */
static void note_deadline(sim_fruit *it, uint64_t deadline_ns)
{
    int64_t ahead_ns = (int64_t)deadline_ns - sim_realtime_ns();
    bool is_believed = deadline_ns && llabs(ahead_ns) < 10 * CRN_NS_PER_S;
    if (is_believed && (!it->header_ns || sim_now_ns() + ahead_ns < it->header_ns))
        it->header_ns = sim_now_ns() + ahead_ns;
}

void sim_note_read(int64_t tag, int64_t arrived_ns)
{
    sim_counts *counts = &sim_w.counts;
    sim_fruit *it = &sim_w.fruits[tag >> 8];
    uint32_t view = UINT32_C(1) << (tag >> 1 & 0x7f);
    counts->messages++;
    sim_trace((uint64_t)tag);
    if (sim_now_ns() > with_slack(arrived_ns))
        FAIL_FRUIT(it, "a message waited %" PRId64 " us to be read",
                   (sim_now_ns() - arrived_ns) / CRN_NS_PER_US);
    if (tag & 1) {
        counts->refused++;
        it->spoilt |= view;
    } else if (it->is_published) {
        counts->stragglers++;
    } else if (it->read & view) {
        counts->duplicates++;
    } else {
        counts->wanted++;
        counts->opened += it->read == 0;
        if (it->read == 0)
            it->first_read_ns = sim_now_ns();
        it->read |= view;
        it->last_read_ns = sim_now_ns();
        note_deadline(it, it->view_deadline_ns[tag >> 1 & 0x7f]);
    }
}

void sim_check_unread(void)
{
    int64_t since_ns = sim_unread_since_ns();
    if (sim_now_ns() > with_slack(since_ns))
        sim_fail("a message has waited for %" PRId64 " us",
                 (sim_now_ns() - since_ns) / CRN_NS_PER_US);
}

void sim_note_collected(const crn_view *view, int status, int64_t ended_ns)
{
    sim_fruit *it = sim_fruit_of(view->header.encoder);
    int64_t now_ns = sim_now_ns();
    if (ended_ns && now_ns > with_slack(ended_ns))
        FAIL_FRUIT(it, "view %u was finished for %" PRId64 " us before it was collected",
                   view->header.view, (now_ns - ended_ns) / CRN_NS_PER_US);
    if (it->is_published)
        return;
    it->collected_ns = now_ns;
    it->judged += status == 0;
    sim_w.counts.judged += status == 0;
}

/* --- verdicts --------------------------------------------------------------------------------- */

static crn_verdict_kind expected_kind(const sim_fruit *it)
{
    if (it->judged == 0)
        return CRN_VERDICT_LATE;
    bool is_whole = it->judged == (uint32_t)bits(it->read) && bits(it->read) >= it->told;
    return is_whole ? CRN_VERDICT_COMPLETE : CRN_VERDICT_PARTIAL;
}

/* A refused message makes its fruit partial, if the line still knew of it. */
static bool is_kind_right(const sim_fruit *it, crn_verdict_kind kind)
{
    return kind == expected_kind(it) ||
           ((it->spoilt & ~it->read) && kind == CRN_VERDICT_PARTIAL && it->judged > 0);
}

/* What its views still wait for, and when the last one ended. */
static bool has_pending(const crn_fruit *fruit, int64_t *last_ns)
{
    for (int v = 0; v < CRN_SIM_VIEWS_MAX; v++) {
        const crn_fruit_view *view = &fruit->views[v];
        if (view->state == CRN_VIEW_ARRIVED || view->state == CRN_VIEW_QUEUED ||
            view->state == CRN_VIEW_RUNNING)
            return true;
        if (view->state == CRN_VIEW_LOST && view->lost_ns > *last_ns)
            *last_ns = view->lost_ns;
    }
    return false;
}

static void check_times(const sim_fruit *it, const crn_fruit *fruit, int64_t now_ns)
{
    const crn_config *config = sim_w.config;
    int64_t budget_ns = config->latency.budget_ms * CRN_NS_PER_MS;
    int64_t assemble_ns = config->latency.assemble_ms * CRN_NS_PER_MS;
    int64_t guard_ns = config->latency.guard_ms * CRN_NS_PER_MS;
    bool is_hurried =
        fruit->closed_by == CRN_CLOSE_OPEN_FRUITS || fruit->closed_by == CRN_CLOSE_STOP;
    int64_t due_ns = fruit->deadline_ns - guard_ns, last_ns = it->collected_ns;
    /* A deadline may have passed when the line hears of it: of a view, or of its own end. */
    due_ns = max_ns(due_ns, max_ns(fruit->closed_ns, max_ns(it->last_read_ns, sim_w.stop_ns)));
    if (fruit->closed_ns > with_slack(it->first_read_ns + assemble_ns))
        FAIL_FRUIT(it, "closed %" PRId64 " us after its first view",
                   (fruit->closed_ns - it->first_read_ns) / CRN_NS_PER_US);
    if (!is_hurried && fruit->deadline_ns > fruit->closed_ns + budget_ns)
        FAIL_FRUIT(it, "its deadline is %" PRId64 " us after its close",
                   (fruit->deadline_ns - fruit->closed_ns) / CRN_NS_PER_US);
    if (it->header_ns && fruit->deadline_ns > with_slack(it->header_ns))
        FAIL_FRUIT(it, "its deadline is %" PRId64 " us after that of a header",
                   (fruit->deadline_ns - it->header_ns) / CRN_NS_PER_US);
    if (fruit->closed_by == CRN_CLOSE_VIEWS && bits(it->read) < it->told)
        FAIL_FRUIT(it, "closed for its views, but has %d of %u", bits(it->read), it->told);
    if (fruit->closed_by == CRN_CLOSE_TIME && now_ns < it->first_read_ns + assemble_ns - SLACK_NS)
        FAIL_FRUIT(it, "given up %" PRId64 " us after its first view",
                   (now_ns - it->first_read_ns) / CRN_NS_PER_US);
    if (now_ns > with_slack(due_ns))
        FAIL_FRUIT(
            it, "published %" PRId64 " us after it was due (closed by %s, %" PRId64 " us before)",
            (now_ns - due_ns) / CRN_NS_PER_US, crn_fruit_close_names[fruit->closed_by],
            (now_ns - fruit->closed_ns) / CRN_NS_PER_US);
    if (has_pending(fruit, &last_ns)) {
        if (!is_hurried && now_ns < due_ns - SLACK_NS)
            FAIL_FRUIT(it, "published %" PRId64 " us early, with unfinished views",
                       (due_ns - now_ns) / CRN_NS_PER_US);
        return;
    }
    last_ns = max_ns(last_ns, fruit->closed_ns);
    if (now_ns > with_slack(last_ns))
        FAIL_FRUIT(it, "waited %" PRId64 " us for its verdict after its last view",
                   (now_ns - last_ns) / CRN_NS_PER_US);
}

void sim_note_verdict(const crn_fruit *fruit, int64_t now_ns)
{
    sim_fruit *it = sim_fruit_of(fruit->encoder);
    sim_counts *counts = &sim_w.counts;
    sim_trace(fruit->encoder);
    if (it->is_published)
        FAIL_FRUIT(it, "a second verdict%s", "");
    if (it->lane != fruit->lane->number || it->epoch != fruit->epoch || it->fruit != fruit->fruit)
        FAIL_FRUIT(it, "a verdict for lane %" PRIu32 " epoch %" PRIu64 " fruit %" PRIu64,
                   fruit->lane->number, fruit->epoch, fruit->fruit);
    if (fruit->received != bits(it->read) || fruit->expected != it->told)
        FAIL_FRUIT(it, "%u views received of %u, but %d came of %u", fruit->received,
                   fruit->expected, bits(it->read), it->told);
    if (fruit->judged != it->judged)
        FAIL_FRUIT(it, "%u views judged, but %u were", fruit->judged, it->judged);
    crn_verdict_kind kind = crn_fruit_verdict(fruit);
    if (!is_kind_right(it, kind))
        FAIL_FRUIT(it, "verdict %d, of %u views judged, %d read, %u told", kind, it->judged,
                   bits(it->read), it->told);
    check_times(it, fruit, now_ns);
    it->is_published = true;
    it->sequence = sim_w.next_sequence[it->lane]++;
    it->kind = kind;
    it->deadline_ns = fruit->deadline_ns;
    counts->verdicts++;
    counts->complete += kind == CRN_VERDICT_COMPLETE;
    counts->partial += kind == CRN_VERDICT_PARTIAL;
    counts->late += kind == CRN_VERDICT_LATE;
}

void sim_check_sequence(const crn_fruit *fruit, uint64_t sequence)
{
    const sim_fruit *it = sim_fruit_of(fruit->encoder);
    if (sequence != it->sequence)
        FAIL_FRUIT(it, "its verdict's sequence is %" PRIu64 ", but should be %" PRIu64, sequence,
                   it->sequence);
}

static void check_defects(const sim_fruit *it, const crn_decoded *verdict)
{
    uint32_t found[CRN_SIM_VIEWS_MAX] = {0}, index = (uint32_t)(it - sim_w.fruits);
    for (uint32_t i = 0; i < verdict->defect_count; i++)
        if (verdict->defects[i].view < CRN_SIM_VIEWS_MAX)
            found[verdict->defects[i].view]++;
    for (uint32_t i = 0; i < verdict->view_count; i++) {
        const crn_decoded_view *view = &verdict->views[i];
        uint32_t there =
            crn_decoded_view_is(view, "judged") ? sim_defects_of(index, (uint32_t)view->view) : 0;
        if (view->view < CRN_SIM_VIEWS_MAX && found[view->view] != there)
            FAIL_FRUIT(it, "view %" PRIu64 " (%s) has %u defects, but shows %u", view->view,
                       view->state, found[view->view], there);
    }
}

static void check_sent(sim_fruit *it, const crn_decoded *verdict)
{
    if (it->lane != verdict->lane || it->epoch != verdict->epoch || it->fruit != verdict->fruit ||
        it->sequence != verdict->sequence || it->kind != verdict->kind)
        FAIL_FRUIT(it,
                   "another verdict was sent: lane %" PRIu64 " fruit %" PRIu64 " sequence %" PRIu64
                   " kind %d",
                   verdict->lane, verdict->fruit, verdict->sequence, verdict->kind);
    if (!it->is_published || it->is_sent)
        FAIL_FRUIT(it, "sent %s", it->is_sent ? "twice" : "unpublished");
    if (verdict->sequence < sim_w.last_sent[it->lane])
        FAIL_FRUIT(it, "sequence %" PRIu64 " sent out of order", verdict->sequence);
    int64_t past_ns = sim_now_ns() - it->deadline_ns;
    if ((past_ns > with_slack(0) && !verdict->stale) || (past_ns < 0 && verdict->stale))
        FAIL_FRUIT(it, "sent %" PRId64 " us after its deadline, stale %d", past_ns / CRN_NS_PER_US,
                   verdict->stale);
    check_defects(it, verdict);
}

int64_t sim_note_sent(const void *bytes, size_t size)
{
    crn_error error;
    crn_messagepack_json packed;
    crn_decoded *verdict = NULL;
    if (crn_messagepack_json_init(&packed, bytes, size, &error) < 0 ||
        crn_decode(&packed, &verdict, &error) < 0)
        sim_fail("a verdict that cannot be decoded: %s", error.text);
    sim_fruit *it = sim_fruit_of(verdict->encoder);
    check_sent(it, verdict);
    it->is_sent = true;
    sim_w.last_sent[it->lane] = it->sequence + 1;
    sim_w.counts.sent++;
    sim_w.counts.stale += verdict->stale;
    crn_decoded_free(&verdict);
    crn_messagepack_json_done(&packed);
    return it - sim_w.fruits;
}

void sim_note_logged(const crn_decoded *verdict)
{
    sim_fruit *it = sim_fruit_of(verdict->encoder);
    if (it->lane != verdict->lane || it->epoch != verdict->epoch || it->fruit != verdict->fruit ||
        it->sequence != verdict->sequence || it->kind != verdict->kind || !it->is_published)
        FAIL_FRUIT(it, "another verdict is in the log: fruit %" PRIu64 " sequence %" PRIu64,
                   verdict->fruit, verdict->sequence);
    if (it->is_logged || verdict->sequence < sim_w.last_logged[it->lane])
        FAIL_FRUIT(it, "%s in the log", it->is_logged ? "twice" : "out of order");
    it->is_logged = true;
    sim_w.last_logged[it->lane] = it->sequence + 1;
    sim_w.counts.logged++;
}

void sim_note_sent_in_vain(int64_t tag)
{
    (void)tag;
    sim_w.counts.lost_in_transit++;
}

void sim_note_received(int64_t tag)
{
    sim_fruit *it = &sim_w.fruits[tag];
    if (it->is_received)
        FAIL_FRUIT(it, "the grader got it twice%s", "");
    it->is_received = true;
    sim_w.counts.received++;
}

/* --- counters --------------------------------------------------------------------------------- */

#define SAME(name, counted, true_one)                                                              \
    if ((counted) != (true_one))                                                                   \
    sim_fail("%s is %" PRIu64 ", but should be %" PRIu64, name, (uint64_t)(counted),               \
             (uint64_t)(true_one))

static void check_fruits(const crn_fruit_stats *stats, uint64_t open)
{
    const sim_counts *counts = &sim_w.counts;
    SAME("wanted", stats->wanted, counts->wanted);
    SAME("duplicates", stats->duplicates, counts->duplicates);
    SAME("stragglers", stats->stragglers, counts->stragglers);
    SAME("opened", stats->opened, counts->opened);
    SAME("complete", stats->complete, counts->complete);
    SAME("partial", stats->partial, counts->partial);
    SAME("late", stats->late, counts->late);
    SAME("opened less judged", stats->opened - stats->complete - stats->partial - stats->late,
         open);
    SAME("judged", stats->judged, counts->judged);
    uint64_t ended =
        stats->judged + stats->no_slot + stats->discarded + stats->unfinished + stats->failed;
    if (ended > stats->wanted)
        sim_fail("%" PRIu64 " views ended of %" PRIu64, ended, stats->wanted);
}

static void check_publish(const crn_publish_stats *stats)
{
    const sim_counts *counts = &sim_w.counts;
    SAME("verdicts", stats->verdicts, counts->verdicts);
    SAME("sent", stats->sent, counts->sent);
    SAME("stale", stats->stale, counts->stale);
    SAME("verdicts accounted for", stats->waiting + stats->sent + stats->dropped + stats->failed,
         stats->verdicts);
    if (stats->waiting > (uint64_t)sim_w.config->publish.grader.high_water_mark)
        sim_fail("%" PRIu64 " verdicts wait, more than high_water_mark", stats->waiting);
}

static void check_metrics(const crn_metrics *metrics, uint64_t open)
{
    uint64_t refused = 0;
    for (int fault = 0; fault < CRN_WIRE_FAULTS; fault++)
        refused += metrics->ingest.faults[fault];
    SAME("messages", metrics->ingest.messages, sim_w.counts.messages);
    SAME("refused", refused, sim_w.counts.refused);
    check_fruits(&metrics->fruits, open);
    check_publish(&metrics->publish);
    if (open > (uint64_t)sim_w.config->limits.open_fruits)
        sim_fail("%" PRIu64 " fruits are open", open);
}

void sim_check_counts(void)
{
    crn_metrics metrics = crn_line_metrics(sim_w.line);
    check_metrics(&metrics, (uint64_t)crn_fruits_open(sim_w.line->fruits));
}

static void check_each_fruit(void)
{
    for (uint32_t i = 0; i < sim_w.fruit_count; i++) {
        const sim_fruit *it = &sim_w.fruits[i];
        if (it->read && !it->is_published)
            FAIL_FRUIT(it, "no verdict; %d views came", bits(it->read));
        if (!it->read && it->is_published)
            FAIL_FRUIT(it, "a verdict of no view%s", "");
    }
}

void sim_check_stopped(const crn_metrics *metrics)
{
    const crn_fruit_stats *stats = &metrics->fruits;
    check_metrics(metrics, 0);
    check_each_fruit();
    sim_w.counts.log_dropped = metrics->publish.log.dropped;
    uint64_t lost = sim_w.counts.lost_in_transit - sim_grader_lost_unnoticed();
    if (lost > metrics->publish.possibly_lost)
        sim_fail("%" PRIu64 " verdicts were lost in transit, %" PRIu64 " possibly_lost", lost,
                 metrics->publish.possibly_lost);
    if (crn_result_store_used_bytes(sim_w.line->store) != 0)
        sim_fail("%zu bytes of results are left", crn_result_store_used_bytes(sim_w.line->store));
    uint64_t running = stats->wanted - stats->judged - stats->no_slot - stats->discarded -
                       stats->unfinished - stats->failed;
    uint64_t in_use = crn_pool_count(sim_w.line->pool) - crn_pool_free_slots(sim_w.line->pool);
    if (in_use != running)
        sim_fail("%" PRIu64 " slots are in use, %" PRIu64 " views run", in_use, running);
}

/* Every verdict is in the log, or was counted as dropped or failed. */
static void check_log(void)
{
    sim_counts *counts = &sim_w.counts;
    sim_logged logged = sim_disk_logged();
    counts->log_failed = logged.failed;
    sim_check_log(sim_w.config->publish.log.dir);
    SAME("verdicts logged, dropped and failed",
         counts->logged + counts->log_dropped + counts->log_failed, counts->verdicts);
}

void sim_check_closed(void)
{
    if (sim_w.config->publish.log.dir[0])
        check_log();
    SAME("threads left", sim_threads_running(), 1);
    SAME("descriptors left", sim_descriptors_open(), 0);
    SAME("sockets left", sim_sockets_open(), 0);
}
