#!/usr/bin/env python3
"""Attacks a running line at all its ports, beside honest senders, and says what they noticed.

Starts cernitad (at most --nofile descriptors) with two lanes of 10 fruits/s over tcp and ipc, a
grader and a viewer. Attackers, each a process of its own, send what libzmq does not bound:

  large, tiny     parts with MORE for ever, of 64 KiB and of no bytes, at each port
  empty           a message of 20 million empty parts
  idle            1,100 connections that say nothing, and 1,100 that only finish the handshake
  subscribe       100,000 subscriptions of 1,000 bytes, and of 100
  churn           subscribes and unsubscribes without end

--control aims them at a second cernitad that has nothing to do, so that the machine is as busy; the
latencies of both runs are to be compared. --quiet runs without attackers. The exit status is 0 if
every fruit was judged whole, the daemon lived, and no honest sender was disconnected.
"""
import argparse
import multiprocessing
import os
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import msgpack
import numpy as np
import zmq
from zmq.utils.monitor import recv_monitor_message

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools/python"))
from cernita._line.wire import pack_header  # noqa: E402
from sender import make_view  # noqa: E402

CLASSES = ("background", "rot", "stem", "calyx", "bruise")
VIEWS = 4
RATE = 10
PAUSE_S = 0.05  # of an attacker that was cut, before it comes back

CONFIG = """
ingest: {{bind: ["tcp://127.0.0.1:{port}", "ipc://{folder}/in"]}}
classes: [{{name: background}}, {{name: rot, level: 0.5}}, {{name: stem, level: 0.5}},
          {{name: calyx, level: 0.5}}, {{name: bruise, level: 0.5}}]
chain: [contours: {{}}]
run: {{backend: openmp, workers: 1, threads: 1}}
latency: {{budget_ms: {budget}, assemble_ms: {budget}}}
publish: {{grader: {{bind: "ipc://{folder}/grader"}}, viewers: {{bind: "tcp://127.0.0.1:{viewers}"}}}}
limits: {{{limits}}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """A cernitad in a folder of its own; started again when it dies, which is counted."""

    def __init__(self, options):
        self.folder = tempfile.mkdtemp(prefix="cernita-attack-")
        port, viewers = free_port(), free_port()
        self.tcp, self.ipc = f"tcp://127.0.0.1:{port}", f"ipc://{self.folder}/in"
        self.grader, self.viewers = f"ipc://{self.folder}/grader", f"tcp://127.0.0.1:{viewers}"
        self.config, self.log = f"{self.folder}/line.yaml", f"{self.folder}/log"
        with open(self.config, "w") as file:
            file.write(CONFIG.format(port=port, viewers=viewers, folder=self.folder,
                                     budget=options.budget, limits=options.limits))
        self.program, self.nofile, self.deaths, self.peak_kib = options.daemon, options.nofile, 0, 0
        self.start()

    def start(self):
        limit = (self.nofile, self.nofile)
        self.process = subprocess.Popen(
            [self.program, "--config", self.config], stderr=open(self.log, "a"),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
        while self.process.poll() is None and " ready:" not in open(self.log).read():
            time.sleep(0.02)

    def watch(self):
        """Restarts a dead one; keeps the most memory that it had resident."""
        if self.process.poll() is not None:
            self.deaths += 1
            self.start()
        try:
            with open(f"/proc/{self.process.pid}/status") as file:
                kib = [int(line.split()[1]) for line in file if line.startswith("VmHWM:")]
            self.peak_kib = max([self.peak_kib] + kib)
        except OSError:
            pass

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        lines = open(self.log).read().splitlines()
        shutil.rmtree(self.folder)
        return lines


# --- attackers: ZMTP by hand ---

def introduction(kind):
    name = kind.encode()
    ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(name)) + name
    return (b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 32) +
            bytes([4, len(ready)]) + ready)


def connect(endpoint):
    if endpoint.startswith("ipc://"):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(endpoint[6:])
    else:
        peer = socket.create_connection(("127.0.0.1", int(endpoint.rsplit(":", 1)[1])))
    return peer


def long_frame(flags, body):
    return struct.pack(">BQ", flags | 2, len(body)) + body


def flood(endpoint, kind, first, chunk, repeat, cuts):
    """first, then chunk `repeat` times (0: for ever) in a connection; and again when it is cut."""
    while True:
        try:
            with connect(endpoint) as peer:
                if kind == "PULL":
                    # Together: one that finished the handshake is dealt verdicts, like any second
                    # grader.
                    peer.sendall(introduction(kind) + first)
                else:
                    peer.sendall(introduction(kind))
                    peer.settimeout(5)
                    peer.recv(64, socket.MSG_WAITALL)
                    peer.recv(64)  # its READY: before that libzmq takes nothing
                    peer.sendall(first)
                sent = 0
                while not repeat or sent < repeat:
                    peer.sendall(chunk)
                    sent += 1
                peer.settimeout(1)
                while peer.recv(65536):
                    pass
        except OSError:
            pass
        with cuts.get_lock():
            cuts.value += 1
        time.sleep(PAUSE_S)


def idle(endpoint, kind, count, cuts):
    """Keeps `count` connections open, opening those that were closed."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, count + 200))
    open_ones, poller = {}, select.poll()
    while True:
        fresh = 0
        while len(open_ones) < count and fresh < 100:
            try:
                peer = connect(endpoint)
                peer.setblocking(False)
                if kind:
                    peer.send(introduction(kind))
            except OSError:
                break
            fresh += 1
            open_ones[peer.fileno()] = peer
            poller.register(peer, select.POLLIN)
        for descriptor, _ in poller.poll(PAUSE_S * 1000):
            peer = open_ones[descriptor]
            try:
                if peer.recv(65536):
                    continue
            except OSError:
                pass
            poller.unregister(peer)
            del open_ones[descriptor]
            peer.close()
            with cuts.get_lock():
                cuts.value += 1
        time.sleep(PAUSE_S)


