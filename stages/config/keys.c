/* The keys of a line's file, one row each; parsing, printing and the reference use this table. */
#include "stages/config/internal.h"

#include "stages/backend.h"
#include "stages/base/log.h"

/* A row for a member of a section of the config, under the member's name. */
#define KEY(section, member, ...) CRN_PARAM_AT(#member, crn_config, section.member, __VA_ARGS__)

/* Indexed by crn_values_rule. */
static const char *const values_rules[] = {"check", "small_u8", "trust", NULL};

/* Indexed by crn_sum_rule. */
static const char *const sum_rules[] = {"auto", "1", "none", NULL};

static const crn_param ingest[] = {
    KEY(ingest, bind, .fallback = "tcp://127.0.0.1:5555",
        .help = "endpoints to take views at (PULL): tcp://HOST:PORT or ipc://PATH"),
    KEY(ingest, high_water_mark, .fallback = "16", .min = 1, .max = 100000,
        .help = "views that ZeroMQ holds per sender before the sender has to wait"),
    KEY(ingest, values, .fallback = "check", .choices = values_rules, .live = true,
        .help = "of maps: check that they are probabilities, else the verdict is partial; "
                "small_u8: u8 maps without values above 1 are not a mistake; trust: no check"),
    KEY(ingest, sum, .fallback = "auto", .choices = sum_rules, .live = true,
        .help = "of the values of a pixel over all classes: 1, as after a softmax: else the "
                "verdict is partial; none: anything, as after sigmoids; auto: 1 where a class is "
                "named background, bg or hintergrund, or the first 64 views of a lane sum to 1"),
    KEY(ingest, lanes, .fallback = "", .live = true,
        .help = "the lanes that exist, as [0, 1, 2] or 0-39: views of others are refused; empty: "
                "any, up to limits.lanes"),
    {0}};

static const crn_param slots[] = {
    KEY(ingest.slots, path, .fallback = "",
        .help = "socket (AF_UNIX) at which programs of this machine get memory that they write "
                "their views into, instead of sending them; for this user and its group; empty: "
                "none"),
    KEY(ingest.slots, slots, .fallback = "16", .min = 2, .max = 1024,
        .help = "views that the memory of one program holds, at most"),
    KEY(ingest.slots, producers, .fallback = "4", .min = 1, .max = 64,
        .help = "programs at once; one that ended counts until its last view is judged"),
    KEY(ingest.slots, kinds, .fallback = "[memfd]",
        .help = "memory that is given out: memfd, host memory, which GPUs upload from directly; "
                "vmm, a GPU's own, of run.devices"),
    {0}};

static const crn_param limits[] = {
    KEY(limits, lanes, .fallback = "64", .min = 1, .max = 1024,
        .help = "distinct lanes; for a further one the lane is freed that was silent longest, if "
                "for lane_idle_s, else its views are refused"),
    KEY(limits, lane_idle_s, .fallback = "60", .min = 1, .max = 86400, .live = true,
        .help = "silence after which a lane may be freed for another"),
    KEY(limits, peers, .fallback = "256", .min = 1, .max = 16384,
        .help = "connections to each port at once; one more is closed, or the oldest that never "
                "sent anything"),
    KEY(limits, peer_mib, .fallback = "256", .min = 1, .max = 65536,
        .help = "largest unfinished message of a connection, at least view_mib (raised to it where "
                "left out); one that sends more is closed, and all together hold at most 4 times "
                "as much"),
    KEY(limits, viewers_mib, .fallback = "64", .min = 1, .max = 65536,
        .help = "verdicts that wait for viewers, each counted once; at half of it the viewer that "
                "is furthest behind is disconnected"),
    KEY(limits, view_mib, .fallback = "16", .min = 1, .max = 1024,
        .help = "largest view, class maps and photograph together"),
    KEY(limits, views, .fallback = "16", .min = 1, .max = 64, .help = "most views of a fruit"),
    KEY(limits, slots, .fallback = "0", .min = 0, .max = 4096,
        .help = "views held in memory at once, at least 2; 0: 4 x workers + 16"),
    KEY(limits, open_fruits, .fallback = "256", .min = 1, .max = 65536,
        .help = "fruits without a verdict at once; past it the oldest is judged first"),
    KEY(limits, judged_fruits, .fallback = "65536", .min = 64, .max = 4194304,
        .help = "verdicts remembered, 72 bytes each, so that a straggler opens no fruit again and "
                "a number that returns does; past it the oldest is forgotten"),
    KEY(limits, points, .fallback = "262144", .min = 16, .max = 16777216,
        .help = "contour points of a view; past it the verdict says truncated"),
    KEY(limits, defects, .fallback = "4096", .min = 1, .max = 1048576,
        .help = "defects of a view; past it the verdict says truncated"),
    {0}};

