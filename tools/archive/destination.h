/*
 * Where verdicts and outcomes go: the tables of an archive, or a stream. In transactions: what was
 * added since begin is there for good once commit returned 0, with the position of its source.
 *
 * One thread at a time. All functions that return an int: 0, or a negative errno with one line in
 * *error. -ENOTCONN: it cannot be reached now; the position is to be asked for again, which also
 * tries to reach it.
 */
#ifndef CRN_TOOLS_ARCHIVE_DESTINATION_H
#define CRN_TOOLS_ARCHIVE_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/formats/outcomes/outcome.h"
#include "src/formats/verdict/decode.h"
#include "src/formats/verdict_log/reader.h"
#include "stages/base/error.h"

typedef struct crn_destination crn_destination;

/* A message as its source has it; valid during the call. */
typedef struct crn_entry {
    const void *bytes;
    size_t size;
    const crn_verdict_position *at; /* where it begins in its log; NULL: it is of no log */
} crn_entry;

/* What a source has. */
typedef enum crn_intake_kind {
    CRN_INTAKE_VERDICTS,
    CRN_INTAKE_OUTCOMES,
    CRN_INTAKE_KINDS,
} crn_intake_kind;

typedef struct crn_intake_stats {
    uint64_t added;      /* verdicts, or outcomes */
    uint64_t results;    /* of outcomes: how it ended with their fruits */
    uint64_t known;      /* came again, and in the archive already */
    uint64_t missing;    /* sequences that did not come, before those that were added; of outcomes:
                            those of results, which are passed over */
    uint64_t unreadable; /* what is not one, or damaged */
} crn_intake_stats;

typedef struct crn_added {
    bool is_new;      /* false: it was there already */
    uint64_t missing; /* sequences between the lane's last verdict and this one */
} crn_added;

/* What became of a sorter's result for a fruit. */
typedef enum crn_added_result {
    CRN_RESULT_ADDED,
    CRN_RESULT_KNOWN,   /* the fruit has one: the first one holds */
    CRN_RESULT_MISSING, /* the fruit has no outcome, which did not come */
} crn_added_result;

typedef struct crn_destination_functions {
    int (*begin)(crn_destination *destination, crn_error *error);
    /* An error undoes it. `coming`, by kind, is what was counted since begin; a destination that
     * compares with what it has only now corrects it. */
    int (*commit)(crn_destination *destination, crn_intake_stats *coming, crn_error *error);
    void (*undo)(crn_destination *destination);

    /* How far a source was added: zeros if it never was. Setting it is part of a transaction. */
    int (*get_position)(crn_destination *destination, const char *source,
                        crn_verdict_position *ret_position, crn_error *error);
    int (*set_position)(crn_destination *destination, const char *source,
                        const crn_verdict_position *position, crn_error *error);

    int (*add_verdict)(crn_destination *destination, const crn_entry *entry,
                       const crn_decoded *verdict, crn_added *ret_added, crn_error *error);
    int (*add_outcome)(crn_destination *destination, const crn_entry *entry,
                       const crn_outcome *outcome, bool *ret_is_new, crn_error *error);
    int (*add_result)(crn_destination *destination, const crn_entry *entry,
                      const crn_firing_outcome *firing, crn_added_result *ret_result,
                      crn_error *error);
} crn_destination_functions;

/* The begin of the struct of each kind. The limits may change with each transaction. */
struct crn_destination {
    const crn_destination_functions *functions;
    int entries_max;        /* of a transaction */
    uint64_t bytes_max;     /* of a transaction */
    size_t entry_bytes_max; /* an entry may not be longer */
};

#endif
