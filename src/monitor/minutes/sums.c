#include "src/monitor/minutes/sums.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/publish/surface.h"

/* Sums that may wait for the other thread. */
#define WAITING 64

/* Sums that are added to by turns. */
#define OPEN 4

#define BUFFERS (WAITING + OPEN)

struct crn_minute_counter {
    unsigned char *memory;
    crn_minute_sums *open[OPEN];
    uint32_t latest;     /* place of those that were added to last, */
    uint32_t oldest;     /* and of those that were begun first */
    crn_ring over, free; /* to the other thread, and back */
    sem_t *posted;
};

int crn_minute_counter_create(int32_t lanes, sem_t *over, crn_minute_counter **ret_counter)
{
    crn_minute_counter *counter = calloc(1, sizeof *counter);
    if (!counter)
        return -ENOMEM;
    size_t bytes = sizeof(crn_minute_sums) + (size_t)lanes * sizeof(crn_minute_lane);
    counter->posted = over;
    counter->memory = calloc(BUFFERS, bytes);
    int r = counter->memory ? crn_ring_init(&counter->over, BUFFERS) : -ENOMEM;
    if (r == 0)
        r = crn_ring_init(&counter->free, BUFFERS);
    for (size_t i = 0; r == 0 && i < BUFFERS; i++) {
        crn_minute_sums *sums = (crn_minute_sums *)(counter->memory + i * bytes);
        sums->lane_count = lanes;
        if (i < OPEN)
            counter->open[i] = sums;
        else
            crn_ring_push(&counter->free, sums);
    }
    if (r < 0)
        crn_minute_counter_free(&counter);
    *ret_counter = counter;
    return r;
}

void crn_minute_counter_free(crn_minute_counter **counter)
{
    if (!*counter)
        return;
    crn_ring_done(&(*counter)->over);
    crn_ring_done(&(*counter)->free);
    free((*counter)->memory);
    free(*counter);
    *counter = NULL;
}

/* --- the line's thread --- */

/* Empty sums in that place, unless the other thread has all that there are: then these go on. */
static void hand_over(crn_minute_counter *counter, uint32_t place)
{
    crn_minute_sums *next = crn_ring_pop(&counter->free);
    if (!next)
        return;
    crn_ring_push(&counter->over, counter->open[place]); /* has room for all */
    sem_post(counter->posted);
    counter->open[place] = next;
}

static void begin(crn_minute_sums *sums, int64_t minute, const crn_fruit *fruit)
{
    const crn_config *config = fruit->config;
    const crn_classes *classes = &config->classes;
    sums->minute = minute;
    sums->settings = config->hash;
    memcpy(sums->recipe, config->recipe, sizeof sums->recipe);
    memcpy(sums->lot, fruit->lot, sizeof sums->lot);
    sums->fruits = sums->looked_for = sums->measured = 0;
    sums->is_mixed = false;
    sums->class_count = classes->count;
    for (int32_t i = 0; i < classes->count; i++) {
        sums->classes[i] = (crn_minute_class_sums){.looked_for = !isnan(classes->level[i])};
        snprintf(sums->classes[i].name, CRN_CLASS_NAME_MAX, "%s", classes->name[i]);
    }
    memset(sums->lanes, 0, (size_t)sums->lane_count * sizeof *sums->lanes);
}

#define ANY_MINUTE INT64_MIN

/* False also if the fruit's lane has the place of one that was freed. */
static bool fits(const crn_minute_sums *sums, const crn_fruit *fruit, int64_t minute)
{
    const crn_minute_lane *lane = &sums->lanes[fruit->lane->index];
    return sums->fruits > 0 && (sums->minute == minute || minute == ANY_MINUTE) &&
           sums->settings == fruit->config->hash && strcmp(sums->lot, fruit->lot) == 0 &&
           (lane->lane == fruit->lane->number ||
            lane->verdicts[0] + lane->verdicts[1] + lane->verdicts[2] == 0);
}

/* NULL: none fit. */
static crn_minute_sums *find_sums(crn_minute_counter *counter, const crn_fruit *fruit,
                                  int64_t minute)
{
    for (uint32_t i = 0; i < OPEN; i++) {
        uint32_t place = (counter->latest + i) % OPEN;
        if (fits(counter->open[place], fruit, minute)) {
            counter->latest = place;
            return counter->open[place];
        }
    }
    return NULL;
}

