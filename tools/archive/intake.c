#include "tools/archive/intake.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/decode.h"
#include "src/formats/verdict_log/format.h"
#include "stages/base/clock.h"

#define TRANSACTION_NS CRN_NS_PER_S /* so that one ends where its thread gets little time */

int crn_intake_init(crn_intake *intake, crn_destination *destination, crn_intake_kind kind,
                    const char *source, crn_intake_teller *tell, crn_error *error)
{
    *intake = (crn_intake){.destination = destination, .kind = kind, .tell = tell};
    intake->source = strdup(source);
    return intake->source ? 0 : crn_error_set(error, -ENOMEM, "%s: no memory", source);
}

void crn_intake_done(crn_intake *intake)
{
    free(intake->source);
    intake->source = NULL;
}

int crn_intake_begin(crn_intake *intake, crn_error *error)
{
    intake->entries = 0;
    intake->bytes = 0;
    intake->began_ns = crn_now_ns();
    memset(intake->coming, 0, sizeof intake->coming);
    return intake->destination->functions->begin(intake->destination, error);
}

static void count(crn_intake_stats *stats, const crn_intake_stats *more)
{
    stats->added += more->added;
    stats->known += more->known;
    stats->results += more->results;
    stats->missing += more->missing;
    stats->unreadable += more->unreadable;
}

int crn_intake_end(crn_intake *intake, int r, crn_error *error)
{
    if (r >= 0) {
        int committed =
            intake->destination->functions->commit(intake->destination, intake->coming, error);
        if (committed < 0)
            return committed;
        for (int kind = 0; kind < CRN_INTAKE_KINDS; kind++)
            count(&intake->stats[kind], &intake->coming[kind]);
        return r;
    }
    intake->destination->functions->undo(intake->destination);
    return r;
}

bool crn_intake_is_full(const crn_intake *intake)
{
    return intake->entries >= intake->destination->entries_max ||
           intake->bytes >= intake->destination->bytes_max ||
           (intake->entries > 0 && crn_now_ns() - intake->began_ns >= TRANSACTION_NS);
}

void crn_intake_pass_over(crn_intake *intake, const char *line)
{
    intake->coming[intake->kind].unreadable++;
    intake->tell(line);
}

static int decode(const void *bytes, size_t size, crn_decoded **ret_verdict, crn_error *error)
{
    crn_messagepack_json packed;
    int r = crn_messagepack_json_init(&packed, bytes, size, error);
    if (r < 0)
        return r;
    if (crn_outcome_is_one(&packed))
        r = crn_error_set(error, -EMEDIUMTYPE,
                          "is an outcome of cernita-sorter: name its folder with --sorter");
    else if (crn_decode_is_other_version(&packed))
        r = crn_error_set(error, -EPROTONOSUPPORT,
                          "is of another version: use the cernita-archive of that daemon");
    else
        r = crn_decode(&packed, ret_verdict, error);
    crn_messagepack_json_done(&packed);
    return r;
}

/* One line about the entry at a place of the source. Returns `r`. */
static int set_fault(const crn_intake *intake, const crn_verdict_position *at, int r,
                     const char *fault, crn_error *error)
{
    char path[PATH_MAX];
    const char *what = intake->kind == CRN_INTAKE_OUTCOMES ? "entry" : "verdict";
    if (!at && intake->message)
        return crn_error_set(error, r, "%s: message %" PRIu64 " %s", intake->source,
                             intake->message, fault);
    if (!at)
        return crn_error_set(error, r, "%s: a verdict %s", intake->source, fault);
    crn_verdict_log_path(path, sizeof path, intake->source, at->number);
    return crn_error_set(error, r, "%s: the %s at byte %" PRIu64 " %s", path, what, at->offset,
                         fault);
}

/* Tells what cannot be read, which is passed over: 0; another `r` is an error. */
static int take_fault(crn_intake *intake, const crn_verdict_position *at, int r,
                      const crn_error *fault, crn_error *error)
{
    if (r == -EPROTONOSUPPORT || r == -EMEDIUMTYPE)
        return set_fault(intake, at, r, fault->text, error);
    if (r != -EBADMSG)
        return crn_error_set(error, r, "%s: %s", intake->source, fault->text);
    crn_error clause, line;
    crn_error_set(&clause, r, "cannot be read and is passed over: %s", fault->text);
    set_fault(intake, at, r, clause.text, &line);
    crn_intake_pass_over(intake, line.text);
    return 0;
}

static int add_result(crn_intake *intake, const crn_entry *entry, const crn_firing_outcome *firing,
                      crn_error *error)
{
    crn_intake_stats *coming = &intake->coming[intake->kind];
    crn_added_result result;
    int r = intake->destination->functions->add_result(intake->destination, entry, firing, &result,
                                                       error);
    if (r < 0)
        return r;
    coming->results += result == CRN_RESULT_ADDED;
    coming->known += result == CRN_RESULT_KNOWN;
    coming->missing += result == CRN_RESULT_MISSING;
    return 0;
}

static int add_outcome(crn_intake *intake, const crn_entry *entry, crn_error *error)
{
    crn_intake_stats *coming = &intake->coming[intake->kind];
    crn_outcome_entry decoded;
    crn_error fault;
    bool is_new;
    int r = crn_outcome_parse(entry->bytes, entry->size, &decoded, &fault);
    if (r < 0)
        return take_fault(intake, entry->at, r, &fault, error);
    if (decoded.is_firing)
        return add_result(intake, entry, &decoded.firing, error);
    r = intake->destination->functions->add_outcome(intake->destination, entry, &decoded.outcome,
                                                    &is_new, error);
    if (r < 0)
        return r;
    coming->added += is_new;
    coming->known += !is_new;
    return 0;
}

static int add_verdict(crn_intake *intake, const crn_entry *entry, crn_error *error)
{
    crn_intake_stats *coming = &intake->coming[intake->kind];
    crn_decoded *verdict = NULL;
    crn_added added;
    crn_error fault;
    int r = decode(entry->bytes, entry->size, &verdict, &fault);
    if (r < 0)
        return take_fault(intake, entry->at, r, &fault, error);
    r = intake->destination->functions->add_verdict(intake->destination, entry, verdict, &added,
                                                    error);
    crn_decoded_free(&verdict);
    if (r < 0)
        return r;
    coming->added += added.is_new;
    coming->known += !added.is_new;
    coming->missing += added.missing;
    return 0;
}

int crn_intake_add(crn_intake *intake, const void *bytes, size_t size,
                   const crn_verdict_position *at, crn_error *error)
{
    crn_entry entry = {.bytes = bytes, .size = size, .at = at};
    intake->entries++;
    intake->bytes += size;
    return intake->kind == CRN_INTAKE_OUTCOMES ? add_outcome(intake, &entry, error)
                                               : add_verdict(intake, &entry, error);
}
