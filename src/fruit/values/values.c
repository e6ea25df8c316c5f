#include "src/fruit/values/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/base/fnv.h"

#define TEXT_BYTES 256

void crn_values_init(const crn_config *config, crn_values *ret_values)
{
    *ret_values = (crn_values){.config = config,
                               .kernels = crn_values_kernels_best(),
                               .has_background = crn_scale_has_background(&config->classes)};
}

static crn_values_seen copy_unchecked(void *restrict to, const void *restrict from, size_t bytes)
{
    if (to && bytes > 0)
        memcpy(to, from, bytes);
    return (crn_values_seen){0};
}

crn_values_copy_fn *crn_values_copier(const crn_values *values, crn_type type)
{
    if (values->config->ingest.values == CRN_VALUES_TRUST)
        return copy_unchecked;
    return crn_values_copy_of(values->kernels, type);
}

/* --- invalid values --------------------------------------------------------------------------- */

static size_t pixels_of(const crn_view_header *header)
{
    return (size_t)header->height * header->width;
}

static uint64_t count_ones(const unsigned char *bytes, size_t count)
{
    uint64_t ones = 0;
    for (size_t i = 0; i < count; i++)
        ones += bytes[i] == 1;
    return ones;
}

/* True if the class has a level and holds values that are not probabilities. */
static bool is_faulty(const crn_classes *classes, int32_t c, const crn_values_count *count)
{
    return !isnan(classes->level[c]) && (count->not_finite > 0 || count->out_of_range > 0);
}

/* Index of the first class with a level and invalid values; -1 if there is none. */
static int32_t find_class(const crn_values *values, const crn_view *view,
                          crn_values_count *ret_count)
{
    const crn_view_header *header = &view->header;
    const crn_classes *classes = &values->config->classes;
    int32_t channels = (int32_t)header->channels;
    size_t pixels = pixels_of(header);
    if (header->layout == CRN_HWC) {
        crn_values_count counts[CRN_CLASSES_MAX];
        values->kernels->count(view->maps, header->type, pixels, channels, counts);
        for (int32_t c = 0; c < channels; c++) {
            *ret_count = counts[c];
            if (is_faulty(classes, c, ret_count))
                return c;
        }
        return -1;
    }
    size_t plane_bytes = pixels * crn_type_bytes(header->type);
    for (int32_t c = 0; c < channels; c++) {
        if (isnan(classes->level[c]))
            continue;
        values->kernels->count(view->maps + (size_t)c * plane_bytes, header->type, pixels, 1,
                               ret_count);
        if (is_faulty(classes, c, ret_count))
            return c;
    }
    return -1;
}

/* Describes the problem and its likely remedy. */
static void describe(const crn_value_fault *fault, const crn_values_count *count,
                     char text[TEXT_BYTES])
{
    /* Logits may all be positive. Divided by 255 they would pass the check, and show no defect. */
    bool may_be_bytes = count->min >= 0 && count->max > 2 && count->max <= 255;
    bool are_bytes = may_be_bytes && count->max > 100;
    if (fault->reason == CRN_REASON_MASK_VALUES)
        snprintf(text, TEXT_BYTES,
                 "a mask of zeros and ones: 255 is certainty, so multiply it by 255 (or set "
                 "ingest.values: small_u8)");
    else if (fault->reason == CRN_REASON_NOT_FINITE)
        snprintf(text, TEXT_BYTES,
                 "NaN or infinity (%" PRIu64 " values): look at the CNN's weights and input",
                 fault->count);
    else
        snprintf(text, TEXT_BYTES,
                 "not probabilities (%" PRIu64 " values; the class has %.4g to %.4g): %s%s",
                 fault->count, (double)count->min, (double)count->max,
                 are_bytes ? "divide by 255"
                           : "is the CNN's last layer, softmax or sigmoid, missing?",
                 !may_be_bytes || are_bytes ? ""
                 : count->max > 50          ? " (only what is per cent is to be divided by 100)"
                                            : " (only what is 0 to 255 is to be divided by 255)");
}

/* True if a line of that reason may be logged now. */
static bool may_log(crn_values *values, crn_view_reason reason)
{
    return crn_log_gate_open(&values->fault_gate[reason], crn_now_ns());
}

static void log_fault(crn_values *values, const crn_view *view, const char *text)
{
    const crn_value_fault *fault = &view->values;
    char of_class[CRN_CLASS_NAME_MAX + 16] = "";
    if (fault->class_index >= 0)
        snprintf(of_class, sizeof of_class, ", class '%s'",
                 values->config->classes.name[fault->class_index]);
    const crn_view_header *header = &view->header;
    crn_log_through(&values->fault_gate[fault->reason], CRN_LOG_WARNING,
                    "lane %" PRIu32 ", fruit %" PRIu64 ", view %u%s: %s: %s; its fruit is at best "
                    "partial",
                    header->lane, header->fruit, (unsigned)header->view, of_class,
                    crn_view_reason_names[fault->reason], text);
}

