#!/usr/bin/python3
"""Provokes conditions on live daemons, and compares what everything says that tells of them.

    tests/monitor/check_conditions.py [--bin build/bin] [--only CONDITION…]

Each fault is injected into a daemon of its own. Within ten seconds its condition, and no other, has to stand, with what
happened and what to do, in the page's events, /healthz, /metrics, `cernita-why HOST`, `cernita-top`, `cernitactl
status`, systemd's status and the log; ten seconds after the fault is undone it has to be gone from all. While fruit is
misjudged none may say that all is well. Prints a table (Markdown): seconds until it was raised and had ended, and what
was not as expected. Exit status: 0 as expected, 1 if not. Needs root for disks and the
control group.
"""
import argparse
import pathlib
import re
import sys
import tempfile
import time

import faults_of_machine
import faults_of_programs
import faults_of_senders
from condition_line import ROOT, Line
from fault import SECONDS, possible

FAULTS = [*faults_of_senders.FAULTS, *faults_of_programs.FAULTS, *faults_of_machine.FAULTS]

QUIET_S = 8 # without a fault, at first


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


def provoke(fault, line):
    """Seconds until it was raised, and had ended, and what was not as expected."""
    wanted = {fault.condition} | fault.beside
    time.sleep(QUIET_S)
    wrong = [f"{name} before the fault" for name in line.held() if name not in wanted]
    fault.inject(line)
    raised_s, held = await_state(line, lambda found: found.keys() >= wanted, fault.within_s)
    if raised_s is None:
        fault.undo(line)
        return None, None, wrong + [f"not raised, but {', '.join(held) or 'nothing'}"]
    missing = {"not asked"}
    end = time.monotonic() + SECONDS
    others = set()
    while missing and time.monotonic() < end:
        held = line.held()
        others |= held.keys() - wanted - fault.also
        if held.keys() >= wanted:
            missing = {f"{name} ({one})" for one in wanted for name, good in sayings(line, held[one])
                       if not good and name not in fault.without}
    wrong += [f"{name} does not say it" for name in sorted(missing)]
    wrong += [f"{name} as well" for name in sorted(others)]
    if fault.lasts:
        return raised_s, None, wrong
    fault.undo(line)
    cleared_s, held = await_state(line, lambda found: not found, SECONDS)
    if cleared_s is None:
        wrong.append(f"{', '.join(held)} had not ended")
    elif line.event()["headline"]["level"] != "good":
        wrong.append(f"the page is not good again: {', '.join(line.held()) or line.event()['headline']['level']}")
    return raised_s, cleared_s, wrong


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the programs")
    parser.add_argument("--only", nargs="+", metavar="CONDITION", help="these")
    options = parser.parse_args()
    print("| condition | provoked by | raised after | ended after | |\n|---|---|---|---|---|")
    passed = failed = skipped = 0
    for fault in FAULTS:
        if options.only and fault.condition not in options.only:
            continue
        if not possible(fault):
            skipped += 1
            continue
        if fault.alone:
            await_idle_machine()
        with tempfile.TemporaryDirectory(prefix="cernita-condition-") as folder:
            with Line(fault, pathlib.Path(folder) / "line", options.bin.resolve()) as line:
                raised_s, cleared_s, wrong = provoke(fault, line)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        seconds = ["–" if value is None else f"{value:.1f} s" for value in (raised_s, cleared_s)]
        print(f"| `{fault.condition}` | {fault.how} | {' | '.join(seconds)} | {'; '.join(wrong)} |", flush=True)
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
