#include "tools/why/daemon/state.h"

#include <errno.h>
#include <stdlib.h>

#include "src/formats/encoding/encoder.h"
#include "tools/why/daemon/download.h"

#define PAGE_BYTES_MAX 65536

int crn_state_fetch(const char *endpoint, crn_daemon_state *ret_state, crn_error *error)
{
    static const crn_page page = {"/healthz", "application/json", PAGE_BYTES_MAX, true};
    crn_error fault;
    char *bytes;
    size_t size;
    int r = crn_download_page(endpoint, &page, &bytes, &size, error);
    *ret_state = (crn_daemon_state){.reasons_known = false};
    if (r == 0 && (crn_daemon_state_parse(bytes, size, ret_state, &fault) < 0 ||
                   !ret_state->state[0] || !ret_state->reasons_known))
        r = crn_error_set(error, -EPROTO,
                          "%s: its /healthz is not that of a running cernitad, or of another "
                          "version",
                          endpoint);
    free(bytes);
    return r;
}

void crn_state_print(const crn_daemon_state *state, FILE *out)
{
    fprintf(out, "the line now: %s%s\n", state->state,
            state->reason_count ? "" : ", nothing out of the ordinary");
    for (int i = 0; i < state->reason_count; i++)
        fprintf(out, "  %s\n", state->reasons[i]);
}

int crn_state_print_json(const crn_daemon_state *state, FILE *out)
{
    crn_encoder *encoder = NULL;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r < 0)
        return r;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 2);
    crn_encoder_pair_text(encoder, "state", state->state);
    crn_encoder_text(encoder, "reasons");
    crn_encoder_array(encoder, (uint32_t)state->reason_count);
    for (int i = 0; i < state->reason_count; i++)
        crn_encoder_text(encoder, state->reasons[i]);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
    r = crn_encoder_print(encoder, out);
    crn_encoder_free(&encoder);
    return r;
}
