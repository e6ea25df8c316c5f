#!/usr/bin/env python3
"""Prints the Grafana dashboard of a line, in Grafana's classic JSON model (schema version 37).

    config/grafana/make_dashboard.py > cernita.json

ROWS is the dashboard: its rows, and in each the panels from left to right. A panel keeps its number, since addresses
of single panels hold it; a new one takes the next free one.
"""
import json
import string

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
DAEMON = 'instance=~"$instance"'
LANES = DAEMON + ',lane=~"$lane"'
JOB = 'job="cernita"' # for what every process exports
COLUMNS = 24


# --- what a panel asks for: (PromQL expression, legend) ---

def of(series, labels=DAEMON, more=""):
    """The series of the daemons (and lanes, with labels=LANES) that are chosen at the top."""
    return f"{series}{{{labels}{',' if more else ''}{more}}}"


def total(series, labels=DAEMON, more="", by=None, how="sum"):
    return f"{how} by ({by}) ({of(series, labels, more)})" if by else f"{how}({of(series, labels, more)})"


def rate(counter, by=None, labels=DAEMON, function="rate"):
    """A counter's growth a second, summed over what `by` does not name."""
    return f"sum{f' by ({by}) ' if by else ''}({function}({of(counter, labels)}[$__rate_interval]))"


def increase(counter, by=None, labels=DAEMON):
    return rate(counter, by, labels, "increase")


def p99(histogram, by=""):
    return f"histogram_quantile(0.99, {rate(histogram + '_bucket', by + 'le')})"


def lane_events(counter, function="rate"):
    """A counter of each lane that is mostly still: nothing is drawn then."""
    return rate(counter, "lane", LANES, function) + " > 0"


FIRING = of("ALERTS", more='alertname=~"Cernita.*",alertstate="firing"')


# --- kinds of panels ---

def panel(number, kind, title, about, width, queries, defaults, options, overrides=(), **of_query):
    """A panel without its place, which `dashboard` computes."""
    return {"id": number, "type": kind, "title": title, "description": about, "datasource": SOURCE,
            "gridPos": {"w": width}, "fieldConfig": {"defaults": defaults, "overrides": list(overrides)},
            "options": options,
            "targets": [{"refId": letter, "datasource": SOURCE, "editorMode": "code", "expr": expression,
                         "legendFormat": legend} | of_query
                        for letter, (expression, legend) in zip(string.ascii_uppercase, queries)]}


def stat(number, title, about, width, *queries, steps=(("blue", None),), text="auto", **field):
    """A number; `steps`: its background, (colour, from which value on)."""
    thresholds = {"mode": "absolute", "steps": [{"color": color, "value": value} for color, value in steps]}
    return panel(number, "stat", title, about, width, queries,
                 {"color": {"mode": "thresholds"}, "thresholds": thresholds} | field,
                 {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                  "colorMode": "background", "graphMode": "none", "justifyMode": "auto", "orientation": "auto",
                  "textMode": text, "wideLayout": True, "showPercentChange": False,
                  "percentChangeColorMode": "standard"}, range=False, instant=True)


def limit_line(name):
    """The series of this name is a limit: red and dashed, never filled or stacked."""
    values = {"color": {"mode": "fixed", "fixedColor": "red"},
              "custom.lineStyle": {"fill": "dash", "dash": [10, 10]}, "custom.fillOpacity": 0,
              "custom.stacking": {"mode": "none", "group": "B"}}
    return {"matcher": {"id": "byName", "options": name},
            "properties": [{"id": key, "value": value} for key, value in values.items()]}


def graph(number, title, about, width, *queries, stack="none", fill=0, limit=None, **field):
    """Curves over time, from 0 unless `min` is None; `limit`: the legend of one that is a limit."""
    field = {"min": 0, "color": {"mode": "palette-classic"}} | field
    custom = {"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": fill,
              "showPoints": "never", "spanNulls": False, "stacking": {"mode": stack, "group": "A"}}
    return panel(number, "timeseries", title, about, width, queries,
                 {key: value for key, value in field.items() if value is not None} | {"custom": custom},
                 {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                  "tooltip": {"mode": "multi", "sort": "desc"}},
                 [limit_line(limit)] if limit else (), range=True)


