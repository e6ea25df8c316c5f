#include "tools/replay/plan.h"

#include <string.h>

#include "tools/common/local_time.h"

static const crn_option options[] = {
    {"to", "ENDPOINT", "where the line listens, as its ingest.bind says (required)"},
    {"rate", "F|max",
     "multiple of the recorded pace, 0.001 to 1000, or max: as fast as possible (1.0)"},
    {"verdicts", "ENDPOINT",
     "the line's publish.viewers.bind: counts its verdicts, and fails if it lost\n"
     "views; with --rate max no more is sent than the line keeps up with"},
    {"in-flight", "N",
     "with --verdicts: at most so many fruits without a verdict at a time (with\n"
     "--rate max: as many as the line has slots for)"},
    {"unwatched", NULL,
     "with --rate max and without --verdicts: succeed once all is sent, though\n"
     "nothing tells whether the line kept up (else the exit status is 1)"},
    {"loop", "N", "number of loops, 0: until stopped (1); sequence numbers and fruits continue"},
    {"fruits", "N", "stop after that many fruits"},
    {"lane", "N[,N…]", "only fruits of these lanes"},
    {"fruit", "N[-M][,…]",
     "only these fruits: numbers, ranges from N to M, LANE/N or LANE/EPOCH/N"},
    {"from", "TIME",
     "only fruits whose first view was recorded at this local time or later:\n"
     "YYYY-MM-DDTHH:MM[:SS], or HH:MM[:SS] for the last time that clocks showed it;\n"
     "with --only also the verdict log, a folder"},
    {"to-time", "TIME", "only fruits whose first view was recorded before this time"},
    {"only", "KIND[,…]",
     "only fruits that were late, partial or over_budget in the verdict log of the\n"
     "recorded run, or in that of a replay: --from LOGDIR"},
    {"expect", "LOGDIR",
     "compare the line's verdicts with those of this verdict log, fruit by fruit:\n"
     "defects and areas of each class; a difference makes the exit status 1; needs\n"
     "--got"},
    {"got", "LOGDIR", "with --expect: the line's own verdict log, its publish.log.dir"},
    {"all", NULL, "with --expect: a line for each difference"},
    {"tolerance", "T",
     "with --expect: how far numbers may differ, coordinates in pixels (0: not\n"
     "by one bit); for a convolution on another backend"},
    {"preload", "MIB",
     "recordings up to this size are read into memory first;\n"
     "larger ones are read while sending (1024)"},
    {"wait", "S",
     "seconds to wait until the line listens, until it accepts a view, and for\n"
     "its next verdict (10)"},
    CRN_OPTION_KEY,
    CRN_OPTION_SERVER_KEY,
    {0},
};
enum {
    OPTION_TO,
    OPTION_RATE,
    OPTION_VERDICTS,
    OPTION_IN_FLIGHT,
    OPTION_UNWATCHED,
    OPTION_LOOP,
    OPTION_FRUITS,
    OPTION_LANE,
    OPTION_FRUIT,
    OPTION_FROM,
    OPTION_TO_TIME,
    OPTION_ONLY,
    OPTION_EXPECT,
    OPTION_GOT,
    OPTION_ALL,
    OPTION_TOLERANCE,
    OPTION_PRELOAD,
    OPTION_WAIT,
    OPTION_KEY,
    OPTION_SERVER_KEY,
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

static uint64_t read_time(const char *name, const char *text)
{
    uint64_t time_ns;
    if (!crn_local_time_parse(text, &time_ns))
        crn_usage_error(&crn_replay_tool,
                        "--%s '%s' is not a time: expected YYYY-MM-DDTHH:MM, or HH:MM", name, text);
    return time_ns;
}

/* The options that select and compare. */
static void read_selection(crn_replay_plan *p, int option, const char *text)
{
    switch (option) {
    case OPTION_LANE:
        if (!crn_replay_filter_read_lanes(&p->filter, text))
            crn_usage_error(&crn_replay_tool,
                            "--lane '%s' is not a list of at most %d lanes: expected N[,N…]", text,
                            CRN_REPLAY_LANES_MAX);
        break;
    case OPTION_FRUIT:
        if (!crn_replay_filter_read_fruits(&p->filter, text))
            crn_usage_error(&crn_replay_tool,
                            "--fruit '%s' is not a list of at most %d fruits: expected N, N-M, "
                            "LANE/N or LANE/EPOCH/N, with commas between",
                            text, CRN_REPLAY_RANGES_MAX);
        break;
    case OPTION_FROM:
        if (!crn_local_time_parse(text, &p->filter.from_ns))
            p->filter.log = text;
        break;
    case OPTION_ONLY:
        if (!crn_replay_filter_read_verdicts(&p->filter, text))
            crn_usage_error(&crn_replay_tool,
                            "--only '%s' is not a list of late, partial and over_budget", text);
        break;
    case OPTION_TO_TIME:
        p->filter.to_ns = read_time("to-time", text);
        if (p->filter.to_ns == 0)
            p->filter.to_ns = 1; /* 0 would mean no limit */
        break;
    case OPTION_EXPECT:
        p->expect = text;
        break;
    case OPTION_GOT:
        p->got = text;
        break;
    case OPTION_ALL:
        p->all = true;
        break;
    case OPTION_TOLERANCE:
        p->tolerance = crn_option_real(&crn_replay_tool, "tolerance", text, 0, 1000);
        break;
    }
}

/* --from is a time, or with --only a log. */
static void check_log(const crn_replay_filter *filter)
{
    bool only = filter->late || filter->partial || filter->over_budget;
    if (only && !filter->log)
        crn_usage_error(&crn_replay_tool, "--only needs the verdict log: --from LOGDIR");
    if (filter->log && !only)
        (void)read_time("from", filter->log); /* which it is not */
}

static void check_options(const crn_replay_plan *p)
{
    check_log(&p->filter);
    if (!p->to)
        crn_usage_error(&crn_replay_tool, "--to is missing: where does the line listen?");
    if (!p->expect != !p->got)
        crn_usage_error(&crn_replay_tool,
                        "--%s is missing: --expect names the log of the recorded run, --got "
                        "that of the line",
                        p->expect ? "got" : "expect");
    if (p->expect && !p->loops && !p->fruits)
        crn_usage_error(&crn_replay_tool, "--expect needs an end: --loop N, or --fruits N");
    if (p->in_flight && !p->verdicts)
        crn_usage_error(&crn_replay_tool,
                        "--in-flight waits for verdicts: --verdicts ENDPOINT, the line's "
                        "publish.viewers.bind");
}

void crn_replay_plan_read(int argc, char **argv, crn_replay_plan *p)
{
    const char *text = NULL;
    int option;
    *p = (crn_replay_plan){
        .rate = 1, .loops = 1, .preload_bytes = UINT64_C(1) << 30, .wait_ms = 10000};
    while ((option = crn_options_next(&crn_replay_tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        const char *name = options[option].name;
        switch (option) {
        case OPTION_TO:
            p->to = text;
            break;
        case OPTION_RATE:
            p->rate = strcmp(text, "max")
                          ? crn_option_real(&crn_replay_tool, name, text, 0.001, 1000)
                          : 0;
            break;
        case OPTION_VERDICTS:
            p->verdicts = text;
            break;
        case OPTION_IN_FLIGHT:
            p->in_flight = (uint32_t)crn_option_integer(&crn_replay_tool, name, text, 1, 1000000);
            break;
        case OPTION_UNWATCHED:
            p->unwatched = true;
            break;
        case OPTION_LOOP:
            p->loops = (uint64_t)crn_option_integer(&crn_replay_tool, name, text, 0, INT64_MAX);
            break;
        case OPTION_FRUITS:
            p->fruits = (uint64_t)crn_option_integer(&crn_replay_tool, name, text, 1, INT64_MAX);
            break;
        case OPTION_PRELOAD:
            p->preload_bytes =
                (uint64_t)crn_option_integer(&crn_replay_tool, name, text, 0, 1 << 20) << 20;
            break;
        case OPTION_KEY:
            p->keys.key = text;
            break;
        case OPTION_SERVER_KEY:
            p->keys.server_key = text;
            break;
        case OPTION_WAIT:
            p->wait_ms = crn_option_integer(&crn_replay_tool, name, text, 0, 86400) * 1000;
            break;
        default:
            read_selection(p, option, text);
        }
    }
    check_options(p);
}
