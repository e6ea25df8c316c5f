"""A line as a process with a sender and a grader of its own, and the account of what it was sent and what it said."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "monitor"))
from condition_line import free_port  # noqa: E402
from faults_of_machine import FAKETIME  # noqa: E402

PATIENCE_S = 60
RATE = 20 # fruits per second
EPOCH_STEP = 1_000_000


def logged(folder):
    """The verdicts of a log, as src/formats/verdict_log/README.md describes it; what is not whole is left out."""
    for path in sorted(pathlib.Path(folder).glob("cernita-*.verdicts"), key=lambda path: int(path.stem[8:])):
        data = path.read_bytes()
        at = struct.unpack_from("<H", data, 6)[0] if len(data) >= 16 and data[:6] == b"CRNV\1\0" else len(data)
        while at + 12 <= len(data):
            size, _, crc = struct.unpack_from("<III", data, at)
            verdict = data[at + 12:at + 12 + size]
            if size == 0 or len(verdict) < size or zlib.crc32(verdict, zlib.crc32(data[at:at + 8])) != crc:
                break
            yield json.loads(verdict)
            at += 12 + size


def read_lines(path):
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines() if text.endswith("]")]


class Plant:
    """Its folder, daemon and peers; `address`: that the daemon binds, `beyond`: the network namespace of the peers."""

    def __init__(self, programs, row, address="127.0.0.1", beyond=""):
        self.programs, self.row, self.address, self.beyond = programs, row, address, beyond
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cernita-faults-"))
        self.processes, self.epoch, self.totals = {}, 0, collections.Counter()
        self.ports = {"views": free_port(), "grader": free_port(), "viewers": free_port()}
        self.through = dict(self.ports) # where the peers connect: a relay's, perhaps
        self.undone_s = None

    def __enter__(self):
        for name in ("log", "records", "state"):
            (self.folder / name).mkdir()
        return self

    def __exit__(self, *unused):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        subprocess.run(["umount", "-q", "-l", self.folder / "disk"], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- processes ---

    def write_settings(self, **changes):
        bind = {name: f"tcp://{self.address}:{port}" for name, port in self.ports.items()}
        config = {"ingest": {"bind": bind["views"]}, "access": {"plain_tcp": True},
                  "classes": [{"name": "background"}, {"name": "rot", "level": 0.5}, {"name": "stem", "level": 0.5}],
                  "chain": ["contours"], "run": {"backend": "openmp", "workers": 1, "threads": 1},
                  "latency": {"budget_ms": 500, "assemble_ms": 900}, "limits": {"view_mib": 2, "slots": 64},
                  "publish": {"grader": {"bind": bind["grader"], "format": "json", "high_water_mark": 100000},
                              "viewers": {"bind": bind["viewers"]}, "log": {"dir": str(self.folder / "log")}},
                  "record": {"dir": str(self.folder / "records")}, "state": {"dir": str(self.folder / "state")},
                  "monitor": {"http": "127.0.0.1:0"}}
        for section, keys in changes.items():
            config[section] = config.get(section, {}) | keys
        (self.folder / "line.yaml").write_text(yaml.safe_dump(config))

    def start_daemon(self, environment=None):
        path = self.folder / f"daemon-{len(list(self.folder.glob('daemon-*')))}.txt"
        with open(path, "w") as log:
            self.processes["daemon"] = subprocess.Popen(
                [self.programs / "cernitad", "--config", self.folder / "line.yaml"], stderr=log,
                env=os.environ | (environment or {}))
        self.log = path
        self.await_text(" ready: ")
        self.target = re.search(r"metrics at http://([\w.:]+)", path.read_text()).group(1)

    def await_text(self, text):
        self.until(lambda: text in self.log.read_text(), lambda: f"the daemon never said '{text}': {self.log.read_text()}")

    def until(self, good, what):
        end = time.monotonic() + PATIENCE_S
        while not good():
            if time.monotonic() > end:
                raise RuntimeError(what() if callable(what) else what)
            time.sleep(0.02)

    def start_peer(self, name, role, port, *numbers):
        command = [sys.executable, HERE / "peer.py", role, f"tcp://{self.address}:{self.through[port]}",
                   self.folder / f"{name}.txt", *map(str, numbers)]
        if self.beyond:
            command = ["ip", "netns", "exec", self.beyond, *command]
        self.processes[name] = subprocess.Popen(command)

    def start_sender(self):
        self.epoch += EPOCH_STEP
        self.start_peer("sender", "send", "views", self.epoch, RATE)

    def start_grader(self, pause_s=0):
        self.start_peer("grader", "grade", "grader", pause_s)

    def kill(self, name, number=signal.SIGKILL):
        self.processes[name].send_signal(number)
        self.processes[name].wait()

    # --- what happened ---

    def sent(self):
        return read_lines(self.folder / "sender.txt")

    def graded(self):
        return read_lines(self.folder / "grader.txt")

    def await_sent(self, more):
        wanted = len(self.sent()) + more
        self.until(lambda: len(self.sent()) >= wanted, f"no {more} more fruits were sent")

    def await_graded(self, more):
        wanted = len(self.graded()) + more
        self.until(lambda: len(self.graded()) >= wanted, f"no {more} more verdicts came")

    def await_good(self):
        """Until a fruit that was sent from now on is complete at the grader; the seconds."""
        began = time.monotonic()

        def has_come():
            new = {(epoch, fruit) for epoch, fruit, at in self.sent() if at > began}
            return any((epoch, fruit) in new for _, epoch, fruit, _, kind, stale, _ in self.graded()
                       if kind == "complete" and not stale)
        self.until(has_come, "no fruit is complete again")
        return time.monotonic() - began

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.target}/metrics", timeout=20) as answer:
            text = answer.read().decode()
        found = collections.Counter()
        for name, value in re.findall(r"^(cernita_\w+)(?:\{[^}]*\})? ([\d.e+-]+)$", text, re.M):
            found[name] += float(value)
        return found

    def keep_metrics(self):
        """Before a daemon is killed: its counts are lost with it."""
        self.totals.update(self.metrics())

    def is_quiet(self):
        """Nothing has come for a second, and each fruit has its verdict."""
        before = self.metrics()
        time.sleep(1)
        now = self.metrics()
        return now["cernita_messages_received_total"] == before["cernita_messages_received_total"] and \
            now["cernita_fruits_opened_total"] == now["cernita_verdicts_total"]

    def settle(self):
        """The sender ends, then the daemon judges what it has; returns the account."""
        if self.processes["sender"].poll() is None:
            self.kill("sender", signal.SIGTERM)
        daemon = self.processes["daemon"]
        self.until(self.is_quiet, "views go on coming, or fruits stay open")
        self.until(lambda: self.metrics()["cernita_verdicts_waiting"] == 0, "verdicts wait for the grader")
        self.keep_metrics()
        self.until(lambda: len(self.graded()) + self.totals["cernita_verdicts_possibly_lost_total"] +
                   self.totals["cernita_verdicts_lost_total"] >= self.totals["cernita_verdicts_sent_total"] or self.crashed(),
                   lambda: f"verdicts sent do not come: {len(self.graded())}, {dict(self.totals)}")
        self.kill("daemon", signal.SIGTERM)
        if daemon.returncode != 0:
            raise RuntimeError(f"the daemon ended with {daemon.returncode}: {self.log.read_text()[-2000:]}")
        self.kill("grader")
        return Account(self)

    def crashed(self):
        return len(list(self.folder.glob("daemon-*"))) > 1


class Account:
    """Each fruit that was sent has one verdict, or is declared; each verdict reached the grader, or is."""

    def __init__(self, plant):
        verdicts, graded, totals = list(logged(plant.folder / "log")), plant.graded(), plant.totals
        self.sent = {(epoch, fruit) for epoch, fruit, _ in plant.sent()}
        told = collections.Counter((verdict["epoch"], verdict["fruit"]) for verdict in verdicts)
        told_to = collections.Counter((epoch, fruit) for _, epoch, fruit, *_ in graded)
        self.kinds = collections.Counter(verdict["verdict"] for verdict in verdicts)
        self.runs = len({verdict["run"] for verdict in verdicts})
        self.not_logged = totals["cernita_log_verdicts_lost_total"]
        self.without = self.sent - told.keys() - told_to.keys()
        self.doubled = [fruit for counts in (told, told_to) for fruit, count in counts.items() if count > 1]
        self.not_graded = told.keys() - told_to.keys()
        restarted = totals["cernita_sender_restarts_total"] > 0 or self.runs > 1
        self.declared = {"sequence gaps": totals["cernita_sequence_gaps_total"],
                         "sender restarts": totals["cernita_sender_restarts_total"], "daemon's runs": self.runs,
                         "possibly lost": totals["cernita_verdicts_possibly_lost_total"],
                         "dropped": totals["cernita_verdicts_lost_total"], "not logged": self.not_logged}
        self.stale = sum(stale for *_, stale, _ in graded)
        self.unseen = []
        if len(self.without) > totals["cernita_sequence_gaps_total"] and not restarted:
            self.unseen.append(f"{len(self.without)} fruits without a verdict")
        lost = totals["cernita_verdicts_possibly_lost_total"] + totals["cernita_verdicts_lost_total"]
        if len(self.not_graded) > lost and self.runs < 2:
            self.unseen.append(f"{len(self.not_graded)} verdicts that the grader lacks, {lost:.0f} declared")
        if len(told_to.keys() - told.keys()) > self.not_logged and self.runs < 2:
            self.unseen.append("verdicts that the log lacks")
        if self.doubled:
            self.unseen.append(f"doubled: {self.doubled[:5]}")

    def text(self):
        parts = [f"of {len(self.sent)} fruits"]
        for count, what in ((len(self.without), "without a verdict"), (self.kinds["partial"], "partial"),
                            (self.kinds["late"], "late"), (self.stale, "stale"),
                            (len(self.not_graded), "not at the grader"), (int(self.not_logged), "not in the log")):
            if count:
                parts.append(f"{count} {what}")
        return ", ".join(parts if len(parts) > 1 else [parts[0], "nothing"])
