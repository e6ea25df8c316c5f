"""A Line with slots: what arrives, what is wrong, and which way views go. The daemon's side is slots_daemon.py."""
import gc
import os
import socket
import struct
import time
import unittest
from unittest import mock

from slots_test import BYTES, SHAPE, SLOT_BYTES, VIEW_BYTES, SlotsTest

import numpy as np

import cernita
from line_daemon import CLASSES, PATIENCE_S, Daemon, make_maps
from slots_daemon import FILLING, FREE, SENT


class Views(SlotsTest):
    def test_the_hello(self):
        daemon, line = self.connect()
        self.assertEqual(daemon.hello, (b"CRNS", 1, 1, 16, 0, VIEW_BYTES, bytes(16)))
        self.assertEqual((line.path, line.connected, line.fault), ("memfd", True, None))

    def test_as_many_slots_as_are_asked_for(self):
        daemon, line = self.connect(slots_count=64, shape=(2048, 2048, 3))
        self.assertEqual(daemon.hello[3], 64)
        self.assertEqual(line._slots._answer_s, 1 + 0.01 * 64 * (12 + 1) * 4)  # for memory of as many

    def test_a_view_lies_where_its_reference_says(self):
        daemon, line = self.connect(lane=7, epoch=9)
        maps, photo = make_maps(1)
        with line.slot(fruit=5, view=3, intensity=True, encoder=8) as slot:
            self.assertEqual((slot.maps.shape, slot.maps.dtype), (SHAPE, np.float32))
            self.assertEqual(daemon.words[0], FILLING)
            slot.maps[:], slot.intensity[:] = maps, photo
            self.assertFalse(slot.sent)
        self.assertTrue(slot.sent)
        header, reference = daemon.receive()
        self.assertEqual(reference, (daemon.ring, 0, 0, 0))
        self.assertEqual(struct.unpack_from("<4sHHQQQQQQIHHIII", header),
                         (b"CRN1", 128, 3, 0, 9, 5, 0, 0, 8, 7, 3, 4, *SHAPE))
        self.assertEqual(daemon.words[0], SENT)
        self.assertEqual(daemon.memory[:BYTES], maps.tobytes())
        at = VIEW_BYTES - photo.size
        self.assertEqual(daemon.memory[at:at + photo.size], photo.tobytes())

    def test_what_send_sends_is_the_same(self):
        daemon, line = self.connect()
        for seed, kind in enumerate(("f4", "f2", "u1")):
            maps, photo = make_maps(seed, kind)
            self.assertTrue(line.send(maps, fruit=5, view=3, intensity=photo))
            header, reference = daemon.receive()
            self.assertEqual(reference[1], 0)
            self.assertEqual(struct.unpack_from("<Q", header, 8)[0], seed)
            self.assertEqual(daemon.memory[:maps.nbytes], maps.tobytes())
            at = -(-maps.nbytes // 64) * 64
            self.assertEqual(daemon.memory[at:at + photo.size], photo.tobytes())
            daemon.free(0)

    def test_the_class_may_come_first(self):
        daemon, line = self.connect(shape=(3, 29, 41), layout="chw")
        maps, photo = make_maps(3, layout="chw")
        with line.slot(fruit=1, view=0) as slot:
            self.assertIsNone(slot.intensity)
            slot.maps[:] = maps
        self.assertEqual(daemon.receive()[0][64:78], struct.pack("<IIIBB", 29, 41, 3, 3, 1))
        self.assertEqual(daemon.memory[:BYTES], maps.tobytes())
        with line.slot(fruit=1, view=1, shape=(20, 30, 3), dtype="u1", layout="hwc") as slot:
            self.assertEqual(slot.maps.shape, (20, 30, 3))
        self.assertEqual(daemon.receive()[0][64:78], struct.pack("<IIIBB", 20, 30, 3, 1, 2))

    def test_slots_come_back(self):
        daemon, line = self.connect()
        for _ in range(2):
            self.assertTrue(line.send(make_maps(0)[0], fruit=1, view=0))
            daemon.receive()
        daemon.free(1)
        self.assertTrue(line.send(make_maps(0)[0], fruit=1, view=1))
        self.assertEqual(daemon.receive()[1], (daemon.ring, 1, 0, 1))

    def test_no_slot_is_free(self):
        daemon, line = self.connect()
        maps, photo = make_maps(0)
        for _ in range(2):
            line.send(maps, fruit=1, view=0)
            daemon.receive()
        self.assertFalse(line.send(maps, fruit=1, view=1, intensity=photo))
        header, reference = daemon.receive()
        self.assertEqual((header[6], reference), (5, None))
        with line.slot(fruit=1, view=2) as slot:
            self.assertFalse(slot)
            slot.maps[:] = maps  # which does no harm
        self.assertFalse(slot.sent)
        header, reference = daemon.receive()
        self.assertEqual((header[6], reference, struct.unpack_from("<Q", header, 8)[0]), (4, None, 3))
        self.assertEqual(line.sequence, 4)

    def test_a_slot_is_waited_for(self):
        daemon, line = self.connect(patience_s=PATIENCE_S)
        for _ in range(2):
            line.send(make_maps(0)[0], fruit=1, view=0)
            daemon.receive()
        class FreesFirst:
            """Sleeps as the line does, once it has found no slot."""

            def __init__(self, poller):
                self.poller, self.polls = poller, 0

            def poll(self, timeout_ms):
                daemon.free(1)
                self.polls += 1
                return self.poller.poll(timeout_ms)

        ring = line._slots.ring
        ring._poller = FreesFirst(ring._poller)
        self.assertTrue(line.send(make_maps(0)[0], fruit=1, view=1))
        self.assertEqual(ring._poller.polls, 1)

    def test_several_are_written_at_a_time(self):
        daemon, line = self.connect()
        first, second = (line.slot(fruit=1, view=view) for view in range(2))
        with first:
            with second:
                pass
        for number, (view, slot) in enumerate(((1, 1), (0, 0))):
            header, reference = daemon.receive()
            self.assertEqual((struct.unpack_from("<Q", header, 8)[0], header[60], reference[1]), (number, view, slot))

    def test_an_exception_drops_the_view(self):
        daemon, line = self.connect()
        with self.assertRaises(ZeroDivisionError):
            with line.slot(fruit=1, view=0) as slot:
                1 / 0
        self.assertEqual((daemon.words[0], slot.sent, line.sequence), (FREE, False, 0))

    def test_a_slot_whose_block_is_never_entered_comes_back(self):
        daemon, line = self.connect()
        slot = line.slot(fruit=1, view=0)
        maps = slot.maps
        self.assertEqual(daemon.words[0], FILLING)
        del slot
        gc.collect()
        self.assertEqual((daemon.words[0], line.sequence), (FREE, 0))
        with self.assertRaisesRegex(ValueError, "read-only"):
            maps[:] = 0  # which may be another view's by now

    def test_a_slot_that_was_sent_is_the_daemon_s_also_when_it_is_collected(self):
        daemon, line = self.connect()
        for _ in range(2):
            with line.slot(fruit=1, view=0) as slot:
                pass
        del slot
        gc.collect()
        self.assertEqual([*daemon.words[:2]], [SENT, SENT])

    def test_what_was_sent_is_written_no_more(self):
        _, line = self.connect()
        with line.slot(fruit=1, view=0, intensity=True) as slot:
            pass
        for array in (slot.maps, slot.intensity):
            with self.assertRaisesRegex(ValueError, "read-only"):
                array[:] = 0

    def test_the_memory_can_be_pinned(self):
        daemon, line = self.connect()
        self.assertEqual(line.memory.nbytes, 2 * SLOT_BYTES)
        with line.slot(fruit=1, view=0), line.slot(fruit=1, view=1) as slot:
            self.assertEqual(slot.maps.ctypes.data, line.memory.ctypes.data + SLOT_BYTES)
        line.close(0)
        self.assertIsNone(line.memory)


class Faults(SlotsTest):
    def fails(self, text, **given):
        line = self.line(**given)
        with self.assertLogs("cernita", "WARNING") as logged:
            self.assertFalse(line.wait(0.001))
        said = f"slots {self.path}: {text}"
        self.assertEqual(line.fault, said)
        self.assertEqual([record.getMessage() for record in logged.records], [f"lane 0: {said}"])
        self.assertFalse(line.send(make_maps(0)[0], fruit=1, view=0))
        with line.slot(fruit=1, view=0) as slot:
            self.assertFalse(slot)
        self.assertFalse(slot.sent)
        self.assertEqual(line.sequence, 2)

    def test_there_is_no_socket(self):
        self.fails("there is no such socket: correct the path, or start cernitad")

    def test_a_daemon_that_is_not_there_yet_is_no_fault(self):
        line = self.line()
        with self.assertNoLogs("cernita"):
            self.assertFalse(line.send(make_maps(0)[0], fruit=1, view=0))
            ending = self.daemon(manner="hangs up")
            while "hung up" not in line.fault:
                line.send(make_maps(0)[0], fruit=1, view=1)
            ending.die()
        self.daemon(status=95, text="no")
        with self.assertLogs("cernita", "WARNING"):
            while "refused" not in line.fault:
                line.wait(0.05)

    def test_nobody_listens(self):
        self.daemon().die()
        self.fails("nobody listens there: start cernitad")

    @unittest.skipIf(os.geteuid(), "needs another user")
    def test_permission_is_denied(self):
        self.daemon()
        os.chmod(os.path.dirname(self.path), 0o755)
        os.chmod(self.path, 0o600)
        os.seteuid(65534)
        try:
            self.fails("permission denied: add this user to the group of the socket")
        finally:
            os.seteuid(0)

    def test_it_is_a_socket_of_another_kind(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(self.path)
            control.listen()
            self.fails("a socket of another kind: name ingest.slots.path of the line")

    def test_it_accepts_nobody(self):
        self.daemon(manner="accepts nobody")
        with mock.patch("cernita._line.slots_sender._ANSWER_S", 0.01):
            self.fails("the daemon accepts no connection: is it stopped?")

    def test_a_queue_that_is_full_for_a_moment_is_waited_for(self):
        daemon, line = self.daemon(manner="accepts nobody"), self.line()
        with mock.patch("time.sleep", lambda _: daemon.serve() if daemon.fillers else os.sched_yield()):
            self.assertTrue(line._slots.update(PATIENCE_S), line.fault)
        self.assertEqual(daemon.hello[3], 16)

    def test_the_daemon_ends_before_its_answer(self):
        for manner in ("hangs up", "hangs up at once"):
            with self.subTest(manner):
                self.daemon(manner=manner)
                self.fails("hung up before its answer: the daemon ends, or is another program")

    def test_it_is_another_program(self):
        self.daemon(manner="other")
        self.fails("what listens there is not a cernitad: name ingest.slots.path of a line")

    def test_the_daemon_says_why_it_refuses(self):
        self.daemon(status=87, text="4 producers are connected: raise ingest.slots.producers")
        self.fails("refused: 4 producers are connected: raise ingest.slots.producers")

    def test_the_memory_is_not_what_was_promised(self):
        for manner in ("no memory", "short memory"):
            with self.subTest(manner):
                self.daemon(manner=manner)
                self.fails("the answer lacks memory for its slots: install producer and daemon of one release")

    def test_a_view_is_larger_than_its_slot(self):
        _, line = self.connect()
        for call in (lambda: line.slot(fruit=1, view=0, shape=(290, 41, 3)),
                     lambda: line.send(np.zeros((290, 41, 3), "f4"), fruit=1, view=0)):
            self.refuses(ValueError, "maps of shape [290, 41, 3] take 142680 bytes, and slots have 16384; give Line the "
                         "shape and dtype of its largest maps", call)
        self.assertEqual(line.sequence, 0)

    def test_a_view_is_larger_than_a_slot_of_the_call_s_own_connection(self):
        daemon = self.daemon()
        for call in (lambda line: line.slot(fruit=1, view=0, shape=(290, 41, 3)),
                     lambda line: line.send(np.zeros((290, 41, 3), "f4"), fruit=1, view=0)):
            line = self.line()
            self.refuses(ValueError, "maps of shape [290, 41, 3] take 142680 bytes, and slots have 16384", call, line)
            self.assertEqual((line.connected, line.sequence, *daemon.words[:2]), (True, 0, FREE, FREE))

    def test_wrong_arguments(self):
        _, line = self.connect()
        self.refuses(ValueError, "maps must be [height, width, 3], one channel for each class, not [29, 41, 4]",
                     line.slot, fruit=1, view=0, shape=(29, 41, 4))
        self.refuses(TypeError, "maps must be u8 (p = v/255), f16 or f32, not float64", line.slot, fruit=1, view=0,
                     dtype="f8")
        self.refuses(ValueError, "shape must be from 1 to 2147483647, not 0", line.slot, fruit=1, view=0, shape=(0, 1, 3))
        self.refuses(TypeError, "intensity must be True or False", line.slot, fruit=1, view=0, intensity=np.zeros(3))
        self.refuses(ValueError, "view must be 0 to 3", line.slot, fruit=1, view=4)
        self.refuses(ValueError, "give address, or slots, or both with slots_fallback=True", cernita.Line)
        self.refuses(ValueError, "give address, or slots, or both", cernita.Line, "ipc:///x", slots=self.path,
                     shape=SHAPE)
        self.refuses(ValueError, "give address, or slots, or both", cernita.Line, slots=self.path, shape=SHAPE,
                     slots_fallback=True)
        self.refuses(ValueError, "shape must be that of the largest maps", cernita.Line, slots=self.path)
        self.refuses(ValueError, "slots_count must be from 1 to 1024, not 0", cernita.Line, slots=self.path, shape=SHAPE,
                     slots_count=0)
        with cernita.Line("ipc:///nowhere/at/all") as without:
            self.refuses(ValueError, "the Line has no slots", without.slot, fruit=1, view=0)
            self.assertEqual((without.path, without.memory), ("ipc", None))


class RealDaemon(SlotsTest):
    """cernitad itself at the other end."""

    def setUp(self):
        self.cernitad = Daemon()
        self.addCleanup(self.cernitad.close)
        self.path = f"{self.cernitad.folder}/slots"

    def judged(self, viewer, send):
        """What the line says of a fruit of two views."""
        for view in range(2):
            send(view, *make_maps(view))
        verdict = next(iter(viewer))
        return verdict.kind, [bytes(part) for part in (verdict.defects.table, verdict.defects.points)]

    def test_verdicts_are_those_of_views_by_socket(self):
        line = self.line(views=2, patience_s=PATIENCE_S)
        self.assertTrue(line.wait(PATIENCE_S))

        def by_slot(view, maps, photo):
            with line.slot(fruit=1, view=view, intensity=True) as slot:
                slot.maps[:], slot.intensity[:] = maps, photo
            self.assertTrue(slot.sent)

        with self.cernitad.viewer() as viewer, self.cernitad.line(views=2, lane=1) as other:
            expected = self.judged(viewer, lambda view, maps, photo: other.send(maps, fruit=1, view=view, intensity=photo))
            self.assertEqual(expected[0], "complete")
            self.assertTrue(expected[1][0])
            self.assertEqual(self.judged(viewer, by_slot), expected)
            for fruit in range(2, 20):
                self.assertEqual(self.judged(viewer, lambda view, maps, photo: line.send(
                    maps, fruit=fruit, view=view, intensity=photo)), expected)
        self.assertEqual(line.close(PATIENCE_S), 0)

    def test_a_killed_daemon_comes_back(self):
        line = self.line(views=1, patience_s=PATIENCE_S)
        for fruit in range(3):
            self.assertTrue(line.wait(PATIENCE_S))
            with self.cernitad.viewer() as viewer:
                self.assertTrue(line.send(make_maps(fruit)[0], fruit=fruit, view=0))
                self.assertEqual(next(iter(viewer)).kind, "complete")
            with line.slot(fruit=fruit, view=0) as slot:
                self.cernitad.process.kill()
                self.cernitad.process.wait()
                slot.maps[:] = 0
            self.assertFalse(slot.sent)
            self.cernitad.process.stderr.close()
            self.cernitad.start()

    def test_no_slot_is_a_reason(self):
        line = self.line(views=4, patience_s=0)
        self.assertTrue(line.wait(PATIENCE_S))
        with self.cernitad.viewer() as viewer:
            held = [line.slot(fruit=1, view=view) for view in range(3)]
            self.assertFalse(line.send(make_maps(0)[0], fruit=1, view=3))
            for slot in held:
                with slot:
                    slot.maps[:] = make_maps(0)[0]
            verdict = next(iter(viewer))
        self.assertEqual(verdict.kind, "partial")
        self.assertEqual([state["reason"] for state in verdict.message["view_states"] if state["state"] == "lost"],
                         ["no_slot"])

    def fault(self, **given):
        line = self.line(**given)
        with self.assertLogs("cernita", "WARNING"):
            self.assertFalse(line.wait(0.001))
        self.assertNotIn("\n", line.fault)
        return line.fault

    def test_what_it_refuses(self):
        self.assertRegex(self.fault(shape=(1000, 1000, 3)), f"^slots {self.path}: refused: .*limits.view_mib")
        first, second = self.line(), self.line()
        self.assertTrue(first.wait(PATIENCE_S) and second.wait(PATIENCE_S))
        self.assertRegex(self.fault(), f"^slots {self.path}: refused: .*ingest.slots.producers")


class Fallback(SlotsTest):
    def test_views_go_by_socket_where_that_is_allowed(self):
        maps, photo = make_maps(0)
        with Daemon() as daemon, daemon.viewer() as viewer:
            line = cernita.Line(daemon.address("views"), slots=self.path, shape=SHAPE, classes=CLASSES, views=2,
                                slots_fallback=True)
            self.addCleanup(line.close)
            self.assertEqual(line.path, "memfd")
            with self.assertLogs("cernita", "WARNING") as logged:
                self.assertTrue(line.wait(PATIENCE_S))
            self.assertEqual(line.path, "ipc")
            self.assertEqual([record.getMessage() for record in logged.records], [
                f"lane 0: views go to {line.address}, as slots_fallback says: slots {self.path}: there is no such socket: "
                "correct the path, or start cernitad"])
            with line.slot(fruit=1, view=0, intensity=True) as slot:
                self.assertTrue(slot)
                slot.maps[:], slot.intensity[:] = maps, photo
            self.assertTrue(slot.sent)
            self.assertTrue(line.send(maps, fruit=1, view=1, intensity=photo))
            self.assertEqual(next(iter(viewer)).kind, "complete")
            other = self.daemon()
            while time.monotonic() < line._slots._next_s:
                pass
            self.assertTrue(line.wait())
            self.assertEqual(line.path, "ipc")  # as long as that connection lasts
        with self.assertLogs("cernita", "WARNING") as logged:
            while line.path != "memfd":
                line.wait(0.01)
        self.assertIn("through slots again", logged.output[0])
        self.assertTrue(line.send(maps, fruit=2, view=0))
        self.assertEqual(struct.unpack_from("<Q", other.receive()[0], 8)[0], 2)


if __name__ == "__main__":
    unittest.main()
