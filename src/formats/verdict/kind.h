/* The kinds of verdicts, and what closed their fruits. Usable from C and C++. */
#ifndef CRN_SRC_FORMATS_VERDICT_KIND_H
#define CRN_SRC_FORMATS_VERDICT_KIND_H

#include <stdbool.h>

#include "stages/base/api.h"

CRN_C_BEGIN

typedef enum crn_verdict_kind {
    CRN_VERDICT_COMPLETE, /* every view received, judged without loss, and none missing */
    CRN_VERDICT_PARTIAL,  /* views missing or unfinished, stages skipped, a limit truncated the
                             defects, or maps held values that are not probabilities */
    CRN_VERDICT_LATE,     /* no view was judged */
} crn_verdict_kind;

extern const char *const crn_verdict_kind_names[]; /* "complete", "partial", "late" */

/* True if a kind has that name: *ret_kind. */
bool crn_verdict_kind_find(const char *name, crn_verdict_kind *ret_kind);

/* What closed a fruit, or forced its verdict. */
typedef enum crn_fruit_close {
    CRN_CLOSE_VIEWS,       /* its last expected view */
    CRN_CLOSE_TIME,        /* assemble_ns after its first view */
    CRN_CLOSE_DEADLINE,    /* a header deadline that leaves no more than guard_ns */
    CRN_CLOSE_OPEN_FRUITS, /* open_fruits was reached and it was the oldest; closed before or not */
    CRN_CLOSE_STOP,        /* crn_fruits_end */
    CRN_CLOSES,
} crn_fruit_close;

/* "views", "time", …: as in verdicts. */
extern const char *const crn_fruit_close_names[CRN_CLOSES];

CRN_C_END

#endif
