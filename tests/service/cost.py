#!/usr/bin/env python3
"""What the service costs a line: its latencies under the installed unit beside those of a plain process.

    tests/service/cost.py --build BUILD

Both run in a bare Debian in namespaces (machine.py): one as cernitad@line, with its hardening, watchdog, recorder
(every view) and verdict log, the other as a plain process with none of them. They take the same fruits of four views
of 511 x 95 x 12 in blocks by turns, each block of one followed by a block of the other, so that neither is measured
while the other writes. Needs root. Prints the quantiles of both and their ratios; the exit status is 0 if every fruit
was complete.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

import msgpack
import numpy as np
import yaml
import zmq

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/monitor"), str(ROOT / "tools/python"), str(pathlib.Path(__file__).parent)]
import check_service  # noqa: E402
from live_line import settings  # noqa: E402
from machine import Machine, await_true, debian  # noqa: E402
from cernita import Line  # noqa: E402
from sender import CLASSES, make_view  # noqa: E402

RUN, STATE, PLAIN = check_service.RUN, check_service.STATE, "/run/plain"
VIEWS = 4
WARM_UP = 50 # fruits of each side that are not counted
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1}


def line_settings(folder, more):
    names = CLASSES.split(",")
    classes = [{"name": name} | ({} if name in ("background", "stem", "calyx", "roller") else {"level": 0.5})
               for name in names]
    return settings(folder, {"classes": classes, "latency": {"budget_ms": 100}, "limits": {"view_mib": 4, "slots": 16},
                             "publish": {"grader": {"bind": f"ipc://{folder}/grader"},
                                         "viewers": {"bind": f"ipc://{folder}/viewers"}}} | more)


def install(given, folder):
    check_service.install(given.build, folder)
    unit = line_settings(RUN, {})
    if "recorder" not in given.without:
        unit["record"] = {"dir": f"{STATE}/recordings", "keep_gib": 2}
    unit["publish"]["log"] = {"dir": f"{STATE}/log"}
    if "log" in given.without:
        del unit["publish"]["log"]
    plain = line_settings(PLAIN, {})
    del plain["publish"]["log"]
    (folder / "etc/cernita/line.yaml").write_text(yaml.safe_dump(unit))
    (folder / "etc/cernita/plain.yaml").write_text(yaml.safe_dump(plain))


class Side:
    """A daemon's sender and grader, and the latencies that its verdicts tell."""

    def __init__(self, name, folder, views):
        self.name, self.views, self.latencies_ms, self.incomplete = name, views, [], 0
        self.line = Line(f"ipc://{folder}/views", views=VIEWS, classes=CLASSES.split(","))
        self.line.wait(10)
        self.grader = zmq.Context.instance().socket(zmq.PULL)
        self.grader.connect(f"ipc://{folder}/grader")

    def send(self, view):
        sent = self.line.sequence
        accepted = self.line.send(self.views[sent % len(self.views)], fruit=sent // VIEWS, view=view,
                                  captured_ns=time.time_ns())
        assert accepted, f"{self.name} takes no view"

    def receive(self, wait_ms=0):
        while self.grader.poll(wait_ms):
            verdict = msgpack.unpackb(self.grader.recv_multipart()[-1])
            if "fruit" in verdict and verdict["fruit"] >= WARM_UP:
                self.latencies_ms.append(verdict["latency_ms"]["total"])
                self.incomplete += verdict["verdict"] != "complete"

    def run(self, fruits, rate):
        begun_s = time.monotonic()
        for fruit in range(fruits):
            for view in range(VIEWS):
                self.send(view)
                until_s = begun_s + (fruit + (view + 1) / VIEWS) / rate
                time.sleep(max(0.0, until_s - time.monotonic()))
            self.receive()
        self.receive(200)

    def quantile(self, share):
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def quantiles(self, *names):
        return ", ".join(f"{name} {self.quantile(QUANTILES[name]):.3f} ms" for name in names)


def measure(machine, given):
    machine.run("install", "--directory", "--owner=cernita", PLAIN)
    # The same user as the unit's, so that neither may use a priority that the other may not.
    plain = subprocess.Popen(["nsenter", "--target", str(machine.pid), "--all", "--root", "--wd", "setpriv", "--reuid=cernita",
                              "--regid=cernita", "--clear-groups", "cernitad", "--config", "/etc/cernita/plain.yaml"],
                             stderr=subprocess.DEVNULL)
    machine.run("systemctl", "start", check_service.UNIT)
    await_true("the plain process is ready", lambda: machine.path(f"{PLAIN}/views").exists())
    rng = np.random.default_rng(1)
    views = [make_view(rng, len(CLASSES.split(",")), 95, 511)[0] for _ in range(4 * VIEWS)]
    views = [(255 * view).astype("u1") if given.type == "u8" else view.astype("f4") for view in views]
    sides = [Side("unit", machine.path(RUN), views), Side("plain", machine.path(PLAIN), views)]
    for side in sides:
        side.run(WARM_UP, given.rate)
    for block in range(given.fruits // given.block):
        for side in sides if block % 2 else sides[::-1]:
            side.run(given.block, given.rate)
        print(f"     block {block + 1}: " + "; ".join(
            f"{side.name} {side.quantiles('p50', 'p99.9')}" for side in sides), flush=True)
    plain.terminate()
    plain.wait()
    machine.run("systemctl", "stop", check_service.UNIT)
    return sides


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="what is installed")
    parser.add_argument("--debian", type=pathlib.Path, default=ROOT / "build-check/debian", help="where the bare Debian is kept")
    parser.add_argument("--fruits", type=int, default=10000, help="of each side")
    parser.add_argument("--block", type=int, default=500, help="fruits of one side before the other's turn")
    parser.add_argument("--rate", type=float, default=10, help="fruits a second")
    parser.add_argument("--type", choices=("u8", "f32"), default="f32", help="of the maps")
    parser.add_argument("--without", action="append", choices=("recorder", "log"), default=[], help="what the unit leaves out")
    given = parser.parse_args()
    with Machine(debian(given.debian), lambda folder: install(given, folder), in_memory=False) as machine:
        unit, plain = measure(machine, given)
        recorded = sum(file.stat().st_size for file in machine.path(f"{STATE}/recordings").iterdir())
    for side in (unit, plain):
        print(f"{side.name:6} {len(side.latencies_ms)} fruits, {side.incomplete} not complete: {side.quantiles(*QUANTILES)}")
    print("ratio  " + ", ".join(f"{name} {unit.quantile(share) / plain.quantile(share):.3f}"
                                for name, share in QUANTILES.items()) + f"; {recorded >> 20} MiB recorded and kept; {os.cpu_count()} cores")
    return unit.incomplete + plain.incomplete > 0 or len(unit.latencies_ms) != len(plain.latencies_ms)


if __name__ == "__main__":
    sys.exit(main())
