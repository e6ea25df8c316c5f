/* A line that measures fruits where time, places or sense are short: verdicts leave in time and say
 * what is missing, and whatever a sender says of a fruit, no measure is nonsense. */
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/surface/surfaces.h"
#include "stages/base/clock.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/decoded_verdict.h"

/* With slots for all views that a test sends at once. */
#define LINE                                                                                       \
    "classes: [{name: rot, level: 0.5}]\n"                                                         \
    "chain: [contours: {border: closed}]\n"                                                        \
    "run: {backend: openmp, workers: 2, threads: 1}\n"                                             \
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"                                            \
    "limits: {slots: 64, view_mib: 2}\n"                                                           \
    "log: {level: error}\n"                                                                        \
    "geometry: {mm_per_px: 0.5, surface: {optional: false}}\n"

#define SIDE 40 /* of a view of most tests */

static line_fixture line;
static float maps[SIDE * SIDE]; /* a square of rot in the middle */
static const crn_wire_pose middle = {SIDE / 2.0f, SIDE / 2.0f, SIDE / 3.0f, SIDE / 3.0f, 0};

/* --- holding the surfaces' thread --- */

static int gate[2]; /* a pipe: who is held reads from it */

static void wait_at_gate(int signal)
{
    (void)signal;
    char byte;
    while (read(gate[0], &byte, 1) < 0)
        continue; /* EINTR */
}

static int find_thread(const char *name)
{
    char path[64], comm[32] = "";
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; !found && (entry = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(comm, sizeof comm, file) && strncmp(comm, name, strlen(name)) == 0)
            found = atoi(entry->d_name);
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return found;
}

static void open_gate(void *unused)
{
    (void)unused;
    assert_int_equal(write(gate[1], "", 1), 1);
}

/* The thread measures nothing until it is let go on. Threads block all signals but those of faults.
 */
static void hold_surfaces(void)
{
    struct sigaction action = {.sa_handler = wait_at_gate};
    int thread;
    assert_int_equal(pipe(gate), 0);
    assert_int_equal(sigaction(SIGBUS, &action, NULL), 0);
    crn_cleanup_add(open_gate, gate); /* of a failed test, before its line is stopped */
    while (!(thread = find_thread("surfaces")))
        continue; /* it names itself when it begins */
    assert_int_equal(syscall(SYS_tgkill, getpid(), thread, SIGBUS), 0);
}

static void let_surfaces_go_on(void)
{
    crn_cleanup_drop(gate);
    open_gate(gate);
}

/* --- views and verdicts --- */

static int set_up(void **state)
{
    (void)state;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            maps[y * SIDE + x] = abs(x - SIDE / 2) < 5 && abs(y - SIDE / 2) < 5;
    return 0;
}

static void send_posed(uint64_t fruit, uint16_t view, uint16_t views, const crn_wire_pose *pose)
{
    crn_view_header header = line_header(&line, fruit, view, views, SIDE, SIDE);
    header.flags = CRN_WIRE_FLAG_POSE;
    header.pose = *pose;
    line_send(&line, header, maps, NULL);
}

static bool has_skipped(const crn_decoded *verdict)
{
    return verdict->skipped_count == 1 && strcmp(verdict->skipped[0], "surface") == 0;
}

static void assert_sound(const crn_decoded *verdict)
{
    const crn_decoded_surface *surface = &verdict->surface;
    double all = 4 * M_PI * pow(fmax(surface->diameter_mm, surface->length_mm) / 2, 2);
    if (!surface->is_measured)
        return;
    assert_true(isfinite(all) && surface->coverage >= 0 && surface->coverage <= 1);
    assert_true(surface->seen_mm2 >= 0 && surface->seen_mm2 <= all * (1 + 1e-9));
    for (uint32_t i = 0; i < surface->measure_count; i++) {
        const crn_decoded_measure *measure = &surface->measures[i];
        assert_true(measure->area_mm2 >= 0 && measure->area_mm2 <= all * (1 + 1e-9));
        assert_true(measure->longest_mm >= 0 && isfinite(measure->longest_mm));
    }
    for (uint32_t i = 0; i < surface->spot_count; i++)
        assert_true(surface->spots[i].area_mm2 >= 0 && isfinite(surface->spots[i].width_mm) &&
                    fabs(surface->spots[i].v) <= 1);
}

