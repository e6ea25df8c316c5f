/* cernita-why: says of a fruit in a daemon's verdict log or flight recorder where its time went,
 * and why it was late, partial or over budget. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/process/standard.h"
#include "tools/common/local_time.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/why/daemon/download.h"
#include "tools/why/daemon/save.h"
#include "tools/why/scan.h"
#include "tools/why/selection.h"
#include "tools/why/daemon/state.h"
#include "tools/why/output/waterfall.h"

#define COUNT_DEFAULT 10

typedef enum why_option {
    OPTION_LATE,
    OPTION_PARTIAL,
    OPTION_OVER_BUDGET,
    OPTION_SLOWEST,
    OPTION_LANE,
    OPTION_LAST,
    OPTION_SINCE,
    OPTION_EPOCH,
    OPTION_JSON,
    OPTION_SAVE,
    OPTION_TRACE,
} why_option;

static const crn_option options[] = {
    [OPTION_LATE] = CRN_OPTION("late", NULL, "fruits that were late, the last ones"),
    [OPTION_PARTIAL] =
        CRN_OPTION("partial", NULL, "fruits that were partial; with --late: or late"),
    [OPTION_OVER_BUDGET] = CRN_OPTION(
        "over-budget", NULL, "fruits whose verdict left after their budget or their deadline"),
    [OPTION_SLOWEST] =
        CRN_OPTION("slowest", "N", "the N fruits (1 to 1000) longest from close to verdict"),
    [OPTION_LANE] = CRN_OPTION("lane", "N", "only this lane's fruits"),
    [OPTION_LAST] = CRN_OPTION("last", "N", "the last N of them (1 to 1000; 10 by default)"),
    [OPTION_SINCE] =
        CRN_OPTION("since", "TIME",
                   "only verdicts from this local time on: '2026-11-23 01:30', or 01:30 for\n"
                   "the last time that clocks showed it"),
    [OPTION_EPOCH] =
        CRN_OPTION("epoch", "N", "with LANE FRUIT: the fruit of this epoch, not the last one"),
    [OPTION_JSON] = CRN_OPTION("json", NULL, "one line of JSON per fruit"),
    [OPTION_SAVE] =
        CRN_OPTION("save", "FILE",
                   "of ENDPOINT: writes the maps of these fruits that the daemon keeps to a\n"
                   "recording, FILE.tif: of the last ones that were late, partial or over budget"),
    [OPTION_TRACE] = CRN_OPTION("trace", "FILE",
                                "of ENDPOINT: writes its last five seconds as a trace for\n"
                                "ui.perfetto.dev, and explains nothing"),
    {0},
};

static const crn_tool tool = {
    .name = "cernita-why",
    .operands = "LOGDIR|ENDPOINT [LANE FRUIT]",
    .about =
        "Says why a fruit was late, partial or over budget, and where its time went: one "
        "sentence,\n"
        "a bar per view, the sums. LOGDIR is the daemon's publish.log.dir; it may be in use.\n"
        "ENDPOINT is the monitor.http of a running daemon, HOST:PORT, whose last fruits it keeps.\n"
        "What ran and waited at the time is taken from the verdicts on other fruits. ENDPOINT "
        "alone\n"
        "prints what is wrong with the whole line now: an absent grader, a full disk.",
    .options = options,
    .operands_min = 1,
    .operands_max = 3,
};

typedef struct why_settings {
    const char *source; /* as named: a folder or an endpoint */
    const char *dir;    /* of the log */
    crn_choice choice;
    bool json, state_only;
    const char *save, *trace; /* files to write; NULL: none */
} why_settings;

/* --- the command line --- */

static uint64_t read_since(const char *text)
{
    uint64_t since_ns;
    if (!crn_local_time_parse(text, &since_ns))
        crn_usage_error(&tool, "--since '%s' is not a time: expected 'YYYY-MM-DD HH:MM', or HH:MM",
                        text);
    return since_ns;
}

static uint64_t read_number(const char *name, const char *text, uint64_t max)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!*text || *end || errno || *text < '0' || *text > '9' || value > max)
        crn_usage_error(&tool, "%s '%s' is not a whole number from 0 to %" PRIu64, name, text, max);
    return value;
}