static const crn_param classes[] = {
    CRN_PARAM(crn_class_settings, name,
              .help =
                  "the class, at most 47 bytes, no two alike; the order is that of the channels"),
    CRN_PARAM(crn_class_settings, level, .fallback = "", .min = 0, .max = 1, .live = true,
              .help = "probability at which the class is outlined; without it, it is not"),
    {0}};

const crn_param *const crn_keys_level = &classes[1];

static const crn_param chain[] = {
    CRN_PARAM(crn_step, optional, .fallback = "false",
              .help = "skipped for a view when the time left is less than its recent p99"),
    {0}};

static const crn_param run[] = {
    KEY(run, backend, .fallback = "auto", .choices = crn_backend_names,
        .help = "which operators compute; auto: the fastest that the machine has"),
    KEY(run, workers, .fallback = "0", .min = 0, .max = 256,
        .help = "views judged at once; 0: cores - 1, at least 1"),
    KEY(run, threads, .fallback = "0", .min = 0, .max = 256,
        .help = "threads per worker; 0: cores / workers, at least 1"),
    KEY(run, devices, .fallback = "[0]", .min = 0, .max = 63,
        .help = "GPUs that cuda and auto use, by number; lanes are spread over them"),
    KEY(run, stop_ms, .fallback = "1000", .min = 0, .max = 60000, .live = true,
        .help = "time that open fruits have for their verdict when the daemon stops"),
    {0}};

static const crn_param realtime[] = {
    KEY(realtime, line_cpus, .fallback = "",
        .help = "CPUs of the line's thread, as 3 or \"2,4-7\"; empty: any"),
    KEY(realtime, io_cpus, .fallback = "",
        .help = "CPUs of libzmq's threads for senders and grader; empty: any"),
    KEY(realtime, worker_cpus, .fallback = "",
        .help = "CPUs of the workers: each has run.threads of them for itself where there are "
                "enough, else all share them; empty: any"),
    KEY(realtime, device_cpus, .fallback = "",
        .help = "CPUs of the threads that serve GPUs; empty: any"),
    KEY(realtime, line_priority, .fallback = "0", .min = 0, .max = 98,
        .help = "SCHED_FIFO priority of the line's thread, and 1 less that of the GPUs' threads; "
                "0: the line's thread runs under SCHED_RR where it may"),
    KEY(realtime, worker_priority, .fallback = "0", .min = 0, .max = 96,
        .help = "SCHED_FIFO priority of the workers, at least 2 below line_priority; libzmq's "
                "threads then have line_priority - 1; 0: not in real time"),
    KEY(realtime, lock_memory, .fallback = "false",
        .help = "all memory is taken at the start and never paged out"),
    KEY(realtime, huge_pages, .fallback = "false",
        .help = "asks for transparent huge pages for the slots; no gain was measured"),
    {0}};

