"""A cernitad for the tests of the Python package, and what all of them need.

Each of them starts as: check_X.py BIN TOOLS_PYTHON [unittest's arguments]
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings

BIN = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, sys.argv.pop(1))
os.environ.setdefault("CRN_LIBRARY", str(BIN.parent / "lib" / "libcernita.so"))

import numpy as np  # noqa: E402

import cernita  # noqa: E402

CLASSES = ["background", "rot", "rust"]
PATIENCE_S = 60.0

YAML = """\
ingest: {{bind: ["ipc://{folder}/views"], slots: {{path: "{folder}/slots", slots: 3, producers: 2}}}}
publish:
  grader: {{bind: "ipc://{folder}/grader", format: {format}}}
  viewers: {{bind: "ipc://{folder}/viewers", format: {format}}}
  log: {{dir: "{folder}/log"}}
record: {{dir: "{folder}/recordings"}}
classes: [{{name: background}}, {{name: rot, level: 0.5}}, {{name: rust, level: 0.4}}]
chain:
  - morphology: {{operation: open, element: disk, size: 3}}
  - contours: {{border: closed}}
  - ranklet: {{windows: [4, 8x4]}}
run: {{backend: openmp, workers: 1, threads: 1}}
latency: {{budget_ms: {budget_ms}, assemble_ms: 60000}}
limits: {{view_mib: 1, slots: 32}}
monitor: {{http: ""}}
log: {{level: info}}
"""


class Daemon:
    """cernitad in a folder of its own, ready once this returns."""

    def __init__(self, form="msgpack", budget_ms=60000):
        self._folder = tempfile.TemporaryDirectory(prefix="cernita-package-")
        self.folder = pathlib.Path(self._folder.name)
        for name in ("log", "recordings"):
            (self.folder / name).mkdir()
        self.yaml = self.folder / "line.yaml"
        self.yaml.write_text(YAML.format(folder=self.folder, format=form, budget_ms=budget_ms))
        self.start()

    def start(self):
        self.process = subprocess.Popen([BIN / "cernitad", "--config", self.yaml], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if " ready: " in line:
                return
        raise RuntimeError(f"cernitad ended with {self.process.wait()}")

    def address(self, name):
        return f"ipc://{self.folder}/{name}"

    def line(self, **given):
        line = cernita.Line(self.address("views"), **{"classes": CLASSES, **given})
        if not line.wait(PATIENCE_S):
            raise RuntimeError("the daemon does not answer")
        return line

    def grader(self, **given):
        return cernita.Verdicts(self.address("grader"), grader=True, timeout_s=PATIENCE_S, **given)

    def viewer(self):
        """A viewer that gets everything from now on: the first `status` shows that it is subscribed."""
        viewer = cernita.Verdicts(self.address("viewers"), status=True, timeout_s=PATIENCE_S)
        while not isinstance(viewer.receive(), cernita.Status):
            pass
        return viewer

    def stop(self):
        """Ends it, so that recordings and logs are complete; its folder stays until close()."""
        self.process.terminate()
        self.process.stderr.read()
        return self.process.wait(PATIENCE_S)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def make_maps(seed, dtype="f4", layout="hwc", height=29, width=41):
    """Smooth random probabilities of the three classes, and a photograph."""
    rng = np.random.default_rng(seed)
    field = rng.random((height + 4, width + 4, 3))
    for axis in (0, 1):
        field = sum(np.roll(field, shift, axis) for shift in range(5)) / 5
    field = (field - field.min()) / (field.max() - field.min())
    maps = field[4:, 4:]
    maps = np.round(255 * maps).astype("u1") if dtype == "u1" else maps.astype(dtype)
    maps = np.ascontiguousarray(maps if layout == "hwc" else maps.transpose(2, 0, 1))
    return maps, rng.integers(0, 256, (height, width), "u1")


def in_child(work):
    """What work() returns or raises in a forked child, as text; a child that hangs is killed by its alarm."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE_S))
        warnings.simplefilter("ignore", ResourceWarning)  # of pyzmq, about what the child does not close
        try:
            text = repr(work())
        except Exception as fault:
            text = f"{type(fault).__name__}: {fault}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        text = file.read().decode()
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"the child hung, after {text!r}")
    return text


class PackageTest(unittest.TestCase):
    def refuses(self, kind, begins, call, *arguments, **given):
        """The call raises that error, whose text is one line that begins so."""
        with self.assertRaises(kind) as caught:
            call(*arguments, **given)
        text = str(caught.exception)
        self.assertTrue(text.startswith(begins), text)
        self.assertNotIn("\n", text)
