#!/usr/bin/python3
"""The installed units under a real systemd: starts, states, restarts, stops, and what the watchdog costs.

    tests/service/check_service.py --build BUILD

Boots a bare Debian in namespaces (machine.py), installs BUILD in its /usr and runs a line with a sender and a grader. Stops
each thread in turn by ptrace, as a hang would, and prints what was lost. Needs root. The last line counts passed,
failed and skipped; the exit status is 0 only if none failed.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import msgpack
import yaml
import zmq

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/monitor"), str(pathlib.Path(__file__).parent)]
from live_line import Belt, settings  # noqa: E402
from hold import hold_for_good  # noqa: E402
from machine import Machine, await_true, debian, run_tests  # noqa: E402
import archive_unit  # noqa: E402
import sorter_unit  # noqa: E402

UNIT = "cernitad@line"
RUN, STATE = "/run/cernita/line", "/var/lib/cernita/line"
WATCHDOG_S = 10 # as in the unit
RATE = 10 # fruits a second
EXPOSURE_MAX = 2.5


class Grader(threading.Thread):
    """Notes every fruit's verdict, over restarts of the daemon."""

    def __init__(self, endpoint):
        super().__init__(daemon=True)
        self.endpoint, self.ended, self.verdicts = endpoint, threading.Event(), {}
        self.start()

    def run(self):
        context = zmq.Context()
        socket = context.socket(zmq.PULL)
        socket.reconnect_ivl = 20
        socket.connect(self.endpoint)
        while not self.ended.is_set():
            if socket.poll(100):
                verdict = msgpack.unpackb(socket.recv_multipart()[-1])
                if "fruit" in verdict:
                    self.verdicts[verdict["fruit"]] = verdict["verdict"]
        socket.close(0)
        context.term()

    def close(self):
        self.ended.set()
        self.join()


class Service:
    """The unit with its line's sender and grader."""

    def __init__(self, machine):
        self.machine = machine

    def __enter__(self):
        self.machine.run("systemctl", "start", UNIT)
        self.grader = Grader(f"ipc://{self.machine.path(RUN)}/grader")
        self.belt = Belt(f"ipc://{self.machine.path(RUN)}/views", rate=RATE)
        self.belt.start()
        await_true("verdicts arrive", lambda: len(self.grader.verdicts) > RATE)
        return self

    def __exit__(self, *_):
        self.belt.ended.set()
        self.belt.join()
        self.grader.close()
        self.machine.run("systemctl", "stop", UNIT)
        self.machine.run("systemctl", "reset-failed", check=False)

    def show(self, name):
        return self.machine.run("systemctl", "show", "--value", "--property", name, UNIT).strip()

    def await_status(self, pattern):
        return await_true(f"status {pattern}", lambda: re.search(pattern, self.show("StatusText")))

    def pid(self):
        return self.machine.process_here(int(self.show("MainPID")))

    def thread(self, name):
        for thread in pathlib.Path(f"/proc/{self.pid()}/task").iterdir():
            if (thread / "comm").read_text().strip() == name:
                return int(thread.name)
        raise LookupError(f"no thread '{name}'")

    def await_restart(self, before):
        """Seconds until the unit was restarted, and from there to READY=1."""
        begun_s = time.monotonic()
        await_true("a restart", lambda: int(self.show("NRestarts")) > before)
        restarted_s = time.monotonic()
        await_true("ready again", lambda: self.show("ActiveState") == "active")
        return restarted_s - begun_s, time.monotonic() - restarted_s

    def lost(self, first):
        """What became of the fruits from that one to the last one before now, once the line runs as before."""
        last = self.belt.sent_fruit
        await_true("verdicts again", lambda: any(fruit > last + RATE for fruit in self.grader.verdicts))
        kinds = [self.grader.verdicts.get(fruit, "none") for fruit in range(first, last + 1)]
        return {kind: kinds.count(kind) for kind in ("complete", "partial", "late", "none")}


