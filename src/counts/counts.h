/*
 * What the line counts: a row for each count, in the list of the part that counts it.
 *
 *   ROW(member, …)   a uint64_t of the part's stats
 *     METRIC(name, help)        a counter of /metrics; in the lists of lanes, one for each lane
 *     LEVEL(name, help)         a gauge: of what is there now
 *     SAMPLE(name, value)       a sample of the counter `name` (src/monitor/families.c), by the
 *                               value of its label
 *     LOST(log, hint)           something was lost or came too late: its name in the log, and in
 *                               /healthz and /events; cause and cure, one clause
 *     REFUSED(log, hint)        the same, of messages that were refused
 *     LOST_VIEW(log, reason)    the same; the hint is that of a crn_view_reason
 *     NOTICE(log, hint)         not a loss, but to be looked at
 *     COPED(log)                out of the ordinary, and the line coped with it
 *     ABOUT(text)               for the log's reference, where the help of METRIC does not say it
 *
 * The log and /healthz name counts in the order of these rows; of two losses alike the first is
 * said to be the main one.
 */
#ifndef CRN_SRC_COUNTS_COUNTS_H
#define CRN_SRC_COUNTS_COUNTS_H

#define CRN_COUNT_MEMBER(member, ...) uint64_t member;
#define CRN_COUNT_ADD(member, ...)    sum->member += added->member;

#define CRN_COUNT_TOO_SLOW "the disk is too slow or full"

/* Of messages: crn_ingest_stats. */
#define CRN_INGEST_COUNTS(ROW)                                                                     \
    ROW(messages,                                                                                  \
        METRIC("cernita_messages_received_total", "messages read from senders, valid or not"))     \
    ROW(failed_handshakes, SAMPLE("cernita_peers_refused_total", "ingest"))

/* Of slots: crn_slots_stats. */
#define CRN_SLOTS_COUNTS(ROW)                                                                      \
    ROW(producers, METRIC("cernita_producers_connected_total",                                     \
                          "programs of this machine that got slots (ingest.slots)"))               \
    ROW(producers_refused,                                                                         \
        METRIC("cernita_producers_refused_total",                                                  \
               "programs of this machine that asked for slots and got none"),                      \
        NOTICE("producer_refused", "a program asked for slots and got none: a warning says why"),  \
        ABOUT("programs that asked for slots (`ingest.slots`) and got none; a warning says why"))  \
    ROW(slots_taken_back,                                                                          \
        METRIC("cernita_slots_taken_back_total",                                                   \
               "slots that were filled and whose view's header never came"),                       \
        NOTICE("slot_taken_back", "slots were filled and their views' headers never came: were "   \
                                  "they sent through ZeroMQ, and lost there?"),                    \
        ABOUT("slots (`ingest.slots`) whose view's header did not come within 10 s"))

/* Valid messages that contradict others: crn_fruit_stats. */
#define CRN_FRUIT_REFUSAL_COUNTS(ROW)                                                              \
    ROW(views_mismatch,                                                                            \
        REFUSED("views_mismatch", "all views of a fruit must name the same number of views"),      \
        ABOUT("views whose `views` is not what their fruit's first one said, or that cannot be: "  \
              "the sender"))                                                                       \
    ROW(lanes,                                                                                     \
        REFUSED("lanes", "more lanes than limits.lanes, and none silent for limits.lane_idle_s: "  \
                         "list those that exist in ingest.lanes, or raise the limit"),             \
        ABOUT("views of more lanes than `limits.lanes`, while none was silent for "                \
              "`limits.lane_idle_s`: `ingest.lanes` lists those that exist"))                      \
    ROW(lanes_not_listed, REFUSED("lane_not_listed", "lanes that ingest.lanes does not have"),     \
        ABOUT("views of lanes that `ingest.lanes` does not have"))

