#!/usr/bin/python3
"""Compares the quantiles of a line without a fault, as Prometheus and `cernita-tail --table` have them.

    tests/monitor/check_quantiles.py [--bin build/bin] [--seconds 100]

Both figures of a quantile must lie in the same range of the histogram, or in neighbouring ones. No alert may fire.
Prints a table (Markdown). Exit status: 0 as expected, 1 if not.
"""
import argparse
import bisect
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from condition_line import ROOT, Line
from fault import BROAD, SLOW, Fault, nothing
from prometheus import Prometheus

SOUND = Fault("", "nothing", nothing, changes=SLOW, size=BROAD, rate=2)
TAIL_S = 8 # cernita-tail ends after so long without a verdict


def quantiles(prometheus, line, tail):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the programs")
    parser.add_argument("--seconds", type=int, default=100, help="how long fruits come, two a second")
    options = parser.parse_args()
    programs = options.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="cernita-quantiles-") as folder, \
            Prometheus(pathlib.Path(folder)) as prometheus, \
            Line(SOUND, "sound", pathlib.Path(folder) / "sound", programs, prometheus) as line:
        line.grader.close()
        tail = subprocess.Popen([programs / "cernita-tail", line.endpoint("grader"), "--grader", "--table", "--timeout",
                                 str(TAIL_S)], stdout=subprocess.PIPE, text=True)
        line.peers.append(tail)
        time.sleep(options.seconds)
        fired = sorted(prometheus.fired[line.name])
        rows = list(quantiles(prometheus, line, tail))
    print("| latency of a line without a fault | `cernita-tail --table` | `histogram_quantile` |\n|---|---|---|")
    for name, tail_ms, asked_ms, good in rows:
        print(f"| {name} | {tail_ms:.2f} ms | {asked_ms:.2f} ms |{'' if good else ' NOT WITHIN ONE RANGE |'}")
    for alert in fired:
        print(f"{alert} fires")
    failed = sum(not row[-1] for row in rows) + len(fired)
    print(f"\n{len(rows)} passed, {failed} failed, 0 skipped")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