def exposure_of_the_units(machine):
    for unit in ("cernitad@.service", "cernita-record@.service", "cernita-sorter@.service", "cernita-archive@.service"):
        text = machine.run("systemd-analyze", "security", "--offline=yes", "--no-pager",
                           f"/usr/lib/systemd/system/{unit}")
        exposure = float(re.search(r"Overall exposure level.*: ([0-9.]+)", text)[1])
        print(f"     {unit}: {exposure}")
        assert exposure <= EXPOSURE_MAX, text


def a_started_line_is_ready_and_says_so(machine):
    machine.run("systemctl", "start", UNIT)
    assert machine.run("systemctl", "is-active", UNIT).strip() == "active"
    await_true("its status", lambda: 'Status: "ready: no view has arrived yet' in
               machine.run("systemctl", "status", "--no-pager", UNIT))
    machine.run("systemctl", "stop", UNIT)
    assert machine.run("systemctl", "show", "--value", "--property", "ActiveState,Result", UNIT).split() == \
        ["success", "inactive"]


def sockets_and_folders_are_for_the_group(machine):
    with Service(machine):
        wanted = {RUN: 0o750, STATE: 0o750, f"{RUN}/views": 0o660, f"{RUN}/grader": 0o660, f"{RUN}/viewers": 0o660}
        for path, mode in wanted.items():
            about = machine.path(path).stat()
            assert stat.S_IMODE(about.st_mode) == mode, f"{path}: {about.st_mode:o}"
            owner = machine.run("stat", "--format=%U:%G", path).strip()
            assert owner == "cernita:cernita", f"{path}: {owner}"


def the_status_follows_the_line(machine):
    with Service(machine) as service:
        service.await_status("^running, nothing out of the ordinary$")
        service.grader.close()
        service.await_status("^running: Nothing is ejected: no ejector program")


def a_bad_file_is_not_tried_again(machine):
    machine.path("/etc/cernita/bad.yaml").write_text("classes: []\n")
    machine.run("systemctl", "start", "cernitad@bad", check=False)
    about = machine.run("systemctl", "show", "--property", "SubState,ExecMainStatus,NRestarts", "cernitad@bad")
    assert set(about.split()) == {"SubState=failed", "ExecMainStatus=78", "NRestarts=0"}, about
    machine.run("systemctl", "reset-failed", "cernitad@bad")


def a_reload_waits_for_its_result(machine):
    """By cernitactl, at the socket that the line has without a key: the machine has no procps."""
    line = machine.path("/etc/cernita/line.yaml")
    good = line.read_text()
    assert "control" not in good
    try:
        with Service(machine) as service:
            for text, status in ((good, 0), (good.replace("budget_ms: 500", "budget_ms: 5O0"), 1), (good, 0)):
                line.write_text(text)
                done = machine.run("sh", "-c", f"systemctl reload {UNIT}; echo status $?")
                assert f"status {status}\n" in done, done
                assert service.show("ActiveState") == "active" and service.show("NRestarts") == "0"
            told = machine.run("cernitactl", "status")
            assert "2 taken in, 1 refused" in told, told
    finally:
        line.write_text(good)


def an_unedited_file_makes_a_service(machine):
    """With the file as installed: it has a control socket, a log, and a page; --check says so before."""
    machine.run("cp", "/usr/share/cernita/line.yaml", "/etc/cernita/plain.yaml")
    run, state = "/run/cernita/plain", "/var/lib/cernita/plain"
    told = machine.run("cernitad", "--config", "/etc/cernita/plain.yaml", "--check")
    assert f"note: control.path: the service has {run}/control" in told, told
    assert f"note: publish.log.dir: the service logs verdicts in {state}/log, for 7 days" in told, told
    machine.run("systemctl", "start", "cernitad@plain")
    try:
        assert "state     ready" in machine.run("cernitactl", "--line", "plain", "status")
        machine.run("systemctl", "reload", "cernitad@plain")
        log = machine.run("journalctl", "--no-pager", "--unit", "cernitad@plain")
        assert f"control: cernitactl asks at {run}/control, of the folder that systemd gave" in log, log
        assert f"verdicts are logged in {state}/log, of the folder that systemd gave: 7 days" in log, log
        assert machine.run("stat", "--format=%U:%G %a", f"{state}/log").strip() == "cernita:cernita 750"
        # A second line gets the next port for its page, and says so.
        machine.run("sh", "-c", "sed 's/:555/:556/' /etc/cernita/plain.yaml >/etc/cernita/second.yaml")
        machine.run("systemctl", "start", "cernitad@second")
        assert "page      http://127.0.0.1:9465" in machine.run("cernitactl", "--line", "second", "status")
        await_true("the page in the status", lambda: "(live page: http://127.0.0.1:9465)" in machine.run(
            "systemctl", "show", "--value", "--property", "StatusText", "cernitad@second"))
    finally:
        machine.run("systemctl", "stop", "cernitad@plain", "cernitad@second")


