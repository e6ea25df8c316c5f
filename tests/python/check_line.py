"""cernita.Line and cernita.Verdicts: against daemons, and against peers that send what daemons do not."""
import gc
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

os.environ["CRN_LIBRARY"] = "/none"  # what talks to a line works without it
from line_daemon import CLASSES, PATIENCE_S, Daemon, PackageTest, in_child, make_maps

import numpy as np
import zmq
import zmq.utils.monitor

import cernita

NOWHERE = "ipc:///tmp/cernita-no-daemon"


UNDER_WAY = 16  # so many fruits at once find slots


def judge_fruits(line, grader, count, maps):
    """Sends fruits of one view and receives their verdicts; the last one."""
    under_way = 0
    for _ in range(count):
        if not line.send(maps, fruit=line.sequence, view=0):
            raise RuntimeError("a view was not accepted")
        under_way += 1
        while under_way == UNDER_WAY:
            grader.receive()
            under_way -= 1
    for _ in range(under_way):
        verdict = grader.receive()
    return verdict


class Lines(PackageTest):
    def test_two_threads_with_a_line_each(self):
        """Their lanes do not mix, and no view is lost."""
        maps, _ = make_maps(1)
        with Daemon() as daemon, daemon.grader() as verdicts:
            lines = {lane: daemon.line(lane=lane, views=1) for lane in (3, 4)}
            free = {lane: threading.Semaphore(UNDER_WAY // 2) for lane in lines}
            outcome = {}

            def run(lane):
                accepted = 0
                for fruit in range(100):
                    free[lane].acquire(timeout=PATIENCE_S)
                    accepted += lines[lane].send(maps, fruit=fruit, view=0)
                outcome[lane] = accepted, lines[lane].close()
            threads = [threading.Thread(target=run, args=(lane,)) for lane in lines]
            for thread in threads:
                thread.start()
            got = []
            for verdict in verdicts:
                got.append(verdict)
                free[verdict.lane].release()
                if len(got) == 200:
                    break
            for thread in threads:
                thread.join()
        self.assertEqual((outcome, verdicts.lost), ({3: (100, 0), 4: (100, 0)}, 0))
        for lane, line in lines.items():
            mine = [verdict for verdict in got if verdict.lane == lane]
            self.assertEqual([verdict.sequence for verdict in mine], list(range(100)))
            self.assertEqual(sorted(verdict.fruit for verdict in mine), list(range(100)))
            self.assertEqual({(verdict.kind, verdict.epoch) for verdict in mine}, {("complete", line.epoch)})

    def test_an_absent_daemon(self):
        maps, _ = make_maps(1)
        with cernita.Line(NOWHERE, classes=CLASSES) as line:
            self.assertFalse(line.wait(0.01))
            self.assertEqual([line.send(maps, fruit=0, view=view) for view in range(3)], [False] * 3)
            self.assertEqual((line.sequence, line.lost), (3, 0))
        self.assertEqual(line.close(), 0)
        self.refuses(ValueError, "the Line is closed; open another one", line.send, maps, fruit=0, view=0)
        self.refuses(TypeError, "a Line cannot be sent to another process; open another there", pickle.dumps, line)
        self.refuses(ValueError, "the Line is closed", line.wait)

    def test_a_daemon_that_was_away_for_long_is_not_tried_less_often(self):
        """By what libzmq says of its own attempts: each begins 50 to 100 ms after the one before has failed."""
        for kind in (cernita.Line, cernita.Verdicts):
            with kind("tcp://127.0.0.1:1") as client:
                client = client._socket if isinstance(client, cernita.Line) else client
                client._socket.monitor("inproc://retries", zmq.EVENT_CONNECT_RETRIED)
                with client._context.socket(zmq.PAIR) as retries:
                    retries.rcvtimeo = int(1000 * PATIENCE_S)
                    retries.connect("inproc://retries")
                    waits_ms = [int(zmq.utils.monitor.recv_monitor_message(retries)["value"]) for _ in range(8)]
                    client._socket.disable_monitor()
            self.assertLessEqual(max(waits_ms), 100, waits_ms)

    def test_views_under_way_to_a_daemon_that_ends_are_counted(self):
        """They are more than the kernel buffers and are never read."""
        with zmq.Context() as context, context.socket(zmq.PULL) as busy:
            busy.rcvhwm, busy.linger = 1, 0
            with tempfile.TemporaryDirectory() as folder:
                busy.bind(f"ipc://{folder}/views")
                line = cernita.Line(f"ipc://{folder}/views", views=6)
                self.assertTrue(line.wait(PATIENCE_S))
                maps = np.zeros((2048, 4096, 2), "u1")
                self.assertEqual([line.send(maps, fruit=0, view=view) for view in range(6)], [True] * 6)
                self.assertTrue(3 <= line.close(0.1) <= 6, line.lost)
                self.assertEqual(line.close(), line.lost)

    def test_one_that_is_not_closed_does_not_hold_up_the_program(self):
        """Nobody reads what it sent, which would be waited for for ever."""
        program = ("import sys; sys.path.insert(0, sys.argv[1]); import numpy, cernita\n"
                   "def run():\n"
                   "    line = cernita.Line(sys.argv[2], views=6)\n"
                   "    assert line.wait(60)\n"
                   "    maps = numpy.zeros((2048, 4096, 2), 'u1')\n"
                   "    assert all(line.send(maps, fruit=0, view=view) for view in range(6))\n"
                   "run()\n")
        with zmq.Context() as context, context.socket(zmq.PULL) as busy, tempfile.TemporaryDirectory() as folder:
            busy.rcvhwm, busy.linger = 1, 0
            busy.bind(f"ipc://{folder}/views")
            tools = pathlib.Path(cernita.__file__).parents[1]
            subprocess.run([sys.executable, "-B", "-c", program, tools, f"ipc://{folder}/views"], check=True,
                           timeout=PATIENCE_S)

    def test_wrong_arguments(self):
        maps, photo = make_maps(1)
        self.refuses(ValueError, "address must be tcp://HOST:PORT, tcp://[IPV6]:PORT or ipc://PATH, not 'nowhere'",
                     cernita.Line, "nowhere")
        self.refuses(ValueError, "address must be", cernita.Line, 5555)
        for port in ("555O", "5555x", "70000", ""):
            self.refuses(ValueError, f"address must have a port from 1 to 65535, not 'tcp://127.0.0.1:{port}'",
                         cernita.Line, f"tcp://127.0.0.1:{port}")
        self.refuses(ValueError, "lane must be from 0 to 4294967295, not -1", cernita.Line, NOWHERE, lane=-1)
        self.refuses(ValueError, "views must be from 0 to 65535", cernita.Line, NOWHERE, views=65536)
        self.refuses(ValueError, "status must be tcp://HOST:PORT, tcp://[IPV6]:PORT or ipc://PATH, not 'x'",
                     cernita.Line, NOWHERE, status="x")
        self.refuses(TypeError, "epoch must be a whole number, not 1.5", cernita.Line, NOWHERE, epoch=1.5)
        self.refuses(TypeError, "classes must be a list of names, not one text", cernita.Line, NOWHERE, classes="a,b")
        self.refuses(TypeError, "classes must be a list of names, not of int", cernita.Line, NOWHERE, classes=[1])
        self.refuses(TypeError, "patience_s must be a number, not '1'", cernita.Line, NOWHERE, patience_s="1")
        self.refuses(ValueError, "patience_s must be a number, not nan", cernita.Line, NOWHERE, patience_s=float("nan"))
        self.refuses(ValueError, "key, server_key: both files are needed", cernita.Line, NOWHERE, key="x")
        self.refuses(FileNotFoundError, "[Errno 2]", cernita.Line, NOWHERE, key="/none", server_key="/none")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "k")
            file.write_text("#\n")
            self.refuses(ValueError, f"{file}: a line with one key expected", cernita.Line, NOWHERE, key=file,
                         server_key=file)
            file.write_text(40 * "~" + "\n")
            self.refuses(ValueError, f"key, server_key: {file} or {file} holds", cernita.Line, NOWHERE, key=file,
                         server_key=file)
        with cernita.Line(NOWHERE, classes=CLASSES, views=2, patience_s=float("inf")) as line:
            self.refuses(TypeError, "timeout_s must be a number, not None", line.wait, None)
            self.refuses(TypeError, "timeout_s must be a number, not '5'", line.close, "5")
            self.assertFalse(line.wait(-1))  # what was left of some time: it is over
            self.refuses(ValueError, "maps must be [3, height, width], one channel for each class, not [29, 41, 3]; "
                         "maps.transpose(2, 0, 1) puts the class first", line.send, maps, fruit=0, view=0, layout="chw")
            self.refuses(ValueError, "layout must be chw or hwc, not 'nchw'", line.send, maps, fruit=0, view=0,
                         layout="nchw")
            self.refuses(ValueError, "view must be 0 to 1, as views is 2, not 2", line.send, maps, fruit=0, view=2)
            self.refuses(TypeError, "pose must be five numbers", line.send, maps, fruit=0, view=0, pose=3)
            for pose in ((1, 2, 3, 4), (1, 2, 0, 4, 0), (1, 2, 3, float("nan"), 0), (1, 2, 3, 4, 1e7)):
                self.refuses(ValueError, "pose must be x, y, rx, ry in pixels", line.send, maps, fruit=0, view=0, pose=pose)
            self.refuses(ValueError, "intensity must be uint8[29, 41]", line.send, maps, fruit=0, view=0,
                         intensity=photo.T)
            self.refuses(TypeError, "view must be a whole number, not '1'", line.send, maps, fruit=0, view="1")
            self.refuses(ValueError, "view must be from 0 to 65535, not -1", line.send, maps, fruit=0, view=-1)
            for name in ("fruit", "captured_ns", "deadline_ns", "encoder"):  # that one alone is named
                for value, kind, told in ((2**64, ValueError, f"from 0 to {2**64 - 1}, not {2**64}"),
                                          (-1, ValueError, f"from 0 to {2**64 - 1}, not -1"),
                                          (0.5, TypeError, "a whole number, not 0.5"),
                                          (None, TypeError, "a whole number, not None")):
                    self.refuses(kind, f"{name} must be {told}", line.send, maps,
                                 **{"fruit": np.int64(0), "view": np.uint8(0), name: value})
            self.assertEqual(line.sequence, 0)


class Forked(PackageTest):
    """A fork has no I/O thread of ZeroMQ's: what its parent opened is of no use to it, and stays the parent's."""

    def enter_and_leave(self, connection):
        with connection:
            return "left"

    def test_a_child_is_told_to_open_a_line_of_its_own(self):
        maps, _ = make_maps(1)
        told = (f"RuntimeError: the Line was opened by process {os.getpid()}, of which this one is a fork; open another "
                "one here")
        with Daemon() as daemon, daemon.grader() as verdicts, daemon.line(views=1) as line:
            self.assertEqual(in_child(lambda: line.wait(PATIENCE_S)), told)
            self.assertEqual(in_child(lambda: line.send(maps, fruit=1, view=0)), told)
            self.assertEqual(in_child(lambda: (line.close(), line.close())), "(0, 0)")
            self.assertEqual(in_child(lambda: self.enter_and_leave(line)), "'left'")
            self.assertEqual(in_child(lambda: [daemon.line(lane=1, views=1).send(maps, fruit=2, view=0)]), "[True]")
            self.assertTrue(line.send(maps, fruit=1, view=0))
            self.assertEqual(sorted(verdict.fruit for _, verdict in zip(range(2), verdicts)), [1, 2])
            self.assertEqual(line.close(), 0)

    def test_a_child_is_told_to_open_verdicts_of_its_own(self):
        maps, _ = make_maps(1)
        told = (f"RuntimeError: the Verdicts were opened by process {os.getpid()}, of which this one is a fork; open "
                "others here")
        with Daemon() as daemon, daemon.grader() as verdicts, daemon.line(views=1) as line:
            self.assertEqual(in_child(lambda: verdicts.receive(PATIENCE_S)), told)
            self.assertEqual(in_child(lambda: next(iter(verdicts))), told)
            self.assertEqual(in_child(lambda: (verdicts.close(), verdicts.close())), "(None, None)")
            self.assertEqual(in_child(lambda: self.enter_and_leave(verdicts)), "'left'")
            self.assertTrue(line.send(maps, fruit=1, view=0))
            self.assertEqual(next(iter(verdicts)).fruit, 1)

    def test_one_that_a_child_deletes_goes_on_in_its_parent(self):
        with zmq.Context() as context, context.socket(zmq.PULL) as peer, tempfile.TemporaryDirectory() as folder:
            peer.bind(f"ipc://{folder}/views")
            lines = [cernita.Line(f"ipc://{folder}/views", views=1)]
            self.assertTrue(lines[0].wait(PATIENCE_S))
            self.assertEqual(in_child(lambda: (lines.clear(), gc.collect() < 0)), "(None, False)")
            self.assertTrue(lines[0].send(np.zeros((4, 4, 2), "u1"), fruit=1, view=0))
            self.assertTrue(peer.poll(1000 * PATIENCE_S))
            self.assertEqual(lines[0].close(), 0)


class Library(PackageTest):
    def test_only_what_needs_it_loads_it(self):
        self.refuses(ImportError, "cernita cannot load /none: ", cernita.Chain.from_yaml, "/none.yaml")
        self.refuses(ImportError, "cernita cannot load /none: ", getattr, cernita, "__version__")
        self.refuses(AttributeError, "module 'cernita' has no attribute 'lines'", getattr, cernita, "lines")

    def test_a_library_that_is_another_is_named(self):
        with unittest.mock.patch.dict(os.environ, {"CRN_LIBRARY": "libz.so.1"}):
            for call in (lambda: cernita.Chain.from_yaml("/none.yaml"), lambda: cernita.missing("cuda"),
                         lambda: cernita.__version__):
                with self.assertRaisesRegex(ImportError, "^libz.so.1 is not libcernita [0-9.]+: it has no crn_version.*; "
                                            "install the package's wheel, .* or name it in CRN_LIBRARY$"):
                    call()

    def test_a_missing_module_is_named_with_its_packages(self):
        for module, debian, pip in (("zmq", "python3-zmq", "pyzmq"), ("msgpack", "python3-msgpack", "msgpack")):
            with unittest.mock.patch.dict(sys.modules, {module: None}):
                self.refuses(ImportError, f"Verdicts needs the module '{module}', which ", cernita.Verdicts, NOWHERE)
                with self.assertRaisesRegex(ImportError, f"install Debian's {debian} .*pip install {pip}$"):
                    cernita.Verdicts(NOWHERE)
        with unittest.mock.patch.dict(sys.modules, {"zmq": None}):
            self.refuses(ImportError, "Line needs the module 'zmq', which ", cernita.Line, NOWHERE)


class LiveVerdicts(PackageTest):
    def test_a_slow_viewer_knows_what_it_lost(self):
        """It reads nothing of 5000 verdicts: its queue and the daemon's take 1000 each, the kernel some hundreds."""
        maps, _ = make_maps(1, "u1", height=4, width=4)
        with Daemon() as daemon, daemon.line(views=1) as line, daemon.grader() as grader, daemon.viewer() as slow:
            last = judge_fruits(line, grader, 5000, maps)
            self.assertEqual((grader.lost, last.sequence, last.kind), (0, 4999, "complete"))
            while slow.count + slow.lost <= last.sequence:  # what waits, and then those that follow
                last = judge_fruits(line, grader, 1, maps)
                try:
                    while slow.count + slow.lost <= last.sequence:
                        slow.receive(0.2)
                except TimeoutError:  # that one was lost, too
                    continue
        self.assertEqual((slow.unreadable, slow.count + slow.lost), (0, last.sequence + 1))
        self.assertGreater(slow.lost, 0)

    def test_a_grader_that_comes_late_gets_stale_verdicts(self):
        maps, _ = make_maps(1)
        with Daemon(budget_ms=5000) as daemon, daemon.viewer() as viewer, daemon.line(views=1) as line:
            self.assertTrue(line.send(maps, fruit=1, view=0))
            fresh = next(iter(viewer))
            self.assertEqual(fresh.fail_safe(fresh.deadline_ns), "")
            self.assertEqual(fresh.fail_safe(fresh.deadline_ns + 1), "its deadline has passed")
            time.sleep(max(0.0, (fresh.deadline_ns - time.time_ns()) / 1e9) + 0.001)
            with daemon.grader() as grader:
                late = next(iter(grader))
        self.assertEqual((fresh.stale, late.stale, late.fail_safe()), (False, True, "stale"))
        self.assertEqual({**late.message, "stale": False}, fresh.message)

    def test_every_class_that_was_looked_for_has_a_total(self):
        maps, _ = make_maps(1)
        maps[...] = 0, 1, 0  # nothing but rot
        with Daemon() as daemon, daemon.grader(classes=["rot", "rust"]) as grader, daemon.line(views=1) as line:
            line.send(maps, fruit=1, view=0)
            verdict = next(iter(grader))
        self.assertEqual((verdict.kind, verdict.missing_classes, list(verdict.totals)), ("complete", (), ["rot", "rust"]))
        self.assertEqual(verdict.totals["rust"], cernita.Total(0, 0.0, 0.4))

    def test_a_fruit_with_a_missing_view_is_partial(self):
        maps, _ = make_maps(1)
        with Daemon() as daemon, daemon.grader() as grader, daemon.line(views=2) as line:
            line.send(maps, fruit=1, view=1)
            for view in range(2):
                line.send(maps, fruit=2, view=view)
            self.assertEqual(next(iter(grader)).fruit, 2)  # its views run after the other fruit's
            daemon.process.terminate()  # which closes what is open
            verdict = next(iter(grader))
        self.assertEqual((verdict.kind, verdict.views_not_whole()), ("partial", ["view 0 missing"]))
        self.assertEqual([(view["view"], view["state"]) for view in verdict.view_states], [(0, "missing"), (1, "judged")])
        self.assertIs(verdict.view_states, verdict["view_states"])


def make_verdict(**changes):
    message = {"run": "a", "lane": 3, "epoch": 1, "fruit": 70, "sequence": 0, "verdict": "complete", "stale": False,
               "published_ns": 1, "deadline_ns": 2**62, "totals": {"rot": {"count": 1, "area_px": 4.5}},
               "defects": [{"view": 0, "class": "rot", "level": 0.5, "closed": True, "hole": False, "parent": -1,
                            "area_px": 4.5, "perimeter_px": 9, "bbox": [0, 0, 3, 3], "centroid": [1, 1],
                            "mean_probability": 0.75, "xy": [[0, 0], [3, 0], [3, 3], [0, 0]]}]}
    return {**message, **changes}


class Peer(PackageTest):
    """Verdicts against a socket of this test."""

    def setUp(self):
        self.context = zmq.Context()
        self.addCleanup(self.context.destroy, 0)

    def connect(self, kind, **given):
        self.peer = self.context.socket(kind)
        self.peer.bind("tcp://127.0.0.1:*")
        verdicts = cernita.Verdicts(self.peer.last_endpoint.decode(), **{"timeout_s": PATIENCE_S, **given})
        self.addCleanup(verdicts.close)
        return verdicts

    def say(self, topic, message):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.peer.send_multipart([topic.encode(), body])

    def test_nothing_that_comes_ends_a_grader(self):
        verdicts = self.connect(zmq.PUSH, grader=True)
        wrong = [b"", b"\xc1", b"7", b"{", b"[" * 100000, b"{\"a\":" * 100000, b"\xdf\xff\xff\xff\xff", b"\xff\xfe",
                 {}, make_verdict(lane="3"), make_verdict(fruit=None), make_verdict(stale="false"),
                 make_verdict(deadline_ns=True), make_verdict(totals=[]), make_verdict(totals={"rot": {"count": 1}}),
                 make_verdict(totals={"rot": {"count": 1, "area_px": None}}), make_verdict(defects={}),
                 make_verdict(defects=[{}]), make_verdict(view_states=5), make_verdict(view_states=[5]), make_verdict(view_states={})]
        whole = make_verdict()["defects"][0]
        wrong += [make_verdict(defects=[{**whole, **changes}]) for changes in (
            {"parent": 1}, {"parent": -2}, {"view": 2**31}, {"xy": [[0, 0], [1]]}, {"xy": None}, {"class": []},
            {"bbox": [1, 2, 3]}, {"centroid": "x"}, {"area_px": {}}, {"ranklet": [{}]}, {"ranklet": 5})]
        wrong += [make_verdict(defects=[{key: value for key, value in whole.items() if key != lacks}])
                  for lacks in whole]
        for body in wrong:
            self.say("fruit/3", body)
        self.say("alive", {"alive_ms": 5})
        self.peer.send(b"fruit/3")
        self.say("weather", b"\xc1")
        self.say("fruit/3", make_verdict())
        for body in [*wrong, "alive", "one part"]:
            message = verdicts.receive()
            self.assertIsInstance(message, cernita.Unreadable, body)
        last = next(iter(verdicts))
        self.assertEqual((last.fruit, last.view_states, last.views_not_whole(), last.lot), (70, [], [], ""))
        for lot in ("Hof 7", 7):
            self.say("fruit/3", make_verdict(lot=lot))
        self.assertEqual([next(iter(verdicts)).lot for _ in range(2)], ["Hof 7", ""])
        self.assertEqual((verdicts.unreadable, verdicts.count, verdicts.lost), (len(wrong) + 2, 3, 0))

    def test_reasons_to_apply_the_fail_safe(self):
        verdicts = self.connect(zmq.PUSH, grader=True)
        not_finite = {"rot": {"count": 1, "area_px": float("nan")}}
        for changes in ({}, {"verdict": "partial"}, {"verdict": "late"}, {"verdict": "good"}, {"stale": True},
                        {"deadline_ns": 1}, {"totals": not_finite}):
            self.say("fruit/3", make_verdict(**changes))
        reasons = [verdict.fail_safe() for _, verdict in zip(range(7), verdicts)]
        self.assertEqual(reasons, ["", "", "late", "unknown verdict 'good'", "stale", "its deadline has passed",
                                   "an area is not finite"])

    def test_a_class_that_was_not_looked_for_is_told_and_fails_safe(self):
        """A recipe without a level for it, a name that is mistyped: the fruit is not known to be clean."""
        verdicts = self.connect(zmq.PUSH, grader=True, classes=["rot", "rust"])
        rot = {"rot": {"count": 0, "area_px": 0, "level": 0.5}}
        both, mistyped = {**rot, "rust": {"count": 0, "area_px": 0, "level": 0.25}}, {**rot, "Rust": rot["rot"]}
        sent = [make_verdict(totals=totals, recipe=recipe) for totals, recipe in
                ((both, ""), (rot, "plum"), (rot, "plum"), ({}, "plum"), (both, ""), (rot, "plum"), (mistyped, ""))]
        for verdict in sent:
            self.say("fruit/3", verdict)
        with self.assertLogs("cernita", "WARNING") as said:
            got = [verdicts.receive() for _ in sent]
        self.assertEqual([verdict.missing_classes for verdict in got],
                         [(), ("rust",), ("rust",), ("rot", "rust"), (), ("rust",), ("rust",)])
        self.assertEqual([verdict.fail_safe() for verdict in got],
                         ["", *2 * ["not looked for: rust"], "not looked for: rot, rust", "", *2 * ["not looked for: rust"]])
        self.assertEqual((got[0].totals["rust"].level, list(got[1].totals)), (0.25, ["rot"]))
        self.assertEqual([record.getMessage() for record in said.records], [
            "lane 3: 'rust' was not looked for, so that fail_safe() holds for every fruit: give it a level in recipe 'plum', "
            "or correct the names in `classes`; looked for: 'rot'",
            "lane 3: 'rot' and 'rust' were not looked for, so that fail_safe() holds for every fruit: give them levels in "
            "recipe 'plum', or correct the names in `classes`; looked for: nothing",
            "lane 3: 'rust' was not looked for, so that fail_safe() holds for every fruit: give it a level in recipe 'plum', "
            "or correct the names in `classes`; looked for: 'rot'",
            "lane 3: 'rust' was not looked for, so that fail_safe() holds for every fruit: give it a level in the daemon's "
            "file, or correct the names in `classes`; looked for: 'rot' and 'Rust'; did you mean 'Rust' for 'rust'?"])

    def test_losses_and_silence(self):
        verdicts = self.connect(zmq.PUSH, grader=True)
        self.say("fruit/3", make_verdict(sequence=4))
        self.say("fruit/3", make_verdict(sequence=7))
        alive = {"run": "a", "state": "running", "alive_ms": 20,
                 "lanes": [{"lane": 3, "sequence": 9}, {"lane": 4, "sequence": None}]}
        self.say("alive", alive)
        self.assertEqual([verdicts.receive().lost for _ in range(2)], [0, 2])
        self.assertEqual(verdicts.receive(), cernita.Alive("a", "running", 20, {3: 2}))
        self.assertEqual((verdicts.lost, verdicts.silent), (4, False))
        self.assertEqual((verdicts.receive(), verdicts.silent), (cernita.Silence(60), True))
        self.refuses(TimeoutError, "nothing came from tcp://127.0.0.1:", verdicts.receive, 0.05)  # said once
        self.say("alive", {**alive, "alive_ms": 10**6})
        self.assertEqual((verdicts.receive().lost, verdicts.silent), ({}, False))
        self.refuses(TimeoutError, "nothing came", verdicts.receive, 0)
        self.say("fruit/3", make_verdict(run="b", sequence=0))  # another start of the daemon
        self.say("fruit/3", make_verdict(run="b", sequence=3))
        self.assertEqual([verdicts.receive().lost for _ in range(2)], [0, 2])

    def test_silence_before_the_first_message(self):
        self.assertEqual(self.connect(zmq.PUSH, grader=True, alive_ms=10).receive(), cernita.Silence(30))

    def test_a_program_that_was_not_run_finds_no_silence(self):
        verdicts = self.connect(zmq.PUSH, grader=True, alive_ms=10)
        look, looks = verdicts._is_ready, []

        def look_too_early(timeout_ms):
            looks.append(timeout_ms)
            if len(looks) > 1:
                return look(timeout_ms)
            self.say("fruit/3", make_verdict())
            self.assertTrue(verdicts._socket.poll(1000 * PATIENCE_S))
            while time.monotonic() < verdicts._heard_s + 0.03:
                pass
            return False

        verdicts._is_ready = look_too_early
        self.assertEqual((verdicts.receive().fruit, verdicts.silent), (70, False))

    def test_iteration_goes_on_after_a_timeout(self):
        verdicts = self.connect(zmq.PUSH, grader=True, timeout_s=0.05)
        self.refuses(TimeoutError, "nothing came", next, iter(verdicts))
        self.say("fruit/3", make_verdict())
        verdicts.timeout_s = PATIENCE_S
        self.assertEqual(next(iter(verdicts)).fruit, 70)
        verdicts.close()
        verdicts.close()
        self.refuses(ValueError, "the Verdicts are closed; open others", verdicts.receive)

    def test_a_viewer_that_stops_for_long_goes_on(self):
        """With a full queue. A heartbeat that expires meanwhile would end the process (libzmq's issue 3937): it has none."""
        verdicts = self.connect(zmq.XPUB)
        self.assertEqual(verdicts._socket.heartbeat_ivl, 0)
        self.peer.sndhwm = 0
        self.assertEqual(self.peer.recv(), b"\x01fruit/")
        for sequence in range(20000):
            self.say("fruit/3", make_verdict(sequence=sequence))
        last = 0
        while last < 30000:
            self.say("fruit/3", make_verdict(sequence=30000))
            last = next(iter(verdicts)).sequence
        self.assertEqual(verdicts.count + verdicts.lost, 30001)

    def test_a_viewer_of_one_lane_gets_no_other(self):
        verdicts = self.connect(zmq.XPUB, lane=3)
        self.assertEqual(self.peer.recv(), b"\x01fruit/3")
        self.say("fruit/30", make_verdict(lane=30, fruit=1))
        self.say("fruit/3", make_verdict(fruit=2))
        self.assertEqual((next(iter(verdicts)).fruit, verdicts.count), (2, 1))

    def test_wrong_arguments(self):
        for kind in (True, False):
            self.refuses(ValueError, "address must be tcp://HOST:PORT, tcp://[IPV6]:PORT or ipc://PATH, not 'x'",
                         cernita.Verdicts, "x", grader=kind)
        self.refuses(ValueError, "lane and status are for viewers", cernita.Verdicts, NOWHERE, grader=True, lane=1)
        self.refuses(ValueError, "lane and status are for viewers", cernita.Verdicts, NOWHERE, grader=True, status=True)
        self.refuses(TypeError, "classes must be a list of names, not one text", cernita.Verdicts, NOWHERE, classes="rot")
        self.refuses(TypeError, "alive_ms must be a whole number, not '5'", cernita.Verdicts, NOWHERE, alive_ms="5")
        self.refuses(TypeError, "timeout_s must be a number, not '5'", cernita.Verdicts, NOWHERE, timeout_s="5")
        with cernita.Verdicts(NOWHERE, timeout_s=np.float32(0)) as verdicts:
            self.refuses(ValueError, "timeout_s must be a number, not nan", verdicts.receive, float("nan"))
            self.refuses(TimeoutError, "nothing came", verdicts.receive, -1)
            self.refuses(TimeoutError, "nothing came", verdicts.receive)
        self.refuses(ValueError, "lane must be from 0 to 4294967295, not -1", cernita.Verdicts, NOWHERE, lane=-1)
        self.refuses(ValueError, "key, server_key: both files", cernita.Verdicts, NOWHERE, server_key="x")


if __name__ == "__main__":
    unittest.main()