const crn_param crn_keys_latency[] = {
    CRN_PARAM(crn_latency_settings, budget_ms, .fallback = "100", .min = 1, .max = 60000,
              .live = true, .help = "from a fruit's last view to its verdict, at the latest"),
    CRN_PARAM(crn_latency_settings, assemble_ms, .fallback = "400", .min = 1, .max = 60000,
              .live = true,
              .help = "from a fruit's first view until it is judged without the missing ones"),
    CRN_PARAM(
        crn_latency_settings, guard_ms, .fallback = "2", .min = 0, .max = 1000, .live = true,
        .help = "how long before its deadline a verdict leaves, finished or not; below budget_ms"),
    CRN_PARAM(crn_latency_settings, straggler_ms, .fallback = "0", .min = 0, .max = 600000,
              .live = true,
              .help = "a number that comes again so soon after its fruit's verdict is a "
                      "straggler's, later a new fruit's; 0: 2 x (assemble_ms + budget_ms), or 2 x "
                      "the lane's longest delay of late, up to 10 s, where that is more"),
    {0}};

/* Indexed by crn_roll_axis. */
static const char *const roll_axes[] = {"y", "x", NULL};

/* Indexed by crn_outside. */
static const char *const outside[] = {"mark", "drop", "keep", NULL};

/* Indexed by crn_fruit_from. */
static const char *const fruit_from[] = {"photo", "class", "header", NULL};

static const crn_param geometry[] = {
    KEY(geometry, mm_per_px, .fallback = "", .min = 0.0001, .max = 1000, .live = true,
        .help =
            "millimetres of a pixel at the roll axis, for all views or a list by view "
            "(further views: its last), as cernita-calibrate finds it; required in the section, "
            "with which fruits are measured"),
    KEY(geometry, distance_mm, .fallback = "0", .min = 0, .max = 1e6, .live = true,
        .help = "from the camera to the roll axis; 0: far away. Left out, areas are 6 to 8 % too "
                "small at a distance of 15 of the fruit's radii, 11 to 15 % at 8"),
    KEY(geometry, roll_axis, .fallback = "y", .choices = roll_axes, .live = true,
        .help = "the axis of the picture that the fruit rolls about: y, it travels along x, or x"),
    KEY(geometry, roll_deg, .fallback = "90", .min = -180, .max = 180, .live = true,
        .help = "expected roll from a view to the next, positive where spots move along +x (roll "
                "axis x: +y); 0: unknown"),
    KEY(geometry, estimate_roll, .fallback = "true", .live = true,
        .help = "the roll is found in the photographs, near roll_deg; false: it is roll_deg"),
    KEY(geometry, outside, .fallback = "mark", .choices = outside, .live = true,
        .help = "of defects beside the fruit (rollers, frame): mark them in the verdict, drop "
                "them, or keep them unmarked; none is measured"),
    {0}};

const crn_param *const crn_keys_geometry_of_recipe = &geometry[3];

static const crn_param geometry_fruit[] = {
    KEY(geometry.fruit, from, .fallback = "photo", .choices = fruit_from, .live = true,
        .help = "where a view's picture of the fruit is: in the photograph, in the map of a class, "
                "or in the header alone, which is believed before the others"),
    CRN_PARAM_AT("class", crn_config, geometry.fruit.class_name, .fallback = "", .live = true,
                 .help = "the class of the fruit itself, as a segmentation has it; implies from: "
                         "class"),
    KEY(geometry.fruit, level, .fallback = "0.5", .min = 0, .max = 1, .live = true,
        .help = "probability of that class above which a pixel is the fruit's"),
    {0}};

static const crn_param geometry_surface[] = {
    KEY(geometry.surface, optional, .fallback = "true", .live = true,
        .help = "verdicts leave without measures when the time left is less than their recent "
                "p99; false: they wait for them, up to the deadline"),
    {0}};

const crn_param crn_keys_lane_scale[] = {CRN_PARAM(crn_lane_scale, mm_per_px, .min = 0.0001,
                                                   .max = 1000, .live = true,
                                                   .help = "as geometry.mm_per_px, of these lanes"),
                                         {0}};