def restarts(machine, kill):
    with Service(machine) as service:
        before, first = int(service.show("NRestarts")), service.belt.sent_fruit
        kill(service)
        passed_s, ready_s = service.await_restart(before)
        report(kill.__name__.replace("_", " "), passed_s, ready_s, service.lost(first))
        assert passed_s < 5 and ready_s < 2


def killed(service):
    os.kill(service.pid(), signal.SIGKILL)


def ended_cleanly_by_itself(service):
    os.kill(service.pid(), signal.SIGTERM)


def a_kill_is_followed_by_a_restart(machine):
    restarts(machine, killed)


def a_clean_exit_that_nobody_asked_for_is_followed_by_a_restart(machine):
    restarts(machine, ended_cleanly_by_itself)


def report(name, passed_s, ready_s, lost):
    print(f"     {name:26} {passed_s:5.1f} s {ready_s:5.1f} s   {lost['complete']:5} {lost['partial']:5}"
          f" {lost['late']:5} {lost['none']:5}", flush=True)


def held(service, name):
    threading.Thread(target=hold_for_good, args=(service.thread(name),), daemon=True).start()


def a_stuck_thread_is_followed_by_a_restart(machine):
    slow = []
    for name, known_as in (("cernitad", "line"), ("worker 0", "worker 0"), ("http", "http"), ("service", None)):
        with Service(machine) as service:
            before, first = int(service.show("NRestarts")), service.belt.sent_fruit
            since = machine.run("date", "+%s").strip()
            held(service, name)
            passed_s, ready_s = service.await_restart(before)
            report(f"{known_as or name} stuck", passed_s, ready_s, service.lost(first))
            log = machine.run("journalctl", "--no-pager", "--unit", UNIT, "--since", f"@{since}")
            if passed_s > WATCHDOG_S + 2 or ready_s > 2 or (known_as and f"thread '{known_as}' has not moved" not in log):
                slow.append(f"{name}: {passed_s} s, {ready_s} s\n{log}")
    assert not slow, "\n".join(slow)


def a_stuck_device_does_not_stay_in_the_way(machine):
    """The line gives up a device that hangs in a call; one that does not wake at all costs a restart."""
    drop_in = machine.path("/etc/systemd/system/cernitad@.service.d/device.conf")
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nExecStart=\nExecStart=/usr/lib/cernita-test/device_daemon --config /etc/cernita/%i.yaml\n")
    machine.run("systemctl", "daemon-reload")
    line = machine.path("/etc/cernita/line.yaml")
    text = line.read_text()
    line.write_text(text.replace("backend: openmp", "backend: cuda"))
    try:
        with Service(machine) as service:
            before, first, begun_s = int(service.show("NRestarts")), service.belt.sent_fruit, time.monotonic()
            held(service, "device 0")
            await_true("the device is given up, or a restart", lambda: service.show("StatusText").startswith("degraded")
                       or int(service.show("NRestarts")) > before)
            passed_s = time.monotonic() - begun_s
            _, ready_s = service.await_restart(before) if int(service.show("NRestarts")) > before else (0, 0)
            report("device 0 stuck", passed_s, ready_s, service.lost(first))
            assert passed_s < WATCHDOG_S + 2 and ready_s < 2
            os.kill(service.pid(), signal.SIGKILL) # its thread would be waited for
    finally:
        line.write_text(text)
        drop_in.unlink()
        machine.run("systemctl", "daemon-reload")


