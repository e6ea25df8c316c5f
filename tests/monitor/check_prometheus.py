#!/usr/bin/python3
"""Checks config/prometheus and config/grafana: syntax, every alert on series, every name against what is exported.

    tests/monitor/check_prometheus.py [--daemon build/bin/cernitad]

With a daemon, which is started as the sorter beside it is and asked for /metrics, values of labels are checked as well.
Needs promtool (Debian: prometheus). Prints a line for each fault and exits 1 when there was any.
"""
import argparse
import collections
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

import yaml

from alert_cases import CASES, conditions, healthy
from sorter_alert_cases import SORTER_CASES, healthy_sorter

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "config/prometheus"
MAKE_DASHBOARD = ROOT / "config/grafana/make_dashboard.py"
RULES = ("rules.yml", "alerts.yml", "conditions.yml", "sorter.yml")
FAMILIES = (ROOT / "src/monitor/README.md", ROOT / "tools/sorter/monitor/README.md")
SUFFIXES = ("_bucket", "_sum", "_count")
PAGE = r"(?:metrics at|monitor:) (http://[\w.:]+)" # where a daemon or a sorter says that it is
OWN_LABELS = {"job", "instance"} # set by Prometheus

# PromQL's words that are not metric names; a function is known by the parenthesis behind it.
WORDS = set("and or unless by without on ignoring group_left group_right offset bool inf nan start end".split())


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True)
    return None if done.returncode == 0 else re.sub(r"\n\s*\n", "\n", done.stdout + done.stderr).strip()


# --- what is exported, and what is used ---

Family = collections.namedtuple("Family", "type labels")


def exported():
    """The families by name, from the tables that unit tests hold equal to those of daemon and sorter."""
    families = {"up": Family("gauge", set()), "ALERTS": Family("gauge", {"alertname", "alertstate", "severity"})}
    text = "".join(path.read_text() for path in FAMILIES)
    for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w, ]*) \|", text, re.M):
        families[name] = Family(kind, set(labels.replace(" ", "").split(",")) - {""})
    return families


def recorded(groups):
    """Recorded series, with the labels that their expressions keep."""
    rules = {}
    for rule in (rule for group in groups for rule in group["rules"] if "record" in rule):
        kept = set(itertools.chain(*(names.replace(" ", "").split(",")
                                     for names in re.findall(r"\bby \(([^)]*)\)", rule["expr"]))))
        for name in re.findall(r"cernita:[\w:]+", rule["expr"]):
            kept |= rules[name].labels
        rules[rule["record"]] = Family("recorded", (kept - {"le"}) | set(rule.get("labels", ())))
    return rules


def selectors(expression):
    """Metric names of an expression, each with its matchers: (label, operator, value)…"""
    for found in re.finditer(r'([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?', blank_lists(expression)):
        name, matchers = found.groups()
        after = blank_lists(expression)[found.end(1):].lstrip()
        if name in WORDS or after.startswith("("):
            continue
        yield name, re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers or "")


def blank_lists(expression):
    """Without durations, numbers and the label lists of operators."""
    expression = re.sub(r"\[[^\]]*\]", " ", expression)
    expression = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", expression)
    return re.sub(r"(?<![\w:\"])[0-9.]+(e[+-]?[0-9]+)?\w*", " ", expression)


def label_lists(expression):
    for names in re.findall(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)", expression):
        yield from (name for name in names.replace(" ", "").split(",") if name)


def find(name, known):
    for suffix in SUFFIXES:
        base = name.removesuffix(suffix)
        if base != name and base in known and (known[base].type == "histogram" or
                                               known[base].type == "summary" and suffix != "_bucket"):
            return known[base]._replace(labels=known[base].labels | ({"le"} if suffix == "_bucket" else set()))
    family = known.get(name)
    return None if family is None or family.type in ("histogram", "summary") else family


