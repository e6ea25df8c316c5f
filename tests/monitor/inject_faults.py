#!/usr/bin/python3
"""Injects twelve faults into running daemons under a real Prometheus, and compares the alerts with what is expected.

    tests/monitor/inject_faults.py [--bin build/bin] [--only NAME…] [--seconds 75]

Each fault has a daemon of its own with a sender and a grader; Prometheus runs with the rules, alerts and intervals of
config/prometheus. A fault must raise its own alert and no other, and `cernita-why` must name it, from a fruit's verdict
or from what it says of the whole line. Prints a table (Markdown), then the quantiles of a line without a fault as
Prometheus and `cernita-tail --table` have them, which must agree within one range of the histogram. Exit status: 0 as
expected, 1 if not. About four minutes; needs prometheus, and root for the small disk.
"""
import argparse
import bisect
import collections
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import yaml

from faults import FAULTS
from live_line import ROOT, Line

QUIET_S = 25 # without a fault, at first
STATE_S = 10 # after the fault: a viewer that is stuck is told of for some seconds
PATIENCE_S = 90 # beyond the observation, for the fault's own alert
TAIL_S = 8 # cernita-tail ends after so long without a verdict


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """Scrapes these lines, each as the instance of its name, with the project's rules."""

    def __init__(self, folder, lines):
        shipped = ROOT / "config/prometheus"
        config = yaml.safe_load((shipped / "prometheus.yml").read_text())
        config["rule_files"] = [str(shipped / name) for name in config["rule_files"]]
        config["scrape_configs"][0]["static_configs"] = [
            {"targets": [line.target], "labels": {"instance": line.name}} for line in lines]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}/api/v1"
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series",
             f"--web.listen-address={address}", "--log.level=error"])
        self.firing = collections.defaultdict(set) # alerts since the last clear(), by instance

    def ask(self, path, **query):
        with urllib.request.urlopen(f"{self.url}/{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            return json.load(answer)["data"]

    def await_ready(self):
        while True:
            try:
                return self.ask("alerts")
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("prometheus ended, as it says above") from None
                time.sleep(0.2)

    def observe(self, seconds, done=lambda: False):
        """Collects what fires for so long, or until done()."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not done():
            for alert in self.ask("alerts")["alerts"]:
                if alert["state"] == "firing":
                    labels = alert["labels"]
                    self.firing[labels.get("instance")].add(labels["alertname"])
            time.sleep(1)

    def stop(self):
        self.process.terminate()
        self.process.wait()


# --- what cernita-why says ---

def name_cause(fault, sentence, state):
    """The sentence, or the line of the state, that names the fault; both, and False, if none does."""
    for said in [sentence, *(text.strip() for text in state)]:
        if re.search(fault.why, said):
            return said, True
    return "; ".join([sentence, *state]), False


def explain(line, since_s):
    """Its sentence on most of the fruits that were late or partial since then, or else on the first one; of a log
    without a verdict since then, what it says of one that is not there."""
    def fruits_of(from_s, *arguments):
        since = time.strftime("%F %T", time.localtime(from_s))
        _, output, _ = line.why(*arguments, "--json", "--since", since)
        return [json.loads(text) for text in output.splitlines() if text.startswith("{")]

    fruits = fruits_of(since_s, "--late", "--partial", "--last", 200)
    if not fruits: # --since counts in seconds: the first one after that which the fault began in
        fruits = sorted(fruits_of(since_s + 1, "--slowest", 1000), key=lambda fruit: fruit["published_ns"])[:1]
    if not fruits:
        _, _, text = line.why(0, line.belt.sent_fruit - 5)
        return re.sub(r"(cernita-why: )?/\S*: ", "", "; ".join(text.splitlines()))
    cause = collections.Counter(fruit["cause"] for fruit in fruits).most_common(1)[0][0]
    return next(fruit for fruit in reversed(fruits) if fruit["cause"] == cause)["why"]


# --- the quantiles ---

def start_tail(line):
    tail = subprocess.Popen([line.tools / "cernita-tail", line.endpoint("grader"), "--grader", "--table", "--timeout",
                             str(TAIL_S)], stdout=subprocess.PIPE, text=True)
    line.peers.append(tail)
    return tail


def compare_quantiles(prometheus, line, tail):
    """Yields p50 and p99 by both, in ms, and whether they lie at most one range of the histogram apart."""
    line.belt.ended.set()
    table = tail.communicate()[0] # ends TAIL_S after the last verdict, which Prometheus has seen by then
    total = re.search(r"^ *total +([\d.]+) +([\d.]+)", table, re.M)
    bucket = f'cernita_fruit_latency_seconds_bucket{{instance="{line.name}"}}'
    edges = sorted(1000 * float(series["metric"]["le"]) for series in prometheus.ask("query", query=bucket)["result"])
    for number, quantile in enumerate((0.5, 0.99), 1):
        query = f"histogram_quantile({quantile}, sum by (le) ({bucket}))"
        asked_ms = 1000 * float(prometheus.ask("query", query=query)["result"][0]["value"][1])
        tail_ms = float(total.group(number))
        apart = abs(bisect.bisect_left(edges, asked_ms * 0.9999) - bisect.bisect_left(edges, tail_ms * 0.9999))
        yield f"p{100 * quantile:g}", tail_ms, asked_ms, apart <= 1


# --- the runs ---

def folder_of(fault, folder):
    return folder / fault.name.replace(" ", "-")


def start_line(fault, folder, options):
    (folder / "log").mkdir(parents=True)
    if fault.small_disk:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", folder / "log"], check=True)
    return Line(fault.name, folder, options.bin / fault.program, options.bin, fault.changes, fault.size, fault.rate)


def run(faults, folder, options):
    """Injects these at the same time. Rows of the table, and of that of quantiles."""
    lines, prometheus = [], None
    try:
        for fault in faults:
            lines.append(start_line(fault, folder_of(fault, folder), options))
        prometheus = Prometheus(folder, lines)
        prometheus.await_ready()
        tails = []
        for fault, line in zip(faults, lines):
            fault.prepare(line)
            if fault.alert is None:
                tails.append((line, start_tail(line)))
            line.start(grader=fault.alert is not None)
        rows = observe(faults, lines, prometheus, options)
        return rows, [row for line, tail in tails for row in compare_quantiles(prometheus, line, tail)]
    finally:
        for line in lines:
            line.stop()
        if prometheus:
            prometheus.stop()
        for fault in faults:
            if fault.small_disk:
                subprocess.run(["umount", "-l", folder_of(fault, folder) / "log"], check=False)


def observe(faults, lines, prometheus, options):
    """Injects all, and returns (fault, alerts that fired, cernita-why's sentence, as expected) of each."""
    prometheus.observe(QUIET_S)
    early = prometheus.firing
    prometheus.firing = collections.defaultdict(set)
    since_s = time.time()
    for fault, line in zip(faults, lines):
        fault.inject(line)
    wanted = {fault.name: {fault.alert} - {None} for fault in faults}
    prometheus.observe(STATE_S)
    states = {line.name: line.state() for line in lines}
    prometheus.observe(options.seconds - STATE_S)
    prometheus.observe(PATIENCE_S, lambda: all(prometheus.firing[name] >= wanted[name] for name in wanted))
    rows = []
    for fault, line in zip(faults, lines):
        fired = prometheus.firing[fault.name]
        sentence, named = name_cause(fault, explain(line, since_s), states[line.name])
        good = named and not early[fault.name] and fired == wanted[fault.name] and line.process.poll() is None
        rows.append((fault, fired | {f"{alert} (before)" for alert in early[fault.name]}, sentence, good))
    return rows


def print_faults(rows):
    print("| fault | injected by | alerts | `cernita-why` |\n|---|---|---|---|")
    for fault, fired, sentence, good in rows:
        alerts = ", ".join(f"`{alert}`" for alert in sorted(fired)) or "none"
        print(f"| {fault.name} | {fault.how} | {alerts} | {sentence} |{'' if good else ' NOT AS EXPECTED |'}")


def print_quantiles(rows):
    print("\n| latency of the line without a fault | `cernita-tail --table` | `histogram_quantile` |\n|---|---|---|")
    for name, tail_ms, asked_ms, good in rows:
        print(f"| {name} | {tail_ms:.2f} ms | {asked_ms:.2f} ms |{'' if good else ' NOT WITHIN ONE RANGE |'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the programs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these faults")
    parser.add_argument("--seconds", type=int, default=75, help="how long alerts are observed; 75 shows those on rates")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    chosen = [fault for fault in FAULTS if not options.only or fault.name in options.only]
    possible = [fault for fault in chosen if not fault.small_disk or os.geteuid() == 0]
    for fault in chosen:
        if fault not in possible:
            print(f"skipped: {fault.name}: needs root, to mount a small disk")
    rows, quantiles = [], []
    for together in ([fault for fault in possible if not fault.alone], *([fault] for fault in possible if fault.alone)):
        if not together:
            continue
        with tempfile.TemporaryDirectory(prefix="cernita-faults-") as folder:
            more, agreed = run(together, pathlib.Path(folder), options)
        rows += more
        quantiles += agreed
    print_faults(rows)
    print_quantiles(quantiles)
    good = [row[-1] for row in rows + quantiles]
    print(f"\n{sum(good)} passed, {len(good) - sum(good)} failed, {len(chosen) - len(possible)} skipped")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
