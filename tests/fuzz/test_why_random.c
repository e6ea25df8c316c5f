/*
 * Verdicts that no daemon gives (any words, times and indices) through all of cernita-why behind
 * the decoder: every one gets a sentence, a drawing and valid JSON. CRN_CASES is the number of
 * cases, CRN_SEED the seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_tree.h>

#include "src/formats/view/reason.h"
#include "src/formats/view/refusal.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/why/selection.h"
#include "tools/why/output/sentence.h"
#include "tools/why/output/waterfall.h"

static double draw_ms(crn_random *random)
{
    static const double odd[] = {0, -1, 1e300, -1e300, INFINITY, NAN, 1e-300, 1e9};
    return crn_random_once_in(random, 8) ? odd[crn_random_below(random, 8)]
                                         : 500 * crn_random_unit(random);
}

static uint64_t draw_number(crn_random *random)
{
    uint64_t number = crn_random_next(random);
    return crn_random_once_in(random, 8) ? number : number % 80;
}

static void draw_word(crn_random *random, char *word)
{
    static const char *const words[] = {"judged", "lost",     "missing", "refused",     "truncated",
                                        "queue",  "total",    "skipped", "contours",    "views",
                                        "time",   "deadline", "stop",    "open_fruits", "cuda"};
    uint32_t kind = crn_random_below(random, 8);
    if (kind < 2)
        strcpy(word, crn_view_reason_names[crn_random_below(random, CRN_REASONS)]);
    else if (kind == 2)
        strcpy(word, crn_refusal_name((crn_refusal)crn_random_below(random, CRN_REFUSALS)));
    else if (kind == 3)
        memset(word, 'x', CRN_DECODED_TEXT_BYTES - 1);
    else
        strcpy(word, words[crn_random_below(random, 15)]);
}

static void draw_view(crn_random *random, crn_decoded_view *view)
{
    static const char *const states[] = {"judged", "judged", "lost", "missing", "refused", "?"};
    view->view = draw_number(random);
    strcpy(view->state, states[crn_random_below(random, 6)]);
    draw_word(random, view->reason);
    draw_word(random, view->backend);
    draw_word(random, view->name);
    view->captured_ns = draw_number(random);
    view->count = draw_number(random);
    view->received_ms = draw_ms(random);
    view->queue_ms = draw_ms(random);
    view->run_ms = draw_ms(random);
}

static crn_decoded *draw_verdict(crn_random *random)
{
    crn_decoded *verdict = calloc(1, sizeof *verdict);
    assert_non_null(verdict);
    verdict->lane = draw_number(random);
    verdict->fruit = draw_number(random);
    verdict->sequence = draw_number(random);
    verdict->kind = (crn_verdict_kind)crn_random_below(random, 3);
    verdict->stale = crn_random_once_in(random, 4);
    verdict->truncated = crn_random_once_in(random, 4);
    verdict->published_ns = crn_random_next(random) >> crn_random_below(random, 64);
    verdict->deadline_ns = crn_random_next(random) >> crn_random_below(random, 64);
    verdict->views_expected = draw_number(random);
    verdict->views_received = draw_number(random);
    verdict->views_judged = draw_number(random);
    verdict->budget_ms = draw_ms(random);
    verdict->total_ms = draw_ms(random);
    verdict->assembly_ms = draw_ms(random);
    draw_word(random, verdict->closed_by);
    verdict->skipped_count = crn_random_below(random, 3);
    for (uint32_t i = 0; i < verdict->skipped_count; i++)
        draw_word(random, verdict->skipped[i]);
    verdict->time_count = crn_random_below(random, CRN_DECODED_TIMES_MAX + 1);
    for (uint32_t i = 0; i < verdict->time_count; i++) {
        draw_word(random, verdict->times[i].name);
        verdict->times[i].ms = draw_ms(random);
    }
    verdict->view_count = crn_random_below(random, CRN_FRUIT_VIEWS_MAX + 1);
    for (uint32_t i = 0; i < verdict->view_count; i++)
        draw_view(random, &verdict->views[i]);
    return verdict;
}

static void expect_explained(const crn_chosen *fruit)
{
    char sentence[CRN_SENTENCE_BYTES], *text = NULL;
    size_t size = 0;
    crn_sentence(&fruit->diagnosis, sentence);
    assert_non_null(strstr(sentence, ": "));
    FILE *out = open_memstream(&text, &size);
    crn_waterfall_print(fruit, out);
    fclose(out);
    assert_non_null(strstr(text, sentence));
    free(text);
    text = NULL;
    out = open_memstream(&text, &size);
    assert_int_equal(crn_waterfall_json(fruit, out), 0);
    fclose(out);
    char fault[256] = "";
    yajl_val tree = yajl_tree_parse(text, fault, sizeof fault);
    if (!tree)
        fail_msg("%s: %s", fault, text);
    yajl_tree_free(tree);
    free(text);
}

static void draw_choice(crn_random *random, crn_choice *ret_choice)
{
    *ret_choice = (crn_choice){.late = crn_random_once_in(random, 3),
                               .partial = crn_random_once_in(random, 3),
                               .over_budget = crn_random_once_in(random, 3),
                               .slowest = crn_random_once_in(random, 2),
                               .lane = crn_random_between(random, -4, 7),
                               .count = 1 + crn_random_below(random, 6)};
}

static void any_verdicts_are_explained(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t cases = crn_random_cases(2000);
    for (uint32_t i = 0; i < cases; i++) {
        crn_decoded *verdicts[12], *copy;
        crn_choice choice;
        crn_selection *selection;
        draw_choice(&random, &choice);
        assert_int_equal(crn_selection_create(&choice, &selection), 0);
        for (int v = 0; v < 12; v++) {
            verdicts[v] = draw_verdict(&random);
            copy = malloc(sizeof *copy);
            assert_non_null(copy);
            *copy = *verdicts[v];
            assert_int_equal(crn_selection_offer(selection, &copy), 0);
            crn_decoded_free(&copy);
        }
        crn_selection_diagnose(selection);
        for (int v = 0; v < 12; v++) {
            crn_selection_surround(selection, verdicts[v]);
            crn_selection_is_past(selection, verdicts[v], 1000000000);
            crn_decoded_free(&verdicts[v]);
        }
        assert_true(selection->count <= choice.count && selection->count <= selection->matched);
        for (uint32_t s = 0; s < selection->count; s++)
            expect_explained(selection->items[s]);
        crn_selection_free(&selection);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_verdicts_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
