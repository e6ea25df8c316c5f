#include "src/monitor/http/responses/minutes.h"

#include "src/http/headers.h"

#define MINUTE_MS 60000

/* Whether both have the same rows and a time in the same minute. */
static bool is_same(const crn_minutes_query *a, const crn_minutes_query *b)
{
    return a->from_ms == b->from_ms && a->to_ms == b->to_ms &&
           a->now_ms / MINUTE_MS == b->now_ms / MINUTE_MS;
}

static struct MHD_Response *make(crn_encoder *encoder)
{
    const unsigned char *bytes;
    size_t size;
    if (crn_encoder_end(encoder, &bytes, &size) < 0)
        return NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
    if (response)
        crn_http_add_headers(response, CRN_HTTP_JSON);
    return response;
}

struct MHD_Response *crn_minutes_answer_get(crn_minutes_answers *answers, crn_minutes *minutes,
                                            const crn_minutes_query *query, crn_encoder *encoder)
{
    crn_minutes_answer *kept = &answers->of_step[query->step];
    crn_minutes_query whole = *query;
    crn_minutes_query_round(&whole);
    if (kept->response && is_same(&kept->query, &whole) &&
        kept->version == crn_minutes_version(minutes))
        return kept->response;
    crn_minutes_answer next = {.query = whole};
    next.version = crn_minutes_put(minutes, &whole, encoder);
    next.response = make(encoder);
    if (!next.response)
        return NULL;
    if (kept->response)
        MHD_destroy_response(kept->response); /* whoever still reads it has a part in it */
    *kept = next;
    return kept->response;
}

void crn_minutes_answers_free(crn_minutes_answers *answers)
{
    for (crn_minutes_step step = 0; step < CRN_MINUTES_STEPS; step++)
        if (answers->of_step[step].response)
            MHD_destroy_response(answers->of_step[step].response);
    *answers = (crn_minutes_answers){0};
}
