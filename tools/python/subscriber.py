#!/usr/bin/env python3
"""Receives cernitad's verdicts: the starting point for a grader, or for a viewer.

The grader (the default) is the one reader that decides for the ejector: it gets every verdict.
Viewers (--viewer) may be many, and lose verdicts when they are slow. Yours are decide(), and what
fail_safe() does.
"""
import argparse
import json
import math
import sys
import time

try:
    import msgpack
    import numpy as np
    import zmq
except ImportError as fault:
    sys.exit(f"subscriber.py: {sys.executable} has no module '{fault.name}': install Debian's "
             "python3-msgpack, python3-numpy and python3-zmq, and start it with /usr/bin/python3")

REJECTED = {"rot", "mould"}  # a fruit with more than this area of these goes
REJECTED_PX = 50
SILENT_TIMES = 3  # so many times alive_ms without a word is silence


def decide(verdict, now_ns):
    """"keep", "reject", or "fail-safe" for a fruit of which is not known in time what it is."""
    if verdict["verdict"] == "late" or verdict["stale"] or now_ns > verdict["deadline_ns"]:
        return "fail-safe"  # nobody has looked at it in time, or it may have passed
    areas_px = [total["area_px"] for name, total in verdict["totals"].items() if name in REJECTED]
    if not all(math.isfinite(area_px) for area_px in areas_px):
        return "fail-safe"  # and not "keep", to which every comparison with NaN leads
    if sum(areas_px) > REJECTED_PX:
        return "reject"
    # "partial": something was not looked at, or could not be (view_states say what and why). What
    # was found is bad or not; the rest is unknown.
    return "keep" if verdict["verdict"] == "complete" else "fail-safe"


def fail_safe(reason):
    """The line is silent: from now on every fruit on the belt is one that nobody has looked at. A
    machine tells its ejector so here (and its operator), until a verdict comes again."""
    print(f"FAIL-SAFE: {reason}", flush=True)


def decode(body):
    """A message as a dict, be it MessagePack or (format: json in the daemon's file) JSON."""
    return json.loads(body) if body[:1] == b"{" else msgpack.unpackb(body)


def read_verdict(body):
    """The verdict as a dict; every defect's xy becomes an array of points, one x, y a row."""
    verdict = decode(body)
    for defect in verdict["defects"]:
        xy = defect["xy"]
        defect["xy"] = (np.frombuffer(xy, "<f4") if isinstance(xy, bytes)
                        else np.array(xy, "<f4")).reshape(-1, 2)
    return verdict


class Sequences:
    """Whether every verdict came: they are numbered by lane, from 0 with each start of the daemon."""

    def __init__(self):
        self.run, self.next, self.lost = None, {}, 0

    def check(self, run, lane, sequence, came=True):
        """A verdict came; came False: `alive` says that it is the lane's last. Returns how many are
        lost that should have come by now."""
        if run != self.run:
            self.run, self.next = run, {}
        due = sequence if came else sequence + 1
        missing = max(0, due - self.next.get(lane, due))
        self.next[lane] = max(due + came, self.next.get(lane, 0))
        self.lost += missing
        return missing


def use_keys(socket, key_file, server_key_file):
    """For a daemon with access.keys: key_file is this client's secret key, server_key_file the
    line's server.pub, both as cernita-keys made them. Before connect()."""
    def read(name):
        with open(name, encoding="ascii") as file:
            lines = [line.strip() for line in file]
        keys = [line.encode() for line in lines if len(line) == 40 and " " not in line]
        if len(keys) != 1:
            raise ValueError(f"{name}: a line with one key expected; cernita-keys makes such files")
        return keys[0]
    if not key_file or not server_key_file:
        raise ValueError("both files are needed: the client's key and the line's server.pub")
    secret = read(key_file)
    socket.curve_serverkey, socket.curve_secretkey = read(server_key_file), secret
    socket.curve_publickey = zmq.curve_public(secret)


def open_socket(endpoint, viewer, key=None, server_key=None):
    socket = zmq.Context.instance().socket(zmq.SUB if viewer else zmq.PULL)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.HEARTBEAT_IVL, 1000)  # else a daemon whose power went is never missed
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 5000)
    if viewer:
        socket.subscribe("fruit/")  # or "fruit/3": then check lanes too, "fruit/30" begins alike
    if key or server_key:
        try:
            use_keys(socket, key, server_key)
        except (OSError, ValueError) as fault:
            sys.exit(f"subscriber.py: --key, --server-key: {fault}")
    try:
        socket.connect(endpoint)
    except zmq.ZMQError as fault:
        sys.exit(f"subscriber.py: --from '{endpoint}': {fault}; expected tcp://HOST:PORT or "
                 "ipc://PATH")
    return socket