/* Of a lane's numbering and senders: crn_lane_stats. */
#define CRN_LANE_COUNTS(ROW)                                                                         \
    /* So far: a reordered one is subtracted again. */                                               \
    ROW(missing,                                                                                     \
        LOST("sequence_missing",                                                                     \
             "gaps in a sender's numbering: views were lost on their way, or refused"),              \
        ABOUT("numbers that are missing in each sender's numbering: views lost on their way, or "    \
              "refused"))                                                                            \
    ROW(duplicates, METRIC("cernita_sequence_duplicates_total", "sequence numbers seen before"),     \
        COPED("sequence_duplicate"))                                                                 \
    ROW(reordered, METRIC("cernita_sequence_reordered_total", "views that overtook each other"),     \
        COPED("sequence_reordered"))                                                                 \
    ROW(jumps,                                                                                       \
        METRIC("cernita_sequence_jumps_total", "sequence numbers more than 2^20 away from those "    \
                                               "before: no gap, but a sender's fault"),              \
        COPED("sequence_jump"),                                                                      \
        ABOUT("sequence numbers more than 2²⁰ away from those before: not counted as missing; a " \
              "warning names the view"))                                                             \
    ROW(joined,                                                                                      \
        METRIC("cernita_senders_joined_total",                                                       \
               "times that senders that send at once, each its own views, were joined"),             \
        COPED("senders_joined"),                                                                     \
        ABOUT("senders of a lane that send at once, each its own views, and were joined; a line "    \
              "of the log names two"))                                                               \
    ROW(mixed,                                                                                       \
        METRIC("cernita_senders_mixed_views_total",                                                  \
               "views of senders that send at once and cannot be joined: /healthz names two"),       \
        COPED("senders_mixed"),                                                                      \
        ABOUT("views of senders of a lane that send at once and cannot be joined; a warning and "    \
              "`/healthz` name two and the cure"))                                                   \
    ROW(restarts, METRIC("cernita_sender_restarts_total", "changes of the epoch"),                   \
        COPED("sender_restart"))                                                                     \
    ROW(reused,                                                                                      \
        METRIC("cernita_epochs_reused_total",                                                        \
               "restarts of a sender without a new epoch, which can cost verdicts"),                 \
        COPED("epoch_reused"),                                                                       \
        ABOUT("restarts of a sender in an epoch that it used before: its fruits are taken for "      \
              "those judged less than `latency.straggler_ms` before; a warning names it"))

/* Of a lane's views and verdicts: crn_lane_meters. */
#define CRN_LANE_METER_COUNTS(ROW)                                                                 \
    /* The highest value of `missing` so far: a counter must not fall. */                          \
    ROW(gaps, METRIC("cernita_sequence_gaps_total",                                                \
                     "sequence numbers that never arrived: views lost before the line"))           \
    ROW(captured_later,                                                                            \
        METRIC("cernita_views_captured_later_total",                                               \
               "views whose captured_ns lies after their reception: the clocks are apart"))        \
    ROW(missing,                                                                                   \
        METRIC("cernita_views_missing_total", "views that a fruit lacked at its verdict, but for " \
                                              "refused ones: they came too late, or never"))       \
    ROW(over_budget,                                                                               \
        METRIC("cernita_verdicts_over_budget_total",                                               \
               "verdicts published later than latency.budget_ms after their fruit's close"))

