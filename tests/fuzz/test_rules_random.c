/*
 * Random rules: conditions drawn as trees and written as text give what a plain recursive
 * evaluation of the tree gives, and no text, however broken, does harm. CRN_CASES is the number of
 * cases, CRN_SEED the seed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/buffer/text.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/rule_fruit.h"
#include "tests/support/random.h"
#include "tools/common/rules/rules.h"

#define NODES_MAX 64
#define TEXT_MAX  8000
#define CLASSES   3

static const char *const classes[CLASSES] = {"rot", "fresh hail", "stem"};

typedef enum drawn_kind {
    DRAWN_AND,
    DRAWN_OR,
    DRAWN_NOT,
    DRAWN_AREA,     /* of a class, compared with a number */
    DRAWN_DIAMETER, /* that no verdict has */
    DRAWN_STALE,
    DRAWN_ANY,    /* left: its condition */
    DRAWN_DEFECT, /* within any(): the area of one */
} drawn_kind;

typedef struct drawn_node {
    drawn_kind kind;
    int left, right; /* of its tree */
    int class;
    const char *sign;
    int number;
} drawn_node;

typedef struct drawn_tree {
    drawn_node node[NODES_MAX];
    int count;
} drawn_tree;

static const char *const signs[] = {"<", "<=", ">", ">=", "!="};

/* Returns the node's index. Its numbers never make a condition that always or never holds. */
static int draw(crn_random *random, drawn_tree *tree, int depth, bool in_any)
{
    int at = tree->count++;
    drawn_node node = {.class = (int)crn_random_below(random, CLASSES),
                       .sign = signs[crn_random_below(random, 5)],
                       .number = crn_random_between(random, 1, 9)};
    bool is_leaf = depth == 0 || tree->count > NODES_MAX - 8;
    uint32_t kind = crn_random_below(random, is_leaf ? 4 : 10);
    if (!is_leaf && kind >= 4) {
        node.kind = kind < 6 ? DRAWN_AND : kind < 8 ? DRAWN_OR : DRAWN_NOT;
        node.left = draw(random, tree, depth - 1, in_any);
        if (node.kind != DRAWN_NOT)
            node.right = draw(random, tree, depth - 1, in_any);
    } else if (in_any) {
        node.kind = DRAWN_DEFECT;
    } else if (kind == 3) {
        node.kind = DRAWN_ANY;
        node.left = draw(random, tree, depth ? depth - 1 : 0, true);
    } else {
        node.kind = kind == 0 ? DRAWN_AREA : kind == 1 ? DRAWN_DIAMETER : DRAWN_STALE;
    }
    tree->node[at] = node;
    return at;
}

/* Brackets where they are needed, and sometimes where they are not. `level`: 0 within `or`, 1
 * within `and`, 2 within `not`. */
static void write_node(crn_random *random, const drawn_tree *tree, int at, int level,
                       crn_text *text)
{
    const drawn_node *node = &tree->node[at];
    int own = node->kind == DRAWN_OR ? 0 : node->kind == DRAWN_AND ? 1 : 2;
    bool brackets = own < level || crn_random_once_in(random, 8);
    crn_text_add(text, "%s", brackets ? "(" : "");
    if (node->kind == DRAWN_AND || node->kind == DRAWN_OR) {
        write_node(random, tree, node->left, own, text);
        crn_text_add(text, " %s ", own ? "and" : "or");
        write_node(random, tree, node->right, own, text);
    } else if (node->kind == DRAWN_NOT) {
        crn_text_add(text, "not ");
        write_node(random, tree, node->left, 2, text);
    } else if (node->kind == DRAWN_ANY) {
        crn_text_add(text, "any(\"%s\", ", classes[node->class]);
        write_node(random, tree, node->left, 0, text);
        crn_text_add(text, ")");
    } else if (node->kind == DRAWN_AREA) {
        crn_text_add(text, "\"%s\".area_px%s%d", classes[node->class], node->sign, node->number);
    } else if (node->kind == DRAWN_STALE) {
        crn_text_add(text, "stale");
    } else {
        crn_text_add(text, "%s %s %d", node->kind == DRAWN_DEFECT ? "area_px" : "diameter_mm",
                     node->sign, node->number);
    }
    crn_text_add(text, "%s", brackets ? ")" : "");
}

