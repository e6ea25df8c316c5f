#include "src/control/requests.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/control/alarm_requests.h"
#include "src/formats/encoding/encoder.h"
#include "src/monitor/conditions/json.h"
#include "src/monitor/events/health.h"
#include "src/service/control_socket.h"
#include "stages/base/clock.h"

int crn_request_reload(crn_request_target *target, const crn_changed_by *by, FILE *out)
{
    if (target->settings.reloading)
        target->settings.reloading(true);
    int r = crn_reloader_reload(target->reloader, by, out);
    if (target->settings.reloading)
        target->settings.reloading(false);
    return r;
}

bool crn_request_changes(const char *request)
{
    return strcmp(request, "reload") == 0 || strcmp(request, "recipe") == 0 ||
           strncmp(request, "recipe ", 7) == 0 || crn_lots_request_changes(request);
}

/* "2026-11-21T08:00:00Z" */
static void time_text(int64_t realtime_ns, char text[32])
{
    time_t seconds = (time_t)(realtime_ns / CRN_NS_PER_S);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void put_status_text(const crn_reload_settings *from, const crn_line_status *status,
                            const crn_condition_list *conditions, FILE *out)
{
    const char *file = from->file->file, *page = crn_line_http(from->line);
    char since[32];
    time_text(status->settings.since_ns, since);
    fprintf(out, "file      %s\n", file);
    fprintf(out, "state     %s\n", crn_state_names[status->state]);
    char clause[CRN_CONDITION_CLAUSE_BYTES];
    for (uint32_t i = 0; i < conditions->count; i++)
        fprintf(out, "%s%s\n", i ? "          " : "why       ",
                crn_condition_clause(&conditions->at[i], clause));
    if (page[0])
        fprintf(out, "page      http://%s\n", page);
    fprintf(out, "recipe    %s\n",
            status->settings.recipe[0] ? status->settings.recipe
                                       : "none (the file's own settings)");
    crn_lot_print(&status->settings.lot, out);
    fprintf(out, "settings  %016" PRIx64 " since %s, budget %" PRId64 " ms\n",
            status->settings.hash, since, status->settings.budget_ms);
    fprintf(out,
            "fruits    %" PRIu64 " complete, %" PRIu64 " partial, %" PRIu64 " late, %" PRIu64
            " open; %" PRIu64 " views\n",
            status->complete, status->partial, status->late, status->fruits_open, status->views);
    fprintf(out, "reloads   %" PRIu64 " taken in, %" PRIu64 " refused\n", status->settings.taken_in,
            status->settings.refused);
    crn_changes_summary changes = crn_changes_summarise(from->changes);
    if (changes.number > 0)
        fprintf(out, "changes   %" PRIu64 ", the last with the hash %s\n", changes.number,
                changes.hash);
}

static void put_status_json(const crn_reload_settings *from, const crn_line_status *status,
                            const crn_condition_list *conditions, FILE *out)
{
    char hash[17];
    crn_encoder *encoder;
    if (crn_encoder_create(CRN_FORMAT_JSON, &encoder) < 0)
        return;
    snprintf(hash, sizeof hash, "%016" PRIx64, status->settings.hash);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 16 + CRN_LOT_PAIRS + CRN_CONDITIONS_PAIRS);
    crn_encoder_pair_text(encoder, "file", from->file->file);
    crn_encoder_pair_text(encoder, "page", crn_line_http(from->line));
    crn_encoder_pair_text(encoder, "state", crn_state_names[status->state]);
    crn_conditions_json(conditions, crn_now_ns(), encoder);
    crn_encoder_pair_text(encoder, "recipe", status->settings.recipe);
    crn_encoder_pair_text(encoder, "settings", hash);
    crn_health_lot(&status->settings.lot, encoder);
    crn_encoder_pair_real(encoder, "since_s", (double)(status->settings.since_ns / 1000000) / 1e3);
    crn_encoder_pair_unsigned(encoder, "budget_ms", (uint64_t)status->settings.budget_ms);
    crn_encoder_pair_unsigned(encoder, "complete", status->complete);
    crn_encoder_pair_unsigned(encoder, "partial", status->partial);
    crn_encoder_pair_unsigned(encoder, "late", status->late);
    crn_encoder_pair_unsigned(encoder, "fruits_open", status->fruits_open);
    crn_encoder_pair_unsigned(encoder, "views", status->views);
    crn_encoder_pair_unsigned(encoder, "reloads_taken_in", status->settings.taken_in);
    crn_encoder_pair_unsigned(encoder, "reloads_refused", status->settings.refused);
    crn_changes_summary changes = crn_changes_summarise(from->changes);
    crn_encoder_pair_unsigned(encoder, "changes", changes.number);
    crn_encoder_pair_text(encoder, "changes_hash", changes.hash);
    crn_encoder_map_end(encoder);
    crn_encoder_print(encoder, out);
    crn_encoder_free(&encoder);
}

