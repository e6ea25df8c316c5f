"""Series for the alerts: a healthy line, and for each alert what differs from it when it fires and when it almost does.

A case holds: the alert, or None where nothing may fire; what differs (series: values in promtool's notation); when it
fires and nothing else does; when nothing does any more. Samples are five seconds apart, as in prometheus.yml.
"""
import collections

STEPS = 200 # 16 minutes
Case = collections.namedtuple("Case", "alert title changes at quiet", defaults=[None])


def constant(value):
    return f"{value}x{STEPS}"


def growing(per_second, start=0):
    return f"{start}+{5 * per_second:g}x{STEPS}"


def burst(count):
    """A counter that goes from 0 to `count` after a minute, and stays."""
    return f"0x12 {count}x{STEPS - 13}"


def from_minute(first, then):
    """`first` for a minute, then `then`."""
    return f"{first}x12 {then}x{STEPS - 13}"


def lane(name, number, **labels):
    more = "".join(f',{key}="{value}"' for key, value in sorted(labels.items()))
    return f'{name}{{instance="line",job="cernita",lane="{number}"{more}}}'


def line(name, **labels):
    more = "".join(f',{key}="{value}"' for key, value in sorted(labels.items()))
    return f'{name}{{instance="line",job="cernita"{more}}}'


def histogram(name, per_second, total_s, at, edges, **labels):
    """A histogram of a lane whose values all lie below the edge `at`; total_s: the sum's growth a second."""
    series = {lane(f"{name}_bucket", le=edge, **labels): growing(per_second if float(edge) >= at else 0)
              for edge in edges + ("+Inf",)}
    series[lane(f"{name}_sum", **labels)] = growing(total_s)
    series[lane(f"{name}_count", **labels)] = growing(per_second)
    return series


def lateness(number, seconds, start=0):
    edges = ("0.05", "0.8", "1.6", "6.4")
    return histogram("cernita_view_lateness_seconds", 40, 40 * seconds, min(seconds, 7), edges, number=number)


def healthy():
    series = {line("up"): constant(1), line("cernita_snapshot_age_seconds"): constant(0.4),
              line("cernita_start_time_seconds"): constant(1.7e9), line("cernita_devices_lost"): constant(0),
              line("cernita_devices_left_out"): constant(0),
              line("cernita_graders"): constant(1), line("cernita_verdicts_waiting"): constant(0),
              line("cernita_lanes_unproven"): constant(0),
              line("cernita_recipe"): constant(1), line("cernita_recipe", recipe="plum"): constant("_"),
              line("cernita_recipe", recipe="pear"): constant("_")}
    for state in ("starting", "ready", "running", "degraded", "stopping"):
        series[line("cernita_state", state=state)] = constant(int(state == "running"))
    for number in (0, 1):
        series[lane("cernita_views_received_total", number, path="ipc")] = growing(40)
        series[lane("cernita_views_received_total", number, path="tcp")] = constant(0)
        series[lane("cernita_last_view_timestamp_seconds", number)] = growing(1, 1.7e9)
        for kind in ("complete", "partial", "late"):
            series[lane("cernita_verdicts_total", number, kind=kind)] = growing(10 if kind == "complete" else 0)
        for counter in ("verdicts_over_budget", "views_missing", "sequence_gaps", "sender_restarts", "epochs_reused",
                        "views_captured_later", "lane_views_rejected", "senders_mixed_views"):
            series[lane(f"cernita_{counter}_total", number)] = constant(0)
        series.update(lateness(number, 0.04))
        series.update(histogram("cernita_fruit_latency_seconds", 10, 0.02, 0.01, ("0.01", "0.1"), number=number))
    for counter in ("deadlines_ignored", "views_frozen", "fruits_forced", "fruits_too_early", "views_truncated",
                    "viewer_messages_lost", "verdicts_possibly_lost", "verdicts_without_defects"):
        series[line(f"cernita_{counter}_total")] = constant(0)
    for counter, reasons in (("views_lost", "no_slot discarded unfinished failed straggler no_place"),
                             ("views_rejected", "parts class_set"), ("views_faulty", "not_finite out_of_range"),
                             ("verdicts_lost", "queue_full no_memory"), ("log_verdicts_lost", "queue_full disk"),
                             ("record_views_lost", "queue_full disk no_slot")):
        for reason in reasons.split():
            series[line(f"cernita_{counter}_total", reason=reason)] = constant(0)
    for socket in ("ingest", "publish"):
        series[line("cernita_peers_refused_total", socket=socket)] = constant(0)
        for reason in ("cut_bytes", "cut_silent", "cut_unread"):
            series[line("cernita_peers_cut_total", reason=reason, socket=socket)] = constant(0)
    for result in ("taken_in", "refused"):
        series[line("cernita_reloads_total", result=result)] = constant(0)
    for socket in ("ingest", "grader", "viewers"):
        for reason in ("plain", "unknown_key"):
            series[line("cernita_access_refused_total", reason=reason, socket=socket)] = constant(0)
    for use in ("log", "record"):
        series[line("cernita_disk_free_bytes", use=use)] = constant(5e11)
    return series


