"""What becomes of the programs' output is nothing to the machine: subscriber.py, the model for the process that drives an
ejector, decides on every fruit (each test reads its decisions from a pipe of their own), and sender.py sends every view."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time
import unittest

from line_daemon import PATIENCE_S, PackageTest

import zmq

TOOLS = pathlib.Path(__file__).parents[2] / "tools" / "python"
# The program, with a decide() that also writes each decision to the descriptor named first.
PROGRAM = """\
import os, sys
import subscriber
decisions, decide = int(sys.argv.pop(1)), subscriber.decide
def decided(verdict, rejected):
    decision = decide(verdict, rejected)
    os.write(decisions, f"{verdict.fruit} {decision}\\n".encode())
    return decision
subscriber.decide = decided
subscriber.main()
"""
WARNING = "subscriber.py: stdout: {}: decisions go on, what is printed is lost\n"


def make_verdict(fruit, name="rot", views=0):
    return {"run": "a", "lane": 3, "epoch": 1, "fruit": fruit, "sequence": fruit, "verdict": "complete", "stale": False,
            "published_ns": time.time_ns(), "deadline_ns": 2**62, "totals": {name: {"count": 1, "area_px": 9}},
            "defects": [], "view_states": [{"view": view, "state": "missing", "reason": ""} for view in range(views)]}


class Programs(PackageTest):
    def setUp(self):
        self.context = zmq.Context()
        self.addCleanup(self.context.destroy, 0)

    def bind(self, kind, address="tcp://127.0.0.1:*"):
        peer = self.context.socket(kind)
        peer.sndhwm, peer.rcvtimeo, peer.linger = 0, int(1000 * PATIENCE_S), 0
        peer.bind(address)
        self.addCleanup(peer.close, 0)
        return peer

    def popen(self, command, **given):
        run = subprocess.Popen(command, **given)
        guard = threading.Timer(PATIENCE_S, run.kill)
        guard.start()
        for cleanup in (run.wait, run.kill, guard.cancel):
            self.addCleanup(cleanup)
        return run


class Subscriber(Programs):
    def setUp(self):
        super().setUp()
        self.peer = self.bind(zmq.PUSH)

    def start(self, count, stdout, stderr=subprocess.PIPE, reject="rot", by=(), **environment):
        reading, writing = os.pipe()
        self.decisions = open(reading, encoding="ascii")
        self.addCleanup(self.decisions.close)
        run = self.popen(
            [*by, sys.executable, "-B", "-c", PROGRAM, str(writing), "--from", self.peer.last_endpoint.decode(), "--count",
             str(count), "--reject", reject], stdout=stdout, stderr=stderr, pass_fds=[writing],
            env={**os.environ, "PYTHONPATH": str(TOOLS), **environment})
        os.close(writing)
        return run

    def send(self, count, **given):
        for fruit in range(count):
            self.peer.send_multipart([b"fruit/3", json.dumps(make_verdict(fruit, **given)).encode()])

    def decides(self, run, count):
        """It decides on every fruit and ends well; what it says on stderr."""
        self.assertEqual(self.decisions.read().splitlines(), [f"{fruit} keep" for fruit in range(count)])
        said = run.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(run.returncode, 0, said)
        return (said or b"").decode()

    def test_a_class_that_stdout_cannot_encode(self):
        run = self.start(3, subprocess.PIPE, reject="m\u00fcffig\u00df", LC_ALL="C", PYTHONIOENCODING="ascii",
                         PYTHONUTF8="1")
        self.send(3, name="m\u00fcffig\u00df")
        self.assertEqual(self.decisions.read().splitlines(), ["0 keep", "1 keep", "2 keep"])
        said, faults = run.communicate(timeout=PATIENCE_S)
        self.assertEqual((run.returncode, faults), (0, b""))
        self.assertEqual(said.count(rb": 1 m\xfcffig\xdf" + b"\n"), 3, said)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            run = self.start(3, full)
            self.send(3)
            self.assertEqual(self.decides(run, 3), WARNING.format("[Errno 28] No space left on device"))

    def test_a_full_disk_for_stderr_too(self):
        with open("/dev/full", "wb") as full:
            run = self.start(3, full, full)
            self.send(3)
            self.decides(run, 3)

    def test_a_pipe_whose_reader_has_left(self):
        reading, writing = os.pipe()
        os.close(reading)
        run = self.start(3, writing)
        os.close(writing)
        self.send(3)
        self.assertEqual(self.decides(run, 3), WARNING.format("[Errno 32] Broken pipe"))

    def test_a_pipe_that_nobody_reads(self):
        """It is full long before the last fruit, whose decision does not wait."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        run = self.start(3000, writing)
        os.close(writing)
        self.send(3000, views=20)
        self.assertEqual(self.decides(run, 3000), "")

    def test_no_stdout(self):
        run = self.start(3, None, by=["sh", "-c", 'exec "$@" >&-', "sh"])
        self.send(3)
        self.assertEqual(self.decides(run, 3), "")


class Sender(Programs):
    def start(self, address, *options, **given):
        return self.popen([sys.executable, "-B", TOOLS / "sender.py", "--to", address, "--classes", "a,b", "--size", "8x8",
                           "--views", "1", *options], **given)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            peer = self.bind(zmq.PULL)
            run = self.start(peer.last_endpoint.decode(), "--fruits", "2", "--rate", "1000", stdout=full,
                             stderr=subprocess.PIPE)
            for _ in range(2):
                peer.recv_multipart()
            self.assertEqual((run.communicate(timeout=PATIENCE_S)[1], run.returncode), (b"", 0))

    def test_a_full_disk_while_no_daemon_answers(self):
        """A gap in the sequence shows that it missed the daemon, of which it says so."""
        with open("/dev/full", "wb") as full:
            peer = self.bind(zmq.PULL)
            address = peer.last_endpoint.decode()
            self.start(address, "--rate", "1000", stdout=full, stderr=full)
            before = after = self.sequence(peer)
            while after <= before + 1:
                before = after
                if peer.poll(0):
                    after = self.sequence(peer)
                    continue
                peer.close()
                time.sleep(0.05)
                peer = self.bind(zmq.PULL, address)
                after = self.sequence(peer)
            self.assertEqual(self.sequence(peer), after + 1)

    @staticmethod
    def sequence(peer):
        return struct.unpack_from("<Q", peer.recv_multipart()[0], 8)[0]


if __name__ == "__main__":
    unittest.main()
