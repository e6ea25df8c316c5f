"""A Line with slots whose connection ends: by the daemon, by the Line, beside forked children."""
import gc
import os
import signal
import socket
import threading
import unittest

from slots_test import SlotsTest

from line_daemon import PATIENCE_S, in_child, make_maps
from slots_daemon import FILLING


class Ends(SlotsTest):
    def test_a_daemon_ends_and_another_comes(self):
        daemon, line = self.connect()
        maps = make_maps(0)[0]
        line.send(maps, fruit=1, view=0)
        with line.slot(fruit=1, view=1) as slot:
            daemon.die()
            slot.maps[:] = maps  # still mapped
        self.assertFalse(slot.sent)
        self.assertFalse(line.send(maps, fruit=1, view=2))
        self.assertEqual((line.connected, line.lost, line.sequence), (False, 1, 3))
        self.assertEqual(line.fault, f"slots {self.path}: nobody listens there: start cernitad")
        other = self.daemon(slots=5)
        self.assertTrue(line.wait(PATIENCE_S))
        self.assertIsNone(line.fault)
        self.assertTrue(line.send(maps, fruit=1, view=3))
        self.assertEqual(other.receive()[1][:2], (other.ring, 0))

    def test_arrays_outlive_their_line(self):
        _, line = self.connect()
        slot = line.slot(fruit=1, view=0)
        line.close()
        del line
        gc.collect()
        slot.maps[:] = 1
        self.assertEqual(slot.maps.sum(), slot.maps.size)

    def test_close_waits_until_all_is_read(self):
        daemon, line = self.connect()
        line.send(make_maps(0)[0], fruit=1, view=0)
        self.assertEqual(line.close(timeout_s=0), 1)
        daemon, line = self.connect()
        line.send(make_maps(0)[0], fruit=1, view=0)
        thread = threading.Thread(target=daemon.receive)
        thread.start()
        self.assertEqual(line.close(PATIENCE_S), 0)
        thread.join()
        self.assertEqual(line.close(), 0)
        self.refuses(ValueError, "the Line is closed", line.slot, fruit=1, view=0)

    def test_descriptors_are_closed(self):
        self.connect()[1].close()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            daemon, line = self.connect()
            line.close()
            daemon.__exit__()
        gc.collect()
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), before + 3 * 2)

    def test_it_leaves_though_a_forked_child_lives(self):
        for leave in (lambda line: line.close(0), lambda line: setattr(line, "_slots", None)):
            daemon, line = self.connect()
            daemon.connected.wait()
            child = os.fork()
            if child == 0:
                signal.alarm(int(PATIENCE_S))
                daemon.connection.close()
                signal.pause()
            self.addCleanup(os.waitpid, child, 0)
            self.addCleanup(os.kill, child, signal.SIGKILL)
            leave(line)
            gc.collect()
            self.assertEqual(daemon.connection.recv(1, socket.MSG_DONTWAIT), b"")

    def test_a_forked_child_ends_nothing(self):
        daemon, line = self.connect()
        daemon.connected.wait()
        slot = line.slot(fruit=1, view=0)

        def leaves():
            nonlocal slot
            ring = line._slots.ring
            line.close()
            del slot
            ring.close()

        self.assertEqual(in_child(leaves), "None")
        self.assertEqual(daemon.words[0], FILLING)
        with self.assertRaises(BlockingIOError):
            daemon.connection.recv(1, socket.MSG_DONTWAIT)
        with slot:
            pass
        self.assertTrue(slot.sent)

    def test_a_forked_child_opens_its_own(self):
        _, line = self.connect()
        self.assertIn("RuntimeError: the Line was opened by process", in_child(lambda: line.slot(fruit=1, view=0)))


if __name__ == "__main__":
    unittest.main()
