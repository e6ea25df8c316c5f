/*
 * The scale of a lane's values: sound lines of any kind never trip it, however faint their defects
 * and however they are quantised; lanes decide as they should. CRN_CASES counts lines of LINE_VIEWS
 * views each (10000: a million views); CRN_FRAME names a .npy file of real maps, H x W x C f32.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fruit/lane/lane.h"
#include "src/fruit/values/values.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/operators/operator_tests.h"
#include "tools/bench/frame.h"

enum {
    LINE_VIEWS = 100,
    SIDE_MAX = 24,
    PIXELS_MAX = SIDE_MAX * SIDE_MAX,
    ELEMENTS_MAX = PIXELS_MAX * CRN_CLASSES_MAX
};

typedef enum quantiser {
    ROUNDS,    /* of 255 */
    TRUNCATES, /* of 255 */
    OF_256,    /* truncates 256 times the value, at most 255 */
    ROUNDS_UP, /* of 255 */
    QUANTISERS
} quantiser;

/* A line: one lane, one CNN. */
typedef struct scale_line {
    crn_random random;
    crn_config config;
    crn_values values;
    crn_lanes *lanes;
    crn_lane *lane;
    crn_view view;
    quantiser quantiser;
    bool has_background, is_masked, is_softmax;
    float bias[CRN_CLASSES_MAX];
} scale_line;

static float probabilities[ELEMENTS_MAX];
static unsigned char sent[ELEMENTS_MAX * sizeof(float)], slot[sizeof sent];
static crn_image frame; /* CRN_FRAME; data NULL: none */

/* --- maps --- */

static uint16_t half_of(float value, bool truncates)
{
    uint32_t bits;
    if (value < 0x1p-14f) /* subnormal */
        return (uint16_t)(truncates ? value * 0x1p24f : roundf(value * 0x1p24f));
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits - (112u << 23) + (truncates ? 0 : 1u << 12)) >> 13);
}

static unsigned char byte_of(float value, quantiser how)
{
    double v = (double)value;
    double byte = how == ROUNDS      ? rint(v * 255)
                  : how == TRUNCATES ? floor(v * 255)
                  : how == ROUNDS_UP ? ceil(v * 255)
                                     : floor(v * 256);
    return (unsigned char)(byte > 255 ? 255 : byte);
}

static void write_element(const scale_line *line, size_t at, float value)
{
    crn_type type = line->view.header.type;
    uint16_t half = half_of(value, line->quantiser == TRUNCATES);
    if (type == CRN_U8)
        sent[at] = byte_of(value, line->quantiser);
    else if (type == CRN_F16)
        memcpy(sent + at * sizeof half, &half, sizeof half);
    else
        memcpy(sent + at * sizeof value, &value, sizeof value);
}

static void write_view(scale_line *line)
{
    const crn_view_header *header = &line->view.header;
    uint32_t pixels = header->height * header->width, channels = header->channels;
    for (uint32_t p = 0; p < pixels; p++)
        for (uint32_t c = 0; c < channels; c++)
            write_element(line, header->layout == CRN_HWC ? p * channels + c : c * pixels + p,
                          probabilities[p * channels + c]);
}

/* Logits from all alike to one class beyond doubt. */
static float pick_contrast(crn_random *random)
{
    return (float)pow(10, 3.5 * crn_random_unit(random) - 2);
}

static void make_pixel(scale_line *line, float contrast, float *ret_values)
{
    uint32_t channels = line->view.header.channels;
    double power[CRN_CLASSES_MAX], sum = 0;
    for (uint32_t c = 0; c < channels; c++) {
        double noise = crn_random_unit(&line->random) - 0.5;
        sum += power[c] = exp((double)line->bias[c] + (double)contrast * noise);
    }
    for (uint32_t c = 0; c < channels; c++)
        ret_values[c] = (float)(power[c] / (line->is_softmax ? sum : 1 + power[c]));
}

/* A pixel of the real maps; faint: all probabilities to a power, and their sum 1 again. */
static void make_real_pixel(int32_t y, int32_t x, float power, float *ret_values)
{
    double sum = 0, values[CRN_CLASSES_MAX];
    const float *at = (const float *)frame.data + y * frame.row_stride + x * frame.step;
    for (int32_t c = 0; c < frame.planes; c++)
        sum += values[c] = pow((double)at[c * frame.plane_stride], (double)power);
    for (int32_t c = 0; c < frame.planes; c++)
        ret_values[c] = (float)(values[c] / sum);
}

