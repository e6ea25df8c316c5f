"""Series for the alerts: a healthy line, and for each alert what differs from it when it fires and when it almost does.

The alerts of conditions have no cases of their own: each fires while its condition holds.

A case holds: the alert, or None where nothing may fire; what differs (series: values in promtool's notation); when it
fires and nothing else does; when nothing does any more. Samples are five seconds apart, as in prometheus.yml.
"""
import collections
import re

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


def healthy():
    series = {line("up"): constant(1), line("cernita_start_time_seconds"): constant(1.7e9)}
    for state in ("starting", "ready", "running", "degraded", "stopping"):
        series[line("cernita_state", state=state)] = constant(int(state == "running"))
    for number in (0, 1):
        for kind in ("complete", "partial", "late"):
            series[lane("cernita_verdicts_total", number, kind=kind)] = growing(10 if kind == "complete" else 0)
        for counter in ("verdicts_over_budget", "sender_restarts"):
            series[lane(f"cernita_{counter}_total", number)] = constant(0)
    for socket in ("ingest", "publish"):
        series[line("cernita_peers_refused_total", socket=socket)] = constant(0)
    for socket in ("ingest", "grader", "viewers"):
        for reason in ("plain", "unknown_key"):
            series[line("cernita_access_refused_total", reason=reason, socket=socket)] = constant(0)
    series[condition("recipe_lost")] = constant(0)
    return series


def condition(name, lane_number=""):
    return f'cernita_condition{{condition="{name}",instance="line",job="cernita",lane="{lane_number}"}}'


STARTED_AGAIN = {line("cernita_start_time_seconds"): "10x24 100x200"} # after two minutes


def misses(of_ten_thousand):
    """On lane 0, of verdicts without any view judged."""
    return {lane("cernita_verdicts_total", 0, kind="complete"): growing(10 - of_ten_thousand / 1000),
            lane("cernita_verdicts_total", 0, kind="late"): growing(of_ten_thousand / 1000)}


def event(alert, series, quiet="3m"):
    """A counter that should stay 0: the alert fires when it grows, and no more when it stays what it is."""
    return [Case(alert, "counts", {series: burst(6)}, "1m30s", quiet),
            Case(None, "has counted before", {series: constant(6)}, "1m30s")]


def conditions(rules):
    """A case for each alert of a condition, from the rules themselves: it fires while the condition holds."""
    for name, rule in rules.items():
        held = re.search(r'condition="(\w+)"', rule["expr"]).group(1)
        yield Case(name, "holds", {condition(held, 3): f"0x12 1x12 0x{STEPS - 24}"}, "1m30s", "3m")


CASES = [
    Case(None, "healthy", {}, "1m"),
    Case(None, "healthy", {}, "7m"),
    Case("CernitaDown", "no answer", {line("up"): from_minute(1, 0)}, "1m30s"),
    Case(None, "one answer missing", {line("up"): "1x12 0 1x100"}, "1m10s"),
    Case("CernitaNotScraped", "no such job", {line("up"): constant("_")}, "2m"),
    Case(None, "started a moment ago", {line("up"): "_x6 1x200"}, "30s"),
    Case("CernitaRestartsOften", "three starts", {line("cernita_start_time_seconds"): "10x12 100x12 200x100"}, "4m"),
    Case("CernitaRestarted", "one restart", STARTED_AGAIN, "3m", "8m"),
    Case("CernitaRecipeLost", "by a restart", STARTED_AGAIN | {condition("recipe_lost"): "0x24 1x200"}, "3m"),
    Case("CernitaStartTakesLong", "starting", {line("cernita_state", state="starting"): constant(1)}, "3m"),
    Case(None, "starting for a minute", {line("cernita_state", state="starting"): "1x12 0x100"}, "3m"),
    *event("CernitaSenderRestarted", lane("cernita_sender_restarts_total", 0), "7m"),
    *event("CernitaStrangers", line("cernita_peers_refused_total", socket="ingest"), "7m"),
    Case(None, "failed handshakes of refused keys",
         {line("cernita_access_refused_total", reason="plain", socket="ingest"): burst(6),
          line("cernita_peers_refused_total", socket="ingest"): burst(6)}, "1m30s"),
    Case("CernitaErrorBudgetBurns", "2 % late", misses(200), "6m"),
    Case(None, "1 % late", misses(100), "6m"),
    Case(None, "2 % late, for five minutes", misses(200), "4m30s"),
]