static void read_option(why_settings *set, int option, const char *value)
{
    crn_choice *choice = &set->choice;
    switch ((why_option)option) {
    case OPTION_LATE:
        choice->late = true;
        break;
    case OPTION_PARTIAL:
        choice->partial = true;
        break;
    case OPTION_OVER_BUDGET:
        choice->over_budget = true;
        break;
    case OPTION_SLOWEST:
        choice->slowest = true;
        choice->count = (uint32_t)crn_option_integer(&tool, "slowest", value, 1, CRN_CHOSEN_MAX);
        break;
    case OPTION_LANE:
        choice->lane = crn_option_integer(&tool, "lane", value, 0, UINT32_MAX);
        break;
    case OPTION_LAST:
        choice->count = (uint32_t)crn_option_integer(&tool, "last", value, 1, CRN_CHOSEN_MAX);
        break;
    case OPTION_SINCE:
        choice->since_ns = read_since(value);
        break;
    case OPTION_EPOCH:
        choice->has_epoch = true;
        choice->epoch = read_number("--epoch", value, UINT64_MAX);
        break;
    case OPTION_JSON:
        set->json = true;
        break;
    case OPTION_SAVE:
        set->save = value;
        break;
    case OPTION_TRACE:
        set->trace = value;
        break;
    }
}

static void read_fruit(why_settings *set, char **operands)
{
    crn_choice *choice = &set->choice;
    if (choice->late || choice->partial || choice->over_budget || choice->count ||
        choice->lane >= 0)
        crn_usage_error(&tool, "LANE FRUIT chooses one fruit: leave out --late, --partial, "
                               "--over-budget, --slowest, --lane and --last");
    choice->fruit = true;
    choice->lane = (int64_t)read_number("LANE", operands[0], UINT32_MAX);
    choice->number = read_number("FRUIT", operands[1], UINT64_MAX);
    choice->count = 1;
}

static void read_options(int argc, char **argv, why_settings *ret_set)
{
    why_settings set = {.choice = {.lane = -1}};
    const char *value;
    bool last = false;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END) {
        last |= option == OPTION_LAST;
        read_option(&set, option, value);
    }
    crn_choice *choice = &set.choice;
    set.source = set.dir = argv[optind];
    *ret_set = set;
    if (set.trace && !crn_download_is_endpoint(set.source))
        crn_usage_error(&tool, "--trace needs ENDPOINT: a log does not say where views ran");
    if (set.trace && (argc - optind > 1 || choice->late || choice->partial || choice->over_budget ||
                      choice->count || choice->since_ns || set.json || set.save))
        crn_usage_error(&tool, "--trace shows all that ran: it takes ENDPOINT alone");
    if (set.trace)
        return;
    if (set.save && !crn_download_is_endpoint(set.source))
        crn_usage_error(&tool, "--save needs ENDPOINT: a log has no maps");
    if (last && choice->slowest)
        crn_usage_error(&tool, "--last and --slowest exclude each other");
    int operands = argc - optind;
    if (operands == 2)
        crn_usage_error(&tool, "FRUIT is missing: expected LOGDIR|ENDPOINT LANE FRUIT");
    if (operands == 3)
        read_fruit(&set, argv + optind + 1);
    else if (choice->has_epoch)
        crn_usage_error(&tool, "--epoch needs LANE FRUIT");
    else if (!choice->late && !choice->partial && !choice->over_budget && !choice->count) {
        set.state_only = crn_download_is_endpoint(set.source) && !set.save;
        if (!set.state_only)
            crn_usage_error(&tool, "which fruits? name LANE FRUIT, or --late, --partial, "
                                   "--over-budget, --slowest N or --last N");
    }
    if (!choice->count)
        choice->count = COUNT_DEFAULT;
    *ret_set = set;
}

/* --- the log --- */

static int check_folder(const char *dir, crn_error *error)
{
    struct stat about;
    bool there = stat(dir, &about) == 0;
    if (there && S_ISDIR(about.st_mode))
        return 0;
    return crn_error_set(error, -ENOTDIR,
                         "%s: %s; expected the folder that publish.log.dir names in the daemon's "
                         "file, or HOST:PORT of its monitor.http",
                         dir, there ? "this is not a folder" : "there is no such folder");
}

