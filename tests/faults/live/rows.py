"""The faults that check_faults.py injects into a running line."""
import dataclasses
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time
import typing

from network import Relay, beyond_link, lose_no_packets, lose_packets
from plant import FAKETIME, Plant

from faults_of_machine import find_thread, hold_thread # of tests/monitor, which plant.py finds

BEFORE = 10 # fruits


@dataclasses.dataclass
class Row:
    fault: str
    how: str
    run: typing.Callable # of the row's plant and of `times`: injects and undoes; may return what else is to be told
    long: int = 1 # how often
    short: int = 1
    needs_root: bool = False
    settings: dict = dataclasses.field(default_factory=dict)
    open: typing.Callable = None # a context that gives the plant; None: one on 127.0.0.1
    before: typing.Callable = None # of the plant, before its daemon starts
    environment: typing.Callable = None # of the plant, for the daemon
    grader: bool = True # there is one from the begin
    ready_s: list = dataclasses.field(default_factory=list)


# --- senders and graders ---

def kill_sender(plant, times):
    for _ in range(times):
        plant.await_sent(5)
        plant.kill("sender")
        plant.start_sender()
        plant.row.ready_s.append(plant.await_good())


def stop_for(process, seconds):
    process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)


def stall_sender(plant, times):
    for _ in range(times):
        plant.await_sent(3)
        stop_for(plant.processes["sender"], 2)
        plant.row.ready_s.append(plant.await_good())


def grader_comes_late(plant, times):
    plant.await_sent(60 * times)
    plant.start_grader()
    plant.row.ready_s.append(plant.await_good())


def kill_grader(plant, times):
    for _ in range(times):
        plant.await_graded(2)
        plant.kill("grader")
        plant.start_grader()
        plant.row.ready_s.append(plant.await_good())


def slow_grader(plant, times):
    for _ in range(times):
        plant.kill("grader", signal.SIGTERM)
        plant.start_grader(0.2)
        plant.await_sent(60)
        plant.kill("grader", signal.SIGTERM)
        plant.start_grader()
        plant.row.ready_s.append(plant.await_good())


def stop_viewer(plant, times):
    viewer = subprocess.Popen([plant.programs / "cernita-tail", f"tcp://127.0.0.1:{plant.ports['viewers']}"],
                              stdout=subprocess.DEVNULL)
    try:
        for _ in range(times):
            plant.await_sent(10)
            viewer.send_signal(signal.SIGSTOP)
            plant.await_sent(40)
            viewer.send_signal(signal.SIGCONT)
            plant.row.ready_s.append(plant.await_good())
    finally:
        viewer.kill()
        viewer.wait()


# --- the network ---

class Beyond:
    """A plant whose peers are beyond a link."""
    numbers = iter(range(1, 50))

    def __init__(self, programs, row):
        self.link = beyond_link(next(self.numbers))
        self.programs, self.row = programs, row

    def __enter__(self):
        address, namespace, device = self.link.__enter__()
        self.plant = Plant(self.programs, self.row, address, namespace)
        self.plant.device = device
        return self.plant.__enter__()

    def __exit__(self, *what):
        self.plant.__exit__(*what)
        self.link.__exit__(None, None, None)


def cut_link(plant, times):
    for _ in range(times):
        plant.await_sent(5)
        subprocess.run(["ip", "link", "set", plant.device, "down"], check=True)
        time.sleep(5)
        subprocess.run(["ip", "link", "set", plant.device, "up"], check=True)
        plant.row.ready_s.append(plant.await_good())


def lose(plant, times):
    dropped = 0
    for _ in range(times):
        lose_packets(plant.beyond, plant.device)
        plant.await_sent(40)
        dropped += lose_no_packets(plant.beyond, plant.device)
        plant.row.ready_s.append(plant.await_good())
    if dropped == 0:
        raise RuntimeError("no packet was lost")
    return f"{dropped} packets dropped"


def through_relays(plant):
    plant.relays = [Relay(plant.ports["views"]), Relay(plant.ports["grader"])]
    plant.through["views"], plant.through["grader"] = (relay.port for relay in plant.relays)


def delay(plant, times):
    for _ in range(times):
        for relay in plant.relays:
            relay.delay_s = 0.2
        plant.await_sent(40)
        for relay in plant.relays:
            relay.delay_s = 0
        plant.row.ready_s.append(plant.await_good())


# --- the clock ---

def write_clock(plant):
    (plant.folder / "clock").write_text("+0\n")


