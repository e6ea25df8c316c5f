#!/usr/bin/env python3
"""Receives cernitad's verdicts: the starting point for a grader, or for a viewer.

The grader (the default) is the one reader that decides for the ejector: it gets every verdict.
Viewers (--viewer) may be many, and lose verdicts when they are slow. Yours is decide().
"""
import argparse
import sys
import time

import msgpack
import numpy as np
import zmq

REJECTED = {"rot", "mould"}  # a fruit with more than this area of these goes
REJECTED_PX = 50


def decide(verdict):
    """"keep", "reject", or "fail-safe" for a fruit that nobody has looked at in time."""
    if verdict["verdict"] == "late" or verdict["stale"]:
        return "fail-safe"
    area_px = sum(total["area_px"] for name, total in verdict["totals"].items() if name in REJECTED)
    if area_px > REJECTED_PX:
        return "reject"
    # "partial": something was not looked at, or could not be (view_states say what and why). What
    # was found is bad or not; the rest is unknown.
    return "keep" if verdict["verdict"] == "complete" else "fail-safe"


def read_verdict(message):
    """The verdict as a dict; every defect's xy becomes an array of points, one x, y a row."""
    verdict = msgpack.unpackb(message)
    for defect in verdict["defects"]:
        defect["xy"] = np.frombuffer(defect["xy"], "<f4").reshape(-1, 2)
    return verdict


class Sequences:
    """Whether every verdict came: they are numbered by lane, from 0 with each start of the daemon."""

    def __init__(self):
        self.run, self.next, self.lost = None, {}, 0

    def check(self, verdict):
        if verdict["run"] != self.run:
            self.run, self.next = verdict["run"], {}
        lane, sequence = verdict["lane"], verdict["sequence"]
        missing = max(0, sequence - self.next.get(lane, sequence))
        self.next[lane], self.lost = sequence + 1, self.lost + missing
        return missing


def open_socket(endpoint, viewer):
    socket = zmq.Context.instance().socket(zmq.SUB if viewer else zmq.PULL)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.HEARTBEAT_IVL, 1000)  # else a daemon whose power went is never missed
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 5000)
    if viewer:
        socket.subscribe("fruit/")  # or "fruit/3": then check lanes too, "fruit/30" begins alike
    socket.connect(endpoint)
    return socket


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False, description="Receives cernitad's verdicts.")
    parser.add_argument("--viewer", action="store_true", help="look on beside the grader")
    parser.add_argument("--from", dest="endpoint", help="publish.grader.bind, or publish.viewers.bind")
    parser.add_argument("--count", type=int, default=0, help="end after so many verdicts")
    parser.add_argument("--snail", type=float, default=5, metavar="S",
                        help="a viewer more than S seconds behind ends: what it shows is no longer so")
    options = parser.parse_args()
    endpoint = options.endpoint or f"tcp://127.0.0.1:{5557 if options.viewer else 5556}"

    socket, sequences, count = open_socket(endpoint, options.viewer), Sequences(), 0
    try:
        while not options.count or count < options.count:
            _topic, message = socket.recv_multipart()
            verdict = read_verdict(message)
            decision = decide(verdict)  # first of all: the ejector waits
            count += 1
            behind_s = (time.time_ns() - verdict["published_ns"]) / 1e9  # by both hosts' clocks
            if options.viewer and behind_s > options.snail:
                sys.exit(f"subscriber.py: {behind_s:.1f} s behind: too slow for this line")
            if missing := sequences.check(verdict):
                print(f"lane {verdict['lane']}: {missing} verdicts lost before this one")
            total_ms, budget_ms = verdict["latency_ms"]["total"], verdict["budget_ms"]
            found = ", ".join(f"{total['count']} {name}"
                              for name, total in verdict["totals"].items() if total["count"])
            print(f"lane {verdict['lane']} fruit {verdict['fruit']}: {decision} "
                  f"({verdict['verdict']}, {total_ms:.1f} of {budget_ms} ms"
                  f"{', OVER BUDGET' if total_ms > budget_ms else ''}"
                  f"{', stale' if verdict['stale'] else ''}): {found or 'no defects'}", flush=True)
    except KeyboardInterrupt:
        pass
    print(f"{count} verdicts, {sequences.lost} lost")


if __name__ == "__main__":
    main()
