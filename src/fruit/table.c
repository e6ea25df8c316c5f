#include "src/fruit/table.h"

#include <errno.h>
#include <stdlib.h>

#include "stages/base/clock.h"

/* Binary heap with the earliest next event on top, the oldest of equal ones. */
typedef struct heap {
    uint32_t count;
    crn_fruit_entry **at;
} heap;

struct crn_fruit_table {
    uint32_t count, views_each;
    uint64_t opened; /* fruits opened so far */
    crn_fruit_entry *places;
    crn_fruit_view *views;
    crn_fruit_entry *free; /* linked by `newer` */
    crn_fruit_entry *oldest, *newest;
    heap waiting, due;       /* each entry in use is in one of them */
    crn_fruit_entry **index; /* open addressing by hash */
    uint32_t mask;           /* of `index` */
};

int crn_fruit_table_create(uint32_t count, uint32_t views, crn_fruit_table **ret_places)
{
    crn_fruit_table *places = calloc(1, sizeof *places);
    if (!places)
        return -ENOMEM;
    uint32_t size = 4;
    while (size < 2 * count)
        size *= 2;
    places->count = count;
    places->views_each = views;
    places->mask = size - 1;
    places->places = calloc(count, sizeof *places->places);
    places->views = calloc((size_t)count * views, sizeof *places->views);
    places->waiting.at = calloc(count, sizeof *places->waiting.at);
    places->due.at = calloc(count, sizeof *places->due.at);
    places->index = calloc(size, sizeof *places->index);
    if (!places->places || !places->views || !places->waiting.at || !places->due.at ||
        !places->index) {
        crn_fruit_table_free(&places);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        crn_fruit_entry *place = &places->places[i];
        place->number = i;
        place->views = places->views + (size_t)i * views;
        place->newer = i + 1 < count ? place + 1 : NULL;
    }
    places->free = places->places;
    *ret_places = places;
    return 0;
}

void crn_fruit_table_free(crn_fruit_table **places)
{
    if (!places || !*places)
        return;
    free((*places)->places);
    free((*places)->views);
    free((*places)->waiting.at);
    free((*places)->due.at);
    free((*places)->index);
    free(*places);
    *places = NULL;
}

/* --- the index: from a fruit's key to its entry ----------------------------------------------- */

static uint32_t hash_name(const crn_lane *lane, uint64_t epoch, uint64_t fruit)
{
    uint64_t mixed = fruit * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32 ^ epoch) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 32 ^ crn_lane_number(lane)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(mixed >> 32);
}

crn_fruit_entry *crn_fruit_table_find(crn_fruit_table *places, const crn_lane *lane, uint64_t epoch,
                                      uint64_t fruit)
{
    uint32_t at = hash_name(lane, epoch, fruit) & places->mask;
    for (; places->index[at]; at = (at + 1) & places->mask) {
        const crn_fruit *found = &places->index[at]->fruit;
        if (found->fruit == fruit && found->epoch == epoch && found->lane == lane)
            return places->index[at];
    }
    return NULL;
}

static void index_add(crn_fruit_table *places, crn_fruit_entry *place)
{
    uint32_t at = place->hash & places->mask;
    while (places->index[at])
        at = (at + 1) & places->mask;
    places->index[at] = place;
}

/* Removes the entry by backward-shift deletion (linear probing). */
static void index_remove(crn_fruit_table *places, const crn_fruit_entry *place)
{
    uint32_t mask = places->mask;
    uint32_t gap = place->hash & mask;
    while (places->index[gap] != place)
        gap = (gap + 1) & mask;
    for (uint32_t at = (gap + 1) & mask; places->index[at]; at = (at + 1) & mask) {
        uint32_t home = places->index[at]->hash & mask;
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        places->index[gap] = places->index[at];
        gap = at;
    }
    places->index[gap] = NULL;
}

/* --- the heaps by next event: fruits that are due, and the others --- */

static bool is_before(const crn_fruit_entry *a, const crn_fruit_entry *b)
{
    return a->next_event_ns != b->next_event_ns ? a->next_event_ns < b->next_event_ns
                                                : a->order < b->order;
}

