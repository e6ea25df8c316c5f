#include "src/monitor/families.h"

#include <stddef.h>

#include "src/monitor/samples.h"

#define COUNTER   CRN_FAMILY_COUNTER
#define GAUGE     CRN_FAMILY_GAUGE
#define HISTOGRAM CRN_FAMILY_HISTOGRAM

/* Where a number lies in the snapshot, and in that of a lane. */
#define AT(member)   offsetof(crn_snapshot, member)
#define LANE(member) offsetof(crn_lane_snapshot, member)

/* One number; one for each lane; one for each row of a list. */
#define VALUE(family, kind, member, text)                                                          \
    {                                                                                              \
        .name = family, .type = kind, .labels = "", .help = text, .samples = crn_samples_value,    \
        .offset = AT(member)                                                                       \
    }
#define BY_LANE(family, member, text)                                                              \
    {                                                                                              \
        .name = family, .type = COUNTER, .labels = "lane", .help = text,                           \
        .samples = crn_samples_lane, .offset = LANE(member)                                        \
    }
#define BY_ROW(family, kind, name_of_label, list, text)                                            \
    {                                                                                              \
        .name = family, .type = kind, .labels = name_of_label, .help = text,                       \
        .samples = crn_samples_rows, .label = name_of_label, .rows = list                          \
    }
#define OTHER(family, kind, names_of_labels, function, text)                                       \
    {                                                                                              \
        .name = family, .type = kind, .labels = names_of_labels, .help = text, .samples = function \
    }

static const crn_family_row views_lost[] = {{"no_slot", AT(metrics.fruits.no_slot)},
                                            {"discarded", AT(metrics.fruits.discarded)},
                                            {"unfinished", AT(metrics.fruits.unfinished)},
                                            {"failed", AT(metrics.fruits.failed)},
                                            {"straggler", AT(metrics.fruits.stragglers)},
                                            {"no_place", AT(metrics.fruits.table_full)},
                                            {0}};

static const crn_family_row moved_from_device[] = {
    {"new_shape", AT(metrics.engine.device_new)},
    {"too_many_contours", AT(metrics.engine.device_cut)},
    {"device_lost", AT(metrics.engine.device_lost)},
    {0}};

static const crn_family_row verdicts_lost[] = {
    {"queue_full", AT(metrics.publish.dropped)}, {"no_memory", AT(metrics.publish.failed)}, {0}};

static const crn_family_row not_logged[] = {
    {"queue_full", AT(metrics.publish.log.dropped)}, {"disk", AT(metrics.publish.log.failed)}, {0}};

static const crn_family_row not_recorded[] = {{"queue_full", AT(metrics.recorder.dropped)},
                                              {"disk", AT(metrics.recorder.failed)},
                                              {"no_slot", AT(metrics.recorder.missed)},
                                              {0}};

static const crn_family_row peers_refused[] = {{"ingest", AT(metrics.ingest.failed_handshakes)},
                                               {"publish", AT(metrics.publish.refused)},
                                               {0}};

static const crn_family_row reloads[] = {
    {"taken_in", AT(settings.taken_in)}, {"refused", AT(settings.refused)}, {0}};

