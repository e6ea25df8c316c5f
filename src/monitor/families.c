#include "src/monitor/families.h"

#include <stddef.h>
#include <string.h>

#include "src/monitor/samples.h"

#define COUNTER   CRN_FAMILY_COUNTER
#define GAUGE     CRN_FAMILY_GAUGE
#define HISTOGRAM CRN_FAMILY_HISTOGRAM
#define SUMMARY   CRN_FAMILY_SUMMARY

/* Where a number lies in the snapshot, in that of a lane, and among the metrics. */
#define AT(member)   offsetof(crn_snapshot, member)
#define LANE(member) offsetof(crn_lane_snapshot, member)
#define IN(member)   offsetof(crn_metrics, member)

/* What a row of src/counts says. */
#define METRIC(family, text) .name = family, .type = COUNTER, .help = text
#define LEVEL(family, text)  .name = family, .type = GAUGE, .help = text
#define SAMPLE(family, of)   .sample_of = family, .value = of
#define LOST(name, text)     .loss = CRN_LOSS_LOST, .log = name, .hint = text
#define REFUSED(name, text)  .loss = CRN_LOSS_REFUSED, .log = name, .hint = text
#define LOST_VIEW(name, of)  .loss = CRN_LOSS_LOST, .log = name, .reason = of
#define NOTICE(name, text)   .loss = CRN_LOSS_NOTICE, .log = name, .hint = text
#define COPED(name)          .loss = CRN_LOSS_NOTICE, .log = name
#define ABOUT(text)          .about = text

/* Rows by where their numbers lie: in the snapshot, in the observation, among the metrics of the
 * snapshot, in that of each lane. */
#define SNAPSHOT_ROW(place, ...)                                                                   \
    {.labels = "", .samples = crn_samples_value, .offset = AT(place), __VA_ARGS__},
#define OBSERVED_ROW(place, ...)                                                                   \
    {.labels = "",                                                                                 \
     .samples = crn_samples_observed,                                                              \
     .offset = offsetof(crn_observation, place),                                                   \
     __VA_ARGS__},
#define METRICS_ROW(place, ...) SNAPSHOT_ROW(metrics.place, .log_offset = IN(place), __VA_ARGS__)
#define LANE_ROW(place, ...)                                                                       \
    {.labels = "lane", .samples = crn_samples_lane, .offset = LANE(place), __VA_ARGS__},

#define INGEST_ROW(member, ...) METRICS_ROW(ingest.member, __VA_ARGS__)
#define SLOTS_ROW(member, ...)  METRICS_ROW(slots.member, __VA_ARGS__)
#define LANE_STATS_ROW(member, ...)                                                                \
    LANE_ROW(stats.member, .log_offset = IN(lanes.member), __VA_ARGS__)
#define LANE_METER_ROW(member, ...)  LANE_ROW(meters.member, __VA_ARGS__)
#define VALUES_ROW(member, ...)      METRICS_ROW(values.member, __VA_ARGS__)
#define FRUIT_ROW(member, ...)       METRICS_ROW(fruits.member, __VA_ARGS__)
#define ENGINE_ROW(member, ...)      METRICS_ROW(engine.member, __VA_ARGS__)
#define SURFACES_ROW(member, ...)    METRICS_ROW(surfaces.member, __VA_ARGS__)
#define PUBLISH_ROW(member, ...)     METRICS_ROW(publish.member, __VA_ARGS__)
#define VERDICT_LOG_ROW(member, ...) METRICS_ROW(publish.log.member, __VA_ARGS__)
#define RECORDER_ROW(member, ...)    METRICS_ROW(recorder.member, __VA_ARGS__)
#define LEVELS_ROW(member, ...)      SNAPSHOT_ROW(levels.member, __VA_ARGS__)

/* A family with a function of its own; one whose samples are rows of their own. */
#define OTHER(family, kind, names_of_labels, function, text)                                       \
    {.name = family, .type = kind, .labels = names_of_labels, .help = text, .samples = function},
#define BY(family, names_of_labels, text)                                                          \
    OTHER(family, COUNTER, names_of_labels, crn_samples_of, text)
#define CLASS(family, member, text)                                                                \
    {.name = family,                                                                               \
     .type = COUNTER,                                                                              \
     .labels = "class",                                                                            \
     .help = text,                                                                                 \
     .samples = crn_samples_classes,                                                               \
     .offset = offsetof(crn_minutes_total, member)},
#define GROUP(family, of, names_of_labels, function, text, about_text)                             \
    {.name = family,                                                                               \
     .type = COUNTER,                                                                              \
     .labels = names_of_labels,                                                                    \
     .help = text,                                                                                 \
     .samples = function,                                                                          \
     .group = of,                                                                                  \
     .about = about_text},

