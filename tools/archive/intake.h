/*
 * Verdicts, or a sorter's outcomes, to a destination, in transactions, wherever they come from:
 * what is counted of them, and what a person has to know. Memory does not depend on how many there
 * are.
 *
 * After a negative errno it is of no more use: its transaction is undone, with the names in it.
 */
#ifndef CRN_TOOLS_ARCHIVE_INTAKE_H
#define CRN_TOOLS_ARCHIVE_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "tools/archive/destination.h"

/* Takes one line for a person; called by the thread that archives. */
typedef void crn_intake_teller(const char *line);

typedef struct crn_intake {
    crn_destination *destination;
    crn_intake_kind kind;                      /* of what is added next */
    crn_intake_stats stats[CRN_INTAKE_KINDS];  /* of what is committed */
    crn_intake_stats coming[CRN_INTAKE_KINDS]; /* of this transaction */
    char *source;                              /* for messages, and the key of its position */
    uint64_t message; /* of a stream: the number of what is added next; else 0 */
    crn_intake_teller *tell;
    int entries; /* of this transaction, as the next two */
    uint64_t bytes;
    int64_t began_ns;
} crn_intake;

/* The source is copied; the destination must outlive it. 0, or a negative errno with *error; done
 * cleans up in either case. */
int crn_intake_init(crn_intake *intake, crn_destination *destination, crn_intake_kind kind,
                    const char *source, crn_intake_teller *tell, crn_error *error);
void crn_intake_done(crn_intake *intake);

/* Begins a transaction. 0, or a negative errno with *error. */
int crn_intake_begin(crn_intake *intake, crn_error *error);

/* Ends it: undoes it if `r`, the result so far, is negative. Returns `r`, or the commit's error. */
int crn_intake_end(crn_intake *intake, int r, crn_error *error);

/* True if the transaction is to be ended before the next verdict. */
bool crn_intake_is_full(const crn_intake *intake);

/*
 * Adds a message that should be of the intake's kind; one that cannot be read is told, and passed
 * over. `at` is where it begins in the log, NULL of a line. 0, or a negative errno with *error:
 * -EPROTONOSUPPORT if it is of another version, -EMEDIUMTYPE if it is of the other kind.
 */
int crn_intake_add(crn_intake *intake, const void *bytes, size_t size,
                   const crn_verdict_position *at, crn_error *error);

/* Tells, and counts, what cannot be read. */
void crn_intake_pass_over(crn_intake *intake, const char *line);

#endif