static void make_view(scale_line *line)
{
    const crn_view_header *header = &line->view.header;
    float contrast = pick_contrast(&line->random);
    float power = (float)crn_random_unit(&line->random) * 1.5f;
    int32_t y0 = 0, x0 = 0;
    if (frame.data) {
        y0 = crn_random_between(&line->random, 0, frame.height - (int32_t)header->height);
        x0 = crn_random_between(&line->random, 0, frame.width - (int32_t)header->width);
    }
    for (uint32_t y = 0; y < header->height; y++) {
        for (uint32_t x = 0; x < header->width; x++) {
            float *to = &probabilities[(y * header->width + x) * header->channels];
            if (line->is_masked && y < header->height / 3)
                memset(to, 0, header->channels * sizeof *to);
            else if (frame.data)
                make_real_pixel(y0 + (int32_t)y, x0 + (int32_t)x, power, to);
            else
                make_pixel(line, contrast, to);
        }
    }
    write_view(line);
}

/* --- lines --- */

static scale_line *open_line(uint64_t seed, bool softmax)
{
    static const crn_type types[] = {CRN_U8, CRN_F16, CRN_F32};
    scale_line *line = calloc(1, sizeof *line);
    assert_non_null(line);
    line->random = (crn_random){seed};
    crn_random *random = &line->random;
    line->is_softmax = softmax;
    crn_classes *classes = &line->config.classes;
    classes->count = frame.data ? frame.planes : crn_random_between(random, 2, CRN_CLASSES_MAX);
    line->has_background = crn_random_once_in(random, 2);
    for (int32_t c = 0; c < classes->count; c++) {
        bool is_background = c == 0 && line->has_background;
        snprintf(classes->name[c], CRN_CLASS_NAME_MAX, is_background ? "background" : "class %d",
                 c);
        classes->level[c] = 0.5;
        line->bias[c] = (float)(is_background ? 3 : -4 * crn_random_unit(random));
    }
    line->is_masked = softmax && line->has_background && crn_random_once_in(random, 4);
    line->quantiser = (quantiser)crn_random_below(random, QUANTISERS);
    line->config.ingest.sum = softmax && crn_random_once_in(random, 4) ? CRN_SUM_ONE : CRN_SUM_AUTO;
    crn_values_init(&line->config, &line->values);
    assert_int_equal(crn_lanes_create(1, &line->lanes), 0);
    line->lane = crn_lanes_find(line->lanes, 0);
    line->view.maps = slot;
    line->view.header =
        (crn_view_header){.height = (uint32_t)crn_random_between(random, 8, 24),
                          .width = (uint32_t)crn_random_between(random, 8, 24),
                          .channels = (uint32_t)classes->count,
                          .type = types[crn_random_below(random, 3)],
                          .layout = crn_random_once_in(random, 2) ? CRN_HWC : CRN_CHW};
    crn_view_header *header = &line->view.header;
    header->payload_bytes =
        header->height * header->width * header->channels * crn_type_bytes(header->type);
    return line;
}

static void close_line(scale_line *line)
{
    crn_lanes_free(&line->lanes);
    free(line);
}

static crn_view_reason judge(scale_line *line)
{
    crn_values_seen seen = crn_values_copier(&line->values, line->view.header.type)(
        slot, sent, line->view.header.payload_bytes);
    crn_values_check(&line->values, &line->lane->values, &line->view, &seen, NULL);
    return line->view.values.reason;
}

static void judge_line(scale_line *line, uint64_t seed)
{
    for (int view = 0; view < LINE_VIEWS; view++) {
        make_view(line);
        crn_view_reason reason = judge(line);
        /* Of sigmoids in u8, a sound fruit may hold nothing above 1. */
        bool may_be_mask = !line->is_softmax && line->view.header.type == CRN_U8;
        if (reason != CRN_REASON_NONE && !(may_be_mask && reason == CRN_REASON_MASK_VALUES))
            fail_msg("CRN_SEED=%llu CRN_CASES=1: view %d of %u classes, %s, quantiser %d: %s",
                     (unsigned long long)seed, view, line->view.header.channels,
                     crn_type_name(line->view.header.type), line->quantiser,
                     crn_view_reason_names[reason]);
    }
}

static void softmax_case(uint64_t seed)
{
    scale_line *line = open_line(seed, true);
    judge_line(line, seed);
    const crn_scale *scale = &line->lane->values.scale;
    if (line->config.ingest.sum == CRN_SUM_AUTO && scale->decision != CRN_SCALE_ONE)
        fail_msg("CRN_SEED=%llu CRN_CASES=1: no softmax was recognised (%u near 1, %u off, %g to "
                 "%g)",
                 (unsigned long long)seed, scale->near_1, scale->off, (double)scale->off_min,
                 (double)scale->off_max);
    close_line(line);
}

