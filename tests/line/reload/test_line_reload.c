/* Settings that change while the line runs: each fruit has one verdict, by the settings of its
 * first view; a faulty file changes nothing. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/line/internal.h"
#include "src/service/control_socket.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/line/reloading.h"
#include "tests/support/sanitized.h"

#ifdef CRN_SANITIZED
#define ROUNDS      120
#define COUNT_PAGES false
#else
#define ROUNDS      1000
#define COUNT_PAGES true
#endif

static const char recipes[] =
    "recipes:\n"
    "  seven: {classes: {rot: 0.15}}\n"
    "  one: {classes: {rot: {level: 0.75}}, latency: {budget_ms: 25000}}\n"
    "  opened: {chain: [morphology: {operation: open, element: rect, size: 5}, contours: {}]}\n";

static void expect_verdict(reloading_line *self, uint64_t fruit, uint32_t defects,
                           const char *settings)
{
    seen_verdict verdict;
    assert_true(line_receive(&self->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_string_equal(verdict.verdict, "complete");
    assert_int_equal(verdict.defects, defects);
    assert_string_equal(verdict.settings, settings);
}

static void a_fruit_is_judged_by_the_settings_of_its_first_view(void **state)
{
    (void)state;
    static reloading_line self;
    char answer[4096], before[20], after[20];
    reloading_start(&self, 3, "");
    reloading_hash(&self, "", before);
    reloading_send(&self, 1, 0, 2);
    reloading_wait_views(&self, 1);
    reloading_write(&self, 6, "");
    reloading_hash(&self, "", after);
    assert_true(reloading_ask(&self, "reload", answer));
    assert_non_null(strstr(answer, after));
    reloading_send(&self, 2, 0, 2);
    reloading_send(&self, 2, 1, 2);
    expect_verdict(&self, 2, 12, after);
    reloading_send(&self, 1, 1, 2);
    expect_verdict(&self, 1, 6, before);
    reloading_stop(&self);
}

/* Puts a key into a section of the file, which begins with these characters. */
static void add_key(const reloading_line *self, const char *section, const char *key)
{
    static char text[8192];
    FILE *file = fopen(self->path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *rest = strstr(text, section);
    assert_non_null(rest);
    rest += strlen(section);
    file = fopen(self->path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s, %s", (int)(rest - text), text, key, rest);
    fclose(file);
}

/* Views come on lane 0. */
static void lanes_that_exist_are_listed_while_it_runs(void **state)
{
    (void)state;
    static reloading_line self;
    crn_line_status status;
    char answer[4096], hash[20];
    reloading_start(&self, 3, "");
    add_key(&self, "ingest: {", "lanes: [5-7, 9]");
    assert_true(reloading_ask(&self, "reload", answer));
    reloading_send(&self, 1, 0, 1);
    crn_view_header other =
        line_header(&self.line, 2, 0, 1, CRN_RELOADING_HEIGHT, CRN_RELOADING_WIDTH);
    other.lane = 9;
    line_send(&self.line, other, self.maps, NULL);
    seen_verdict verdict;
    assert_true(line_receive(&self.line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.lane, 9);
    reloading_write(&self, 3, "");
    reloading_hash(&self, "", hash);
    assert_true(reloading_ask(&self, "reload", answer));
    reloading_send(&self, 3, 0, 1);
    expect_verdict(&self, 3, 3, hash);
    add_key(&self, "ingest: {", "lanes: [5-7, 9]");
    assert_true(reloading_ask(&self, "reload", answer));
    crn_control_close(&self.control); /* one thread asks for the status: it did, until here */
    assert_int_equal(crn_line_status_get(self.line.line, &status), 0);
    assert_int_equal(status.settings.lanes.count, 2);
    assert_int_equal(status.settings.lanes.at[1].first, 9);
    reloading_stop(&self);
    assert_int_equal(self.line.metrics.fruits.lanes_not_listed, 1);
}

static int changes_fault_of(crn_line *line, int64_t since_ns)
{
    crn_line_status status;
    crn_line_note_changes_wait(line, since_ns);
    assert_int_equal(crn_line_status_get(line, &status), 0);
    return status.settings.changes_not_kept;
}

/* Where the disk hangs no try returns that could tell. */
static void changes_that_wait_for_long_are_not_kept(void **state)
{
    (void)state;
    static reloading_line self;
    reloading_start(&self, 3, "");
    crn_control_close(&self.control);
    crn_line *line = self.line.line;
    crn_line_note_changes_kept(line, 0);
    assert_int_equal(changes_fault_of(line, crn_now_ns() - 2 * CRN_CHANGES_LATE_NS), ETIMEDOUT);
    assert_int_equal(changes_fault_of(line, crn_now_ns() + CRN_CHANGES_LATE_NS), 0);
    crn_line_note_changes_kept(line, -EROFS);
    assert_int_equal(changes_fault_of(line, crn_now_ns() - 2 * CRN_CHANGES_LATE_NS), EROFS);
    crn_line_note_changes_kept(line, 0);
    assert_int_equal(changes_fault_of(line, 0), 0);
    reloading_stop(&self);
}

/* The other limits stay as the machine chose them at the start. */
static void live_keys_of_sections_that_are_fixed_come_into_force(void **state)
{
    (void)state;
    static reloading_line self;
    char answer[4096];
    reloading_start(&self, 3, "");
    add_key(&self, "limits: {", "lane_idle_s: 7");
    add_key(&self, "run: {", "stop_ms: 77");
    assert_true(reloading_ask(&self, "reload", answer));
    crn_control_close(&self.control); /* its thread has seen what the line's wrote */
    const crn_config *in_force = self.line.line->settings.in_force;
    assert_int_equal(in_force->limits.lane_idle_s, 7);
    assert_int_equal(in_force->run.stop_ms, 77);
    assert_int_equal(in_force->limits.slots, self.line.config.limits.slots);
    reloading_stop(&self);
}

static void a_faulty_file_changes_nothing_and_its_faults_are_told(void **state)
{
    (void)state;
    static reloading_line self;
    char answer[4096], before[20];
    reloading_start(&self, 3, "");
    reloading_hash(&self, "", before);
    reloading_write_text(&self, "classes: [{name: background}, {name: rot, level: 2}]\n"
                                "chain: [contours: {}, convolve: {kernel: /nowhere}]\n");
    assert_false(reloading_ask(&self, "reload", answer));
    assert_non_null(strstr(answer, "line.yaml:6:50: classes.level:"));
    assert_non_null(strstr(answer, "a position before contours"));
    reloading_write_text(&self, "classes: [{name: background}, {name: mould, level: 0.5}]\n"
                                "chain: [contours: {}]\n"
                                "run: {backend: serial, workers: 1, threads: 1}\n"
                                "limits: {slots: 32, view_mib: 1}\n"
                                "record: {dir: /tmp}\n"
                                "monitor: {http: ''}\n");
    assert_false(reloading_ask(&self, "reload", answer));
    assert_non_null(strstr(answer, "classes[1].name is mould in the file and rot in the running"));
    assert_non_null(strstr(answer, "run.backend is serial in the file and openmp in the running"));
    assert_non_null(strstr(answer, "run.workers is 1 in the file and 2 in the running"));
    assert_non_null(strstr(answer, "record.dir is \"/tmp\" in the file and \"\" in the running"));
    assert_null(strstr(answer, "limits."));
    assert_int_equal(unlink(self.path), 0);
    assert_false(reloading_ask(&self, "reload", answer));
    assert_non_null(strstr(answer, "line.yaml: "));
    reloading_send(&self, 1, 0, 1);
    expect_verdict(&self, 1, 3, before);
    assert_true(reloading_ask(&self, "status", answer));
    assert_non_null(strstr(answer, "0 taken in, 3 refused"));
    reloading_stop(&self);
}

/* The log gets the first ones, the answer whole lines as far as it reaches. */
static void a_file_of_faults_floods_neither_log_nor_answer(void **state)
{
    (void)state;
    static reloading_line self;
    static char file[40000], answer[CRN_CONTROL_ANSWER_BYTES + 1];
    crn_log_capture capture;
    reloading_start(&self, 3, "");
    size_t used = 0;
    for (int i = 0; i < 900; i++)
        used +=
            (size_t)snprintf(file + used, sizeof file - used, "classes_and_no_class_%d: 1\n", i);
    reloading_write_text(&self, file);
    crn_log_set_level(CRN_LOG_ERROR);
    crn_log_capture_start(&capture);
    assert_false(reloading_ask_for(&self, "reload", answer, sizeof answer));
    const char *told = crn_log_capture_stop(&capture);
    int lines = 0;
    for (const char *at = told; (at = strstr(at, "settings refused: ")); at++)
        lines++;
    assert_int_equal(lines, 21);
    assert_non_null(strstr(told, " more faults; cernitad --config "));
    assert_in_range(strlen(answer), CRN_CONTROL_ANSWER_BYTES / 2, CRN_CONTROL_ANSWER_BYTES);
    assert_string_equal(answer + strlen(answer) - 4, "...\n");
    reloading_stop(&self);
}

static void recipes_are_switched_and_outlive_a_reload(void **state)
{
    (void)state;
    static reloading_line self;
    char answer[4096], hash[20];
    seen_verdict verdict;
    reloading_start(&self, 3, recipes);
    assert_true(reloading_ask(&self, "recipes", answer));
    assert_string_equal(answer, "* --none\n  seven\n  one\n  opened\n");
    assert_false(reloading_ask(&self, "recipe eight", answer));
    assert_non_null(strstr(answer, "there is no recipe 'eight'"));
    assert_true(reloading_ask(&self, "recipe one", answer));
    reloading_hash(&self, "one", hash);
    reloading_send(&self, 1, 0, 1);
    assert_true(line_receive(&self.line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.recipe, "one");
    assert_string_equal(verdict.settings, hash);
    assert_int_equal(verdict.defects, 1);
    assert_int_equal((int)verdict.budget_ms, 25000);
    reloading_write(&self, 5, recipes);
    assert_true(reloading_ask(&self, "reload", answer));
    assert_non_null(strstr(answer, "recipe 'one'"));
    reloading_hash(&self, "one", hash);
    reloading_send(&self, 2, 0, 1);
    expect_verdict(&self, 2, 1, hash);
    reloading_write(&self, 5, "recipes: {two: {}}\n");
    assert_false(reloading_ask(&self, "reload", answer));
    assert_non_null(strstr(answer, "the recipe 'one' is in force and the file no longer has it"));
    assert_true(reloading_ask(&self, "recipe", answer));
    assert_true(reloading_ask(&self, "reload", answer));
    reloading_hash(&self, "", hash);
    reloading_send(&self, 3, 0, 1);
    expect_verdict(&self, 3, 5, hash);
    reloading_stop(&self);
}

static void more_settings_than_can_be_in_use_are_refused(void **state)
{
    (void)state;
    static reloading_line self;
    char answer[4096], hash[CRN_GENERATIONS][20];
    reloading_start(&self, 1, "");
    for (int i = 0; i < CRN_GENERATIONS; i++) {
        if (i > 0) {
            reloading_write(&self, i % CRN_RELOADING_PEAKS + 1, "");
            assert_true(reloading_ask(&self, "reload", answer));
        }
        reloading_hash(&self, "", hash[i]);
        reloading_send(&self, (uint64_t)i, 0, 2); /* open until its second view */
        reloading_wait_views(&self, (uint64_t)i + 1);
    }
    reloading_write(&self, 2, "recipes: {two: {}}\n");
    assert_false(reloading_ask(&self, "reload", answer));
    assert_non_null(strstr(answer, "fruits that were open at the last reloads still are"));
    for (int i = 0; i < CRN_GENERATIONS; i++) {
        reloading_send(&self, (uint64_t)i, 1, 2);
        expect_verdict(&self, (uint64_t)i, 2 * ((uint32_t)i % CRN_RELOADING_PEAKS + 1), hash[i]);
    }
    assert_true(reloading_ask(&self, "reload", answer));
    reloading_stop(&self);
}

/* --- under load --- */

/* What a verdict with these settings must hold. */
typedef struct expected_settings {
    char hash[20], recipe[16];
    uint32_t defects; /* of one view */
} expected_settings;

typedef struct reload_load {
    reloading_line *line;
    atomic_bool done;
    int taken_in, refused;
    int unexpected; /* answers; asserts are for the main thread */
    size_t early_pages, late_pages;
} reload_load;

static size_t resident_pages(void)
{
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    assert_non_null(sizes);
    assert_int_equal(fscanf(sizes, "%*u %lu", &pages), 1);
    fclose(sizes);
    return pages;
}

/* Good files and bad ones, recipes that there are and are not. */
static void *reload_often(void *argument)
{
    reload_load *load = argument;
    char answer[4096];
    for (int i = 0; i < ROUNDS; i++) {
        const char *request = "reload";
        bool good = true;
        switch (i % 8) {
        case 0:
        case 2:
        case 4:
            reloading_write(load->line, i / 2 % CRN_RELOADING_PEAKS + 1, recipes);
            break;
        case 1:
            reloading_write(load->line, 2, "chain: [contour: {}]\n");
            good = false;
            break;
        case 3:
            request = "recipe seven";
            break;
        case 5:
            request = "recipe nothing";
            good = false;
            break;
        case 6:
            request = "recipe opened";
            break;
        default:
            request = "recipe";
            break;
        }
        load->unexpected += reloading_ask(load->line, request, answer) != good;
        load->taken_in += good;
        load->refused += !good;
        if (i == ROUNDS / 5)
            load->early_pages = resident_pages();
    }
    load->late_pages = resident_pages();
    atomic_store(&load->done, true);
    return NULL;
}

static int expect_settings(const reloading_line *self, expected_settings *ret_list)
{
    int count = 0;
    for (int peaks = 1; peaks <= CRN_RELOADING_PEAKS; peaks++) {
        reloading_write(self, peaks, recipes);
        const struct {
            const char *recipe;
            uint32_t defects;
        } of[] = {{"", (uint32_t)peaks}, {"seven", 7}, {"opened", 0}};
        for (int i = 0; i < 3; i++) {
            expected_settings *one = &ret_list[count++];
            reloading_hash(self, of[i].recipe, one->hash);
            snprintf(one->recipe, sizeof one->recipe, "%s", of[i].recipe);
            one->defects = of[i].defects;
        }
    }
    return count;
}

static void check_verdict(const seen_verdict *verdict, const expected_settings *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(list[i].hash, verdict->settings) != 0 ||
            strcmp(list[i].recipe, verdict->recipe) != 0)
            continue;
        assert_string_equal(verdict->verdict, "complete");
        assert_int_equal(verdict->defects, 2 * list[i].defects);
        return;
    }
    fail_msg("settings %s that no file has", verdict->settings);
}

static void a_thousand_reloads_under_load_lose_nothing(void **state)
{
    (void)state;
    static reloading_line self;
    expected_settings list[3 * CRN_RELOADING_PEAKS];
    reload_load load = {.line = &self};
    pthread_t thread;
    uint64_t sent = 0, received = 0;
    reloading_start(&self, 3, recipes);
    int count = expect_settings(&self, list);
    reloading_write(&self, 3, recipes);
    assert_int_equal(pthread_create(&thread, NULL, reload_often, &load), 0);
    seen_verdict verdict;
    while (!atomic_load(&load.done) || received < sent) {
        if (sent < received + 8 && !atomic_load(&load.done)) {
            reloading_send(&self, sent, 0, 2);
            reloading_send(&self, sent, 1, 2);
            sent++;
            continue;
        }
        assert_true(line_receive(&self.line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_int_equal(verdict.sequence, received);
        received++;
        check_verdict(&verdict, list, count);
    }
    pthread_join(thread, NULL);
    assert_int_equal(load.unexpected, 0);
    assert_false(line_receive(&self.line, 0, &verdict));
    char answer[4096], wanted[80];
    assert_true(reloading_ask(&self, "status", answer));
    snprintf(wanted, sizeof wanted, "%d taken in, %d refused", load.taken_in, load.refused);
    assert_non_null(strstr(answer, wanted));
    reloading_stop(&self);
    assert_int_equal(self.line.metrics.fruits.complete, sent);
    if (COUNT_PAGES)
        assert_in_range(load.late_pages, 0, load.early_pages + (8 << 20) / 4096);
    print_message("%d reloads, %d of them refused, under %lu fruits; %zu then %zu pages\n", ROUNDS,
                  load.refused, (unsigned long)sent, load.early_pages, load.late_pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fruit_is_judged_by_the_settings_of_its_first_view),
        cmocka_unit_test(lanes_that_exist_are_listed_while_it_runs),
        cmocka_unit_test(changes_that_wait_for_long_are_not_kept),
        cmocka_unit_test(live_keys_of_sections_that_are_fixed_come_into_force),
        cmocka_unit_test(a_faulty_file_changes_nothing_and_its_faults_are_told),
        cmocka_unit_test(a_file_of_faults_floods_neither_log_nor_answer),
        cmocka_unit_test(recipes_are_switched_and_outlive_a_reload),
        cmocka_unit_test(more_settings_than_can_be_in_use_are_refused),
        cmocka_unit_test(a_thousand_reloads_under_load_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