/* A folder as it is; an endpoint's verdicts in a folder of their own. */
static int open_source(why_settings *set, crn_download *download, crn_error *error)
{
    if (access(set->source, F_OK) == 0 || !crn_download_is_endpoint(set->source))
        return check_folder(set->dir, error);
    int r = crn_download_verdicts(set->source, download, error);
    set->dir = download->dir;
    return r;
}

/* First pass: chooses. */
static int choose(crn_scan *scan, crn_selection *selection, crn_error *error)
{
    crn_progress progress;
    crn_decoded *verdict = NULL;
    int r, offered = 0;
    crn_progress_begin(&progress, "verdicts", 0);
    while (offered == 0 && (r = crn_scan_next(scan, &verdict, error)) != 0) {
        if (r < 0) {
            crn_tool_note(&tool, "%s", error->text);
            continue;
        }
        offered = crn_selection_offer(selection, &verdict);
        crn_decoded_free(&verdict);
        crn_progress_update(&progress, scan->coverage.verdicts, NULL);
    }
    crn_progress_end(&progress);
    return offered < 0 ? crn_error_set(error, offered, "no memory") : 0;
}

/* Second pass: what else went on. Notices were given in the first. */
static int look_around(const char *dir, crn_selection *selection, const crn_coverage *coverage,
                       crn_error *error)
{
    crn_scan scan;
    crn_progress progress;
    crn_decoded *verdict = NULL;
    int r = crn_scan_open(&scan, dir, error), read;
    crn_progress_begin(&progress, "verdicts", coverage->verdicts);
    bool past = r < 0;
    while (!past && (read = crn_scan_next(&scan, &verdict, error)) != 0) {
        if (read < 0)
            continue;
        crn_selection_surround(selection, verdict);
        past = crn_selection_is_past(selection, verdict, coverage->longest_ns);
        crn_decoded_free(&verdict);
        crn_progress_update(&progress, scan.coverage.verdicts, NULL);
    }
    crn_progress_end(&progress);
    crn_scan_close(&scan);
    return r;
}

/* --- the answer --- */

static int print_all(const crn_selection *selection, bool json, crn_error *error)
{
    for (uint32_t i = 0; i < selection->count; i++) {
        int r = 0;
        if (json) {
            r = crn_waterfall_json(selection->items[i], stdout);
        } else {
            if (i)
                printf("\n%.79s\n\n", "-----------------------------------------------------------"
                                      "--------------------");
            crn_waterfall_print(selection->items[i], stdout);
        }
        if (r < 0)
            return crn_error_set(error, r, "no memory");
    }
    fflush(stdout);
    return 0;
}

static void tell_rest(const crn_selection *selection)
{
    const crn_choice *choice = &selection->choice;
    uint64_t others = selection->matched - selection->count;
    if (!others)
        return;
    char last[48] = "this is the last one of";
    if (selection->count != 1)
        snprintf(last, sizeof last, "these are the last %" PRIu32 " of", selection->count);
    if (choice->fruit)
        crn_tool_note(&tool,
                      "this is the last of %" PRIu64 " verdicts on a fruit %" PRIu64
                      " of lane %" PRIu64 ": senders or the daemon were restarted%s",
                      selection->matched, choice->number, (uint64_t)choice->lane,
                      choice->has_epoch ? "" : "; --epoch N chooses another");
    else if (!choice->slowest)
        crn_tool_note(&tool, "%s %" PRIu64 "; --last N shows more", last, selection->matched);
}

static void tell_saved(const char *path, const crn_saved *saved)
{
    char views[96], others[64] = "";
    if (saved->views < saved->received)
        snprintf(views, sizeof views, "%" PRIu64 " of the %" PRIu64 " views received", saved->views,
                 saved->received);
    else
        snprintf(views, sizeof views, "%" PRIu64 " view%s", saved->views,
                 saved->views == 1 ? "" : "s");
    if (saved->not_kept)
        snprintf(others, sizeof others, "; nothing is kept of %" PRIu64 " other%s", saved->not_kept,
                 saved->not_kept == 1 ? "" : "s");
    crn_tool_note(&tool, "%s: %s of %" PRIu64 " fruit%s%s", path, views, saved->fruits,
                  saved->fruits == 1 ? "" : "s", others);
}

