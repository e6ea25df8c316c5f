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

typedef struct record_settings {
    crn_relay_plan plan;
    bool plain_tcp;
    const char *config; /* NULL: classes are not named */
} record_settings;

#define MIB (1 << 20)

static const crn_option options[] = {
    CRN_OPTION_AT("from", "ENDPOINT", record_settings, plan.from, .required = true,
                  .help = "where senders connect: bound here"),
    CRN_OPTION_AT("to", "ENDPOINT", record_settings, plan.to,
                  .help = "where the line listens; without it the views end here"),
    CRN_OPTION_AT("dir", "DIR", record_settings, plan.dir, .required = true,
                  .help = "where segments cernita-<UTC start>-<number>.tif are created"),
    CRN_OPTION_AT("segment", "MIB", record_settings, plan.segment_bytes, .min = 1, .max = 1048576,
                  .unit = MIB, .help = "maximum size of a segment, 1 to 1048576 (2048)"),
    CRN_OPTION_AT("queue", "MIB", record_settings, plan.queue_bytes, .min = 1, .max = 65536,
                  .unit = MIB,
                  .help = "memory for views that wait for the disk, 1 to 65536 (256); what\n"
                          "does not fit is not recorded, and counted"),
    CRN_OPTION_AT("view-mib", "MIB", record_settings, plan.view_mib, .min = 1, .max = 1024,
                  .help = "largest view, as limits.view_mib of the line, 1 to 1024 (16)"),
    CRN_OPTION_AT("peer-mib", "MIB", record_settings, plan.peer_mib, .min = 1, .max = 65536,
                  .help = "largest unfinished message of a connection, as limits.peer_mib of a\n"
                          "line, at least --view-mib, 1 to 65536 (64); one that sends more is\n"
                          "closed, and all together hold at most 4 times as much"),
    CRN_OPTION_AT("peers", "N", record_settings, plan.peers, .min = 1, .max = 16384,
                  .help = "connections at once, as limits.peers of a line, 1 to 16384 (256)"),
    CRN_OPTION_AT("keys", "DIR", record_settings, plan.keys,
                  .help = "admit only senders whose keys are in this folder (cernita-keys), as\n"
                          "access.keys of a line does, also at ipc"),
    CRN_OPTION_AT("plain-tcp", NULL, record_settings, plain_tcp,
                  .help = "without --keys: let --from be a tcp address that other machines can\n"
                          "reach, as access.plain_tcp of a line does"),
    CRN_OPTION_AT("config", "FILE", record_settings, config,
                  .help = "the line's file: its class names are recorded with the views that fit"),
    CRN_OPTIONS_OF_KEYS(record_settings, plan.client),
    {0},
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

static void read_options(int argc, char **argv, record_settings *set)
{
    crn_relay_plan *p = &set->plan;
    crn_options_read(&tool, argc, argv, set);
    if (p->to && is_loop(p->from, p->to))
        crn_usage_error(&tool,
                        "--to %s is --from, so views would circulate; name another "
                        "port, where the line listens",
                        p->to);
    check_exposed(p, set->plain_tcp);
    if (p->peer_mib < p->view_mib)
        p->peer_mib = p->view_mib;
    if (set->config)
        p->classes = read_classes(set->config);
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-record");
    record_settings set = {.plan = {.segment_bytes = UINT64_C(2048) << 20,
                                    .queue_bytes = UINT64_C(256) << 20,
                                    .view_mib = 16,
                                    .peer_mib = 64,
                                    .peers = 256}};
    crn_relay_plan *p = &set.plan;
    read_options(argc, argv, &set);
    crn_descriptors_reserve("--peers", PORTS, &p->peers);
    crn_relay *relay = NULL;
    crn_error error = {0};
    crn_relay_stats stats;
    char cuts[CRN_RELAY_CUTS_BYTES];
    int result = crn_relay_open(p, &relay, &error);
    if (!result) {
        crn_log(CRN_LOG_INFO, "ready: views at %s, recorded in %s%s%s; at most %" PRIu64 " MiB",
                p->from, p->dir, p->to ? ", passed on to " : "", p->to ? p->to : "",
                crn_relay_bytes(p) >> 20);
        crn_relay_run(relay);
    }
    crn_relay_close(&relay, &stats);
    if (result)
        return crn_tool_fail(&tool, "%s", error.text);
    printf("%" PRIu64 " messages", stats.messages);
    if (p->to)
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
