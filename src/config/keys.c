/* The keys of a line's file, one row each; parsing, printing and the reference use this table. */
#include "src/config/internal.h"

#include "stages/backend.h"

/* Indexed by crn_values_rule. */
static const char *const values_rules[] = {"check", "small_u8", "trust", NULL};

/* Indexed by crn_sum_rule. */
static const char *const sum_rules[] = {"auto", "1", "none", NULL};

static const crn_param ingest[] = {
    {.key = "bind",
     .type = CRN_PARAM_TEXTS,
     .offset = offsetof(crn_config, ingest.bind),
     .fallback = "tcp://127.0.0.1:5555",
     .help = "endpoints to take views at (PULL): tcp://HOST:PORT or ipc://PATH"},
    {.key = "high_water_mark",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, ingest.high_water_mark),
     .fallback = "16",
     .min = 1,
     .max = 100000,
     .help = "views that ZeroMQ holds per sender before the sender has to wait"},
    {.key = "values",
     .type = CRN_PARAM_CHOICE,
     .offset = offsetof(crn_config, ingest.values),
     .fallback = "check",
     .choices = values_rules,
     .live = true,
     .help = "of maps: check that they are probabilities, else the verdict is partial; small_u8: "
             "u8 maps without values above 1 are not a mistake; trust: no check"},
    {.key = "sum",
     .type = CRN_PARAM_CHOICE,
     .offset = offsetof(crn_config, ingest.sum),
     .fallback = "auto",
     .choices = sum_rules,
     .live = true,
     .help =
         "of the values of a pixel over all classes: 1, as after a softmax: else the verdict is "
         "partial; none: anything, as after sigmoids; auto: 1 where a class is named "
         "background, bg or hintergrund, or the first 64 views of a lane sum to 1"},
    {.key = "lanes",
     .type = CRN_PARAM_TEXTS,
     .offset = offsetof(crn_config, ingest.lanes),
     .fallback = "",
     .live = true,
     .help = "the lanes that exist, as [0, 1, 2] or 0-39: views of others are refused; empty: any, "
             "up to limits.lanes"},
    {0}};

static const crn_param limits[] = {
    {.key = "lanes",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.lanes),
     .fallback = "64",
     .min = 1,
     .max = 1024,
     .help = "distinct lanes; for a further one the lane is freed that was silent longest, if for "
             "lane_idle_s, else its views are refused"},
    {.key = "lane_idle_s",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.lane_idle_s),
     .fallback = "60",
     .min = 1,
     .max = 86400,
     .live = true,
     .help = "silence after which a lane may be freed for another"},
    {.key = "peers",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.peers),
     .fallback = "256",
     .min = 1,
     .max = 16384,
     .help = "connections to each port at once; one more is closed, or the oldest that never sent "
             "anything"},
    {.key = "peer_mib",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.peer_mib),
     .fallback = "256",
     .min = 1,
     .max = 65536,
     .help =
         "largest unfinished message of a connection, at least view_mib (raised to it where left "
         "out); one that sends more is closed, and all together hold at most 4 times as much"},
    {.key = "viewers_mib",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.viewers_mib),
     .fallback = "64",
     .min = 1,
     .max = 65536,
     .help = "verdicts that wait for viewers, each counted once; at half of it the viewer that is "
             "furthest behind is disconnected"},
    {.key = "view_mib",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.view_mib),
     .fallback = "16",
     .min = 1,
     .max = 1024,
     .help = "largest view, class maps and photograph together"},
    {.key = "views",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.views),
     .fallback = "16",
     .min = 1,
     .max = 64,
     .help = "most views of a fruit"},
    {.key = "slots",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.slots),
     .fallback = "0",
     .min = 0,
     .max = 4096,
     .help = "views held in memory at once, at least 2; 0: 4 x workers + 16"},
    {.key = "open_fruits",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.open_fruits),
     .fallback = "256",
     .min = 1,
     .max = 65536,
     .help = "fruits without a verdict at once; past it the oldest is judged first"},
    {.key = "judged_fruits",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.judged_fruits),
     .fallback = "65536",
     .min = 64,
     .max = 4194304,
     .help = "verdicts remembered, 72 bytes each, so that a straggler opens no fruit again and a "
             "number that returns does; past it the oldest is forgotten"},
    {.key = "points",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.points),
     .fallback = "262144",
     .min = 16,
     .max = 16777216,
     .help = "contour points of a view; past it the verdict says truncated"},
    {.key = "defects",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, limits.defects),
     .fallback = "4096",
     .min = 1,
     .max = 1048576,
     .help = "defects of a view; past it the verdict says truncated"},
    {0}};

static const crn_param classes[] = {
    {.key = "name",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_class_settings, name),
     .help = "the class, at most 47 bytes, no two alike; the order is that of the channels"},
    {.key = "level",
     .type = CRN_PARAM_REAL,
     .offset = offsetof(crn_class_settings, level),
     .fallback = "",
     .min = 0,
     .max = 1,
     .live = true,
     .help = "probability at which the class is outlined; without it, it is not"},
    {0}};

