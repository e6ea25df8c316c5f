/* Verdicts of no line, and a file of minutes in a folder of its own, for tests. */
#ifndef CRN_TESTS_UNIT_MONITOR_MINUTES_MINUTES_FIXTURE_H
#define CRN_TESTS_UNIT_MONITOR_MINUTES_MINUTES_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/minutes/reader.h"
#include "src/monitor/minutes/thread.h"
#include "src/publish/surface.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"

enum { MADE_LANES = 40, MADE_CLASSES = 6, MADE_LOTS = 3 };

/* What verdicts add up to, counted one by one: by lane and kind, and by class. */
typedef struct made_sums {
    uint64_t verdicts[MADE_LANES][CRN_VERDICT_LATE + 1], with_defect[MADE_LANES];
    uint64_t looked_for[MADE_CLASSES], fruits[MADE_CLASSES], area_px[MADE_CLASSES],
        area_mm2[MADE_CLASSES];
    uint64_t of_lots[MADE_LOTS]; /* fruits */
    uint64_t measured[MADE_CLASSES];
} made_sums;

static const char *const made_lots[MADE_LOTS] = {"", "4711", "Hof Süd 3"};

static const char *const made_names[MADE_CLASSES] = {"ground", "rot",        "rust",
                                                     "hail",   "fresh hail", "Schorf"};

static inline void make_config(crn_config *config, uint32_t generation, const char *recipe)
{
    memset(config, 0, sizeof *config);
    config->generation = generation;
    config->hash = generation + 1;
    snprintf(config->recipe, sizeof config->recipe, "%s", recipe);
    config->classes.count = MADE_CLASSES;
    for (uint32_t i = 0; i < MADE_CLASSES; i++) {
        snprintf(config->classes.name[i], CRN_CLASS_NAME_MAX, "%s", made_names[i]);
        config->classes.level[i] = i > 0 && (i + generation) % 4 > 0 ? 0.5F : NAN;
    }
}

/* Counts a random fruit at this time, and adds it to `ret_sums`. */
static inline void count_fruit(crn_minute_counter *counter, crn_random *random,
                               const crn_config *config, uint64_t published_ns, made_sums *ret_sums)
{
    crn_class_total totals[CRN_CLASSES_MAX] = {{0}};
    crn_fruit_surface surface = {.is_measured = crn_random_once_in(random, 2)};
    uint32_t index = crn_random_below(random, MADE_LANES);
    crn_lane lane = {.index = (int32_t)index, .number = 100 + index};
    crn_fruit fruit = {.lane = &lane, .config = config, .surface = &surface};
    uint32_t lot =
        (uint32_t)(published_ns / CRN_MINUTE_NS + crn_random_below(random, 2)) % MADE_LOTS;
    snprintf(fruit.lot, sizeof fruit.lot, "%s", made_lots[lot]);
    ret_sums->of_lots[lot]++;
    crn_published published = {.facts = {.kind = (crn_verdict_kind)crn_random_below(random, 3),
                                         .published_ns = published_ns,
                                         .without_defects = crn_random_once_in(random, 10)},
                               .totals = totals};
    crn_verdict_facts *facts = &published.facts;
    bool is_known = facts->kind != CRN_VERDICT_LATE && !facts->without_defects, any = false;
    for (uint32_t i = 0; i < MADE_CLASSES; i++) {
        if (isnan(config->classes.level[i]) || !is_known)
            continue;
        ret_sums->looked_for[i]++;
        ret_sums->measured[i] += surface.is_measured;
        if (crn_random_once_in(random, 2))
            continue;
        totals[i] = (crn_class_total){1 + crn_random_below(random, 9),
                                      crn_random_below(random, 4000000) / 100.0};
        surface.area_mm2[i] = crn_random_below(random, 100000) / 100.0;
        any = true;
        ret_sums->fruits[i]++;
        ret_sums->area_px[i] += (uint64_t)llround(totals[i].area_px * 100);
        if (surface.is_measured)
            ret_sums->area_mm2[i] += (uint64_t)llround(surface.area_mm2[i] * 100);
    }
    crn_verdict_kind told = facts->without_defects && facts->kind == CRN_VERDICT_COMPLETE
                                ? CRN_VERDICT_PARTIAL
                                : facts->kind;
    ret_sums->verdicts[index][told]++;
    ret_sums->with_defect[index] += any;
    crn_minute_counter_add(counter, &fruit, &published);
}

static inline uint32_t made_lot(const char *name)
{
    for (uint32_t i = 0; i < MADE_LOTS; i++)
        if (strcmp(made_lots[i], name) == 0)
            return i;
    fail_msg("lot '%s'", name);
    return 0;
}

static inline uint32_t made_class(const char *name)
{
    for (uint32_t i = 0; i < MADE_CLASSES; i++)
        if (strcmp(made_names[i], name) == 0)
            return i;
    fail_msg("class '%s'", name);
    return 0;
}

static inline void add_record(const crn_minutes_reader *reader, const crn_minute_record *record,
                              made_sums *sums)
{
    for (uint32_t i = 0; i < record->lane_count; i++) {
        const crn_minute_lane *lane = &record->lanes[i];
        assert_in_range(lane->lane, 100, 100 + MADE_LANES - 1);
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++) {
            sums->verdicts[lane->lane - 100][kind] += lane->verdicts[kind];
            sums->of_lots[made_lot(crn_minutes_text(reader, record->lot))] += lane->verdicts[kind];
        }
        sums->with_defect[lane->lane - 100] += lane->with_defect;
    }
    for (uint32_t i = 0; i < record->class_count; i++) {
        const crn_minute_class *class = &record->classes[i];
        uint32_t of = made_class(crn_minutes_text(reader, class->name));
        sums->looked_for[of] += record->fruits;
        sums->measured[of] += record->measured;
        sums->fruits[of] += class->fruits;
        sums->area_px[of] += class->area_px;
        sums->area_mm2[of] += class->area_mm2;
    }
}

static inline const char *minutes_path(void)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/" CRN_MINUTES_FILE, test_folder);
    return path;
}

static inline void open_reader(crn_minutes_reader *reader)
{
    crn_error error;
    if (crn_minutes_open(minutes_path(), reader, &error) < 0)
        fail_msg("%s", error.text);
}

#endif
