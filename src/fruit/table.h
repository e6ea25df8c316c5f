/* The table of open fruits: finds a fruit by its key, the first one that is due, the next to fall
 * due, and the oldest. No policy and no clock. Private to fruit.c. */
#ifndef CRN_SRC_FRUIT_TABLE_H
#define CRN_SRC_FRUIT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fruit/fruit.h"

/* An entry of the table. Masks have bit v for view v. */
typedef struct crn_fruit_entry {
    crn_fruit fruit;            /* first member: callers' pointers point to the entry */
    crn_fruit_view *views;      /* the same as fruit.views, but writable */
    uint32_t number;            /* its index in the table */
    uint32_t serial;            /* distinguishes successive fruits in this entry; see crn_ticket */
    uint32_t lowest;            /* lowest index of a view received */
    uint64_t order;             /* sequence number of its opening */
    uint64_t captured_ns;       /* latest of its views; 0: unknown */
    uint64_t pending;           /* views arrived, queued or running */
    uint64_t holding;           /* views that hold a slot which another can take */
    crn_fruit_rules rules;      /* those in force when it opened */
    int64_t header_deadline_ns; /* earliest of its views' header deadlines */
    int64_t next_event_ns;      /* deadline - guard once closed; before: when it closes */
    bool due;                   /* to be judged at once */
    bool forced;                /* open_fruits was exceeded */
    bool expired;               /* deadline - guard has passed */
    bool aside;                 /* crn_fruits_set_aside */

    /* Private to the table: */
    bool in_due;
    uint32_t hash, heap_at;
    struct crn_fruit_entry *older, *newer; /* neighbours in order of opening */
} crn_fruit_entry;

typedef struct crn_fruit_table crn_fruit_table;

/* Creates `count` entries for fruits of up to `views` views. Returns 0 or -ENOMEM. */
int crn_fruit_table_create(uint32_t count, uint32_t views, crn_fruit_table **ret_table);
void crn_fruit_table_free(crn_fruit_table **table);

/* Returns NULL if the fruit is not open. */
crn_fruit_entry *crn_fruit_table_find(crn_fruit_table *table, const crn_lane *lane, uint64_t epoch,
                                      uint64_t fruit);

/* Takes an entry for a fruit that is not open yet, reset to no views and no
 * next event; NULL if the table is full. */
crn_fruit_entry *crn_fruit_table_add(crn_fruit_table *table, crn_lane *lane, uint64_t epoch,
                                     uint64_t fruit);

/* Frees the entry; tickets to it are stale from now on. */
void crn_fruit_table_remove(crn_fruit_table *table, crn_fruit_entry *entry);

/* Restores the order of the heaps; call it whenever due or next_event_ns changed. */
void crn_fruit_table_update(crn_fruit_table *table, crn_fruit_entry *entry);

/* The entry with the earliest next_event_ns among the fruits that are due, and among the others;
 * the oldest of equal ones; NULL if there is none. */
crn_fruit_entry *crn_fruit_table_first_due(const crn_fruit_table *table);
crn_fruit_entry *crn_fruit_table_first_waiting(const crn_fruit_table *table);

/* The oldest open fruit; `newer` links to the others. NULL if none is open. */
crn_fruit_entry *crn_fruit_table_oldest(const crn_fruit_table *table);

/* The entry of that index, in use or not; NULL if out of range. */
crn_fruit_entry *crn_fruit_table_at(const crn_fruit_table *table, uint32_t number);

uint32_t crn_fruit_table_count(const crn_fruit_table *table);

#endif
