/*
 * Fruits under random events, compared with a reference model at each step. Invariants: one verdict
 * per fruit, correct and in time; every slot returned once; consistent counts; and a wake time that
 * misses nothing.
 */
#include "tests/unit/fruit/fruit_model.h"

/* --- checks ----------------------------------------------------------------------------------- */

static void check_wake(const world *w)
{
    int64_t wake_ns = crn_fruits_wake_ns(w->fruits), first_ns = CRN_NEVER_NS;
    for (size_t i = 0; i < w->open_count; i++) {
        const known *k = &w->open[i];
        int64_t next_ns = k->closed_ns == CRN_NEVER_NS ? closes_at(w, k)
                          : is_due(w, k)               ? w->now_ns
                                                       : deadline_of(w, k) - w->rules.guard_ns;
        first_ns = next_ns < first_ns ? next_ns : first_ns;
    }
    assert_true(wake_ns <= first_ns);
    if (w->drained)
        assert_int_equal(wake_ns, first_ns);
}

static void check_counts(world *w)
{
    const crn_fruit_stats *stats = crn_fruits_get_stats(w->fruits);
    w->stats.returned_early = stats->returned_early; /* test_fruit_numbers.c */
    assert_memory_equal(stats, &w->stats, sizeof *stats);
    uint64_t pending = w->running_count;
    for (size_t i = 0; i < w->open_count; i++)
        pending += (uint64_t)count_states(&w->open[i], CRN_VIEW_ARRIVED, CRN_VIEW_QUEUED);
    assert_int_equal(stats->wanted, stats->judged + stats->no_slot + stats->discarded +
                                        stats->unfinished + stats->failed + stats->device_lost +
                                        pending);
    assert_int_equal(stats->opened, stats->complete + stats->partial + stats->late + w->open_count);
    assert_int_equal(crn_fruits_open(w->fruits), w->open_count);
}

static void check_fruit(const world *w, const crn_fruit *fruit, const known *k)
{
    assert_int_equal(fruit->opened_ns, k->opened_ns);
    assert_int_equal(fruit->closed_ns, k->closed_ns);
    assert_int_equal(fruit->closed_by, k->closed_by);
    assert_int_equal(fruit->deadline_ns, deadline_of(w, k));
    assert_int_equal(fruit->expected, k->expected);
    assert_int_equal(fruit->received, count_states(k, CRN_VIEW_ARRIVED, CRN_VIEW_LOST));
    assert_int_equal(fruit->judged, count_states(k, CRN_VIEW_JUDGED, CRN_VIEW_JUDGED));
    for (int v = 0; v < CRN_MODEL_VIEWS; v++) {
        assert_int_equal(fruit->views[v].state, k->states[v]);
        assert_int_equal(fruit->views[v].holds_slot, k->holds[v]);
    }
    assert_int_equal(crn_fruit_verdict(fruit), verdict_of(k));
}

/* --- events ----------------------------------------------------------------------------------- */

/* Judges one fruit if one is due, in the model and in the fruits alike. */
static bool judge_one(world *w)
{
    let_time_close(w);
    int64_t first_ns = CRN_NEVER_NS;
    for (size_t i = 0; i < w->open_count; i++)
        if (is_due(w, &w->open[i]) && deadline_of(w, &w->open[i]) < first_ns)
            first_ns = deadline_of(w, &w->open[i]);
    const crn_fruit *fruit = crn_fruits_due(w->fruits, w->now_ns);
    assert_int_equal(fruit != NULL, first_ns != CRN_NEVER_NS);
    if (!fruit)
        return false;
    uint32_t lane = fruit->lane->number;
    size_t at = find_open(w, lane, fruit->epoch, fruit->fruit);
    assert_true(at != CRN_MODEL_NO_FRUIT);
    known *k = &w->open[at];
    assert_true(is_due(w, k));
    assert_int_equal(deadline_of(w, k), first_ns);
    check_fruit(w, fruit, k);
    crn_verdict_kind verdict = verdict_of(k);
    w->stats.complete += verdict == CRN_VERDICT_COMPLETE;
    w->stats.partial += verdict == CRN_VERDICT_PARTIAL;
    w->stats.late += verdict == CRN_VERDICT_LATE;
    for (int v = 0; v < CRN_MODEL_VIEWS; v++)
        if (k->states[v] == CRN_VIEW_QUEUED || k->holds[v]) {
            assert_int_equal(fruit->views[v].slot, k->slots[v]);
            give_slot(w, k->slots[v]);
            w->stats.discarded += k->states[v] == CRN_VIEW_QUEUED;
        }
    assert_int_equal(count_verdicts(w, lane, k->epoch, k->fruit), 0);
    w->senders[lane].judged[w->senders[lane].judged_count++] = (name){k->epoch, k->fruit};
    crn_fruits_judge(w->fruits, fruit);
    w->open[at] = w->open[--w->open_count];
    return true;
}

