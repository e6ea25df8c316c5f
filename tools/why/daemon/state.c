#include "tools/why/daemon/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/formats/encoding/encoder.h"
#include "tools/why/daemon/download.h"

#define PAGE_BYTES_MAX 262144 /* every condition with its texts is half of it */

int crn_state_fetch(const char *endpoint, crn_daemon_state *ret_state, crn_error *error)
{
    static const crn_page page = {"/healthz", "application/json", PAGE_BYTES_MAX, true};
    crn_error fault;
    char *bytes;
    size_t size;
    int r = crn_download_page(endpoint, &page, &bytes, &size, error);
    *ret_state = (crn_daemon_state){.conditions_known = false};
    if (r == 0 && (crn_daemon_state_parse(bytes, size, ret_state, &fault) < 0 ||
                   !ret_state->state[0] || !ret_state->conditions_known))
        r = crn_error_set(error, -EPROTO,
                          "%s: its /healthz is not that of a running cernitad, or of another "
                          "version",
                          endpoint);
    free(bytes);
    return r;
}

/* "2026-11-26 15:03:17", local time */
static void time_text(double since_s, char text[32])
{
    time_t seconds = since_s > 0 && since_s < 9e15 ? (time_t)since_s : 0;
    struct tm local;
    if (!localtime_r(&seconds, &local) || !strftime(text, 32, "%Y-%m-%d %H:%M:%S", &local))
        snprintf(text, 32, "?");
}

/* Several lanes may have the same: then what to do is told once, behind the last of them, with the
 * first one's details. */
static void print_conditions(const crn_daemon_state *state, FILE *out)
{
    const crn_state_condition *first = state->conditions;
    for (int i = 0; i < state->condition_count; i++) {
        const crn_state_condition *one = &state->conditions[i];
        bool is_last = i + 1 == state->condition_count || strcmp(one->id, one[1].id) != 0;
        char since[32];
        fprintf(out, "  %s: %s\n", crn_state_level_name(one->severity), one->what);
        if (!is_last)
            continue;
        if (first->action[0])
            fprintf(out, "    what to do: %s\n", first->action);
        if (first->details[0])
            fprintf(out, "    details: %s\n", first->details);
        time_text(first->since_s, since);
        fprintf(out, "    since %s (%s)\n", since, first->id);
        first = one + 1;
    }
}

void crn_state_print(const crn_daemon_state *state, FILE *out)
{
    fprintf(out, "the line now: %s", state->state);
    if (state->level == CRN_LEVEL_GOOD)
        fputs(", nothing out of the ordinary", out);
    else if (state->level != CRN_LEVEL_NONE)
        fprintf(out, ", %s%s", crn_state_level_name(state->level),
                state->misjudged ? ": fruit is sorted wrongly or not at all" : "");
    fputc('\n', out);
    print_conditions(state, out);
}

static void put_condition(const crn_state_condition *condition, crn_encoder *encoder)
{
    bool has_lane = condition->lane >= 0;
    crn_encoder_map(encoder, has_lane ? 8 : 7);
    crn_encoder_pair_text(encoder, "id", condition->id);
    crn_encoder_pair_text(encoder, "severity", crn_state_level_name(condition->severity));
    crn_encoder_pair_bool(encoder, "misjudged", condition->misjudged);
    if (has_lane)
        crn_encoder_pair_unsigned(encoder, "lane", (uint64_t)condition->lane);
    crn_encoder_pair_real(encoder, "since_s", condition->since_s);
    crn_encoder_pair_text(encoder, "what", condition->what);
    crn_encoder_pair_text(encoder, "action", condition->action);
    crn_encoder_pair_text(encoder, "details", condition->details);
    crn_encoder_map_end(encoder);
}

int crn_state_print_json(const crn_daemon_state *state, FILE *out)
{
    crn_encoder *encoder = NULL;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r < 0)
        return r;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 3);
    crn_encoder_pair_text(encoder, "state", state->state);
    crn_encoder_text(encoder, "headline");
    crn_encoder_map(encoder, 2);
    crn_encoder_pair_text(encoder, "level", crn_state_level_name(state->level));
    crn_encoder_pair_bool(encoder, "misjudged", state->misjudged);
    crn_encoder_map_end(encoder);
    crn_encoder_text(encoder, "conditions");
    crn_encoder_array(encoder, (uint32_t)state->condition_count);
    for (int i = 0; i < state->condition_count; i++)
        put_condition(&state->conditions[i], encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
    r = crn_encoder_print(encoder, out);
    crn_encoder_free(&encoder);
    return r;
}
