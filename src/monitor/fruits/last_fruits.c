#include "src/monitor/fruits/last_fruits.h"

#include "stages/base/clock.h"

/* Among which lanes take turns. */
#define TURN_FRUITS 1000

static crn_kept_fruit name_of(const crn_flight_fruit *fruit)
{
    return (crn_kept_fruit){fruit->lane, fruit->epoch, fruit->fruit};
}

static bool same(const crn_kept_fruit *a, const crn_kept_fruit *b)
{
    return a->lane == b->lane && a->epoch == b->epoch && a->fruit == b->fruit;
}

void crn_last_fruits_update(crn_last_fruits *fruits, const crn_flight *flight)
{
    crn_flight_range kept = crn_flight_kept(flight);
    int64_t since_boot_ns = crn_realtime_ns() - crn_now_ns();
    if (fruits->next < kept.first)
        fruits->next = kept.first;
    for (; fruits->next < kept.end; fruits->next++) {
        const crn_flight_fruit *fruit = crn_flight_at(flight, fruits->next);
        crn_class_counts_add(&fruits->classes, fruit);
        int64_t latency_ns = fruit->published_ns - fruit->closed_ns;
        bool over = latency_ns > fruit->budget_ns;
        if (fruit->kind == CRN_VERDICT_COMPLETE && !over)
            continue;
        fruits->bad[fruits->bad_count++ % CRN_BAD_FRUITS_MAX] =
            (crn_bad_fruit){.name = name_of(fruit),
                            .kind = fruit->kind,
                            .over_budget = over,
                            .judged = fruit->judged,
                            .expected = fruit->expected,
                            .latency_ns = latency_ns,
                            .published_ns = since_boot_ns + fruit->published_ns};
    }
}

static void add_shown(crn_last_fruits *fruits, const crn_kept_fruit *name)
{
    for (uint64_t i = 0; i < fruits->shown_count && i < CRN_SHOWN_FRUITS_MAX; i++)
        if (same(&fruits->shown[i], name))
            return;
    fruits->shown[fruits->shown_count++ % CRN_SHOWN_FRUITS_MAX] = *name;
}

/* The latest fruit of the lane whose turn it is: the next higher number among the last fruits, or
 * the lowest. The flight recorder has a fruit. */
static const crn_flight_fruit *find_turn(const crn_last_fruits *fruits, const crn_flight *flight)
{
    crn_flight_range kept = crn_flight_kept(flight);
    const crn_flight_fruit *lowest = NULL, *next = NULL;
    for (uint64_t i = 0; i < TURN_FRUITS && kept.first + i < kept.end; i++) {
        const crn_flight_fruit *fruit = crn_flight_at(flight, kept.end - 1 - i);
        if (!lowest || fruit->lane < lowest->lane)
            lowest = fruit;
        if (fruit->lane > fruits->lane && (!next || fruit->lane < next->lane))
            next = fruit;
    }
    return next ? next : lowest;
}

void crn_last_fruits_show(crn_last_fruits *fruits, const crn_flight *flight,
                          crn_live_photos *photos, crn_sheets *sheets)
{
    crn_flight_range kept = crn_flight_kept(flight);
    const crn_photo_set *set = photos ? crn_live_photos_take(photos) : NULL;
    const crn_sheet *sheet = set ? crn_sheets_add(sheets, set) : NULL;
    if (sheet) {
        crn_kept_fruit name = {sheet->lane, sheet->epoch, sheet->fruit};
        add_shown(fruits, &name);
        fruits->lane = sheet->lane;
        fruits->unanswered = 0;
    } else if (kept.first < kept.end && (!photos || ++fruits->unanswered >= CRN_PHOTOS_PATIENCE)) {
        crn_kept_fruit name = name_of(find_turn(fruits, flight));
        add_shown(fruits, &name);
        fruits->lane = name.lane;
    }
    int64_t lane = CRN_LIVE_PHOTOS_ANY;
    if (kept.first < kept.end && fruits->unanswered < CRN_PHOTOS_PATIENCE)
        lane = find_turn(fruits, flight)->lane;
    if (photos)
        crn_live_photos_want(photos, lane);
}

const crn_flight_fruit *crn_last_fruits_find(const crn_flight *flight, const crn_kept_fruit *name)
{
    crn_flight_range kept = crn_flight_kept(flight);
    for (uint64_t number = kept.end; number > kept.first; number--) {
        const crn_flight_fruit *fruit = crn_flight_at(flight, number - 1);
        crn_kept_fruit found = name_of(fruit);
        if (same(&found, name))
            return fruit;
    }
    return NULL;
}