def heatmap(number, title, about, width, histogram):
    hidden = {"legend": False, "tooltip": False, "viz": False}
    return panel(number, "heatmap", title, about, width, [(increase(histogram + "_bucket", "le", LANES), "{{le}}")],
                 {"color": {"mode": "palette-classic"},
                  "custom": {"scaleDistribution": {"type": "linear"}, "hideFrom": hidden}},
                 {"calculate": False, "cellGap": 1, "showValue": "never",
                  "color": {"fill": "dark-orange", "mode": "scheme", "scheme": "Spectral", "steps": 64,
                            "reverse": True, "exponent": 0.5, "scale": "exponential"},
                  "yAxis": {"axisPlacement": "left", "unit": "s", "reverse": False}, "rowsFrame": {"layout": "le"},
                  "tooltip": {"mode": "single", "yHistogram": True}, "legend": {"show": True},
                  "exemplars": {"color": "rgba(255,0,255,0.7)"}, "filterValues": {"le": 1e-09}},
                 range=True, format="heatmap")


# --- the dashboard: (number, title, [(height, panels)…]) ---

BUDGET = [("red", None), ("orange", 0.99), ("green", 0.999)]
STACKED = {"stack": "normal", "fill": 40}

ROWS = [
    (1, "Within the budget?", [(4, [
        stat(2, "Within the budget, last minute", "Share of the fruits that had a judgement within latency.budget_ms, of "
             "the worst lane. A late verdict is a miss, a partial one is not.", 5,
             (total("cernita:within_budget:ratio_rate1m", LANES, how="min"), ""),
             steps=BUDGET, decimals=2, unit="percentunit"),
        stat(3, "Last hour", "The same over an hour.", 3,
             ("1 - " + total("cernita:misses:ratio_rate1h", LANES, how="max"), ""),
             steps=BUDGET, decimals=3, unit="percentunit"),
        stat(4, "Error budget burn, 5 min", "1: misses use up exactly what is allowed, one fruit in a thousand. 10: ten "
             "times as much.", 4, (total("cernita:error_budget_burn:ratio_rate5m", LANES, how="max"), ""),
             steps=[("green", None), ("orange", 1), ("red", 14)], decimals=1),
        stat(5, "State", "starting, ready (no view yet), running, degraded (a device is lost), stopping.", 4,
             (of("cernita_state") + " == 1", "{{state}}"), text="name"),
        stat(6, "Graders", "One is right: several share the verdicts between them.", 3,
             (of("cernita_graders"), "{{instance}}"), steps=[("red", None), ("green", 1), ("red", 2)]),
        stat(7, "Alerts", "Alerts that fire now.", 2, (f"count({FIRING}) or vector(0)", ""),
             steps=[("green", None), ("red", 1)]),
        stat(8, "Fruits/s", "Verdicts a second, all lanes.", 3, (total("cernita:verdicts:rate1m", LANES), ""),
             decimals=1),
    ]), (6, [
        graph(9, "Alerts that fire", "config/prometheus/README.md says what to do.", 12,
              (f"count by (alertname, instance) ({FIRING})", "{{alertname}} {{instance}}"),
              min=None, stack="normal", fill=30),
        graph(10, "Share within the budget", "By lane, over a minute.", 12,
              (of("cernita:within_budget:ratio_rate1m", LANES), "lane {{lane}}"), min=None, max=1, unit="percentunit"),
    ])]),
    (11, "Latency: from a fruit's close to the publication of its verdict", [(9, [
        heatmap(12, "Fruits by latency", "One edge is exactly latency.budget_ms (the dashed line in the panel beside it): "
                "what lies above it was published too late.", 12, "cernita_fruit_latency_seconds"),
        graph(13, "p50, p99 and p99.9 by lane, and the budget", "Over five minutes; interpolated within the histogram's "
              "ranges, which grow by 1.6.", 12,
              (of("cernita:fruit_latency_seconds:quantile5m", LANES), "lane {{lane}} q{{quantile}}"),
              (total("cernita_budget_seconds", how="max"), "budget"), limit="budget", unit="s"),
    ])]),
    (14, "Where the time goes", [(8, [
        graph(15, "Stages' share of the time", "Seconds a second, stacked to 100 %.", 8,
              (rate("cernita_stage_seconds_sum", "stage, backend"), "{{stage}} {{backend}}"),
              min=None, unit="s", stack="percent", fill=40),
        graph(16, "p99 of each stage", "Of one view.", 8,
              (p99("cernita_stage_seconds", "stage, backend, "), "{{stage}} {{backend}}"), unit="s"),
        graph(17, "Views: waiting and running, p99", "From reception to start, and from start to end.", 8,
              (p99("cernita_view_queue_seconds"), "waiting"),
              (p99("cernita_view_run_seconds", "backend, "), "running, {{backend}}"), unit="s"),
    ])]),
    (18, "Lanes", [(8, [
        graph(19, "Fruits/s", "Verdicts a second.", 5, (of("cernita:verdicts:rate1m", LANES), "lane {{lane}}")),
        graph(20, "Silent for", "Since the lane's last valid view, by Prometheus' clock.", 5,
              ("time() - " + of("cernita_last_view_timestamp_seconds", LANES), "lane {{lane}}"), unit="s"),
        graph(21, "From camera to line, p90", "captured_ns to reception: camera, CNN and network; only with clocks that "
              "agree.", 5, (of("cernita:view_lateness_seconds:p90_1m", LANES), "lane {{lane}}"), unit="s"),
        graph(22, "Verdicts by kind", "complete, partial, late.", 5,
              (rate("cernita_verdicts_total", "kind", LANES), "{{kind}}"), **STACKED),
        graph(45, "Views/s by transport", "Valid views, by how they came: tcp or ipc.", 4,
              (rate("cernita_views_received_total", "path", LANES), "{{path}}"), **STACKED),
    ])]),
    (23, "Losses by reason", [(8, [
        graph(24, "Views lost", "Valid views a second that were not judged, and views that never came.", 8,
              (rate("cernita_views_lost_total", "reason"), "{{reason}}"),
              (rate("cernita_views_missing_total", "lane", LANES), "missing, lane {{lane}}")),
        graph(25, "Messages refused", "By reason and by lane, a second.", 8,
              (rate("cernita_views_rejected_total", "reason") + " > 0", "{{reason}}"),
              (rate("cernita_lane_views_rejected_total", "lane") + " > 0", "lane {{lane}}")),
        graph(26, "On the way: gaps, restarts", "What the senders' numbering tells.", 8,
              (lane_events("cernita_sequence_gaps_total"), "gaps, lane {{lane}}"),
              (lane_events("cernita_sequence_reordered_total"), "reordered, lane {{lane}}"),
              (lane_events("cernita_sequence_duplicates_total"), "duplicate, lane {{lane}}"),
              (lane_events("cernita_sender_restarts_total", "increase"), "restarts, lane {{lane}}"),
              (lane_events("cernita_epochs_reused_total", "increase"), "epoch reused, lane {{lane}}")),
    ]), (8, [
        graph(27, "Doubtful values and clocks", "Views a second whose maps are not probabilities or do not change, and "
              "whose times cannot be.", 8,
              (rate("cernita_views_faulty_total", "reason") + " > 0", "{{reason}}"),
              (rate("cernita_views_frozen_total") + " > 0", "frozen"),
              (rate("cernita_views_captured_later_total", labels=LANES) + " > 0", "captured after reception"),
              (rate("cernita_deadlines_ignored_total") + " > 0", "deadline ignored")),
        graph(28, "Verdicts lost", "A second, towards the grader.", 8,
              (rate("cernita_verdicts_lost_total", "reason"), "{{reason}}"),
              (rate("cernita_verdicts_possibly_lost_total"), "possibly lost"),
              (rate("cernita_verdicts_stale_total"), "sent too late"),
              (rate("cernita_verdicts_without_defects_total"), "without defects"),
              (rate("cernita_views_truncated_total"), "views without all defects")),
        graph(29, "Peers disconnected", "Connections that exceeded a limit or do not belong here, and what viewers lost.",
              8, (increase("cernita_peers_cut_total", "socket, reason") + " > 0", "{{socket}} {{reason}}"),
              (increase("cernita_peers_refused_total", "socket") + " > 0", "{{socket}} refused"),
              (increase("cernita_viewer_messages_lost_total") + " > 0", "messages to viewers lost")),
    ])]),
    (53, "Measures of fruits", [(8, [
        graph(54, "Fruits/s by result", "With section geometry: unmeasured ones show no fruit, or not how it rolled; skipped "
              "ones had no time.", 6, (rate("cernita_fruits_measured_total", "result"), "{{result}}"), **STACKED),
        graph(55, "Part of the surface that was seen", "Mean of the fruits; it falls when views are missing.", 6,
              (f"{rate('cernita_fruit_coverage_sum')} / {rate('cernita_fruit_coverage_count')}", "coverage"),
              max=1, unit="percentunit"),
        graph(56, "What told where the fruit is, and its roll", "A second; expected: the picture did not show it. The mean "
              "confidence is of poses found in pictures, 0 to 1.", 6,
              (rate("cernita_view_poses_total", "source"), "pose: {{source}}"),
              (rate("cernita_view_rolls_total", "source"), "roll: {{source}}"),
              (f"{rate('cernita_view_pose_confidence_sum')} / {rate('cernita_view_pose_confidence_count')}",
               "mean confidence")),
        graph(57, "Time of a fruit's measures", "Mean, in the surfaces' thread.", 6,
              (f"{rate('cernita_surface_seconds_sum')} / {rate('cernita_surface_seconds_count')}", "a fruit"), unit="s"),
    ])]),
    (30, "Devices and workers", [(8, [
        graph(31, "Machine time", "Seconds a second that views ran; the processor can give as many as there are workers.",
              6, (rate("cernita_busy_seconds_total", "backend"), "{{backend}}"),
              (total("cernita_limit", more='key="workers"', how="max"), "workers"), limit="workers"),
        graph(32, "Views/s by backend", "What ran them.", 6,
              (rate("cernita_views_ended_total", "backend"), "{{backend}}"), **STACKED),
        graph(33, "Views moved to the processor", "A shape that is new to the device, too many contours for it, or a lost "
              "device.", 6, (rate("cernita_device_views_moved_total", "reason"), "{{reason}}")),
        graph(34, "Devices", "A lost device is used again after a restart.", 6,
              (of("cernita_devices"), "in use at the start {{instance}}"),
              (of("cernita_devices_lost"), "lost {{instance}}"), decimals=0),
    ])]),
    (35, "Memory, backlog and disks", [(8, [
        graph(36, "Memory", "Of what the limits reserve, and of the process.", 6,
              (total("cernita_memory_used_bytes", by="part"), "{{part}}"),
              (total("process_resident_memory_bytes", more=JOB), "resident"), unit="bytes"),
        graph(37, "Slots and open fruits", "No free slot: views are dropped.", 6,
              (total("cernita_slots_free"), "slots free"), (total("cernita_limit", more='key="slots"'), "slots"),
              (total("cernita_fruits_open"), "fruits open"), limit="slots", decimals=0),
        graph(38, "Verdicts that wait for the grader", "Past the limit the oldest is dropped.", 6,
              (total("cernita_verdicts_waiting"), "waiting"),
              (total("cernita_limit", more='key="backlog"'), "publish.grader.high_water_mark"),
              limit="publish.grader.high_water_mark", decimals=0),
        graph(39, "Free space of the disks", "log: publish.log.dir, record: record.dir, where they are set.", 6,
              (f"{of('cernita_disk_free_bytes')} / {of('cernita_disk_size_bytes')}", "{{use}} {{instance}}"),
              max=1, unit="percentunit"),
    ])]),
    (40, "Log, recorder and the daemon itself", [(8, [
        graph(41, "Written", "A second.", 6, (rate("cernita_log_verdicts_written_total"), "verdicts to the log"),
              (rate("cernita_record_views_written_total"), "views to the recording")),
        graph(42, "Not written", "queue_full: the disk is too slow. disk: it refused them, or is full. no_slot: "
              "record.only lost their slot before the verdict.", 6,
              (rate("cernita_log_verdicts_lost_total", "reason"), "log, {{reason}}"),
              (rate("cernita_record_views_lost_total", "reason"), "recording, {{reason}}")),
        graph(43, "Processor and snapshot age", "The numbers are renewed once a second; their age grows while the line's "
              "thread hangs.", 6,
              (f"rate({of('process_cpu_seconds_total', more=JOB)}[$__rate_interval])", "cores {{instance}}"),
              (of("cernita_snapshot_age_seconds"), "age of the numbers, s {{instance}}")),
        graph(44, "Connections", "Senders, viewers, readers of these pages.", 6,
              (total("cernita_senders"), "senders"), (total("cernita_viewers"), "viewers"),
              (total("cernita_http_clients", by="kind"), "HTTP, {{kind}}"),
              (total("process_open_fds", more=JOB), "descriptors"), decimals=0),
    ]), (8, [
        graph(46, "Bytes written", "To disk, a second.", 6, (rate("cernita_log_bytes_total"), "log"),
              (rate("cernita_record_bytes_total"), "recording"), unit="Bps"),
        graph(47, "Removed by retention", "Recordings finished, and those and files of the log that were removed "
              "(keep_gib, keep_mib, keep_days).", 6,
              (increase("cernita_record_segments_total"), "recordings finished"),
              (increase("cernita_record_segments_removed_total"), "recordings removed"),
              (increase("cernita_log_files_removed_total"), "files of the log removed")),
    ])]),
    (48, "Settings, recipes and keys", [(8, [
        stat(49, "Recipe in force", "By which fruits are judged that open now.", 5,
             (of("cernita_recipe", more='recipe!=""'), "{{recipe}}"),
             (of("cernita_recipe", more='recipe=""'), "the file's own settings"), text="name"),
        stat(50, "Settings in force since", "The last start, reload or switch of the recipe that changed anything.", 4,
             (of("cernita_settings_since_timestamp_seconds") + " * 1000", "{{instance}}"), text="value",
             unit="dateTimeFromNow"),
        graph(51, "Reloads and settings in use", "Reloads and switches of the recipe; former settings are in use until the "
              "fruits that opened under them are judged.", 7,
              (increase("cernita_reloads_total", "result"), "{{result}}"),
              (total("cernita_settings_in_use", how="max"), "settings in use")),
        graph(52, "Connections refused for want of a key", "With access.keys, by socket; the log names addresses and "
              "keys.", 8, (increase("cernita_access_refused_total", "socket, reason") + " > 0", "{{socket}} {{reason}}"),
              (total("cernita_access_clients"), "clients admitted")),
    ])]),
]


