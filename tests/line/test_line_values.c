/*
 * Maps that are not probabilities: with any invalid value, at any position, type, layout and
 * backend, the fruit is never complete; and valid fruits always are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/peers/decode.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/random.h"

enum { HEIGHT = 24, WIDTH = 37, CLASSES = 4, ELEMENTS = HEIGHT * WIDTH * CLASSES };

static const bool has_level[CLASSES] = {false, true, false, true};

static const char every_class[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: stem}, {name: rust, level: 0.4}]\n";

static const char *const chains[] = {
    "chain: [contours: {border: closed}]\n",
    "chain:\n"
    "  - convolve: {kernel: gaussian, size: 3}\n"
    "  - morphology: {operation: open, element: disk, size: 3}\n"
    "  - haar: {levels: 2, threshold: 0.05}\n"
    "  - contours: {border: closed}\n"
    "  - ranklet: {windows: [4, 8]}\n",
};

typedef enum mutation {
    NOTHING,
    NOT_A_NUMBER,
    INFINITE,
    NEGATIVE_INFINITE,
    ABOVE,
    BELOW,
    BYTES,
    PARTLY_NAN,
    MUTATIONS
} mutation;

static const float mutated_value[MUTATIONS] = {
    [NOT_A_NUMBER] = NAN, [INFINITE] = INFINITY, [NEGATIVE_INFINITE] = -INFINITY,
    [ABOVE] = 1.5f,       [BELOW] = -0.5f,       [BYTES] = 255,
    [PARTLY_NAN] = NAN,
};

/* Class maps that sum to 1 in every pixel, HWC. */
static void make_softmax(crn_random *random, float *maps)
{
    for (int pixel = 0; pixel < HEIGHT * WIDTH; pixel++) {
        double sum = 0, power[CLASSES];
        for (int c = 0; c < CLASSES; c++)
            sum += power[c] = exp(6 * crn_random_unit(random));
        for (int c = 0; c < CLASSES; c++)
            maps[pixel * CLASSES + c] = (float)(power[c] / sum);
    }
}

static void mutate(crn_random *random, mutation what, int c, float *maps)
{
    if (what == NOTHING)
        return;
    if (what != PARTLY_NAN) {
        uint32_t pixel = crn_random_below(random, HEIGHT * WIDTH);
        maps[pixel * CLASSES + (uint32_t)c] = mutated_value[what];
        return;
    }
    for (int pixel = 0; pixel < HEIGHT * WIDTH; pixel++)
        if (crn_random_below(random, 10) < 3)
            maps[pixel * CLASSES + c] = NAN;
}

/* Converts a probability, or a mutated one; truncates. */
static uint16_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000;
    if (isnan(value))
        return 0x7e00;
    if (isinf(value))
        return (uint16_t)(sign | 0x7c00);
    if (fabsf(value) < 0x1p-14f)
        return (uint16_t)sign;
    return (uint16_t)(sign | ((bits & 0x7fffffff) - (112u << 23)) >> 13);
}

/* Converts HWC floats to the header's type and layout. */
static void write_maps(const crn_view_header *header, const float *maps, unsigned char *bytes)
{
    for (int pixel = 0; pixel < HEIGHT * WIDTH; pixel++) {
        for (int c = 0; c < CLASSES; c++) {
            float value = maps[pixel * CLASSES + c];
            size_t at = (size_t)(header->layout == CRN_HWC ? pixel * CLASSES + c
                                                           : c * HEIGHT * WIDTH + pixel);
            uint16_t half = half_of(value);
            if (header->type == CRN_U8)
                bytes[at] = (unsigned char)(value * 255);
            else if (header->type == CRN_F16)
                memcpy(bytes + at * 2, &half, 2);
            else
                memcpy(bytes + at * 4, &value, 4);
        }
    }
}

static void configure(line_fixture *line, const char *chain, const char *backend, const char *rule)
{
    char yaml[1000];
    snprintf(yaml, sizeof yaml,
             "%s%srun: {backend: %s, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "log: {level: error}\n",
             every_class, chain, backend);
    line_configure(line, yaml);
    line->config.ingest.values = strcmp(rule, "trust") == 0      ? CRN_VALUES_TRUST
                                 : strcmp(rule, "small_u8") == 0 ? CRN_VALUES_SMALL_U8
                                                                 : CRN_VALUES_CHECK;
}

static void start(line_fixture *line, const char *chain, const char *backend, const char *rule,
                  const crn_gpu *gpu)
{
    configure(line, chain, backend, rule);
    line_run(line, gpu);
}

/* Expected finding for a fruit's only view. */
typedef struct finding {
    crn_view_reason reason; /* CRN_REASON_NONE: the fruit is complete */
    const char *of_class;
    uint64_t count; /* 0: any positive number */
} finding;

static const char *const class_names[CLASSES] = {"ground", "rot", "stem", "rust"};
static const finding sound = {CRN_REASON_NONE, "", 0};