def not_whole(verdict):
    """The views that were not judged, or not whole: ["view 2 lost: no_slot", "view 3 missing"]."""
    return [f"view {view.get('view')} {view.get('state')}{': ' if view.get('reason') else ''}"
            f"{view.get('reason') or ''}"
            for view in verdict.get("view_states", [])
            if view.get("state") != "judged" or view.get("reason")]


def show(verdict, decision):
    total_ms = verdict.get("latency_ms", {}).get("total", math.nan)
    budget_ms = verdict.get("budget_ms", math.nan)
    found = ", ".join(f"{total['count']} {name}"
                      for name, total in verdict["totals"].items() if total["count"])
    print(f"lane {verdict['lane']} fruit {verdict['fruit']}: {decision} "
          f"({verdict['verdict']}, {total_ms:.1f} of {budget_ms} ms"
          f"{', OVER BUDGET' if total_ms > budget_ms else ''}"
          f"{', stale' if verdict['stale'] else ''}): "
          f"{'; '.join([found or 'no defects'] + not_whole(verdict))}", flush=True)


class Reader:
    """Takes the messages as they come, and counts."""

    def __init__(self, options):
        self.options, self.sequences = options, Sequences()
        self.count, self.unreadable = 0, 0
        self.alive_ms = options.alive_ms  # as long as no `alive` has said it

    def silence_ms(self):
        """The line is dead after so long without a message; None if no interval is known."""
        return SILENT_TIMES * self.alive_ms if self.alive_ms else None

    def handle(self, topic, body):
        """Skips other topics than verdicts and alive: later daemons may add some."""
        try:
            if topic.startswith(b"fruit/"):
                self.handle_verdict(read_verdict(body))
            elif topic == b"alive":
                self.handle_alive(decode(body))
        except Exception as fault:  # whatever it is: nothing that came may end a grader
            self.unreadable += 1
            print(f"{topic.decode(errors='replace')}: fail-safe (cannot be read: {fault!r})",
                  flush=True)

    def handle_verdict(self, verdict):
        run, lane, sequence = verdict["run"], verdict["lane"], verdict["sequence"]
        decision = decide(verdict, time.time_ns())  # before all that can wait: the ejector cannot
        self.count += 1
        behind_s = (time.time_ns() - verdict["published_ns"]) / 1e9  # by both hosts' clocks
        if self.options.viewer and behind_s > self.options.snail:
            sys.exit(f"subscriber.py: {behind_s:.1f} s behind: too slow for this line")
        if missing := self.sequences.check(run, lane, sequence):
            print(f"lane {lane}: {missing} verdicts lost before this one")
        show(verdict, decision)

    def handle_alive(self, alive):
        self.alive_ms = alive["alive_ms"]
        for entry in alive["lanes"]:
            lane, last = entry["lane"], entry["sequence"]  # null: no verdict yet
            if last is not None and (missing := self.sequences.check(alive["run"], lane, last, False)):
                print(f"lane {lane}: {missing} verdicts lost, after which none came: fail-safe for "
                      "their fruits", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Receives cernitad's verdicts.", allow_abbrev=False)
    parser.add_argument("--viewer", action="store_true", help="connect beside the grader, as a viewer")
    parser.add_argument("--from", dest="endpoint", help="publish.grader.bind, or publish.viewers.bind")
    parser.add_argument("--count", type=int, default=0, help="end after so many verdicts")
    parser.add_argument("--alive-ms", type=int, default=0, metavar="MS",
                        help="publish.grader.alive_ms of the daemon's file: detects silence before "
                             "its first message, too (0: as the daemon announces)")
    parser.add_argument("--snail", type=float, default=5, metavar="S",
                        help="exit if more than S seconds behind, as a viewer")
    parser.add_argument("--key", metavar="FILE",
                        help="this client's secret key, where the daemon requires keys")
    parser.add_argument("--server-key", metavar="FILE", help="with --key: the line's server.pub")
    options = parser.parse_args()
    endpoint = options.endpoint or f"tcp://127.0.0.1:{5557 if options.viewer else 5556}"

    socket = open_socket(endpoint, options.viewer, options.key, options.server_key)
    reader, silent = Reader(options), False
    try:
        while not options.count or reader.count < options.count:
            silence_ms = None if silent or options.viewer else reader.silence_ms()
            if not socket.poll(silence_ms):
                silent = True
                fail_safe(f"nothing from {endpoint} for {silence_ms} ms")
                continue
            parts = socket.recv_multipart()
            if silent:
                silent = False
                print("the line speaks again", flush=True)
            reader.handle(parts[0], parts[1] if len(parts) > 1 else b"")
    except KeyboardInterrupt:
        pass
    print(f"{reader.count} verdicts, {reader.sequences.lost} lost"
          + (f", {reader.unreadable} unreadable" if reader.unreadable else ""))


if __name__ == "__main__":
    main()
