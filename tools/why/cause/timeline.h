/*
 * Places a fruit's views in time, from its verdict alone, and breaks its time down. README.md has
 * the derivation and its error.
 */
#ifndef CRN_TOOLS_WHY_CAUSE_TIMELINE_H
#define CRN_TOOLS_WHY_CAUSE_TIMELINE_H

#include "src/formats/verdict/decode.h"

/* Times in ns of CLOCK_REALTIME. */
typedef struct crn_timeline_view {
    const crn_decoded_view *said; /* in the verdict */
    bool received, began;
    int64_t received_ns; /* valid if received, as what follows */
    int64_t waited_ns;   /* end of its wait: it began, was lost, or the verdict was packed */
    int64_t ended_ns;    /* end of its run; waited_ns if it never began */
} crn_timeline_view;

typedef struct crn_timeline {
    int64_t opened_ns, closed_ns, published_ns, deadline_ns;
    bool exact; /* false: the verdict has no assembly_ms, opened_ns is the latest possible */
    uint32_t view_count;
    crn_timeline_view views[CRN_FRUIT_VIEWS_MAX]; /* in the verdict's order */
} crn_timeline;

/* The verdict must outlive the timeline. Values that no daemon writes are clamped. */
void crn_timeline_place(const crn_decoded *verdict, crn_timeline *ret_timeline);

/* The judged view that ended last, which latency_ms describes; NULL if none was judged. */
const crn_timeline_view *crn_timeline_last_judged(const crn_timeline *timeline);

double crn_timeline_ms(int64_t ns);

typedef enum crn_part_kind {
    CRN_PART_ASSEMBLY, /* first reception to close */
    CRN_PART_QUEUE,    /* as what follows after the close: waiting for a worker or a device */
    CRN_PART_STEP,
    CRN_PART_POSE,    /* finding where it shows the fruit */
    CRN_PART_SURFACE, /* the fruit's wait for its measures, after the end of its last view */
    CRN_PART_WAITS,   /* between its steps, once it had begun */
    CRN_PART_END,     /* the rest from that end, or from the close, to publication */
} crn_part_kind;

typedef struct crn_part {
    crn_part_kind kind;
    const char *name; /* of a step: owned by the verdict */
    double ms;
} crn_part;

/* The parts add up to total_ms. */
typedef struct crn_parts {
    double total_ms;   /* first reception to publication */
    double latency_ms; /* close to publication: the verdict's latency_ms.total */
    uint32_t count;
    crn_part part[CRN_DECODED_TIMES_MAX + 3];
} crn_parts;

void crn_parts_of(const crn_decoded *verdict, const crn_timeline *timeline, crn_parts *ret_parts);

/* The largest part after the close. */
const crn_part *crn_parts_largest(const crn_parts *parts);

#endif