static void expect(const msgpack_object *verdict, const finding *expected, const char *what)
{
    const msgpack_object *kind = crn_decoded_field(verdict, "verdict");
    const char *expected_kind = expected->reason ? "partial" : "complete";
    if (kind->via.str.size != strlen(expected_kind) ||
        memcmp(kind->via.str.ptr, expected_kind, kind->via.str.size) != 0)
        fail_msg("%s: the verdict is %.*s", what, (int)kind->via.str.size, kind->via.str.ptr);
    const msgpack_object *view = crn_decoded_item(crn_decoded_field(verdict, "view_states"), 0);
    crn_expect_text(crn_decoded_field(view, "state"), "judged");
    crn_expect_text(crn_decoded_field(view, "reason"), crn_view_reason_names[expected->reason]);
    if (!expected->reason)
        return;
    crn_expect_text(crn_decoded_field(view, "class"), expected->of_class);
    if (expected->count)
        crn_expect_unsigned(crn_decoded_field(view, "count"), expected->count);
}

/* Sends one view as its own fruit, and compares its verdict. */
static void judge(line_fixture *line, crn_type type, crn_layout layout, const void *bytes,
                  const finding *expected, int what)
{
    crn_view_header header = line_header(line, line->sequence, 0, 1, HEIGHT, WIDTH);
    header.type = type;
    header.layout = layout;
    line_send(line, header, bytes, NULL);
    size_t size;
    unsigned char *verdict = line_receive_bytes(line, CRN_FIXTURE_PATIENCE_MS, &size);
    assert_non_null(verdict);
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)verdict, size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    char text[100];
    snprintf(text, sizeof text, "mutation %d, class '%s', %s, layout %d", what, expected->of_class,
             crn_type_name(type), layout);
    expect(&unpacked.data, expected, text);
    msgpack_unpacked_destroy(&unpacked);
    free(verdict);
}

/* Every kind of invalid value in every class, with valid views in between. */
static void mutate_all(line_fixture *line, uint64_t *ret_not_finite, uint64_t *ret_out_of_range)
{
    crn_random random = {crn_random_seed()};
    static float maps[ELEMENTS];
    static unsigned char bytes[ELEMENTS * sizeof(float)];
    *ret_not_finite = *ret_out_of_range = 0;
    for (int i = 0; i < 2 * 2 * CLASSES * MUTATIONS; i++) {
        mutation what = (mutation)(i % MUTATIONS);
        int c = i / MUTATIONS % CLASSES;
        crn_view_header header = {
            .type = i / MUTATIONS / CLASSES % 2 ? CRN_F32 : CRN_F16,
            .layout = i / MUTATIONS / CLASSES / 2 ? CRN_CHW : CRN_HWC,
        };
        bool is_nan_or_infinite = !isfinite(mutated_value[what]);
        finding bad = {is_nan_or_infinite ? CRN_REASON_NOT_FINITE : CRN_REASON_OUT_OF_RANGE,
                       class_names[c], what != PARTLY_NAN};
        bool is_bad = what != NOTHING && has_level[c];
        make_softmax(&random, maps);
        mutate(&random, what, c, maps);
        write_maps(&header, maps, bytes);
        judge(line, header.type, header.layout, bytes, is_bad ? &bad : &sound, what);
        *ret_not_finite += is_bad && is_nan_or_infinite;
        *ret_out_of_range += is_bad && !is_nan_or_infinite;
    }
}

/* u8 maps: valid ones, and 0/1 masks in any class, background included. */
static void mask_all(line_fixture *line, const finding *of_a_mask)
{
    static unsigned char mask[ELEMENTS];
    crn_random random = {5};
    for (int i = 0; i < 2 * CLASSES; i++) {
        crn_layout layout = i < CLASSES ? CRN_HWC : CRN_CHW;
        uint32_t c = (uint32_t)i % CLASSES, pixel = crn_random_below(&random, HEIGHT * WIDTH);
        size_t at = layout == CRN_HWC ? pixel * CLASSES + c : c * HEIGHT * WIDTH + pixel;
        memset(mask, 0, sizeof mask);
        judge(line, CRN_U8, layout, mask, &sound, NOTHING);
        mask[at] = 1;
        judge(line, CRN_U8, layout, mask, of_a_mask, ABOVE);
        /* One value above 1 in another class: the defects' classes may then hold only 0 and 1. */
        mask[ELEMENTS - 1 - at] = 2;
        judge(line, CRN_U8, layout, mask, &sound, NOTHING);
    }
}

static void run_backend(const char *backend, const crn_gpu *gpu)
{
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        static line_fixture line;
        uint64_t not_finite, out_of_range;
        start(&line, chains[i], backend, "check", gpu);
        mutate_all(&line, &not_finite, &out_of_range);
        mask_all(&line, &(finding){CRN_REASON_MASK_VALUES, "", 1});
        line_stop(&line);
        const uint64_t *faulty = line.metrics.values.faulty;
        assert_int_equal(faulty[CRN_REASON_NOT_FINITE], not_finite);
        assert_int_equal(faulty[CRN_REASON_OUT_OF_RANGE], out_of_range);
        assert_int_equal(faulty[CRN_REASON_MASK_VALUES], 2 * CLASSES);
        assert_int_equal(line.metrics.values.frozen, 0);
    }
}

