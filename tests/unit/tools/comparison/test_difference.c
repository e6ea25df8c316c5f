/* The comparison of two verdicts of a fruit: what is a difference, and how it is told. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/common/comparison/difference.h"

/* A defect, with its last keys to come. */
#define DEFECT_AS(view, class, area, points)                                                       \
    "{\"view\":" view ",\"class\":\"" class "\",\"level\":0.5,\"closed\":true,\"hole\":false,"     \
                                            "\"parent\":-1,\"area_px\":" area                      \
                                            ",\"perimeter_px\":8.5,\"bbox\":[1,2,3.5,4],"          \
                                            "\"centroid\":[2,3],\"mean_probability\":0.75,"        \
                                            "\"xy\":" points
#define POINTS "[[1,2],[3.5,4],[1,2]]"
#define DEFECT DEFECT_AS("0", "rot", "12.5", POINTS)
#define OTHER  DEFECT_AS("1", "mould", "3", POINTS) "}"
#define TEXTURE                                                                                    \
    ",\"ranklet\":[{\"window\":[8,16],\"vertical\":0.1,\"horizontal\":0.2,\"diagonal\":0.3}]}"
#define VERDICT(kind, defects)                                                                     \
    "{\"v\":1,\"run\":\"1\",\"lane\":3,\"fruit\":7,\"verdict\":\"" kind "\",\"defects\":[" defects \
    "]}"
#define WHOLE VERDICT("complete", DEFECT TEXTURE "," OTHER)

static crn_difference_counts counts;
static char told[4096];

static const char *compare_with(const char *expected, const char *got, double tolerance)
{
    crn_messagepack_json a, b;
    crn_error error;
    assert_int_equal(crn_messagepack_json_init(&a, expected, strlen(expected), &error), 0);
    assert_int_equal(crn_messagepack_json_init(&b, got, strlen(got), &error), 0);
    FILE *out = fmemopen(told, sizeof told, "w");
    crn_difference_fruit fruit = {3, 7};
    counts = (crn_difference_counts){0};
    assert_int_equal(
        crn_difference_find(&fruit, &a.tree.data, &b.tree.data, tolerance, out, &counts, NULL), 0);
    fclose(out);
    crn_messagepack_json_done(&a);
    crn_messagepack_json_done(&b);
    uint64_t lines = 0;
    for (const char *c = told; counts.differences && *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, counts.differences); /* one line each */
    if (!counts.differences)
        told[0] = '\0';
    return told;
}

static const char *compare(const char *expected, const char *got)
{
    return compare_with(expected, got, 0);
}

static void equal_verdicts_have_no_difference(void **state)
{
    (void)state;
    assert_string_equal(compare(WHOLE, WHOLE), "");
    assert_int_equal(counts.defects, 2);
    assert_string_equal(compare(VERDICT("late", ""), VERDICT("late", "")), "");
    /* Times, runs and the like, and keys that are not known. */
    assert_string_equal(compare(WHOLE, "{\"run\":\"2\",\"sequence\":5,\"published_ns\":9,\"new\":1,"
                                       "\"verdict\":\"complete\",\"defects\":[" DEFECT TEXTURE
                                       "," OTHER "]}"),
                        "");
}

static void the_kind_is_compared(void **state)
{
    (void)state;
    assert_string_equal(compare(WHOLE, VERDICT("partial", DEFECT TEXTURE "," OTHER)),
                        "lane 3, fruit 7: verdict partial, expected complete\n");
}