/* Counted in the main loop. */
#define CRN_LINE_COUNTS(ROW)                                                                       \
    /* The log's name is in the singular, as those of its neighbours; systemd/README.md documents  \
     * it. */                                                                                      \
    ROW(deadlines_ignored,                                                                         \
        METRIC("cernita_deadlines_ignored_total",                                                  \
               "header deadlines more than 10 s away: the clocks are apart"),                      \
        COPED("deadline_ignored"),                                                                 \
        ABOUT("views whose `deadline_ns` was more than 10 s away: the sender's clock or unit"))    \
    ROW(deadlines_over,                                                                            \
        METRIC("cernita_deadlines_over_total",                                                     \
               "views whose header's deadline was over, or nearly, when they came"),               \
        COPED("deadline_over"),                                                                    \
        ABOUT("views whose `deadline_ns` was over when they came, or less than "                   \
              "`latency.guard_ms` ahead: the sender's clock, or it gives too little time"))        \
    ROW(steps_skipped,                                                                             \
        METRIC("cernita_views_steps_skipped_total",                                                \
               "views judged without steps that are optional, as their time was short"),           \
        COPED("steps_skipped"),                                                                    \
        ABOUT("views judged without `optional` steps of the chain, as their time was short: "      \
              "their fruits are `partial`"))                                                       \
    ROW(truncated,                                                                                 \
        METRIC("cernita_views_truncated_total",                                                    \
               "views of which defects were left out: more than limits.points, or than fit"),      \
        LOST("truncated",                                                                          \
             "defects left out, as there are too many (limits.points, limits.open_fruits)"),       \
        ABOUT("views with more defects than `limits.points` allows, or than find room until the "  \
              "verdict: it is `truncated`"))

/* Of the values of views: crn_values_stats. */
#define CRN_VALUES_COUNTS(ROW)                                                                     \
    ROW(frozen,                                                                                    \
        METRIC("cernita_views_frozen_total", "views with the same values as the nine or more "     \
                                             "before them on their lane: does the CNN hang?"),     \
        NOTICE("frozen", "a lane's views are all alike: its CNN hangs, or an old buffer is sent"))

/* crn_fruit_stats. */
#define CRN_FRUIT_COUNTS(ROW)                                                                      \
    ROW(wanted, METRIC("cernita_views_wanted_total", "views that were added to a fruit"))          \
    ROW(judged,                                                                                    \
        METRIC("cernita_views_judged_total", "of these, judged before their fruit's verdict"))     \
    ROW(duplicates, METRIC("cernita_views_duplicate_total", "views that a fruit had already"),     \
        COPED("duplicate_view"))                                                                   \
    ROW(stragglers, SAMPLE("cernita_views_lost_total", "straggler"),                               \
        LOST("straggler",                                                                          \
             "views came after their fruit's verdict (latency.assemble_ms or the sender's "        \
             "deadline_ns too short, or a fruit's number used again?)"),                           \
        ABOUT("views whose fruit was judged before (`latency.assemble_ms`, or the `deadline_ns` "  \
              "of a view's header, too short?)"))                                                  \
    ROW(returned_early,                                                                            \
        METRIC("cernita_fruits_too_early_total",                                                   \
               "fruits without a verdict: their number returned within latency.straggler_ms"),     \
        LOST("number_too_early",                                                                   \
             "fruits without a verdict, as their numbers were those of fruits judged just "        \
             "before: let the counter have more bits, or lower latency.straggler_ms"),             \
        ABOUT("fruits without a verdict, as their number was that of one judged less than "        \
              "`latency.straggler_ms` before; the grader sees a gap in the lane's `sequence`, "    \
              "and a warning names one"))                                                          \
    ROW(returned,                                                                                  \
        METRIC("cernita_fruit_numbers_returned_total", "fruits whose number was that of one "      \
                                                       "judged not long before, with a verdict "   \
                                                       "of their own"),                            \
        NOTICE("number_returned",                                                                  \
               "fruits had the numbers of fruits judged not long before: let the counter have "    \
               "more bits, so that late views can be distinguished from them"))                    \
    ROW(forgotten,                                                                                 \
        METRIC("cernita_verdicts_forgotten_total",                                                 \
               "verdicts that limits.judged_fruits forgot within latency.straggler_ms: a "         \
               "straggler may have opened their fruit again"),                                     \
        NOTICE("verdict_forgotten",                                                                \
               "verdicts were forgotten before the time of their stragglers was over: raise "      \
               "limits.judged_fruits, or lower latency.straggler_ms"))                             \
    ROW(no_slot, SAMPLE("cernita_views_lost_total", "no_slot"),                                    \
        LOST_VIEW("no_slot", CRN_REASON_NO_SLOT),                                                  \
        ABOUT("views lost: no memory free, or evicted by views of higher priority"))               \
    ROW(discarded, SAMPLE("cernita_views_lost_total", "discarded"),                                \
        LOST_VIEW("discarded", CRN_REASON_DISCARDED),                                              \
        ABOUT("views lost: they could not have been ready in time, or their fruit was judged"))    \
    ROW(unfinished, SAMPLE("cernita_views_lost_total", "unfinished"),                              \
        LOST_VIEW("unfinished", CRN_REASON_UNFINISHED),                                            \
        ABOUT("views lost: not ready when their fruit was due"))                                   \
    ROW(failed, SAMPLE("cernita_views_lost_total", "failed"),                                      \
        LOST("failed", "the chain failed, an error says why"),                                     \
        ABOUT("views whose chain failed; an error says why"))                                      \
    ROW(device_lost, SAMPLE("cernita_views_lost_total", "device_lost"),                            \
        LOST("device_lost", "views lay in the memory of a GPU that was given up, an error says "   \
                            "why; restart to use it again"),                                       \
        ABOUT("views lost: they lay in the memory of a GPU that was given up; an error says "      \
              "why"))                                                                              \
    ROW(forced,                                                                                    \
        METRIC("cernita_fruits_forced_total",                                                      \
               "fruits judged early because limits.open_fruits was reached"),                      \
        COPED("forced_fruit"))                                                                     \
    ROW(table_full, SAMPLE("cernita_views_lost_total", "no_place"),                                \
        LOST("no_place", "more open fruits than limits.open_fruits"),                              \
        ABOUT("views of new fruits not taken, as `limits.open_fruits` was reached"))               \
    ROW(opened, METRIC("cernita_fruits_opened_total", "fruits seen"))