static void no_bad_value_passes_the_definitions(void **state)
{
    (void)state;
    run_backend("serial", NULL);
}

static void no_bad_value_passes_the_fast_operators(void **state)
{
    (void)state;
    run_backend("openmp", NULL);
}

static void no_bad_value_passes_a_device_that_is_none(void **state)
{
    (void)state;
    run_backend("cuda", crn_fake_gpu(1, false));
}

static void no_bad_value_passes_a_device(void **state)
{
    (void)state;
    run_backend("cuda", crn_test_cuda());
}

static void small_bytes_may_be_allowed(void **state)
{
    (void)state;
    static line_fixture line;
    uint64_t not_finite, out_of_range;
    start(&line, chains[0], "openmp", "small_u8", NULL);
    mask_all(&line, &sound);
    mutate_all(&line, &not_finite, &out_of_range);
    line_stop(&line);
    assert_int_equal(line.metrics.values.faulty[CRN_REASON_MASK_VALUES], 0);
    assert_int_equal(line.metrics.values.faulty[CRN_REASON_NOT_FINITE], not_finite);
}

static void a_trusted_sender_is_not_checked(void **state)
{
    (void)state;
    static line_fixture line;
    static float maps[ELEMENTS];
    start(&line, chains[0], "openmp", "trust", NULL);
    mask_all(&line, &sound);
    maps[1] = NAN;
    maps[3] = 255;
    for (int i = 0; i < 12; i++)
        judge(&line, CRN_F32, CRN_HWC, maps, &sound, NOT_A_NUMBER);
    line_stop(&line);
    for (int reason = 0; reason < CRN_REASONS; reason++)
        assert_int_equal(line.metrics.values.faulty[reason], 0);
    assert_int_equal(line.metrics.values.frozen, 0);
}

/* One invalid view suffices, at any position among valid ones. */
static void one_bad_view_of_a_fruit_makes_it_partial(void **state)
{
    (void)state;
    static line_fixture line;
    static float good[ELEMENTS], bad[ELEMENTS];
    crn_random random = {3};
    make_softmax(&random, good);
    make_softmax(&random, bad);
    mutate(&random, NOT_A_NUMBER, 3, bad);
    start(&line, chains[0], "openmp", "check", NULL);
    for (uint16_t which = 0; which < 4; which++) {
        for (uint16_t view = 0; view < 4; view++)
            line_send(&line, line_header(&line, which, view, 4, HEIGHT, WIDTH),
                      view == which ? bad : good, NULL);
        seen_verdict verdict;
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, "partial");
        assert_int_equal(verdict.views_judged, 4);
    }
    line_stop(&line);
}

/* Nine identical views may be chance, ten are reported.
 * Each lane counts separately; verdicts are unaffected. */
static void a_cnn_that_hangs_is_told(void **state)
{
    (void)state;
    enum { FRUITS = 24 };
    static line_fixture line;
    static float maps[ELEMENTS], others[ELEMENTS];
    crn_random random = {4};
    make_softmax(&random, maps);
    make_softmax(&random, others);
    crn_log_capture caught;
    configure(&line, chains[0], "openmp", "check");
    crn_log_set_level(CRN_LOG_WARNING); /* before any thread that logs exists */
    line_run(&line, NULL);
    crn_log_capture_start(&caught);
    int complete = 0;
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++) {
        crn_view_header header = line_header(&line, fruit, 0, 1, HEIGHT, WIDTH);
        header.lane = fruit % 2 ? 6 : 5;
        line_send(&line, header, header.lane == 6 && fruit / 2 >= 9 ? others : maps, NULL);
        seen_verdict verdict;
        complete += line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict) &&
                    strcmp(verdict.verdict, "complete") == 0;
    }
    const char *told = crn_log_capture_stop(&caught);
    assert_int_equal(complete, FRUITS);
    assert_non_null(strstr(told, "lane 5, fruit 18, view 0: 10 views in a row hold the same"));
    assert_null(strstr(told, "lane 6"));
    line_stop(&line);
    assert_int_equal(line.metrics.values.frozen, FRUITS / 2 - 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bad_value_passes_the_definitions),
        cmocka_unit_test(no_bad_value_passes_the_fast_operators),
        cmocka_unit_test(no_bad_value_passes_a_device_that_is_none),
        cmocka_unit_test(no_bad_value_passes_a_device),
        cmocka_unit_test(small_bytes_may_be_allowed),
        cmocka_unit_test(a_trusted_sender_is_not_checked),
        cmocka_unit_test(one_bad_view_of_a_fruit_makes_it_partial),
        cmocka_unit_test(a_cnn_that_hangs_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
