"""What a cernita.Line tells its program beside the views: that the daemon refuses them, that capture times are far from the present."""
import json
import os
import pathlib
import re
import time
import unittest

os.environ["CRN_LIBRARY"] = "/none"  # what talks to a line works without it
from line_daemon import CLASSES, PATIENCE_S, Daemon, PackageTest, make_maps

import numpy as np
import zmq

import cernita
from cernita._line.refusals import HINTS

NOWHERE = "ipc:///tmp/cernita-no-daemon"


class Warnings(PackageTest):
    def test_refusals_reach_the_sender(self):
        """All of its own, and none of before."""
        maps, _ = make_maps(1)
        with Daemon() as daemon:
            with daemon.line(classes=["a", "b", "c"], lane=5) as line, self.assertLogs("cernita", "WARNING") as said:
                with daemon.line(classes=["a", "b", "c"], lane=5, status=daemon.address("viewers")) as watched:
                    self.assertTrue(watched._refusals.heard.wait(PATIENCE_S))
                    self.assertEqual((line.refused, watched.refused), ({}, {}))
                    self.send_until(lambda: watched.refused, watched, maps)
                    first = watched.refused
                    self.assertEqual(set(first), {"class_set"})
                    self.send_until(lambda: watched.refused != first, watched, maps)
                    self.send_until(lambda: watched.refused["class_set"] == watched.sequence, watched, maps, 0)
                    with daemon.line(lane=5, status=daemon.address("viewers")) as mended:
                        self.assertTrue(mended._refusals.heard.wait(PATIENCE_S))
                        mended.send(maps, fruit=0, view=0)
                        self.assertEqual(mended.refused, {})
        texts = [text for record in said.records if " refused " in (text := record.getMessage())]
        self.assertEqual(len(texts), 1, texts)
        self.assertRegex(texts[0], r"^lane 5: \d+ messages refused \(class_set\): name the classes as the daemon's file does")

    def test_every_hint_is_of_a_reason_that_exists(self):
        folder = pathlib.Path(__file__).parents[2] / "src" / "formats" / "view"
        names = [name for header in ("wire.h", "refusal.h")
                 for name in re.findall(r'ROW\(\w+, "(\w+)",', (folder / header).read_text(encoding="utf-8"))]
        self.assertIn("class_set", names)
        self.assertEqual(set(HINTS) - set(names), set())

    def send_until(self, true, line, maps, count=1):
        end = time.monotonic() + PATIENCE_S
        while not true():
            self.assertLess(time.monotonic(), end)
            for _ in range(count):
                self.assertTrue(line.send(maps, fruit=line.sequence, view=0))
            time.sleep(0.02)

    def test_a_status_that_does_not_come_is_told(self):
        with Daemon() as daemon, self.assertLogs("cernita", "WARNING") as said, cernita.Line(
                daemon.address("views"), classes=CLASSES, status=NOWHERE) as line:
            self.assertTrue(line.wait(PATIENCE_S))
        self.assertEqual([record.getMessage() for record in said.records], [
            f"lane 0: no status from {NOWHERE}, so that refused views are not reported: name the daemon's publish.viewers.bind, "
            "and with access.keys a key that is for viewers too"])

    def test_times_that_are_none_of_now_are_told_once(self):
        """Milliseconds, another time zone, another clock: not by an error, as recorded views have times of their own."""
        maps, _ = make_maps(1)
        now_ns, hour_ns = time.time_ns(), 3600 * 10**9
        doubts = {np.int64(now_ns // 10**6): "is a time in ms; times 1000000 it is one in ns",
                  now_ns // 10**3: "is a time in µs; times 1000 it is one in ns",
                  now_ns // 10**9: "is a time in s; times 1000000000 it is one in ns",
                  time.monotonic_ns(): "is a time of CLOCK_MONOTONIC; time.time_ns() gives one of CLOCK_REALTIME",
                  now_ns + 2 * hour_ns: "is 2 h after now, as if by another time zone; time.time_ns() knows none",
                  now_ns - 1000 * hour_ns: "is 3.6e+06 s before now; CLOCK_REALTIME in ns is expected"}
        for name in ("captured_ns", "deadline_ns"):
            for ns, told in doubts.items():
                with cernita.Line(NOWHERE) as line, self.assertLogs("cernita", "WARNING") as said:
                    for view, value in enumerate((0, time.time_ns(), ns, ns)):
                        line.send(maps, fruit=7, view=view, **{name: value})
                self.assertEqual(len(said.records), 1)
                text = said.records[0].getMessage()
                self.assertTrue(text.startswith(f"lane 0: {name} {told}") and text.endswith("(fruit 7, view 2)"), text)

    def test_refusals_are_counted_from_the_first_status_and_over_restarts(self):
        def told(run, mine, elsewhere, **more):
            lanes = [{"lane": 3, "sequence": None, "refused": {"channels": mine}}, {"lane": 4, "refused": {"type": 7}}]
            return {"run": run, "lanes": lanes, "refused_elsewhere": {"class_set": elsewhere}, **more}
        context = zmq.Context()
        self.addCleanup(context.destroy, 0)
        peer = context.socket(zmq.XPUB)
        peer.rcvtimeo, peer.linger = int(1000 * PATIENCE_S), 0
        peer.bind("tcp://127.0.0.1:*")
        self.addCleanup(peer.close)
        statuses = [told("a", 5, 2), b"\xc1", {}, told("a", 7, 2), told("b", 1, 0), told("b", 2, 3),
                    {"run": "b", "lanes": [], "refused_elsewhere": {"weather": 1}}]
        with self.assertLogs("cernita", "WARNING") as said, cernita.Line(
                NOWHERE, lane=3, status=peer.last_endpoint.decode()) as line:
            self.assertEqual(peer.recv(), b"\x01status")
            for status in statuses:
                body = status if isinstance(status, bytes) else json.dumps(status).encode()
                peer.send_multipart([b"status", body])
            end = time.monotonic() + PATIENCE_S
            while "weather" not in line.refused and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(line.refused, {"channels": 2 + 1 + 1, "class_set": 3, "weather": 1})
        self.assertEqual([record.getMessage().partition(": ")[2].partition(";")[0] for record in said.records], [
            "a status that cannot be read: FormatError()", "a status that cannot be read: KeyError('lanes')",
            "2 messages refused (channels): send as many channels as the daemon's file has classes, or correct its classes",
            "3 messages refused (class_set): name the classes as the daemon's file does and in its order",
            "1 messages refused (weather): see the log of the daemon"])


if __name__ == "__main__":
    unittest.main()