static int save(const why_settings *set, const crn_selection *selection, crn_error *error)
{
    crn_saved saved;
    int r = crn_save_maps(set->source, selection, set->save, &saved, error);
    if (r < 0)
        return r;
    if (saved.views == 0)
        return crn_error_set(error, -ENOENT,
                             "%s: not written: the daemon keeps the maps of none of these fruits, "
                             "only of the last ones that were late, partial or over budget "
                             "(monitor.keep_slots)",
                             set->save);
    tell_saved(set->save, &saved);
    return 0;
}

/* What no verdict tells; of an endpoint. Beside fruits only what is out of the ordinary. */
static int tell_state(const why_settings *set, crn_error *error)
{
    crn_daemon_state state;
    int r = crn_state_fetch(set->source, &state, error);
    if (r < 0 || (!set->state_only && state.condition_count == 0))
        return r;
    if (!set->state_only)
        printf("\n");
    if (!set->json)
        crn_state_print(&state, stdout);
    else if (crn_state_print_json(&state, stdout) < 0)
        return crn_error_set(error, -ENOMEM, "no memory");
    return 0;
}

/* Nothing was chosen: says what the log covers. Returns the exit status. */
static int tell_coverage(const why_settings *set, const crn_scan *scan)
{
    const crn_choice *choice = &set->choice;
    FILE *out = choice->fruit || set->json ? stderr : stdout;
    const char *where = set->dir == set->source
                            ? "is not in this log"
                            : "is not among its last fruits; publish.log keeps more";
    if (choice->fruit && choice->has_epoch)
        crn_tool_note(&tool, "%s: lane %" PRIu64 ", fruit %" PRIu64 ", epoch %" PRIu64 " %s",
                      set->source, (uint64_t)choice->lane, choice->number, choice->epoch, where);
    else if (choice->fruit)
        crn_tool_note(&tool, "%s: lane %" PRIu64 ", fruit %" PRIu64 " %s", set->source,
                      (uint64_t)choice->lane, choice->number, where);
    else
        fprintf(out, "no such fruit\n");
    crn_coverage_print(scan, out);
    return choice->fruit ? CRN_EXIT_FAILED : 0;
}

static int answer(const why_settings *set, crn_scan *scan, crn_selection *selection,
                  crn_error *error)
{
    int r = choose(scan, selection, error);
    if (r < 0)
        return r;
    if (selection->count == 0)
        return tell_coverage(set, scan);
    crn_selection_diagnose(selection);
    r = look_around(set->dir, selection, &scan->coverage, error);
    if (r == 0)
        r = print_all(selection, set->json, error);
    if (r < 0)
        return r;
    tell_rest(selection);
    if (set->dir != set->source && !set->json)
        r = tell_state(set, error);
    return r == 0 && set->save ? save(set, selection, error) : r;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-why");
    why_settings set;
    read_options(argc, argv, &set);
    crn_error error = {""};
    if (set.trace || set.state_only) {
        int done = set.trace ? crn_download_trace(set.source, set.trace, &error)
                             : tell_state(&set, &error);
        return done < 0 ? crn_tool_fail(&tool, "%s", error.text) : 0;
    }
    crn_scan scan = {.reader = NULL};
    crn_selection *selection = NULL;
    crn_download download = {""};
    int r = open_source(&set, &download, &error);
    if (r == 0 && (r = crn_selection_create(&set.choice, &selection)) < 0)
        crn_error_set(&error, r, "no memory");
    if (r == 0)
        r = crn_scan_open(&scan, set.dir, &error);
    if (r == 0)
        r = answer(&set, &scan, selection, &error);
    crn_scan_close(&scan);
    crn_selection_free(&selection);
    crn_download_remove(&download);
    return r < 0 ? crn_tool_fail(&tool, "%s", error.text) : r;
}
