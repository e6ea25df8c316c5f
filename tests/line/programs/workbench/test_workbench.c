/* cernita-workbench: what its page asks is answered as cernita-apply answers it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/operators/compare.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/picture_files.h"
#include "tests/support/programs/workbench_program.h"

/* The body of /apply: an argument a line. */
static void as_lines(const char *arguments, char *ret_lines)
{
    strcpy(ret_lines, arguments);
    for (char *at = ret_lines; *at; at++)
        if (*at == ' ')
            *at = '\n';
}

/* Runs `arguments` there and here; the files must be the same byte by byte. */
static void expect_same(uint64_t id, const char *arguments, const char *ending)
{
    char path[128], lines[256], file[64], named[400];
    unsigned char *wanted;
    as_lines(arguments, lines);
    snprintf(path, sizeof path, "/apply?in=%d&out=%s", (int)id, ending);
    workbench_reply reply = workbench_post(&the_bench, 200, path, lines);
    snprintf(path, sizeof path, "/pictures/%d/file", (int)workbench_number(reply.body, "id"));
    snprintf(named, sizeof named, "%s", workbench_text(reply.body, "command"));
    workbench_reply_free(&reply);
    workbench_reply got = workbench_ask(&the_bench, "GET", path, "-", NULL, 0);
    assert_int_equal(got.code, 200);

    /* The command line that the page shows, as its user would copy it. */
    assert_int_equal(strncmp(named, "cernita-apply ", 14), 0);
    crn_expect_apply("%s", named + 14);
    snprintf(file, sizeof file, "out.%s", ending);
    size_t size = picture_load_bytes(file, &wanted);
    assert_int_equal(got.size, size);
    assert_memory_equal(got.body, wanted, size);
    free(wanted);
    workbench_reply_free(&got);
}

static void operators_give_what_cernita_apply_gives(void **state)
{
    static const char *const runs[][2] = {
        {"contours --level 128.5 --border closed", "json"},
        {"contours --level 100 --scale 2", "png"},
        {"morphology --operation gradient --element disk --size 7", "tif"},
        {"convolve --kernel gaussian --size 5 --border reflect", "tif"},
        {"haar --levels 3", "tif"},
        {"haar --levels 2", "png"},
        {"haar --levels 2 --threshold 8", "tif"},
        {"ranklet --windows 8x4", "tif"},
        {"ranklet --windows 4,8", "csv"},
        {"ranklet --pyramid", "png"},
    };
    static const char *const backends[] = {"serial", "openmp"};
    (void)state;
    crn_picture picture = apply_picture("a b.png", CRN_U8, 1, 1, false, 61, 83);
    crn_picture_free(&picture);
    uint64_t id = workbench_open(&the_bench, "a b.png", "a%20b.png");
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        for (size_t k = 0; k < 2; k++) {
            char arguments[200];
            snprintf(arguments, sizeof arguments, "%s --backend %s --threads 2", runs[i][0],
                     backends[k]);
            expect_same(id, arguments, runs[i][1]);
        }
    expect_same(0, "diamond-square --exponent 6 --seed 9 --roughness 0.6 --backend serial", "tif");
    expect_same(0, "diamond-square --exponent 6 --seed 9 --roughness 0.6 --backend openmp", "png");
}

static void other_types_and_planes_too(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("pages.tif", CRN_U16, 3, 1, false, 40, 50);
    crn_picture_free(&picture);
    picture = apply_picture("maps.tif", CRN_F32, 1, 4, false, 30, 44);
    crn_picture_free(&picture);
    picture = apply_picture("colour.png", CRN_U8, 1, 3, true, 33, 21);
    crn_picture_free(&picture);
    uint64_t pages = workbench_open(&the_bench, "pages.tif", "pages.tif");
    uint64_t maps = workbench_open(&the_bench, "maps.tif", "maps.tif");
    uint64_t colour = workbench_open(&the_bench, "colour.png", "colour.png");
    expect_same(pages, "morphology --operation open --element rect --size 3", "tif");
    expect_same(pages, "ranklet --windows 4", "tif");
    expect_same(maps, "contours --level 0.5", "json");
    expect_same(maps, "haar --levels 1", "tif");
    expect_same(colour, "convolve --kernel blur --size 3", "png");
}

