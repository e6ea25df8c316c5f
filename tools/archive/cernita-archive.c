/* cernita-archive: a line's verdicts, of its log or as viewers get them, into an SQLite file, each
 * once. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/process/standard.h"
#include "tools/archive/import.h"
#include "tools/archive/state.h"
#include "tools/archive/subscriber.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/signals.h"

#define WAIT_MS 500 /* until the source is looked at again; it holds what comes meanwhile */

typedef struct archive_settings {
    const char *from, *to, *state, *sorter;
    bool follow;
    crn_client_keys keys;
} archive_settings;

static const crn_option options[] = {
    CRN_OPTION_AT("from", "LOGDIR|ENDPOINT", archive_settings, from, .required = true,
                  .help = "the folder of a daemon's verdict log (publish.log.dir), which may be\n"
                          "running; or its publish.viewers, which loses what it cannot send"),
    CRN_OPTION_AT("to", "FILE.sqlite", archive_settings, to, .required = true,
                  .help = "the archive; made if it does not exist, else continued"),
    CRN_OPTION_AT("state", "DIR", archive_settings, state,
                  .help =
                      "the daemon's state.dir: its log of changes, the texts of its settings and\n"
                      "its lots' growers and varieties are archived, too"),
    CRN_OPTION_AT("sorter", "DIR", archive_settings, sorter,
                  .help =
                      "cernita-sorter's outputs.log.dir: the fruits' outlets are archived, too"),
    CRN_OPTION_AT("follow", NULL, archive_settings, follow,
                  .help = "go on as the daemon writes, until SIGTERM or SIGINT, instead of ending\n"
                          "at the log's end"),
    CRN_OPTIONS_OF_KEYS(archive_settings, keys),
    {0},
};

static const crn_tool tool = {
    .name = "cernita-archive",
    .operands = "",
    .about = "Writes each verdict of a line to an SQLite database, once: fruits, views, defects.\n"
             "A run goes on where the last one ended, however that ended.",
    .options = options,
};

/* One of log and line; the other is NULL. */
typedef struct archive_source {
    crn_import *log;
    crn_subscriber *line;
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

static int open_verdicts(crn_archive *archive, const archive_settings *set,
                         archive_source *ret_source, crn_error *error)
{
    if (strstr(set->from, "://"))
        return crn_subscriber_open(
            archive,
            &(crn_subscriber_settings){.endpoint = set->from, .keys = set->keys, .tell = tell},
            &ret_source->line, error);
    return crn_import_open(
        archive,
        &(crn_import_settings){
            .dir = set->from, .kind = CRN_INTAKE_VERDICTS, .follow = set->follow, .tell = tell},
        &ret_source->log, error);
}

static int open_outcomes(crn_archive *archive, const archive_settings *set,
                         archive_source *ret_source, crn_error *error)
{
    return crn_import_open(archive,
                           &(crn_import_settings){.dir = set->sorter,
                                                  .kind = CRN_INTAKE_OUTCOMES,
                                                  .follow = set->follow || ret_source->line,
                                                  .tell = tell},
                           &ret_source->outcomes, error);
}

static int open_source(crn_archive *archive, const archive_settings *set,
                       archive_source *ret_source, crn_error *error)
{
    int r = open_verdicts(archive, set, ret_source, error);
    if (r == 0 && set->sorter)
        r = open_outcomes(archive, set, ret_source, error);
    if (r < 0 || !set->state)
        return r;
    return crn_state_import_open(archive, &(crn_state_settings){.dir = set->state, .tell = tell},
                                 &ret_source->state, error);
}

/* 1: there may be more; 0: no more for now; or a negative errno with *error. Outcomes come last, so
 * that what is wrong with them keeps no verdict from the archive. */
static int step(const archive_source *source, crn_error *error)
{
    int r = source->state ? crn_state_import_step(source->state, error) : 0;
    if (r < 0)
        return r;
    r = source->line ? crn_subscriber_step(source->line, error)
                     : crn_import_step(source->log, error);
    return r == 0 && source->outcomes ? crn_import_step(source->outcomes, error) : r;
}

static int run(const archive_source *source, const crn_intake_stats *stats, bool follow,
               int signals, crn_error *error)
{
    crn_progress progress;
    crn_progress_begin(&progress, "verdicts", 0);
    uint64_t missing = 0;
    int r = 1;
    while (r >= 0 && !is_ended(signals, r || !follow ? 0 : WAIT_MS)) {
        r = step(source, error);
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
    const crn_state_stats *stats = crn_state_import_get_stats(state);
    printf("%" PRIu64 " changes and %" PRIu64 " texts of settings archived\n", stats->changes,
           stats->texts);
}

/* Without --follow what cannot be read fails the run, once all else is archived. */
static bool is_whole(const archive_source *source, bool follow)
{
    return !source->state || follow || source->line ||
           crn_state_import_get_fault(source->state) == 0;
}

static void print_outcomes(const crn_import *outcomes)
{
    if (!outcomes)
        return;
    const crn_intake_stats *stats = crn_import_get_stats(outcomes);
    printf("%" PRIu64 " outcomes and %" PRIu64 " results archived, %" PRIu64 " were there, %" PRIu64
           " results without an outcome, %" PRIu64 " unreadable\n",
           stats->added, stats->results, stats->known, stats->missing, stats->unreadable);
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-archive");
    archive_settings set = {.follow = false};
    crn_options_read(&tool, argc, argv, &set);
    int signals = crn_signals_catch();
    crn_archive archive;
    archive_source source = {NULL, NULL, NULL, NULL};
    crn_error error = {""};
    int r = crn_archive_open(&archive, set.to, &error);
    if (r == 0)
        r = open_source(&archive, &set, &source, &error);
    if (r == 0) {
        const crn_intake_stats *stats =
            source.line ? crn_subscriber_get_stats(source.line) : crn_import_get_stats(source.log);
        r = run(&source, stats, set.follow || source.line, signals, &error);
        printf("%" PRIu64 " verdicts archived, %" PRIu64 " were there, %" PRIu64
               " missing, %" PRIu64 " unreadable\n",
               stats->added, stats->known, stats->missing, stats->unreadable);
        print_outcomes(source.outcomes);
        print_state(source.state);
    }
    bool whole = is_whole(&source, set.follow);
    crn_import_close(&source.log);
    crn_import_close(&source.outcomes);
    crn_subscriber_close(&source.line);
    crn_state_import_close(&source.state);
    crn_archive_close(&archive);
    if (r < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    return whole ? 0 : 1;
}
