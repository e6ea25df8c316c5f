"""The faults that inject_faults.py injects: what is done, and which alert is its own."""
import ctypes
import dataclasses
import os
import pathlib
import signal
import threading
import time
import typing

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000 # waitpid: of any thread

# Views that take time, 8 to 16 ms each.
BROAD = (48, 256)
SLOW = {"run": {"backend": "serial"}, "latency": {"budget_ms": 400},
        "chain": [{"convolve": {"kernel": "gaussian", "size": 7}}, "contours"]}


@dataclasses.dataclass
class Fault:
    name: str
    alert: str # its own; None: nothing may fire
    how: str
    why: str # what cernita-why must say, a regular expression: of a fruit, or of the whole line
    inject: typing.Callable = lambda line: None # of a Line
    changes: dict = dataclasses.field(default_factory=dict) # of the machine's file
    size: tuple = (48, 64)
    rate: float = 5
    program: str = "cernitad"
    alone: bool = False # it takes the whole machine
    small_disk: bool = False # its log lies on a disk of 192 MiB
    prepare: typing.Callable = lambda line: None # before the belt moves


def slow_cnn(line):
    line.belt.cnn_s = lambda view: 0.3 * (view + 1)


def silent_camera(line):
    line.belt.silent = {3}


def hold_thread(thread, seconds):
    """Stops one thread of another process by ptrace."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes, libc.ptrace.restype = [ctypes.c_long] * 4, ctypes.c_long
    if libc.ptrace(PTRACE_SEIZE, thread, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace of thread {thread}")
    libc.ptrace(PTRACE_INTERRUPT, thread, 0, 0)
    os.waitpid(thread, WALL)
    time.sleep(seconds)
    libc.ptrace(PTRACE_DETACH, thread, 0, 0)


def find_thread(line, name):
    for thread in pathlib.Path(f"/proc/{line.process.pid}/task").iterdir():
        if (thread / "comm").read_text().strip() == name:
            return int(thread.name)
    raise LookupError(f"{line.target}: no thread '{name}'")


def stalled_worker(line):
    thread = find_thread(line, "worker 0")

    def hold_again_and_again():
        while not line.ended.wait(2):
            hold_thread(thread, 1)
    threading.Thread(target=hold_again_and_again, daemon=True).start()


def lost_device(line):
    line.process.send_signal(signal.SIGUSR1)


def absent_grader(line):
    line.grader.close()


def full_disk(line):
    """Fills it to the last byte, as another program would."""
    with open(line.log_folder / "of another program", "wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue


def overload(line):
    line.belt.rate = 50


def sender_restart(line):
    line.belt.restart.set()


def wrong_class_set(line):
    line.belt.other_classes = {3}


def use_deadlines(line):
    line.belt.deadline_ms = 900


def clock_step(line):
    line.belt.clock_ns = -3600 * 10**9


def connect_viewer(line):
    line.viewer = line.connect_viewer()


def stuck_viewer(line):
    line.viewer.send_signal(signal.SIGSTOP)


def no_free_slot(line):
    line.belt.at_once = 4


FAULTS = [
    Fault("none", None, "nothing", "^complete: ", size=BROAD, rate=2, changes=SLOW),
    Fault("slow CNN", "CernitaViewsLate", "each view leaves the CNN 0.3 s after the one before it",
          r"views 2, 3 did not come .*\(the CNN", slow_cnn),
    Fault("silent camera", "CernitaViewsMissing", "view 3 is never sent", "view 3 did not come .*camera",
          silent_camera),
    Fault("stalled worker", "CernitaViewsUnfinished",
          "one of two workers is stopped (ptrace) for one of three seconds",
          "had run for [0-9.]+ ms, .* when its time was up; [0-9]+ other views .* on average", stalled_worker,
          changes={"run": {"workers": 2}, "latency": {"budget_ms": 400}}),
    Fault("lost device", "CernitaDegraded",
          "a simulated device vanishes, in the program `device_daemon` of the tests",
          "of the 30 s before it on a device", lost_device,
          program="device_daemon", changes={"run": {"backend": "cuda"}}),
    Fault("absent grader", "CernitaGraderAbsent", "the grader closes its socket",
          "Nothing is ejected: no ejector program", absent_grader),
    Fault("full disk", "CernitaLogDrops", "another file fills the log's disk, a tmpfs of 192 MiB",
          "Verdicts are missing in the log", full_disk,
          small_disk=True),
    Fault("overload", "CernitaOverload", "25 times as many fruits a second, of a chain that takes 8 to 16 ms a view",
          "[0-9]+ views were waiting, the [0-9]+ views that ran took", overload, size=BROAD, rate=2,
          changes=SLOW | {"limits": {"slots": 400, "view_mib": 4}}, alone=True),
    Fault("sender restart", "CernitaSenderRestarted", "the sender ends within a fruit and begins a new epoch",
          "the sender was restarted", sender_restart),
    Fault("wrong class set", "CernitaWrongClassSet", "view 3 comes from a CNN with its classes in another order",
          r"view 3's message was refused \(class_set\)", wrong_class_set),
    Fault("clock step", "CernitaClocksApart", "the sender's clock, by which it sets deadlines, goes back by an hour",
          "its sender's clock and this one disagree|The clocks of CNN and line are apart", clock_step, prepare=use_deadlines),
    Fault("stuck viewer", "CernitaViewerStuck", "SIGSTOP to a viewer",
          "A display does not keep up", stuck_viewer, prepare=connect_viewer),
    Fault("no free slot", "CernitaNoFreeSlot", "four fruits at once, where there are slots for six views",
          "no free slot for view", no_free_slot, size=BROAD, rate=2, changes=SLOW | {"limits": {"slots": 6}, "latency": {"budget_ms": 4000}}),
]
