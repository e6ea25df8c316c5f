#!/usr/bin/python3
"""Runs all tests of faults at full length, and writes what they found to tests/FAULTS.md.

    tests/faults/check_faults.py [--bin build/bin] [--only WORD…] [--write tests/FAULTS.md]

PROGRAMS has a row for each test program: the fault, what is proved, and the environment of the long form; tools/check runs
the same programs without it. live/rows.py has the faults of a running line. Prints the tables (Markdown); exit status 0
if each passed.
"""
import argparse
import concurrent.futures
import datetime
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# (fault, program, environment of the long form, what is proved)
PROGRAMS = [
    ("power loss", "test_power_loss", {"CRN_CASES": "0"},
     "after each call of each writer its file opens, holds what was synced, and nothing that was not written"),
    ("start without memory", "test_start_memory", {"CRN_CASES": "0"},
     "each request for memory, a thread or a descriptor refused: one line and an exit status, or a start without"),
    ("SIGKILL while recording", "test_recorder_killed", {"CRN_CASES": "200"},
     "each segment can be read, and no view is missing that was said to be written"),
    ("SIGKILL while verdicts are logged", "test_verdict_log_killed", {"CRN_CASES": "200"},
     "each verdict that was written is read, in order; at most one record a kill is torn"),
    ("SIGKILL while minutes are written", "test_minutes_killed", {"CRN_CASES": "200"}, "nothing told is missing or torn"),
    ("SIGKILL while alarms are written", "test_alarm_killed", {"CRN_CASES": "200"}, "nothing told is missing or torn"),
    ("SIGKILL while the recipe changes", "test_recipe_killed", {"CRN_CASES": "200"},
     "the next start judges by what was acknowledged"),
    ("SIGKILL while archiving", "test_archive_killed", {"CRN_CASES": "200"}, "no verdict lost, none doubled"),
    ("SIGKILL of slots' producers and of the daemon", "test_line_kills", {"CRN_KILLS": "200"},
     "each view is judged once, or its producer is told"),
    ("hostile producers of slots", "test_line_hostile", {}, "an honest one beside them loses nothing"),
    ("hostile peers", "test_peers", {}, "each is disconnected, and only it"),
    ("a device that fails, at any call", "test_device_loss", {},
     "each fruit has one verdict, byte for byte the processor's (a simulated device)"),
    ("the log's disk full, failing, slow", "test_verdict_log_disk", {}, "what is not taken is counted; the line never waits"),
    ("the archive's disk full", "test_archive_disk", {}, "what it could not take is taken once there is room"),
    ("a sorter's PLC, broker, line and clock gone", "test_sorter_fails_safe", {"CRN_CASES": "200"},
     "each has its outlet, or its alarm"),
    ("all of senders, network, grader, disk and clock, in simulated time", "test_simulation",
     {"CRN_CASES": "10000", "CRN_FRUITS": "40"}, "each fruit has one verdict, in time; all counters are exact"),
]


def run_program(programs, name, environment):
    """Seconds, whether it passed, and what it printed of itself."""
    began = time.monotonic()
    done = subprocess.run([programs / name], env=os.environ | environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    said = [text for text in done.stdout.splitlines()
            if text and not re.match(r"\[|CRN_SEED|\d{4}-\d\d-\d\dT|MESSAGE", text)]
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)
    return time.monotonic() - began, done.returncode == 0, said


def row_of(programs, fault, name, environment, proved):
    seconds, passed, said = run_program(programs, name, environment)
    told = "; ".join(said[:12]).replace("|", "/")
    how = " ".join(f"{key}={value}" for key, value in environment.items())
    return passed, f"| {fault} | `{name}` {how} | {proved} | {told if passed else 'FAILED'} | {seconds:.0f} s |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--together", type=int, default=3)
    options = parser.parse_args()
    programs, passed, failed, lines = options.bin.resolve(), 0, 0, []

    def add(text):
        lines.append(text)
        print(text, flush=True)

    revision = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True,
                              text=True).stdout.strip()
    add("# Faults\n\nWritten by `tools/check --faults`, and not by hand: what was done to a line, and what it cost "
        f"({datetime.date.today()},\nrevision {revision}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}). How: "
        "[faults](faults/README.md).\n\n## A line as it runs\n\n20 fruits/s of 4 views, budget 500 ms. A fruit without a "
        "verdict, or a verdict that is not at the grader, is declared by\nwhat follows it; `stale` says that a verdict came "
        "past its deadline. None was doubled.\n")
    chosen = [row for row in PROGRAMS if not options.only or any(word in row[0] + row[1] for word in options.only)]
    pool = concurrent.futures.ThreadPoolExecutor(options.together) # most of them wait, for disks or for a process
    results = [pool.submit(row_of, programs, *row) for row in chosen]
    if not options.only or "live" in options.only:
        live = subprocess.run([HERE / "live/check_live.py", "--bin", programs], stdout=subprocess.PIPE, text=True, check=False)
        table = live.stdout.splitlines()
        counts = re.match(r"(\d+) passed, (\d+) failed, (\d+) skipped", table[-1]) if table else None
        add("\n".join(table[:-1]))
        passed += int(counts[1]) if counts else 0
        failed += int(counts[2]) if counts else 1
    add("\n## Test programs\n\n| fault | test | what it proves | what it said | took |\n|---|---|---|---|---|")
    for result in results:
        good, text = result.result()
        add(text)
        passed, failed = passed + good, failed + (not good)
    if options.write:
        options.write.write_text("\n".join(lines) + "\n")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
