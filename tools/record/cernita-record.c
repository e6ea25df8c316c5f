/* cernita-record: a proxy that forwards every message and records the views it recognises. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/log.h"
#include "stages/base/process/standard.h"
#include "stages/config/config.h"
#include "src/ingest/access/access.h"
#include "src/ingest/socket/descriptors.h"
#include "tools/common/options.h"
#include "tools/record/relay.h"

#define PORTS 1

static const crn_option options[] = {
    {"from", "ENDPOINT", "where senders connect: bound here (required)"},
    {"to", "ENDPOINT", "where the line listens; without it the views end here"},
    {"dir", "DIR", "where segments cernita-<UTC start>-<number>.tif are created (required)"},
    {"segment", "MIB", "maximum size of a segment, 1 to 1048576 (2048)"},
    {"queue", "MIB",
     "memory for views that wait for the disk, 1 to 65536 (256); what\n"
     "does not fit is not recorded, and counted"},
    {"view-mib", "MIB", "largest view, as limits.view_mib of the line, 1 to 1024 (16)"},
    {"peer-mib", "MIB",
     "largest unfinished message of a connection, as limits.peer_mib of a\n"
     "line, at least --view-mib, 1 to 65536 (64); one that sends more is\n"
     "closed, and all together hold at most 4 times as much"},
    {"peers", "N", "connections at once, as limits.peers of a line, 1 to 16384 (256)"},
    {"keys", "DIR",
     "admit only senders whose keys are in this folder (cernita-keys), as\n"
     "access.keys of a line does, also at ipc"},
    {"plain-tcp", NULL,
     "without --keys: let --from be a tcp address that other machines can\n"
     "reach, as access.plain_tcp of a line does"},
    {"config", "FILE", "the line's file: its class names are recorded with the views that fit"},
    CRN_OPTION_KEY,
    CRN_OPTION_SERVER_KEY,
    {0},
};
enum {
    OPTION_FROM,
    OPTION_TO,
    OPTION_DIR,
    OPTION_SEGMENT,
    OPTION_QUEUE,
    OPTION_VIEW_MIB,
    OPTION_PEER_MIB,
    OPTION_PEERS,
    OPTION_KEYS,
    OPTION_PLAIN_TCP,
    OPTION_CONFIG,
    OPTION_KEY,
    OPTION_SERVER_KEY,
};

static const crn_tool tool = {
    "cernita-record",
    "",
    "A proxy that records the views on their way to a line: --from is where the line listened,\n"
    "--to where it listens now. Every message that a line would read is forwarded first, whole\n"
    "and unchanged, whether it is a view or not; a slow disk costs recordings, not time. What\n"
    "senders may use is limited as at a line. Ends with SIGINT, SIGTERM or SIGHUP.",
    options,
    0,
    0};

/* True if tcp://HOST:PORT begins with one of the hosts. */
static bool has_host(const char *endpoint, const char *const *hosts)
{
    for (; *hosts; hosts++)
        if (strncmp(endpoint + strlen("tcp://"), *hosts, strlen(*hosts)) == 0)
            return true;
    return false;
}

/* True if the output would come in again: a loop that fills the disk. */
static bool is_loop(const char *from, const char *to)
{
    static const char *const all[] = {"*:", "0.0.0.0:", NULL};
    static const char *const own[] = {"127.", "localhost:", "*:", "0.0.0.0:", NULL};
    if (strcmp(from, to) == 0)
        return true;
    if (strncmp(from, "tcp://", 6) != 0 || strncmp(to, "tcp://", 6) != 0)
        return false;
    return strcmp(strrchr(from, ':'), strrchr(to, ':')) == 0 && has_host(from, all) &&
           has_host(to, own);
}

/* The same rule as for a line, which takes what comes from here for its sender's. */
static void check_exposed(const crn_relay_plan *p, bool plain_tcp)
{
    if (p->keys && plain_tcp)
        crn_usage_error(&tool, "--plain-tcp: with --keys every sender needs a key; leave out one");
    if (!p->keys && !plain_tcp && crn_access_is_exposed(p->from))
        crn_usage_error(&tool,
                        "--from %s: other machines can connect to it, and anyone there could send "
                        "views: give --keys DIR (cernita-keys makes it), or --plain-tcp if only "
                        "trusted machines reach this network",
                        p->from);
}

