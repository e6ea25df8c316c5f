#!/usr/bin/python3
"""Debian packages on a machine without compilers, under a real systemd: install, run, upgrade under load, purge.

    tests/service/check_packages.py --packages DIR

DIR is what tools/packaging/make_packages has written, of one version. Boots a bare Debian in namespaces (machine.py) that has
what the packages depend on, and nothing of cernita. Needs root. The last line counts passed, failed and skipped; the
exit status is 0 only if none failed.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/monitor"), str(pathlib.Path(__file__).parent)]
from live_line import settings  # noqa: E402
from check_service import RATE, RUN, Service  # noqa: E402
from machine import Machine, await_true, debian, run_tests  # noqa: E402

# What the packages depend on beside machine.PACKAGES, as `apt-get install` of them would bring it: the machine has no network.
NEEDED = ["libcairo2", "libcurl4", "libncursesw6", "libtinfo6", "libjpeg62-turbo", "libsystemd0", "python3", "python3-numpy",
          "python3-zmq", "python3-cffi-backend", "python3-msgpack", "libjs-chart.js", "man-db", "bash-completion"]

# What dpkg and systemd write wherever something is installed or runs, and what outlives a purge on purpose: the user.
KEPT = re.compile(r"^/(var/(lib/(dpkg|systemd|private)|cache|log|tmp|backups)|etc/(passwd|group|shadow|gshadow|subuid|subgid|machine-id"
                  r"|\.pwd\.lock|systemd)|run|tmp|root|dev|proc|sys|home)(/|-|$)")


def files(machine):
    """All files of the machine but those that its own services write."""
    names = machine.run("find", "/", "-xdev", "-not", "-type", "d").splitlines()
    return {name for name in names if not KEPT.match(name) and "/__pycache__/" not in name}


def next_version(packages, folder):
    """The same packages as those of a later version."""
    for package in packages:
        tree = folder / package.stem
        subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
        control = tree / "DEBIAN/control"
        version = re.search(r"^Version: (.*)$", control.read_text(), re.M)[1]
        control.write_text(control.read_text().replace(version, version + "+next"))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, folder / package.name], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)


def installed(machine):
    """Versions of the packages that are installed, by name."""
    rows = machine.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n").splitlines()
    return {name: version for name, status, version in (row.split() for row in rows if "cernita" in row) if status == "installed"}


def install_them(machine):
    assert not machine.run("sh", "-c", "command -v gcc cc g++ || true").strip(), "the machine has a compiler"
    begun_s = time.monotonic()
    machine.run("sh", "-c", "dpkg -i /packages/*.deb")
    print(f"     installed in {time.monotonic() - begun_s:.1f} s")
    for package in sorted(pathlib.Path(machine.path("/packages")).glob("*.deb")):
        size = int(machine.run("dpkg-query", "-W", "-f", "${Installed-Size}", package.name.split("_")[0]))
        print(f"     {package.name.split('_')[0]:20} {package.stat().st_size / 1024:7.0f} KiB, installed {size} KiB")
    assert len(installed(machine)) >= 5


def every_program_starts(machine):
    for program in machine.run("sh", "-c", "cd /usr/bin && ls cernita*").split():
        text = machine.run(program, "--help")
        assert text.startswith("usage: "), f"{program}: {text}"
        assert machine.run("man", "-w", program).strip(), program


def python_finds_contours(machine):
    assert machine.run("python3", "-c", "import cernita, numpy\nm = numpy.zeros((9, 9)); m[3:6, 3:6] = 1\n"
                       "print(len(cernita.find_contours(m, 0.5)))").strip() == "1"


def the_shipped_line_runs(machine):
    """As the README says: the line's file from /usr/share, a recording, its page, its archive and report."""
    machine.run("install", "-m", "0640", "-g", "cernita", "/usr/share/cernita/line.yaml", "/etc/cernita/apples.yaml")
    machine.run("sh", "-c", "printf 'monitor: {http: \"127.0.0.1:8077\"}\n' >> /etc/cernita/apples.yaml")
    machine.run("cernitad", "--config", "/etc/cernita/apples.yaml", "--check")
    machine.run("systemctl", "start", "cernitad@apples")
    machine.run("cernita-synth", "/tmp/views.tif", "--fruits", "6", "--views", "4")
    text = machine.run("cernita-replay", "/tmp/views.tif", "--to", "tcp://127.0.0.1:5555", "--rate", "max", "--verdicts",
                       "tcp://127.0.0.1:5557")
    assert "24 views" in text or "6 fruits" in text, text
    page = machine.run("python3", "-c",
                       "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8077/').read().decode())")
    assert "<html" in page and "cernita" in page
    machine.run("systemctl", "stop", "cernitad@apples")
    machine.run("cernita-archive", "--from", "/var/lib/cernita/apples/log", "--to", "/tmp/apples.sqlite")
    machine.run("cernita-report", "/tmp/apples.sqlite", "--from", "today", "--html", "/tmp/report.html")
    assert "<html" in machine.path("/tmp/report.html").read_text()