def own_clock(plant):
    return {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(plant.folder / "clock"), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def step_clock(plant, times):
    for _ in range(times):
        for step in ("+3600", "-3600", "+0"):
            (plant.folder / "clock").write_text(f"{step}\n")
            plant.row.ready_s.append(plant.await_good())
            plant.await_sent(20)


# --- disks ---

def mount(plant):
    disk = plant.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700m", "tmpfs", disk], check=True)
    for name in ("log", "records"):
        (disk / name).mkdir()
        (plant.folder / name).rmdir()
        (plant.folder / name).symlink_to(disk / name)


def fill_disk(plant, times):
    for _ in range(times):
        plant.await_graded(10)
        with open(plant.folder / "disk/full", "wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 20)):
                    pass
            except OSError:
                pass
        plant.await_graded(30)
        (plant.folder / "disk/full").unlink()
        plant.row.ready_s.append(plant.await_good())
        await_logged(plant)


def await_logged(plant):
    """The log goes on."""
    def written():
        return plant.metrics()["cernita_log_verdicts_written_total"]
    before = written()
    plant.until(lambda: written() > before, "no verdict is logged again")


def read_only(plant, times):
    """Another disk lies over it, which is read-only: one with open files cannot be made so from outside."""
    other = plant.folder / "other"
    other.mkdir()
    for _ in range(times):
        plant.await_graded(10)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", other], check=True)
        for name in ("log", "records"):
            (other / name).mkdir()
        subprocess.run(["mount", "-o", "remount,ro", other], check=True)
        subprocess.run(["mount", "--bind", other, plant.folder / "disk"], check=True)
        plant.await_graded(30)
        subprocess.run(["umount", "-l", plant.folder / "disk"], check=True)
        subprocess.run(["umount", "-l", other], check=True)
        plant.row.ready_s.append(plant.await_good())
        await_logged(plant)


def remove_folders(plant, times):
    for _ in range(times):
        plant.await_graded(10)
        kept = {name: (plant.folder / name) for name in ("log", "records")}
        for name, path in kept.items():
            path.rename(plant.folder / f"{name}-away")
        plant.await_graded(30)
        for name, path in kept.items():
            (plant.folder / f"{name}-away").rename(path)
        plant.row.ready_s.append(plant.await_good())
        await_logged(plant)


# --- the process ---

def limit(plant, what, value):
    """Sets the soft limit of the daemon; returns what it was."""
    process = plant.processes["daemon"].pid
    before = resource.prlimit(process, what)
    resource.prlimit(process, what, (min(value, before[1]), before[1]))
    return before


def exhaust_descriptors(plant, times):
    process = plant.processes["daemon"].pid
    for _ in range(times):
        before = limit(plant, resource.RLIMIT_NOFILE, len(os.listdir(f"/proc/{process}/fd")))
        strangers = [socket.create_connection(("127.0.0.1", plant.ports["views"])) for _ in range(30)]
        plant.await_graded(20)
        for stranger in strangers:
            stranger.close()
        resource.prlimit(process, resource.RLIMIT_NOFILE, before)
        plant.row.ready_s.append(plant.await_good())


def exhaust_memory(plant, times):
    process = plant.processes["daemon"].pid
    for _ in range(times):
        pages = int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[0])
        before = limit(plant, resource.RLIMIT_AS, pages * resource.getpagesize())
        plant.await_graded(30)
        resource.prlimit(process, resource.RLIMIT_AS, before)
        plant.row.ready_s.append(plant.await_good())


def hang_worker(plant, times):
    plant.process = plant.processes["daemon"] # find_thread()'s
    for _ in range(times):
        plant.await_graded(5)
        hold_thread(find_thread(plant, "worker 0"), 2)
        plant.row.ready_s.append(plant.await_good())


def stop_daemon(plant, times):
    for _ in range(times):
        plant.await_graded(5)
        stop_for(plant.processes["daemon"], 3)
        plant.row.ready_s.append(plant.await_good())


def kill_daemon(plant, times):
    for _ in range(times):
        plant.await_graded(5)
        plant.keep_metrics()
        began = time.monotonic()
        plant.kill("daemon")
        plant.start_daemon()
        plant.await_good()
        plant.row.ready_s.append(time.monotonic() - began)


ROWS = [
    Row("sender killed", "SIGKILL, and started again at once", kill_sender, 20, 2),
    Row("sender stalls", "SIGSTOP for 2 s, at any moment of a fruit", stall_sender, 10, 1),
    Row("grader absent", "it comes 3 s after the first fruit", grader_comes_late, 3, 1, grader=False),
    Row("grader killed", "SIGKILL, and started again at once", kill_grader, 50, 3),
    Row("grader slow", "5 verdicts a second of 20, for 3 s", slow_grader, 5, 1),
    Row("viewer stuck", "SIGSTOP for 2 s", stop_viewer, 10, 1),
    Row("network cut", "the link is down for 5 s, sender and grader beyond it", cut_link, 10, 1, needs_root=True,
        open=Beyond),
    Row("network loses", "a link of 12 Mbit/s without a queue (tbf), for 40 fruits", lose, 10, 1, needs_root=True,
        open=Beyond),
    Row("network delays", "0.2 s each way, by a relay, for 40 fruits", delay, 10, 1, before=through_relays),
    Row("clock stepped", "the daemon's: an hour forward, two back, one forward", step_clock, 5, 1, before=write_clock,
        environment=own_clock),
    Row("disk full", "another file fills the disk of log and recordings", fill_disk, 5, 1, needs_root=True, before=mount),
    Row("disk read-only", "that disk is mounted over read-only", read_only, 5, 1, needs_root=True, before=mount),
    Row("folders removed", "those of log and recordings are moved away, and back", remove_folders, 5, 1),
    Row("descriptors exhausted", "RLIMIT_NOFILE at what is open, 30 more connections", exhaust_descriptors, 10, 1),
    Row("memory exhausted", "RLIMIT_AS at what is used, for 30 fruits", exhaust_memory, 10, 1),
    Row("worker hangs", "the only one is stopped for 2 s (ptrace)", hang_worker, 5, 1),
    Row("daemon stopped", "SIGSTOP for 3 s", stop_daemon, 5, 1),
    Row("daemon killed", "SIGKILL, and started again at once", kill_daemon, 10, 1),
]