static const crn_section below_geometry[] = {
    {.key = "lanes",
     .kind = CRN_SECTION_OWN,
     .help =
         "lanes whose cameras have another scale, by number or range: `{0-3: {mm_per_px: 0.41}, "
         "4: {mm_per_px: [0.4, 0.42]}}`; at most 64 entries (live)",
     .shape = "a map",
     .read = crn_read_lane_scales,
     .print = crn_print_lane_scales},
    {.key = "fruit", .rows = geometry_fruit},
    {.key = "surface", .rows = geometry_surface},
    {0}};

const crn_section *const crn_sections_of_geometry = &below_geometry[1];

static const char *const formats[] = {"msgpack", "json", NULL};

static const crn_param grader[] = {
    KEY(publish.grader, bind, .fallback = "tcp://127.0.0.1:5556",
        .help = "endpoint of the one grader (PUSH), which drives the ejector"),
    KEY(publish.grader, format, .fallback = "msgpack", .choices = formats,
        .help = "of the verdicts"),
    KEY(publish.grader, high_water_mark, .fallback = "1000", .min = 1, .max = 100000,
        .help = "verdicts that wait for an absent grader; past it the oldest is dropped"),
    KEY(publish.grader, alive_ms, .fallback = "0", .min = 0, .max = 60000,
        .help =
            "after so long without a verdict the grader gets the topic alive instead; 0: never"),
    {0}};

static const crn_param viewers[] = {
    KEY(publish.viewers, bind, .fallback = "tcp://127.0.0.1:5557",
        .help = "endpoint of any number of viewers (XPUB)"),
    KEY(publish.viewers, format, .fallback = "msgpack", .choices = formats,
        .help = "of the verdicts"),
    KEY(publish.viewers, high_water_mark, .fallback = "100", .min = 1, .max = 100000,
        .help = "verdicts that wait for a slow viewer; past it that viewer loses some"),
    {0}};

static const crn_param verdict_log[] = {
    KEY(publish.log, dir, .fallback = "",
        .help =
            "folder to log every verdict in, of this daemon alone; \"\": none is logged. A service "
            "whose file does not have the key: STATE_DIRECTORY/log (cernitad@NAME: "
            "/var/lib/cernita/NAME/log), 7 days, at most a quarter of the disk's room"),
    KEY(publish.log, segment_mib, .fallback = "256", .min = 1, .max = 4096,
        .help = "size at which the log goes on in the next file"),
    KEY(publish.log, keep_mib, .fallback = "4096", .min = 0, .max = 16777216,
        .help = "size of the whole log, at least segment_mib; past it the oldest file is removed; "
                "0: all are kept"),
    KEY(publish.log, keep_days, .fallback = "0", .min = 0, .max = 36500,
        .help =
            "files of the log that were last written more days ago are removed; 0: all are kept"),
    {0}};

/* Indexed by crn_record_only. */
static const char *const record_only[] = {"all", "late", "partial", NULL};

static const crn_param access_rows[] = {
    KEY(access, keys, .fallback = "",
        .help = "folder of keys (cernita-keys makes it): every tcp endpoint then requires CURVE "
                "and a client whose key is in it; empty: whoever can connect may use it"),
    KEY(access, ipc, .fallback = "false",
        .help = "with keys: ipc endpoints require them, too; otherwise the mode of their files "
                "decides"),
    KEY(access, plain_tcp, .fallback = "false",
        .help = "without keys: allows tcp endpoints that other machines can reach, which the start "
                "otherwise refuses"),
    {0}};

static const crn_param record[] = {
    KEY(record, dir, .fallback = "",
        .help = "folder to record accepted views in; empty: nothing is recorded"),
    KEY(record, segment_mib, .fallback = "2048", .min = 16, .max = 2048,
        .help = "size at which a recording goes on in the next file"),
    KEY(record, only, .fallback = "all", .choices = record_only,
        .help = "all: every accepted view; partial: views of fruits that were partial or late; "
                "late: of those that were late. Of these two, as far as their slots are not needed "
                "before the verdict"),
    KEY(record, keep_gib, .fallback = "0", .min = 0, .max = 1048576,
        .help = "size of all recordings in the folder, at least segment_mib; past it the oldest "
                "are removed; 0: all are kept"),
    KEY(record, keep_days, .fallback = "0", .min = 0, .max = 36500,
        .help = "recordings that were last written more days ago are removed; 0: all are kept"),
    {0}};