LOST = "cernita_views_lost_total"
STARTED_AGAIN = {line("cernita_start_time_seconds"): "10x24 100x200"} # after two minutes
# Pears for a minute, plums for the next; then the daemon is started again.
PLUM_LOST = STARTED_AGAIN | {line("cernita_recipe"): "_x24 1x200",
                             line("cernita_recipe", recipe="pear"): "1x11 _x200",
                             line("cernita_recipe", recipe="plum"): "_x12 1x11 _x200"}
SILENT = {lane("cernita_views_received_total", 1, path="ipc"): f"0+200x12 2400x{STEPS}",
          lane("cernita_last_view_timestamp_seconds", 1): f"1700000000+5x12 1700000060x{STEPS}"}
STOPPED = {lane("cernita_views_received_total", 0, path="ipc"): f"0+200x13 2600x{STEPS}",
           lane("cernita_last_view_timestamp_seconds", 0): f"1700000000+5x20 1700000100x{STEPS}"}
SLOWER = {name: values for number in (0, 1) for name, values in lateness(number, 1.4).items()}
DELAYED = {name: values for number in (0, 1) for name, values in lateness(number, 0.7).items()}
AN_HOUR = {name: values for number in (0, 1) for name, values in lateness(number, 3600).items()}


def misses(of_ten_thousand):
    """On lane 0, of verdicts without any view judged."""
    return {lane("cernita_verdicts_total", 0, kind="complete"): growing(10 - of_ten_thousand / 1000),
            lane("cernita_verdicts_total", 0, kind="late"): growing(of_ten_thousand / 1000)}


def event(alert, series, quiet="3m"):
    """A counter that should stay 0: the alert fires when it grows, and no more when it stays what it is."""
    return [Case(alert, "counts", {series: burst(6)}, "1m30s", quiet),
            Case(None, "has counted before", {series: constant(6)}, "1m30s")]


