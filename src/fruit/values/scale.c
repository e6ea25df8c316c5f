#include "src/fruit/values/scale.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "stages/image.h"

#define BYTE 255.0f /* of a u8 value: probability 1 */

/* Margins of a sum, in shares of 1: that a softmax keeps, and that a view may not exceed. Both
 * grow by what a quantiser to u8 leaves out per class. */
#define NEAR_MARGIN   0.01f
#define OFF_MARGIN    0.02f
#define OFF_LIMIT     0.4f  /* sums of 127 of 255 and of 100 are off, however many classes */
#define EXACT         0.02f /* relative: of 1/255, of a constant sum */
#define CONSTANT_MIN  0.1f  /* a sum below says nothing if it is constant */
#define LABELS_SURELY 8     /* u8 values up to this, or up to the number of classes, are labels */

bool crn_scale_has_background(const crn_classes *classes)
{
    static const char *const names[] = {"background", "bg", "hintergrund"};
    for (int32_t c = 0; c < classes->count; c++) {
        const char *name = classes->name[c] + strspn(classes->name[c], "_");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t length = strlen(names[i]);
            if (strncasecmp(name, names[i], length) == 0 &&
                name[length + strspn(name + length, "_")] == '\0')
                return true;
        }
    }
    return false;
}

/* --- sums --- */

float crn_scale_sum_of(const unsigned char *at, crn_type type, size_t channels, size_t step)
{
    float sum = 0;
    if (type == CRN_U8) {
        uint32_t bytes = 0;
        for (size_t c = 0; c < channels; c++)
            bytes += at[c * step];
        return (float)bytes / BYTE;
    }
    for (size_t c = 0; c < channels; c++) {
        float value;
        uint16_t half;
        if (type == CRN_F16) {
            memcpy(&half, at + c * step, sizeof half);
            value = crn_f16_to_f32(half);
        } else {
            memcpy(&value, at + c * step, sizeof value);
        }
        sum += value;
    }
    return sum;
}

static float margin(float of_one, const crn_view_header *header, float per_class)
{
    return fminf(of_one + per_class * (float)header->channels / BYTE, OFF_LIMIT);
}

crn_scale_sums crn_scale_count(const crn_view_header *header, const float sums[CRN_SCALE_PIXELS])
{
    float near = margin(NEAR_MARGIN, header, 1), off = margin(OFF_MARGIN, header, 2);
    crn_scale_sums s = {.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < CRN_SCALE_PIXELS; i++) {
        float sum = sums[i];
        if (sum == 0)
            continue;
        s.pixels++;
        s.not_near += fabsf(sum - 1) > near;
        s.off += fabsf(sum - 1) > off;
        s.min = fminf(s.min, sum);
        s.max = fmaxf(s.max, sum);
    }
    return s;
}

/* --- what is wrong --- */

static bool is_about(float value, float expected)
{
    return fabsf(value - expected) <= EXACT * expected;
}

static bool is_u8(const crn_scale_view *view)
{
    return view->header->type == CRN_U8;
}

/* u8: true if the sums are `bytes`, less what a quantiser leaves out. */
static bool is_sum(const crn_scale_view *view, const crn_scale_sums *s, float bytes)
{
    float left_out = (float)view->header->channels;
    return s->min * BYTE >= bytes - left_out && s->max * BYTE <= bytes + left_out;
}

/* The likely cause of sums that are off. */
static crn_view_reason find_cause(const crn_scale_view *view, const crn_scale_sums *s)
{
    if (view->max == 0)
        return CRN_REASON_ALL_ZERO;
    if (is_u8(view))
        return is_sum(view, s, 100) && view->max <= 100 ? CRN_REASON_PER_CENT
               : view->max < CRN_CLASSES_MAX            ? CRN_REASON_LABELS
                                                        : CRN_REASON_WRONG_SUM;
    bool divided = is_about(s->min, 1 / BYTE) && is_about(s->max, 1 / BYTE);
    return divided || view->max <= (1 + EXACT) / BYTE ? CRN_REASON_DIVIDED : CRN_REASON_WRONG_SUM;
}

