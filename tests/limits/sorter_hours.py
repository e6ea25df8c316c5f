#!/usr/bin/env python3
"""Memory and descriptors of a line and its sorter over a long run.

    tests/limits/sorter_hours.py --bin build/bin --minutes 60

cernitad sorts synthetic fruits, 10 a second; cernita-sorter decides, with all its outputs: a PLC that polls every 10 ms
and connects again once a minute, a broker (mosquitto) that ends and starts once a minute, a client of lines that does
the same, and a scraper of /metrics. Each minute prints resident memory and open descriptors of both processes. After
a tenth of the run, at least a minute, in which all buffers are filled once, neither may grow: exit status 1.
"""
import argparse
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

GROWTH_KIB = 512  # pages that malloc takes late; a leak of 8 bytes per fruit is 280 KiB an hour
SORTER = """\
line: {{endpoint: "tcp://127.0.0.1:{grader}"}}
outlets: {{names: [first, second, waste, again], default: first, late: again, partial: rules, silence: again,
          unmeasured: again}}
rules:
  - {{outlet: waste, when: "rot.area_px > 40 or any(rot, mean_probability > 0.9)"}}
  - {{outlet: second, when: "bruise.area_px > 300"}}
outputs:
  tcp: {{bind: "127.0.0.1:{tcp}"}}
  modbus_server: {{bind: "127.0.0.1:{modbus}"}}
  mqtt: {{broker: "127.0.0.1:{broker}"}}
monitor: {{http: "127.0.0.1:{http}"}}
log: {{level: error}}
"""
PORTS = ("views", "grader", "viewers", "tcp", "modbus", "broker", "http")


def free_ports():
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    ports = {name: one.getsockname()[1] for name, one in zip(PORTS, sockets)}
    for one in sockets:
        one.close()
    return ports