static void sigmoid_case(uint64_t seed)
{
    if (frame.data)
        return;
    scale_line *line = open_line(seed, false);
    judge_line(line, seed);
    assert_int_not_equal(line->lane->values.scale.decision, CRN_SCALE_ONE);
    close_line(line);
}

static void sound_lines_never_trip_it(void **state)
{
    (void)state;
    operators_try_cases(40, softmax_case);
}

static void sigmoids_never_trip_it(void **state)
{
    (void)state;
    operators_try_cases(40, sigmoid_case);
}

static void real_maps_never_trip_it(void **state)
{
    (void)state;
    const char *path = getenv("CRN_FRAME");
    if (!path)
        skip();
    crn_error error;
    if (crn_frame_read(path, &frame, &error) < 0)
        fail_msg("%s", error.text);
    operators_try_cases(40, softmax_case);
    free(frame.data);
    frame = (crn_image){0};
}

/* --- what is decided --- */

static void backgrounds_are_known_by_their_names(void **state)
{
    (void)state;
    static const char *const names[] = {"background",     "Background",  "BG",
                                        "__background__", "Hintergrund", "_bg_"};
    static const char *const others[] = {"rot", "ground", "background rot", "bgr",
                                         "",    "_",      "my background",  "other"};
    crn_classes classes = {.count = 2, .name = {"rot"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        strcpy(classes.name[1], names[i]);
        assert_true(crn_scale_has_background(&classes));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        strcpy(classes.name[1], others[i]);
        assert_false(crn_scale_has_background(&classes));
    }
}

static void set_all(float value)
{
    for (size_t i = 0; i < ELEMENTS_MAX; i++)
        probabilities[i] = value;
}

/* A line of f32 maps of two classes. */
static scale_line *open_pair(bool has_background)
{
    scale_line *line = open_line(3, true);
    line->view.header.channels = 2;
    line->config.classes.count = 2;
    line->view.header.type = CRN_F32;
    line->view.header.payload_bytes =
        line->view.header.height * line->view.header.width * 2 * sizeof(float);
    line->config.ingest.sum = CRN_SUM_AUTO;
    line->values.has_background = has_background;
    return line;
}

static crn_view_reason judge_value(scale_line *line, float value)
{
    set_all(value);
    write_view(line);
    return judge(line);
}

/* A dead CNN at the start does not decide, and a reload to another rule forgets. */
static void only_views_that_tell_decide(void **state)
{
    (void)state;
    scale_line *line = open_pair(false);
    const crn_scale *scale = &line->lane->values.scale;
    for (int i = 0; i < 2 * CRN_SCALE_VIEWS; i++)
        assert_int_equal(judge_value(line, 0), CRN_REASON_NONE);
    assert_int_equal(scale->decision, CRN_SCALE_UNDECIDED);
    assert_true(crn_scale_is_unproven(scale));
    for (int i = 0; i < CRN_SCALE_VIEWS; i++)
        assert_int_equal(judge_value(line, 0.5f), CRN_REASON_NONE);
    assert_int_equal(scale->decision, CRN_SCALE_ONE);
    assert_false(crn_scale_is_unproven(scale));
    assert_int_equal(judge_value(line, 0), CRN_REASON_ALL_ZERO);
    assert_int_equal(judge_value(line, 0.2f), CRN_REASON_WRONG_SUM);
    assert_int_equal(judge_value(line, 0.5f / 255), CRN_REASON_DIVIDED);
    line->config.ingest.sum = CRN_SUM_NONE;
    assert_int_equal(judge_value(line, 0), CRN_REASON_NONE);
    assert_int_equal(scale->decision, CRN_SCALE_UNDECIDED);
    line->config.ingest.sum = CRN_SUM_AUTO;
    assert_int_equal(judge_value(line, 0), CRN_REASON_NONE);
    close_line(line);
}

/* A sender that restarts with the softmax divided: the lane's decision stands. One view whose sums
 * are off, and that has a large value, is enough to decide for sigmoids. */
static void one_view_of_sigmoids_is_enough(void **state)
{
    (void)state;
    crn_log_capture caught;
    scale_line *line = open_pair(true);
    const crn_scale *scale = &line->lane->values.scale;
    assert_int_equal(judge_value(line, 0.9f), CRN_REASON_NONE);
    assert_int_equal(judge_value(line, 0), CRN_REASON_NONE);
    crn_log_capture_start(&caught);
    for (int i = 1; i < CRN_SCALE_VIEWS; i++)
        judge_value(line, 0.5f);
    const char *told = crn_log_capture_stop(&caught);
    if (!strstr(told, "in 1 of 64 views the values of a pixel do not sum to 1 (1.8 to 1.8)"))
        fail_msg("%s", told);
    assert_int_equal(scale->decision, CRN_SCALE_NONE);
    close_line(line);
}

/* All classes alike is a softmax, and tells nothing. */
static void a_cnn_that_knows_nothing_is_unproven(void **state)
{
    (void)state;
    scale_line *line = open_line(5, true);
    line->config.ingest.sum = CRN_SUM_ONE;
    line->view.header.type = CRN_F32;
    line->view.header.payload_bytes =
        line->view.header.height * line->view.header.width * line->view.header.channels * 4;
    for (int i = 0; i < CRN_SCALE_VIEWS; i++) {
        assert_false(crn_scale_is_unproven(&line->lane->values.scale));
        assert_int_equal(judge_value(line, 1 / (float)line->view.header.channels), CRN_REASON_NONE);
    }
    assert_true(crn_lane_is_unproven(line->lane, CRN_LANE_SILENT_NS - 1));
    assert_false(crn_lane_is_unproven(line->lane, CRN_LANE_SILENT_NS));
    close_line(line);
}

/* The hour of ten fruits of four views a second, of which one in 200 has a defect. */
static void a_cnn_that_found_a_defect_stays_proven_until_it_restarts(void **state)
{
    (void)state;
    enum { FRUITS = 36000, VIEWS = 4, DEFECT_EACH = 200 };
    scale_line *line = open_pair(false);
    const crn_scale *scale = &line->lane->values.scale;
    line->config.ingest.sum = CRN_SUM_NONE;
    line->view.header.epoch = 1;
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++) {
        bool is_first = fruit % DEFECT_EACH == 0;
        if (fruit % DEFECT_EACH < 2) {
            set_all(is_first ? 0.9f : 0.1f);
            write_view(line);
        }
        for (int view = 0; view < VIEWS; view++) {
            line->view.header.sequence++;
            crn_lane_count(line->lane, &line->view.header, (int64_t)fruit);
            judge(line);
            assert_false(crn_scale_is_unproven(scale));
        }
    }
    line->view.header.epoch = 2; /* another CNN, perhaps */
    for (int view = 0; view < 2 * CRN_SCALE_VIEWS; view++) {
        assert_int_equal(crn_scale_is_unproven(scale), view >= CRN_SCALE_VIEWS);
        line->view.header.sequence++;
        crn_lane_count(line->lane, &line->view.header, FRUITS);
        judge(line);
    }
    line->view.header.epoch = 3; /* nor does this one show that it works */
    crn_lane_count(line->lane, &line->view.header, FRUITS);
    assert_true(crn_scale_is_unproven(scale));
    assert_int_equal(judge_value(line, 0.9f), CRN_REASON_NONE);
    assert_false(crn_scale_is_unproven(scale));
    close_line(line);
}