/* The arrival's expected answer; *ret_at is the fruit's
 * index in the model, CRN_MODEL_NO_FRUIT for a new one. */
static crn_arrival foretell(world *w, const crn_view_header *header, size_t *ret_at)
{
    *ret_at = find_open(w, header->lane, header->epoch, header->fruit);
    if (header->lane >= CRN_MODEL_LANES) {
        w->stats.lanes++;
        return CRN_ARRIVAL_NO_LANE;
    }
    if ((header->views > 0 && header->view >= header->views) ||
        (*ret_at != CRN_MODEL_NO_FRUIT && w->open[*ret_at].expected != header->views)) {
        w->stats.views_mismatch++;
        model_refuse(w, header, *ret_at);
        return CRN_ARRIVAL_VIEWS_MISMATCH;
    }
    if (*ret_at == CRN_MODEL_NO_FRUIT &&
        was_judged(w, header->lane, header->epoch, header->fruit)) {
        w->stats.stragglers++;
        return CRN_ARRIVAL_STRAGGLER;
    }
    if (*ret_at != CRN_MODEL_NO_FRUIT && w->open[*ret_at].states[header->view] != CRN_VIEW_ABSENT &&
        w->open[*ret_at].states[header->view] != CRN_VIEW_REFUSED) {
        w->stats.duplicates++;
        return CRN_ARRIVAL_DUPLICATE;
    }
    if (*ret_at == CRN_MODEL_NO_FRUIT && w->open_count > (size_t)w->rules.open_fruits) {
        w->stats.table_full++;
        return CRN_ARRIVAL_TABLE_FULL;
    }
    w->stats.wanted++;
    return CRN_ARRIVAL_WANTED;
}

static void model_open(world *w, const crn_view_header *header)
{
    size_t oldest = 0;
    bool any_due = false;
    for (size_t i = 0; i < w->open_count; i++) {
        any_due |= is_due(w, &w->open[i]);
        oldest = w->open[i].order < w->open[oldest].order ? i : oldest;
    }
    if (w->open_count == (size_t)w->rules.open_fruits && !any_due) {
        w->open[oldest].forced = true;
        if (w->open[oldest].closed_ns == CRN_NEVER_NS)
            w->open[oldest].closed_ns = w->now_ns;
        w->open[oldest].closed_by = CRN_CLOSE_OPEN_FRUITS;
        w->stats.forced++;
    }
    w->open[w->open_count++] = (known){.lane = header->lane,
                                       .epoch = header->epoch,
                                       .fruit = header->fruit,
                                       .order = w->stats.opened++,
                                       .expected = header->views,
                                       .opened_ns = w->now_ns,
                                       .closed_ns = CRN_NEVER_NS,
                                       .header_ns = CRN_NEVER_NS};
    model_recall(w, &w->open[w->open_count - 1]);
}

static void model_credit(world *w, known *k, uint16_t view, int64_t header_ns)
{
    let_time_close(w);
    k->states[view] = CRN_VIEW_ARRIVED;
    k->header_ns = header_ns < k->header_ns ? header_ns : k->header_ns;
    bool last =
        k->expected > 0 && count_states(k, CRN_VIEW_ARRIVED, CRN_VIEW_LOST) == (int)k->expected;
    bool too_late = cap_of(w, k) - w->rules.guard_ns <= w->now_ns;
    if (k->closed_ns == CRN_NEVER_NS && (last || too_late)) {
        k->closed_ns = w->now_ns;
        k->closed_by = last ? CRN_CLOSE_VIEWS : CRN_CLOSE_DEADLINE;
    }
}

/* The slot of a view that ended: held by half of those whose fruit is open. */
static void end_slot(world *w, known *k, crn_ticket ticket, uint32_t slot)
{
    bool wanted = draw(w, 2), holds = wanted && crn_fruits_hold_slot(w->fruits, ticket);
    assert_int_equal(holds, wanted && k);
    if (holds)
        k->holds[ticket.view] = true;
    else
        give_slot(w, slot);
}

/* Takes a held slot back, of the oldest fruit and its first such view; *slot is unchanged if none
 * is. */
