/* cernita-archive: a line's verdicts, of its log or as viewers get them, into an SQLite file or a
 * PostgreSQL database, each once; from the log to a stream of NATS, and from there into it, for
 * many lines. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/process/standard.h"
#include "tools/archive/idle_thread.h"
#include "tools/archive/import.h"
#include "tools/archive/nats/publisher.h"
#include "tools/archive/nats/reader.h"
#include "tools/archive/postgresql/postgresql.h"
#include "tools/archive/rows/tables.h"
#include "tools/archive/state/state.h"
#include "tools/archive/subscriber.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/signals.h"

#define WAIT_MS 500 /* until the source is looked at again; it holds what comes meanwhile */

/* With processors that others use up: seconds behind, not minutes. */
static const crn_idle_patience patience = {
    .begin_ns = 100 * CRN_NS_PER_MS, .within_ns = CRN_NS_PER_S, .rest_ns = 60 * CRN_NS_PER_S};

typedef struct archive_settings {
    const char *from, *to, *state, *sorter;
    bool follow;
    crn_client_keys keys;
    crn_nats_settings nats; /* without the URL */
} archive_settings;

static const crn_option options[] = {
    CRN_OPTION_AT("from", "LOGDIR|ENDPOINT|URL", archive_settings, from, .required = true,
                  .help = "the folder of a daemon's verdict log (publish.log.dir), which may be\n"
                          "running; or its publish.viewers, which loses what it cannot send; or\n"
                          "nats://HOST/STREAM, to which the archives of lines publish"),
    CRN_OPTION_AT("to", "FILE.sqlite|URL", archive_settings, to, .required = true,
                  .help = "the archive; made if it does not exist, else continued; or\n"
                          "postgresql://[USER@]HOST[:PORT]/DATABASE, which has to exist, with the\n"
                          "password in ~/.pgpass; or nats://HOST/STREAM, for an archive that many\n"
                          "lines have together"),
    CRN_OPTION_AT("state", "DIR", archive_settings, state,
                  .help = "the daemon's state.dir: its log of changes, the texts of its settings,\n"
                          "its lots' growers and varieties and its alarms are archived, too"),
    CRN_OPTION_AT("sorter", "DIR", archive_settings, sorter,
                  .help =
                      "cernita-sorter's outputs.log.dir: the fruits' outlets are archived, too"),
    CRN_OPTION_AT("follow", NULL, archive_settings, follow,
                  .help = "go on as the daemon writes, until SIGTERM or SIGINT, instead of ending\n"
                          "at the log's end"),
    CRN_OPTIONS_OF_KEYS(archive_settings, keys),
    CRN_OPTION_AT("nats-creds", "FILE", archive_settings, nats.creds,
                  .help =
                      "this user's credentials for NATS (nsc generate creds); or in the URL:\n"
                      "nats://USER:PASSWORD@HOST/STREAM, which other users of this machine see"),
    CRN_OPTION_AT("nats-ca", "FILE", archive_settings, nats.ca,
                  .help = "with TLS (tls://HOST/STREAM): the certificate of the server's issuer"),
    CRN_OPTION_AT("nats-cert", "FILE", archive_settings, nats.cert,
                  .help = "with TLS: this client's certificate, where the server wants one"),
    CRN_OPTION_AT("nats-key", "FILE", archive_settings, nats.key,
                  .help = "with --nats-cert: its secret key"),
    {0},
};

static const crn_tool tool = {
    .name = "cernita-archive",
    .operands = "",
    .about = "Writes each verdict of a line to an SQLite or PostgreSQL database, once: fruits,\n"
             "views, defects; of many lines by way of a stream of NATS JetStream. A run goes on\n"
             "where the last one ended, however that ended.",
    .options = options,
};

/* Where all goes: a file, a database of a server, or a stream. */
typedef struct archive_target {
    crn_archive archive;
    crn_archive_tables tables;
    crn_postgresql *server;
    crn_publisher *verdicts, *outcomes;
} archive_target;

/* One of log, line and stream; the others are NULL. */
typedef struct archive_source {
    crn_import *log;
    crn_subscriber *line;
    crn_nats_reader *stream;
    crn_state_import *state; /* NULL, as the next one: it is not archived */
    crn_import *outcomes;
} archive_source;

static void tell(const char *line)
{
    crn_tool_note(&tool, "%s", line);
}

/* Waits for a signal. True if one came. */
static bool is_ended(int signals, int wait_ms)
{
    struct pollfd item = {.fd = signals, .events = POLLIN};
    return poll(&item, 1, wait_ms) > 0;
}

static crn_nats_settings nats_of(const archive_settings *set, const char *url)
{
    crn_nats_settings nats = set->nats;
    nats.url = url;
    return nats;
}

