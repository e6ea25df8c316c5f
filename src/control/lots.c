#include "src/control/lots.h"

#include <errno.h>
#include <string.h>

#include "src/control/kept/kept_file.h"
#include "src/control/kept/kept_lot.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"

static const char request_head[] = "lot ";

bool crn_lots_request_changes(const char *request)
{
    return strncmp(request, request_head, strlen(request_head)) == 0;
}

/* --- the request's texts --- */

/*
 * Copies one text of the request. Bytes that do not print arrive as question marks, so a text with
 * one may not be what was meant. A dash begins an option.
 */
static int take_text(const char *what, const char *text, size_t length, size_t bytes, char *to,
                     crn_error *error)
{
    if (length == 0)
        return crn_error_set(error, -EINVAL, "lot: %s is empty; give it a text, or leave it out",
                             what);
    if (length >= bytes)
        return crn_error_set(error, -EINVAL,
                             "lot: %s has %zu bytes, and at most %zu fit: shorten it", what, length,
                             bytes - 1);
    if (memchr(text, '?', length))
        return crn_error_set(error, -EINVAL,
                             "lot: %s has a question mark, or bytes that do not print: leave them "
                             "out",
                             what);
    if (text[0] == '-' || text[0] == ' ' || text[length - 1] == ' ')
        return crn_error_set(error, -EINVAL,
                             "lot: %s begins with a dash or a space, or ends with a space: begin "
                             "and end it with another character",
                             what);
    memcpy(to, text, length);
    to[length] = '\0';
    return 0;
}

/* The texts stand in this order; what is left out is empty. */
static int parse(const char *request, crn_lot *ret_lot, crn_error *error)
{
    const struct {
        const char *what, *option;
        char *to;
        size_t bytes;
    } texts[] = {{"the id", "", ret_lot->id, sizeof ret_lot->id},
                 {"the grower", " --grower ", ret_lot->grower, sizeof ret_lot->grower},
                 {"the variety", " --variety ", ret_lot->variety, sizeof ret_lot->variety}};
    const char *at = request + strlen(request_head);
    int r = 0;
    for (size_t i = 0; r == 0 && i < 3; i++) {
        size_t skipped = strlen(texts[i].option);
        if (strncmp(at, texts[i].option, skipped) != 0)
            continue;
        at += skipped;
        const char *end = strstr(at, " --");
        size_t length = end ? (size_t)(end - at) : strlen(at);
        r = take_text(texts[i].what, at, length, texts[i].bytes, texts[i].to, error);
        at += length;
    }
    if (r == 0 && *at)
        r = crn_error_set(error, -EINVAL,
                          "lot: '%s' is not expected; known: lot ID --grower G --variety V, "
                          "lot --end",
                          at + 1);
    return r;
}

/* --- changes --- */

static int try_to_keep(crn_lots *lots, crn_error *error)
{
    const char *dir = lots->from->running->state.dir;
    int r = dir[0] ? crn_kept_lot_write(dir, lots->from->file->file, &lots->lot, error) : 0;
    lots->keep_again_ns = r < 0 ? crn_now_ns() + CRN_KEEP_AGAIN_NS : 0;
    crn_line_note_lot_kept(lots->from->line, r);
    return r;
}

void crn_lots_keep_again(crn_lots *lots)
{
    crn_error error;
    if (lots->keep_again_ns != 0 && crn_now_ns() >= lots->keep_again_ns &&
        try_to_keep(lots, &error) == 0)
        crn_log(CRN_LOG_INFO, "lot: a restart keeps it now");
}

/* Before the client is answered. A disk that fails does not keep the line from its new lot. */
static void keep(crn_lots *lots, FILE *out)
{
    crn_error error;
    if (try_to_keep(lots, &error) == 0)
        return;
    crn_log(CRN_LOG_WARNING, "lot: a restart would lose it, until it can be kept: %s", error.text);
    fprintf(out, "note: a restart would lose it, until it can be kept: %s\n", error.text);
}

void crn_lot_print(const crn_lot *lot, FILE *out)
{
    fprintf(out, "lot       %s\n", lot->id[0] ? lot->id : "none");
    if (lot->grower[0])
        fprintf(out, "grower    %s\n", lot->grower);
    if (lot->variety[0])
        fprintf(out, "variety   %s\n", lot->variety);
}

/* `fault` NULL: it is in force; otherwise the entry has the request, too. */
static void record(const crn_lots *lots, const crn_lot *lot, const crn_changed_by *by,
                   const char *request, const char *fault)
{
    static crn_change change; /* of one thread */
    char keys[2 * CRN_LOT_TEXT_BYTES + 32], refused[CRN_CHANGE_KEYS_BYTES];
    _Static_assert(CRN_LOT_ID_BYTES <= CRN_CHANGE_LOT_BYTES, "an entry holds an id whole");
    crn_change_begin(&change, "lot", by);
    snprintf(keys, sizeof keys, "%s%s%s%s%s%s", lot->grower[0] ? "grower: " : "", lot->grower,
             lot->grower[0] ? "\n" : "", lot->variety[0] ? "variety: " : "", lot->variety,
             lot->variety[0] ? "\n" : "");
    change.refused = fault != NULL;
    snprintf(refused, sizeof refused, "asked: %s\n%s", request, fault ? fault : "");
    crn_change_set_keys(&change, fault ? refused : keys);
    crn_change_set_lot(&change, lots->lot.id);
    crn_changes_add(lots->from->changes, &change, NULL);
}

int crn_lots_change(crn_lots *lots, const char *request, const crn_changed_by *by, FILE *out)
{
    crn_error error;
    crn_lot lot = {.since_s = crn_realtime_ns() / CRN_NS_PER_S};
    bool ends = strcmp(request, "lot --end") == 0;
    int r = ends ? 0 : parse(request, &lot, &error);
    if (r == 0 && (r = crn_line_set_lot(lots->from->line, &lot)) < 0)
        crn_error_set(&error, r, "the daemon stops");
    if (r < 0) {
        crn_log(CRN_LOG_ERROR, "lot refused: %s", error.text);
        record(lots, &lot, by, request, error.text);
        fprintf(out, "%s\n", error.text);
        return r;
    }
    lots->lot = lot;
    record(lots, &lot, by, request, NULL);
    keep(lots, out);
    crn_log(CRN_LOG_INFO, "lot: fruits from now on are of %s%s%s", ends ? "no lot" : "lot '",
            lot.id, ends ? "" : "'");
    crn_lot_print(&lot, out);
    return 0;
}