/* What can be said while the line's thread, which has the figures, does not answer. */
static void put_hang(const char *file, bool json, const crn_condition_list *conditions, FILE *out)
{
    char clause[CRN_CONDITION_CLAUSE_BYTES];
    crn_encoder *encoder;
    fputs("ok\n", out);
    if (!json) {
        fprintf(out, "file      %s\nwhy       %s\n", file,
                crn_condition_clause(&conditions->at[0], clause));
        return;
    }
    if (crn_encoder_create(CRN_FORMAT_JSON, &encoder) < 0)
        return;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 1 + CRN_CONDITIONS_PAIRS);
    crn_encoder_pair_text(encoder, "file", file);
    crn_conditions_json(conditions, crn_now_ns(), encoder);
    crn_encoder_map_end(encoder);
    crn_encoder_print(encoder, out);
    crn_encoder_free(&encoder);
}

static void answer_status(const crn_reload_settings *settings, bool json, FILE *out)
{
    crn_line_status status;
    crn_condition_list conditions;
    crn_line_conditions(settings->line, &conditions);
    if (conditions.count > 0 && conditions.at[0].row == crn_condition_named("line_hangs")) {
        put_hang(settings->file->file, json, &conditions, out);
        return;
    }
    if (crn_line_status_get(settings->line, &status) < 0) {
        fputs("refused\nthe daemon stops\n", out);
        return;
    }
    fputs("ok\n", out);
    (json ? put_status_json : put_status_text)(settings, &status, &conditions, out);
}

static void answer_trace(const crn_line *line, FILE *out)
{
    const char *address = crn_line_http(line);
    if (address[0])
        fprintf(out, "ok\nhttp://%s/trace\n", address);
    else
        fputs("refused\nthere is no flight recorder without monitor.http\n", out);
}

/* The folder: who asks reads the files itself. */
static void answer_changes(const crn_reload_settings *from, FILE *out)
{
    const char *dir = from->running->state.dir;
    char whole[PATH_MAX];
    if (dir[0])
        fprintf(out, "ok\n%s\n", realpath(dir, whole) ? whole : dir);
    else
        fputs("refused\nno changes are recorded, as state.dir is empty\n", out);
}

typedef struct asked_change {
    crn_request_target *target;
    const char *request;
    const crn_changed_by *by;
} asked_change;

static int do_change(void *context, FILE *lines)
{
    const asked_change *asked = context;
    const char *request = asked->request;
    if (crn_lots_request_changes(request))
        return crn_lots_change(&asked->target->lots, request, asked->by, lines);
    return strcmp(request, "reload") == 0
               ? crn_request_reload(asked->target, asked->by, lines)
               : crn_reloader_use_recipe(asked->target->reloader, request[6] ? request + 7 : "",
                                         asked->by, lines);
}

void crn_request_answer(crn_request_target *target, const char *request, const crn_changed_by *by,
                        FILE *out)
{
    const crn_reload_settings *reload = &target->settings.reload;
    char alarm_by[CRN_ALARM_BY_BYTES];
    snprintf(alarm_by, sizeof alarm_by, "user %u", (unsigned)by->user);
    if (crn_request_changes(request)) {
        asked_change asked = {target, request, by};
        crn_control_answer_change(do_change, &asked, NULL, out);
    } else if (strcmp(request, "status") == 0 || strcmp(request, "status json") == 0) {
        answer_status(reload, request[6] != '\0', out);
    } else if (strcmp(request, "recipes") == 0) {
        fputs("ok\n", out);
        crn_reloader_list_recipes(target->reloader, out);
    } else if (strcmp(request, "lot") == 0) {
        fputs("ok\n", out);
        crn_lot_print(&target->lots.lot, out);
    } else if (strcmp(request, "trace") == 0) {
        answer_trace(reload->line, out);
    } else if (strcmp(request, "changes") == 0) {
        answer_changes(reload, out);
    } else if (!crn_alarm_request_answer(crn_line_alarms(reload->line), request, alarm_by, out)) {
        fputs("refused\nunknown request; known: status, status json, reload, recipe NAME, recipes, "
              "lot, lot ID --grower G --variety V, lot --end, alarms, alarms acknowledge N, alarms "
              "shelve N MINUTES, trace, changes\n",
              out);
    }
}