/* Sums of any scale that are as equal as those of a softmax: sigmoids' are not. */
static bool is_constant(const crn_scale_view *view, const crn_scale_sums *s)
{
    if (s->pixels < CRN_SCALE_PIXELS / 2 || s->min < CONSTANT_MIN)
        return false;
    float left_out = is_u8(view) ? (float)view->header->channels / BYTE : 0;
    return s->max - s->min <= EXACT * s->max + left_out;
}

/* True if the view looks like one of the known mistakes, and like no sound view of sigmoids. */
static bool is_known(const crn_scale_view *view, const crn_scale_sums *s)
{
    float labels = (float)view->header->channels;
    if (is_u8(view) && view->max <= (labels > LABELS_SURELY ? labels : LABELS_SURELY))
        return true;
    return (!is_u8(view) && view->max <= (1 + EXACT) / BYTE) || is_constant(view, s);
}

/* --- what a lane tells --- */

static void decide(crn_scale *lane, const crn_scale_sums *s, bool has_background,
                   crn_scale_finding *finding)
{
    bool masked = s->pixels < CRN_SCALE_PIXELS;
    if (s->not_near > 0 && finding->greatest >= CRN_SCALE_PROVEN) {
        lane->off_min = lane->off == 0 || s->min < lane->off_min ? s->min : lane->off_min;
        lane->off_max = lane->off == 0 || s->max > lane->off_max ? s->max : lane->off_max;
        lane->off++;
    } else if (s->not_near == 0 && 2 * s->pixels >= CRN_SCALE_PIXELS &&
               (!masked || has_background)) {
        lane->near_1++;
    }
    if (lane->near_1 + lane->off < CRN_SCALE_VIEWS)
        return;
    lane->decision = lane->off > 0 ? CRN_SCALE_NONE : CRN_SCALE_ONE;
    finding->decided = true;
}

static void judge_sums(crn_scale *lane, crn_sum_rule rule, bool has_background,
                       const crn_scale_view *view, crn_scale_finding *finding)
{
    bool is_certain = rule == CRN_SUM_ONE || lane->decision == CRN_SCALE_ONE;
    bool is_presumed = !is_certain && has_background && lane->off == 0;
    crn_scale_sums s = *view->sums;
    finding->has_sum = is_certain || is_presumed;
    finding->min = s.pixels > 0 ? s.min : 0;
    finding->max = s.pixels > 0 ? s.max : 0;
    bool is_off = view->max == 0 || 2 * s.off > s.pixels;
    bool is_judged = is_certain || (is_presumed && finding->greatest < CRN_SCALE_PROVEN &&
                                    (view->max == 0 || is_known(view, &s)));
    if (is_off && is_judged) {
        finding->reason = find_cause(view, &s);
        finding->pixels = view->max == 0 ? CRN_SCALE_PIXELS : s.off;
    } else if (!is_certain) {
        decide(lane, &s, has_background, finding);
    }
}

crn_scale_finding crn_scale_judge(crn_scale *lane, crn_sum_rule rule, bool has_background,
                                  const crn_scale_view *view)
{
    crn_scale_finding finding = {.greatest = is_u8(view) ? view->max / BYTE : view->max};
    if (rule != CRN_SUM_AUTO) /* back at auto, it decides again */
        *lane = (crn_scale){.proven = lane->proven, .unproven = lane->unproven};
    bool is_free = rule == CRN_SUM_NONE || lane->decision == CRN_SCALE_NONE ||
                   (rule == CRN_SUM_AUTO && view->header->channels < 2);
    if (!is_free)
        judge_sums(lane, rule, has_background, view, &finding);
    if (finding.reason == CRN_REASON_NONE) {
        lane->proven |= finding.greatest >= CRN_SCALE_PROVEN;
        lane->unproven = lane->proven ? 0 : lane->unproven + 1;
    }
    return finding;
}
