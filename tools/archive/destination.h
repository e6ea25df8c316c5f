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
    int (*commit)(crn_destination *destination, crn_error *error); /* an error undoes it */
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
