/* An answer that is made piece by piece, each when the one before has been sent: a reader takes no
 * more memory than a piece, whatever it asks for. */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_PIECES_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_PIECES_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "stages/base/api.h"

CRN_C_BEGIN

/* What makes the pieces; the first member of a larger object. */
typedef struct crn_piece_source {
    /* Makes the next piece, valid until the next call; false: there is none. */
    bool (*next)(struct crn_piece_source *source, const unsigned char **ret_bytes,
                 size_t *ret_size);
    void (*free)(struct crn_piece_source *source);
    const unsigned char *bytes; /* the rest of the piece that is being sent */
    size_t size;
} crn_piece_source;

/* The answer, to be queued and destroyed by the caller, which frees `source` when it is over; NULL
 * if memory is short, `source` is then freed. */
struct MHD_Response *crn_pieces_answer(crn_piece_source *source);

CRN_C_END

#endif