static void count_fault(crn_values *values, crn_values_lane *lane, crn_view_reason reason)
{
    values->stats.faulty[reason]++;
    lane->stats.faulty[reason]++;
}

/* The quick check fired: determines what is wrong, if it concerns a class with a level. */
static void classify_values(crn_values *values, crn_values_lane *lane, crn_view *view)
{
    crn_values_count count = {0};
    crn_value_fault *fault = &view->values;
    if (view->header.type == CRN_U8) {
        fault->reason = CRN_REASON_MASK_VALUES;
        fault->count = count_ones(view->maps, view->header.payload_bytes);
    } else {
        fault->class_index = find_class(values, view, &count);
        if (fault->class_index < 0)
            return;
        fault->reason = count.not_finite > 0 ? CRN_REASON_NOT_FINITE : CRN_REASON_OUT_OF_RANGE;
        fault->count = count.not_finite > 0 ? count.not_finite : count.out_of_range;
    }
    count_fault(values, lane, fault->reason);
    char text[TEXT_BYTES];
    if (!may_log(values, fault->reason))
        return;
    describe(fault, &count, text);
    log_fault(values, view, text);
}

/* --- values of another scale --- */

/* Describes the problem and its likely remedy. */
static void describe_scale(const crn_scale_finding *found, crn_type type, char text[TEXT_BYTES])
{
    float one = type == CRN_U8 ? 255 : 1;
    int used =
        snprintf(text, TEXT_BYTES,
                 "the values of a pixel must sum to %.0f over the classes and sum to %.4g to "
                 "%.4g: ",
                 (double)one, (double)(found->min * one), (double)(found->max * one));
    const char *cures[CRN_REASONS] = {
        [CRN_REASON_DIVIDED] = "divided by 255 once too often",
        [CRN_REASON_LABELS] = "labels, or a mask; 255 is certainty, and each class has a channel",
        [CRN_REASON_PER_CENT] = "per cent; 255 is certainty, so multiply them by 2.55",
        [CRN_REASON_WRONG_SUM] = "is the softmax missing, or a channel, or is another number than "
                                 "1 (u8: 255) certainty? After sigmoids: ingest.sum: none",
    };
    if (found->reason == CRN_REASON_ALL_ZERO)
        snprintf(
            text, TEXT_BYTES,
            "all values are 0, the background's too: the CNN is dead, or sends an empty buffer "
            "(where a sender may blank views: ingest.sum: none)");
    else
        snprintf(text + used, TEXT_BYTES - (size_t)used, "%s",
                 cures[found->reason] ? cures[found->reason]
                                      : crn_view_reason_hints[found->reason]);
}

static void log_decision(crn_values *values, uint32_t lane, const crn_scale *scale)
{
    int64_t now_ns = crn_now_ns();
    if (scale->decision == CRN_SCALE_ONE)
        crn_log_gated(&values->decision_gate, now_ns, CRN_LOG_INFO,
                      "lane %" PRIu32
                      ": ingest.sum: auto: in %d views the values of each pixel sum to "
                      "1: a fruit with a view whose values do not is from now on partial",
                      lane, CRN_SCALE_VIEWS);
    else
        crn_log_gated(
            &values->decision_gate, now_ns, CRN_LOG_INFO,
            "lane %" PRIu32 ": ingest.sum: auto: in %u of %d views the values of a pixel do not "
            "sum to 1 (%.3g to %.3g): after sigmoids, so sums tell nothing; after a softmax, "
            "set ingest.sum: 1",
            lane, (unsigned)scale->off, CRN_SCALE_VIEWS, (double)scale->off_min,
            (double)scale->off_max);
}

static void log_unproven(crn_values *values, uint32_t lane)
{
    crn_log_gated(
        &values->unproven_gate, crn_now_ns(), CRN_LOG_WARNING,
        "lane %" PRIu32 ": %d views in a row have no value of %g or more (u8: 128): nothing "
        "shows that the CNN works; is it dead, or are its maps divided by 255, labels or per "
        "cent? Sound fruit only looks the same where no class is a background",
        lane, CRN_SCALE_VIEWS, (double)CRN_SCALE_PROVEN);
}