def an_upgrade_loses_no_more_than_a_restart(machine):
    """Fruits without a verdict are those that pass between the stop and the new start, one after the other."""
    before = installed(machine)
    with Service(machine) as service:
        first, pid = service.belt.sent_fruit, service.show("MainPID")
        begun_s = time.monotonic()
        machine.run("sh", "-c", "dpkg -i /later/*.deb")
        took_s = time.monotonic() - begun_s
        await_true("the line runs the new programs", lambda: service.show("MainPID") not in (pid, "0"))
        last, lost = service.belt.sent_fruit, service.lost(first)
        without = [fruit for fruit in range(first, last + 1) if fruit not in service.grader.verdicts]
    print(f"     upgraded in {took_s:.1f} s; fruits since it began: {lost}")
    assert not without or len(without) == without[-1] - without[0] + 1, f"no verdict: {without}"
    assert len(without) <= RATE * took_s and lost["partial"] <= 2, lost
    assert all(version == before[name] + "+next" for name, version in installed(machine).items())


def a_purge_leaves_nothing(machine):
    machine.run("systemctl", "start", "cernitad@line")
    names = sorted(installed(machine))
    machine.run("dpkg", "--remove", *names)
    assert machine.run("systemctl", "is-active", "cernitad@line", check=False).strip() != "active"
    assert machine.path("/etc/cernita/line.yaml").exists(), "a removal takes the line's file"
    machine.run("dpkg", "--purge", *names)
    left = files(machine) - machine.before
    assert not left, f"left: {sorted(left)[:10]}"
    assert not machine.path("/etc/cernita").exists() and not machine.path("/var/lib/cernita").exists()


def prepare(packages, later, folder):
    """What the machine has before it boots: the packages of both versions, and a line's file."""
    (folder / "packages").mkdir()
    for package in packages:
        shutil.copy(package, folder / "packages")
    shutil.copytree(later, folder / "later")
    line = settings(RUN, {
        "publish": {"grader": {"bind": f"ipc://{RUN}/grader"}, "viewers": {"bind": f"ipc://{RUN}/viewers"}},
        "latency": {"budget_ms": 500, "assemble_ms": 400}, "run": {"backend": "openmp", "workers": 1, "threads": 1}})
    line["publish"].pop("log") # as in the shipped file: the service's own folder
    (folder / "etc/cernita").mkdir(parents=True)
    (folder / "etc/cernita/line.yaml").write_text(yaml.safe_dump(line))


TESTS = [install_them, every_program_starts, python_finds_contours, the_shipped_line_runs,
         an_upgrade_loses_no_more_than_a_restart, a_purge_leaves_nothing]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--packages", type=pathlib.Path, required=True, help="folder with *.deb of one version")
    parser.add_argument("--debian", type=pathlib.Path, default=ROOT / "build-check/debian-packages",
                        help="where the bare Debian is kept")
    given = parser.parse_args()
    packages = [path for path in given.packages.glob("*.deb") if not re.search("-dbgsym_|-dev_", path.name)]
    if not packages:
        sys.exit(f"{given.packages}: no *.deb; tools/packaging/make_packages {given.packages} makes them")
    with tempfile.TemporaryDirectory() as later:
        next_version(packages, pathlib.Path(later))
        system = debian(given.debian, NEEDED)
        with Machine(system, lambda folder: prepare(packages, later, folder)) as machine:
            machine.before = files(machine)
            failed = run_tests(machine, TESTS) # each goes on where the last one ended
    print(f"{len(TESTS) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