static const crn_param chain[] = {
    {.key = "optional",
     .type = CRN_PARAM_BOOL,
     .offset = offsetof(crn_step, optional),
     .fallback = "false",
     .help = "skipped for a view when the time left is less than its recent p99"},
    {0}};

static const crn_param run[] = {
    {.key = "backend",
     .type = CRN_PARAM_CHOICE,
     .offset = offsetof(crn_config, run.backend),
     .fallback = "auto",
     .choices = crn_backend_names,
     .help = "which operators compute; auto: the fastest that the machine has"},
    {.key = "workers",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, run.workers),
     .fallback = "0",
     .min = 0,
     .max = 256,
     .help = "views judged at once; 0: cores - 1, at least 1"},
    {.key = "threads",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, run.threads),
     .fallback = "0",
     .min = 0,
     .max = 256,
     .help = "threads per worker; 0: cores / workers, at least 1"},
    {.key = "devices",
     .type = CRN_PARAM_NUMBERS,
     .offset = offsetof(crn_config, run.devices),
     .fallback = "[0]",
     .min = 0,
     .max = 63,
     .help = "GPUs that cuda and auto use, by number; lanes are spread over them"},
    {.key = "stop_ms",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, run.stop_ms),
     .fallback = "1000",
     .min = 0,
     .max = 60000,
     .live = true,
     .help = "time that open fruits have for their verdict when the daemon stops"},
    {0}};

static const crn_param latency[] = {
    {.key = "budget_ms",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, latency.budget_ms),
     .fallback = "100",
     .min = 1,
     .max = 60000,
     .live = true,
     .help = "from a fruit's last view to its verdict, at the latest"},
    {.key = "assemble_ms",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, latency.assemble_ms),
     .fallback = "400",
     .min = 1,
     .max = 60000,
     .live = true,
     .help = "from a fruit's first view until it is judged without the missing ones"},
    {.key = "guard_ms",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, latency.guard_ms),
     .fallback = "2",
     .min = 0,
     .max = 1000,
     .live = true,
     .help = "how long before its deadline a verdict leaves, finished or not; below budget_ms"},
    {.key = "straggler_ms",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, latency.straggler_ms),
     .fallback = "0",
     .min = 0,
     .max = 600000,
     .live = true,
     .help =
         "a number that comes again so soon after its fruit's verdict is a straggler's, later a "
         "new fruit's; 0: 2 x (assemble_ms + budget_ms), or 2 x the lane's longest delay of "
         "late, up to 10 s, where that is more"},
    {0}};

static const char *const formats[] = {"msgpack", "json", NULL};

static const crn_param grader[] = {
    {.key = "bind",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_config, publish.grader.bind),
     .fallback = "tcp://127.0.0.1:5556",
     .help = "endpoint of the one grader (PUSH), which drives the ejector"},
    {.key = "format",
     .type = CRN_PARAM_CHOICE,
     .offset = offsetof(crn_config, publish.grader.format),
     .fallback = "msgpack",
     .choices = formats,
     .help = "of the verdicts"},
    {.key = "high_water_mark",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, publish.grader.high_water_mark),
     .fallback = "1000",
     .min = 1,
     .max = 100000,
     .help = "verdicts that wait for an absent grader; past it the oldest is dropped"},
    {.key = "alive_ms",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, publish.grader.alive_ms),
     .fallback = "0",
     .min = 0,
     .max = 60000,
     .help = "after so long without a verdict the grader gets the topic alive instead; 0: never"},
    {0}};

static const crn_param viewers[] = {
    {.key = "bind",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_config, publish.viewers.bind),
     .fallback = "tcp://127.0.0.1:5557",
     .help = "endpoint of any number of viewers (XPUB)"},
    {.key = "format",
     .type = CRN_PARAM_CHOICE,
     .offset = offsetof(crn_config, publish.viewers.format),
     .fallback = "msgpack",
     .choices = formats,
     .help = "of the verdicts"},
    {.key = "high_water_mark",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, publish.viewers.high_water_mark),
     .fallback = "100",
     .min = 1,
     .max = 100000,
     .help = "verdicts that wait for a slow viewer; past it that viewer loses some"},
    {0}};

static const crn_param verdict_log[] = {
    {.key = "dir",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_config, publish.log.dir),
     .fallback = "",
     .help = "folder to log every verdict in, of this daemon alone; empty: none is logged"},
    {.key = "segment_mib",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, publish.log.segment_mib),
     .fallback = "256",
     .min = 1,
     .max = 4096,
     .help = "size at which the log goes on in the next file"},
    {.key = "keep_mib",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, publish.log.keep_mib),
     .fallback = "4096",
     .min = 0,
     .max = 16777216,
     .help = "size of the whole log, at least segment_mib; past it the oldest file is removed; 0: "
             "all are kept"},
    {.key = "keep_days",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, publish.log.keep_days),
     .fallback = "0",
     .min = 0,
     .max = 36500,
     .help = "files of the log that were last written more days ago are removed; 0: all are kept"},
    {0}};