/* Returns true if the view is all 0 and may not be. */
static bool check_scale(crn_values *values, crn_values_lane *of_lane, crn_view *view, float max,
                        const crn_scale_sums *sums)
{
    crn_scale *scale = &of_lane->scale;
    const crn_scale_view scale_view = {&view->header, sums, max};
    uint32_t lane = view->header.lane;
    crn_scale_finding found = crn_scale_judge(scale, (crn_sum_rule)values->config->ingest.sum,
                                              values->has_background, &scale_view);
    if (found.decided)
        log_decision(values, lane, scale);
    if (found.reason == CRN_REASON_NONE) {
        if (scale->unproven == CRN_SCALE_VIEWS)
            log_unproven(values, lane);
        return false;
    }
    view->values.reason = found.reason;
    view->values.count = found.pixels;
    count_fault(values, of_lane, found.reason);
    if (may_log(values, found.reason)) {
        char text[TEXT_BYTES];
        describe_scale(&found, view->header.type, text);
        log_fault(values, view, text);
    }
    return found.reason == CRN_REASON_ALL_ZERO;
}

/* --- a CNN that hangs --- */

/* Whether an element's bits encode neither 0 nor 1 as a probability. */
static bool is_between(crn_type type, uint32_t bits)
{
    uint32_t one = 255, sign = 0;
    if (type == CRN_F16) {
        one = 0x3c00;
        sign = 0x8000;
    } else if (type == CRN_F32) {
        one = 0x3f800000;
        sign = 0x80000000;
    }
    return (bits & ~sign) != 0 && bits != one;
}

void crn_values_probe_maps(const crn_view_header *header, const unsigned char *maps,
                           crn_values_probe *ret_probe)
{
    size_t pixels = pixels_of(header), channels = header->channels;
    size_t bytes = crn_type_bytes(header->type);
    size_t stride = (header->layout == CRN_HWC ? channels : 1) * bytes;
    size_t step = (header->layout == CRN_HWC ? 1 : pixels) * bytes;
    *ret_probe = (crn_values_probe){.bits = {0}};
    for (size_t i = 0; i < CRN_VALUES_PROBES; i++) {
        const unsigned char *at = maps + (2 * i + 1) * pixels / (2 * CRN_VALUES_PROBES) * stride;
        /* Little-endian, as on the wire. */
        memcpy(&ret_probe->bits[i], at + i % channels * step, bytes);
        ret_probe->sums[i] = crn_scale_sum_of(at, header->type, channels, step);
    }
}

crn_values_sample crn_values_sample_of(const crn_view_header *header, const crn_values_probe *probe)
{
    crn_values_sample sample = {.sums = crn_scale_count(header, probe->sums),
                                .hash = CRN_FNV1A_START};
    for (size_t i = 0; i < CRN_VALUES_PROBES; i++) {
        sample.hash = crn_fnv1a(sample.hash, &probe->bits[i], sizeof probe->bits[i]);
        sample.is_between |= is_between(header->type, probe->bits[i]);
    }
    return sample;
}

crn_values_sample crn_values_take_sample(const crn_view_header *header, const unsigned char *maps)
{
    crn_values_probe probe;
    crn_values_probe_maps(header, maps, &probe);
    return crn_values_sample_of(header, &probe);
}

/* A sample of zeros and ones alone tells something only of a view that is_dead. */
static void watch_lane(crn_values *values, crn_values_lane *lane, const crn_view *view,
                       const crn_values_sample *taken, bool is_dead)
{
    uint64_t sample = taken->is_between || is_dead ? taken->hash | 1 : 0;
    lane->alike = sample == 0 ? 0 : sample == lane->sample ? lane->alike + 1 : 1;
    lane->sample = sample;
    if (lane->alike < CRN_VALUES_FROZEN_VIEWS)
        return;
    values->stats.frozen++;
    lane->stats.frozen++;
    crn_log_gated(
        &values->frozen_gate, crn_now_ns(), CRN_LOG_WARNING,
        "lane %" PRIu32 ", fruit %" PRIu64 ", view %u: %" PRIu64
        " views in a row hold the same values (%d were compared): does the CNN hang, or is an "
        "old buffer sent?",
        view->header.lane, view->header.fruit, (unsigned)view->header.view, lane->alike,
        CRN_VALUES_SAMPLES);
}

void crn_values_check(crn_values *values, crn_values_lane *lane, crn_view *view,
                      const crn_values_seen *seen, const crn_values_sample *sample)
{
    const crn_config *config = values->config;
    view->values = (crn_value_fault){.reason = CRN_REASON_NONE, .class_index = -1};
    if (config->ingest.values == CRN_VALUES_TRUST)
        return;
    crn_values_sample own;
    if (!sample) {
        own = crn_values_take_sample(&view->header, view->maps);
        sample = &own;
    }
    bool may_be_small = config->ingest.values == CRN_VALUES_SMALL_U8 && view->header.type == CRN_U8;
    bool is_dead = false;
    if (seen->suspect && !may_be_small)
        classify_values(values, lane, view);
    else if (!may_be_small || config->ingest.sum == CRN_SUM_ONE)
        is_dead = check_scale(values, lane, view, seen->max, &sample->sums);
    watch_lane(values, lane, view, sample, is_dead);
}