static void take_held(world *w, uint32_t *slot)
{
    known *oldest = NULL;
    for (size_t i = 0; i < w->open_count; i++)
        for (int v = 0; v < CRN_MODEL_VIEWS; v++)
            if (w->open[i].holds[v] && (!oldest || w->open[i].order < oldest->order))
                oldest = &w->open[i];
    assert_int_equal(crn_fruits_take_slot(w->fruits, slot), oldest != NULL);
    if (!oldest)
        return;
    int view = 0;
    while (!oldest->holds[view])
        view++;
    assert_int_equal(*slot, oldest->slots[view]);
    oldest->holds[view] = false;
    give_slot(w, *slot);
}

/* Assigns a slot to the view that arrived, evicting another if necessary, or loses the view. */
static void house(world *w, known *k, crn_ticket ticket)
{
    uint32_t slot = 0;
    while (slot < CRN_MODEL_SLOTS && w->held[slot])
        slot++;
    if (slot == CRN_MODEL_SLOTS)
        take_held(w, &slot);
    if (slot == CRN_MODEL_SLOTS) {
        uint64_t order = k->order;
        known *worst = k;
        for (size_t i = 0; i < w->open_count; i++) {
            known *other = &w->open[i];
            bool worse = other->lost != worst->lost ? other->lost : other->order > worst->order;
            if (count_states(other, CRN_VIEW_QUEUED, CRN_VIEW_QUEUED) > 0 && worse)
                worst = other;
        }
        w->stats.no_slot++;
        bool evicted = crn_fruits_evict(w->fruits, ticket, &slot);
        assert_int_equal(evicted, worst->order != order);
        if (!evicted) {
            crn_fruits_lose(w->fruits, ticket);
            k->states[ticket.view] = CRN_VIEW_LOST;
            k->lost = true;
            return;
        }
        int view;
        assert_ptr_equal(find_slot(w, slot, &view), worst);
        for (int v = view + 1; v < CRN_MODEL_VIEWS; v++)
            assert_int_not_equal(worst->states[v], CRN_VIEW_QUEUED);
        worst->states[view] = CRN_VIEW_LOST;
        worst->lost = true;
        give_slot(w, slot);
    }
    take_slot(w, slot);
    assert_true(crn_fruits_queue(w->fruits, ticket, slot));
    k->states[ticket.view] = CRN_VIEW_QUEUED;
    k->slots[ticket.view] = slot;
}

static void message_arrives(world *w)
{
    static const uint16_t views_by_fruit[] = {4, 4, 3, 0, 4, 1, 2, 4};
    uint32_t lane = draw(w, 50) ? draw(w, CRN_MODEL_LANES) : CRN_MODEL_LANES;
    if (draw(w, 2000) == 0) {
        w->senders[lane].epoch_before = w->senders[lane].epoch;
        w->senders[lane].last_before = w->senders[lane].next_fruit;
        w->senders[lane].epoch = 1 + w->random % UINT64_C(0xffffffffffff);
        w->senders[lane].next_fruit = 8;
    }
    if (draw(w, 5) == 0)
        w->senders[lane].next_fruit++;
    bool before = draw(w, 100) == 0 && w->senders[lane].epoch_before;
    crn_view_header header = {
        .lane = lane,
        .sequence = w->senders[lane].sequence++,
        .epoch = before ? w->senders[lane].epoch_before : w->senders[lane].epoch,
        .fruit = (before ? w->senders[lane].last_before : w->senders[lane].next_fruit) - draw(w, 6),
        .view = (uint16_t)draw(w, CRN_MODEL_VIEWS),
    };
    header.views =
        draw(w, 50) ? views_by_fruit[header.fruit % 8] : (uint16_t)draw(w, CRN_MODEL_VIEWS + 1);
    int64_t header_ns =
        draw(w, 8) ? CRN_NEVER_NS : w->now_ns + ((int64_t)draw(w, 150) - 10) * CRN_MODEL_MS;

    let_time_close(w);
    size_t at;
    if (draw(w, 20) == 0) {
        model_refuse(w, &header, find_open(w, header.lane, header.epoch, header.fruit));
        crn_fruits_refuse(w->fruits, &header, (crn_refusal)CRN_WIRE_CHANNELS);
        return;
    }
    crn_arrival foretold = foretell(w, &header, &at);
    crn_ticket ticket = {9, 9, 9};
    crn_arrival arrival = crn_fruits_arrive(w->fruits, &header, header_ns, w->now_ns, &ticket);
    assert_int_equal(arrival, foretold);
    if (arrival != CRN_ARRIVAL_WANTED) {
        assert_int_equal(ticket.serial, 9);
        return;
    }
    if (at == CRN_MODEL_NO_FRUIT) {
        model_open(w, &header);
        at = w->open_count - 1;
    }
    model_credit(w, &w->open[at], header.view, header_ns);
    assert_int_equal(ticket.view, header.view);
    house(w, &w->open[at], ticket);
}

