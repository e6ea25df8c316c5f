#!/usr/bin/python3
"""Provokes conditions on live daemons, and compares what everything says that tells of them.

    tests/monitor/check_conditions.py [--bin build/bin] [--only CONDITION…] [--together 4]

Each fault is injected into a daemon of its own. Within ten seconds its condition, and no other, has to stand, with what
happened and what to do, in the page's events, /healthz, /metrics, `cernita-why HOST`, `cernita-top`, `cernitactl
status`, systemd's status and the log; ten seconds after the fault is undone it has to be gone from all. While fruit is
misjudged none may say that all is well. Under a Prometheus with the rules, alerts and intervals of config/prometheus
its own alert has to fire, and no other. Where fruits suffer, `cernita-why` has to name the cause from a verdict.

Prints tables (Markdown): seconds until it was raised and had ended, and what was not as expected; and what cernita-why
says of a fruit. Exit status: 0 as expected, 1 if not. Needs root for disks and the control group.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile
import time
import traceback

import faults_of_machine
import faults_of_programs
import faults_of_senders
from condition_line import ROOT, Line
from fault import SECONDS, possible
from prometheus import Prometheus, alerts_of_conditions

FAULTS = [*faults_of_senders.FAULTS, *faults_of_programs.FAULTS, *faults_of_machine.FAULTS]

QUIET_S = 8 # without a fault, at first
NICE = -15 # of what shares the machine: where that is busy, `processor_taken` would be raised, and rightly
ALERT_S = 20 # a scrape and an evaluation later an alert fires


def sayings(line, held):
    """What each says of the condition: (name, whether it names cause and action)."""
    what, action = held["what"], held["action"]
    event = line.event()
    listed = [one for one in event["conditions"] if one["id"] == held["id"]]
    yield "page", bool(listed) and event["headline"]["level"] not in ("good", "none") and \
        event["headline"]["misjudged"] >= listed[0]["misjudged"]
    yield "/metrics", f'cernita_condition{{condition="{held["id"]}",lane="{held.get("lane", "")}"}} 1' in line.get("/metrics")
    for name, text in (("cernita-why", line.run("cernita-why", line.target)), ("cernitactl", line.ctl("status")),
                       ("cernita-top", line.run("cernita-top", "--once", line.target)),
                       ("systemd", line.manager_status()), ("log", line.log.read_text())):
        plain = " ".join(text.split()) # lines may be folded
        yield name, same_words(what, plain) and (action in plain or name == "cernita-top")


def same_words(what, text):
    """True if the text has the sentence, whatever its figures, which change every second."""

    return re.search(re.sub(r"\d+", r"[0-9.]+", re.escape(what)), text) is not None


def await_state(line, good, seconds):
    """Seconds until good(conditions held), and those; None, if it was not in time."""
    began = time.monotonic()
    while True:
        held = line.held()
        passed = time.monotonic() - began
        if good(held):
            return passed, held
        if passed > seconds:
            return None, held
        time.sleep(0.2)


def await_sayings(fault, line, wanted):
    """What does not say it in time, and conditions that were raised beside it."""
    end = time.monotonic() + SECONDS
    missing, others = set(wanted), set()
    while missing and time.monotonic() < end:
        held = line.held()
        others |= held.keys() - wanted - fault.also
        if held.keys() >= wanted:
            missing = {f"{name} ({one})" for one in wanted for name, good in sayings(line, held[one])
                       if not good and name not in fault.without}
    return [f"{name} does not say it" for name in sorted(missing)] + [f"{name} as well" for name in sorted(others)]


def compare_alerts(fault, line, wanted):
    known = alerts_of_conditions()
    expected = {known[name] for name in wanted} | fault.alerts
    fired = line.prometheus.await_alerts(line.name, expected, ALERT_S)
    return [f"{name} does not fire" for name in sorted(expected - fired)] + \
        [f"{name} fires" for name in sorted(fired - expected - {known.get(name, name) for name in fault.also})]


def await_end(line):
    """Seconds until all had ended, and what was not as expected."""
    cleared_s, held = await_state(line, lambda found: not found, SECONDS)
    if cleared_s is None:
        return None, [f"{', '.join(held)} had not ended"]
    level = line.event()["headline"]["level"]
    return cleared_s, [] if level == "good" else [f"the page is not good again: {', '.join(line.held()) or level}"]


def provoke(fault, line):
    """Seconds until it was raised, and had ended, what cernita-why says of a fruit, and what was not as expected."""
    wanted = ({fault.condition} if fault.condition else set()) | fault.beside
    time.sleep(QUIET_S)
    wrong = [f"{name} before the fault" for name in line.held() if name not in wanted]
    since_s = time.time()
    fault.inject(line)
    raised_s, held = await_state(line, lambda found: found.keys() >= wanted, fault.within_s)
    if raised_s is None:
        fault.undo(line)
        return None, None, "", wrong + [f"not raised, but {', '.join(held) or 'nothing'}"]
    wrong += await_sayings(fault, line, wanted)
    wrong += compare_alerts(fault, line, wanted)
    why = line.explain(since_s) if fault.why else ""
    if not re.search(fault.why, why):
        wrong.append("cernita-why says something else of a fruit")
    cleared_s = None
    if not fault.lasts:
        fault.undo(line)
        cleared_s, left = await_end(line)
        wrong += left
    return raised_s, cleared_s, why, wrong


def await_idle_machine():
    """Waits until other programs leave the processor alone, two minutes at most."""
    def times():
        fields = pathlib.Path("/proc/stat").read_text().split()[1:9]
        return int(fields[3]), sum(map(int, fields))

    end = time.monotonic() + 120
    idle_share = 0
    while idle_share < 0.8 and time.monotonic() < end:
        idle, total = times()
        time.sleep(3)
        idle_after, total_after = times()
        idle_share = (idle_after - idle) / (total_after - total)


def run(fault, number, folder, options, prometheus):
    """What provoke() returns of a daemon of its own."""
    if fault.alone:
        await_idle_machine()
    name = f"{number:02d}-{fault.condition or 'none'}"
    try:
        with Line(fault, name, folder / name, options.bin.resolve(), prometheus) as line:
            return provoke(fault, line)
    except Exception: # the other rows go on
        return None, None, "", [traceback.format_exc().replace("\n", " ")]


def go_before_others():
    """This thread, and the processes that it starts."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    except PermissionError:
        pass