CASES = [
    Case(None, "healthy", {}, "1m"),
    Case(None, "healthy", {}, "7m"),
    Case("CernitaDown", "no answer", {line("up"): from_minute(1, 0)}, "1m30s"),
    Case(None, "one answer missing", {line("up"): "1x12 0 1x100"}, "1m10s"),
    Case("CernitaNotScraped", "no such job", {line("up"): constant("_")}, "2m"),
    Case(None, "started a moment ago", {line("up"): "_x6 1x200"}, "30s"),
    Case("CernitaLineHangs", "age grows", {line("cernita_snapshot_age_seconds"): "0.4x12 0+5x20"}, "1m20s"),
    Case(None, "a slow second", {line("cernita_snapshot_age_seconds"): constant(4)}, "2m"),
    Case("CernitaRestartsOften", "three starts", {line("cernita_start_time_seconds"): "10x12 100x12 200x100"}, "4m"),
    Case("CernitaRestarted", "one restart", STARTED_AGAIN, "3m", "8m"),
    Case("CernitaRecipeLost", "the last of two recipes", PLUM_LOST, "3m"),
    Case("CernitaRecipeLost", "still", PLUM_LOST, "12m"),
    Case(None, "chosen again", PLUM_LOST | {line("cernita_recipe"): "_x24 1x12 stale",
                                            line("cernita_recipe", recipe="plum"): "_x12 1x11 _x13 1x200"}, "8m"),
    Case(None, "the file's own settings were confirmed",
         PLUM_LOST | {line("cernita_reloads_total", result="taken_in"): "0x36 1x200"}, "8m"),
    Case(None, "recipe given up, no restart",
         {line("cernita_recipe"): "_x24 1x200", line("cernita_recipe", recipe="plum"): "1x23 _x200"}, "3m"),
    *event("CernitaReloadRefused", line("cernita_reloads_total", result="refused"), "7m"),
    Case(None, "reloads", {line("cernita_reloads_total", result="taken_in"): burst(6)}, "1m30s"),
    Case("CernitaStartTakesLong", "starting", {line("cernita_state", state="starting"): constant(1)}, "3m"),
    Case(None, "starting for a minute", {line("cernita_state", state="starting"): "1x12 0x100"}, "3m"),
    Case("CernitaDegraded", "device lost", {line("cernita_devices_lost"): from_minute(0, 1)}, "1m30s"),
    Case("CernitaDegraded", "device that fails at the start", {line("cernita_devices_left_out"): constant(1)}, "1m30s"),
    Case("CernitaLaneSilent", "one of two lanes", SILENT, "1m45s"),
    Case(None, "silent for 10 s", SILENT, "1m10s"),
    Case(None, "the belt stands", SILENT | STOPPED, "4m"),
    Case("CernitaViewsMissing", "one of 40", {lane("cernita_views_missing_total", 1): growing(1)}, "2m"),
    Case(None, "one of 200", {lane("cernita_views_missing_total", 1): growing(0.2)}, "2m"),
    Case("CernitaViewsLate", "slow", SLOWER, "3m"),
    Case("CernitaViewsLate", "missing first, then late",
         {lane("cernita_views_missing_total", 1): growing(1), line(LOST, reason="straggler"): growing(1)}, "2m"),
    Case(None, "as slow as usual", DELAYED, "3m"),
    *event("CernitaViewsLate", line(LOST, reason="straggler")),
    *event("CernitaSequenceGaps", lane("cernita_sequence_gaps_total", 0)),
    Case("CernitaSequenceGaps", "and so missing", {lane("cernita_views_missing_total", 1): growing(1),
                                                   lane("cernita_sequence_gaps_total", 1): growing(1)}, "2m"),
    Case("CernitaWrongClassSet", "and so gaps",
         {lane("cernita_sequence_gaps_total", 1): growing(1), lane("cernita_lane_views_rejected_total", 1): growing(1),
          line("cernita_views_rejected_total", reason="class_set"): growing(1)}, "2m"),
    *event("CernitaWrongClassSet", line("cernita_views_rejected_total", reason="class_set")),
    *event("CernitaMessagesRejected", line("cernita_views_rejected_total", reason="parts")),
    *event("CernitaSenderRestarted", lane("cernita_sender_restarts_total", 0), "7m"),
    *event("CernitaEpochReused", lane("cernita_epochs_reused_total", 0), "7m"),
    *event("CernitaFruitsTooEarly", line("cernita_fruits_too_early_total"), "7m"),
    *event("CernitaSendersMixed", lane("cernita_senders_mixed_views_total", 0), "7m"),
    *event("CernitaClocksApart", line("cernita_deadlines_ignored_total")),
    *event("CernitaClocksApart", lane("cernita_views_captured_later_total", 0)),
    Case("CernitaClocksApart", "an hour", AN_HOUR, "3m"),
    *event("CernitaNoProbabilities", line("cernita_views_faulty_total", reason="out_of_range")),
    *event("CernitaCnnHangs", line("cernita_views_frozen_total")),
    Case("CernitaCnnUnproven", "one lane", {line("cernita_lanes_unproven"): f"0x12 1x{STEPS}"}, "3m"),
    *event("CernitaSenderCut", line("cernita_peers_cut_total", reason="cut_bytes", socket="ingest")),
    Case(None, "a sender without a heartbeat",
         {line("cernita_peers_cut_total", reason="cut_silent", socket="ingest"): burst(6)}, "1m30s"),
    *event("CernitaStrangers", line("cernita_peers_refused_total", socket="ingest"), "7m"),
    *event("CernitaAccessRefused", line("cernita_access_refused_total", reason="unknown_key", socket="grader"), "7m"),
    Case("CernitaAccessRefused", "failed handshakes, too",
         {line("cernita_access_refused_total", reason="plain", socket="ingest"): burst(6),
          line("cernita_peers_refused_total", socket="ingest"): burst(6)}, "1m30s"),
    *event("CernitaOverload", line(LOST, reason="discarded")),
    Case("CernitaOverload", "and what it brings about",
         {line(LOST, reason=reason): growing(2) for reason in ("discarded", "unfinished", "no_slot")}, "2m"),
    *event("CernitaViewsUnfinished", line(LOST, reason="unfinished")),
    Case("CernitaViewsUnfinished", "and what it brings about",
         {line(LOST, reason=reason): growing(2) for reason in ("unfinished", "no_slot")}, "2m"),
    *event("CernitaNoFreeSlot", line(LOST, reason="no_slot")),
    *event("CernitaTooManyFruits", line(LOST, reason="no_place")),
    *event("CernitaTooManyFruits", line("cernita_fruits_forced_total")),
    *event("CernitaChainFails", line(LOST, reason="failed")),
    *event("CernitaDefectsLeftOut", line("cernita_views_truncated_total")),
    Case("CernitaBudgetMissed", "2 %", {lane("cernita_verdicts_over_budget_total", 0): growing(0.2)}, "3m"),
    Case(None, "0.5 %", {lane("cernita_verdicts_over_budget_total", 0): growing(0.05)}, "3m"),
    Case("CernitaErrorBudgetBurns", "2 % late", misses(200), "6m"),
    Case(None, "1 % late", misses(100), "6m"),
    Case(None, "2 % late, for five minutes", misses(200), "4m30s"),
    Case("CernitaGraderAbsent", "none", {line("cernita_graders"): from_minute(1, 0)}, "1m30s"),
    Case("CernitaGraderAbsent", "left with verdicts on their way",
         {line("cernita_graders"): from_minute(1, 0), line("cernita_verdicts_possibly_lost_total"): burst(6)}, "1m30s"),
    Case("CernitaVerdictsPossiblyLost", "the grader is back",
         {line("cernita_graders"): "1x12 0 1x187", line("cernita_verdicts_possibly_lost_total"): burst(6)}, "1m30s"),
    Case(None, "none, and no verdicts", {line("cernita_graders"): constant(0)} | {
        lane("cernita_verdicts_total", number, kind="complete"): constant(9) for number in (0, 1)}, "3m"),
    Case("CernitaGraderNotReading", "backlog", {line("cernita_verdicts_waiting"): "0x12 0+100x300"}, "1m45s"),
    Case(None, "a backlog that drains", {line("cernita_verdicts_waiting"): "0x12 900 200 0x300"}, "1m20s"),
    Case("CernitaSeveralGraders", "two", {line("cernita_graders"): constant(2)}, "1m"),
    *event("CernitaVerdictsLost", line("cernita_verdicts_lost_total", reason="queue_full"), "7m"),
    *event("CernitaVerdictsPossiblyLost", line("cernita_verdicts_possibly_lost_total"), "7m"),
    *event("CernitaVerdictsWithoutDefects", line("cernita_verdicts_without_defects_total"), "7m"),
    *event("CernitaViewerStuck", line("cernita_viewer_messages_lost_total")),
    *event("CernitaViewerStuck", line("cernita_peers_cut_total", reason="cut_bytes", socket="publish")),
    *event("CernitaViewerStuck", line("cernita_peers_cut_total", reason="cut_silent", socket="publish")),
    *event("CernitaViewerStuck", line("cernita_peers_cut_total", reason="cut_unread", socket="publish")),
    *event("CernitaDiskRefuses", line("cernita_log_verdicts_lost_total", reason="disk")),
    *event("CernitaDiskRefuses", line("cernita_record_views_lost_total", reason="disk")),
    Case("CernitaDiskRefuses", "full",
         {line("cernita_disk_free_bytes", use="record"): "5e8-1e7x50 0x150",
          line("cernita_record_views_lost_total", reason="disk"): f"0x50 1+200x{STEPS - 51}"}, "7m"),
    *event("CernitaLogDrops", line("cernita_log_verdicts_lost_total", reason="queue_full")),
    *event("CernitaRecorderDrops", line("cernita_record_views_lost_total", reason="queue_full")),
    *event("CernitaRecorderMisses", line("cernita_record_views_lost_total", reason="no_slot")),
    Case("CernitaOverload", "and so not recorded", {line(LOST, reason="discarded"): growing(2),
                                                    line("cernita_record_views_lost_total", reason="no_slot"): growing(2)},
         "2m"),
    Case("CernitaDiskFullSoon", "in 14 hours", {line("cernita_disk_free_bytes", use="record"): "5e11-5e7x200"}, "6m"),
    Case(None, "in 139 hours", {line("cernita_disk_free_bytes", use="record"): "5e11-5e6x200"}, "6m"),
]