def unread(endpoint, count, cuts):
    """Viewers that answer heartbeats and read nothing, one more every second, and again when they are cut."""
    peers = []
    while True:
        for peer in list(peers):
            try:
                peer.send(b"\x04\x05\x04PONG")
            except OSError:
                peers.remove(peer)
                with cuts.get_lock():
                    cuts.value += 1
        if len(peers) < count:
            peer = connect(endpoint)
            peer.sendall(introduction("SUB"))
            peer.recv(92, socket.MSG_WAITALL)  # libzmq takes no message along with the introduction
            peer.sendall(b"\x00\x01\x01")
            peers.append(peer)
        time.sleep(1)


def subscriptions(count, length, first=0, verb=1):
    topics = (b"%0*d" % (length, i) for i in range(first, first + count))
    return b"".join(struct.pack(">BQB", 2, length + 1, verb) + topic for topic in topics)


def attacks(daemon, scale):
    large, tiny = long_frame(1, bytes(65536)), b"\x01\x00" * 32768
    churn = b"".join(subscriptions(50, 20, i * 50) + subscriptions(50, 20, i * 50, 0)
                     for i in range(20))
    idlers = max(8, int(1100 * scale))
    many = max(1, int(100 * scale))
    listed = []
    for endpoint, kind in ((daemon.tcp, "PUSH"), (daemon.ipc, "PUSH"), (daemon.grader, "PULL"),
                           (daemon.viewers, "SUB")):
        listed.append(("large " + kind, flood, endpoint, kind, large, large, 0))
        listed.append(("tiny " + kind, flood, endpoint, kind, tiny, tiny, 0))
    listed.append(("empty", flood, daemon.ipc, "PUSH", b"", b"\x01\x00" * 200000, many))
    listed.append(("idle ipc", idle, daemon.ipc, None, idlers))
    listed.append(("idle tcp", idle, daemon.tcp, "PUSH", idlers))
    listed.append(("idle viewers", idle, daemon.viewers, "SUB", idlers))
    listed.append(("subscribe 1000", flood, daemon.viewers, "SUB", b"",
                   subscriptions(1000, 1000), many))
    listed.append(("subscribe 100", flood, daemon.viewers, "SUB", b"", subscriptions(1000, 100),
                   many))
    listed.append(("unread", unread, daemon.viewers, max(1, int(30 * scale))))
    listed.append(("churn", flood, daemon.viewers, "SUB", b"", churn, 0))
    return listed


def start_attackers(daemon, options):
    started = []
    for name, function, *arguments in attacks(daemon, options.scale):
        if options.only not in name:
            continue
        cuts = multiprocessing.Value("Q", 0)
        process = multiprocessing.Process(target=function, args=(*arguments, cuts), daemon=True)
        process.start()
        started.append((name, process, cuts))
    return started


# --- the honest ones ---

def view_parts(maps, photo, lane, fruit, view, captured_ns):
    header = pack_header(
        maps, layout="hwc", classes=CLASSES, intensity=True, lane=lane, epoch=1, sequence=fruit * VIEWS + view,
        fruit=fruit, view=view, views=VIEWS, captured_ns=captured_ns, deadline_ns=0, encoder=0)
    return [header, maps, photo]


