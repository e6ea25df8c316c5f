/* The line's verdicts until they are compared, in a file without a name in $TMPDIR, or /var/tmp: of
 * many fruits they would not fit into memory. For one thread. */
#ifndef CRN_TOOLS_REPLAY_EXPECT_KEPT_H
#define CRN_TOOLS_REPLAY_EXPECT_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

typedef struct crn_kept_verdicts crn_kept_verdicts;

/* Where a verdict lies; size 0: there is none. */
typedef struct crn_kept_place {
    uint64_t offset;
    size_t size;
} crn_kept_place;

/* 0, or a negative errno with one line in *error, as do all of these. */
int crn_kept_verdicts_open(crn_kept_verdicts **ret_kept, crn_error *error);

int crn_kept_verdicts_add(crn_kept_verdicts *kept, const unsigned char *bytes, size_t size,
                          crn_kept_place *ret_place, crn_error *error);

/* The bytes are valid until the next call. */
int crn_kept_verdicts_get(crn_kept_verdicts *kept, const crn_kept_place *place,
                          const unsigned char **ret_bytes, crn_error *error);

/* NULL is allowed. */
void crn_kept_verdicts_close(crn_kept_verdicts **kept);

#endif
