/* cernita-archive: a line's verdict log into an SQLite file, each verdict once. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "stages/base/process/standard.h"
#include "tools/archive/import.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/signals.h"

#define WAIT_MS 500 /* until the log is looked at again */

typedef struct archive_settings {
    const char *from, *to;
    bool follow;
} archive_settings;

static const crn_option options[] = {
    CRN_OPTION_AT("from", "LOGDIR", archive_settings, from, .required = true,
                  .help = "the folder of a daemon's verdict log (publish.log.dir); the daemon may\n"
                          "be running"),
    CRN_OPTION_AT("to", "FILE.sqlite", archive_settings, to, .required = true,
                  .help = "the archive; made if it does not exist, else continued"),
    CRN_OPTION_AT("follow", NULL, archive_settings, follow,
                  .help = "go on as the daemon writes, until SIGTERM or SIGINT, instead of ending\n"
                          "at the log's end"),
    {0},
};

static const crn_tool tool = {
    .name = "cernita-archive",
    .operands = "",
    .about = "Writes each verdict of a log to an SQLite database, once: fruits, views, defects.\n"
             "A run goes on where the last one ended, however that ended.",
    .options = options,
};

static void tell(void *context, const char *line)
{
    (void)context;
    crn_tool_note(&tool, "%s", line);
}

/* Waits for a signal. True if one came. */
static bool is_ended(int signals, int wait_ms)
{
    struct pollfd item = {.fd = signals, .events = POLLIN};
    return poll(&item, 1, wait_ms) > 0;
}

static int run(crn_import *import, bool follow, int signals, crn_error *error)
{
    const crn_import_stats *stats = crn_import_get_stats(import);
    crn_progress progress;
    crn_progress_begin(&progress, "verdicts", 0);
    uint64_t missing = 0;
    int r = 1;
    while (r >= 0 && !is_ended(signals, r || !follow ? 0 : WAIT_MS)) {
        r = crn_import_step(import, error);
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

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-archive");
    archive_settings set = {.follow = false};
    crn_options_read(&tool, argc, argv, &set);
    int signals = crn_signals_catch();
    crn_archive archive;
    crn_import *import = NULL;
    crn_error error = {""};
    int r = crn_archive_open(&archive, set.to, &error);
    if (r == 0)
        r = crn_import_open(
            &archive, &(crn_import_settings){.dir = set.from, .follow = set.follow, .tell = tell},
            &import, &error);
    if (r == 0) {
        r = run(import, set.follow, signals, &error);
        const crn_import_stats *stats = crn_import_get_stats(import);
        printf("%" PRIu64 " verdicts archived, %" PRIu64 " were there, %" PRIu64
               " missing, %" PRIu64 " unreadable\n",
               stats->added, stats->known, stats->missing, stats->unreadable);
    }
    crn_import_close(&import);
    crn_archive_close(&archive);
    return r < 0 ? crn_tool_fail(&tool, "%s", error.text) : 0;
}
