"""The sorter's unit behind that of its line: reload, kill, watchdog, a bad file. Tests of check_service.py."""
import os
import re
import signal
import threading
import time

from hold import hold_for_good
from live_line import Belt
from machine import await_true

UNIT, LINE = "cernita-sorter@line", "cernitad@line"
RUN = "/run/cernita/line"
RATE = 10 # fruits a second
SORTER = """line: {endpoint: "ipc:///run/cernita/line/grader"}
outlets: {names: [first, again], default: first, late: again, partial: again, silence: again, unmeasured: again}
outputs: {tcp: {bind: "127.0.0.1:5600"}}
"""


class Sorter:
    """cernita-sorter@line behind the line's unit, whose grader it is."""

    def __init__(self, machine):
        self.machine, self.file = machine, machine.path("/etc/cernita/line.sorter.yaml")
        self.file.write_text(SORTER)

    def __enter__(self):
        self.machine.run("systemctl", "start", LINE, UNIT)
        self.belt = Belt(f"ipc://{self.machine.path(RUN)}/views", rate=RATE)
        self.belt.start()
        self.await_decisions()
        return self

    def __exit__(self, *_):
        self.belt.ended.set()
        self.belt.join()
        self.machine.run("systemctl", "stop", UNIT, LINE)
        self.machine.run("systemctl", "reset-failed", check=False)
        self.file.unlink()

    def show(self, name):
        return self.machine.run("systemctl", "show", "--value", "--property", name, UNIT).strip()

    def await_decisions(self):
        return await_true("decisions", lambda: re.search("^line running: [1-9][0-9]* fruits", self.show("StatusText")))

    def expect_restart(self, end):
        before = int(self.show("NRestarts"))
        end(self.machine.process_here(int(self.show("MainPID"))))
        begun_s = time.monotonic()
        await_true("a restart", lambda: int(self.show("NRestarts")) > before)
        restarted_s = time.monotonic()
        self.await_decisions()
        print(f"     sorter {end.__name__.replace('_', ' '):19} {restarted_s - begun_s:5.1f} s"
              f" {time.monotonic() - restarted_s:5.1f} s", flush=True)


def the_sorter_decides_and_reloads(machine):
    with Sorter(machine) as sorter:
        for name, status, told in (("again", 0, "in force, 0 rules"), ("frist", 1, "'frist' is not in outlets.names")):
            sorter.file.write_text(SORTER.replace("default: first", f"default: {name}"))
            done = machine.run("sh", "-c", f"systemctl reload {UNIT}; echo status $?")
            assert f"status {status}\n" in done, done
            assert told in machine.run("journalctl", "--no-pager", "--unit", UNIT)
            assert sorter.show("ActiveState") == "active" and sorter.show("NRestarts") == "0"
        sorter.await_decisions()
        assert "line      running" in machine.run("cernitactl", "--sorter", "--line", "line", "status")


def a_sorter_that_ends_or_hangs_is_started_again(machine):
    def killed_by_a_signal(pid):
        os.kill(pid, signal.SIGKILL)

    def hanging(pid):
        threading.Thread(target=hold_for_good, args=(pid,), daemon=True).start()

    with Sorter(machine) as sorter:
        sorter.expect_restart(killed_by_a_signal)
        sorter.expect_restart(hanging)
        log = machine.run("journalctl", "--no-pager", "--unit", UNIT)
        assert "Watchdog timeout" in log, log


def a_bad_file_of_a_sorter_is_not_tried_again(machine):
    machine.path("/etc/cernita/bad.sorter.yaml").write_text("outlets: {}\n")
    machine.run("systemctl", "start", "cernita-sorter@bad", check=False)
    about = machine.run("systemctl", "show", "--property", "SubState,ExecMainStatus,NRestarts", "cernita-sorter@bad")
    assert set(about.split()) == {"SubState=failed", "ExecMainStatus=78", "NRestarts=0"}, about
    machine.run("systemctl", "reset-failed", "cernita-sorter@bad")


TESTS = [the_sorter_decides_and_reloads, a_sorter_that_ends_or_hangs_is_started_again,
         a_bad_file_of_a_sorter_is_not_tried_again]