static void view_begins(world *w)
{
    if (w->running_count == 2 * (size_t)w->rules.workers)
        return;
    crn_ticket ticket;
    uint32_t slot;
    int64_t deadline_ns;
    crn_next next = crn_fruits_next(w->fruits, w->now_ns, &ticket, &slot, &deadline_ns);
    if (next == CRN_NEXT_NONE) {
        if (w->running_count >= (size_t)w->rules.workers)
            return;
        for (size_t i = 0; i < w->open_count; i++)
            assert_int_equal(count_states(&w->open[i], CRN_VIEW_QUEUED, CRN_VIEW_QUEUED), 0);
        return;
    }
    int view;
    known *k = find_slot(w, slot, &view);
    assert_int_equal(ticket.view, view);
    if (next == CRN_NEXT_DISCARD) {
        k->states[view] = CRN_VIEW_LOST;
        k->lost = true;
        w->stats.discarded++;
        end_slot(w, k, ticket, slot);
        return;
    }
    assert_int_equal(deadline_ns, deadline_of(w, k) - w->rules.guard_ns);
    k->states[view] = CRN_VIEW_RUNNING;
    w->running[w->running_count++] = (running){ticket, slot, k->order};
}

static void view_ends(world *w)
{
    if (w->running_count == 0)
        return;
    size_t which = draw(w, (uint32_t)w->running_count);
    running ending = w->running[which];
    w->running[which] = w->running[--w->running_count];
    crn_judgement judgement = {.cost_ns = (1 + draw(w, 20)) * CRN_MODEL_MS / 2,
                               .skipped = !draw(w, 20)};
    bool fails = draw(w, 10) == 0;
    bool taken = crn_fruits_done(w->fruits, ending.ticket, fails ? NULL : &judgement,
                                 CRN_REASON_FAILED, w->now_ns);
    size_t at = find_order(w, ending.order);
    assert_int_equal(taken, at != CRN_MODEL_NO_FRUIT);
    end_slot(w, taken ? &w->open[at] : NULL, ending.ticket, ending.slot);
    if (!taken) {
        w->stats.unfinished++;
        return;
    }
    known *k = &w->open[at];
    assert_int_equal(k->states[ending.ticket.view], CRN_VIEW_RUNNING);
    k->states[ending.ticket.view] = fails ? CRN_VIEW_LOST : CRN_VIEW_JUDGED;
    k->spoiled[ending.ticket.view] = judgement.skipped;
    k->lost |= fails;
    w->stats.failed += fails;
    w->stats.judged += !fails;
}

static void time_passes(world *w)
{
    int64_t wake_ns = crn_fruits_wake_ns(w->fruits);
    int64_t step_ns = draw(w, 3) * CRN_MODEL_MS + draw(w, 1000);
    if (draw(w, 4) == 0 && wake_ns != CRN_NEVER_NS && wake_ns > w->now_ns)
        step_ns = wake_ns - w->now_ns;
    w->now_ns += step_ns;
    w->drained = false;
    let_time_close(w);
}

static void finish(world *w)
{
    while (judge_one(w)) {
    }
    crn_fruits_end(w->fruits, w->now_ns, w->now_ns + 30 * CRN_MODEL_MS);
    w->latest_ns = w->now_ns + 30 * CRN_MODEL_MS;
    for (size_t i = 0; i < w->open_count; i++)
        if (w->open[i].closed_ns == CRN_NEVER_NS) {
            w->open[i].closed_ns = w->now_ns;
            w->open[i].closed_by = CRN_CLOSE_STOP;
        }
    int64_t wake_ns;
    while ((wake_ns = crn_fruits_wake_ns(w->fruits)) != CRN_NEVER_NS) {
        assert_true(wake_ns <= w->latest_ns);
        w->now_ns = wake_ns > w->now_ns ? wake_ns : w->now_ns;
        while (judge_one(w)) {
        }
    }
    assert_int_equal(w->open_count, 0);
    while (w->running_count > 0)
        view_ends(w);
    check_counts(w);
    for (int slot = 0; slot < CRN_MODEL_SLOTS; slot++)
        assert_false(w->held[slot]);
}

