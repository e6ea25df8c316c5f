#include "tools/replay/plan.h"

#include <string.h>

#include "tools/common/local_time.h"

static void read_rate(const crn_tool *tool, const crn_option *option, const char *text,
                      void *settings)
{
    crn_replay_plan *p = settings;
    p->rate = strcmp(text, "max") ? crn_option_real(tool, option->name, text, 0.001, 1000) : 0;
}

static void read_lanes(const crn_tool *tool, const crn_option *option, const char *text,
                       void *settings)
{
    crn_replay_plan *p = settings;
    (void)option;
    if (!crn_replay_filter_read_lanes(&p->filter, text))
        crn_usage_error(tool, "--lane '%s' is not a list of at most %d lanes: expected N[,N…]",
                        text, CRN_REPLAY_LANES_MAX);
}

static void read_fruits(const crn_tool *tool, const crn_option *option, const char *text,
                        void *settings)
{
    crn_replay_plan *p = settings;
    (void)option;
    if (!crn_replay_filter_read_fruits(&p->filter, text))
        crn_usage_error(tool,
                        "--fruit '%s' is not a list of at most %d fruits: expected N, N-M, "
                        "LANE/N or LANE/EPOCH/N, with commas between",
                        text, CRN_REPLAY_RANGES_MAX);
}

static void read_from(const crn_tool *tool, const crn_option *option, const char *text,
                      void *settings)
{
    crn_replay_plan *p = settings;
    (void)tool;
    (void)option;
    if (!crn_local_time_parse(text, &p->filter.from_ns))
        p->filter.log = text;
}

static uint64_t read_time(const crn_tool *tool, const char *name, const char *text)
{
    uint64_t time_ns;
    if (!crn_local_time_parse(text, &time_ns))
        crn_usage_error(tool, "--%s '%s' is not a time: expected YYYY-MM-DDTHH:MM, or HH:MM", name,
                        text);
    return time_ns;
}

static void read_to_time(const crn_tool *tool, const crn_option *option, const char *text,
                         void *settings)
{
    crn_replay_plan *p = settings;
    p->filter.to_ns = read_time(tool, option->name, text);
    if (p->filter.to_ns == 0)
        p->filter.to_ns = 1; /* 0 would mean no limit */
}

static void read_only(const crn_tool *tool, const crn_option *option, const char *text,
                      void *settings)
{
    crn_replay_plan *p = settings;
    (void)option;
    if (!crn_replay_filter_read_verdicts(&p->filter, text))
        crn_usage_error(tool, "--only '%s' is not a list of late, partial and over_budget", text);
}