/* --- the destination --- */

static int open_target(const archive_settings *set, archive_target *target, crn_error *error)
{
    if (crn_postgresql_is_url(set->to))
        return crn_postgresql_open(set->to, &target->server, error);
    if (!crn_nats_is_url(set->to)) {
        int r = crn_archive_open(&target->archive, set->to, error);
        return r == 0 ? crn_archive_tables_init(&target->tables, &target->archive, error) : r;
    }
    crn_publisher_settings settings = {.nats = nats_of(set, set->to), .kind = "verdicts"};
    int r = crn_publisher_open(&settings, &target->verdicts, error);
    settings.kind = "outcomes";
    if (r == 0 && set->sorter)
        r = crn_publisher_open(&settings, &target->outcomes, error);
    return r;
}

static void close_target(archive_target *target)
{
    crn_publisher_close(&target->verdicts);
    crn_publisher_close(&target->outcomes);
    crn_postgresql_close(&target->server);
    if (target->archive.path)
        crn_archive_close(&target->archive);
}

static crn_destination *destination_of(archive_target *target, crn_publisher *publisher)
{
    if (target->server)
        return crn_postgresql_get_destination(target->server);
    return publisher ? crn_publisher_get_destination(publisher) : &target->tables.destination;
}

/* --- the source --- */

static int open_verdicts(archive_target *target, const archive_settings *set,
                         archive_source *ret_source, crn_error *error)
{
    crn_destination *destination = destination_of(target, target->verdicts);
    if (crn_nats_is_url(set->from))
        return crn_nats_reader_open(destination,
                                    &(crn_nats_reader_settings){.nats = nats_of(set, set->from),
                                                                .follow = set->follow,
                                                                .tell = tell},
                                    &ret_source->stream, error);
    if (strstr(set->from, "://"))
        return crn_subscriber_open(
            destination,
            &(crn_subscriber_settings){.endpoint = set->from, .keys = set->keys, .tell = tell},
            &ret_source->line, error);
    return crn_import_open(
        destination,
        &(crn_import_settings){
            .dir = set->from, .kind = CRN_INTAKE_VERDICTS, .follow = set->follow, .tell = tell},
        &ret_source->log, error);
}

static int open_outcomes(archive_target *target, const archive_settings *set,
                         archive_source *ret_source, crn_error *error)
{
    return crn_import_open(destination_of(target, target->outcomes),
                           &(crn_import_settings){.dir = set->sorter,
                                                  .kind = CRN_INTAKE_OUTCOMES,
                                                  .follow = set->follow || ret_source->line,
                                                  .tell = tell},
                           &ret_source->outcomes, error);
}

static int open_source(archive_target *target, const archive_settings *set,
                       archive_source *ret_source, crn_error *error)
{
    int r = open_verdicts(target, set, ret_source, error);
    if (r == 0 && set->sorter)
        r = open_outcomes(target, set, ret_source, error);
    if (r < 0 || !set->state)
        return r;
    return crn_state_import_open(&target->archive,
                                 &(crn_state_settings){.dir = set->state, .tell = tell},
                                 &ret_source->state, error);
}

static void close_source(archive_source *source)
{
    crn_import_close(&source->log);
    crn_import_close(&source->outcomes);
    crn_subscriber_close(&source->line);
    crn_nats_reader_close(&source->stream);
    crn_state_import_close(&source->state);
}

static int step_verdicts(const archive_source *source, crn_error *error)
{
    if (source->stream)
        return crn_nats_reader_step(source->stream, error);
    return source->line ? crn_subscriber_step(source->line, error)
                        : crn_import_step(source->log, error);
}

/* NULL: outcomes, which are not archived. */
static const crn_intake_stats *stats_of(const archive_source *source, crn_intake_kind kind)
{
    if (source->stream)
        return crn_nats_reader_get_stats(source->stream, kind);
    if (kind == CRN_INTAKE_OUTCOMES)
        return source->outcomes ? crn_import_get_stats(source->outcomes) : NULL;
    return source->line ? crn_subscriber_get_stats(source->line)
                        : crn_import_get_stats(source->log);
}

/* 1: there may be more; 0: no more for now; or a negative errno with *error. Outcomes come last, so
 * that what is wrong with them keeps no verdict from the archive. */
static int step(const archive_source *source, crn_error *error)
{
    int r = source->state ? crn_state_import_step(source->state, error) : 0;
    if (r < 0)
        return r;
    r = step_verdicts(source, error);
    return r == 0 && source->outcomes ? crn_import_step(source->outcomes, error) : r;
}

typedef struct archive_step {
    const archive_source *source;
    crn_error *error;
} archive_step;

static int step_of(void *context)
{
    const archive_step *one = context;
    return step(one->source, one->error);
}

