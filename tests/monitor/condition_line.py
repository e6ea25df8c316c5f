"""A line with a belt, a grader and a service manager of its own, for check_conditions.py."""
import collections
import heapq
import json
import os
import pathlib
import re
import socket
import subprocess
import threading
import time
import urllib.request

import numpy as np
import zmq

from fault import write_settings
from live_line import CLASSES, OTHER_CLASSES, PATIENCE_S, ROOT, VIEWS # finds the two that follow
from cernita._line.wire import pack_header
from sender import make_view


class Belt(threading.Thread):
    """Cameras, CNN and senders of some lanes: what it does is set from outside while it runs."""

    def __init__(self, endpoint, size, rate):
        super().__init__(daemon=True)
        self.endpoint, self.rate, self.lanes, self.at_once = endpoint, rate, [0], 1
        self.silent_lanes, self.skipped, self.delay_s, self.dropped = set(), set(), {}, 0
        self.other_classes, self.change_maps, self.change_parts, self.deadline_ns = False, None, None, 0
        self.without_rot = set() # lanes whose maps have none
        self.senders, self.paused, self.ended = 1, False, threading.Event()
        self.epoch, self.begins_epoch = 1000, False
        self.numbers, self.restarts = 0, False # how many numbers fruits have; 0: as many as there are
        self.use_size(size)
        self.sequence = {}

    def use_size(self, size):
        rng = np.random.default_rng(1)
        self.pool = [make_view(rng, len(CLASSES), *size)[0] for _ in range(2 * VIEWS + 1)]

    def pause(self):
        self.paused = True

    def resume(self):
        self.paused = False

    def double(self):
        self.senders = 2

    def single(self):
        self.senders = 1

    def begin_again(self):
        self.restarts = True

    def begin_epoch(self):
        """Within a fruit: the program ends, and starts again with another epoch."""
        self.begins_epoch = True

    def message(self, sender, lane, fruit, view):
        key = (sender, lane)
        number = self.sequence[key] = self.sequence.get(key, -1) + 1
        maps = self.pool[(number + lane) % len(self.pool)]
        if lane in self.without_rot:
            maps = np.stack([maps[..., 0] + maps[..., 1], np.zeros_like(maps[..., 1]), maps[..., 2]], axis=2)
        if self.change_maps:
            maps = np.ascontiguousarray(self.change_maps(maps), np.float32)
        now_ns = time.time_ns()
        fruit = fruit % self.numbers if self.numbers else fruit
        header = pack_header(maps, layout="hwc", classes=OTHER_CLASSES if self.other_classes else CLASSES,
                             intensity=False, lane=lane, epoch=self.epoch + sender, sequence=number, fruit=fruit, view=view,
                             views=VIEWS, captured_ns=0,
                             deadline_ns=now_ns + self.deadline_ns if self.deadline_ns else 0, encoder=0)
        if self.dropped and number % self.dropped == 0:
            return None
        parts = [header, maps.tobytes()]
        return self.change_parts(parts) if self.change_parts else parts

    def fruit(self, waiting, number, now_s):
        for lane in set(self.lanes) - self.silent_lanes:
            for sender in range(self.senders):
                for view in sorted(set(range(VIEWS)) - self.skipped):
                    heapq.heappush(waiting, (now_s + 0.01 * view + self.delay_s.get(view, 0), number, lane, sender, view))

    def run(self):
        context, sockets = zmq.Context(), {}
        waiting, number, next_s = [], 0, time.monotonic()
        while not self.ended.is_set():
            if self.paused and sockets:
                for open_socket in sockets.values():
                    open_socket.close(0)
                sockets.clear()
                waiting.clear()
            if self.restarts:
                self.restarts, number = False, 0
                waiting.clear()
                self.sequence.clear()
            if self.begins_epoch and 0 < len(waiting) < VIEWS:
                self.begins_epoch = False
                self.epoch += 100
                waiting.clear()
                self.sequence.clear()
            now_s = time.monotonic()
            if now_s >= next_s:
                for _ in range(0 if self.paused else self.at_once):
                    self.fruit(waiting, number, now_s)
                    number += 1
                next_s = max(next_s, now_s - 1) + self.at_once / self.rate
            while waiting and waiting[0][0] <= time.monotonic():
                _, fruit, lane, sender, view = heapq.heappop(waiting)
                parts = self.message(sender, lane, fruit, view)
                if sender not in sockets:
                    sockets[sender] = context.socket(zmq.PUSH)
                    sockets[sender].setsockopt(zmq.SNDHWM, 64)
                    sockets[sender].connect(self.endpoint)
                if parts:
                    try:
                        sockets[sender].send_multipart(parts, zmq.NOBLOCK)
                    except zmq.Again: # the line is stopped, or has no time
                        pass
            self.ended.wait(max(0.0, min([next_s] + [item[0] for item in waiting[:1]]) - time.monotonic()))
        for open_socket in sockets.values():
            open_socket.close(0)
        context.term()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Grader(threading.Thread):
    """Reads verdicts until it is closed, with pauses between them."""

    def __init__(self, endpoint):
        super().__init__(daemon=True)
        self.endpoint, self.ended, self.pause_s = endpoint, threading.Event(), 0

    def run(self):
        context = zmq.Context()
        socket = context.socket(zmq.PULL)
        socket.setsockopt(zmq.RCVHWM, 1)
        socket.connect(self.endpoint)
        while not self.ended.is_set():
            if socket.poll(100):
                socket.recv_multipart()
                self.ended.wait(self.pause_s)
        socket.close(0)
        context.term()

    def close(self):
        self.ended.set()
        self.join()