/* crn_engine_stats. */
#define CRN_ENGINE_COUNTS(ROW)                                                                     \
    ROW(device_new, SAMPLE("cernita_device_views_moved_total", "new_shape"),                       \
        COPED("device_new_shape"),                                                                 \
        ABOUT("views that the processor did: a shape new to the "                                  \
              "device"))                                                                           \
    ROW(device_cut, SAMPLE("cernita_device_views_moved_total", "too_many_contours"),               \
        COPED("device_cut"),                                                                       \
        ABOUT("views that the processor did: too many outlines for the "                           \
              "device"))                                                                           \
    ROW(device_lost, SAMPLE("cernita_device_views_moved_total", "device_lost"),                    \
        COPED("device_lost_views"),                                                                \
        ABOUT("views that the processor did: taken back from a lost "                              \
              "device"))                                                                           \
    ROW(device_copied,                                                                             \
        METRIC("cernita_device_views_copied_total", "views in a GPU's memory that were copied to " \
                                                    "host memory, as something needed them "       \
                                                    "there"))                                      \
    ROW(device_slow,                                                                               \
        METRIC("cernita_device_batches_slow_total", "batches that took more than half of the "     \
                                                    "time after which their device counts as "     \
                                                    "lost"),                                       \
        NOTICE("device_slow", "batches on a GPU came near the time after which it counts as "      \
                              "lost: " CRN_DEVICE_SHARED_CURE),                                    \
        ABOUT("batches on a GPU that came near the time after which it counts as lost: another "   \
              "process computes on it, or its thread found no core free ([beside a "               \
              "CNN](../gpu/README.md#beside-a-cnn-on-the-same-gpu))"))                             \
    ROW(lost,                                                                                      \
        LOST("devices_lost", "a GPU was given up, an error says why; restart to use it again"),    \
        ABOUT("GPUs given up; an error says why. Restart to use them again"))