/* Each of these is one key of the first defect with another value. */
static void every_key_of_a_defect_is_compared(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *told;
    } changes[] = {
        {"0.5,\"closed\"", "0.25,\"closed\"", "level 0.25, expected 0.5"},
        {"\"closed\":true", "\"closed\":false", "closed false, expected true"},
        {"\"hole\":false", "\"hole\":true", "hole true, expected false"},
        {"\"parent\":-1", "\"parent\":0", "parent in its view and class 0, expected -1"},
        {"12.5", "12.500000000000002", "area_px 12.500000000000002, expected 12.5"},
        {"8.5", "8.25", "perimeter_px 8.25, expected 8.5"},
        {"3.5,4],\"cent", "3.5,5],\"cent", "bbox[3] 5, expected 4"},
        {"[2,3]", "[2.5,3]", "centroid[0] 2.5, expected 2"},
        {"0.75", "null", "mean_probability nan, expected 0.75"},
        {"[3.5,4],[1,2]]", "[3.5,4.0000005],[1,2]]",
         "point 2 (3.5, 4.00000048), expected (3.5, 4); 1 of 3 points differ"},
        {"[[1,2],[3.5,4]", "[[-1,2],[3.5,-4]",
         "point 1 (-1, 2), expected (1, 2); 2 of 3 points differ"},
        {"[3.5,4],[1,2]]", "[1,2]]", "2 points, expected 3"},
        {"[8,16]", "[8,8]", "window height 8, expected 16"},
        {"0.2,\"diag", "0.25,\"diag", "ranklet 8x16 horizontal 0.25, expected 0.2"},
        {TEXTURE, "}", "textures of 0 windows, expected 1"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char got[4096], want[256];
        const char *at = strstr(WHOLE, changes[i].from);
        assert_non_null(at);
        snprintf(got, sizeof got, "%.*s%s%s", (int)(at - WHOLE), WHOLE, changes[i].to,
                 at + strlen(changes[i].from));
        snprintf(want, sizeof want, "lane 3, fruit 7, view 0, rot, defect 1: %s\n",
                 changes[i].told);
        assert_string_equal(compare(WHOLE, got), want);
    }
}

/* Where numbers of defects differ only that is told, and other views and classes are compared. */
static void lost_and_new_defects_are_named(void **state)
{
    (void)state;
    assert_string_equal(compare(VERDICT("complete", DEFECT "}," DEFECT "}," OTHER),
                                VERDICT("complete", DEFECT "}," OTHER)),
                        "lane 3, fruit 7, view 0, rot: 1 defect, expected 2\n");
    assert_int_equal(counts.defects, 1);
    assert_string_equal(compare(VERDICT("complete", DEFECT "}"), VERDICT("complete", OTHER)),
                        "lane 3, fruit 7, view 0, rot: 0 defects, expected 1\n"
                        "lane 3, fruit 7, view 1, mould: 1 defect, expected 0\n");
}

/* A parent's index in the verdict moves with the defects before it. */
static void parents_count_within_their_class(void **state)
{
    (void)state;
#define CHILD(parent) "{\"view\":1,\"class\":\"mould\",\"parent\":" parent ",\"xy\":[]}"
    assert_string_equal(
        compare(VERDICT("complete", DEFECT "}," DEFECT "}," CHILD("-1") "," CHILD("2")),
                VERDICT("complete", DEFECT "}," CHILD("-1") "," CHILD("1"))),
        "lane 3, fruit 7, view 0, rot: 1 defect, expected 2\n");
}

static void bits_are_compared(void **state)
{
    (void)state;
#define ZERO(x) VERDICT("complete", DEFECT_AS("0", "rot", "1", "[[" x ",0]]") "}")
    assert_string_equal(
        compare(ZERO("0.0"), ZERO("-0.0")),
        "lane 3, fruit 7, view 0, rot, defect 1: point 1 (-0, 0), expected (0, 0); 1 of 1 points "
        "differ\n");
    /* The same point in both formats; a double that rounds to it. */
    assert_string_equal(compare(ZERO("0.1"), ZERO("0.10000000149011612")), "");
}

static void a_tolerance_is_kept(void **state)
{
    (void)state;
    static const char near[] = VERDICT(
        "complete", DEFECT_AS("0", "rot", "13.3", "[[1.05,2],[3.5,3.95],[1,2]]") TEXTURE "," OTHER);
    assert_string_equal(compare_with(WHOLE, near, 0.1), "");
    assert_int_equal(counts.defects, 2);
    compare_with(WHOLE, near, 0.01);
    assert_non_null(strstr(told, "point 1 (1.04999995, 2)"));
    assert_non_null(strstr(told, "area_px 13.3"));
    assert_int_equal(counts.differences, 2);
    assert_true(compare_with(WHOLE, VERDICT("complete", DEFECT TEXTURE), 1000)[0]);
}

