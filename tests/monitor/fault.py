"""A fault that check_conditions.py injects, and the settings of the line that it is injected into."""
import dataclasses
import os
import typing

import yaml

# Views that take time, 8 to 16 ms each.
BROAD = (48, 256)
SLOW = {"chain": [{"convolve": {"kernel": "gaussian", "size": 7}}, "contours"],
        "run": {"backend": "serial", "workers": 1}, "latency": {"budget_ms": 400, "assemble_ms": 400},
        "limits": {"slots": 400, "view_mib": 4}}

SECONDS = 10 # within which a condition is raised, and ends


def nothing(line):
    pass


@dataclasses.dataclass
class Fault:
    condition: str # "": none
    how: str # in words
    inject: typing.Callable # of a Line
    undo: typing.Callable = nothing
    changes: dict = dataclasses.field(default_factory=dict) # of the machine's file; FOLDER, GUARDED: line.folder, .guarded
    beside: set = dataclasses.field(default_factory=set) # conditions that have to come with it
    also: set = dataclasses.field(default_factory=set) # conditions, or alerts without one, that may come with it
    alerts: set = dataclasses.field(default_factory=set) # those without a condition that have to come with it
    why: str = "" # what cernita-why has to say of a fruit, a regular expression
    size: tuple = (48, 64)
    rate: float = 10 # fruits per second on each lane
    program: str = "cernitad"
    environment: dict = dataclasses.field(default_factory=dict) # of the program
    without: set = dataclasses.field(default_factory=set) # what its program does not have
    alone: bool = False # it takes the whole machine, or needs it idle
    disk: str = "" # a disk of its own at FOLDER/disk: "tmpfs" of 192 MiB, "memory", the same of 4 GiB, "ext4" of 32 GiB
    log_on_disk: bool = False # its standard error is a file there
    group: bool = False # the daemon reads a made-up control group
    lasts: bool = False # no more than a restart ends it
    within_s: float = SECONDS # it is raised
    before: typing.Callable = nothing # before the daemon starts
    prepare: typing.Callable = nothing # before the belt moves

    def title(self):
        """Its conditions, or alerts, for a table."""
        return ", ".join(f"`{name}`" for name in [self.condition or min(self.alerts), *sorted(self.beside)])


def setting(**changes):
    """What sets these of the belt."""
    def change(line):
        for name, value in changes.items():
            setattr(line.belt, name, value)
    return change


def write_settings(line, fault):
    """Its file."""
    config = {
        "ingest": {"bind": "ipc://FOLDER/views"},
        "classes": [{"name": "background"}, {"name": "rot", "level": 0.5}, {"name": "stem", "level": 0.5}],
        "chain": ["contours"],
        "run": {"backend": "openmp", "workers": 1, "threads": 1},
        "latency": {"budget_ms": 1000, "assemble_ms": 900},
        "limits": {"view_mib": 2, "slots": 64},
        "publish": {"grader": {"bind": "ipc://FOLDER/grader"}, "viewers": {"bind": "ipc://FOLDER/viewers"},
                    "log": {"dir": "FOLDER/log", "segment_mib": 1, "keep_mib": 64}},
        "monitor": {"http": "127.0.0.1:0"}, "control": {"path": "FOLDER/control"}, "state": {"dir": "FOLDER/state"}}
    for section, keys in fault.changes.items():
        config[section] = config.get(section, {}) | keys if isinstance(keys, dict) else keys
    line.file.write_text(yaml.safe_dump(config).replace("FOLDER", str(line.folder)).replace("GUARDED", line.guarded))


def needs_root(fault):
    return bool(fault.disk) or fault.group


def possible(fault):
    return not needs_root(fault) or os.geteuid() == 0