/* `idle` is the thread that steps, NULL: this one. */
static int run(const archive_source *source, const crn_intake_stats *stats, bool follow,
               int signals, crn_idle_thread *idle, crn_error *error)
{
    archive_step one = {source, error};
    crn_progress progress;
    crn_progress_begin(&progress, "verdicts", 0);
    uint64_t missing = 0;
    int r = 1;
    while (r >= 0 && !is_ended(signals, r || !follow ? 0 : WAIT_MS)) {
        r = idle ? crn_idle_thread_run(idle, step_of, &one, &patience) : step(source, error);
        crn_progress_update(&progress, stats->added, NULL);
        if (stats->missing > missing)
            crn_tool_note(&tool, "%" PRIu64 " verdicts are missing (the view `gaps` lists which)",
                          stats->missing - missing);
        missing = stats->missing;
        if (r == 0 && !follow)
            break;
    }
    crn_progress_end(&progress);
    return r;
}

static void print_state(const crn_state_import *state)
{
    if (!state)
        return;
    crn_state_stats stats = crn_state_import_get_stats(state);
    printf("%" PRIu64 " changes, %" PRIu64 " texts of settings and %" PRIu64 " alarms archived\n",
           stats.changes, stats.texts, stats.alarms);
}

/* Without --follow what cannot be read fails the run, once all else is archived. */
static bool is_whole(const archive_source *source, bool follow)
{
    return !source->state || follow || source->line ||
           crn_state_import_get_fault(source->state) == 0;
}

static void print_published(const archive_source *source)
{
    const crn_intake_stats *stats = stats_of(source, CRN_INTAKE_VERDICTS);
    const crn_intake_stats *outcomes = stats_of(source, CRN_INTAKE_OUTCOMES);
    printf("%" PRIu64 " verdicts published, %" PRIu64 " unreadable\n", stats->added,
           stats->unreadable);
    if (outcomes)
        printf("%" PRIu64 " outcomes and %" PRIu64 " results published, %" PRIu64 " unreadable\n",
               outcomes->added, outcomes->results, outcomes->unreadable);
}

static void print_archived(const archive_source *source)
{
    const crn_intake_stats *stats = stats_of(source, CRN_INTAKE_VERDICTS);
    printf("%" PRIu64 " verdicts archived, %" PRIu64 " were there, %" PRIu64 " missing, %" PRIu64
           " unreadable\n",
           stats->added, stats->known, stats->missing, stats->unreadable);
    stats = stats_of(source, CRN_INTAKE_OUTCOMES);
    if (stats)
        printf("%" PRIu64 " outcomes and %" PRIu64 " results archived, %" PRIu64
               " were there, %" PRIu64 " results without an outcome, %" PRIu64 " unreadable\n",
               stats->added, stats->results, stats->known, stats->missing, stats->unreadable);
    print_state(source->state);
}

/* What a stream does not take, or gives already. */
static void check_usage(const archive_settings *set)
{
    if (crn_nats_is_url(set->from) && set->sorter)
        crn_usage_error(&tool, "--from nats:// has outcomes, too: give --sorter where the line is");
    if (crn_postgresql_is_url(set->from))
        crn_usage_error(&tool, "--from takes no database: give it to --to");
    if (crn_postgresql_is_url(set->to) && set->state)
        crn_usage_error(&tool, "--state is not archived in PostgreSQL: archive it where it is, "
                               "to a FILE.sqlite");
    if (!crn_nats_is_url(set->to))
        return;
    if (strstr(set->from, "://"))
        crn_usage_error(&tool, "--to nats:// takes a log: name its folder with --from");
    if (set->state)
        crn_usage_error(&tool, "--state is not published to NATS: archive it where it is, "
                               "to a FILE.sqlite");
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-archive");
    archive_settings set = {.follow = false};
    crn_options_read(&tool, argc, argv, &set);
    check_usage(&set);
    int signals = crn_signals_catch();
    static archive_target target;
    /* Never stopped: it has nothing to end, and may not get a processor for long. */
    static crn_idle_thread *idle;
    archive_source source = {.log = NULL};
    crn_error error = {""};
    int r = open_target(&set, &target, &error);
    if (r == 0)
        r = open_source(&target, &set, &source, &error);
    bool follow = set.follow || source.line;
    if (r == 0 && follow)
        crn_idle_thread_start(&idle);
    if (r == 0) {
        r = run(&source, stats_of(&source, CRN_INTAKE_VERDICTS), follow, signals, idle, &error);
        if (target.verdicts)
            print_published(&source);
        else
            print_archived(&source);
    }
    bool whole = is_whole(&source, set.follow);
    close_source(&source);
    close_target(&target);
    if (r < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    return whole ? 0 : 1;
}
