/* The lot: each verdict has that which was in force at its fruit's first view, whatever is switched
 * while the fruit is open; hostile texts change nothing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/reloading.h"
#include "tests/support/sanitized.h"

#ifdef CRN_SANITIZED
#define ROUNDS 100
#else
#define ROUNDS 1000
#endif

#define LOAD   8 /* fruits of a round */
#define FRUITS 60000

static reloading_line self;

static int set_up(void **state)
{
    (void)state;
    reloading_start(&self, 3, "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    reloading_stop(&self);
    return 0;
}

static void begin(int number)
{
    char request[32], answer[4096];
    snprintf(request, sizeof request, "lot L%d", number);
    assert_true(reloading_ask(&self, request, answer));
}

static void receive(seen_verdict *verdict)
{
    assert_true(line_receive(&self.line, CRN_FIXTURE_PATIENCE_MS, verdict));
    assert_string_equal(verdict->verdict, "complete");
}

/* --- switches --- */

/*
 * Of each round: fruit 0 is open until the next round's lot has begun, the others are complete.
 * Once the last one's verdict has come all were opened, as views of one sender come in order; of
 * the others some are judged only after the switch.
 */
static void a_thousand_switches_between_two_fruits_under_load(void **state)
{
    (void)state;
    int wrong = 0, received = 0;
    seen_verdict verdict;
    char lot[sizeof verdict.lot];
    for (int round = 0; round <= ROUNDS; round++) {
        uint64_t first = (uint64_t)round * (LOAD + 1), last = first + LOAD;
        begin(round);
        for (uint64_t fruit = first; fruit <= last; fruit++) {
            reloading_send(&self, fruit, 0, 2);
            if (fruit > first || round == ROUNDS)
                reloading_send(&self, fruit, 1, 2);
        }
        if (round > 0)
            reloading_send(&self, first - LOAD - 1, 1, 2);
        do {
            receive(&verdict);
            snprintf(lot, sizeof lot, "L%d", (int)(verdict.fruit / (LOAD + 1)));
            wrong += strcmp(lot, verdict.lot) != 0;
            received++;
        } while (verdict.fruit != last);
    }
    for (; received < (ROUNDS + 1) * (LOAD + 1); received++) {
        receive(&verdict);
        snprintf(lot, sizeof lot, "L%d", (int)(verdict.fruit / (LOAD + 1)));
        wrong += strcmp(lot, verdict.lot) != 0;
    }
    print_message("%d switches, %d verdicts, %d with the wrong lot\n", ROUNDS, received, wrong);
    assert_int_equal(wrong, 0);
}

typedef struct lot_switcher {
    atomic_int asked, answered; /* number of the lot that was asked for, and is in force at least */
    atomic_bool done;
} lot_switcher;

static void *switch_often(void *argument)
{
    lot_switcher *switcher = argument;
    for (int number = 1; number <= ROUNDS; number++) {
        atomic_store(&switcher->asked, number);
        begin(number);
        atomic_store(&switcher->answered, number);
    }
    atomic_store(&switcher->done, true);
    return NULL;
}

/* A fruit's lot is none before that in force when it was sent, and none after that asked for when
 * its verdict came; and fruits open in the order in which they are sent. */
static void switches_at_any_time_are_seen_in_order(void **state)
{
    (void)state;
    static int earliest[FRUITS], lots[FRUITS];
    lot_switcher switcher = {.asked = 0};
    pthread_t thread;
    seen_verdict verdict;
    uint64_t sent = 0, received = 0;
    int wrong = 0;
    begin(0);
    assert_int_equal(pthread_create(&thread, NULL, switch_often, &switcher), 0);
    while ((sent < FRUITS && !atomic_load(&switcher.done)) || received < sent) {
        if (sent < FRUITS && sent < received + LOAD && !atomic_load(&switcher.done)) {
            earliest[sent] = atomic_load(&switcher.answered);
            reloading_send(&self, sent, 0, 2);
            reloading_send(&self, sent, 1, 2);
            sent++;
            continue;
        }
        receive(&verdict);
        received++;
        int latest = atomic_load(&switcher.asked), lot = -1;
        sscanf(verdict.lot, "L%d", &lot);
        wrong += lot < earliest[verdict.fruit] || lot > latest;
        lots[verdict.fruit] = lot;
    }
    pthread_join(thread, NULL);
    for (uint64_t fruit = 1; fruit < sent; fruit++)
        wrong += lots[fruit] < lots[fruit - 1];
    print_message("%d switches, %lu verdicts, %d with the wrong lot\n", ROUNDS,
                  (unsigned long)received, wrong);
    assert_int_equal(wrong, 0);
}

/* --- requests --- */

static void expect_lot(const char *lot)
{
    static uint64_t fruit;
    seen_verdict verdict;
    reloading_send(&self, ++fruit, 0, 1);
    receive(&verdict);
    assert_string_equal(verdict.lot, lot);
}

static void a_lot_begins_is_told_and_ends(void **state)
{
    (void)state;
    char answer[4096];
    expect_lot("");
    assert_true(reloading_ask(&self, "lot", answer));
    assert_string_equal(answer, "lot       none\n");
    assert_true(reloading_ask(&self, "lot 2026-11 Hof 7 --grower Käthe --variety Gala", answer));
    assert_string_equal(answer, "lot       2026-11 Hof 7\ngrower    Käthe\nvariety   Gala\n");
    expect_lot("2026-11 Hof 7");
    assert_true(reloading_ask(&self, "status", answer));
    assert_non_null(
        strstr(answer, "\nlot       2026-11 Hof 7\ngrower    Käthe\nvariety   Gala\nsettings  "));
    assert_true(reloading_ask(&self, "status json", answer));
    assert_non_null(strstr(
        answer,
        "\"lot\":\"2026-11 Hof 7\",\"grower\":\"Käthe\",\"variety\":\"Gala\",\"lot_since_s\":"));
    assert_true(
        reloading_ask(&self, "lot 8 --variety Fuji", answer)); /* the grower's is not kept */
    assert_string_equal(answer, "lot       8\nvariety   Fuji\n");
    assert_true(reloading_ask(&self, "reload", answer));
    expect_lot("8");
    assert_true(reloading_ask(&self, "lot --end", answer));
    assert_string_equal(answer, "lot       none\n");
    expect_lot("");
}

#define BYTES_47 "0123456789012345678901234567890123456789abcdefg"
#define BYTES_63 BYTES_47 "0123456789012345"

/* Each with one line that says why, and then the lot is as before. */
static void hostile_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *request, *why;
    } cases[] = {
        {"lot ", "the id is empty; give it a text"},
        {"lot  a", "begins with a dash or a space"},
        {"lot a ", "ends with a space"},
        {"lot -a", "begins with a dash"},
        {"lot --ends", "begins with a dash"},
        {"lot --grower a", "begins with a dash"},
        {"lot a --grower ", "the grower is empty"},
        {"lot a --grower", "'--grower' is not expected; known: lot ID --grower G --variety V"},
        {"lot a --variety b --grower c", "'--grower c' is not expected"},
        {"lot a --end", "'--end' is not expected"},
        {"lot " BYTES_47 "h", "the id has 48 bytes, and at most 47 fit: shorten it"},
        {"lot a --grower " BYTES_63 "6", "the grower has 64 bytes, and at most 63 fit"},
        {"lot a --variety " BYTES_63 "6", "the variety has 64 bytes, and at most 63 fit"},
        {"lot a\nb", "the id has a question mark, or bytes that do not print: leave them out"},
        {"lot a\x1b[31m", "bytes that do not print"},
        {"lot a\tb", "bytes that do not print"},
        {"lot a\xff", "bytes that do not print"},
        {"lot a\xc3", "bytes that do not print"},
        {"lot a\xe2\x80\xae", "bytes that do not print"},
        {"lot a --grower b\x7f", "the grower has a question mark, or bytes that do not print"},
    };
    char answer[4096];
    begin(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(reloading_ask(&self, cases[i].request, answer));
        if (!strstr(answer, cases[i].why))
            fail_msg("'%s' got '%s'", cases[i].request, answer);
        assert_ptr_equal(strchr(answer, '\n'), answer + strlen(answer) - 1);
    }
    assert_true(reloading_ask(&self, "lot", answer));
    assert_string_equal(answer, "lot       L1\n");
    expect_lot("L1");
    assert_true(
        reloading_ask(&self, "lot " BYTES_47 " --grower " BYTES_63 " --variety " BYTES_63, answer));
    expect_lot(BYTES_47);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lot_begins_is_told_and_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_texts_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thousand_switches_between_two_fruits_under_load, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(switches_at_any_time_are_seen_in_order, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
