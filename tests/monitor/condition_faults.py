"""The faults that check_conditions.py injects into a live line, by the condition that each must raise."""
import dataclasses
import os
import pathlib
import signal
import subprocess
import typing

import numpy as np
import yaml
import zmq

import faults
from faults import BROAD

SLOW = faults.SLOW | {"run": {"backend": "serial", "workers": 1}, "latency": {"budget_ms": 400, "assemble_ms": 400},
                      "limits": {"slots": 400, "view_mib": 4}}


def nothing(line):
    pass


@dataclasses.dataclass
class Fault:
    condition: str
    how: str # in words
    inject: typing.Callable # of a Line
    undo: typing.Callable = nothing
    changes: dict = dataclasses.field(default_factory=dict) # of the machine's file
    also: set = dataclasses.field(default_factory=set) # conditions that come with it
    size: tuple = (48, 64)
    rate: float = 10 # fruits per second on each lane
    program: str = "cernitad"
    without: set = dataclasses.field(default_factory=set) # what its program does not have
    alone: bool = False # it takes the whole machine, or needs it idle
    small_disk: bool = False # log and recordings lie on a disk of 192 MiB
    prepare: typing.Callable = nothing # before the belt moves


def setting(**changes):
    """What sets these of the belt."""
    def change(line):
        for name, value in changes.items():
            setattr(line.belt, name, value)
    return change


# --- values ---

def with_nan(maps):
    maps = maps.copy()
    maps[3:5, 3:5, 1] = np.nan
    return maps


def logits(maps):
    return maps * 8 - 4


def divided(maps):
    return maps / np.float32(255)


def faint(maps):
    return 0.2 * maps + np.float32(0.8 / 3)


def first_again(maps, kept={}):
    return kept.setdefault(maps.shape, maps)


# --- messages ---

def cut_tensor(parts):
    return [parts[0], parts[1][:-4], *parts[2:]]


def other_magic(parts):
    return [b"XXXX" + parts[0][4:], *parts[1:]]


# --- outlets ---

def close_grader(line):
    line.grader.close()


def open_grader(line):
    line.open_grader()


def second_grader(line):
    line.extra = zmq.Context.instance().socket(zmq.PULL)
    line.extra.connect(line.endpoint("grader"))


def close_extra(line):
    line.extra.close(0)


def connect_viewer(line):
    line.viewer = line.connect_viewer()


def stop_viewer(line):
    line.viewer.send_signal(signal.SIGSTOP)


# --- machine and settings ---

def free_disk(line):
    (line.log_folder / "of another program").unlink()


def break_file(line):
    line.good_file = line.file.read_text()
    line.file.write_text(line.good_file + "\nnonsense: 1\n")
    line.ctl("reload")


def mend_file(line):
    line.file.write_text(line.good_file)
    line.ctl("reload")


def lose_device(line):
    line.process.send_signal(signal.SIGUSR1)


def burn(line):
    line.burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(8)]


def quench(line):
    for burner in line.burners:
        burner.kill()
        burner.wait()


def hold_line(line):
    """Stops the line's thread alone, as a debugger would."""
    line.hold_thread(line.process.pid, 9)


def hold_worker(line):
    line.hold_thread(faults.find_thread(line, "worker 0"), 3)


def send_too_much(line):
    line.extra = zmq.Context.instance().socket(zmq.PUSH)
    line.extra.connect(line.endpoint("views"))
    line.extra.send(bytes(64 << 20))


def two_lanes(line):
    line.belt.lanes = [0, 1]


def other_lane_alone(line):
    line.belt.lanes = [0]