def connect(port):
    """A connection as soon as somebody listens there."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except OSError:
            time.sleep(0.05)


def receive(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return data


class Plc:
    """Polls window 0 and acknowledges what it took (function 23)."""

    def __init__(self, port):
        self.port, self.run, self.number, self.taken = port, 0, 0, 0
        self.connection = connect(port)

    def connect_again(self):
        self.connection.close()
        self.connection = connect(self.port)

    def poll(self):
        body = struct.pack(">BBHHHHBHI", 1, 23, 0, 125, 125, 3, 6, self.run, self.number)
        self.connection.sendall(struct.pack(">HHH", 1, 0, len(body)) + body)
        size = struct.unpack(">HHH", receive(self.connection, 6))[2]
        answer = receive(self.connection, size)
        if answer[1] != 23:  # busy: the end of the last connection was not noticed
            return
        registers = struct.unpack(">125H", answer[3:])
        self.run = registers[0]
        for at in range(5, 125, 12):
            number = registers[at + 1] << 16 | registers[at + 2]
            if number:
                self.number = number
                self.taken += 1


def poll_for_ever(port, ended, counts):
    plc, next_s = Plc(port), time.monotonic() + 60
    while not ended.is_set():
        try:
            plc.poll()
            if time.monotonic() > next_s:
                plc.connect_again()
                next_s += 60
        except OSError:
            plc.connect_again()
        counts["taken"] = plc.taken
        time.sleep(0.01)


def read_for_ever(port, ended):
    """A client of lines, and a scraper."""
    while not ended.is_set():
        with connect(port["tcp"]) as client:
            until_s = time.monotonic() + 60
            while time.monotonic() < until_s and not ended.is_set():
                if not client.recv(65536):
                    break
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port['http']}/metrics", timeout=10).read()
                except OSError:
                    pass


def memory_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {pid} has ended")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Bench:
    """All processes of a run, in a folder of their own."""

    def __init__(self, folder, programs):
        self.folder, self.programs, self.processes = folder, programs, []
        self.port = free_ports()

    def start(self, *command):
        process = subprocess.Popen([str(word) for word in command], cwd=self.folder, stdout=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def start_broker(self):
        return self.start(shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", "broker.conf")

    def start_all(self, config):
        port = self.port
        text = config.read_text()
        for old, new in ((5555, "views"), (5556, "grader"), (5557, "viewers")):
            text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{port[new]}")
        # Few slots: one is touched the first time when so many views are judged at once, hours later perhaps.
        (self.folder / "line.yaml").write_text(
            text + '\nmonitor: {http: ""}\nlimits: {slots: 6}\nlog: {level: error}\n')
        (self.folder / "sorter.yaml").write_text(SORTER.format(**port))
        (self.folder / "broker.conf").write_text(f"listener {port['broker']} 127.0.0.1\nallow_anonymous true\n"
                                                 "log_type error\n")
        subprocess.run([self.programs / "cernita-synth", "views.tif", "--fruits", "6", "--views", "4", "--size",
                        "64x64", "--classes", "12"], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)
        self.broker = self.start_broker()
        self.line = self.start(self.programs / "cernitad", "--config", "line.yaml")
        self.sorter = self.start(self.programs / "cernita-sorter", "--config", "sorter.yaml")
        self.start(self.programs / "cernita-replay", "views.tif", "--to", f"tcp://127.0.0.1:{port['views']}",
                   "--loop", "0", "--unwatched")

    def change_broker(self):
        self.broker.terminate()
        self.broker.wait()
        self.processes.remove(self.broker)
        self.broker = self.start_broker()

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait()


def watch(bench, minutes, counts):
    """Prints a row a minute; returns the rows {name: [(KiB, descriptors)]}."""
    rows = {"line": [], "sorter": []}
    start_s = time.monotonic()
    print("minute  line KiB  descriptors  sorter KiB  descriptors  decisions taken", flush=True)
    for minute in range(1, minutes + 1):
        time.sleep(max(0, start_s + 60 * minute - time.monotonic()))
        for name, process in (("line", bench.line), ("sorter", bench.sorter)):
            if process.poll() is not None:
                sys.exit(f"{name} has ended with {process.returncode}")
            rows[name].append((memory_kib(process.pid), descriptors(process.pid)))
        print("%6d  %8d  %11d  %10d  %11d  %15d" % (minute, *rows["line"][-1], *rows["sorter"][-1], counts["taken"]),
              flush=True)
        bench.change_broker()
    return rows


def faults_of(rows, warm_up):
    """Growth after the warm-up; a connection may just be made again, so descriptors are compared by their most."""
    faults = []
    for name, row in rows.items():
        half = (len(row) - warm_up + 1) // 2
        first, last = row[warm_up:warm_up + half], row[warm_up + half:]
        if not last:
            faults.append(f"{name}: too short a run to tell: at least 3 minutes")
            continue
        for at, what, allowed in ((0, "KiB", GROWTH_KIB), (1, "descriptors", 0)):
            before, after = max(one[at] for one in first), max(one[at] for one in last)
            if after > before + allowed:
                faults.append(f"{name}: {before} {what} in the first half of the run, {after} in the second")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--minutes", type=int, default=60)
    given = parser.parse_args()
    config = pathlib.Path(__file__).resolve().parents[2] / "config/line.yaml"
    ended, counts = threading.Event(), {"taken": 0}
    with tempfile.TemporaryDirectory(prefix="cernita-hours-") as folder:
        bench = Bench(pathlib.Path(folder), given.bin.resolve())
        try:
            bench.start_all(config)
            for target, arguments in ((poll_for_ever, (bench.port["modbus"], ended, counts)),
                                      (read_for_ever, (bench.port, ended))):
                threading.Thread(target=target, args=arguments, daemon=True).start()
            rows = watch(bench, given.minutes, counts)
        finally:
            ended.set()
            bench.stop()
    faults = faults_of(rows, max(1, given.minutes // 10))
    if not counts["taken"]:
        faults.append("the PLC has read no decision")
    for fault in faults:
        print(fault)
    print("constant" if not faults else "not constant")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
