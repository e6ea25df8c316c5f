/*
 * The table of open fruits: finding a fruit by its name, the first that is due, the first to
 * fall due, and the oldest. No meaning and no clock in it. A private part of fruit.c, which alone
 * includes this.
 */
#ifndef CRN_SRC_FRUIT_TABLE_H
#define CRN_SRC_FRUIT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fruit/fruit.h"

/* An open fruit in its place. Masks have bit v for view v. */
typedef struct crn_fruit_entry {
    crn_fruit fruit;            /* first: the pointer that callers hold is the place's */
    crn_fruit_view *views;      /* the same as fruit.views */
    uint32_t number;            /* in the table */
    uint32_t serial;            /* of the fruits that stood here; see crn_ticket */
    uint32_t lowest;            /* view received */
    uint64_t order;             /* of opening */
    uint64_t pending;           /* views arrived, queued or running */
    int64_t header_deadline_ns; /* the earliest of its views' */
    int64_t next_event_ns;      /* deadline - guard once closed, before: when it closes */
    bool due;                   /* to be judged at once */
    bool forced;                /* open_fruits was reached */
    bool expired;               /* its deadline - guard came */

    /* The table's own: */
    bool in_due;
    uint32_t hash, heap_at;
    struct crn_fruit_entry *older, *newer; /* neighbours by opening */
} crn_fruit_entry;

typedef struct crn_fruit_table crn_fruit_table;

/* `count` places for fruits of up to `views` views. 0, -ENOMEM. */
int crn_fruit_table_create(uint32_t count, uint32_t views, crn_fruit_table **ret_places);
void crn_fruit_table_free(crn_fruit_table **places);

/* NULL: not open. */
crn_fruit_entry *crn_fruit_table_find(crn_fruit_table *places, const crn_lane *lane, uint64_t epoch,
                                      uint64_t fruit);

/* A place for a fruit that is not open yet, reset to no views, no alarm; NULL: all are taken. */
crn_fruit_entry *crn_fruit_table_take(crn_fruit_table *places, crn_lane *lane, uint64_t epoch,
                                      uint64_t fruit);

/* The fruit leaves; tickets to it are stale from now on. */
void crn_fruit_table_give(crn_fruit_table *places, crn_fruit_entry *place);

/* To be called whenever due or next_event_ns changed. */
void crn_fruit_table_update(crn_fruit_table *places, crn_fruit_entry *place);

/* The earliest alarm among the fruits that are due, and among the others; of alike ones the oldest;
 * NULL: there is none. */
crn_fruit_entry *crn_fruit_table_first_due(const crn_fruit_table *places);
crn_fruit_entry *crn_fruit_table_first_waiting(const crn_fruit_table *places);

/* The fruit opened first; `newer` leads on to all others. NULL: none is open. */
crn_fruit_entry *crn_fruit_table_oldest(const crn_fruit_table *places);

/* The place of that number, taken or not; NULL: there is none. */
crn_fruit_entry *crn_fruit_table_at(const crn_fruit_table *places, uint32_t number);

uint32_t crn_fruit_table_taken(const crn_fruit_table *places);

#endif