/* Of fruits that are measured (section geometry): crn_surfaces_stats. */
#define CRN_SURFACES_COUNTS(ROW)                                                                   \
    ROW(measured, SAMPLE("cernita_fruits_measured_total", "measured"))                             \
    ROW(unmeasured, SAMPLE("cernita_fruits_measured_total", "unmeasured"),                         \
        NOTICE("fruit_unmeasured",                                                                 \
               "fruits whose views show no fruit, or not how it rolled: surface.pose of their "    \
               "verdicts says which; are their photographs usable?"),                              \
        ABOUT("fruits without measures (`geometry`): no view shows where the fruit is, or not "    \
              "how it rolled, or there are more outlines than `limits` allow"))                    \
    ROW(skipped, SAMPLE("cernita_fruits_measured_total", "skipped"), COPED("fruit_skipped"),       \
        ABOUT("fruits without measures (`geometry`), as their time was short: they are "           \
              "`partial`"))

/* crn_publish_stats. */
#define CRN_PUBLISH_COUNTS(ROW)                                                                    \
    ROW(dropped, SAMPLE("cernita_verdicts_lost_total", "queue_full"),                              \
        LOST("verdict_dropped",                                                                    \
             "the grader is absent or does not keep up (publish.grader.high_water_mark)"),         \
        ABOUT("verdicts for the grader, pushed out of the queue while it was away"))               \
    ROW(sent,                                                                                      \
        METRIC("cernita_verdicts_sent_total", "verdicts that the network took for the grader"))    \
    ROW(stale,                                                                                     \
        METRIC("cernita_verdicts_stale_total",                                                     \
               "verdicts sent past their deadline, after having waited for a grader"),             \
        LOST("verdict_stale", "sent past their deadline: the grader was away, or this process "    \
                              "had no core to run on"),                                            \
        ABOUT("verdicts sent to the grader past their deadline, because it was away or the line "  \
              "came late"))                                                                        \
    ROW(possibly_lost,                                                                             \
        METRIC("cernita_verdicts_possibly_lost_total",                                             \
               "verdicts sent to a grader shortly before it left"),                                \
        LOST("verdict_possibly_lost",                                                              \
             "a grader disconnected while verdicts were on their way to it"),                      \
        ABOUT("verdicts that may not have reached a grader that disconnected"))                    \
    ROW(failed, SAMPLE("cernita_verdicts_lost_total", "no_memory"),                                \
        LOST("verdict_failed", "no memory"), ABOUT("fruits without a verdict: no memory"))         \
    ROW(without_defects,                                                                           \
        METRIC("cernita_verdicts_without_defects_total",                                           \
               "verdicts sent without their defects, as memory was short"),                        \
        LOST("verdict_without_defects", "no memory"))                                              \
    ROW(viewers_dropped,                                                                           \
        METRIC("cernita_viewer_messages_lost_total",                                               \
               "messages to viewers that were dropped because their queue was full"),              \
        LOST("viewers_dropped", "viewers' messages; no verdict"))                                  \
    ROW(waiting, LEVEL("cernita_verdicts_waiting",                                                 \
                       "verdicts that wait for a grader; of cernita_limit{key=\"backlog\"}"))      \
    ROW(graders, LEVEL("cernita_graders", "graders connected: 1 is right, more share the "         \
                                          "verdicts between them"))                                \
    ROW(grader_connects, METRIC("cernita_grader_connects_total", "connections of graders"))        \
    ROW(grader_disconnects, METRIC("cernita_grader_disconnects_total", "graders that left"))       \
    ROW(extra_graders,                                                                             \
        METRIC("cernita_graders_extra_total", "graders that connected while there was one"))       \
    ROW(viewers, LEVEL("cernita_viewers", "viewers connected"))                                    \
    ROW(refused, SAMPLE("cernita_peers_refused_total", "publish"))