static void play(crn_fruit_rules rules, uint64_t seed)
{
    static world w;
    memset(&w, 0, sizeof w);
    w.rules = rules;
    w.random = seed;
    w.now_ns = CRN_NS_PER_S;
    w.latest_ns = CRN_NEVER_NS;
    assert_int_equal(crn_lanes_create(CRN_MODEL_LANES, &w.lanes), 0);
    assert_int_equal(crn_fruits_create(&rules, w.lanes, &w.fruits), 0);
    for (uint32_t lane = 0; lane <= CRN_MODEL_LANES; lane++) {
        w.senders[lane].epoch = 1;
        w.senders[lane].next_fruit = 8;
        w.senders[lane].judged = calloc(CRN_MODEL_EVENTS, sizeof(name));
        assert_non_null(w.senders[lane].judged);
        if (lane < CRN_MODEL_LANES)
            assert_non_null(crn_lanes_find(w.lanes, lane));
    }
    for (int event = 0; event < CRN_MODEL_EVENTS; event++) {
        uint32_t kind = draw(&w, 100);
        w.drained = false;
        if (kind < 40)
            message_arrives(&w);
        else if (kind < 65)
            view_begins(&w);
        else if (kind < 85)
            view_ends(&w);
        else
            time_passes(&w);
        check_wake(&w);
        if (draw(&w, 5)) {
            while (judge_one(&w)) {
            }
            w.drained = true;
            check_wake(&w);
        }
        check_counts(&w);
    }
    finish(&w);
    print_message("seed %llu: %llu fruits, %llu complete, %llu partial, %llu late, %llu forced, "
                  "%llu no place\n",
                  (unsigned long long)seed, (unsigned long long)w.stats.opened,
                  (unsigned long long)w.stats.complete, (unsigned long long)w.stats.partial,
                  (unsigned long long)w.stats.late, (unsigned long long)w.stats.forced,
                  (unsigned long long)w.stats.table_full);
    for (uint32_t lane = 0; lane <= CRN_MODEL_LANES; lane++)
        free(w.senders[lane].judged);
    crn_fruits_free(&w.fruits);
    crn_lanes_free(&w.lanes);
}

static void test_everyday(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        play((crn_fruit_rules){.open_fruits = 30,
                               .judged_fruits = CRN_MODEL_EVENTS,
                               .views = CRN_MODEL_VIEWS,
                               .workers = 3,
                               .budget_ns = 30 * CRN_MODEL_MS,
                               .assemble_ns = 60 * CRN_MODEL_MS,
                               .guard_ns = 2 * CRN_MODEL_MS,
                               .straggler_ns = CRN_MODEL_STRAGGLER},
             seed);
}

static void test_small_table(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 12; seed++)
        play((crn_fruit_rules){.open_fruits = (int32_t)seed - 10,
                               .judged_fruits = CRN_MODEL_EVENTS,
                               .views = CRN_MODEL_VIEWS,
                               .workers = 2,
                               .budget_ns = 20 * CRN_MODEL_MS,
                               .assemble_ns = 60 * CRN_MODEL_MS,
                               .guard_ns = 1 * CRN_MODEL_MS,
                               .straggler_ns = CRN_MODEL_STRAGGLER},
             seed);
}

static void test_guard_beyond_the_budget(void **state)
{
    (void)state;
    play((crn_fruit_rules){.open_fruits = 20,
                           .judged_fruits = CRN_MODEL_EVENTS,
                           .views = CRN_MODEL_VIEWS,
                           .workers = 3,
                           .budget_ns = 2 * CRN_MODEL_MS,
                           .assemble_ns = 30 * CRN_MODEL_MS,
                           .guard_ns = 5 * CRN_MODEL_MS,
                           .straggler_ns = CRN_MODEL_STRAGGLER},
         21);
}

static void test_no_time_to_assemble(void **state)
{
    (void)state;
    play((crn_fruit_rules){.open_fruits = 20,
                           .judged_fruits = CRN_MODEL_EVENTS,
                           .views = CRN_MODEL_VIEWS,
                           .workers = 3,
                           .budget_ns = 20 * CRN_MODEL_MS,
                           .assemble_ns = 0,
                           .guard_ns = 0,
                           .straggler_ns = CRN_MODEL_STRAGGLER},
         31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everyday),
        cmocka_unit_test(test_small_table),
        cmocka_unit_test(test_guard_beyond_the_budget),
        cmocka_unit_test(test_no_time_to_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
