/*
 * The fruits that pages list: the last ones that were late, partial or over budget, and, while a
 * page is open, one a second with its photographs. Used by the HTTP thread.
 */
#ifndef CRN_SRC_MONITOR_FRUITS_LAST_FRUITS_H
#define CRN_SRC_MONITOR_FRUITS_LAST_FRUITS_H

#include "src/monitor/fruits/class_counts.h"
#include "src/monitor/fruits/flight.h"
#include "src/monitor/fruits/sheets.h"
#include "src/monitor/fruits/kept_maps.h"

CRN_C_BEGIN

#define CRN_BAD_FRUITS_MAX   12
#define CRN_SHOWN_FRUITS_MAX 6
#define CRN_PHOTOS_PATIENCE  3

typedef struct crn_bad_fruit {
    crn_kept_fruit name;
    crn_verdict_kind kind;
    bool over_budget;
    uint16_t judged, expected; /* views */
    int64_t latency_ns;
    int64_t published_ns; /* CLOCK_REALTIME */
} crn_bad_fruit;

/* Zeroed: none yet. Newest last; the oldest are overwritten. */
typedef struct crn_last_fruits {
    uint64_t bad_count, shown_count; /* since the start */
    crn_bad_fruit bad[CRN_BAD_FRUITS_MAX];
    crn_kept_fruit shown[CRN_SHOWN_FRUITS_MAX];
    int unanswered; /* calls since photographs were asked for last and came */
    uint32_t lane;  /* of the fruit shown last */
    uint64_t next;  /* number in the flight recorder of the first fruit not looked at */
    crn_class_counts classes;
} crn_last_fruits;

/* Looks at what the flight recorder took since the last call. */
void crn_last_fruits_update(crn_last_fruits *fruits, const crn_flight *flight);

/* Chooses a fruit to show, of each lane in turn: that of the photographs that came since the last
 * call, else, if none came for CRN_PHOTOS_PATIENCE calls, the lane's latest one; and asks for the
 * next photographs. `photos` NULL: there are none. */
void crn_last_fruits_show(crn_last_fruits *fruits, const crn_flight *flight,
                          crn_live_photos *photos, crn_sheets *sheets);

/* A fruit in the flight recorder, or NULL. */
const crn_flight_fruit *crn_last_fruits_find(const crn_flight *flight, const crn_kept_fruit *name);

CRN_C_END

#endif
