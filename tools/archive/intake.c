#include "tools/archive/intake.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/decode.h"
#include "src/formats/verdict_log/format.h"

/* Limits of a transaction. */
#define VERDICTS_MAX 10000
#define BYTES_MAX    CRN_ARCHIVE_TRANSACTION_BYTES

int crn_intake_init(crn_intake *intake, crn_archive *archive, crn_intake_kind kind,
                    const char *source, crn_intake_teller *tell, crn_error *error)
{
    *intake = (crn_intake){.archive = archive, .kind = kind, .tell = tell};
    intake->source = strdup(source);
    if (!intake->source)
        return crn_error_set(error, -ENOMEM, "%s: no memory", source);
    return kind == CRN_INTAKE_OUTCOMES
               ? crn_archive_outcomes_init(&intake->outcomes, archive, error)
               : crn_archive_rows_init(&intake->rows, archive, error);
}

void crn_intake_done(crn_intake *intake)
{
    free(intake->source);
    intake->source = NULL;
}

int crn_intake_begin(crn_intake *intake, crn_error *error)
{
    intake->verdicts = 0;
    intake->bytes = 0;
    intake->coming = (crn_intake_stats){0};
    return crn_archive_begin(intake->archive, error);
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
        int committed = crn_archive_commit(intake->archive, error);
        if (committed < 0)
            return committed;
        count(&intake->stats, &intake->coming);
        return r;
    }
    crn_archive_undo(intake->archive);
    return r;
}

bool crn_intake_is_full(const crn_intake *intake)
{
    return intake->verdicts >= VERDICTS_MAX || intake->bytes >= BYTES_MAX;
}

void crn_intake_pass_over(crn_intake *intake, const char *line)
{
    intake->coming.unreadable++;
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

static int add_result(crn_intake *intake, const crn_firing_outcome *firing, crn_error *error)
{
    crn_archive_result result;
    int r = crn_archive_outcomes_set_result(&intake->outcomes, firing, &result, error);
    if (r < 0)
        return r;
    intake->coming.results += result == CRN_ARCHIVE_RESULT_ADDED;
    intake->coming.known += result == CRN_ARCHIVE_RESULT_KNOWN;
    intake->coming.missing += result == CRN_ARCHIVE_RESULT_MISSING;
    return 0;
}

static int add_outcome(crn_intake *intake, const void *bytes, size_t size,
                       const crn_verdict_position *at, crn_error *error)
{
    crn_outcome_entry entry;
    crn_error fault;
    bool is_new;
    int r = crn_outcome_parse(bytes, size, &entry, &fault);
    if (r < 0)
        return take_fault(intake, at, r, &fault, error);
    if (entry.is_firing)
        return add_result(intake, &entry.firing, error);
    r = crn_archive_outcomes_add(&intake->outcomes, &entry.outcome, &is_new, error);
    if (r < 0)
        return r;
    intake->coming.added += is_new;
    intake->coming.known += !is_new;
    return 0;
}

static int add_verdict(crn_intake *intake, const void *bytes, size_t size,
                       const crn_verdict_position *at, crn_error *error)
{
    crn_decoded *verdict = NULL;
    crn_archive_added added;
    crn_error fault;
    int r = decode(bytes, size, &verdict, &fault);
    if (r < 0)
        return take_fault(intake, at, r, &fault, error);
    r = crn_archive_rows_add(&intake->rows, verdict, &added, error);
    crn_decoded_free(&verdict);
    if (r < 0)
        return r;
    intake->coming.added += added.is_new;
    intake->coming.known += !added.is_new;
    intake->coming.missing += added.missing;
    return 0;
}

int crn_intake_add(crn_intake *intake, const void *bytes, size_t size,
                   const crn_verdict_position *at, crn_error *error)
{
    intake->verdicts++;
    intake->bytes += size;
    return intake->kind == CRN_INTAKE_OUTCOMES ? add_outcome(intake, bytes, size, at, error)
                                               : add_verdict(intake, bytes, size, at, error);
}