static const crn_param monitor[] = {
    KEY(monitor, http, .fallback = "127.0.0.1:9464",
        .help = "HOST:PORT of the live page / and of /metrics, /healthz, /readyz, /events, "
                "/verdicts, /trace and /maps; port 0: any free one; empty: none. If the default is "
                "in use, the next of 16 ports that is free; one that the file names must be free"),
    KEY(monitor, hosts, .fallback = "",
        .help = "host names, without port, that requests may also use: that of a proxy before this "
                "address, under which browsers know it"),
    KEY(monitor, token_file, .fallback = "",
        .help = "file with a line of 16 to 128 letters and digits, the token with which the pages "
                "let other machines acknowledge and shelve alarms, and report outlets; empty: only "
                "this machine may"),
    KEY(monitor, keep_slots, .fallback = "8", .min = 0, .max = 256,
        .help = "views whose maps stay in memory, of the last fruits that were late, partial or "
                "over budget, for cernita-why --save: view_mib each; 0: none"),
    {0}};

static const crn_param control[] = {
    KEY(control, path, .fallback = "",
        .help =
            "socket (AF_UNIX) that cernitactl asks at: status, reload, recipes; for this user, "
            "its group and root; empty: RUNTIME_DIRECTORY/control under systemd (cernitad@NAME: "
            "/run/cernita/NAME/control), otherwise none"),
    {0}};

static const crn_param state[] = {
    KEY(state, dir, .fallback = "",
        .help =
            "folder, of this line alone, that keeps recipe and lot in force, the alarm list, the "
            "log of changes, the settings' texts and the statistics of each minute (100 MB) over "
            "restarts; empty: STATE_DIRECTORY under systemd (cernitad@NAME: "
            "/var/lib/cernita/NAME), otherwise none"),
    {0}};

const crn_param crn_keys_log[] = {CRN_PARAM(crn_log_settings, level, .fallback = "info",
                                            .choices = crn_log_level_names, .live = true,
                                            .help = "least important lines that are logged"),
                                  {0}};

static const crn_section publish[] = {{.key = "grader", .rows = grader},
                                      {.key = "viewers", .rows = viewers},
                                      {.key = "log", .rows = verdict_log},
                                      {0}};

static const crn_section below_ingest[] = {{.key = "slots", .rows = slots}, {0}};

const crn_section crn_sections[] = {
    {.key = "ingest", .rows = ingest, .sections = below_ingest},
    {.key = "limits", .rows = limits},
    {.key = "classes", .kind = CRN_SECTION_CLASSES, .rows = classes},
    {.key = "chain", .kind = CRN_SECTION_CHAIN, .rows = chain},
    {.key = "run", .rows = run},
    {.key = "realtime", .rows = realtime},
    {.key = "latency", .rows = crn_keys_latency, .at = offsetof(crn_config, latency)},
    {.key = "geometry", .rows = geometry, .sections = below_geometry, .optional = true},
    {.key = "publish", .sections = publish},
    {.key = "access", .rows = access_rows},
    {.key = "record", .rows = record},
    {.key = "recipes",
     .kind = CRN_SECTION_RECIPES,
     .help =
         "levels (`classes: {rot: 0.4}`, `{}`: not outlined), chain, latency and geometry (from "
         "roll_deg on) for one variety of fruit; what it leaves out is the file's own. "
         "`cernitactl recipe NAME` switches"},
    {.key = "monitor", .rows = monitor},
    {.key = "control", .rows = control},
    {.key = "state", .rows = state},
    {.key = "log", .rows = crn_keys_log, .at = offsetof(crn_config, log)},
    {0}};

const crn_section *crn_section_of(crn_section_kind kind)
{
    const crn_section *section = crn_sections;
    while (section->key && section->kind != kind)
        section++;
    return section;
}
