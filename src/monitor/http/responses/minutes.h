/* Answers of /minutes, which clients share: of each step the last one stays until it would be
 * another. Used by the HTTP thread only. */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_MINUTES_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_MINUTES_H

#include <microhttpd.h>

#include "src/monitor/minutes/thread.h"

CRN_C_BEGIN

typedef struct crn_minutes_answer {
    struct MHD_Response *response; /* NULL: none yet */
    crn_minutes_query query;
    uint64_t version; /* of what it tells */
} crn_minutes_answer;

typedef struct crn_minutes_answers {
    crn_minutes_answer of_step[CRN_MINUTES_STEPS];
} crn_minutes_answers;

/* The answer to a query, a new one if minutes came or the clock shows another minute. It is
 * borrowed until the next call. NULL: memory is short. */
struct MHD_Response *crn_minutes_answer_get(crn_minutes_answers *answers, crn_minutes *minutes,
                                            const crn_minutes_query *query, crn_encoder *encoder);

void crn_minutes_answers_free(crn_minutes_answers *answers);

CRN_C_END

#endif