static void small_u8_is_judged_only_if_it_has_to_sum_to_one(void **state)
{
    (void)state;
    scale_line *line = open_pair(true);
    line->view.header.type = CRN_U8;
    line->view.header.payload_bytes /= sizeof(float);
    line->config.ingest.values = CRN_VALUES_SMALL_U8;
    assert_int_equal(judge_value(line, 0), CRN_REASON_NONE);
    assert_int_equal(judge_value(line, 1 / 255.0f), CRN_REASON_NONE);
    line->config.ingest.sum = CRN_SUM_ONE;
    assert_int_equal(judge_value(line, 0), CRN_REASON_ALL_ZERO);
    assert_int_equal(judge_value(line, 1 / 255.0f), CRN_REASON_LABELS);
    line->config.ingest.values = CRN_VALUES_TRUST;
    assert_int_equal(judge_value(line, 0), CRN_REASON_NONE);
    close_line(line);
}

static int set_up(void **state)
{
    (void)state;
    crn_log_set_level(CRN_LOG_INFO);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_lines_never_trip_it),
        cmocka_unit_test(sigmoids_never_trip_it),
        cmocka_unit_test(real_maps_never_trip_it),
        cmocka_unit_test(backgrounds_are_known_by_their_names),
        cmocka_unit_test_setup(only_views_that_tell_decide, set_up),
        cmocka_unit_test_setup(one_view_of_sigmoids_is_enough, set_up),
        cmocka_unit_test(a_cnn_that_knows_nothing_is_unproven),
        cmocka_unit_test(a_cnn_that_found_a_defect_stays_proven_until_it_restarts),
        cmocka_unit_test(small_u8_is_judged_only_if_it_has_to_sum_to_one),
    };
    crn_log_set_level(CRN_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