const crn_family crn_families[] = {
    /* --- the daemon --- */
    OTHER("cernita_build_info", GAUGE, "version, backend", crn_samples_build,
          "always 1; backend: what runs the chain (serial, openmp or cuda)"),
    OTHER("cernita_start_time_seconds", GAUGE, "", crn_samples_started,
          "start of the daemon, in seconds since 1970"),
    OTHER("cernita_state", GAUGE, "state", crn_samples_state,
          "1 for the current state, 0 for the others: starting, ready, running, degraded (a device "
          "is lost), stopping"),
    OTHER("cernita_snapshot_age_seconds", GAUGE, "", crn_samples_age,
          "time since the line's thread last wrote these numbers, about 1 at most; it grows while "
          "that thread hangs"),
    OTHER("cernita_limit", GAUGE, "key", crn_samples_limits,
          "settings that figures are compared with: lanes, peers, slots, open_fruits, backlog "
          "(publish.grader.high_water_mark), workers"),
    BY_ROW(
        "cernita_reloads_total", COUNTER, "result", reloads,
        "reloads of the file and switches of the recipe: taken_in, or refused (the log says why)"),
    OTHER("cernita_settings_since_timestamp_seconds", GAUGE, "", crn_samples_changed,
          "when the settings in force were taken in, in seconds since 1970"),
    OTHER("cernita_recipe", GAUGE, "recipe", crn_samples_recipe,
          "always 1: the recipe in force; empty: the file's own settings"),
    VALUE("cernita_settings_in_use", GAUGE, settings.generations,
          "settings in force (1), and former ones that open fruits are still judged by"),

    /* --- views in --- */
    VALUE("cernita_messages_received_total", COUNTER, metrics.ingest.messages,
          "messages read from senders, valid or not"),
    OTHER("cernita_views_received_total", COUNTER, "lane, path", crn_samples_received,
          "valid views received, by transport: tcp or ipc"),
    OTHER("cernita_views_rejected_total", COUNTER, "reason", crn_samples_rejected,
          "messages refused, by what is wrong with them (parts, class_set, too_large, lanes, …)"),
    OTHER(
        "cernita_lane_views_rejected_total", COUNTER, "lane", crn_samples_lane_rejected,
        "the same by lane; other: lanes that never sent a valid view or were freed, and unreadable "
        "headers"),
    BY_LANE("cernita_sequence_gaps_total", meters.gaps,
            "sequence numbers that never arrived: views lost before the line"),
    BY_LANE("cernita_sequence_reordered_total", stats.reordered, "views that overtook each other"),
    BY_LANE("cernita_sequence_duplicates_total", stats.duplicates, "sequence numbers seen before"),
    BY_LANE("cernita_sequence_jumps_total", stats.jumps,
            "sequence numbers more than 2^20 away from those before: no gap, but a sender's fault"),
    BY_LANE("cernita_sender_restarts_total", stats.restarts, "changes of the epoch"),
    BY_LANE("cernita_senders_joined_total", stats.joined,
            "times that senders that send at once, each its own views, were joined"),
    BY_LANE("cernita_senders_mixed_views_total", stats.mixed,
            "views of senders that send at once and cannot be joined: /healthz names two"),
    BY_LANE("cernita_epochs_reused_total", stats.reused,
            "restarts of a sender without a new epoch, which can cost verdicts"),
    {.name = "cernita_last_view_timestamp_seconds",
     .type = GAUGE,
     .labels = "lane",
     .help = "when the lane's last valid view was received, in seconds since 1970",
     .samples = crn_samples_lane_time,
     .offset = LANE(meters.last_view_ns)},
    {.name = "cernita_view_lateness_seconds",
     .type = HISTOGRAM,
     .labels = "lane",
     .help = "from captured_ns to reception: camera, CNN and network; views without captured_ns "
             "are left out",
     .samples = crn_samples_lane_lateness,
     .offset = LANE(meters.lateness)},
    BY_LANE("cernita_views_captured_later_total", meters.captured_later,
            "views whose captured_ns lies after their reception: the clocks are apart"),
    VALUE("cernita_deadlines_ignored_total", COUNTER, metrics.deadlines_ignored,
          "header deadlines more than 10 s away: the clocks are apart"),
    OTHER("cernita_views_faulty_total", COUNTER, "reason", crn_samples_values,
          "views whose maps are not probabilities (not_finite, out_of_range, mask_values) or have "
          "the wrong scale (all_zero, divided_by_255, labels, per_cent, wrong_sum): judged, but "
          "their fruits are partial"),
    VALUE("cernita_lanes_unproven", GAUGE, levels.lanes_unproven,
          "lanes whose last 64 views or more had no value of 0.5: nothing shows that their CNN "
          "works; lanes silent for two minutes are left out"),
    VALUE("cernita_views_frozen_total", COUNTER, metrics.values.frozen,
          "views with the same values as the nine or more before them on their lane: does the CNN "
          "hang?"),
    VALUE("cernita_senders", GAUGE, levels.senders, "senders connected"),

    /* --- views judged --- */
    VALUE("cernita_lanes", GAUGE, levels.lanes, "lanes seen since the start, but for freed ones"),
    VALUE("cernita_lanes_freed_total", COUNTER, metrics.lanes_freed,
          "lanes freed for others as they were silent (limits.lane_idle_s): their counts are in "
          "lane=\"other\""),
    VALUE("cernita_slots_free", GAUGE, levels.slots_free,
          "slots without a view; of cernita_limit{key=\"slots\"}"),
    VALUE("cernita_views_wanted_total", COUNTER, metrics.fruits.wanted,
          "views that were added to a fruit"),
    VALUE("cernita_views_judged_total", COUNTER, metrics.fruits.judged,
          "of these, judged before their fruit's verdict"),
    BY_ROW("cernita_views_lost_total", COUNTER, "reason", views_lost,
           "views that were valid and not judged: no_slot, discarded, unfinished (too many for "
           "this machine), failed, straggler (came after the verdict), no_place"),
    BY_LANE("cernita_views_missing_total", meters.missing,
            "views that a fruit lacked at its verdict, but for refused ones: they came too late, "
            "or never"),
    VALUE("cernita_views_duplicate_total", COUNTER, metrics.fruits.duplicates,
          "views that a fruit had already"),
    VALUE("cernita_views_truncated_total", COUNTER, metrics.results_full,
          "views whose defects the result store had no room for"),
    OTHER("cernita_view_queue_seconds", HISTOGRAM, "", crn_samples_queue,
          "from a view's reception to its start, of views that ran through"),
    OTHER("cernita_view_run_seconds", HISTOGRAM, "backend", crn_samples_run,
          "from a view's start to its end, of views that ran through"),
    OTHER("cernita_stage_seconds", HISTOGRAM, "stage, backend", crn_samples_stages,
          "of each step of the chain, skipped ones left out; the second of a kind is named "
          "contours_2"),
    OTHER("cernita_busy_seconds_total", COUNTER, "backend", crn_samples_busy,
          "machine time of the views that ran through"),
    OTHER("cernita_views_ended_total", COUNTER, "backend", crn_samples_ended,
          "views that ran, by what ran them"),
    VALUE("cernita_device_batches_slow_total", COUNTER, metrics.engine.device_slow,
          "batches that took more than half of the time after which their device counts as lost"),
    BY_ROW("cernita_device_views_moved_total", COUNTER, "reason", moved_from_device,
           "views that the processor ran instead of a device"),
    VALUE("cernita_devices", GAUGE, levels.devices, "devices in use at the start"),
    VALUE("cernita_devices_lost", GAUGE, levels.devices_lost, "devices lost since the start"),
    VALUE("cernita_devices_left_out", GAUGE, levels.devices_left_out,
          "devices that did not work at the start: the line runs without them"),

    /* --- fruits and verdicts --- */
    VALUE("cernita_fruits_open", GAUGE, levels.fruits_open, "fruits without a verdict"),
    VALUE("cernita_fruits_opened_total", COUNTER, metrics.fruits.opened, "fruits seen"),
    VALUE(
        "cernita_fruit_numbers_returned_total", COUNTER, metrics.fruits.returned,
        "fruits whose number was that of one judged not long before, with a verdict of their own"),
    VALUE("cernita_fruits_too_early_total", COUNTER, metrics.fruits.returned_early,
          "fruits without a verdict: their number returned within latency.straggler_ms"),
    VALUE("cernita_verdicts_forgotten_total", COUNTER, metrics.fruits.forgotten,
          "verdicts that limits.judged_fruits forgot within latency.straggler_ms: a straggler may "
          "have opened their fruit again"),
    VALUE("cernita_fruits_forced_total", COUNTER, metrics.fruits.forced,
          "fruits judged early because limits.open_fruits was reached"),
    OTHER("cernita_verdicts_total", COUNTER, "lane, kind", crn_samples_verdicts,
          "verdicts by lane and kind: complete, partial, late"),
    {.name = "cernita_fruit_latency_seconds",
     .type = HISTOGRAM,
     .labels = "lane",
     .help = "from a fruit's close to the publication of its verdict; one edge is exactly "
             "latency.budget_ms",
     .samples = crn_samples_lane_latency,
     .offset = LANE(meters.latency)},
    OTHER("cernita_budget_seconds", GAUGE, "", crn_samples_budget, "latency.budget_ms"),
    BY_LANE("cernita_verdicts_over_budget_total", meters.over_budget,
            "verdicts published later than latency.budget_ms after their fruit's close"),

    /* --- verdicts out --- */
    VALUE("cernita_graders", GAUGE, metrics.publish.graders,
          "graders connected: 1 is right, more share the verdicts between them"),
    VALUE("cernita_grader_connects_total", COUNTER, metrics.publish.grader_connects,
          "connections of graders"),
    VALUE("cernita_grader_disconnects_total", COUNTER, metrics.publish.grader_disconnects,
          "graders that left"),
    VALUE("cernita_graders_extra_total", COUNTER, metrics.publish.extra_graders,
          "graders that connected while there was one"),
    VALUE("cernita_verdicts_sent_total", COUNTER, metrics.publish.sent,
          "verdicts that the network took for the grader"),
    VALUE("cernita_verdicts_waiting", GAUGE, metrics.publish.waiting,
          "verdicts that wait for a grader; of cernita_limit{key=\"backlog\"}"),
    VALUE("cernita_verdicts_stale_total", COUNTER, metrics.publish.stale,
          "verdicts sent past their deadline, after having waited for a grader"),
    BY_ROW("cernita_verdicts_lost_total", COUNTER, "reason", verdicts_lost,
           "verdicts that no grader gets: queue_full (it was absent too long), no_memory"),
    VALUE("cernita_verdicts_possibly_lost_total", COUNTER, metrics.publish.possibly_lost,
          "verdicts sent to a grader shortly before it left"),
    VALUE("cernita_verdicts_without_defects_total", COUNTER, metrics.publish.without_defects,
          "verdicts sent without their defects, as memory was short"),
    VALUE("cernita_flight_verdicts_lost_total", COUNTER, metrics.flight_dropped,
          "verdicts that the flight recorder (/verdicts) left out as its thread did not take them"),
    VALUE("cernita_viewers", GAUGE, metrics.publish.viewers, "viewers connected"),
    VALUE("cernita_viewer_messages_lost_total", COUNTER, metrics.publish.viewers_dropped,
          "messages to viewers that were dropped because their queue was full"),

    /* --- peers --- */
    BY_ROW("cernita_peers_refused_total", COUNTER, "socket", peers_refused,
           "connections that did not speak ZeroMQ, or had the wrong socket type"),
    OTHER("cernita_peers_cut_total", COUNTER, "socket, reason", crn_samples_cut,
          "connections closed because they exceeded a limit, answered no heartbeat (cut_silent: "
          "senders and viewers), did not read (cut_unread: viewers), or lost their key by a reload "
          "(cut_revoked)"),
    OTHER("cernita_access_refused_total", COUNTER, "socket, reason", crn_samples_access,
          "connections refused because access.keys requires keys: unknown_key, not_for_socket (the "
          "client's file does not name it), plain (no CURVE), malformed (no or a faulty handshake, "
          "such as a wrong server key), attempts (too many of these before it)"),
    VALUE("cernita_access_clients", GAUGE, metrics.access.clients,
          "clients whose keys are admitted; 0 also without access.keys"),

    /* --- disks and memory --- */
    VALUE("cernita_log_verdicts_written_total", COUNTER, metrics.publish.log.written,
          "verdicts written to publish.log.dir"),
    VALUE("cernita_log_bytes_total", COUNTER, metrics.publish.log.bytes,
          "bytes written to publish.log.dir"),
    BY_ROW("cernita_log_verdicts_lost_total", COUNTER, "reason", not_logged,
           "verdicts not logged: queue_full (the disk is too slow), disk (it refused them, or is "
           "nearly full)"),
    VALUE("cernita_log_files_removed_total", COUNTER, metrics.publish.log.removed,
          "files of the log removed (publish.log.keep_mib, publish.log.keep_days)"),
    VALUE("cernita_record_views_written_total", COUNTER, metrics.recorder.written,
          "views written to record.dir"),
    VALUE("cernita_record_bytes_total", COUNTER, metrics.recorder.bytes,
          "bytes written to record.dir"),
    BY_ROW("cernita_record_views_lost_total", COUNTER, "reason", not_recorded,
           "views not recorded: queue_full (the disk is too slow), disk (it refused them, or is "
           "nearly full), no_slot (record.only: their slot was needed before the verdict)"),
    VALUE("cernita_record_segments_total", COUNTER, metrics.recorder.segments,
          "recordings finished"),
    VALUE("cernita_record_segments_removed_total", COUNTER, metrics.recorder.removed,
          "recordings removed (record.keep_gib, record.keep_days)"),
    OTHER("cernita_disk_free_bytes", GAUGE, "use", crn_samples_disk_free,
          "free space for record.dir (record) and publish.log.dir (log), where they are set"),
    OTHER("cernita_disk_size_bytes", GAUGE, "use", crn_samples_disk_size, "size of these disks"),
    OTHER("cernita_memory_used_bytes", GAUGE, "part", crn_samples_memory,
          "of the memory reserved by the limits: slots, results, backlog (verdicts that wait for "
          "a grader), viewers (verdicts that wait for some viewer)"),
    OTHER("process_resident_memory_bytes", GAUGE, "", crn_samples_resident,
          "memory of the process"),
    OTHER("process_cpu_seconds_total", COUNTER, "", crn_samples_cpu,
          "processor time of the process"),
    OTHER("process_open_fds", GAUGE, "", crn_samples_descriptors, "open files and connections"),

    /* --- this page --- */
    OTHER("cernita_http_responses_total", COUNTER, "code", crn_samples_http_responses,
          "answers of this server; 4xx: wrong method, host or path"),
    OTHER("cernita_http_clients", GAUGE, "kind", crn_samples_clients,
          "open connections (connection), and those of them that read /events (stream)"),
    OTHER("cernita_http_clients_dropped_total", COUNTER, "kind", crn_samples_clients_dropped,
          "connections closed because they were idle or slow, event streams because they were "
          "not read"),
    {.name = NULL}};

static const char *const types[] = {
    [COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram"};

void crn_families_print(const crn_observation *observation, FILE *out)
{
    for (const crn_family *family = crn_families; family->name; family++) {
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
                types[family->type]);
        family->samples(family, observation, out);
    }
}

void crn_families_print_reference(FILE *out)
{
    fputs("| Family | Type | Labels | Meaning |\n|---|---|---|---|\n", out);
    for (const crn_family *family = crn_families; family->name; family++)
        fprintf(out, "| `%s` | %s | %s | %s |\n", family->name, types[family->type], family->labels,
                family->help);
}