# --- around the panels ---

def annotation(name, color, timestamp, title):
    return {"datasource": SOURCE, "enable": True, "iconColor": color, "name": name,
            "expr": f"changes({of(timestamp)}[1m]) > 0", "titleFormat": title, "step": "5s"}


def variable(name, label, kind, query, current, **more):
    return {"name": name, "label": label, "type": kind, "query": query, "current": current, "hide": 0, "options": [],
            "regex": "", "skipUrlSync": False} | more


def choice(name, label, series):
    """A variable: any values of a label at once."""
    query = f"label_values({series}, {name})"
    return variable(name, label, "query", query, {"selected": True, "text": ["All"], "value": ["$__all"]},
                    datasource=SOURCE, definition=query, refresh=2, sort=3, multi=True, includeAll=True, allValue=".*")


def placed_panels():
    """The rows and panels, each at its place."""
    y = 0
    for number, title, bands in ROWS:
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "panels": [],
               "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}}
        y += 1
        for height, panels in bands:
            x = 0
            for shown in panels:
                shown["gridPos"] |= {"x": x, "y": y, "h": height}
                x += shown["gridPos"]["w"]
                yield shown
            y += height


def dashboard():
    builtin = {"builtIn": 1, "datasource": {"type": "grafana", "uid": "-- Grafana --"}, "enable": True, "hide": True,
               "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard"}
    return {
        "uid": "cernita-line", "title": "cernita: a line", "tags": ["cernita"], "schemaVersion": 37, "version": 1,
        "description": "Lines of the fruit-sorting machine: within the budget or not, and why. Made for the rules in "
                       "config/prometheus.",
        "editable": True, "graphTooltip": 1, "fiscalYearStartMonth": 0, "liveNow": False, "timezone": "browser",
        "weekStart": "", "time": {"from": "now-30m", "to": "now"}, "refresh": "5s", "links": [],
        "timepicker": {"refresh_intervals": ["1s", "5s", "30s", "1m"]},
        "annotations": {"list": [
            builtin,
            annotation("Starts of the daemon", "orange", "cernita_start_time_seconds", "{{instance}} started"),
            annotation("New settings", "blue", "cernita_settings_since_timestamp_seconds",
                       "{{instance}}: reload or recipe")]},
        "templating": {"list": [
            variable("datasource", "Prometheus", "datasource", "prometheus",
                     {"selected": False, "text": "Prometheus", "value": "cernita-prometheus"}, includeAll=False,
                     multi=False, refresh=1),
            choice("instance", "Daemon", f"up{{{JOB}}}"),
            choice("lane", "Lane", of("cernita_verdicts_total"))]},
        "panels": list(placed_panels()),
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=2))
