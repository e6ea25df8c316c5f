"""A line with a belt, a grader and a service manager of its own, for check_conditions.py."""
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

import condition_faults
import faults
from live_line import CLASSES, OTHER_CLASSES, PATIENCE_S, ROOT, VIEWS, Grader # finds the two that follow
from cernita._line.wire import pack_header
from sender import make_view


class Belt(threading.Thread):
    """Cameras, CNN and senders of some lanes: what it does is set from outside while it runs."""

    def __init__(self, endpoint, size, rate):
        super().__init__(daemon=True)
        self.endpoint, self.rate, self.lanes, self.at_once = endpoint, rate, [0], 1
        self.silent_lanes, self.skipped, self.delay_s, self.dropped = set(), set(), {}, 0
        self.other_classes, self.change_maps, self.change_parts, self.deadline_ns = False, None, None, 0
        self.senders, self.paused, self.ended = 1, False, threading.Event()
        rng = np.random.default_rng(1)
        self.pool = [make_view(rng, len(CLASSES), *size)[0] for _ in range(2 * VIEWS + 1)]
        self.sequence = {}

    def pause(self):
        self.paused = True

    def resume(self):
        self.paused = False

    def double(self):
        self.senders = 2

    def single(self):
        self.senders = 1

    def message(self, sender, lane, fruit, view):
        key = (sender, lane)
        number = self.sequence[key] = self.sequence.get(key, -1) + 1
        maps = self.pool[(number + lane) % len(self.pool)]
        if self.change_maps:
            maps = np.ascontiguousarray(self.change_maps(maps), np.float32)
        now_ns = time.time_ns()
        header = pack_header(maps, layout="hwc", classes=OTHER_CLASSES if self.other_classes else CLASSES,
                             intensity=False, lane=lane, epoch=1000 + sender, sequence=number, fruit=fruit, view=view,
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


class Line:
    """The daemon in a folder of its own, and everything that tells of its conditions."""

    def __init__(self, fault, folder, programs):
        self.fault, self.folder, self.programs, self.peers = fault, folder, programs, []
        self.log_folder, self.file, self.log = folder / "log", folder / "line.yaml", folder / "stderr.txt"
        self.log_folder.mkdir(parents=True)
        if fault.small_disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", self.log_folder], check=True)
        condition_faults.write_settings(self.file, folder, fault)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(folder / "notify"))
        self.manager.setblocking(False)
        self.said_to_manager = ""
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([programs / fault.program, "--config", self.file], stderr=log,
                                            env=os.environ | {"NOTIFY_SOCKET": str(folder / "notify")})
        self.target = self.await_ready()
        self.latest, self.told = None, threading.Condition()
        self.watch_events()
        self.open_grader()
        self.belt = Belt(self.endpoint("views"), fault.size, fault.rate)
        fault.prepare(self)
        self.belt.start()

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

    def hold_thread(self, thread, seconds):
        threading.Thread(target=faults.hold_thread, args=(thread, seconds), daemon=True).start()

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

    def held(self):
        return {held["id"]: held for held in json.loads(self.get("/healthz"))["conditions"]}

    def stop(self):
        self.belt.ended.set()
        self.belt.join(10)
        self.grader.close()
        for peer in self.peers:
            peer.kill()
            peer.wait()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.manager.close()
        if self.fault.small_disk:
            subprocess.run(["umount", "-l", self.log_folder], check=False)