def views_pass_the_recorder(machine):
    """cernita-record@line stands between the sender and the line."""
    machine.path("/etc/cernita/line.record").write_text(
        f"FROM=ipc:///run/cernita/record-line/views\nTO=ipc://{RUN}/views\n")
    with Service(machine) as service:
        machine.run("systemctl", "start", "cernita-record@line")
        belt = Belt(f"ipc://{machine.path('/run/cernita/record-line')}/views", rate=RATE)
        service.belt.ended.set()
        service.belt.join()
        service.grader.verdicts.clear()
        belt.start()
        await_true("verdicts behind the recorder", lambda: len(service.grader.verdicts) > RATE)
        belt.ended.set()
        belt.join()
        machine.run("systemctl", "stop", "cernita-record@line")
    assert list(machine.path("/var/lib/cernita/record-line").glob("cernita-*.tif"))


def keys_come_as_credentials(machine):
    """As systemd/ACCESS.md says: both units are handed root's keys, and each admits only those."""
    drop_in = re.search(r"```\n(\[Service\]\nLoadCredential=.*?)```", (ROOT / "systemd/ACCESS.md").read_text(), re.S)[1]
    for unit in ("cernitad@keyed", "cernita-record@keyed"):
        folder = machine.path(f"/etc/systemd/system/{unit}.service.d")
        folder.mkdir(parents=True)
        (folder / "keys.conf").write_text(drop_in)
    machine.run("systemctl", "daemon-reload")
    machine.run("cernita-keys", "/etc/cernita/keys")
    machine.run("cernita-keys", "/etc/cernita/keys", "--client", "cnn", "--out", "/tmp/cnn.key")
    run = "/run/cernita/keyed"
    line = settings(run, {"ingest": {"bind": ["tcp://*:5555", f"ipc://{run}/views"]}, "access": {
        "keys": "/run/credentials/cernitad@keyed.service"}})
    line["publish"].pop("log")
    machine.path("/etc/cernita/keyed.yaml").write_text(yaml.safe_dump(line))
    machine.path("/etc/cernita/keyed.record").write_text(
        f"FROM=tcp://*:5556\nTO=ipc://{run}/views\nOPTIONS=--keys /run/credentials/cernita-record@keyed.service\n")
    machine.run("cernita-synth", "/tmp/rec.tif", "--fruits", "2", "--classes", "3", "--size", "64x32")
    machine.run("systemctl", "start", "cernitad@keyed", "cernita-record@keyed")
    for port in (5555, 5556):
        to = ["cernita-replay", "/tmp/rec.tif", "--to", f"tcp://127.0.0.1:{port}"]
        machine.run(*to, "--wait", str(60), "--key", "/tmp/cnn.key", "--server-key", "/etc/cernita/keys/server.pub")
        assert "sent" not in machine.run(*to, "--wait", "1", check=False)
    machine.run("systemctl", "reload", "cernitad@keyed")
    await_true("the keys are read again", lambda: "1 clients, those of the start" in machine.run(
        "journalctl", "--no-pager", "--unit", "cernitad@keyed"))
    machine.run("systemctl", "stop", "cernitad@keyed", "cernita-record@keyed")


def a_stuck_writer_is_reported_and_nothing_else(machine):
    with Service(machine) as service:
        before, first, pid = service.show("NRestarts"), service.belt.sent_fruit, service.show("MainPID")
        for name, words in (("verdict-log", "publish.log: the disk has taken no verdict"),
                            ("recorder", "record.dir: the disk has taken no view")):
            held(service, name)
            service.await_status(words)
        # Longer than the watchdog waits: its end is told by the status' own seconds.
        service.await_status(rf"record.dir: [^;]* for {WATCHDOG_S + 4} s")
        assert (service.show("NRestarts"), service.show("MainPID")) == (before, pid)
        lost = service.lost(first)
        report("both writers stuck", 0, 0, lost)
        assert lost["none"] == lost["late"] == lost["partial"] == 0
        os.kill(service.pid(), signal.SIGKILL) # they would be waited for


