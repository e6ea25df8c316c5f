#include "src/fruit/table.h"

#include <errno.h>
#include <stdlib.h>

#include "src/fruit/judged.h"
#include "stages/base/clock.h"
#include "stages/base/hash_index.h"

/* Binary heap with the earliest next event on top, the oldest of equal ones. */
typedef struct heap {
    uint32_t count;
    crn_fruit_entry **at;
} heap;

struct crn_fruit_table {
    uint32_t count, views_each;
    uint64_t opened; /* fruits opened so far */
    crn_fruit_entry *entries;
    crn_fruit_view *views;
    crn_fruit_entry *free; /* linked by `newer` */
    crn_fruit_entry *oldest, *newest;
    heap waiting, due;    /* each entry in use is in one of them */
    crn_hash_index index; /* of `entries` by the fruit's number */
};

int crn_fruit_table_create(uint32_t count, uint32_t views, crn_fruit_table **ret_table)
{
    crn_fruit_table *table = calloc(1, sizeof *table);
    if (!table)
        return -ENOMEM;
    table->count = count;
    table->views_each = views;
    table->entries = calloc(count, sizeof *table->entries);
    table->views = calloc((size_t)count * views, sizeof *table->views);
    table->waiting.at = calloc(count, sizeof *table->waiting.at);
    table->due.at = calloc(count, sizeof *table->due.at);
    if (!table->entries || !table->views || !table->waiting.at || !table->due.at ||
        crn_hash_index_init(&table->index, count) < 0) {
        crn_fruit_table_free(&table);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        crn_fruit_entry *entry = &table->entries[i];
        entry->number = i;
        entry->views = table->views + (size_t)i * views;
        entry->newer = i + 1 < count ? entry + 1 : NULL;
    }
    table->free = table->entries;
    *ret_table = table;
    return 0;
}

void crn_fruit_table_free(crn_fruit_table **table)
{
    if (!table || !*table)
        return;
    free((*table)->entries);
    free((*table)->views);
    free((*table)->waiting.at);
    free((*table)->due.at);
    crn_hash_index_done(&(*table)->index);
    free(*table);
    *table = NULL;
}

crn_fruit_entry *crn_fruit_table_find(crn_fruit_table *table, const crn_lane *lane, uint64_t epoch,
                                      uint64_t fruit)
{
    uint32_t at = crn_fruit_hash(lane->number, epoch, fruit), number;
    for (; (number = crn_hash_index_at(&table->index, at)) != CRN_HASH_INDEX_NONE; at++) {
        const crn_fruit *found = &table->entries[number].fruit;
        if (found->fruit == fruit && found->epoch == epoch && found->lane == lane)
            return &table->entries[number];
    }
    return NULL;
}

static uint32_t hash_of(const void *table, uint32_t number)
{
    return ((const crn_fruit_table *)table)->entries[number].hash;
}

/* --- the heaps by next event: fruits that are due, and the others --- */

static bool is_before(const crn_fruit_entry *a, const crn_fruit_entry *b)
{
    return a->next_event_ns != b->next_event_ns ? a->next_event_ns < b->next_event_ns
                                                : a->order < b->order;
}

static void heap_set(heap *in, uint32_t at, crn_fruit_entry *entry)
{
    in->at[at] = entry;
    entry->heap_at = at;
}

/* Sifts the entry up or down from `at`, whose previous entry has been moved already. */
static void heap_sift(heap *in, uint32_t at, crn_fruit_entry *entry)
{
    for (; at > 0 && is_before(entry, in->at[(at - 1) / 2]); at = (at - 1) / 2)
        heap_set(in, at, in->at[(at - 1) / 2]);
    for (uint32_t below = 2 * at + 1; below < in->count; below = 2 * at + 1) {
        if (below + 1 < in->count && is_before(in->at[below + 1], in->at[below]))
            below++;
        if (!is_before(in->at[below], entry))
            break;
        heap_set(in, at, in->at[below]);
        at = below;
    }
    heap_set(in, at, entry);
}

static heap *heap_of(crn_fruit_table *table, const crn_fruit_entry *entry)
{
    return entry->in_due ? &table->due : &table->waiting;
}

static void heap_add(crn_fruit_table *table, crn_fruit_entry *entry)
{
    entry->in_due = entry->due;
    heap *to = heap_of(table, entry);
    uint32_t last = to->count++;
    heap_sift(to, last, entry);
}

static void heap_remove(crn_fruit_table *table, crn_fruit_entry *entry)
{
    heap *from = heap_of(table, entry);
    crn_fruit_entry *last = from->at[--from->count];
    if (last != entry)
        heap_sift(from, entry->heap_at, last);
}

void crn_fruit_table_update(crn_fruit_table *table, crn_fruit_entry *entry)
{
    if (entry->due == entry->in_due) {
        heap_sift(heap_of(table, entry), entry->heap_at, entry);
        return;
    }
    heap_remove(table, entry);
    heap_add(table, entry);
}

crn_fruit_entry *crn_fruit_table_first_due(const crn_fruit_table *table)
{
    return table->due.count > 0 ? table->due.at[0] : NULL;
}

crn_fruit_entry *crn_fruit_table_first_waiting(const crn_fruit_table *table)
{
    return table->waiting.count > 0 ? table->waiting.at[0] : NULL;
}

/* --- taking and freeing entries --------------------------------------------------------------- */

crn_fruit_entry *crn_fruit_table_add(crn_fruit_table *table, crn_lane *lane, uint64_t epoch,
                                     uint64_t fruit)
{
    crn_fruit_entry *entry = table->free;
    if (!entry)
        return NULL;
    table->free = entry->newer;
    for (uint32_t v = 0; v < table->views_each; v++)
        entry->views[v] = (crn_fruit_view){.state = CRN_VIEW_ABSENT};
    *entry = (crn_fruit_entry){
        .fruit = {.lane = lane, .epoch = epoch, .fruit = fruit, .views = entry->views},
        .views = entry->views,
        .number = entry->number,
        .serial = entry->serial,
        .lowest = UINT32_MAX,
        .order = table->opened++,
        .header_deadline_ns = CRN_NEVER_NS,
        .next_event_ns = CRN_NEVER_NS,
        .hash = crn_fruit_hash(lane->number, epoch, fruit),
        .older = table->newest,
    };
    *(table->newest ? &table->newest->newer : &table->oldest) = entry;
    table->newest = entry;
    crn_hash_index_add(&table->index, entry->hash, entry->number);
    heap_add(table, entry);
    return entry;
}

void crn_fruit_table_remove(crn_fruit_table *table, crn_fruit_entry *entry)
{
    crn_hash_index_remove(&table->index, entry->number, hash_of, table);
    heap_remove(table, entry);
    *(entry->older ? &entry->older->newer : &table->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &table->newest) = entry->older;
    entry->serial++;
    entry->newer = table->free;
    table->free = entry;
}

crn_fruit_entry *crn_fruit_table_oldest(const crn_fruit_table *table)
{
    return table->oldest;
}

crn_fruit_entry *crn_fruit_table_at(const crn_fruit_table *table, uint32_t number)
{
    return number < table->count ? &table->entries[number] : NULL;
}

uint32_t crn_fruit_table_count(const crn_fruit_table *table)
{
    return table->waiting.count + table->due.count;
}