def check_names(where, expression, known, values):
    labels_here = set(OWN_LABELS)
    for name, matchers in selectors(expression):
        family = find(name, known)
        if family is None:
            yield f"{where}: {name} is not exported; see {FAMILIES[0].relative_to(ROOT)}"
            continue
        labels_here |= family.labels
        for label, operator, value in matchers:
            if label not in family.labels | OWN_LABELS:
                yield f"{where}: {name} has no label {label}"
            elif operator in ("=", "!=") and values.get((name, label), {value}).isdisjoint({value}):
                yield f"{where}: {name} has no {label}=\"{value}\"; it has {', '.join(sorted(values[name, label]))}"
    for label in label_lists(expression):
        if label not in labels_here:
            yield f"{where}: no series in it has a label {label}"


def page_of(program, config, folder):
    """The page /metrics of a program with that configuration."""
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    with subprocess.Popen([program, "--config", folder / "config.yaml"], stderr=subprocess.PIPE, text=True) as running:
        try:
            url = next((found.group(1) for line in running.stderr if (found := re.search(PAGE, line))), None)
            assert url, f"{program} has no page"
            with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
                return answer.read().decode()
        finally:
            running.terminate()


def daemon_config(folder):
    """That of a daemon that writes all it can."""
    ipc = f"ipc://{folder}"
    return {"classes": [{"name": "rot", "level": 0.5}], "chain": ["contours"], "record": {"dir": str(folder)},
            "ingest": {"bind": f"{ipc}/views"}, "monitor": {"http": "127.0.0.1:0"},
            "publish": {"grader": {"bind": f"{ipc}/grader"}, "viewers": {"bind": f"{ipc}/viewers"},
                        "log": {"dir": str(folder)}}}


def sorter_config(folder):
    return {"line": {"endpoint": f"ipc://{folder}/grader"}, "outputs": {"stdout": {"format": "text"}},
            "outlets": {"names": ["a", "b"]} | dict.fromkeys(("default", "late", "partial", "silence", "unmeasured"), "b"),
            "monitor": {"http": "127.0.0.1:0"}}


def values_of(page):
    """Values of each label in a page of /metrics, by (metric, label); lanes are left out."""
    values = collections.defaultdict(set)
    for name, labels in re.findall(r"^(\w+)\{(.*)\} ", page, re.M):
        for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
            if label != "lane":
                values[name, label].add(value)
    return values


# --- the checks ---

def is_of_condition(rule):
    return rule["expr"].startswith("cernita_condition{")


def check_alerts_documented(alerts):
    table = re.findall(r"^\| `(Cernita\w+)` \| (\w+) \| [^|]+ \| [^|]+ \|$", (FOLDER / "README.md").read_text(), re.M)
    rows = dict(table)
    for name, rule in alerts.items():
        if is_of_condition(rule):
            continue # a test of the table of conditions sees to them
        severity = rule.get("labels", {}).get("severity")
        if severity not in ("critical", "warning", "info"):
            yield f"alerts.yml: {name}: severity is {severity}, not critical, warning or info"
        if rows.pop(name, None) != severity:
            yield f"README.md: no row of {name} ({severity}): alert, severity, fires when, what to do"
        for text in ("summary", "description"):
            if not rule.get("annotations", {}).get(text):
                yield f"alerts.yml: {name}: no {text}"
    for name in rows:
        yield f"README.md: {name} is not an alert"


def samples(names):
    return [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in names]


