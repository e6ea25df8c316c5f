#!/usr/bin/python3
"""Injects faults into a line as it runs, with a sender and a grader of its own, and accounts for each fruit.

    tests/faults/live/check_live.py [--bin build/bin] [--only WORD…] [--short] [--together 3] [--rows FILE]

A sender sends 20 fruits/s of 4 views; a fault is injected and undone, so many times; then each fruit that was sent has
exactly one verdict in the log, and at the grader, or is declared: by gaps of a sender's numbering, its restart, the run of
a daemon that was killed, verdicts possibly lost, or those that the log's disk did not take. Nothing may be doubled, and
after each fault a fruit has to be complete at the grader again: the seconds until then are the last column.

Prints a table (Markdown). --short: each fault as often as tools/check does it. Exit status: 0 as it should be, 1 not.
"""
import argparse
import concurrent.futures
import os
import pathlib
import sys
import traceback

from plant import HERE, Plant
from rows import BEFORE, ROWS


def run(row, programs, times):
    """The row's text, and whether all is as it should be."""
    with (row.open or Plant)(programs, row) as plant:
        if row.before:
            row.before(plant)
        plant.write_settings(**row.settings)
        plant.start_daemon(row.environment(plant) if row.environment else None)
        if row.grader:
            plant.start_grader()
        plant.start_sender()
        plant.await_sent(BEFORE)
        if row.grader:
            plant.await_graded(BEFORE)
        also = row.run(plant, times)
        account = plant.settle()
    ready = sorted(row.ready_s)
    text = f"{ready[len(ready) // 2]:.1f} s, at most {ready[-1]:.1f}" if len(ready) > 1 else f"{ready[0]:.1f} s"
    how = f"{row.how}; {also}" if also else row.how
    declared = ", ".join(f"{count:.0f} {what}" for what, count in account.declared.items()
                         if count > (what == "daemon's runs"))
    line = f"| {row.fault} | {how} | {times} | {account.text()}{'; declared: ' + declared if declared else ''} | {text} |"
    return line, account.unseen


def attempt(row, programs, times):
    try:
        line, unseen = run(row, programs, times)
    except Exception: # each row for itself
        return f"| {row.fault} | {row.how} | {times} | FAILED | |", [traceback.format_exc()]
    return line, unseen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[2] / "build/bin")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--together", type=int, default=3)
    parser.add_argument("--rows", type=pathlib.Path, help="also writes the table's rows there")
    options = parser.parse_args()
    chosen = [row for row in ROWS if not options.only or any(word in row.fault for word in options.only)]
    possible = [row for row in chosen if not row.needs_root or os.geteuid() == 0]
    print("| fault | what was done | times | what was lost | complete again after |\n|---|---|---|---|---|", flush=True)
    failed, lines = 0, []
    with concurrent.futures.ThreadPoolExecutor(options.together) as pool:
        results = [pool.submit(attempt, row, options.bin.resolve(), row.short if options.short else row.long)
                   for row in possible]
        for result in results:
            line, unseen = result.result()
            lines.append(line)
            print(line, flush=True)
            for text in unseen:
                print(f"FAILED: {text}", flush=True)
            failed += bool(unseen)
    if options.rows:
        options.rows.write_text("".join(f"{line}\n" for line in lines))
    print(f"{len(possible) - failed} passed, {failed} failed, {len(chosen) - len(possible)} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
