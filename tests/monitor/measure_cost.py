#!/usr/bin/python3
"""What the conditions cost the line's thread: its instructions with and without the snapshot that it makes of its numbers.

    tests/monitor/measure_cost.py [--bin build/bin] [--seconds 99]

A daemon under callgrind judges ten fruits a second of four views of 256 × 48 pixels. Both figures are of the same run:
all instructions of the line's thread, and those within crn_line_snapshot(), which copies the numbers once a second and
wakes the conditions' thread, and nothing else does for the conditions. Prints them; exit status 1 if it is above 1 %.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types

from condition_line import Line
from fault import BROAD, Fault, nothing
from live_line import ROOT

SHARE_MAX = 0.01
NO_PROMETHEUS = types.SimpleNamespace(scrape=lambda *_: None, forget=lambda *_: None)
PATIENT = {"latency": {"budget_ms": 60000, "assemble_ms": 60000}} # under valgrind


def wrap(programs, folder):
    """A cernitad that runs under callgrind, in a folder of its own."""
    folder.mkdir()
    wrapper = folder / "cernitad"
    wrapper.write_text(f'#!/bin/sh\nexec valgrind -q --tool=callgrind --separate-threads=yes '
                       f'--callgrind-out-file="{folder}/out" "{programs}/cernitad" "$@"\n')
    wrapper.chmod(0o755)


def instructions(file, function):
    """All of a thread, and those within the function."""
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", file], capture_output=True, text=True,
                          check=True).stdout
    number = lambda pattern: int(re.search(pattern, text, re.M).group(1).replace(",", ""))
    return number(r"^\s*([\d,]+).*PROGRAM TOTALS"), number(rf"^\s*([\d,]+) .*:{function}\b")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the programs")
    parser.add_argument("--seconds", type=int, default=99, help="for so long it runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cernita-cost-") as name:
        folder = pathlib.Path(name)
        wrap(options.bin.resolve(), folder / "bin")
        fault = Fault("", "none", nothing, size=BROAD, changes=PATIENT)
        with Line(fault, "cost", folder / "line", folder / "bin", NO_PROMETHEUS) as line:
            time.sleep(options.seconds)
            line.process.terminate()
            line.process.wait(120) # callgrind writes its files
        every, within = instructions(folder / "bin/out-01", "crn_line_snapshot") # the first thread is the line's
    print(f"line's thread: {every} instructions, {within} of them in crn_line_snapshot: {100 * within / (every - within):.2f} % more")
    return 0 if within <= SHARE_MAX * (every - within) else 1


if __name__ == "__main__":
    sys.exit(main())