/* --- time and places --- */

/* Once more than the views are judged, as the fruit is set aside after that. */
static void await_begin_of_measurement(uint64_t views)
{
    crn_line_status status;
    for (int asked = 0; asked < 2; asked += status.judged == views)
        assert_int_equal(crn_line_status_get(line.line, &status), 0);
}

/* The deadline comes while the fruit is measured: its verdict leaves, and says what it lacks. */
static void a_deadline_in_the_middle_of_a_measurement(void **state)
{
    (void)state;
    line_start_on(&line, LINE, NULL);
    hold_surfaces();
    send_posed(1, 0, 2, &middle);
    send_posed(1, 1, 2, &middle);
    await_begin_of_measurement(2);
    line_move_clock(&line, 60 * CRN_NS_PER_S);
    crn_decoded *verdict = line_receive_decoded(&line);
    assert_int_equal(verdict->kind, CRN_VERDICT_PARTIAL);
    assert_int_equal(verdict->views_judged, 2);
    assert_true(!verdict->surface.is_measured && has_skipped(verdict));
    crn_decoded_free(&verdict);
    let_surfaces_go_on();
    send_posed(2, 0, 1, &middle);
    verdict = line_receive_decoded(&line); /* it was measured after the first one, in order */
    assert_true(verdict->surface.is_measured);
    crn_decoded_free(&verdict);
    line_stop(&line);
    const crn_surfaces_stats *stats = &line.metrics.surfaces;
    assert_int_equal(stats->measured + stats->unmeasured, 2);
    assert_int_equal(stats->skipped, 1);
    close(gate[0]);
    close(gate[1]);
}

/* More fruits than have a place: the others leave at once, without measures. */
static void without_a_place_a_fruit_is_not_measured(void **state)
{
    (void)state;
    enum { FRUITS = CRN_SURFACES_MAX + 3 };
    int skipped = 0, measured = 0;
    line_start_on(&line, LINE, NULL);
    hold_surfaces();
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++)
        send_posed(fruit, 0, 1, &middle);
    for (int i = 0; i < FRUITS; i++) {
        crn_decoded *verdict = line_receive_decoded(&line);
        assert_int_equal(verdict->views_judged, 1);
        skipped += has_skipped(verdict) && !verdict->surface.is_measured &&
                   verdict->kind == CRN_VERDICT_PARTIAL;
        measured += verdict->skipped_count == 0 && verdict->surface.is_measured &&
                    verdict->kind == CRN_VERDICT_COMPLETE;
        crn_decoded_free(&verdict);
        if (skipped == 3 && i == 2)
            let_surfaces_go_on();
    }
    line_stop(&line);
    assert_int_equal(skipped, 3);
    assert_int_equal(measured, CRN_SURFACES_MAX);
    assert_int_equal(line.metrics.surfaces.skipped, 3);
    assert_int_equal(line.metrics.surfaces.measured, CRN_SURFACES_MAX);
    close(gate[0]);
    close(gate[1]);
}

/* --- what a sender may say --- */

static void any_pose_gives_measures_that_make_sense(void **state)
{
    (void)state;
    const float most = CRN_WIRE_POSE_MAX, mid = SIDE / 2.0f;
    const crn_wire_pose poses[] = {
        {mid, mid, most, most, 0},    {mid, mid, FLT_MIN, FLT_MIN, 0}, {mid, mid, FLT_MIN, most, 0},
        {mid, mid, most, FLT_MIN, 0}, {mid, mid, FLT_TRUE_MIN, 10, 0}, {most, most, 10, 10, 0},
        {-most, mid, 10, 10, most},   {mid, mid, 10, 10, -most},       {mid, mid, 1, 1e-3f, 1e-30f},
        {mid - 10, mid, 10, 10, 3},
    };
    enum { POSES = sizeof poses / sizeof *poses };
    line_start_on(&line, LINE, NULL);
    for (uint64_t fruit = 0; fruit < POSES; fruit++) {
        for (uint16_t view = 0; view < 3; view++)
            send_posed(fruit, view, 3, view == 1 ? &poses[fruit] : &middle);
        crn_decoded *verdict = line_receive_decoded(&line);
        assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
        assert_sound(verdict);
        crn_decoded_free(&verdict);
    }
    line_stop(&line);
}