FAULTS = [
    Fault("lane_silent", "one of two lanes sends no more", setting(silent_lanes={1}), setting(silent_lanes=set()),
          prepare=two_lanes),
    Fault("lane_never_seen", "a lane of `ingest.lanes` never sends", nothing, two_lanes,
          changes={"ingest": {"lanes": ["0-1"]}}),
    Fault("no_sender", "the CNN's program ends", lambda line: line.belt.pause(), lambda line: line.belt.resume()),
    Fault("views_missing", "view 3 is never sent", setting(skipped={3}), setting(skipped=set())),
    Fault("views_late", "view 3 comes 1.5 s after its fruit's others", setting(delay_s={3: 1.5}), setting(delay_s={})),
    Fault("views_lost", "a message of ten is numbered and not sent", setting(dropped=10), setting(dropped=0)),
    Fault("two_senders", "a second sender sends the same views", lambda line: line.belt.double(),
          lambda line: line.belt.single()),
    Fault("wrong_class_set", "the CNN's classes are in another order", setting(other_classes=True),
          setting(other_classes=False)),
    Fault("wrong_size", "tensors are four bytes too short", setting(change_parts=cut_tensor), setting(change_parts=None)),
    Fault("messages_refused", "headers do not begin with CRN1", setting(change_parts=other_magic),
          setting(change_parts=None)),
    Fault("too_many_lanes", "views of a lane that `ingest.lanes` does not have", two_lanes, other_lane_alone,
          changes={"ingest": {"lanes": ["0"]}}),
    Fault("not_finite", "the CNN emits NaN", setting(change_maps=with_nan), setting(change_maps=None)),
    Fault("out_of_range", "the CNN's softmax is missing", setting(change_maps=logits), setting(change_maps=None)),
    Fault("wrong_scale", "maps are divided by 255 once more", setting(change_maps=divided), setting(change_maps=None)),
    Fault("frozen", "the same maps come again and again", setting(change_maps=first_again), setting(change_maps=None)),
    Fault("unproven", "no value of the CNN reaches 0.5", setting(change_maps=faint), setting(change_maps=None)),
    Fault("sender_cut", "a message of 64 MiB", send_too_much, close_extra),
    Fault("clocks_apart", "deadlines lie an hour back", setting(deadline_ns=-3600 * 10**9), setting(deadline_ns=0)),
    Fault("too_many_fruits", "eight fruits at once, `limits.open_fruits` 4", setting(at_once=8), setting(at_once=1),
          changes={"limits": {"open_fruits": 4, "view_mib": 2, "slots": 64}}),
    Fault("device_lost", "a simulated device vanishes (`device_daemon` of the tests)", lose_device,
          program="device_daemon", without={"cernitactl"}, changes={"run": {"backend": "cuda"}}),
    Fault("no_grader", "the grader closes its socket", close_grader, open_grader),
    Fault("several_graders", "a second grader connects", second_grader, close_extra),
    Fault("viewer_stuck", "SIGSTOP to a viewer", stop_viewer, prepare=connect_viewer),
    Fault("reload_refused", "a faulty file is loaded", break_file, mend_file),
    Fault("log_loses", "another file fills the log's disk, a tmpfs of 192 MiB", faults.full_disk, free_disk, small_disk=True),
    Fault("line_hangs", "the line's thread is stopped for 9 s (ptrace)", hold_line,
          also={"no_sender", "verdicts_lost", "views_held_up", "views_late", "views_lost", "views_missing"}),
    Fault("views_held_up", "one of two workers is stopped for 3 s (ptrace)", hold_worker,
          changes={"run": {"workers": 2}, "latency": {"budget_ms": 400}}, alone=True),
    Fault("no_free_slot", "four fruits at once, where there are slots for six views", setting(at_once=4),
          setting(at_once=1), size=BROAD, rate=2,
          changes=SLOW | {"limits": {"slots": 6, "view_mib": 4}, "latency": {"budget_ms": 4000}}, alone=True),
    Fault("overload", "25 times as many fruits a second, of a chain that takes 8 to 16 ms a view", setting(rate=50),
          setting(rate=2), changes=SLOW, size=BROAD, rate=2, alone=True),
    Fault("processor_taken", "eight burners of the processor beside a line that is busy", burn, quench, changes=SLOW,
          size=BROAD, rate=12, alone=True),
]

SECONDS = 10 # within which a condition is raised, and ends


def write_settings(path, folder, fault):
    """The machine's file."""
    config = {
        "ingest": {"bind": f"ipc://{folder}/views"},
        "classes": [{"name": "background"}, {"name": "rot", "level": 0.5}, {"name": "stem", "level": 0.5}],
        "chain": ["contours"],
        "run": {"backend": "openmp", "workers": 1, "threads": 1},
        "latency": {"budget_ms": 1000, "assemble_ms": 900},
        "limits": {"view_mib": 2, "slots": 64},
        "publish": {"grader": {"bind": f"ipc://{folder}/grader"}, "viewers": {"bind": f"ipc://{folder}/viewers"},
                    "log": {"dir": f"{folder}/log", "segment_mib": 1, "keep_mib": 64}},
        "monitor": {"http": "127.0.0.1:0"}, "control": {"path": f"{folder}/control"}}
    for section, keys in fault.changes.items():
        config[section] = config.get(section, {}) | keys if isinstance(keys, dict) else keys
    pathlib.Path(path).write_text(yaml.safe_dump(config))


def possible(fault):
    return not fault.small_disk or os.geteuid() == 0
