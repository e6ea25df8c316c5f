/*
 * What the verdicts of a minute add up to, in the line's thread: some additions for each, in memory
 * that is reserved at the start. A minute that is over is handed to another thread, which gives the
 * memory back; neither waits.
 *
 * A minute is one of CLOCK_REALTIME, by `published_ns` of the verdict. Fruits that are judged by
 * other settings, of another lot, and those after the clock was set, have sums of their own.
 *
 * Should the other thread give nothing back for an hour, as its disk hangs, fruits are counted on
 * in the last sums, of their lot and settings if there are such: their minute is then wrong, but
 * none is lost. Sums of several lots or settings name neither recipe nor lot, and have the classes
 * of those fruits alone that were judged by the first settings.
 */
#ifndef CRN_SRC_MONITOR_MINUTES_SUMS_H
#define CRN_SRC_MONITOR_MINUTES_SUMS_H

#include <semaphore.h>

#include "src/formats/minutes/format.h"
#include "src/fruit/fruit.h"
#include "src/publish/verdict.h"
#include "stages/base/ring.h"

CRN_C_BEGIN

typedef struct crn_minute_class_sums {
    bool looked_for;
    char name[CRN_CLASS_NAME_MAX];
    uint64_t fruits, area_px, area_mm2; /* as in crn_minute_class */
} crn_minute_class_sums;

/* Of a minute, or a part of it. */
typedef struct crn_minute_sums {
    int64_t minute;    /* since 1970 */
    uint64_t settings; /* hash of those that its fruits were judged by */
    char recipe[CRN_RECIPE_NAME_BYTES], lot[CRN_LOT_ID_BYTES];
    bool is_mixed;       /* of several lots or settings: `recipe` and `lot` are "" */
    uint64_t fruits;     /* 0: it is empty */
    uint64_t looked_for; /* of these, fruits whose defects are known, by `settings` */
    uint64_t measured;   /* and of these, those with an area in mm2 */
    int32_t class_count;
    crn_minute_class_sums classes[CRN_CLASSES_MAX];
    int32_t lane_count;      /* room for so many */
    crn_minute_lane lanes[]; /* by a lane's index; without verdicts: not seen */
} crn_minute_sums;

typedef struct crn_minute_counter crn_minute_counter;

/* `lanes` is limits.lanes, `over` is posted for each minute that is handed over, and must outlive
 * it. Returns 0 or -ENOMEM. */
int crn_minute_counter_create(int32_t lanes, sem_t *over, crn_minute_counter **ret_counter);
void crn_minute_counter_free(crn_minute_counter **counter); /* NULL is allowed */

/* For the line's thread: counts the verdict just published. */
void crn_minute_counter_add(crn_minute_counter *counter, const crn_fruit *fruit,
                            const crn_published *published);

/* For the line's thread, once a second: hands over what is not of this minute; with `all` whatever
 * there is. */
void crn_minute_counter_look(crn_minute_counter *counter, int64_t realtime_ns, bool all);

/* For the other thread: the next sums, NULL: there are none; it gives them back. */
crn_minute_sums *crn_minute_counter_take(crn_minute_counter *counter);
void crn_minute_counter_give_back(crn_minute_counter *counter, crn_minute_sums *sums);

CRN_C_END

#endif