static void a_pose_that_is_none_is_refused_with_its_view(void **state)
{
    (void)state;
    const float mid = SIDE / 2.0f;
    const crn_wire_pose poses[] = {{NAN, mid, 10, 10, 0},  {mid, INFINITY, 10, 10, 0},
                                   {mid, mid, NAN, 10, 0}, {mid, mid, 10, -1, 0},
                                   {mid, mid, 0, 10, 0},   {mid, mid, 10, 10, NAN}};
    enum { POSES = sizeof poses / sizeof *poses };
    line_start_on(&line, LINE, NULL);
    for (uint64_t fruit = 0; fruit < POSES; fruit++) {
        send_posed(fruit, 0, 2, &poses[fruit]);
        send_posed(fruit, 1, 2, &middle);
        send_posed(fruit, 0, 2, &middle); /* the sender is mended: the fruit is whole */
        crn_decoded *verdict = line_receive_decoded(&line);
        assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
        assert_true(verdict->surface.is_measured);
        assert_sound(verdict);
        crn_decoded_free(&verdict);
    }
    line_stop(&line);
    assert_int_equal(line.metrics.ingest.faults[CRN_WIRE_POSE], POSES);
}

/* The contour of a comb goes up and down each of its teeth: with these rows it has nearly as many
 * points as limits.points allows, 262,144, with four more it has too many. */
static void the_longest_outline_is_measured(void **state)
{
    (void)state;
    enum { WIDTH = 512, ROWS = 508 };
    static float comb[ROWS + 4][WIDTH];
    for (int y = 0; y < ROWS + 4; y++)
        for (int x = 0; x < WIDTH; x++)
            comb[y][x] = y == 0 || x % 2 == 0;
    line_start_on(&line, LINE, NULL);
    for (uint32_t more = 0; more <= 4; more += 4) {
        crn_view_header header = line_header(&line, more, 0, 1, ROWS + more, WIDTH);
        header.flags = CRN_WIRE_FLAG_POSE;
        header.pose = (crn_wire_pose){WIDTH / 2, ROWS / 2, WIDTH / 2, ROWS / 2, 0};
        line_send(&line, header, comb, NULL);
        crn_decoded *verdict = line_receive_decoded(&line);
        assert_int_equal(verdict->truncated, more > 0);
        assert_int_equal(verdict->defect_count, more == 0);
        assert_true(verdict->surface.is_measured);
        assert_int_equal(verdict->surface.spot_count > 0, more == 0);
        assert_true(more > 0 || verdict->point_count > 260000);
        assert_sound(verdict);
        crn_decoded_free(&verdict);
    }
    line_stop(&line);
}

static void a_photograph_of_one_pixel(void **state)
{
    (void)state;
    line_start_on(&line, LINE, NULL);
    for (uint64_t fruit = 0; fruit < 2; fruit++) {
        float map = fruit == 0;
        uint8_t photo = (uint8_t)(200 * fruit);
        for (uint16_t view = 0; view < 2; view++)
            line_send(&line, line_header(&line, fruit, view, 2, 1, 1), &map, &photo);
        crn_decoded *verdict = line_receive_decoded(&line);
        assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
        assert_false(verdict->surface.is_measured);
        assert_int_equal(verdict->surface.pose_count, 2);
        crn_decoded_free(&verdict);
    }
    line_stop(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_in_the_middle_of_a_measurement),
        cmocka_unit_test(without_a_place_a_fruit_is_not_measured),
        cmocka_unit_test(any_pose_gives_measures_that_make_sense),
        cmocka_unit_test(a_pose_that_is_none_is_refused_with_its_view),
        cmocka_unit_test(the_longest_outline_is_measured),
        cmocka_unit_test(a_photograph_of_one_pixel),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