/* Indexed by crn_record_only. */
static const char *const record_only[] = {"all", "late", "partial", NULL};
static const crn_param access_rows[] = {
    {.key = "keys",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_config, access.keys),
     .fallback = "",
     .help = "folder of keys (cernita-keys makes it): every tcp endpoint then requires CURVE and a "
             "client whose key is in it; empty: whoever can connect may use it"},
    {.key = "ipc",
     .type = CRN_PARAM_BOOL,
     .offset = offsetof(crn_config, access.ipc),
     .fallback = "false",
     .help =
         "with keys: ipc endpoints require them, too; otherwise the mode of their files decides"},
    {.key = "plain_tcp",
     .type = CRN_PARAM_BOOL,
     .offset = offsetof(crn_config, access.plain_tcp),
     .fallback = "false",
     .help = "without keys: allows tcp endpoints that other machines can reach, which the start "
             "otherwise refuses"},
    {0}};

static const crn_param record[] = {
    {.key = "dir",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_config, record.dir),
     .fallback = "",
     .help = "folder to record accepted views in; empty: nothing is recorded"},
    {.key = "segment_mib",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, record.segment_mib),
     .fallback = "2048",
     .min = 16,
     .max = 2048,
     .help = "size at which a recording goes on in the next file"},
    {.key = "only",
     .type = CRN_PARAM_CHOICE,
     .offset = offsetof(crn_config, record.only),
     .fallback = "all",
     .choices = record_only,
     .help = "all: every accepted view; partial: views of fruits that were partial or late; late: "
             "of those that were late. Of these two, as far as their slots are not needed before "
             "the verdict"},
    {.key = "keep_gib",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, record.keep_gib),
     .fallback = "0",
     .min = 0,
     .max = 1048576,
     .help = "size of all recordings in the folder, at least segment_mib; past it the oldest are "
             "removed; 0: all are kept"},
    {.key = "keep_days",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, record.keep_days),
     .fallback = "0",
     .min = 0,
     .max = 36500,
     .help = "recordings that were last written more days ago are removed; 0: all are kept"},
    {0}};

static const crn_param monitor[] = {
    {.key = "http",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_config, monitor.http),
     .fallback = "127.0.0.1:9464",
     .help = "HOST:PORT of the live page / and of /metrics, /healthz, /readyz, /events, /verdicts, "
             "/trace and /maps; port 0: any free one; empty: none. The default, if it is in use, "
             "is done without"},
    {.key = "hosts",
     .type = CRN_PARAM_TEXTS,
     .offset = offsetof(crn_config, monitor.hosts),
     .fallback = "",
     .help = "host names, without port, that requests may also use: that of a proxy before this "
             "address, under which browsers know it"},
    {.key = "keep_slots",
     .type = CRN_PARAM_INTEGER,
     .offset = offsetof(crn_config, monitor.keep_slots),
     .fallback = "8",
     .min = 0,
     .max = 256,
     .help = "views whose maps stay in memory, of the last fruits that were late, partial or over "
             "budget, for cernita-why --save: view_mib each; 0: none"},
    {0}};

static const crn_param control[] = {
    {.key = "path",
     .type = CRN_PARAM_TEXT,
     .offset = offsetof(crn_config, control.path),
     .fallback = "",
     .help =
         "socket (AF_UNIX) that cernitactl asks at: status, reload, recipes; for this user, its "
         "group and root; empty: none"},
    {0}};

/* Indexed by crn_log_level. */
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};

static const crn_param logging[] = {{.key = "level",
                                     .type = CRN_PARAM_CHOICE,
                                     .offset = offsetof(crn_config, log.level),
                                     .fallback = "info",
                                     .choices = levels,
                                     .live = true,
                                     .help = "least important lines that are logged"},
                                    {0}};

static const crn_section publish[] = {{.key = "grader", .rows = grader},
                                      {.key = "viewers", .rows = viewers},
                                      {.key = "log", .rows = verdict_log},
                                      {0}};

const crn_section crn_sections[] = {
    {.key = "ingest", .rows = ingest},
    {.key = "limits", .rows = limits},
    {.key = "classes", .kind = CRN_SECTION_CLASSES, .rows = classes},
    {.key = "chain", .kind = CRN_SECTION_CHAIN, .rows = chain},
    {.key = "run", .rows = run},
    {.key = "realtime", .rows = crn_keys_realtime},
    {.key = "latency", .rows = latency},
    {.key = "publish", .sections = publish},
    {.key = "access", .rows = access_rows},
    {.key = "record", .rows = record},
    {.key = "recipes",
     .kind = CRN_SECTION_RECIPES,
     .help =
         "levels (`classes: {rot: 0.4}`, `{}`: not outlined), chain and latency for one variety "
         "of fruit; what it leaves out is the file's own. `cernitactl recipe NAME` switches"},
    {.key = "monitor", .rows = monitor},
    {.key = "control", .rows = control},
    {.key = "log", .rows = logging},
    {0}};

const crn_section *crn_section_of(crn_section_kind kind)
{
    const crn_section *section = crn_sections;
    while (section->key && section->kind != kind)
        section++;
    return section;
}
