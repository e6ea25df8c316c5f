"""cernita.Recording and cernita.VerdictLog: what a daemon wrote, and files that are damaged or hostile."""
import contextlib
import datetime
import logging
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zlib

from line_daemon import BIN, Daemon, PackageTest, make_maps

import numpy as np

import cernita

VIEWS = [(dtype, layout, photo) for dtype in ("u1", "f2", "f4") for layout in ("hwc", "chw") for photo in (True, False)]
FRUITS = 2


class Notices(logging.Handler):
    """The lines that the package logs."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def notices():
    handler, log = Notices(), logging.getLogger("cernita")
    log.addHandler(handler)
    try:
        yield handler.lines
    finally:
        log.removeHandler(handler)


def rewrite(path, data):
    """As a new file: a file system may flush one that is truncated and written again."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


class FilesTest(PackageTest):
    """What a daemon recorded and logged of FRUITS fruits in lanes 0 and 1, and what was sent and received."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        cls.sent, cls.received = [], []
        with cls.daemon.grader() as grader, contextlib.ExitStack() as lines:
            for lane in (0, 1):
                line = lines.enter_context(cls.daemon.line(lane=lane, views=len(VIEWS)))
                for fruit in range(FRUITS):
                    cls.sent += [cls.send(line, fruit, view) for view in range(len(VIEWS))]
                    cls.received.append(next(iter(grader)))
        if cls.daemon.stop():
            raise RuntimeError("the daemon failed")
        cls.recordings, cls.log = cls.daemon.folder / "recordings", cls.daemon.folder / "log"

    @staticmethod
    def send(line, fruit, view):
        dtype, layout, photo = VIEWS[view]
        maps, photograph = make_maps(10 * fruit + view, dtype, layout)
        about = {"fruit": fruit, "view": view, "captured_ns": 10**18 + view, "encoder": 1000 * fruit + view}
        numbers = {"lane": line.lane, "epoch": line.epoch, "sequence": line.sequence, "views": line.views,
                   "deadline_ns": 0, **about}
        if not line.send(maps, intensity=photograph if photo else None, layout=layout, **about):
            raise RuntimeError("a view was not accepted")
        return numbers, maps, layout, photograph if photo else None

    def scratch(self):
        folder = tempfile.TemporaryDirectory(prefix="cernita-files-")
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def one_line(self, text, path):
        self.assertTrue(str(text).startswith(f"{path}: "), text)
        self.assertNotIn("\n", str(text))

    def read_or_refuse(self, source, path):
        """What is read until the end or a DataError, and the notices; each is a line that names the file."""
        items = []
        with notices() as lines:
            try:
                for item in source():
                    items.append(item)
            except cernita.DataError as fault:
                self.one_line(fault, path)
                lines.append(str(fault))
        for line in lines:
            self.one_line(line, path)
        return items, lines


class Recordings(FilesTest):
    def equal(self, view, sent):
        numbers, maps, layout, photograph = sent
        return (view.maps.tobytes() == maps.tobytes() and (view.maps.dtype, view.layout) == (maps.dtype, layout)
                and (view.intensity is None) == (photograph is None)
                and (photograph is None or view.intensity.tobytes() == photograph.tobytes())
                and all(getattr(view, name) == number for name, number in numbers.items()))

    def test_it_yields_the_bytes_that_were_sent(self):
        with notices() as lines:
            views = list(cernita.Recording(self.recordings))
        self.assertEqual((len(views), lines), (len(self.sent), []))
        views.sort(key=lambda view: (view.lane, view.sequence))  # recorded as they ended
        for view, sent in zip(views, self.sent):
            self.assertTrue(self.equal(view, sent), view)
            self.assertEqual(len(view.planes), 3)
            self.assertFalse(any(plane.flags.writeable or plane.flags.owndata for plane in view.planes))
            self.assertGreater(view.arrived_ns, 10**18)
        self.assertEqual({view.classes for view in views}, {("background", "rot", "rust")})
        self.assertEqual(cernita.Recording(self.recordings).classes, ("background", "rot", "rust"))
        self.assertEqual({view.class_set for view in views}, {cernita._line.wire.class_set(("background", "rot", "rust"))})

    def test_a_chain_finds_in_it_what_the_verdicts_say(self):
        with cernita.Chain.from_yaml(self.daemon.yaml) as chain:
            for verdict in self.received:
                views = cernita.Recording(self.recordings, lane=verdict.lane, fruit=verdict.fruit)
                found = [chain.judge(view.maps, view.intensity, layout=view.layout)
                         for view in sorted(views, key=lambda view: view.view)]
                self.assertEqual(b"".join(one.points.tobytes() for one in found), verdict.defects.points.tobytes())

    def test_lane_fruit_and_time(self):
        views = list(cernita.Recording(self.recordings))

        def chosen(**given):
            return [(view.lane, view.fruit, view.view) for view in cernita.Recording(self.recordings, **given)]

        def those(wanted):
            return [(view.lane, view.fruit, view.view) for view in views if wanted(view)]
        middle = views[len(views) // 2].arrived_ns
        moment = datetime.datetime.fromtimestamp(middle // 10**9 + 1, datetime.timezone.utc)
        self.assertEqual(chosen(lane=1), those(lambda view: view.lane == 1))
        self.assertEqual(chosen(lane=[0, 1], fruit=range(1, 5)), those(lambda view: view.fruit == 1))
        self.assertEqual(chosen(since=middle), those(lambda view: view.arrived_ns >= middle))
        self.assertEqual(chosen(until=middle), those(lambda view: view.arrived_ns < middle))
        self.assertEqual(chosen(until=moment), those(lambda view: view.arrived_ns < moment.timestamp() * 1e9))
        self.assertEqual(chosen(lane=2), [])

    def test_tifffile_reads_the_same(self):
        try:
            import tifffile
        except ImportError:
            self.skipTest("there is no tifffile (Debian: python3-tifffile)")
        source = cernita.Recording(self.recordings)
        with tifffile.TiffFile(source.files[0]) as file:
            pages = iter(file.pages)
            for view in source:
                for plane in (*view.planes, *([] if view.intensity is None else [view.intensity])):
                    np.testing.assert_array_equal(plane, next(pages).asarray())

    def one_file(self):
        """Bytes of a small recording, and its views."""
        path = self.scratch() / "r.tif"
        subprocess.run([BIN / "cernita-synth", path, "--fruits", "1", "--views", "3", "--size", "9x8", "--classes", "2"],
                       check=True, stdout=subprocess.DEVNULL)
        return path, path.read_bytes(), [view.maps.tobytes() for view in cernita.Recording(path)]

    def test_truncated_files(self):
        path, data, whole = self.one_file()
        complete = set()
        for size in range(len(data)):
            rewrite(path, data[:size])
            views, lines = self.read_or_refuse(lambda: cernita.Recording(path), path)
            self.assertEqual([view.maps.tobytes() for view in views], whole[:len(views)])
            self.assertEqual(len(lines), 1, size)
            complete.add(len(views))
            del views
        self.assertEqual(complete, {0, 1, 2})
        rewrite(path, data + bytes(-len(data) % 4096))  # a writer's last block, filled up
        self.assertEqual(len(self.read_or_refuse(lambda: cernita.Recording(path), path)[1]), 0)
        rewrite(path, data + bytes(4095) + b"x")
        views, lines = self.read_or_refuse(lambda: cernita.Recording(path), path)
        self.assertEqual((len(views), lines), (3, [
            f"{path}: the file ends with 4096 bytes of a view that was never finished: they are skipped"]))

    def test_damaged_files(self):
        path, data, _ = self.one_file()
        rng, faults = random.Random(1), set()
        for _ in range(1500):
            damaged = bytearray(data)
            for _ in range(rng.choice((1, 1, 1, 8))):
                at = rng.randrange(len(data))
                damaged[at:at + 8] = rng.choice((bytes(8), b"\xff" * 8, rng.randbytes(8), data[8:16]))[:len(data) - at]
            rewrite(path, damaged)
            views, lines = self.read_or_refuse(lambda: cernita.Recording(path), path)
            self.assertLessEqual(len(views), 3)
            for view in views:
                view.maps.tobytes()
            faults.update(line.split(":")[-1].split()[0] for line in lines)
            del views
        self.assertGreater(len(faults), 5, faults)

    def test_what_is_no_recording(self):
        folder = self.scratch()
        self.refuses(FileNotFoundError, "[Errno 2]", cernita.Recording, folder / "none.tif")
        (folder / "notes.part").touch()
        (folder / "c.tif.part").mkdir()
        self.refuses(cernita.DataError, f"{folder}: no recording (*.tif) in this folder", cernita.Recording, folder)
        (folder / "b-10.tif.part").touch()
        self.refuses(cernita.DataError, f"{folder}: no finished recording (*.tif) in this folder, only b-10.tif.part, which is "
                     "being written or was left by a program that was killed; to read what it holds so far, name that file",
                     cernita.Recording, folder)
        (folder / "b-9.tif.part").touch()
        self.refuses(cernita.DataError, f"{folder}: no finished recording (*.tif) in this folder, only b-9.tif.part and "
                     "b-10.tif.part, which are being written or were left by a program that was killed; to read what they "
                     "hold so far, name one of these files", cernita.Recording, folder)
        for name, data in (("a.tif", b""), ("b.tif", b"II*\0" + bytes(20)), ("c.tif", b"x" * 100)):
            (folder / name).write_bytes(data)
            self.refuses(cernita.DataError, f"{folder / name}: is not a recording: not a little-endian BigTIFF",
                         list, cernita.Recording(folder / name))
        self.refuses(cernita.DataError, "/dev/null: is a device; a file is expected", list, cernita.Recording("/dev/null"))
        self.refuses(TypeError, "lane must be a whole number, a range or a list of them, not 'x'", cernita.Recording, folder,
                     lane="x")
        self.refuses(TypeError, "since must be a datetime or ns since 1970, not 1.5", cernita.Recording, folder, since=1.5)

    def test_files_of_a_folder_in_order(self):
        path, data, whole = self.one_file()
        for number in (10, 9, 1):
            shutil.copy(path, path.parent / f"v-{number}.tif")
        path.unlink()
        (path.parent / ".hidden.tif").write_bytes(b"")
        (path.parent / "v-11.tif.part").write_bytes(data)
        source = cernita.Recording(path.parent)
        self.assertEqual([pathlib.Path(file).name for file in source.files], ["v-1.tif", "v-9.tif", "v-10.tif"])
        for _ in range(2):
            self.assertEqual([view.maps.tobytes() for view in source], 3 * whole)
        self.assertEqual(len(list(cernita.Recording(path.parent / "v-11.tif.part"))), 3)


class Logs(FilesTest):
    def test_it_equals_what_was_received(self):
        with notices() as lines:
            logged = list(cernita.VerdictLog(self.log))
        self.assertEqual((len(logged), lines), (2 * FRUITS, []))
        for ours, theirs in zip(logged, self.received):
            self.assertEqual((ours.message, ours.totals, ours.kind), (theirs.message, theirs.totals, "complete"))
            for name in ("table", "points", "textures"):
                self.assertEqual(getattr(ours.defects, name).tobytes(), getattr(theirs.defects, name).tobytes())
            self.assertGreater(len(ours.defects), 10)

    def test_without_msgpack(self):
        with unittest.mock.patch.dict(sys.modules, {"msgpack": None}):
            self.refuses(ImportError, "Reading verdicts needs the module 'msgpack', which ", list,
                         cernita.VerdictLog(self.log))

    def test_lane_fruit_and_time(self):
        def chosen(**given):
            return [(verdict.lane, verdict.fruit) for verdict in cernita.VerdictLog(self.log, **given)]
        self.assertEqual(chosen(lane=1), [(1, 0), (1, 1)])
        self.assertEqual(chosen(fruit=1), [(0, 1), (1, 1)])
        self.assertEqual(chosen(since=self.received[2].published_ns), [(1, 0), (1, 1)])
        self.assertEqual(chosen(until=self.received[2].published_ns), [(0, 0), (0, 1)])

    def segment(self):
        """Path, and bytes of a segment of three short verdicts."""
        path = self.scratch() / "cernita-0000000001.verdicts"
        data = struct.pack("<4sHHQ", b"CRNV", 1, 16, 1)
        for fruit in range(3):
            body = (b'{"run":"a","lane":0,"fruit":%d,"sequence":%d,"verdict":"late","stale":false,"published_ns":1,'
                    b'"deadline_ns":1,"totals":{},"defects":[]}' % (fruit, fruit))
            head = struct.pack("<II", len(body), 0)
            data += head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body
        rewrite(path, data)
        return path, data

    def fruits(self, path):
        verdicts, lines = self.read_or_refuse(lambda: cernita.VerdictLog(path.parent), path)
        return [verdict.fruit for verdict in verdicts], lines

    def test_truncated_files(self):
        path, data = self.segment()
        ends = {16 + count * ((len(data) - 16) // 3): count for count in range(4)}
        for size in range(len(data) + 1):
            rewrite(path, data[:size])
            fruits, lines = self.fruits(path)
            self.assertEqual(fruits, list(range(max((count for end, count in ends.items() if end <= size), default=0))))
            self.assertEqual(len(lines), 0 if size < 16 or size in ends else 1, size)

    def test_damaged_files(self):
        path, data = self.segment()
        rng = random.Random(2)
        for at in range(len(data)):
            damaged = bytearray(data)
            damaged[at] ^= rng.randrange(1, 256)
            rewrite(path, damaged)
            fruits, lines = self.fruits(path)
            self.assertTrue(set(fruits) <= {0, 1, 2})
            self.assertEqual((len(lines) == 0, fruits == [0, 1, 2]), 2 * (8 <= at < 16,), at)  # when it was begun

    def test_one_that_is_damaged_is_left_out(self):
        path, data = self.segment()
        step = (len(data) - 16) // 3
        damaged = bytearray(data)
        damaged[16 + step + 20] ^= 1
        rewrite(path, damaged)
        self.assertEqual(self.fruits(path), ([0, 2], [
            f"{path}: the verdict at byte {16 + step} is damaged and was skipped"]))
        damaged[16 + 20] ^= 1
        rewrite(path, damaged)
        self.assertEqual(self.fruits(path), ([], [
            f"{path}: the verdict at byte 16 is damaged and was skipped",
            f"{path}: no whole verdict in its last {2 * step} bytes: the daemon was killed while it wrote, or they are "
            "damaged"]))

    def test_bytes_that_are_no_verdict_are_left_out(self):
        path, data = self.segment()
        for body in (b"\xc1", b"{}", b"{", b"[" * 100000, b"\xdf\xff\xff\xff\xff"):
            head = struct.pack("<II", len(body), 0)
            rewrite(path, data[:16] + head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body + data[16:])
            fruits, lines = self.fruits(path)
            self.assertEqual((fruits, len(lines)), ([0, 1, 2], 1))
            self.assertIn("the verdict at byte 16 cannot be read and was skipped: ", lines[0])

    def test_segments_in_order_and_what_is_no_log(self):
        path, data = self.segment()
        folder = path.parent
        for name in ("cernita-10000000000.verdicts", "cernita-9999999999.verdicts"):
            shutil.copy(path, folder / name)
        for name in ("cernita-2.verdicts", "cernita-00000000003.verdicts", "cernita-0000000000.verdicts", "x.verdicts"):
            (folder / name).write_bytes(b"x" * 100)
        (folder / "cernita-0000000004.verdicts").symlink_to(path)
        log = cernita.VerdictLog(folder)
        self.assertEqual([int(pathlib.Path(file).stem[8:]) for file in log.files], [1, 10**10 - 1, 10**10])
        self.assertEqual([verdict.fruit for verdict in log], 3 * [0, 1, 2])
        (folder / "cernita-0000000001.verdicts").write_bytes(b"x" * 100)
        with notices() as lines:
            self.assertEqual(len(list(log)), 6)
        self.assertEqual(lines, [f"{path}: is not a segment of a verdict log, version 1"])
        path.unlink()  # by the daemon, meanwhile
        with notices() as lines:
            self.assertEqual((len(list(log)), lines), (6, []))
        empty = self.scratch()
        self.refuses(cernita.DataError, f"{empty}: there is no verdict log (cernita-*.verdicts) in this folder",
                     cernita.VerdictLog, empty)
        self.refuses(FileNotFoundError, "[Errno 2]", cernita.VerdictLog, empty / "none")


if __name__ == "__main__":
    unittest.main()