def test_of(case, alerts):
    """promtool's test of a case: nothing but its alert fires, with every label that the texts name."""
    series = healthy() | healthy_sorter()
    for name in case.changes:
        known = name in series or name.startswith("cernita_condition{")
        assert known, f"{case.alert}: {name} is not among the healthy series"
    series.update(case.changes)
    firing = 'ALERTS{alertstate="firing"}'
    title = f" # {case.alert or 'no alert'}: {case.title}" # promtool names a test by its expression alone
    wanted = [{"expr": f"group by (alertname) ({firing}){title}", "eval_time": case.at,
               "exp_samples": samples([case.alert] if case.alert else [])}]
    if case.quiet:
        wanted.append({"expr": firing + title, "eval_time": case.quiet, "exp_samples": []})
    texts = " ".join(alerts[case.alert]["annotations"].values()) if case.alert else ""
    for label in sorted(set(re.findall(r"\$labels\.(\w+)", texts))):
        wanted.append({"expr": f'group by (alertname) ({firing[:-1]},alertname="{case.alert}",{label}=""}}){title}',
                       "eval_time": case.at, "exp_samples": []})
    return {"interval": "5s",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": wanted}


def check_alerts_fire(alerts, folder):
    cases = CASES + SORTER_CASES + [*conditions({name: rule for name, rule in alerts.items() if is_of_condition(rule)})]
    tests = {"rule_files": [str(FOLDER / name) for name in RULES], "evaluation_interval": "5s",
             "tests": [test_of(case, alerts) for case in cases]}
    (folder / "tests.yml").write_text(json.dumps(tests))
    if (fault := promtool("test", "rules", folder / "tests.yml")):
        yield fault
    for name in sorted(alerts.keys() - {case.alert for case in cases}):
        yield f"tests/monitor/: no case in which {name} fires"


def expressions(dashboard):
    """(place, expression) of all that a dashboard asks for."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        if "expr" in annotation:
            yield annotation["name"], annotation["expr"]
    for variable in dashboard["templating"]["list"]:
        # Grafana asks for the values of a label itself; "count by" is what Prometheus knows of that.
        for series, label in re.findall(r"^label_values\((.*), (\w+)\)$", variable.get("definition", "")):
            yield f"variable {variable['name']}", f"count by ({label}) ({series})"


def without_variables(expression):
    for variable, value in (("$__rate_interval", "1m"), ("$__range", "1h"), ("$lane", ".*"), ("$instance", ".*")):
        expression = expression.replace(variable, value)
    return expression


def check_dashboard(dashboard, known, values, folder):
    used = [(title, without_variables(text)) for title, text in expressions(dashboard)]
    rules = [{"record": f"panel:{number}", "expr": text} for number, (_, text) in enumerate(used)]
    (folder / "dashboard.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    if (fault := promtool("check", "rules", folder / "dashboard.yml")):
        yield fault
    for title, text in used:
        yield from check_names(f"dashboard: {title}", text, known, values)
        if "$" in text:
            yield f"dashboard: {title}: a variable that this check does not know: {text}"
    yield from check_layout(dashboard)


def check_layout(dashboard):
    """Every panel has a number, a place and a data source of its own; no two lie on each other."""
    taken, numbers = {}, set()
    for panel in dashboard["panels"]:
        title, place = panel["title"], panel["gridPos"]
        if panel["id"] in numbers:
            yield f"dashboard: {title}: id {panel['id']} is used twice"
        numbers.add(panel["id"])
        if panel["type"] != "row" and panel.get("datasource", {}).get("uid") != "${datasource}":
            yield f"dashboard: {title}: its data source is not ${{datasource}}"
        for cell in itertools.product(range(place["x"], place["x"] + place["w"]),
                                      range(place["y"], place["y"] + place["h"])):
            if cell[0] >= 24 or cell in taken:
                yield f"dashboard: {title}: lies on {taken.get(cell, 'the edge')}"
                break
            taken[cell] = title


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--daemon", type=pathlib.Path, help="cernitad, to check values of labels")
    daemon = parser.parse_args().daemon
    values = {}
    if daemon:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            values = values_of(page_of(daemon, daemon_config(folder), folder) +
                               page_of(daemon.with_name("cernita-sorter"), sorter_config(folder), folder))

    groups = [group for name in RULES
              for group in yaml.safe_load((FOLDER / name).read_text())["groups"]]
    alerts = {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}
    known = exported() | recorded(groups)
    faults = [fault for fault in (promtool("check", "config", FOLDER / "prometheus.yml"),) if fault]
    for rule in (rule for group in groups for rule in group["rules"]):
        faults += check_names(rule.get("alert") or rule["record"], rule["expr"], known, values)
    faults += check_alerts_documented(alerts)
    dashboard = subprocess.run([MAKE_DASHBOARD], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        faults += check_alerts_fire(alerts, pathlib.Path(folder))
        faults += check_dashboard(json.loads(dashboard), known, values, pathlib.Path(folder))
    count = len(CASES) + len(SORTER_CASES)
    print("\n".join(faults) if faults else f"{len(alerts)} alerts, {count} cases, and the dashboard are as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
