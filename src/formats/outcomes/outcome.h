/*
 * What became of a fruit behind a line, as entries of a sorter's log of outcomes: the outlet that
 * it decided on, and, where it fires ejectors itself, how that ended. README.md has their keys.
 */
#ifndef CRN_SRC_FORMATS_OUTCOMES_OUTCOME_H
#define CRN_SRC_FORMATS_OUTCOMES_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/formats/encoding/encoder.h"
#include "src/formats/encoding/messagepack_json.h"
#include "stages/base/error.h"

#define CRN_OUTCOME_TEXT_BYTES 48 /* with the final 0 */

/* Of one fruit, or of `fruits` in a row whose verdicts never arrived. Texts are printable UTF-8. */
typedef struct crn_outcome {
    char sorter[CRN_OUTCOME_TEXT_BYTES]; /* identifies a start of the sorter */
    char run[CRN_OUTCOME_TEXT_BYTES];    /* of the line: as in the verdict */
    uint64_t lane, sequence;             /* as in the verdict; of lost ones, the first */
    uint64_t fruits;                     /* 1 and more */
    uint64_t fruit;                      /* as in the verdict; 0 of lost ones */
    int64_t decided_ns;                  /* CLOCK_REALTIME */
    char outlet[CRN_OUTCOME_TEXT_BYTES];
    char reason[CRN_OUTCOME_TEXT_BYTES];
    uint64_t rule; /* counted from 1; 0: none */
} crn_outcome;

/* How it ended with a fruit whose outlet has an ejector; its outcome is an earlier entry. */
typedef struct crn_firing_outcome {
    char run[CRN_OUTCOME_TEXT_BYTES];
    uint64_t lane, sequence;
    char result[CRN_OUTCOME_TEXT_BYTES]; /* "fired", "confirmed", ... */
} crn_firing_outcome;

/* Either of them. */
typedef struct crn_outcome_entry {
    bool is_firing;
    crn_outcome outcome;
    crn_firing_outcome firing;
} crn_outcome_entry;

/* Packs one entry; the bytes are the encoder's until the next one. 0 or -ENOMEM. */
int crn_outcome_pack(const crn_outcome *outcome, crn_encoder *encoder,
                     const unsigned char **ret_bytes, size_t *ret_size);
int crn_firing_outcome_pack(const crn_firing_outcome *firing, crn_encoder *encoder,
                            const unsigned char **ret_bytes, size_t *ret_size);

/* True if it is an entry of a log of outcomes, of whatever version, and not a verdict. */
bool crn_outcome_is_one(const crn_messagepack_json *packed);

/*
 * Reads an entry, which may be damaged or of another program. 0, or a negative errno with one
 * clause in *error: -EMEDIUMTYPE if it is not one of such a log, -EPROTONOSUPPORT if it is one of
 * another version, -EBADMSG if it cannot be read, -ENOMEM.
 */
int crn_outcome_parse(const void *bytes, size_t size, crn_outcome_entry *ret_entry,
                      crn_error *error);

#endif