def a_stop_judges_the_open_fruits(machine):
    with Service(machine) as service:
        service.belt.ended.set() # within a fruit, mostly
        service.belt.join()
        last = service.belt.sent_fruit
        machine.run("systemctl", "stop", UNIT)
        assert service.show("ActiveState") == "inactive" and service.show("Result") == "success"
        await_true("the last fruit's verdict", lambda: last in service.grader.verdicts)
        log = machine.run("journalctl", "--no-pager", "--unit", UNIT, "--lines", "20")
        assert "stopping:" in log and "Stopped cernitad@line" in log, log


def the_state_of_an_old_daemon_is_taken_over(machine):
    """By the command that systemd/README.md gives: 0.1.0 ran as a user that systemd made up."""
    machine.run("sh", "-ec", "rm -rf /var/lib/cernita; mkdir -p -m 700 /var/lib/private; mkdir -p /var/lib/private/cernita/log"
                " /var/lib/private/cernita/recordings; touch /var/lib/private/cernita/old.tif; chown -R 61234:61234"
                " /var/lib/private/cernita; ln -s private/cernita /var/lib/cernita")
    readme = (ROOT / "systemd/README.md").read_text()
    machine.run("sh", "-ec", re.search("^rm /var/lib/cernita && .*$", readme, re.M)[0])
    with Service(machine):
        assert machine.run("stat", "--format=%U:%G", f"{STATE}/old.tif").strip() == "cernita:cernita"


TESTS = [*sorter_unit.TESTS, *archive_unit.TESTS, exposure_of_the_units, a_started_line_is_ready_and_says_so, sockets_and_folders_are_for_the_group,
         the_status_follows_the_line, a_bad_file_is_not_tried_again, a_reload_waits_for_its_result,
         an_unedited_file_makes_a_service, a_kill_is_followed_by_a_restart,
         a_clean_exit_that_nobody_asked_for_is_followed_by_a_restart, a_stuck_thread_is_followed_by_a_restart, a_stuck_device_does_not_stay_in_the_way, views_pass_the_recorder, keys_come_as_credentials,
         a_stuck_writer_is_reported_and_nothing_else, a_stop_judges_the_open_fruits, the_state_of_an_old_daemon_is_taken_over]


def install(build, folder):
    subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"DESTDIR": str(folder)})
    (folder / "usr/lib/cernita-test").mkdir(parents=True)
    shutil.copy(build / "bin/device_daemon", folder / "usr/lib/cernita-test")
    line = settings(RUN, {
        "publish": {"grader": {"bind": f"ipc://{RUN}/grader"}, "viewers": {"bind": f"ipc://{RUN}/viewers"},
                    "log": {"dir": f"{STATE}/log"}},
        "record": {"dir": f"{STATE}/recordings"}, "latency": {"budget_ms": 500, "assemble_ms": 400}, "run": {"backend": "openmp", "workers": 1, "threads": 1}})
    (folder / "etc/cernita").mkdir(parents=True)
    (folder / "etc/cernita/line.yaml").write_text(yaml.safe_dump(line))
    # The folders that the line file names, as its owner would make them.
    (folder / "etc/tmpfiles.d").mkdir()
    (folder / "etc/tmpfiles.d/line.conf").write_text(
        "".join(f"d {path} 0750 cernita cernita -\n" for path in (STATE, f"{STATE}/log", f"{STATE}/recordings")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="what is installed")
    parser.add_argument("--debian", type=pathlib.Path, default=ROOT / "build-check/debian", help="where the bare Debian is kept")
    parser.add_argument("--only", help="tests whose names contain this")
    given = parser.parse_args()
    tests = [test for test in TESTS if not given.only or given.only in test.__name__]
    with Machine(debian(given.debian), lambda folder: install(given.build, folder)) as machine:
        print(f"     {'what happened':26} {'restart':>7} {'ready':>7}   complete, partial, late, none: fruits since then")
        failed = run_tests(machine, tests)
    print(f"{len(tests) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