TMPFS = {"tmpfs": "192m", "memory": "4g"}


def mount_disk(folder, kind):
    """A small disk at folder/disk, with folders for a log and recordings."""
    disk, image = folder / "disk", folder / "disk.img"
    disk.mkdir()
    if kind in TMPFS:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={TMPFS[kind]}", "tmpfs", disk], check=True)
    else:
        with open(image, "wb") as file:
            file.truncate(32 << 30) # sparse
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    for name in ("log", "records"):
        (disk / name).mkdir()


# Starts "$@" where it sees the folder $0 as its control group.
IN_GROUP = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /sys/fs/cgroup && exec "$@"']


class Line:
    """The daemon in a folder of its own, and everything that tells of its conditions."""

    def __init__(self, fault, name, folder, programs, prometheus):
        self.fault, self.name, self.folder, self.programs = fault, name, folder, programs
        self.prometheus, self.peers = prometheus, []
        self.process = self.grader = self.belt = None
        self.log_folder, self.file = folder / "log", folder / "line.yaml"
        self.log = folder / ("disk/stderr.txt" if fault.log_on_disk else "stderr.txt")
        self.guarded = f"tcp://127.0.0.1:{free_port()}" # where keys are asked for, if there are any
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.said_to_manager = ""
        self.latest, self.told = None, threading.Condition()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *unused):
        self.stop()

    def start(self):
        for name in ("log", "state", "group"):
            (self.folder / name).mkdir(parents=True)
        if self.fault.disk:
            mount_disk(self.folder, self.fault.disk)
        write_settings(self, self.fault)
        self.fault.before(self)
        self.manager.bind(str(self.folder / "notify"))
        self.manager.setblocking(False)
        self.open_grader()
        self.start_daemon()
        self.belt = Belt(self.endpoint("views"), self.fault.size, self.fault.rate)
        self.fault.prepare(self)
        self.belt.start()

    def start_daemon(self):
        command = [self.programs / self.fault.program, "--config", self.file]
        environment = {name: value.replace("FOLDER", str(self.folder)) for name, value in self.fault.environment.items()}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [*IN_GROUP, self.folder / "group", *command] if self.fault.group else command, stderr=log,
                env=os.environ | {"NOTIFY_SOCKET": str(self.folder / "notify")} | environment)
        self.target = self.await_ready()
        self.prometheus.scrape(self.name, self.target)
        self.watch_events()

    def crash(self, meanwhile=lambda: None):
        """SIGKILL, and a new start."""
        self.process.kill()
        self.process.wait()
        meanwhile()
        self.start_daemon()

    def write_group(self, name, text):
        (self.folder / "group" / name).write_text(text)

    def endpoint(self, name):
        return f"ipc://{self.folder}/{name}"

    def await_ready(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            text = self.log.read_text()
            found = re.search(r"metrics at http://([\w.:]+)", text)
            if found and " ready: " in text:
                return found.group(1)
            time.sleep(0.05)
        raise RuntimeError(f"{self.fault.condition}: the daemon is not ready: {self.log.read_text()}")

    def open_grader(self):
        self.grader = Grader(self.endpoint("grader"))
        self.grader.start()

    def connect_viewer(self):
        viewer = subprocess.Popen(
            ["/usr/bin/python3", ROOT / "tools/python/subscriber.py", "--viewer", "--from", self.endpoint("viewers")],
            stdout=subprocess.DEVNULL)
        self.peers.append(viewer)
        return viewer

    # --- what each tells now ---

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.target}{path}", timeout=20) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as answer: # 503, with the same JSON
            return answer.read().decode()

    def run(self, program, *arguments):
        try:
            return subprocess.run([self.programs / program, *arguments], capture_output=True, text=True,
                                  timeout=20).stdout
        except subprocess.TimeoutExpired:
            return ""

    def ctl(self, *arguments):
        return self.run("cernitactl", "--socket", str(self.folder / "control"), *arguments)

    def watch_events(self):
        """Keeps the latest snapshot, as the page has it."""
        def read():
            try:
                with urllib.request.urlopen(f"http://{self.target}/events", timeout=60) as answer:
                    for said in answer:
                        if said.startswith(b"data: "):
                            with self.told:
                                self.latest = json.loads(said[6:])
                                self.told.notify_all()
            except OSError: # the daemon has ended
                pass
        threading.Thread(target=read, daemon=True).start()

    def event(self):
        """The next snapshot but one: what was true at the call is in it."""
        with self.told:
            for _ in range(2):
                self.told.wait(20)
            return self.latest

    def manager_status(self):
        while True:
            try:
                said = self.manager.recv(4096).decode()
            except BlockingIOError:
                return self.said_to_manager
            for text in said.split("\n"):
                if text.startswith("STATUS="):
                    self.said_to_manager = text[7:]

    def explain(self, since_s):
        """What cernita-why says of most of the fruits that were late or partial since then, or else of the first one."""
        def fruits_of(from_s, *arguments):
            since = time.strftime("%F %T", time.localtime(from_s))
            output = self.run("cernita-why", self.log_folder, *arguments, "--json", "--since", since)
            return [json.loads(text) for text in output.splitlines() if text.startswith("{")]

        fruits = fruits_of(since_s, "--late", "--partial", "--last", "200")
        if not fruits: # --since counts in seconds: the first one after that which the fault began in
            fruits = sorted(fruits_of(since_s + 1, "--slowest", "1000"), key=lambda fruit: fruit["published_ns"])[:1]
        if not fruits:
            return "nothing"
        cause = collections.Counter(fruit["cause"] for fruit in fruits).most_common(1)[0][0]
        return next(fruit for fruit in reversed(fruits) if fruit["cause"] == cause)["why"]

    def held(self):
        return {held["id"]: held for held in json.loads(self.get("/healthz"))["conditions"]}

    def stop(self):
        self.prometheus.forget(self.name)
        if self.belt:
            self.belt.ended.set()
            self.belt.join(10)
        if self.grader:
            self.grader.close()
        for peer in self.peers:
            peer.kill()
            peer.wait()
        if self.process:
            self.end_daemon()
        self.manager.close()
        if self.fault.disk:
            subprocess.run(["umount", "-l", self.folder / "disk"], check=False)

    def end_daemon(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