/* The names of a line's classes; faults of its file are told. */
static const crn_classes *read_classes(const char *path)
{
    static crn_classes classes;
    static crn_config config; /* large */
    if (crn_config_load(path, stderr, &config))
        exit(crn_tool_fail(&tool, "--config %s: cannot be loaded", path));
    classes = config.classes;
    crn_config_done(&config);
    return &classes;
}

static void read_limit(int option, const char *text, crn_relay_plan *p)
{
    const char *name = options[option].name;
    switch (option) {
    case OPTION_SEGMENT:
        p->segment_bytes = (uint64_t)crn_option_integer(&tool, name, text, 1, 1048576) << 20;
        break;
    case OPTION_QUEUE:
        p->queue_bytes = (uint64_t)crn_option_integer(&tool, name, text, 1, 65536) << 20;
        break;
    case OPTION_VIEW_MIB:
        p->view_mib = crn_option_integer(&tool, name, text, 1, 1024);
        break;
    case OPTION_PEER_MIB:
        p->peer_mib = crn_option_integer(&tool, name, text, 1, 65536);
        break;
    case OPTION_PEERS:
        p->peers = crn_option_integer(&tool, name, text, 1, 16384);
        break;
    }
}

static void read_options(int argc, char **argv, crn_relay_plan *p)
{
    const char *text = NULL, *config = NULL;
    bool plain_tcp = false;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        switch (option) {
        case OPTION_FROM:
            p->from = text;
            break;
        case OPTION_TO:
            p->to = text;
            break;
        case OPTION_DIR:
            p->dir = text;
            break;
        case OPTION_KEYS:
            p->keys = text;
            break;
        case OPTION_PLAIN_TCP:
            plain_tcp = true;
            break;
        case OPTION_CONFIG:
            config = text;
            break;
        case OPTION_KEY:
            p->client.key = text;
            break;
        case OPTION_SERVER_KEY:
            p->client.server_key = text;
            break;
        default:
            read_limit(option, text, p);
        }
    }
    if (!p->from || !p->dir)
        crn_usage_error(&tool, "--%s is missing", p->from ? "dir" : "from");
    if (p->to && is_loop(p->from, p->to))
        crn_usage_error(&tool,
                        "--to %s is --from, so views would circulate; name another "
                        "port, where the line listens",
                        p->to);
    check_exposed(p, plain_tcp);
    if (p->peer_mib < p->view_mib)
        p->peer_mib = p->view_mib;
    if (config)
        p->classes = read_classes(config);
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-record");
    crn_relay_plan p = {.segment_bytes = UINT64_C(2048) << 20,
                        .queue_bytes = UINT64_C(256) << 20,
                        .view_mib = 16,
                        .peer_mib = 64,
                        .peers = 256};
    read_options(argc, argv, &p);
    crn_descriptors_reserve("--peers", PORTS, &p.peers);
    crn_relay *relay = NULL;
    crn_error error = {0};
    crn_relay_stats stats;
    char cuts[CRN_RELAY_CUTS_BYTES];
    int result = crn_relay_open(&p, &relay, &error);
    if (!result) {
        crn_log(CRN_LOG_INFO, "ready: views at %s, recorded in %s%s%s; at most %" PRIu64 " MiB",
                p.from, p.dir, p.to ? ", passed on to " : "", p.to ? p.to : "",
                crn_relay_bytes(&p) >> 20);
        crn_relay_run(relay);
    }
    crn_relay_close(&relay, &stats);
    if (result)
        return crn_tool_fail(&tool, "%s", error.text);
    printf("%" PRIu64 " messages", stats.messages);
    if (p.to)
        printf(", %" PRIu64 " passed on", stats.passed_on);
    printf("; %" PRIu64 " views recorded in %" PRIu64 " segments; not recorded: %" PRIu64
           " queue full, %" PRIu64 " disk refused, %" PRIu64 " no views",
           stats.recorder.written, stats.recorder.segments, stats.recorder.dropped,
           stats.recorder.failed, stats.not_views);
    if (stats.too_large)
        printf(", %" PRIu64 " too large", stats.too_large);
    crn_relay_cuts_text(&stats.peers, &(crn_peers_stats){{0}}, cuts);
    printf("%s%s\n", cuts[0] ? "; disconnected:" : "", cuts);
    return 0;
}
