/* cernita-workbench: fruits of a folder of recordings are found, and their views opened. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/programs/shell.h"
#include "tests/support/programs/workbench_program.h"

#define LANES    3
#define FRUITS   20
#define VIEWS    2
#define BEGIN_NS (UINT64_C(1700000000) * 1000000000)

/* View `view` of fruit `fruit`: a second after the fruit before, in the lane of its number. */
static crn_recorded_view view_of(uint64_t fruit, uint32_t view)
{
    crn_recorded_view made = recorded_small(fruit * VIEWS + view);
    made.header.lane = (uint32_t)(fruit % LANES);
    made.header.fruit = fruit;
    made.header.epoch = 7;
    made.header.view = view;
    made.header.views = VIEWS;
    made.arrived_ns = BEGIN_NS + fruit * 1000000000;
    return made;
}

/* Both views of a fruit, the second one first, as views are recorded in the order of their ends. */
static void write_recording(void)
{
    crn_recording_writer *writer = recorded_create();
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++)
        for (uint32_t view = VIEWS; view-- > 0;) {
            crn_recorded_view made = view_of(fruit, view);
            recorded_add(writer, &made);
        }
    recorded_finish(writer);
}

static int start_on_folder(void **state)
{
    (void)state;
    write_recording();
    workbench_start(&the_bench, (const char *const[]){recorded_folder, NULL});
    return 0;
}

static int stop_on_folder(void **state)
{
    (void)state;
    workbench_stop(&the_bench);
    recorded_clear();
    return 0;
}

static int count_of(const char *body, const char *text)
{
    int count = 0;
    for (const char *at = body; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static void expect_found(const char *search, int wanted)
{
    char path[128];
    snprintf(path, sizeof path, "/fruits?%s", search);
    workbench_reply reply = workbench_post(&the_bench, 200, path, "");
    assert_int_equal((int)workbench_number(reply.body, "total"), wanted);
    assert_int_equal(count_of(reply.body, "\"number\":"), wanted);
    workbench_reply_free(&reply);
}

static void read_all(void)
{
    workbench_reply reply = workbench_post(&the_bench, 200, "/recordings", "");
    assert_int_equal((int)workbench_number(reply.body, "fruits"), FRUITS);
    assert_int_equal((int)workbench_number(reply.body, "views"), FRUITS * VIEWS);
    assert_non_null(strstr(reply.body, "\"lanes\":[0,1,2]"));
    assert_non_null(strstr(reply.body, "\"has_verdicts\":false"));
    assert_non_null(strstr(reply.body, "\"notes\":[]"));
    workbench_reply_free(&reply);
}

static void fruits_are_found_by_lane_number_and_time(void **state)
{
    (void)state;
    workbench_expect_refusal(&the_bench, 422, "/fruits", "", "not read yet");
    read_all();
    read_all(); /* the second time from the index */
    expect_found("", FRUITS);
    expect_found("lane=1", 7);
    expect_found("lane=3", 0);
    expect_found("fruit=19", 1);
    expect_found("from=1700000005000&to=1700000008000", 3);
    expect_found("from=1700000005000&to=1700000008000&lane=2", 1);
    expect_found("verdict=late", 0);
    expect_found("class=rot", 0);
    workbench_reply reply = workbench_post(&the_bench, 200, "/fruits?skip=18", "");
    assert_int_equal(count_of(reply.body, "\"number\":"), FRUITS - 18);
    workbench_reply_free(&reply);
}

static void what_is_asked_wrongly_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"/fruits?lane=x", "lane: is a whole number"},
        {"/fruits?lane=-1", "lane: is a whole number"},
        {"/fruits?from=99999999999999999999", "from: is a whole number"},
        {"/fruits?skip=-3", "skip: is a whole number"},
        {"/fruits?fruit=1e3", "fruit: is a whole number"},
        {"/fruits?fruit=", "fruit: is a whole number"},
        {"/fruits?verdict=good", "complete, partial or late"},
        {"/fruits/view?number=20&view=0", "there is no fruit 20"},
        {"/fruits/view?number=0&view=2", "no view 2"},
        {"/fruits/view?view=0", "there is no fruit -1"},
        {"/fruits/view?number=0", "no view -1"},
        {"/fruits/verdict", "there is no fruit -1"},
        {"/fruits/verdict?number=20", "there is no fruit 20"},
        {"/fruits/verdict?number=99999999999", "number: is a whole number"},
    };
    read_all();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        workbench_expect_refusal(&the_bench, 422, wrong[i][0], "", wrong[i][1]);
    workbench_reply reply = workbench_post(&the_bench, 200, "/fruits/verdict?number=0", "");
    assert_string_equal(reply.body, "{\"verdict\":null}\n"); /* there is no source of them */
    workbench_reply_free(&reply);
    workbench_expect_get(&the_bench, "/../.fruits", "-", 404);
    workbench_expect_get(&the_bench, "/page/../../.fruits", "-", 404);
    workbench_expect_get(&the_bench, "/pictures/../.fruits", "-", 404);
}