def run_all(faults, folder, options, prometheus):
    """Yields each fault's result, in order; those that need the machine for themselves come last, at nice 0."""
    with concurrent.futures.ThreadPoolExecutor(options.together, initializer=go_before_others) as pool:
        running = [(fault, pool.submit(run, fault, number, folder, options, prometheus))
                   for number, fault in enumerate(faults) if not fault.alone]
        for fault, result in running:
            yield fault, result.result()
    for number, fault in enumerate(faults):
        if fault.alone:
            yield fault, run(fault, number, folder, options, prometheus)


def not_provoked():
    """Conditions without a fault."""
    return alerts_of_conditions().keys() - {name for fault in FAULTS for name in {fault.condition} | fault.beside}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the programs")
    parser.add_argument("--only", nargs="+", metavar="CONDITION", help="these")
    parser.add_argument("--together", type=int, default=4, metavar="N", help="so many lines at a time")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if not options.only or fault.condition in options.only]
    faults = [fault for fault in chosen if possible(fault)]
    passed, failed, sentences = 0, 0, []
    for name in [] if options.only else sorted(not_provoked()):
        failed += 1
        print(f"{name}: no fault of faults_of_*.py provokes it\n")
    print("| condition | provoked by | raised after | ended after | not as expected |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="cernita-conditions-") as folder, \
            Prometheus(pathlib.Path(folder)) as prometheus:
        for fault, (raised_s, cleared_s, why, wrong) in run_all(faults, pathlib.Path(folder), options, prometheus):
            passed, failed = passed + (not wrong), failed + bool(wrong)
            seconds = ["–" if value is None else f"{value:.1f} s" for value in (raised_s, cleared_s)]
            print(f"| {fault.title()} | {fault.how} | {' | '.join(seconds)} | {'; '.join(wrong)} |", flush=True)
            if why:
                sentences.append(f"| {fault.title()} | {why} |")
    print("\n| condition | `cernita-why` of a fruit |\n|---|---|", *sentences, sep="\n")
    print(f"\n{passed} passed, {failed} failed, {len(chosen) - len(faults)} skipped")
    return 0 if failed == 0 and faults else 1


if __name__ == "__main__":
    sys.exit(main())
