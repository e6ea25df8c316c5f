/* Verdicts of random contents, as a line packs them, and the sums of those that were made: what an
 * archive of them must add up to. */
#ifndef CRN_TESTS_SUPPORT_MADE_VERDICT_H
#define CRN_TESTS_SUPPORT_MADE_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "src/formats/encoding/encoder.h"
#include "src/formats/verdict/decode.h"
#include "tests/support/random.h"

#define CRN_MADE_CLASSES 3

#define CRN_MADE_LOT "Müller 17" /* from sequence 20 on */

extern const char *const crn_made_classes[CRN_MADE_CLASSES];

typedef struct crn_made_sums {
    uint64_t fruits, of_lot, late, views, lost_views, defects, bytes;
    uint64_t run_us;                      /* of the judged views */
    uint64_t found[CRN_MADE_CLASSES];     /* fruits that have the class */
    double area_px[CRN_MADE_CLASSES];     /* multiples of 0.5: sums are exact in any order */
    double defect_area[CRN_MADE_CLASSES]; /* likewise */
} crn_made_sums;

typedef struct crn_made_facts {
    const char *run;
    uint32_t lane;
    uint64_t sequence;
} crn_made_facts;

/* Packs a verdict, in the encoder's format; the bytes are the encoder's. Adds it to *sums. */
void crn_made_verdict(crn_encoder *encoder, crn_random *random, const crn_made_facts *facts,
                      crn_made_sums *sums, const unsigned char **ret_bytes, size_t *ret_size);

/* Two verdicts on one fruit, as two runs log them. */
typedef struct crn_verdict_pair {
    crn_encoder *encoder[2];
    crn_messagepack_json packed[2]; /* before as MessagePack, after as JSON */
    crn_decoded *verdict[2];
} crn_verdict_pair;

/* Makes both, of lane 3, and adds each to its run's sums. */
void crn_verdict_pair_make(crn_verdict_pair *pair, crn_random *random, uint64_t sequence,
                           crn_made_sums sums[2]);
void crn_verdict_pair_drop(crn_verdict_pair *pair);

#endif