/* false 0, unknown 1, true 2; `more`: the number may be larger. */
static int compare(double value, const char *sign, double number, bool more)
{
    bool holds = strcmp(sign, "<") == 0    ? value < number
                 : strcmp(sign, "<=") == 0 ? value <= number
                 : strcmp(sign, ">") == 0  ? value > number
                 : strcmp(sign, ">=") == 0 ? value >= number
                                           : value != number;
    if (!more)
        return holds ? 2 : 0;
    if (sign[0] == '<')
        return holds ? 1 : 0;
    if (sign[0] == '>')
        return holds ? 2 : 1;
    return value > number ? 2 : 1;
}

static int evaluate(const drawn_tree *tree, int at, const crn_rule_fruit *fruit, int defect);

static const crn_decoded_total *total_of(const crn_rule_fruit *fruit, int class)
{
    for (uint32_t i = 0; i < fruit->verdict.total_count; i++)
        if (strcmp(fruit->verdict.totals[i].name, classes[class]) == 0)
            return &fruit->verdict.totals[i];
    return NULL;
}

static int evaluate_any(const drawn_tree *tree, const drawn_node *node, const crn_rule_fruit *fruit)
{
    if (!total_of(fruit, node->class))
        return 1;
    int found = fruit->verdict.kind == CRN_VERDICT_COMPLETE ? 0 : 1;
    for (int i = 0; i < (int)fruit->verdict.defect_count; i++) {
        if (fruit->defects[i].hole || strcmp(fruit->defects[i].name, classes[node->class]) != 0)
            continue;
        int one = evaluate(tree, node->left, fruit, i);
        found = one > found ? one : found;
    }
    return found;
}

static int evaluate(const drawn_tree *tree, int at, const crn_rule_fruit *fruit, int defect)
{
    const drawn_node *node = &tree->node[at];
    int left, right;
    switch (node->kind) {
    case DRAWN_AND:
    case DRAWN_OR:
        left = evaluate(tree, node->left, fruit, defect);
        right = evaluate(tree, node->right, fruit, defect);
        return (left < right) == (node->kind == DRAWN_AND) ? left : right;
    case DRAWN_NOT:
        return 2 - evaluate(tree, node->left, fruit, defect);
    case DRAWN_AREA:
        return total_of(fruit, node->class)
                   ? compare(total_of(fruit, node->class)->area_px, node->sign, node->number,
                             fruit->verdict.kind != CRN_VERDICT_COMPLETE)
                   : 1;
    case DRAWN_STALE:
        return fruit->verdict.stale ? 2 : 0;
    case DRAWN_ANY:
        return evaluate_any(tree, node, fruit);
    case DRAWN_DEFECT:
        return compare(fruit->defects[defect].area_px, node->sign, node->number, false);
    default:
        return 1;
    }
}

static void draw_fruit(crn_random *random, crn_rule_fruit *fruit)
{
    crn_rule_fruit_init(fruit);
    for (int class = 0; class < CLASSES; class ++)
        if (!crn_random_once_in(random, 4))
            crn_rule_fruit_look_for(fruit, classes[class]);
    for (uint32_t left = crn_random_below(random, CRN_RULE_FRUIT_DEFECTS); left; left--) {
        int class = (int)crn_random_below(random, CLASSES);
        if (total_of(fruit, class))
            crn_rule_fruit_add(fruit, classes[class], crn_random_between(random, 0, 6), 0.5)->hole =
                crn_random_once_in(random, 6);
    }
    fruit->verdict.stale = crn_random_once_in(random, 2);
    if (crn_random_once_in(random, 3))
        fruit->verdict.kind = CRN_VERDICT_PARTIAL;
}

