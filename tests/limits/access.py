#!/usr/bin/python3
"""What keys (access.keys) cost a line, and what strangers cost a line that requires them.

  access.py cost        CPU of the receiver for a view of 511 x 95 x 12 f32 (2.33 MB) over tcp, without and with
                        keys: two daemons, which take the views in turn
  access.py strangers   latencies of a line with keys while --count clients try to connect: without a key, with an
                        unknown key, with a wrong server key, half-open; --control aims them at another daemon that
                        has nothing to do, so that the machine is as busy

Both start build/bin/cernitad themselves. The exit status is 0 if every fruit was judged whole and, for strangers, all
were refused and counted.
"""
import argparse
import multiprocessing
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import msgpack
import numpy as np
import zmq

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/python"))
from cernita import Line  # noqa: E402
from cernita._line.keys import use_keys  # noqa: E402
from sender import make_view  # noqa: E402

CLASSES = ["background"] + [f"class{number}" for number in range(1, 12)]
START_S = 4  # for the crowd's own start, which is not measured
KINDS = {"none": "plain", "unknown": "unknown_key", "server": "malformed", "half-open": "malformed"}

CONFIG = """
ingest: {{bind: ["tcp://127.0.0.1:{ingest}"]}}
publish: {{grader: {{bind: "tcp://127.0.0.1:{grader}"}}, viewers: {{bind: "tcp://127.0.0.1:{viewers}"}}}}
classes: [{classes}]
chain: [contours: {{}}]
run: {{backend: openmp, workers: 1, threads: 1}}
latency: {{budget_ms: 5000, assemble_ms: 5000}}
monitor: {{http: "127.0.0.1:{http}"}}
access: {{keys: "{keys}"}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """A cernitad in a folder of its own, with keys or without."""

    def __init__(self, program, keyed):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cernita-access-"))
        self.ports = {name: free_port() for name in ("ingest", "grader", "viewers", "http")}
        self.keys = {}
        if keyed:
            tool = str(pathlib.Path(program).parent / "cernita-keys")
            folder = str(self.folder / "keys")
            subprocess.run([tool, folder], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([tool, folder, "--client", "bench", "--out", str(self.folder / "bench.key")], check=True,
                           stdout=subprocess.DEVNULL)
            self.keys = {"key": str(self.folder / "bench.key"), "server_key": folder + "/server.pub"}
        classes = ", ".join(f"{{name: {name}, level: 0.5}}" if number else f"{{name: {name}}}"
                            for number, name in enumerate(CLASSES))
        config = self.folder / "line.yaml"
        config.write_text(CONFIG.format(classes=classes, keys=self.folder / "keys" if keyed else "", **self.ports))
        self.log = self.folder / "log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([program, "--config", str(config)], stderr=log)
        while " ready:" not in self.log.read_text():
            if self.process.poll() is not None:
                sys.exit(f"access.py: {program}: {self.log.read_text()}")
            time.sleep(0.02)

    def address(self, port):
        return f"tcp://127.0.0.1:{self.ports[port]}"

    def cpu_ns(self):
        """Of all its threads, by name."""
        sums = {}
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            name = (task / "comm").read_text().strip()
            sums[name] = sums.get(name, 0) + int((task / "schedstat").read_text().split()[0])
        return sums

    def refused(self):
        """{reason: count} of its access, all sockets together."""
        page = urllib.request.urlopen(f"http://127.0.0.1:{self.ports['http']}/metrics", timeout=10).read().decode()
        sums = {}
        for reason, count in re.findall(r'^cernita_access_refused_total\{.*reason="(\w+)"\} (\d+)', page, re.M):
            sums[reason] = sums.get(reason, 0) + int(count)
        return sums

    def grader(self):
        reader = zmq.Context.instance().socket(zmq.PULL)
        reader.linger = 0
        if self.keys:
            use_keys(reader, self.keys["key"], self.keys["server_key"])
        reader.connect(self.address("grader"))
        return reader

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.folder)


# --- cost ---

def send_batch(line, grader, maps, first, count):
    """Fruits of one view, each answered before the next is sent; returns how many were judged whole."""
    whole = 0
    for fruit in range(first, first + count):
        if not line.send(maps, fruit=fruit, view=0):
            continue
        if grader.poll(10000):
            whole += msgpack.unpackb(grader.recv_multipart()[1])["verdict"] == "complete"
    return whole


def measure_cost(options):
    maps = make_view(np.random.default_rng(1), len(CLASSES))[0]
    daemons = [Daemon(options.daemon, keyed) for keyed in (False, True)]
    lines = [Line(daemon.address("ingest"), classes=CLASSES, views=1, patience_s=10, **daemon.keys)
             for daemon in daemons]
    graders = [daemon.grader() for daemon in daemons]
    whole, costs, own = 0, ([], []), ([], [])
    threads = ({}, {})
    if not all(line.wait(10) for line in lines):
        sys.exit("access.py: a daemon did not answer")
    for turn in range(options.turns + 1):
        for which in (0, 1) if turn % 2 else (1, 0):
            before, start = daemons[which].cpu_ns(), time.process_time()
            whole += send_batch(lines[which], graders[which], maps, turn * options.batch, options.batch)
            after = daemons[which].cpu_ns()
            if turn == 0:  # the first views allocate
                continue
            costs[which].append((sum(after.values()) - sum(before.values())) / options.batch / 1e6)
            own[which].append((time.process_time() - start) / options.batch * 1e3)
            for name in after:
                threads[which][name] = threads[which].get(name, 0) + after[name] - before.get(name, 0)
    for which, name in enumerate(("without keys", "with keys")):
        parts = ", ".join(f"{thread} {ns / 1e6 / options.turns / options.batch:.2f}"
                          for thread, ns in sorted(threads[which].items(), key=lambda one: -one[1])[:4])
        print(f"{name:13} receiver {statistics.median(costs[which]):.2f} ms of CPU a view "
              f"({parts}); sender {statistics.median(own[which]):.2f} ms")
    added = [b - a for a, b in zip(*costs)]
    print(f"keys add {statistics.median(added):.2f} ms at the receiver (median of {len(added)} pairs, "
          f"{min(added):.2f} to {max(added):.2f}), for {maps.nbytes} bytes")
    for line in lines:
        line.close()
    for daemon in daemons:
        daemon.stop()
    return whole == 2 * (options.turns + 1) * options.batch


# --- strangers ---

def stay_half_open(address, count, until):
    """Connections that send a greeting and no more; one that was closed comes back."""
    host, port = address[len("tcp://"):].rsplit(":", 1)
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE".ljust(55, b"\0")
    held = []
    while time.monotonic() < until:
        while len(held) < count and time.monotonic() < until:
            one = socket.socket()
            one.settimeout(1)
            try:
                one.connect((host, int(port)))
                one.sendall(greeting)
                one.setblocking(False)
                held.append(one)
            except OSError:
                one.close()
        time.sleep(0.1)
        for one in held[:]:
            try:
                while one.recv(4096):
                    pass
            except BlockingIOError:
                continue
            except OSError:
                pass
            one.close()
            held.remove(one)


def try_to_connect(kind, address, server_key, count, seconds):
    """A process: `count` clients that try, and go on trying, until it ends."""
    until = time.monotonic() + seconds
    os.nice(40)  # strangers have processors of their own
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if kind == "half-open":
        stay_half_open(address, count, until)
        return
    context = zmq.Context()
    context.max_sockets = 4 * count
    server = open(server_key).read().split()[-1].encode() if kind == "unknown" else zmq.curve_keypair()[0]
    clients = []
    while time.monotonic() < until:
        # libzmq gives up once it was told that its key is unknown: begin again.
        for client in clients if kind == "unknown" else []:
            client.close(0)
        if kind == "unknown" or not clients:
            clients = [context.socket(zmq.PUSH) for _ in range(count)]
            for client in clients:
                client.linger = 0
                if kind != "none":
                    client.curve_serverkey = server
                    client.curve_publickey, client.curve_secretkey = zmq.curve_keypair()
                client.connect(address)
        time.sleep(1)
    context.destroy(0)


class Traffic:
    """Fruits of 4 views at a rate through a line, and the time from the last view sent to the verdict."""

    def __init__(self, daemon, rate):
        self.daemon, self.rate, self.stopped = daemon, rate, False
        self.sent, self.latencies, self.whole, self.fruits = {}, [], 0, 0
        self.line = Line(daemon.address("ingest"), classes=CLASSES, views=4, **daemon.keys)
        self.reader = daemon.grader()
        if not self.line.wait(10):
            sys.exit("access.py: the daemon did not answer")
        self.threads = [threading.Thread(target=run) for run in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def send(self):
        maps = [make_view(np.random.default_rng(seed), len(CLASSES))[0] for seed in range(8)]
        start = time.monotonic()
        while not self.stopped:
            time.sleep(max(0, start + self.line.sequence / 4 / self.rate - time.monotonic()))
            fruit, view = divmod(self.line.sequence, 4)
            taken = self.line.send(maps[self.line.sequence % 8], fruit=fruit, view=view)
            if taken and view == 3:
                self.sent[fruit] = time.monotonic()
            self.fruits += view == 3

    def receive(self):
        while not self.stopped or self.whole < self.fruits:
            if not self.reader.poll(3000):
                break
            verdict = msgpack.unpackb(self.reader.recv_multipart()[1])
            if verdict["fruit"] in self.sent:
                self.latencies.append((time.monotonic(), 1e3 * (time.monotonic() - self.sent[verdict["fruit"]])))
            self.whole += verdict["verdict"] == "complete"

    def between(self, start, end):
        return sorted(ms for at, ms in self.latencies if start <= at < end)

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        self.line.close()


def report(name, latencies, cpu_s, seconds, refused):
    if not latencies:
        print(f"{name:10} no fruit at all")
        return
    p50, p99 = (latencies[min(len(latencies) - 1, int(share * len(latencies)))] for share in (0.5, 0.99))
    print(f"{name:10} {len(latencies):5} fruits  p50 {p50:6.2f}  p99 {p99:6.2f}  max {latencies[-1]:7.2f} ms  daemon "
          f"{100 * cpu_s / seconds:5.1f} % of a core  {refused}", flush=True)


def measure_strangers(options):
    line = Daemon(options.daemon, True)
    target = Daemon(options.daemon, True) if options.control else line
    traffic = Traffic(line, options.rate)
    time.sleep(2)
    counted = True
    for kind in ["quiet", *KINDS]:
        crowd, before = [], target.refused()
        if kind != "quiet":
            crowd = [multiprocessing.get_context("spawn").Process(
                target=try_to_connect, args=(kind, target.address("ingest"), target.keys["server_key"],
                                             options.count // 4, START_S + options.seconds)) for _ in range(4)]
        for process in crowd:
            process.start()
        time.sleep(START_S)
        start, cpu = time.monotonic(), sum(line.cpu_ns().values())
        time.sleep(options.seconds)
        end = time.monotonic()
        cpu = sum(line.cpu_ns().values()) - cpu
        for process in crowd:
            process.join()
        time.sleep(1.5)  # the counters' page is a second old
        after = target.refused()
        grown = {reason: after[reason] - before[reason] for reason in after if after[reason] > before[reason]}
        counted &= kind == "quiet" or grown.get(KINDS[kind], 0) > 0
        report(kind, traffic.between(start, end), cpu / 1e9, end - start, grown or "")
    traffic.stop()
    print(f"{traffic.whole} of {traffic.fruits} fruits whole")
    line.stop()
    if options.control:
        target.stop()
    return counted and traffic.whole == traffic.fruits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "strangers"])
    parser.add_argument("--daemon", default=str(ROOT / "build/bin/cernitad"))
    parser.add_argument("--turns", type=int, default=20, help="cost: pairs of batches")
    parser.add_argument("--batch", type=int, default=50, help="cost: views of a batch")
    parser.add_argument("--count", type=int, default=1000, help="strangers of each kind")
    parser.add_argument("--seconds", type=float, default=15, help="strangers: for each kind")
    parser.add_argument("--rate", type=float, default=10, help="strangers: fruits a second")
    parser.add_argument("--control", action="store_true", help="strangers: at another daemon")
    options = parser.parse_args()
    return 0 if (measure_cost if options.what == "cost" else measure_strangers)(options) else 1


if __name__ == "__main__":
    sys.exit(main())