/* clang-format off */

const crn_family crn_counts[] = {
    /* --- the daemon --- */
    OTHER("cernita_build_info", GAUGE, "version, backend", crn_samples_build,
          "always 1; backend: what runs the chain (serial, openmp or cuda)")
    OTHER("cernita_start_time_seconds", GAUGE, "", crn_samples_started,
          "start of the daemon, in seconds since 1970")
    OTHER("cernita_state", GAUGE, "state", crn_samples_state,
          "1 for the current state, 0 for the others: starting, ready, running, degraded (a device "
          "is lost), stopping")
    OTHER("cernita_snapshot_age_seconds", GAUGE, "", crn_samples_age,
          "time since the line's thread last wrote these numbers, about 1 at most; it grows while "
          "that thread hangs")
    OTHER("cernita_condition", GAUGE, "condition, lane", crn_samples_conditions,
          "1 while a condition holds, of a lane (lane=\"2\") or of the line (lane=\"\"), 0 while it does "
          "not: [all conditions](conditions/README.md)")
    OBSERVED_ROW(alarms.open,
                 LEVEL("cernita_alarms_open",
                       "alarms of the [alarm list](alarms/README.md) that are active or not "
                       "acknowledged, and not shelved"))
    OTHER("cernita_drift", GAUGE, "lane, class", crn_samples_drift,
          "how near the share of fruits with a defect of the class is to being told as changed: from 1 "
          "on `lane_drifts` or `lot_drifts` is raised ([the charts](drift/README.md))")
    OTHER("cernita_limit", GAUGE, "key", crn_samples_limits,
          "settings that figures are compared with: lanes, peers, slots, open_fruits, backlog "
          "(publish.grader.high_water_mark), workers")
    BY("cernita_reloads_total", "result",
       "reloads of the file and switches of the recipe: taken_in, or refused (the log says why)")
    SNAPSHOT_ROW(settings.taken_in, SAMPLE("cernita_reloads_total", "taken_in"))
    SNAPSHOT_ROW(settings.refused, SAMPLE("cernita_reloads_total", "refused"))
    OTHER("cernita_settings_since_timestamp_seconds", GAUGE, "", crn_samples_changed,
          "when the settings in force were taken in, in seconds since 1970")
    OTHER("cernita_recipe", GAUGE, "recipe", crn_samples_recipe,
          "always 1: the recipe in force; empty: the file's own settings")
    SNAPSHOT_ROW(settings.generations,
                 LEVEL("cernita_settings_in_use",
                       "settings in force (1), and former ones that open fruits are still judged by"))

    /* --- views in --- */
    CRN_INGEST_COUNTS(INGEST_ROW)
    CRN_SLOTS_COUNTS(SLOTS_ROW)
    OTHER("cernita_views_received_total", COUNTER, "lane, path", crn_samples_received,
          "valid views received, by transport: tcp, ipc, memfd (slots, ingest.slots; those that got "
          "none included) or vmm (slots on a GPU)")
    GROUP("cernita_views_rejected_total", CRN_LOSSES_REFUSED, "reason", crn_samples_rejected,
          "messages refused, by what is wrong with them (parts, class_set, too_large, lanes, …)",
          "messages refused; a warning says what is wrong with one")
    GROUP("cernita_lane_views_rejected_total", CRN_LOSSES_ELSEWHERE, "lane",
          crn_samples_lane_rejected,
          "the same by lane; other: lanes that never sent a valid view or were freed, and "
          "unreadable headers",
          "of the refused messages, those whose lane is not in use or whose header could not be "
          "read; the topic `status` has all by lane and reason")
    CRN_FRUIT_REFUSAL_COUNTS(FRUIT_ROW)
    METRICS_ROW(lanes_freed,
                METRIC("cernita_lanes_freed_total",
                       "lanes freed for others as they were silent (limits.lane_idle_s): their "
                       "counts are in lane=\"other\""),
                COPED("lane_freed"),
                ABOUT("lanes that were silent for `limits.lane_idle_s` and made room for others"))
    CRN_LANE_COUNTS(LANE_STATS_ROW)
    CRN_LANE_METER_COUNTS(LANE_METER_ROW)
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
    CRN_LINE_COUNTS(METRICS_ROW)

    /* --- peers --- */
    BY("cernita_peers_refused_total", "socket",
       "connections that did not speak ZeroMQ, or had the wrong socket type")
    GROUP("cernita_peers_cut_total", CRN_LOSSES_CUTS, "socket, reason", crn_samples_cut,
          "connections closed because they exceeded a limit, answered no heartbeat (cut_silent: "
          "senders and viewers), did not read (cut_unread: viewers), or lost their key by a reload "
          "(cut_revoked)",
          "peers that were disconnected, by the limit that they exceeded: [who may "
          "connect](../config/README.md#who-may-connect)")
    GROUP("cernita_access_refused_total", CRN_LOSSES_ACCESS, "socket, reason", crn_samples_access,
          "connections refused because access.keys requires keys: unknown_key, not_for_socket (the "
          "client's file does not name it), plain (no CURVE), malformed (no or a faulty handshake, "
          "such as a wrong server key), attempts (too many of these before it)",
          "connections refused because `access.keys` requires keys: [refusals](ACCESS.md#refusals)")
    METRICS_ROW(access.clients,
                LEVEL("cernita_access_clients",
                      "clients whose keys are admitted; 0 also without access.keys"))

    /* --- views and fruits --- */
    GROUP("cernita_views_faulty_total", CRN_LOSSES_VALUES, "reason", crn_samples_values,
          "views whose maps are not probabilities (not_finite, out_of_range, mask_values) or have "
          "the wrong scale (all_zero, divided_by_255, labels, per_cent, wrong_sum): judged, but "
          "their fruits are partial",
          "views whose maps are not probabilities or have another scale: [meaning of "
          "each](../src/publish/README.md); a warning names the class or the sums, and the cure")
    CRN_VALUES_COUNTS(VALUES_ROW)
    BY("cernita_views_lost_total", "reason",
       "views that were valid and not judged: no_slot, discarded, unfinished (too many for this "
       "machine), failed, device_lost (they lay in its memory), straggler (came after the verdict), "
       "no_place")
    CRN_FRUIT_COUNTS(FRUIT_ROW)
    BY("cernita_device_views_moved_total", "reason",
       "views that the processor ran instead of a device")
    CRN_ENGINE_COUNTS(ENGINE_ROW)
    OTHER("cernita_view_queue_seconds", HISTOGRAM, "", crn_samples_queue,
          "from a view's reception to its start, of views that ran through")
    OTHER("cernita_view_run_seconds", HISTOGRAM, "backend", crn_samples_run,
          "from a view's start to its end, of views that ran through")
    OTHER("cernita_stage_seconds", HISTOGRAM, "stage, backend", crn_samples_stages,
          "of each step of the chain, skipped ones left out; the second of a kind is named "
          "contours_2")
    OTHER("cernita_busy_seconds_total", COUNTER, "backend", crn_samples_busy,
          "machine time of the views that ran through")
    OTHER("cernita_views_ended_total", COUNTER, "backend", crn_samples_ended,
          "views that ran, by what ran them")
    CRN_LEVELS(LEVELS_ROW)
    OTHER("cernita_verdicts_total", COUNTER, "lane, kind", crn_samples_verdicts,
          "verdicts by lane and kind: complete, partial, late")
    {.name = "cernita_fruit_latency_seconds",
     .type = HISTOGRAM,
     .labels = "lane",
     .help = "from a fruit's close to the publication of its verdict; one edge is exactly "
             "latency.budget_ms",
     .samples = crn_samples_lane_latency,
     .offset = LANE(meters.latency)},
    OTHER("cernita_budget_seconds", GAUGE, "", crn_samples_budget, "latency.budget_ms")
    CLASS("cernita_fruits_looked_for_total", looked_for,
          "fruits in which a defect of the class was looked for, counted when their minute is over; "
          "late ones are not among them; other: classes that came when there were 64 others")
    CLASS("cernita_fruits_with_defect_total", fruits, "of these fruits, those with a defect of the class")

    /* --- measures of fruits --- */
    BY("cernita_fruits_measured_total", "result",
       "fruits by section geometry: measured, unmeasured (no pose of a view or no roll was known, "
       "or too many outlines), or skipped (time was short)")
    CRN_SURFACES_COUNTS(SURFACES_ROW)
    OTHER("cernita_fruit_coverage", SUMMARY, "", crn_samples_coverage,
          "of measured fruits: the part of the surface, 0 to 1, that some view showed")
    OTHER("cernita_view_poses_total", COUNTER, "source", crn_samples_poses,
          "views of these and unmeasured fruits, by what told where the fruit is: photo, class, "
          "header, expected (the fruit's other views) or none")
    OTHER("cernita_view_rolls_total", COUNTER, "source", crn_samples_rolls,
          "their views but the first, by what told how far the fruit rolled: photo, header, "
          "expected (geometry.roll_deg) or none")
    OTHER("cernita_view_pose_confidence", SUMMARY, "", crn_samples_confidence,
          "confidence, 0 to 1, of the poses that were found in pictures (photo, class)")
    OTHER("cernita_surface_seconds", SUMMARY, "", crn_samples_surface,
          "of measured and unmeasured fruits: rolls, union and packing, in the surfaces' thread")

    /* --- verdicts out --- */
    BY("cernita_verdicts_lost_total", "reason",
       "verdicts that no grader gets: queue_full (it was absent too long), no_memory")
    CRN_PUBLISH_COUNTS(PUBLISH_ROW)

    /* --- disks and memory --- */
    BY("cernita_log_verdicts_lost_total", "reason",
       "verdicts not logged: queue_full (the disk is too slow), disk (it refused them, or is "
       "nearly full)")
    CRN_VERDICT_LOG_COUNTS(VERDICT_LOG_ROW)
    METRICS_ROW(flight_dropped,
                METRIC("cernita_flight_verdicts_lost_total",
                       "verdicts that the flight recorder (/verdicts) left out as its thread did "
                       "not take them"),
                COPED("flight_dropped"),
                ABOUT("verdicts that the page `/verdicts` lacks: the HTTP thread got no processor, "
                      "or waits for a disk that hangs"))
    BY("cernita_record_views_lost_total", "reason",
       "views not recorded: queue_full (the disk is too slow), disk (it refused them, or is nearly "
       "full), no_slot (record.only: their slot was needed before the verdict)")
    CRN_RECORDER_COUNTS(RECORDER_ROW)
    OTHER("cernita_disk_free_bytes", GAUGE, "use", crn_samples_disk_free,
          "free space for record.dir (record) and publish.log.dir (log), where they are set")
    OTHER("cernita_disk_size_bytes", GAUGE, "use", crn_samples_disk_size, "size of these disks")
    OTHER("cernita_disk_silent_seconds", GAUGE, "use", crn_samples_disk_silent,
          "for how long such a disk has not answered the question for these figures; 0: it does")
    OTHER("cernita_memory_used_bytes", GAUGE, "part", crn_samples_memory,
          "of the memory reserved by the limits: slots, results, backlog (verdicts that wait for "
          "a grader), viewers (verdicts that wait for some viewer)")
    OBSERVED_ROW(machine.resident_bytes,
                 LEVEL("process_resident_memory_bytes", "memory of the process"))
    OTHER("process_cpu_seconds_total", COUNTER, "", crn_samples_cpu,
          "processor time of the process")
    OBSERVED_ROW(machine.descriptors, LEVEL("process_open_fds", "open files and connections"))

    /* --- the server of these pages --- */
    OTHER("cernita_http_responses_total", COUNTER, "code", crn_samples_http_responses,
          "answers of this server; 4xx: wrong method, host or path")
    OTHER("cernita_http_clients", GAUGE, "kind", crn_samples_of,
          "open connections (connection), and those of them that read /events (stream)")
    OBSERVED_ROW(http.connections, SAMPLE("cernita_http_clients", "connection"))
    OBSERVED_ROW(http.streams, SAMPLE("cernita_http_clients", "stream"))
    BY("cernita_http_clients_dropped_total", "kind",
       "connections closed because they were idle or slow, event streams because they were "
       "not read")
    OBSERVED_ROW(http.connections_dropped, SAMPLE("cernita_http_clients_dropped_total", "connection"))
    OBSERVED_ROW(http.streams_dropped, SAMPLE("cernita_http_clients_dropped_total", "stream"))
};

/* clang-format on */

const int crn_counts_count = sizeof crn_counts / sizeof *crn_counts;

uint64_t crn_counts_sum(const char *family, const crn_metrics *metrics)
{
    uint64_t sum = 0;
    for (const crn_family *row = crn_counts; row < crn_counts + crn_counts_count; row++)
        if (row->sample_of && strcmp(row->sample_of, family) == 0)
            sum += *(const uint64_t *)((const char *)metrics + row->log_offset);
    return sum;
}

const crn_family *crn_families_next(const crn_family *family)
{
    const crn_family *next = family ? family + 1 : crn_counts;
    while (next < crn_counts + crn_counts_count && !next->name)
        next++;
    return next < crn_counts + crn_counts_count ? next : NULL;
}

void crn_families_print(const crn_observation *observation, FILE *out)
{
    for (const crn_family *family = NULL; (family = crn_families_next(family));) {
        crn_exposition_print_head(family->name, family->type, family->help, out);
        family->samples(family, observation, out);
    }
}

void crn_families_print_reference(FILE *out)
{
    crn_exposition_print_reference_head(out);
    for (const crn_family *family = NULL; (family = crn_families_next(family));)
        crn_exposition_print_reference(family->name, family->type, family->labels, family->help,
                                       out);
}