static void what_is_no_verdict_is_told(void **state)
{
    (void)state;
    assert_string_equal(compare(WHOLE, "{\"verdict\":\"complete\"}"),
                        "lane 3, fruit 7: the line's verdict has no defects that can be read\n");
    assert_string_equal(compare("{\"verdict\":\"complete\",\"defects\":[5]}", WHOLE),
                        "lane 3, fruit 7: the expected verdict has no defects that can be read\n");
    assert_string_equal(compare(VERDICT("late", ""), "{\"verdict\":7,\"defects\":[]}"),
                        "lane 3, fruit 7: verdict none, expected late\n");
    /* Any type under any key. */
    assert_int_equal(counts.defects, 0);
    assert_true(compare(WHOLE, VERDICT("complete", "{\"view\":0,\"class\":\"rot\",\"xy\":{},"
                                                   "\"bbox\":3,\"ranklet\":\"x\"}," OTHER))[0]);
}

/* Holes are not defects, and their area is not the class's. */
static void a_summary_says_areas_by_class(void **state)
{
    (void)state;
    static const char hole[] = "{\"view\":0,\"class\":\"rot\",\"level\":0.5,\"closed\":true,"
                               "\"hole\":true,\"parent\":0,\"area_px\":2.5}";
    char expected[2048], got[2048];
    snprintf(expected, sizeof expected,
             VERDICT("complete", DEFECT "},"
                                        "%s"),
             hole);
    snprintf(got, sizeof got, VERDICT("late", OTHER));
    crn_difference_summary *summary = crn_difference_summary_create();
    assert_non_null(summary);
    for (uint64_t number = 0; number < 4; number++) {
        crn_messagepack_json a, b;
        crn_error error;
        crn_difference_fruit fruit = {3, number};
        const char *line = number % 2 ? expected : got;
        assert_int_equal(crn_messagepack_json_init(&a, expected, strlen(expected), &error), 0);
        assert_int_equal(crn_messagepack_json_init(&b, line, strlen(line), &error), 0);
        assert_int_equal(crn_difference_find(&fruit, &a.tree.data, &b.tree.data, 0,
                                             crn_difference_summary_lines(summary), &counts,
                                             summary),
                         0);
        crn_difference_summary_end_fruit(summary, 3, number);
        crn_messagepack_json_done(&a);
        crn_messagepack_json_done(&b);
    }
    FILE *out = fmemopen(told, sizeof told, "w");
    assert_true(crn_difference_summary_print(summary, 4, out));
    fclose(out);
    crn_difference_summary_free(&summary);
    assert_string_equal(
        told, "lane 3, fruit 0: verdict late, expected complete\n"
              "lane 3, fruit 2: verdict late, expected complete\n"
              "rot: 2 of 4 fruits differ: 0 defects of 0.0 px², expected 2 of 20.0 px² (-100.0 %)\n"
              "  first: lane 3, fruit 0, view 0, rot: 0 defects, expected 2\n"
              "  most: lane 3, fruit 0: 0 defects of 0.0 px², expected 1 of 10.0 px² (-100.0 %)\n"
              "  then lane 3, fruit 2: 0 defects of 0.0 px², expected 1 of 10.0 px² (-100.0 %)\n"
              "mould: 2 of 4 fruits differ: 2 defects of 6.0 px², expected 0 of 0.0 px²\n"
              "  first: lane 3, fruit 0, view 1, mould: 1 defect, expected 0\n"
              "  most: lane 3, fruit 0: 1 defect of 3.0 px², expected 0 of 0.0 px²\n"
              "  then lane 3, fruit 2: 1 defect of 3.0 px², expected 0 of 0.0 px²\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_verdicts_have_no_difference),
        cmocka_unit_test(the_kind_is_compared),
        cmocka_unit_test(every_key_of_a_defect_is_compared),
        cmocka_unit_test(lost_and_new_defects_are_named),
        cmocka_unit_test(parents_count_within_their_class),
        cmocka_unit_test(bits_are_compared),
        cmocka_unit_test(a_tolerance_is_kept),
        cmocka_unit_test(what_is_no_verdict_is_told),
        cmocka_unit_test(a_summary_says_areas_by_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