/* An element may be another picture that is open, a kernel a text. */
static void elements_and_kernels_may_be_open_files(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("in.png", CRN_U8, 1, 1, false, 20, 30);
    crn_picture_free(&picture);
    crn_picture element = apply_create(CRN_U8, 1, 1, 3, 3);
    memset(element.memory, 1, 9);
    apply_write("element.png", &element);
    crn_picture_free(&element);
    apply_write_text("k3.txt", "0 1 0\n1 4 1\n0 1 0\n");
    uint64_t id = workbench_open(&the_bench, "in.png", "in.png");
    uint64_t shape = workbench_open(&the_bench, "element.png", "element.png");
    char arguments[128];
    snprintf(arguments, sizeof arguments, "morphology --operation erode --element @%d", (int)shape);
    expect_same(id, arguments, "tif");
    shape = workbench_open(&the_bench, "k3.txt", "k3.txt");
    snprintf(arguments, sizeof arguments, "convolve --kernel @%d", (int)shape);
    expect_same(id, arguments, "tif");
    workbench_expect_refusal(&the_bench, 404, "/apply?in=1&out=tif",
                             "morphology\n--operation\nerode\n--element\n@999",
                             "not open any more");
    workbench_expect_refusal(&the_bench, 422, "/pictures?name=k3.txt", "0,5 1 0,5\n",
                             ":1:2: a decimal comma? blanks separate numbers in this row");
}

