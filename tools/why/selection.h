/* Which of a log's verdicts are explained: a bounded number of them, chosen in one pass. */
#ifndef CRN_TOOLS_WHY_SELECTION_H
#define CRN_TOOLS_WHY_SELECTION_H

#include "tools/why/cause/diagnosis.h"

#define CRN_CHOSEN_MAX 1000

typedef struct crn_choice {
    bool fruit, has_epoch;           /* one fruit, of this epoch */
    bool late, partial, over_budget; /* any of these; none: all verdicts */
    bool slowest;                    /* the slowest, not the last ones */
    int64_t lane;                    /* negative: all */
    uint64_t number, epoch;          /* of the one fruit */
    uint64_t since_ns;               /* published at or after, CLOCK_REALTIME */
    uint32_t count;                  /* at most so many, 1 to CRN_CHOSEN_MAX */
} crn_choice;

typedef struct crn_chosen {
    crn_decoded *verdict; /* without defects */
    bool seen;            /* again, while surroundings were collected */
    crn_timeline timeline;
    crn_parts parts;
    crn_diagnosis diagnosis;
} crn_chosen;

typedef struct crn_selection {
    crn_choice choice;
    uint64_t matched; /* verdicts that fit, chosen or not */
    uint32_t count;
    crn_chosen *items[CRN_CHOSEN_MAX]; /* in the log's order, or the slowest first */
} crn_selection;

/* 0 or -ENOMEM; free it with crn_selection_free. */
int crn_selection_create(const crn_choice *choice, crn_selection **ret_selection);
void crn_selection_free(crn_selection **selection);

/* Takes the verdict over (*verdict is then NULL) if it is chosen, perhaps in another's place. 0 or
 * -ENOMEM. */
int crn_selection_offer(crn_selection *selection, crn_decoded **verdict);

/* After the last offer: diagnoses all, but for their surroundings. */
void crn_selection_diagnose(crn_selection *selection);

/* Adds a verdict of the log to the surroundings of all that it concerns. */
void crn_selection_surround(crn_selection *selection, const crn_decoded *verdict);

/* True if verdicts that follow this one concern none of those chosen. `longest_ns`: longest life of
 * a fruit in the log. */
bool crn_selection_is_past(const crn_selection *selection, const crn_decoded *verdict,
                           int64_t longest_ns);

#endif