/* A drawn conjunction may exclude itself; a rule may have too many brackets: told, not compared. */
static bool may_be_refused(const crn_rule_faults *faults)
{
    for (int32_t i = 0; i < faults->count; i++)
        if (!strstr(faults->item[i].text, "never holds") &&
            !strstr(faults->item[i].text, "within each other"))
            return false;
    return true;
}

static void rules_mean_what_a_plain_evaluation_says(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t cases = crn_random_cases(20000), compared = 0;
    static drawn_tree tree;
    static crn_rule_fruit fruit;
    for (uint32_t i = 0; i < cases; i++) {
        char bytes[TEXT_MAX];
        crn_text text = crn_text_in(bytes, sizeof bytes);
        crn_rule_faults faults;
        crn_rules *rules;
        tree.count = 0;
        draw(&random, &tree, (int)crn_random_below(&random, 6), false);
        write_node(&random, &tree, 0, 0, &text);
        assert_int_equal(crn_rules_create(&rules), 0);
        int r = crn_rules_add(rules, bytes, text.used, &faults);
        if (r && !may_be_refused(&faults))
            fail_msg("%s: %s", bytes, faults.item[0].text);
        for (int f = 0; !r && f < 4; f++) {
            draw_fruit(&random, &fruit);
            int expected = evaluate(&tree, 0, &fruit, -1);
            int got = (int)crn_rules_evaluate(rules, 0, &fruit.verdict);
            if (got != expected)
                fail_msg("%s: %d, %d expected", bytes, got, expected);
            compared++;
        }
        crn_rules_free(&rules);
    }
    assert_true(compared > cases);
}

static void no_text_does_harm(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "and ", "or ",    "not ", "any(", "(",       ")",        ",",       ".",
        "rot",  "lane ",  "> ",   "== ",  "<= ",     "5",        "0.5",     "area_px",
        "kind", "stale ", "\"",   "'",    "partial", "area_mm2", "recipe ", "\xc3\xa9",
        "\xff", "=",      "&&",   "-7",   "1e9 ",    "\n",       "any ",    "rot.area_px > 5 "};
    crn_random random = {crn_random_seed()};
    uint32_t cases = crn_random_cases(100000);
    static crn_rule_fruit fruit;
    draw_fruit(&random, &fruit);
    crn_rules *rules = NULL;
    for (uint32_t i = 0; i < cases; i++) {
        char bytes[1024];
        crn_text text = crn_text_in(bytes, sizeof bytes);
        for (uint32_t left = crn_random_below(&random, 24); left; left--)
            crn_text_add(&text, "%s",
                         pieces[crn_random_below(&random, sizeof pieces / sizeof *pieces)]);
        size_t size = text.used;
        if (size && crn_random_once_in(&random, 4))
            size = crn_random_spoil(&random, (unsigned char *)bytes, size);
        if (!rules || crn_rules_count(rules) > 40) {
            crn_rules_free(&rules);
            assert_int_equal(crn_rules_create(&rules), 0);
        }
        crn_rule_faults faults;
        char *exact = malloc(size + 1); /* so that a sanitizer sees what is read beyond it */
        assert_non_null(exact);
        memcpy(exact, bytes, size);
        exact = realloc(exact, size ? size : 1);
        int r = crn_rules_add(rules, exact, size, &faults);
        free(exact);
        assert_true(r == 0 || (r == -EINVAL && faults.count > 0));
        for (int32_t f = 0; r && f < faults.count; f++)
            assert_true(faults.item[f].at <= size && faults.item[f].text[0]);
        if (!r)
            crn_rules_evaluate(rules, crn_rules_count(rules) - 1, &fruit.verdict);
    }
    crn_rules_free(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_mean_what_a_plain_evaluation_says),
        cmocka_unit_test(no_text_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