/* crn_verdict_log_stats. */
#define CRN_VERDICT_LOG_COUNTS(ROW)                                                                \
    ROW(written,                                                                                   \
        METRIC("cernita_log_verdicts_written_total", "verdicts written to publish.log.dir"))       \
    ROW(bytes, METRIC("cernita_log_bytes_total", "bytes written to publish.log.dir"))              \
    ROW(dropped, SAMPLE("cernita_log_verdicts_lost_total", "queue_full"),                          \
        LOST("log_dropped", CRN_COUNT_TOO_SLOW " (publish.log.dir)"),                              \
        ABOUT("verdicts not in the verdict log (`publish.log`): the disk is too slow. Grader and " \
              "viewers got them"))                                                                 \
    ROW(failed, SAMPLE("cernita_log_verdicts_lost_total", "disk"),                                 \
        LOST("log_failed", CRN_COUNT_TOO_SLOW " (publish.log.dir)"),                               \
        ABOUT("verdicts not in the verdict log: refused by the disk (a warning says why). Grader " \
              "and viewers got them"))                                                             \
    ROW(removed, METRIC("cernita_log_files_removed_total",                                         \
                        "files of the log removed (publish.log.keep_mib, publish.log.keep_days)"))

/* crn_recorder_stats. */
#define CRN_RECORDER_COUNTS(ROW)                                                                   \
    ROW(written, METRIC("cernita_record_views_written_total", "views written to record.dir"))      \
    ROW(bytes, METRIC("cernita_record_bytes_total", "bytes written to record.dir"))                \
    ROW(dropped, SAMPLE("cernita_record_views_lost_total", "queue_full"),                          \
        LOST("recording_dropped", CRN_COUNT_TOO_SLOW " (record.dir)"),                             \
        ABOUT("views not recorded: the disk is too slow"))                                         \
    ROW(failed, SAMPLE("cernita_record_views_lost_total", "disk"),                                 \
        LOST("recording_failed", CRN_COUNT_TOO_SLOW " (record.dir)"),                              \
        ABOUT("views not recorded: refused by the disk"))                                          \
    ROW(missed, SAMPLE("cernita_record_views_lost_total", "no_slot"),                              \
        LOST("recording_no_slot",                                                                  \
             "slots were needed before the verdict (record.only): raise limits.slots"),            \
        ABOUT("views not recorded of fruits that `record.only` names: their slots were needed "    \
              "before the verdict. A higher `limits.slots` holds more"))                           \
    ROW(segments, METRIC("cernita_record_segments_total", "recordings finished"))                  \
    ROW(removed, METRIC("cernita_record_segments_removed_total",                                   \
                        "recordings removed (record.keep_gib, record.keep_days)"))

/* What is there at this time: crn_levels. */
#define CRN_LEVELS(ROW)                                                                            \
    ROW(senders, LEVEL("cernita_senders", "senders connected"))                                    \
    ROW(lanes, LEVEL("cernita_lanes", "lanes seen since the start, but for freed ones"))           \
    ROW(lanes_unproven,                                                                            \
        LEVEL(                                                                                     \
            "cernita_lanes_unproven",                                                              \
            "lanes without a value of 0.5 since their CNN started, in 64 views or more: nothing "  \
            "shows that it works; lanes silent for two minutes are left out"))                     \
    ROW(slots_free,                                                                                \
        LEVEL("cernita_slots_free", "slots without a view; of cernita_limit{key=\"slots\"}"))      \
    ROW(fruits_open, LEVEL("cernita_fruits_open", "fruits without a verdict"))                     \
    ROW(devices, LEVEL("cernita_devices", "devices in use at the start"))                          \
    ROW(devices_lost, LEVEL("cernita_devices_lost", "devices lost since the start"))               \
    ROW(devices_left_out, LEVEL("cernita_devices_left_out",                                        \
                                "devices that did not work at the start: the line runs without "   \
                                "them"))

#endif
