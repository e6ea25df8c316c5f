"""Faults of the machine: processor, memory, disks, devices, clock, and threads that are held up."""
import ctypes
import glob
import itertools
import os
import pathlib
import resource
import signal
import subprocess
import threading
import time

from fault import BROAD, SLOW, Fault, nothing, setting
from live_line import VIEWS

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000 # waitpid: of any thread
FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), "")


# --- threads ---

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


def in_background(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def hold_line(line):
    """Stops the line's thread alone, as a debugger would."""
    in_background(hold_thread, line.process.pid, 9)


def repeat(line, function, every_s):
    """Calls it until end_repetition(line)."""
    line.repetition = threading.Event()

    def run():
        while not line.repetition.wait(every_s):
            function()
    line.repeater = threading.Thread(target=run, daemon=True)
    line.repeater.start()


def end_repetition(line):
    line.repetition.set()
    line.repeater.join()


def hold_line_shortly(line):
    repeat(line, lambda: hold_thread(line.process.pid, 0.25), 0.01)


def hold_worker(line):
    worker = find_thread(line, "worker 0")
    repeat(line, lambda: hold_thread(worker, 3), 1)


# --- processor and memory ---

def burn(line):
    # They end by themselves where this script is killed.
    line.burners = [subprocess.Popen(["sh", "-c", "ulimit -t 60; while :; do :; done"]) for _ in range(8)]


def quench(line):
    for burner in line.burners:
        burner.kill()
        burner.wait()


def all_at_once(line):
    """All views of a fruit come at a time."""
    line.belt.delay_s = {view: -0.01 * view for view in range(VIEWS)}


def burn_and_overload(line):
    line.belt.rate = 50
    burn(line)


def quench_and_relieve(line):
    line.belt.rate = 2
    quench(line)


def write_quota(line, periods=0):
    """A quota of a tenth of a CPU that ran out in so many periods of 100 ms."""
    line.write_group("cpu.max", "10000 100000\n")
    line.write_group("cpu.stat", f"nr_periods {periods}\nnr_throttled {periods}\nthrottled_usec {90000 * periods}\n")


def throttle(line):
    """What that quota does: the process runs for 10 of every 100 ms."""
    periods = itertools.count(1)

    def stand_still():
        line.process.send_signal(signal.SIGSTOP)
        time.sleep(0.09)
        line.process.send_signal(signal.SIGCONT)
        write_quota(line, next(periods))
    repeat(line, stand_still, 0.01)


def limit_memory(line):
    line.write_group("memory.max", f"{1 << 30}\n")
    line.write_group("memory.current", f"{1 << 29}\n")


def use_memory(line):
    line.write_group("memory.current", f"{(1 << 30) - (20 << 20)}\n")


def other_size_without_memory(line):
    """The chain needs memory for views of a size that it has not seen, and gets none."""
    line.memory = resource.prlimit(line.process.pid, resource.RLIMIT_AS)
    pages = int(pathlib.Path(f"/proc/{line.process.pid}/statm").read_text().split()[0])
    resource.prlimit(line.process.pid, resource.RLIMIT_AS, (pages * resource.getpagesize(), line.memory[1]))
    line.belt.use_size((256, 256))


def give_memory(line):
    resource.prlimit(line.process.pid, resource.RLIMIT_AS, line.memory)


# --- disks ---

def full_disk(line):
    """Fills it to the last byte, as another program would."""
    with open(line.folder / "disk/of another program", "wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue


def free_disk(line):
    (line.folder / "disk/of another program").unlink()


def fill_steadily(line):
    """Eight MiB every four seconds."""
    def write():
        with open(line.folder / "disk/of another program", "ab") as file:
            file.write(bytes(8 << 20))
    repeat(line, write, 4)


def free_steadily_filled(line):
    end_repetition(line)
    free_disk(line)


def freeze_disk(line):
    subprocess.run(["fsfreeze", "--freeze", line.folder / "disk"], check=True)


def thaw_disk(line):
    subprocess.run(["fsfreeze", "--unfreeze", line.folder / "disk"], check=True)


def slow_disk(line):
    """It takes something in a twentieth of the time."""
    def stand_still():
        freeze_disk(line)
        time.sleep(1.9)
        thaw_disk(line)
    repeat(line, stand_still, 0.1)


# --- devices and the clock ---

def lose_device(line):
    line.process.send_signal(signal.SIGUSR1)


def toggle_busy_device(line):
    line.process.send_signal(signal.SIGUSR2)


def set_clock(line):
    (line.folder / "clock").write_text("+20\n")


def write_clock(line):
    (line.folder / "clock").write_text("+0\n")


LOG_ON_DISK = {"publish": {"log": {"dir": "FOLDER/disk/log", "segment_mib": 1, "keep_mib": 64},
                           "grader": {"bind": "ipc://FOLDER/grader"}, "viewers": {"bind": "ipc://FOLDER/viewers"}}}
DEVICE = {"program": "device_daemon", "without": {"cernitactl"}}

# All views of two fruits run at once: none waits for the line's thread before it runs.
ONE_VIEW_EACH = {"run": {"backend": "serial", "workers": 8}, "latency": {"budget_ms": 200, "assemble_ms": 900}}

FAULTS = [
    Fault("line_hangs", "the line's thread is stopped for 9 s (ptrace)", hold_line,
          also={"no_sender", "verdicts_lost", "views_unfinished", "views_late", "views_lost", "views_missing"}),
    Fault("budget_missed", "the line's thread is stopped (ptrace) for 250 of 260 ms, budget 200 ms", hold_line_shortly,
          end_repetition, size=BROAD, rate=3, changes=SLOW | ONE_VIEW_EACH, alone=True),
    Fault("chain_fails", "views of another size, and no memory for them (RLIMIT_AS)", other_size_without_memory,
          give_memory),
    Fault("clock_jump", "the daemon's CLOCK_REALTIME is set 20 s forward (libfaketime)", set_clock, nothing,
          environment={"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": "FOLDER/clock", "FAKETIME_NO_CACHE": "1",
                       "FAKETIME_DONT_FAKE_MONOTONIC": "1"}, before=write_clock),
    Fault("device_lost", "a simulated device vanishes (`device_daemon` of the tests)", lose_device,
          changes={"run": {"backend": "cuda"}}, lasts=True,
          why="of the 30 s before it on a device", **DEVICE),
    Fault("device_left_out", "a simulated device fails at the start", nothing, changes={"run": {"backend": "auto"}},
          environment={"DEVICE_FAILS": "1"}, lasts=True, **DEVICE),
    Fault("device_busy", "a simulated device stands still for 1.1 of 1.5 s", toggle_busy_device, toggle_busy_device,
          changes={"run": {"backend": "cuda"}, "latency": {"budget_ms": 4000, "assemble_ms": 900}}, **DEVICE),
    Fault("memory_short", "98 % of the `memory.max` of a made-up control group are used", use_memory, limit_memory,
          group=True, before=limit_memory),
    Fault("disk_hangs", "the disk of the log of verdicts is frozen (fsfreeze), on which standard error is a file, too",
          freeze_disk, thaw_disk, changes=LOG_ON_DISK, disk="ext4", log_on_disk=True, without={"log"}),
    Fault("disk_full_soon", "another program writes 2 MiB/s to the disk of the line's own files, of 32 GiB", fill_steadily,
          free_steadily_filled, changes=LOG_ON_DISK | {"state": {"dir": "FOLDER/disk"}}, rate=2, disk="ext4",
          within_s=180),
    Fault("disk_full", "another file fills the disk of the line's own files, of 192 MiB", full_disk, free_disk,
          changes={"state": {"dir": "FOLDER/disk"}}, disk="tmpfs"),
    Fault("log_loses", "another file fills the log's disk of 192 MiB", full_disk, free_disk, changes=LOG_ON_DISK,
          disk="tmpfs"),
    Fault("recording_loses", "a slow disk: it is frozen (fsfreeze) for 1.9 of 2 s", slow_disk, end_repetition,
          changes={"record": {"dir": "FOLDER/disk/records"}, "limits": {"view_mib": 16, "slots": 16}}, disk="ext4",
          alone=True),
    Fault("views_unfinished", "one of two workers is stopped for 3 of 4 s (ptrace)", hold_worker, end_repetition,
          changes={"run": {"workers": 2}, "latency": {"budget_ms": 400}}, alone=True,
          why="had run for [0-9.]+ ms, .* when its time was up; [0-9]+ other views .* on average"),
    Fault("steps_skipped", "the headers' deadlines leave 60 ms for fruits, and an optional step takes longer",
          setting(deadline_ns=60 * 10**6), setting(deadline_ns=0), size=BROAD, rate=2, prepare=all_at_once,
          changes={"chain": [{"convolve": {"kernel": "gaussian", "size": 15, "optional": True}}, "contours"],
                   "run": {"backend": "serial", "workers": 1}}, alone=True,
          why="views? [0-3][0-3, to]* skipped"),  # now and then one tries the step again
    Fault("writers_delayed", "eight burners of the processor beside a line that records 80 MiB/s to a disk in memory",
          burn, quench, size=(400, 440), disk="memory", alone=True,
          changes={"record": {"dir": "FOLDER/disk/records", "segment_mib": 16, "keep_gib": 1},
                   "limits": {"view_mib": 8, "slots": 16}}),
    Fault("no_free_slot", "four fruits at once, where there are slots for six views", setting(at_once=4),
          setting(at_once=1), size=BROAD, rate=2,
          changes=SLOW | {"limits": {"slots": 6, "view_mib": 4}, "latency": {"budget_ms": 4000}}, alone=True,
          why="no free slot for view"),
    Fault("overload", "25 times as many fruits a second, of a chain that takes 8 to 16 ms a view", setting(rate=50),
          setting(rate=2), changes=SLOW, size=BROAD, rate=2, alone=True,
          why="[0-9]+ views were waiting, the [0-9]+ views that ran took"),
    Fault("processor_taken", "eight burners of the processor beside a line that is busy", burn, quench, changes=SLOW,
          size=BROAD, rate=12, alone=True),
    Fault("processor_taken", "eight burners and 25 times as many fruits", burn_and_overload, quench_and_relieve,
          beside={"overload"}, changes=SLOW, size=BROAD, rate=2, alone=True),
    Fault("processor_limited", "the process runs for 10 of 100 ms, as under a quota, and the `cpu.stat` of a made-up "
          "control group says so", throttle, end_repetition, changes=SLOW, size=BROAD, rate=8, group=True, alone=True, before=write_quota),
]
