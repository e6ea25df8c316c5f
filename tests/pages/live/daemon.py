"""A daemon with its grader and recordings to replay into it, for the tests of its pages."""
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

import yaml

CLASSES = ["background", "rot", "rust", "fresh hail", "healed hail", "picking damage", "transport damage", "bruise",
           "mould", "stem", "calyx", "roller"]
BUDGET_MS = 100
FRUITS = 30 # of a recording
VIEWS = 4 # of a fruit


def settings(folder, changes):
    config = {
        "ingest": {"bind": f"ipc://{folder}/views"},
        "classes": [{"name": name} | ({"level": 0.5} if name not in ("background", "roller") else {})
                    for name in CLASSES],
        "chain": [{"contours": {"border": "closed", "min_area_px": 4}}],
        "run": {"backend": "openmp", "workers": 1, "threads": 1},
        "latency": {"budget_ms": BUDGET_MS, "assemble_ms": 400},
        "publish": {"grader": {"bind": f"ipc://{folder}/grader"}, "viewers": {"bind": f"ipc://{folder}/viewers"}},
        "monitor": {"http": "127.0.0.1:0"}}
    for section, keys in changes.items():
        config[section] = config.get(section, {}) | keys
    return config


class Daemon:
    def __init__(self, folder, programs, program="cernitad", **changes):
        self.folder, self.programs, self.program = pathlib.Path(folder), pathlib.Path(programs), program
        self.changes, self.others, self.replay_process = changes, [], None
        self.start()

    def start(self):
        file, log = self.folder / "line.yaml", self.folder / "log.txt"
        file.write_text(yaml.safe_dump(settings(self.folder, self.changes)))
        with open(log, "w") as out:
            self.process = subprocess.Popen([self.programs / self.program, "--config", file], stderr=out)
        while True:
            text = log.read_text()
            found = re.search(r"metrics at http://([\w.:]+)", text)
            if found and " ready: " in text:
                break
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.program} ended: {text}")
            time.sleep(0.05)
        self.address = f"http://{found.group(1)}"
        self.changes["monitor"] = {"http": found.group(1)} # the same after a restart

    def grade(self):
        self.others.append(subprocess.Popen(
            [self.programs / "cernita-tail", self.endpoint("grader"), "--grader"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL))

    def sort(self):
        """Starts a sorter as the grader, which reports its outlets to the page; returns its process."""
        file = self.folder / "sorter.yaml"
        file.write_text(yaml.safe_dump({
            "line": {"endpoint": self.endpoint("grader"), "page": self.address},
            "outlets": {"names": ["first", "second", "waste"], "default": "first", "late": "waste", "partial": "rules",
                        "silence": "waste", "unmeasured": "waste"},
            "rules": [{"outlet": "waste", "when": "rot.area_px > 40"}, {"outlet": "second", "when": "bruise.outlines > 0"}],
            "outputs": {"stdout": {"format": "text"}}}))
        self.others.append(subprocess.Popen([self.programs / "cernita-sorter", "--config", file],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.others[-1]

    def endpoint(self, name):
        return f"ipc://{self.folder}/{name}"

    def replay(self, recording, *options):
        """Ends what was replayed before."""
        self.end_replay()
        self.replay_process = subprocess.Popen(
            [self.programs / "cernita-replay", recording, "--to", self.endpoint("views"), *map(str, options)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end_replay(self):
        if self.replay_process:
            self.replay_process.terminate()
            self.replay_process.wait()
        self.replay_process = None

    def metric(self, name):
        """The sum of a metric's samples."""
        with urllib.request.urlopen(f"{self.address}/metrics") as answer:
            text = answer.read().decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M))

    def pause(self, seconds):
        """Holds the whole process: views wait meanwhile."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.process.terminate()
        self.process.wait(20)

    def close(self):
        self.end_replay()
        for other in self.others:
            other.kill()
            other.wait()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.end()
