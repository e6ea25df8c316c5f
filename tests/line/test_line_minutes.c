/* A whole line, with section geometry: the minutes in its state folder add up to its verdicts, over
 * a restart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/minutes/reader.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/decoded_verdict.h"

#define FRUITS  40
#define LANES   3
#define CLASSES 3
#define HEIGHT  48
#define WIDTH   64

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain: [contours: {border: closed}]\n"
    "run: {backend: openmp, workers: 1, threads: 1}\n"
    "geometry: {mm_per_px: 0.5, fruit: {from: header}}\n"
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
    "log: {level: error}\n";

static line_fixture line;

/* By lane and kind, and by class. */
typedef struct line_sums {
    uint64_t verdicts[LANES][CRN_VERDICT_LATE + 1], with_defect[LANES];
    uint64_t looked_for[CLASSES], measured[CLASSES], fruits[CLASSES], area_px[CLASSES],
        area_mm2[CLASSES];
} line_sums;

static uint32_t class_of(const char *name)
{
    for (uint32_t i = 0; i < CLASSES; i++)
        if (strcmp(line.config.classes.name[i], name) == 0)
            return i;
    fail_msg("class '%s'", name);
    return 0;
}

static uint64_t hundredths(double area)
{
    return (uint64_t)llround(area * 100);
}

static void add_verdict(const crn_decoded *verdict, line_sums *sums)
{
    bool any = false;
    for (uint32_t i = 0; i < verdict->total_count; i++) {
        const crn_decoded_total *total = &verdict->totals[i];
        uint32_t class = class_of(total->name);
        any |= total->count > 0;
        sums->looked_for[class]++;
        sums->measured[class] += verdict->surface.is_measured;
        sums->fruits[class] += total->count > 0;
        sums->area_px[class] += hundredths(total->area_px);
    }
    for (uint32_t i = 0; i < verdict->surface.measure_count; i++)
        sums->area_mm2[class_of(verdict->surface.measures[i].name)] +=
            hundredths(verdict->surface.measures[i].area_mm2);
    sums->verdicts[verdict->lane][verdict->kind]++;
    sums->with_defect[verdict->lane] += any;
}

static void add_minutes(const char *path, line_sums *sums)
{
    crn_minutes_reader reader;
    crn_minute_record record;
    crn_error error;
    if (crn_minutes_open(path, &reader, &error) < 0)
        fail_msg("%s", error.text);
    while (crn_minutes_next(&reader, &record) == 1) {
        for (uint32_t i = 0; i < record.lane_count; i++) {
            const crn_minute_lane *lane = &record.lanes[i];
            for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
                sums->verdicts[lane->lane][kind] += lane->verdicts[kind];
            sums->with_defect[lane->lane] += lane->with_defect;
        }
        for (uint32_t i = 0; i < record.class_count; i++) {
            const crn_minute_class *class = &record.classes[i];
            uint32_t index = class_of(crn_minutes_text(&reader, class->name));
            sums->looked_for[index] += record.fruits;
            sums->measured[index] += record.measured;
            sums->fruits[index] += class->fruits;
            sums->area_px[index] += class->area_px;
            sums->area_mm2[index] += class->area_mm2;
        }
    }
    crn_minutes_close(&reader);
}

/* Fruits of which some have no defect, some no pose, and some a value that makes them partial. */
static void judge_fruits(const float *discs, line_sums *sums)
{
    static float maps[HEIGHT * WIDTH * CLASSES];
    line_configure(&line, yaml);
    snprintf(line.config.state.dir, CRN_TEXT_BYTES, "%s", test_folder);
    line_run(&line, NULL);
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++) {
        crn_view_header header = line_header(&line, fruit, 0, 1, HEIGHT, WIDTH);
        header.lane = (uint32_t)(fruit % LANES);
        if (fruit % 4 > 0) {
            header.flags = CRN_WIRE_FLAG_POSE;
            header.pose = (crn_wire_pose){WIDTH / 2, HEIGHT / 2, 30, 22, 0};
        }
        for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
            maps[i] = fruit % 5 < i % CLASSES ? 0 : discs[i];
        if (fruit % 7 == 0)
            maps[1] = 2;
        line_send(&line, header, maps, NULL);
        crn_decoded *verdict = line_receive_decoded(&line);
        add_verdict(verdict, sums);
        crn_decoded_free(&verdict);
    }
    line_stop(&line);
}

static void minutes_add_up_to_the_verdicts(void **state)
{
    (void)state;
    char path[128];
    line_sums made = {0}, read = {0};
    float *discs = line_discs(HEIGHT, WIDTH, CLASSES);
    for (int starts = 0; starts < 2; starts++)
        judge_fruits(discs, &made);
    free(discs);
    snprintf(path, sizeof path, "%s/" CRN_MINUTES_FILE, test_folder);
    add_minutes(path, &read);
    assert_memory_equal(&read, &made, sizeof made);
    for (int lane = 0; lane < LANES; lane++) { /* it tests something */
        assert_true(made.verdicts[lane][CRN_VERDICT_COMPLETE] > 0);
        assert_true(made.verdicts[lane][CRN_VERDICT_PARTIAL] > 0);
        assert_true(made.with_defect[lane] > 0);
    }
    for (int class = 1; class < CLASSES; class ++) {
        assert_true(made.fruits[class] > 0 && made.fruits[class] < made.looked_for[class]);
        assert_true(made.measured[class] > 0 && made.measured[class] < made.looked_for[class]);
        assert_true(made.area_px[class] > 0 && made.area_mm2[class] > 0);
    }
    assert_int_equal(made.looked_for[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(minutes_add_up_to_the_verdicts)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
