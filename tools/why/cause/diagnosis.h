/*
 * Finds the one cause that a verdict is explained by: what kept its fruit from being complete, or
 * within budget, or else what took most of its time.
 */
#ifndef CRN_TOOLS_WHY_CAUSE_DIAGNOSIS_H
#define CRN_TOOLS_WHY_CAUSE_DIAGNOSIS_H

#include "tools/why/cause/surroundings.h"
#include "tools/why/cause/timeline.h"

/* Views on a device in so long before a fruit tell that it could have run there, too. */
#define CRN_DEVICE_BEFORE_S 30

/* Of several that apply the first explains the verdict; the order is from what only a person can
 * mend to what time pressure explains. */
typedef enum crn_cause {
    CRN_CAUSE_OPEN_FRUITS, /* judged early: limits.open_fruits */
    CRN_CAUSE_STOP,        /* the daemon was stopped */
    CRN_CAUSE_DEVICE_LOST,
    CRN_CAUSE_FAILED,
    CRN_CAUSE_REFUSED,
    CRN_CAUSE_NO_SLOT,
    CRN_CAUSE_EVICTED,  /* its slot went to a view of higher priority */
    CRN_CAUSE_ARRIVAL,  /* a view arrived so late that too little time was left */
    CRN_CAUSE_DEADLINE, /* a header's deadline left too little time */
    CRN_CAUSE_UNFINISHED,
    CRN_CAUSE_DISCARDED,
    CRN_CAUSE_LOST, /* for a reason that this version does not know */
    CRN_CAUSE_MISSING,
    CRN_CAUSE_NOT_FINITE,
    CRN_CAUSE_OUT_OF_RANGE,
    CRN_CAUSE_MASK_VALUES,
    CRN_CAUSE_ALL_ZERO,
    CRN_CAUSE_DIVIDED,
    CRN_CAUSE_LABELS,
    CRN_CAUSE_PER_CENT,
    CRN_CAUSE_WRONG_SUM,
    CRN_CAUSE_TRUNCATED,
    CRN_CAUSE_SKIPPED,
    CRN_CAUSE_PART, /* no view is to blame: the largest part of the latency */
    CRN_CAUSES,
} crn_cause;

/* All that the sentence is made of. Times that do not apply are 0. */
typedef struct crn_diagnosis {
    crn_verdict_kind kind;
    bool stale;
    double latency_ms, budget_ms; /* NaN: unknown */
    double left_ms; /* from the close to the deadline; below the budget if a header set it */
    char closed_by[CRN_DECODED_TEXT_BYTES]; /* as in the verdict */
    crn_cause cause;
    uint64_t views[CRN_CAUSES];        /* bit per view to which a cause applies */
    uint32_t view;                     /* the one that is described */
    char name[CRN_DECODED_TEXT_BYTES]; /* refusal, class, unknown reason, or steps */
    bool has_poses;                    /* SKIPPED: the fruit has measures all the same */
    uint64_t count;                    /* invalid values */
    double waited_ms, ran_ms;          /* the view's */
    double open_ms;                    /* from the first reception to the close, or for OPEN_FRUITS
                                          to the verdict */
    uint32_t before;                   /* ARRIVAL: the view received before it */
    bool alone;                        /* ARRIVAL: there is none */
    double gap_ms;     /* ARRIVAL: time between the two receptions; alone: since its exposure */
    double exposed_ms; /* ARRIVAL: time between their exposures; NaN: unknown */
    double arrival_left_ms;  /* ARRIVAL: from its reception to the deadline */
    bool on_processor;       /* no view was judged on a device */
    bool has_dated;          /* a view was received that says when it was exposed: */
    uint32_t dated;          /* the last one, */
    double age_ms;           /* and from its exposure to its reception */
    crn_part_kind part;      /* PART: which, */
    double part_ms;          /* and how long */
    crn_surroundings around; /* at the time of the cause */
} crn_diagnosis;

/*
 * Everything but the surroundings, whose times are set: fill them with crn_surroundings_add, with
 * crn_diagnosis_view as the exception.
 */
void crn_diagnose(const crn_decoded *verdict, const crn_timeline *timeline, const crn_parts *parts,
                  crn_diagnosis *ret_diagnosis);

/* The view that is described, or NULL. */
const crn_decoded_view *crn_diagnosis_view(const crn_decoded *verdict,
                                           const crn_diagnosis *diagnosis);

/* "no_slot", "arrival", …: for programs. */
extern const char *const crn_cause_names[CRN_CAUSES];

#endif