static void heap_set(heap *in, uint32_t at, crn_fruit_entry *place)
{
    in->at[at] = place;
    place->heap_at = at;
}

/* Sifts the entry up or down from `at`, whose previous entry has been moved already. */
static void heap_settle(heap *in, uint32_t at, crn_fruit_entry *place)
{
    for (; at > 0 && is_before(place, in->at[(at - 1) / 2]); at = (at - 1) / 2)
        heap_set(in, at, in->at[(at - 1) / 2]);
    for (uint32_t below = 2 * at + 1; below < in->count; below = 2 * at + 1) {
        if (below + 1 < in->count && is_before(in->at[below + 1], in->at[below]))
            below++;
        if (!is_before(in->at[below], place))
            break;
        heap_set(in, at, in->at[below]);
        at = below;
    }
    heap_set(in, at, place);
}

static heap *heap_of(crn_fruit_table *places, const crn_fruit_entry *place)
{
    return place->in_due ? &places->due : &places->waiting;
}

static void heap_add(crn_fruit_table *places, crn_fruit_entry *place)
{
    place->in_due = place->due;
    heap *to = heap_of(places, place);
    uint32_t last = to->count++;
    heap_settle(to, last, place);
}

static void heap_remove(crn_fruit_table *places, crn_fruit_entry *place)
{
    heap *from = heap_of(places, place);
    crn_fruit_entry *last = from->at[--from->count];
    if (last != place)
        heap_settle(from, place->heap_at, last);
}

void crn_fruit_table_update(crn_fruit_table *places, crn_fruit_entry *place)
{
    if (place->due == place->in_due) {
        heap_settle(heap_of(places, place), place->heap_at, place);
        return;
    }
    heap_remove(places, place);
    heap_add(places, place);
}

crn_fruit_entry *crn_fruit_table_first_due(const crn_fruit_table *places)
{
    return places->due.count > 0 ? places->due.at[0] : NULL;
}

crn_fruit_entry *crn_fruit_table_first_waiting(const crn_fruit_table *places)
{
    return places->waiting.count > 0 ? places->waiting.at[0] : NULL;
}

/* --- taking and freeing entries --------------------------------------------------------------- */

crn_fruit_entry *crn_fruit_table_take(crn_fruit_table *places, crn_lane *lane, uint64_t epoch,
                                      uint64_t fruit)
{
    crn_fruit_entry *place = places->free;
    if (!place)
        return NULL;
    places->free = place->newer;
    for (uint32_t v = 0; v < places->views_each; v++)
        place->views[v] = (crn_fruit_view){.state = CRN_VIEW_ABSENT};
    *place = (crn_fruit_entry){
        .fruit = {.lane = lane, .epoch = epoch, .fruit = fruit, .views = place->views},
        .views = place->views,
        .number = place->number,
        .serial = place->serial,
        .lowest = UINT32_MAX,
        .order = places->opened++,
        .header_deadline_ns = CRN_NEVER_NS,
        .next_event_ns = CRN_NEVER_NS,
        .hash = hash_name(lane, epoch, fruit),
        .older = places->newest,
    };
    *(places->newest ? &places->newest->newer : &places->oldest) = place;
    places->newest = place;
    index_add(places, place);
    heap_add(places, place);
    return place;
}

void crn_fruit_table_give(crn_fruit_table *places, crn_fruit_entry *place)
{
    index_remove(places, place);
    heap_remove(places, place);
    *(place->older ? &place->older->newer : &places->oldest) = place->newer;
    *(place->newer ? &place->newer->older : &places->newest) = place->older;
    place->serial++;
    place->newer = places->free;
    places->free = place;
}

crn_fruit_entry *crn_fruit_table_oldest(const crn_fruit_table *places)
{
    return places->oldest;
}

crn_fruit_entry *crn_fruit_table_at(const crn_fruit_table *places, uint32_t number)
{
    return number < places->count ? &places->places[number] : NULL;
}

uint32_t crn_fruit_table_taken(const crn_fruit_table *places)
{
    return places->waiting.count + places->due.count;
}
