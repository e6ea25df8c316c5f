/*
 * Why a view was not judged, or not completely. Usable from C and C++.
 *
 * A reason is a row: its constant; its name in verdicts, in counters and in the log; what happened,
 * a clause; cause and cure, a clause, NULL where a message of its own says them. The reference of
 * verdicts (src/publish/README.md) and what cernita-why says of it are made from these.
 */
#ifndef CRN_SRC_FORMATS_VIEW_REASON_H
#define CRN_SRC_FORMATS_VIEW_REASON_H

#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_REASON_TOO_MUCH                                                                        \
    "more views arrive than this machine can process in time, or other programs take its "         \
    "processor"
#define CRN_REASON_NO_SUM "the values of a pixel have to sum to 1 (`ingest.sum`), and "
#define CRN_REASON_SCALE  "the sender's maps have the wrong scale: "

#define CRN_VIEW_REASONS(ROW)                                                                      \
    ROW(NO_SLOT, "no_slot", "no slot was free, or a view of higher priority took its slot",        \
        CRN_REASON_TOO_MUCH " (limits.slots, run.workers; ingest.slots.slots for programs "        \
                            "that use slots)")                                                     \
    ROW(DISCARDED, "discarded",                                                                    \
        "it had not begun when its fruit was judged, or could not have finished in time",          \
        CRN_REASON_TOO_MUCH " (latency.budget_ms, run.workers), or the sender's deadline_ns had "  \
                            "passed")                                                              \
    ROW(UNFINISHED, "unfinished", "it was running when its time ran out",                          \
        CRN_REASON_TOO_MUCH " (latency.budget_ms, run.workers)")                                   \
    ROW(FAILED, "failed", "the chain reported an error, which the log names", NULL)                \
    ROW(DEVICE_LOST, "device_lost", "its maps were on a device that was lost", NULL)               \
    CRN_VALUE_REASONS(ROW)

/* What is wrong with the values of a view that was judged all the same. */
#define CRN_VALUE_REASONS(ROW)                                                                     \
    ROW(NOT_FINITE, "not_finite", "a class with a level holds NaN or infinity",                    \
        "the sender's maps are not probabilities")                                                 \
    ROW(OUT_OF_RANGE, "out_of_range", "a class with a level holds values outside 0 to 1",          \
        "the sender's maps are not probabilities")                                                 \
    ROW(MASK_VALUES, "mask_values", "u8 maps of zeros and ones: a mask",                           \
        "in u8 maps 255 is certainty, not 1")                                                      \
    ROW(ALL_ZERO, "all_zero", CRN_REASON_NO_SUM "all of them are 0: the CNN is dead",              \
        "all is 0, the background too: the CNN is dead")                                           \
    ROW(DIVIDED, "divided_by_255", CRN_REASON_NO_SUM "f16 or f32 maps sum to 1/255",               \
        CRN_REASON_SCALE "divided by 255 once too often")                                          \
    ROW(LABELS, "labels",                                                                          \
        CRN_REASON_NO_SUM "u8 maps hold small numbers: labels of classes, or masks of 0 and 2",    \
        CRN_REASON_SCALE "labels or masks, where 255 is certainty")                                \
    ROW(PER_CENT, "per_cent", CRN_REASON_NO_SUM "u8 maps sum to 100, not to 255",                  \
        CRN_REASON_SCALE "per cent, where 255 is certainty")                                       \
    ROW(WRONG_SUM, "wrong_sum",                                                                    \
        CRN_REASON_NO_SUM "maps sum to something else: sigmoids, a missing softmax or channel",    \
        CRN_REASON_SCALE "a pixel's values do not sum to 1 (after sigmoids: ingest.sum: none)")

#define CRN_REASON_CONSTANT(constant, ...) CRN_REASON_##constant,

/* CRN_REASON_NONE is 0. */
typedef enum crn_view_reason {
    CRN_REASON_NONE,
    CRN_VIEW_REASONS(CRN_REASON_CONSTANT) CRN_REASONS,
} crn_view_reason;

/* By crn_view_reason; those of CRN_REASON_NONE are "", "" and NULL. */
extern const char *const crn_view_reason_names[CRN_REASONS];
extern const char *const crn_view_reason_meanings[CRN_REASONS];
extern const char *const crn_view_reason_hints[CRN_REASONS];

/* The reason of that name, CRN_REASON_NONE if there is none. */
crn_view_reason crn_view_reason_find(const char *name);

CRN_C_END

#endif
