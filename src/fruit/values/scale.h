/*
 * Whether a view's values have the scale of probabilities: a CNN that is dead, or whose maps are
 * divided by 255, labels or per cent, sends values that are all valid, and in which no defect is
 * ever found.
 *
 * After a softmax the values of a pixel sum to 1 over all classes, however faint the defects; so
 * the sums of CRN_SCALE_PIXELS pixels, spread over the view, tell. A view is on scale if the sums
 * of at least half of the pixels that are not all 0 (a sender may mask some) are near 1, and not
 * all of its values are 0. Near is a margin for f16 and for quantisers that round or truncate each
 * class: the sum of u8 values lacks up to 1 per class.
 *
 * After sigmoids they sum to anything. ingest.sum: auto therefore decides for each lane, by the
 * first CRN_SCALE_VIEWS views that tell: after a softmax the sums of all their pixels are near 1.
 * Until then, where a class is named as a background is, a softmax is presumed, unless a value of
 * at least CRN_SCALE_PROVEN stood in a view whose sums are off: a view is then off scale if it
 * looks like one of the known mistakes: all 0, divided by 255, labels, or a constant sum.
 *
 * Where nothing has to sum to 1, an all-zero map is a sound fruit. There, and for a softmax that
 * tells nothing (all classes alike), a lane is unproven while no value of at least CRN_SCALE_PROVEN
 * has come since a sender of it began, in CRN_SCALE_VIEWS views or more: a condition, which changes
 * no verdict. Proven once it stays so until the next sender begins, as sound fruit may last long.
 *
 * No clock, no allocation, no log.
 */
#ifndef CRN_SRC_FRUIT_VALUES_SCALE_H
#define CRN_SRC_FRUIT_VALUES_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "stages/config/config.h"
#include "src/counts/counts.h"
#include "src/ingest/ticket.h"
#include "src/formats/view/wire.h"

CRN_C_BEGIN

#define CRN_SCALE_PIXELS CRN_VALUES_PROBES
#define CRN_SCALE_VIEWS  64
#define CRN_SCALE_PROVEN 0.5f

/* What auto decided for a lane. */
typedef enum crn_scale_decision {
    CRN_SCALE_UNDECIDED,
    CRN_SCALE_ONE,  /* the values of a pixel sum to 1 */
    CRN_SCALE_NONE, /* to anything */
} crn_scale_decision;

/* What a lane's views told so far; all 0 at first. */
typedef struct crn_scale {
    uint8_t decision;       /* crn_scale_decision */
    uint8_t near_1, off;    /* while undecided: views that told the one or the other */
    float off_min, off_max; /* sums of these last */
    bool proven;            /* a value of at least CRN_SCALE_PROVEN came, */
    uint64_t unproven;      /* or so many views without one; since a sender began */
} crn_scale;

/* Of a lane, or of all. */
typedef struct crn_values_stats {
    uint64_t faulty[CRN_REASONS]; /* views, by the kind of invalid values */
    CRN_VALUES_COUNTS(CRN_COUNT_MEMBER)
} crn_values_stats;

/* What the checks of values keep of a lane; all 0 at first. */
typedef struct crn_values_lane {
    crn_scale scale;
    crn_values_stats stats;
    uint64_t sample, alike; /* hash of the last view's sample; consecutive views with it */
} crn_values_lane;

/* Sums of the pixels sampled. */
typedef struct crn_scale_sums {
    uint32_t pixels;   /* not all 0 */
    uint32_t not_near; /* of these */
    uint32_t off;
    float min, max;
} crn_scale_sums;

/* What is looked at of a view. */
typedef struct crn_scale_view {
    const crn_view_header *header;
    const crn_scale_sums *sums;
    float max; /* of all values, u8 as 0 to 255 */
} crn_scale_view;

/* What a view told. */
typedef struct crn_scale_finding {
    crn_view_reason reason; /* CRN_REASON_NONE: on scale; else from ALL_ZERO on */
    uint32_t pixels;        /* of those sampled: whose sums are off */
    float min, max;         /* sums of those sampled that are not all 0; as probabilities */
    float greatest;         /* value of the view; as a probability */
    bool has_sum;           /* its values have to sum to 1 */
    bool decided;           /* with this view auto decided */
} crn_scale_finding;

/* True if a class is named as that of a CNN's background is, in any case: "background", "bg" or
 * "hintergrund"; underscores around it are ignored. */
bool crn_scale_has_background(const crn_classes *classes);

/* A pixel's sum as of crn_values_probe: `at` is its first value, `step` the bytes to the next. */
float crn_scale_sum_of(const unsigned char *at, crn_type type, size_t channels, size_t step);

/* Counts the sums of the pixels sampled, of any thread. */
crn_scale_sums crn_scale_count(const crn_view_header *header, const float sums[CRN_SCALE_PIXELS]);

/* Judges a view, all of whose values are valid, by what its lane told before. */
crn_scale_finding crn_scale_judge(crn_scale *lane, crn_sum_rule rule, bool has_background,
                                  const crn_scale_view *view);

/* A sender of the lane began, perhaps another CNN. */
static inline void crn_scale_doubt(crn_scale *lane)
{
    if (lane->proven)
        lane->unproven = 0;
    lane->proven = false;
}

/* True if the lane is unproven. */
static inline bool crn_scale_is_unproven(const crn_scale *lane)
{
    return lane->unproven >= CRN_SCALE_VIEWS;
}

CRN_C_END

#endif
