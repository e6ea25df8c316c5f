#include "tools/why/daemon/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/encoding/encoder.h"
#include "src/formats/encoding/messagepack_json.h"
#include "tools/why/daemon/download.h"

#define PAGE_BYTES_MAX 65536

/* Copies a text, without what a terminal would obey: a daemon's are plain ASCII, and beyond it
 * control characters and directions of writing exist, too. False if the value is none. */
static bool copy_text(const msgpack_object *value, char *text, size_t size)
{
    if (!value || value->type != MSGPACK_OBJECT_STR)
        return false;
    size_t length = value->via.str.size < size - 1 ? value->via.str.size : size - 1;
    for (size_t i = 0; i < length; i++) {
        unsigned char one = (unsigned char)value->via.str.ptr[i];
        text[i] = (char)(one < 0x20 || one >= 0x7f ? '?' : one);
    }
    text[length] = '\0';
    return true;
}

static bool read_state(const msgpack_object *page, crn_line_state *state)
{
    const msgpack_object *reasons = crn_value_get(page, "reasons");
    if (!copy_text(crn_value_get(page, "state"), state->state, sizeof state->state) || !reasons ||
        reasons->type != MSGPACK_OBJECT_ARRAY)
        return false;
    for (uint32_t i = 0; i < reasons->via.array.size && state->count < CRN_STATE_REASONS_MAX; i++)
        if (!copy_text(&reasons->via.array.ptr[i], state->reasons[state->count++],
                       sizeof state->reasons[0]))
            return false;
    return true;
}

int crn_state_fetch(const char *endpoint, crn_line_state *ret_state, crn_error *error)
{
    static const crn_page page = {"/healthz", "application/json", PAGE_BYTES_MAX, true};
    crn_line_state state = {.count = 0};
    crn_messagepack_json json = {.repacked = {.size = 0}};
    crn_error fault;
    char *bytes;
    size_t size;
    int r = crn_download_page(endpoint, &page, &bytes, &size, error);
    if (r == 0 && (crn_messagepack_json_init(&json, bytes, size, &fault) < 0 ||
                   !read_state(&json.tree.data, &state)))
        r = crn_error_set(error, -EPROTO,
                          "%s: its /healthz is not that of a running cernitad, or of another "
                          "version",
                          endpoint);
    crn_messagepack_json_done(&json);
    free(bytes);
    if (r == 0)
        *ret_state = state;
    return r;
}

void crn_state_print(const crn_line_state *state, FILE *out)
{
    fprintf(out, "the line now: %s%s\n", state->state,
            state->count ? "" : ", nothing out of the ordinary");
    for (uint32_t i = 0; i < state->count; i++)
        fprintf(out, "  %s\n", state->reasons[i]);
}

int crn_state_print_json(const crn_line_state *state, FILE *out)
{
    crn_encoder *encoder = NULL;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r < 0)
        return r;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 2);
    crn_encoder_pair_text(encoder, "state", state->state);
    crn_encoder_text(encoder, "reasons");
    crn_encoder_array(encoder, state->count);
    for (uint32_t i = 0; i < state->count; i++)
        crn_encoder_text(encoder, state->reasons[i]);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
    r = crn_encoder_print(encoder, out);
    crn_encoder_free(&encoder);
    return r;
}