/* The maps and the photograph are that view's; a small picture is there for each fruit. */
static void a_view_is_the_recorded_one(void **state)
{
    (void)state;
    char path[64];
    read_all();
    workbench_reply reply = workbench_post(
        &the_bench, 200, "/fruits/view?number=13&view=1&name=../../lane-1-fruit-13", "");
    assert_string_equal(workbench_text(reply.body, "name"), "lane-1-fruit-13.tif");
    snprintf(path, sizeof path, "/pictures/%d/planes",
             (int)workbench_number(reply.body, "photograph"));
    workbench_reply_free(&reply);
    reply = workbench_ask(&the_bench, "GET", path, "-", NULL, 0);
    const crn_recorded_view wanted = view_of(13, 1);
    assert_int_equal(reply.size, wanted.header.height * wanted.header.width);
    assert_memory_equal(reply.body, wanted.intensity, reply.size);
    workbench_reply_free(&reply);
    reply = workbench_post(&the_bench, 200, "/fruits/pictures?lane=1", "");
    assert_int_equal(reply.size, 7 * (1 + 96 * 64));
    for (int i = 0; i < 7; i++)
        assert_int_equal(reply.body[(size_t)i * (1 + 96 * 64)], 1);
    workbench_reply_free(&reply);
}

/* A recording that was removed, or replaced by a shorter one, after it was read. */
static void a_recording_that_changed_is_said(void **state)
{
    (void)state;
    read_all();
    recorded_save(recorded_path, "II", 2);
    workbench_expect_refusal(&the_bench, 422, "/fruits/view?number=3&view=0", "",
                             "is not a recording");
    assert_int_equal(unlink(recorded_path), 0);
    workbench_expect_refusal(&the_bench, 422, "/fruits/view?number=3&view=0", "", recorded_path);
    expect_found("lane=0", 7);
}

/* Each ends with one line, which says what to do. */
static void wrong_sources_are_refused_at_the_start(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *said;
        int status;
    } wrong[] = {
        {"--archive none.sqlite .", "none.sqlite: No such file", 1},
#ifdef CRN_HAS_ARCHIVE
        {"--archive *.tif .", "name a file of cernita-archive", 1},
        {"--archive . .", "it is a folder", 1},
#endif
        {"--log . .", "there is no verdict log", 1},
        {"--log . --archive none.sqlite .", "give one", 2},
        {"--log .", "need a recording", 2},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char command[400], said[1000];
        snprintf(command, sizeof command,
                 "cd %s && timeout 60 " CRN_BIN "/cernita-workbench --listen 127.0.0.1:0 %s 2>&1",
                 recorded_folder, wrong[i].arguments);
        int status = crn_test_shell(command, said, sizeof said);
        if (!strstr(said, wrong[i].said) || status != wrong[i].status)
            fail_msg("%s: %d, %s", wrong[i].arguments, status, said);
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(fruits_are_found_by_lane_number_and_time),
        cmocka_unit_test(what_is_asked_wrongly_is_refused),
        cmocka_unit_test(a_view_is_the_recorded_one),
        cmocka_unit_test(a_recording_that_changed_is_said),
        cmocka_unit_test(wrong_sources_are_refused_at_the_start),
    };
    CRN_SET_FIXTURE(tests, start_on_folder, stop_on_folder)
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