/* An empty place, the oldest one if that can be handed over; OPEN: there is none. */
static uint32_t empty_place(crn_minute_counter *counter)
{
    uint32_t place = counter->oldest;
    if (counter->open[place]->fruits > 0)
        hand_over(counter, place);
    if (counter->open[place]->fruits == 0) {
        counter->oldest = (place + 1) % OPEN;
        return place;
    }
    for (place = 0; place < OPEN && counter->open[place]->fruits > 0; place++)
        continue;
    return place;
}

/* Sums that have to take a fruit that does not fit: those begun first, which tell that. */
static crn_minute_sums *mix(crn_minute_counter *counter)
{
    crn_minute_sums *sums = counter->open[counter->oldest];
    sums->is_mixed = true;
    sums->lot[0] = sums->recipe[0] = '\0';
    return sums;
}

/* The sums that the fruit belongs to. At a change of settings or lot fruits from before and after
 * it alternate. */
static crn_minute_sums *sums_of(crn_minute_counter *counter, const crn_fruit *fruit, int64_t minute)
{
    crn_minute_sums *sums = find_sums(counter, fruit, minute);
    if (sums)
        return sums;
    uint32_t place = empty_place(counter);
    if (place == OPEN) { /* the other thread has all that there are */
        sums = find_sums(counter, fruit, ANY_MINUTE);
        return sums ? sums : mix(counter);
    }
    counter->latest = place;
    begin(counter->open[place], minute, fruit);
    return counter->open[place];
}

/* Never below 0: a contour that the border cuts open may enclose less than nothing. */
static uint64_t scaled(double area)
{
    return area > 0 ? (uint64_t)llround(area * CRN_MINUTES_AREA_SCALE) : 0;
}

static bool has_defect(const crn_fruit *fruit, const crn_published *published)
{
    for (int32_t i = 0; i < fruit->config->classes.count; i++)
        if (published->totals[i].count > 0)
            return true;
    return false;
}

/* Of a fruit whose defects are known, by the settings of the sums. */
static void add_classes(crn_minute_sums *sums, const crn_fruit *fruit,
                        const crn_class_total *totals)
{
    bool is_measured = fruit->surface && fruit->surface->is_measured;
    for (int32_t i = 0; i < sums->class_count; i++) {
        crn_minute_class_sums *class = &sums->classes[i];
        if (totals[i].count == 0)
            continue;
        class->fruits++;
        class->area_px += scaled(totals[i].area_px);
        if (is_measured)
            class->area_mm2 += scaled(fruit->surface->area_mm2[i]);
    }
    sums->looked_for++;
    sums->measured += is_measured;
}

void crn_minute_counter_add(crn_minute_counter *counter, const crn_fruit *fruit,
                            const crn_published *published)
{
    if (!published->totals) /* there was no memory for its verdict */
        return;
    int64_t minute = (int64_t)published->facts.published_ns / CRN_MINUTE_NS;
    crn_minute_sums *sums = sums_of(counter, fruit, minute);
    crn_minute_lane *lane = &sums->lanes[fruit->lane->index];
    bool is_known = published->facts.kind != CRN_VERDICT_LATE && !published->facts.without_defects;
    lane->lane = fruit->lane->number;
    lane->verdicts[crn_verdict_facts_kind(&published->facts)]++;
    lane->with_defect += is_known && has_defect(fruit, published);
    if (is_known && sums->settings == fruit->config->hash)
        add_classes(sums, fruit, published->totals);
    sums->fruits++;
}

void crn_minute_counter_look(crn_minute_counter *counter, int64_t realtime_ns, bool all)
{
    for (uint32_t place = 0; place < OPEN; place++) {
        const crn_minute_sums *sums = counter->open[place];
        if (sums->fruits > 0 && (all || sums->minute != realtime_ns / CRN_MINUTE_NS))
            hand_over(counter, place);
    }
}

/* --- the other thread --- */

crn_minute_sums *crn_minute_counter_take(crn_minute_counter *counter)
{
    return crn_ring_pop(&counter->over);
}

void crn_minute_counter_give_back(crn_minute_counter *counter, crn_minute_sums *sums)
{
    sums->fruits = 0;
    crn_ring_push(&counter->free, sums);
}