static const crn_option options[] = {
    CRN_OPTION_AT("to", "ENDPOINT", crn_replay_plan, to,
                  .help = "where the line listens, as its ingest.bind says"),
    CRN_OPTION_AT("slots", "PATH", crn_replay_plan, slots,
                  .help = "instead, on the line's machine: leaves views in slots, as its\n"
                          "ingest.slots.path says"),
    {.name = "rate",
     .value = "F|max",
     .help = "multiple of the recorded pace, 0.001 to 1000, or max: as fast as possible (1.0)",
     .read = read_rate},
    CRN_OPTION_AT("verdicts", "ENDPOINT", crn_replay_plan, verdicts,
                  .help = "the line's publish.viewers.bind: counts its verdicts, and fails if it "
                          "lost\n"
                          "views; with --rate max no more is sent than the line keeps up with"),
    CRN_OPTION_AT("in-flight", "N", crn_replay_plan, in_flight, .min = 1, .max = 1000000,
                  .help = "with --verdicts: at most so many fruits without a verdict at a time "
                          "(with\n"
                          "--rate max: as many as the line has slots for)"),
    CRN_OPTION_AT("unwatched", NULL, crn_replay_plan, unwatched,
                  .help = "with --rate max and without --verdicts: succeed once all is sent, "
                          "though\n"
                          "nothing tells whether the line kept up (else the exit status is 1)"),
    CRN_OPTION_AT("loop", "N", crn_replay_plan, loops, .max = (double)INT64_MAX,
                  .help = "number of loops, 0: until stopped (1); sequence numbers and fruits "
                          "continue"),
    CRN_OPTION_AT("fruits", "N", crn_replay_plan, fruits, .min = 1, .max = (double)INT64_MAX,
                  .help = "stop after that many fruits"),
    {.name = "lane", .value = "N[,N…]", .help = "only fruits of these lanes", .read = read_lanes},
    {.name = "fruit",
     .value = "N[-M][,…]",
     .help = "only these fruits: numbers, ranges from N to M, LANE/N or LANE/EPOCH/N",
     .read = read_fruits},
    {.name = "from",
     .value = "TIME",
     .help = "only fruits whose first view was recorded at this local time or later:\n"
             "YYYY-MM-DDTHH:MM[:SS], or HH:MM[:SS] for the last time that clocks showed it;\n"
             "with --only also the verdict log, a folder",
     .read = read_from},
    {.name = "to-time",
     .value = "TIME",
     .help = "only fruits whose first view was recorded before this time",
     .read = read_to_time},
    {.name = "only",
     .value = "KIND[,…]",
     .help = "only fruits that were late, partial or over_budget in the verdict log of the\n"
             "recorded run, or in that of a replay: --from LOGDIR",
     .read = read_only},
    CRN_OPTION_AT("expect", "LOGDIR", crn_replay_plan, expect,
                  .help = "compare the line's verdicts with those of this verdict log, fruit by "
                          "fruit:\n"
                          "defects and areas of each class; a difference makes the exit status 1; "
                          "needs\n"
                          "--got"),
    CRN_OPTION_AT("got", "LOGDIR", crn_replay_plan, got,
                  .help = "with --expect: the line's own verdict log, its publish.log.dir"),
    CRN_OPTION_AT("all", NULL, crn_replay_plan, all,
                  .help = "with --expect: a line for each difference"),
    CRN_OPTION_AT("rules", "FILE", crn_replay_plan, rules,
                  .help = "with --expect: a file of cernita-sorter, say sorter.yaml; a fruit that "
                          "its\n"
                          "rules send to another outlet than before is a difference, too"),
    CRN_OPTION_AT("report", "DIR", crn_replay_plan, report,
                  .help = "with --expect: write a report there, a page, CSV and JSON: each fruit "
                          "that\n"
                          "differs, with numbers, and the 20 that changed most as pictures"),
    CRN_OPTION_AT("tolerance", "T", crn_replay_plan, tolerance, .max = 1000,
                  .help = "with --expect: how far numbers may differ, coordinates in pixels (0: "
                          "not\n"
                          "by one bit); for a convolution on another backend"),
    CRN_OPTION_AT("preload", "MIB", crn_replay_plan, preload_bytes, .max = 1 << 20, .unit = 1 << 20,
                  .help = "recordings up to this size are read into memory first;\n"
                          "larger ones are read while sending (1024)"),
    CRN_OPTION_AT("wait", "S", crn_replay_plan, wait_ms, .max = 86400, .unit = 1000,
                  .help = "seconds to wait until the line listens, until it accepts a view, and "
                          "for\n"
                          "its next verdict (10)"),
    CRN_OPTIONS_OF_KEYS(crn_replay_plan, keys),
    {0},
};

const crn_tool crn_replay_tool = {
    "cernita-replay",
    "REC.tif|DIR…",
    "Sends recordings to a line; a folder stands for its *.tif files in natural order. Each run\n"
    "has its own epoch; views are captured when they are due, and deadlines keep their\n"
    "distance from that.",
    options,
    1,
    INT32_MAX};

/* --from is a time, or with --only a log. */
static void check_log(const crn_replay_filter *filter)
{
    bool only = filter->late || filter->partial || filter->over_budget;
    if (only && !filter->log)
        crn_usage_error(&crn_replay_tool, "--only needs the verdict log: --from LOGDIR");
    if (filter->log && !only)
        (void)read_time(&crn_replay_tool, "from", filter->log); /* which it is not */
}

static void check_options(const crn_replay_plan *p)
{
    check_log(&p->filter);
    if (!p->to == !p->slots)
        crn_usage_error(&crn_replay_tool, p->to ? "--to or --slots, not both"
                                                : "--to is missing: where does the line listen?");
    if (!p->expect != !p->got)
        crn_usage_error(&crn_replay_tool,
                        "--%s is missing: --expect names the log of the recorded run, --got "
                        "that of the line",
                        p->expect ? "got" : "expect");
    if (p->expect && !p->loops && !p->fruits)
        crn_usage_error(&crn_replay_tool, "--expect needs an end: --loop N, or --fruits N");
    if (p->report && !p->expect)
        crn_usage_error(&crn_replay_tool, "--report is that of a comparison: give --expect LOGDIR "
                                          "and --got LOGDIR, too");
    if (p->rules && !p->expect)
        crn_usage_error(&crn_replay_tool, "--rules decides on verdicts that are compared: give "
                                          "--expect LOGDIR and --got LOGDIR, too");
    if (p->in_flight && !p->verdicts)
        crn_usage_error(&crn_replay_tool,
                        "--in-flight waits for verdicts: --verdicts ENDPOINT, the line's "
                        "publish.viewers.bind");
}

void crn_replay_plan_read(int argc, char **argv, crn_replay_plan *p)
{
    *p = (crn_replay_plan){
        .rate = 1, .loops = 1, .preload_bytes = UINT64_C(1) << 30, .wait_ms = 10000};
    crn_options_read(&crn_replay_tool, argc, argv, p);
    check_options(p);
    if (p->slots)
        p->to = p->slots;
}
