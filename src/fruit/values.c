#include "src/fruit/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/base/fnv.h"

#define TEXT_BYTES 256

void crn_values_init(const crn_config *config, crn_values *ret_values)
{
    *ret_values = (crn_values){.config = config, .kernels = crn_values_kernels_best()};
}

static bool copy_unchecked(void *restrict to, const void *restrict from, size_t bytes)
{
    if (to && bytes > 0)
        memcpy(to, from, bytes);
    return false;
}

crn_values_copy_fn *crn_values_copier(const crn_values *values, crn_type type)
{
    int32_t rule = values->config->ingest.values;
    if (rule == CRN_VALUES_TRUST || (rule == CRN_VALUES_SMALL_U8 && type == CRN_U8))
        return copy_unchecked;
    return type == CRN_U8    ? values->kernels->copy_u8
           : type == CRN_F16 ? values->kernels->copy_f16
                             : values->kernels->copy_f32;
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
        snprintf(
            text, TEXT_BYTES,
            "not probabilities (%" PRIu64 " values; the class has %.4g to %.4g): %s%s",
            fault->count, (double)count->min, (double)count->max,
            are_bytes ? "divide by 255" : "is the CNN's last layer, softmax or sigmoid, missing?",
            may_be_bytes && !are_bytes ? " (only what is 0 to 255 is to be divided by 255)" : "");
}

static void log_fault(crn_values *values, const crn_view *view, const crn_values_count *count)
{
    const crn_value_fault *fault = &view->values;
    uint64_t held;
    if (!crn_log_gate_open(&values->fault_gate[fault->reason], crn_now_ns(), &held))
        return;
    char text[TEXT_BYTES], of_class[CRN_CLASS_NAME_MAX + 16] = "", more[CRN_LOG_HELD_BYTES];
    describe(fault, count, text);
    if (fault->class_index >= 0)
        snprintf(of_class, sizeof of_class, ", class '%s'",
                 values->config->classes.name[fault->class_index]);
    const crn_view_header *header = &view->header;
    crn_log(CRN_LOG_WARNING,
            "lane %" PRIu32 ", fruit %" PRIu64 ", view %u%s: %s: %s; its fruit is at best "
            "partial%s",
            header->lane, header->fruit, (unsigned)header->view, of_class,
            crn_view_reason_names[fault->reason], text, crn_log_held(held, more));
}

/* The quick check fired: determines what is wrong, if it concerns a class with a level. */
static void classify_values(crn_values *values, crn_view *view)
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
    values->stats.faulty[fault->reason]++;
    log_fault(values, view, &count);
}

/* --- a CNN that hangs --- */

/* Returns an element's bits, and whether they encode neither 0 nor 1 as a probability. */
static uint32_t element(const unsigned char *maps, crn_type type, size_t at, bool *ret_between)
{
    uint32_t bits = 0, one = 255, sign = 0;
    size_t bytes = type == CRN_U8 ? 1 : type == CRN_F16 ? 2 : sizeof bits; /* maps have no other */
    memcpy(&bits, maps + at * bytes, bytes); /* little-endian, as on the wire */
    if (type == CRN_F16) {
        one = 0x3c00;
        sign = 0x8000;
    } else if (type == CRN_F32) {
        one = 0x3f800000;
        sign = 0x80000000;
    }
    *ret_between = (bits & ~sign) != 0 && bits != one;
    return bits;
}

/* FNV-1a hash of the sample; 0 if all of it is 0 or 1. */
static uint64_t sample_view(const crn_view *view)
{
    const crn_view_header *header = &view->header;
    size_t pixels = pixels_of(header), channels = header->channels;
    uint64_t hash = CRN_FNV1A_START;
    bool any_between = false;
    for (size_t i = 0; i < CRN_VALUES_SAMPLES; i++) {
        size_t pixel = (2 * i + 1) * pixels / (2 * CRN_VALUES_SAMPLES), channel = i % channels;
        size_t at =
            header->layout == CRN_HWC ? pixel * channels + channel : channel * pixels + pixel;
        bool between;
        uint32_t bits = element(view->maps, header->type, at, &between);
        hash = crn_fnv1a(hash, &bits, sizeof bits);
        any_between |= between;
    }
    return any_between ? hash | 1 : 0;
}

static void watch_lane(crn_values *values, crn_lane *lane, const crn_view *view)
{
    uint64_t in_a_row = crn_lane_count_identical(lane, sample_view(view));
    if (in_a_row < CRN_VALUES_FROZEN_VIEWS)
        return;
    values->stats.frozen++;
    uint64_t held;
    if (!crn_log_gate_open(&values->frozen_gate, crn_now_ns(), &held))
        return;
    char more[CRN_LOG_HELD_BYTES];
    crn_log(CRN_LOG_WARNING,
            "lane %" PRIu32 ", fruit %" PRIu64 ", view %u: %" PRIu64
            " views in a row hold the same values (%d were compared): does the CNN hang, or is an "
            "old buffer sent?%s",
            view->header.lane, view->header.fruit, (unsigned)view->header.view, in_a_row,
            CRN_VALUES_SAMPLES, crn_log_held(held, more));
}

void crn_values_check(crn_values *values, crn_lane *lane, crn_view *view, bool suspect)
{
    view->values = (crn_value_fault){.reason = CRN_REASON_NONE, .class_index = -1};
    if (values->config->ingest.values == CRN_VALUES_TRUST)
        return;
    if (suspect)
        classify_values(values, view);
    watch_lane(values, lane, view);
}