def send_fruits(endpoint, lane, seconds, sent, refused, disconnects):
    rng = np.random.default_rng(lane)
    pool = [make_view(rng, len(CLASSES)) for _ in range(2 * VIEWS)]
    push = zmq.Context.instance().socket(zmq.PUSH)
    push.setsockopt(zmq.LINGER, 20000)
    push.setsockopt(zmq.SNDTIMEO, 5000)
    monitor = push.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    push.connect(endpoint)
    start = time.monotonic()
    for fruit in range(int(seconds * RATE)):
        time.sleep(max(0, start + fruit / RATE - time.monotonic()))
        captured_ns = time.time_ns()
        for view in range(VIEWS):
            maps, photo = pool[(fruit * VIEWS + view) % len(pool)]
            try:
                push.send_multipart(view_parts(maps, photo, lane, fruit, view, captured_ns))
            except zmq.Again:
                refused.value += 1
        sent.value += 1
        while monitor.poll(0):
            recv_monitor_message(monitor)
            disconnects.value += 1
    push.disable_monitor()
    monitor.close()
    push.close()
    zmq.Context.instance().term()  # once everything has left


def receive(socket_, verdicts):
    while socket_.poll(0):
        topic, body = socket_.recv_multipart()
        if topic.startswith(b"fruit/"):
            verdict = msgpack.unpackb(body)
            verdicts.append((verdict["verdict"],
                             (verdict["published_ns"] - verdict["captured_ns"]) / 1e6,
                             verdict["latency_ms"]["total"]))


def measure(daemon, decoy, options):
    context = zmq.Context.instance()
    grader, viewer = context.socket(zmq.PULL), context.socket(zmq.SUB)
    grader.connect(daemon.grader)
    viewer.subscribe("")
    viewer.connect(daemon.viewers)
    counts = {name: [multiprocessing.Value("Q", 0) for _ in range(2)]
              for name in ("sent", "refused", "disconnects")}
    senders = [multiprocessing.Process(
        target=send_fruits, args=(endpoint, lane, options.seconds,
                                  *(values[lane] for values in counts.values())))
        for lane, endpoint in enumerate((daemon.tcp, daemon.ipc))]
    for process in senders:
        process.start()
    time.sleep(1)  # honest ones first, as on any morning
    attackers = [] if options.quiet else start_attackers(decoy or daemon, options)
    verdicts, seen, done_s = [], [], None
    while done_s is None or time.monotonic() < done_s:
        grader.poll(20)
        receive(grader, verdicts)
        receive(viewer, seen)
        daemon.watch()
        if decoy:
            decoy.watch()
        if done_s is None and not any(process.is_alive() for process in senders):
            done_s = time.monotonic() + 2
    for _, process, _ in attackers:
        process.kill()
    totals = {name: sum(value.value for value in values) for name, values in counts.items()}
    return totals, verdicts, seen, attackers


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--daemon", default="build/bin/cernitad")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--control", action="store_true", help="attack another daemon")
    parser.add_argument("--quiet", action="store_true", help="no attackers")
    parser.add_argument("--scale", type=float, default=1, help="of the numbers of peers")
    parser.add_argument("--only", default="", help="attacks with this in their name")
    parser.add_argument("--nofile", type=int, default=1024, help="descriptors of the daemon")
    parser.add_argument("--budget", type=int, default=2000, help="ms; high, to see each latency")
    parser.add_argument("--limits", default="slots: 128, view_mib: 4", help="the YAML's limits")
    parser.add_argument("--log", action="store_true", help="print the daemon's log")
    options = parser.parse_args()

    daemon = Daemon(options)
    decoy = Daemon(options) if options.control else None
    try:
        totals, verdicts, seen, attackers = measure(daemon, decoy, options)
    finally:
        cpu_s = daemon.cpu_s() + (decoy.cpu_s() if decoy else 0)
        lines = daemon.stop()
        if decoy:
            decoy.stop()
    for name, _, cuts in attackers:
        print(f"attack {name}: {cuts.value} connections cut")
    print("\n".join(lines if options.log else lines[-4:]))
    complete = sum(kind == "complete" for kind, _, _ in verdicts)
    latency = np.array([ms for _, ms, _ in verdicts] or [0])
    inside = np.array([ms for _, _, ms in verdicts] or [0])
    print(f"fruits {complete} complete of {totals['sent']}, {len(verdicts)} verdicts at the grader, "
          f"{len(seen)} at the viewer; ms from sending to publication p50 "
          f"{np.median(latency):.2f}, p99 {np.percentile(latency, 99):.2f}, max "
          f"{latency.max():.2f}; ms from a fruit's last view p50 {np.median(inside):.2f}, p99 "
          f"{np.percentile(inside, 99):.2f}; RSS max {daemon.peak_kib / 1024:.0f} MiB; CPU of "
          f"daemons {cpu_s:.1f} s; daemon died {daemon.deaths} times; honest senders: {totals['disconnects']} disconnections, "
          f"{totals['refused']} views refused")
    good = (complete == totals["sent"] and not daemon.deaths and not totals["disconnects"]
            and not totals["refused"])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