static void a_check_says_what_the_run_would(void **state)
{
    static const struct {
        const char *path, *text, *wanted;
    } cases[] = {
        {"/apply?in=1&out=json&check=1", "contours", "--level is missing"},
        {"/apply?in=1&out=json&check=1", "contours\n--level\nhigh",
         "--level 'high' is not a number"},
        {"/apply?in=1&out=tif&check=1", "haar\n--levels\n30", "ceil(log2(257)) = 9 is the maximum"},
        {"/apply?in=1&out=tif&check=1", "ranklet\n--windows\n300", "larger than the picture"},
        {"/apply?in=2&out=tif&check=1", "ranklet\n--windows\n8", "need u8 or u16"},
        {"/apply?in=1&out=tif&check=1", "convolve\n--kernel\nnix", "neither a kernel's name"},
        {"/apply?in=1&out=tif&check=1", "convolve\n--kernel\n../../etc/passwd",
         "open the file here"},
        {"/apply?in=1&out=tif&check=1", "convolve\n--kernel\nblur\n--size\n4", "odd side"},
        {"/apply?in=1&out=tif&check=1", "diamond-square\n--exponent\n3", "--seed is missing"},
        {"/apply?in=1&out=tif&check=1", "haar\n--unknown", "--unknown"},
        {"/apply?in=1&out=tif&check=1", "haar\n--levels\n1\n/etc/passwd", "open the file here"},
        {"/apply?in=1&out=tif&check=1", "haar\n--levels\n1\nmore.tif", "one operand too many"},
        {"/apply?in=1&out=json&check=1", "haar\n--levels\n1", "cannot write .json"},
        {"/apply?in=1&out=tif", "nix", "no such operator"},
        {"/apply?in=1&out=tif", "", "no such operator"},
        {"/apply?in=1&out=tif", "haar\n--help", "--help is not for here"},
        {"/apply?in=1&out=tif&check=1", "convolve\n--kernel\n\n", "--kernel ''"},
        {"/apply?in=1&out=tif&check=1", "convolve\n--kernel\n\xff\xfe", "--kernel '\\xff\\xfe"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        workbench_expect_refusal(&the_bench, 422, cases[i].path, cases[i].text, cases[i].wanted);
    workbench_expect_refusal(&the_bench, 404, "/apply?in=99&out=tif", "haar\n--levels\n1",
                             "not open any more");
    workbench_reply reply = workbench_post(&the_bench, 200, "/apply?in=1&out=tif&check=1",
                                           "convolve\n--kernel\nsobel-x\n--size\n3");
    assert_null(strstr(reply.body, "\"result\"")); /* nothing was run */
    workbench_reply_free(&reply);
}

static void times_are_the_operators_own(void **state)
{
    (void)state;
    workbench_reply reply = workbench_post(&the_bench, 200, "/apply?in=1&out=tif",
                                           "haar\n--levels\n3\n--time\n--repeat\n5");
    const char *output = workbench_text(reply.body, "output");
    assert_int_equal(strncmp(output, "time_ms cold=", 13), 0);
    assert_non_null(strstr(output, " median="));
    assert_non_null(strstr(output, "n=5"));
    workbench_reply_free(&reply);
}

/* A run for its time alone leaves nothing behind. */
static void a_result_that_is_not_kept_is_gone(void **state)
{
    (void)state;
    workbench_reply kept =
        workbench_post(&the_bench, 200, "/apply?in=1&out=tif", "haar\n--levels\n3");
    uint64_t id = (uint64_t)workbench_number(kept.body, "id");
    workbench_reply timed = workbench_post(&the_bench, 200, "/apply?in=1&out=tif&keep=0",
                                           "haar\n--levels\n3\n--time\n--repeat\n2");
    assert_null(strstr(timed.body, "\"result\""));
    assert_non_null(strstr(workbench_text(timed.body, "output"), "n=2"));
    workbench_reply next =
        workbench_post(&the_bench, 200, "/apply?in=1&out=tif", "haar\n--levels\n3");
    assert_int_equal((uint64_t)workbench_number(next.body, "id"), id + 1);
    workbench_reply_free(&kept);
    workbench_reply_free(&timed);
    workbench_reply_free(&next);
}

/* Values come plane by plane, dense, in the picture's own type. */
static void planes_are_the_files_values(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("two.tif", CRN_F32, 1, 2, false, 9, 11);
    uint64_t id = workbench_open(&the_bench, "two.tif", "two.tif");
    char path[80];
    snprintf(path, sizeof path, "/pictures/%d/planes?from=0&count=2", (int)id);
    workbench_reply reply = workbench_ask(&the_bench, "GET", path, "-", NULL, 0);
    assert_int_equal(reply.code, 200);
    assert_int_equal(reply.size, 2 * 9 * 11 * sizeof(float));
    const float *at = (const float *)(const void *)reply.head;
    char *aligned = malloc(reply.size);
    memcpy(aligned, reply.body, reply.size);
    at = (const float *)(const void *)aligned;
    for (int32_t plane = 0; plane < 2; plane++)
        for (int32_t y = 0; y < 9; y++)
            for (int32_t x = 0; x < 11; x++)
                assert_true(*at++ == crn_image_at(&picture.image, plane, y, x));
    free(aligned);
    workbench_reply_free(&reply);
    crn_picture_free(&picture);
    snprintf(path, sizeof path, "/pictures/%d/planes?from=1&count=2", (int)id);
    reply = workbench_ask(&the_bench, "GET", path, "-", NULL, 0);
    assert_int_equal(reply.code, 422);
    workbench_reply_free(&reply);
}

static void a_recording_gives_its_views(void **state)
{
    (void)state;
    assert_int_equal(recorded_setup(state), 0);
    recorded_write_small(3);
    uint64_t id = workbench_open(&the_bench, recorded_path, "night.tif");
    assert_int_equal(recorded_teardown(state), 0);
    char path[80];
    snprintf(path, sizeof path, "/views?picture=%d&view=2", (int)id);
    workbench_reply reply = workbench_post(&the_bench, 200, path, "");
    assert_string_equal(workbench_text(reply.body, "kind"), "maps");
    assert_string_equal(workbench_text(reply.body, "name"), "night-view-2.tif");
    assert_int_equal((int)workbench_number(reply.body, "planes"), 3);
    assert_true(workbench_number(reply.body, "photograph") > 0);
    workbench_reply_free(&reply);
    snprintf(path, sizeof path, "/views?picture=%d&view=3", (int)id);
    workbench_expect_refusal(&the_bench, 422, path, "", "has views 0 to 2");
    snprintf(path, sizeof path, "/apply?in=%d&out=tif", (int)id);
    workbench_expect_refusal(&the_bench, 422, path, "haar\n--levels\n1", "choose one of its views");
}

static void the_same_words_make_one_picture(void **state)
{
    (void)state;
    workbench_reply one = workbench_post(&the_bench, 200, "/generate", "field\n5\n3\n0.25");
    workbench_reply two = workbench_post(&the_bench, 200, "/generate", "field\n5\n3\n0.25");
    assert_string_equal(one.body, two.body);
    assert_string_equal(workbench_text(one.body, "spec"), "field:5:3:0.25");
    workbench_reply_free(&one);
    workbench_reply_free(&two);
    one = workbench_post(&the_bench, 200, "/generate", "fruit\n11\n1");
    two = workbench_post(&the_bench, 200, "/generate", "fruit\n11\n1");
    assert_string_equal(one.body, two.body);
    workbench_reply_free(&one);
    workbench_reply_free(&two);
    workbench_expect_refusal(&the_bench, 422, "/generate", "field\n14\n3\n0.25",
                             "exponent from 1 to 13");
    workbench_expect_refusal(&the_bench, 422, "/generate", "fruit\n1\n4", "view from 0 to 3");
}

static const char chain_yaml[] =
    "classes: [{name: a, level: 0.5}, {name: b}, {name: c, level: 0.25}]\n"
    "chain:\n  - morphology: {operation: open, element: rect, size: 3}\n  - contours: {border: "
    "closed}\n";

static void a_chain_finds_the_defects_of_maps(void **state)
{
    (void)state;
    crn_picture maps = apply_picture("maps.tif", CRN_F32, 3, 1, false, 20, 30);
    crn_picture_free(&maps);
    char path[80];
    int id = (int)workbench_open(&the_bench, "maps.tif", "maps.tif");
    snprintf(path, sizeof path, "/chain?in=%d&backend=serial&threads=1", id);
    workbench_reply serial = workbench_post(&the_bench, 200, path, chain_yaml);
    snprintf(path, sizeof path, "/chain?in=%d&backend=openmp&threads=2", id);
    workbench_reply openmp = workbench_post(&the_bench, 200, path, chain_yaml);
    char *end = strstr(serial.body, "\"stages\"");
    assert_non_null(end);
    assert_memory_equal(serial.body, openmp.body, (size_t)(end - serial.body));
    assert_string_equal(workbench_text(serial.body, "class"), "a");
    assert_null(strstr(serial.body, "\"class\":\"b\""));
    workbench_reply_free(&serial);
    workbench_reply_free(&openmp);
    workbench_expect_refusal(&the_bench, 422, path,
                             "classes: [{name: a, level: 0.5}]\nchain: [contours]\n",
                             "3 planes, but 1 class");
    workbench_expect_refusal(&the_bench, 422, path, "chain: [nix]\n", "chain:1:");
    workbench_expect_refusal(&the_bench, 422, path, "chain: [{convolve: {kernel: '/etc/passwd'}}]",
                             "has no /");
    workbench_expect_refusal(&the_bench, 422, path,
                             "chain: [{convolve: {kernel: \"\\x2Fetc\\x2fpasswd\"}}]", "has no /");
    workbench_reply named =
        workbench_post(&the_bench, 200, path,
                       "classes: [{name: \"a \\\"b\\\"\", level: 0.5}, {name: b}, "
                       "{name: c}]\nchain: [contours]\n");
    workbench_reply_free(&named);
}

static void a_chain_runs_cold_and_then_warm(void **state)
{
    (void)state;
    crn_picture maps = apply_picture("maps.tif", CRN_F32, 3, 1, false, 20, 30);
    crn_picture_free(&maps);
    int id = (int)workbench_open(&the_bench, "maps.tif", "maps.tif");
    char path[80];
    snprintf(path, sizeof path, "/chain?in=%d&backend=serial&threads=1", id);
    workbench_reply once = workbench_post(&the_bench, 200, path, chain_yaml);
    assert_non_null(strstr(once.body, "\"warm\":null"));
    assert_null(strstr(once.body, "warm_ms"));
    assert_true(workbench_number(once.body, "start_ms") > 0);
    snprintf(path, sizeof path, "/chain?in=%d&backend=serial&threads=1&repeat=4", id);
    workbench_reply again = workbench_post(&the_bench, 200, path, chain_yaml);
    assert_int_equal((int)workbench_number(again.body, "n"), 4);
    double median = workbench_number(again.body, "median_ms");
    assert_true(0 < workbench_number(again.body, "min_ms"));
    assert_true(workbench_number(again.body, "min_ms") <= median);
    assert_true(median <= workbench_number(again.body, "max_ms"));
    assert_non_null(strstr(again.body, "\"warm_ms\":"));
    /* However often it runs, it finds the same. */
    assert_memory_equal(once.body, again.body,
                        (size_t)(strstr(once.body, "\"stages\"") - once.body));
    workbench_reply_free(&once);
    workbench_reply_free(&again);
    snprintf(path, sizeof path, "/chain?in=%d&backend=serial&threads=1&repeat=1001", id);
    workbench_expect_refusal(&the_bench, 422, path, chain_yaml, "0 to 1000 times more");
}

/* What tests/golden/calibration has of a board, and what is refused. */
static void a_target_gives_the_scale(void **state)
{
    (void)state;
    char path[64];
    static const char *const bad[] = {
        "", "disc", "disc\n0", "disc\nnan", "disc\n1e9", "ring\n5", "chequerboard\n10\nmore"};
    uint64_t id =
        workbench_open(&the_bench, CRN_TEST_DATA "/golden/calibration/plain.png", "plain.png");
    snprintf(path, sizeof path, "/calibrate?in=%d", (int)id);
    workbench_reply reply = workbench_post(&the_bench, 200, path, "chequerboard\n10");
    assert_true(fabs(workbench_number(reply.body, "mm_per_px") - 10 / 30.5) < 1e-4);
    assert_int_equal((int)workbench_number(reply.body, "column"), 0);
    assert_non_null(strstr(reply.body, "geometry:\\n  mm_per_px: 0.327"));
    workbench_reply_free(&reply);
    workbench_expect_refusal(&the_bench, 422, path, "disc\n64", "plain.png: there is no disc");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        workbench_expect_refusal(&the_bench, 422, path, bad[i], "a disc or a chequerboard of 0.1");
    workbench_expect_refusal(&the_bench, 404, "/calibrate?in=999", "disc\n64", "not open any more");
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_give_what_cernita_apply_gives),
        cmocka_unit_test(other_types_and_planes_too),
        cmocka_unit_test(elements_and_kernels_may_be_open_files),
        cmocka_unit_test(a_check_says_what_the_run_would),
        cmocka_unit_test(times_are_the_operators_own),
        cmocka_unit_test(planes_are_the_files_values),
        cmocka_unit_test(a_recording_gives_its_views),
        cmocka_unit_test(the_same_words_make_one_picture),
        cmocka_unit_test(a_chain_finds_the_defects_of_maps),
        cmocka_unit_test(a_chain_runs_cold_and_then_warm),
        cmocka_unit_test(a_target_gives_the_scale),
        cmocka_unit_test(a_result_that_is_not_kept_is_gone),
    };
    CRN_SET_FIXTURE(tests, workbench_setup, workbench_teardown)
    return cmocka_run_group_tests(tests, NULL, NULL);
}
