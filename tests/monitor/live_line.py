"""The settings of a line for tests, and a sender whose behaviour a test may change while it runs."""
import heapq
import pathlib
import sys
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/python"))
import cernita  # noqa: E402
from sender import make_view  # noqa: E402

CLASSES = ["background", "rot", "stem"]
OTHER_CLASSES = ["background", "stem", "rot"]
VIEWS = 4
EXPOSURE_S = 0.02 # between the views of a fruit
PATIENCE_S = 60.0


def settings(folder, changes):
    """A machine's file as a dict; `changes` replaces or adds keys of its sections."""
    config = {
        "ingest": {"bind": f"ipc://{folder}/views"},
        "classes": [{"name": name} | ({"level": 0.5} if name != "background" else {}) for name in CLASSES],
        "chain": ["contours"],
        "run": {"backend": "openmp", "workers": 1, "threads": 1},
        "latency": {"budget_ms": 1000, "assemble_ms": 400},
        "limits": {"view_mib": 2, "slots": 32},
        "publish": {"grader": {"bind": f"ipc://{folder}/grader"}, "viewers": {"bind": f"ipc://{folder}/viewers"},
                    "log": {"dir": f"{folder}/log", "segment_mib": 1, "keep_mib": 64}},
        "monitor": {"http": "127.0.0.1:0"}}
    for section, keys in changes.items():
        if isinstance(keys, dict):
            config[section] = config.get(section, {}) | keys
        else:
            config[section] = keys
    return config


class Belt(threading.Thread):
    """Camera, CNN and sender of lane 0: exposes fruits at a rate, and sends each view when its CNN is done with it."""

    def __init__(self, endpoint, size=(48, 64), rate=5):
        super().__init__(daemon=True)
        self.endpoint, self.rate = endpoint, rate
        self.at_once = 1 # fruits that are exposed together
        self.cnn_s = lambda view: 0.005
        self.silent = set() # views whose camera is silent
        self.other_classes = set() # views whose CNN has another set of classes
        self.clock_ns = 0 # by which its clock is wrong
        self.deadline_ms = 0 # from exposure; 0: none
        self.restart, self.ended = threading.Event(), threading.Event()
        rng = np.random.default_rng(1)
        self.pool = [make_view(rng, len(CLASSES), *size)[0] for _ in range(2 * VIEWS + 1)]
        self.sent_fruit = -1

    def expose(self, fruit, now_s, now_ns):
        """The views of a fruit: (when its CNN is done, what it sends)."""
        for view in sorted(set(range(VIEWS)) - self.silent):
            later_s = view * EXPOSURE_S
            yield now_s + later_s + self.cnn_s(view), fruit, view, now_ns + int(1e9 * later_s)

    def send(self, line, fruit, view, captured_ns):
        line.classes = OTHER_CLASSES if view in self.other_classes else CLASSES
        captured_ns += self.clock_ns
        line.send(self.pool[line.sequence % len(self.pool)], fruit=fruit, view=view, captured_ns=captured_ns,
                  deadline_ns=captured_ns + self.deadline_ms * 1000000 if self.deadline_ms else 0)
        self.sent_fruit = fruit

    def run(self):
        line = cernita.Line(self.endpoint, views=VIEWS)
        line.wait(10)
        waiting, fruit, next_s = [], 0, time.monotonic()
        while not self.ended.is_set():
            now_ns, now_s = time.time_ns(), time.monotonic() # in this order: no view is sent before its exposure
            if self.restart.is_set() and 0 < len(waiting) < VIEWS: # within a fruit
                self.restart.clear()
                waiting.clear()
                line.epoch, line.sequence = time.time_ns(), 0
            if now_s >= next_s:
                for _ in range(self.at_once):
                    for item in self.expose(fruit, now_s, now_ns):
                        heapq.heappush(waiting, item)
                    fruit += 1
                next_s = max(next_s, now_s - 1) + self.at_once / self.rate
            while waiting and waiting[0][0] <= time.monotonic():
                self.send(line, *heapq.heappop(waiting)[1:])
            self.ended.wait(max(0.0, min([next_s] + [item[0] for item in waiting[:1]]) - time.monotonic()))
        line.close(1)
