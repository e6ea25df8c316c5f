"""A machine to test the units on: a bare Debian of its own whose systemd runs as PID 1, in namespaces. Needs root."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import traceback

SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
PACKAGES = ["systemd", "libzmq5", "libsodium23", "libyaml-0-2", "libtiff6", "libmsgpackc2", "libyajl2", "zlib1g",
            "libmicrohttpd12", "libpng16-16", "libgomp1", "libmodbus5", "libmosquitto1", "libsqlite3-0", "libnats3.4", "libpq5"]
PATIENCE_S = 60

# Runs as PID 1 of the new namespaces, with the folder of the machine as $1; becomes its systemd.
BOOT = r"""
set -e
root=$1/root
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$root"
mount -t proc proc "$root/proc"
mount -o bind,ro "$root/proc/sys" "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run tmp dev; do mount -t tmpfs tmpfs "$root/$folder"; done
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
cd "$root"
mkdir -p outside
pivot_root . outside
umount -l /outside
mount --make-rshared / # by this systemd hands credentials over; in a container it leaves that to whoever started it
exec env -i container=cernita-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=0
"""


def debian(folder, more=()):
    """The folder of a bare Debian with PACKAGES and `more`, made by debootstrap if it is not there."""
    made = folder / "made-of"
    packages = [*PACKAGES, *more]
    wanted = " ".join([SUITE, *packages])
    if made.exists() and made.read_text() == wanted:
        return folder / "debian"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITE, folder / "debian",
                    MIRROR], check=True, stdout=subprocess.DEVNULL)
    made.write_text(wanted)
    return folder / "debian"


def cgroup_root():
    """Where cgroups of version 2 are mounted, also where those of version 1 are as well."""
    for mount in pathlib.Path("/proc/mounts").read_text().splitlines():
        if mount.split()[2] == "cgroup2":
            return pathlib.Path(mount.split()[1])
    raise RuntimeError("no cgroup2 is mounted: mount -t cgroup2 none /sys/fs/cgroup")


def await_true(what, condition, patience_s=PATIENCE_S):
    """Waits until the condition holds; returns its value."""
    until = time.monotonic() + patience_s
    while not (value := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {patience_s} s: {what}")
        time.sleep(0.01)
    return value


class Machine:
    """Booted by `with`. `install(folder)` puts files in place before. What it writes is kept in memory, or on the disk
    of the folder for temporary files, which must not be an overlay then."""

    def __init__(self, system, install, in_memory=True):
        self.system, self.install, self.in_memory = system, install, in_memory
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cernita-machine-"))
        self.cgroup = cgroup_root() / self.folder.name
        self.process = self.pid = None

    def __enter__(self):
        # Overlays need an upper folder that is not an overlay itself, as / is in a container.
        if self.in_memory:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.folder], check=True)
        try:
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def boot(self):
        for name in ("root", "upper", "work"):
            (self.folder / name).mkdir()
        self.install(self.folder / "upper")
        self.cgroup.mkdir()
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child",
             "sh", "-c", BOOT, "sh", self.folder, self.system],
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: (self.cgroup / "cgroup.procs").write_text(str(os.getpid())))
        self.pid = await_true("the machine starts", self.find_init)
        await_true("systemd answers", lambda: self.run("systemctl", "is-system-running", check=False).strip()
                   in ("running", "degraded"))

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL) # and with it all its processes
        if self.process:
            self.process.kill()
            self.process.wait()
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            await_true(f"{folder} is empty", lambda folder=folder: self.remove_cgroup(folder))
        if self.in_memory:
            subprocess.run(["umount", "--lazy", self.folder], check=True)
        shutil.rmtree(self.folder)

    @staticmethod
    def remove_cgroup(folder):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        return not os.path.exists(folder)

    def find_init(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            assert self.process.poll() is None, "the machine could not be set up; see above"
            return None
        return int(children[0]) if pathlib.Path(f"/proc/{children[0]}/comm").read_text() == "systemd\n" else None

    def run(self, *command, check=True):
        """Runs a command in the machine; its output."""
        done = subprocess.run(["nsenter", "--target", str(self.pid), "--all", "--root", "--wd", *command],
                              capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def path(self, path):
        """A path of the machine as seen from here."""
        return pathlib.Path(f"/proc/{self.pid}/root{path}")

    def process_here(self, pid):
        """The number here of a process of the machine."""
        own = os.readlink(f"/proc/{self.pid}/ns/pid")
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError):
                numbers = next(row for row in status.read_text().splitlines() if row.startswith("NSpid:")).split()
                if numbers[-1] == str(pid) and os.readlink(status.parent / "ns/pid") == own:
                    return int(status.parent.name)
        raise LookupError(f"no process {pid} in the machine")


def run_tests(machine, tests):
    """Runs each with the machine, and prints what became of it; how many failed."""
    failed = 0
    for test in tests:
        try:
            test(machine)
            print(f"ok   {test.__name__}", flush=True)
        except Exception: # pylint: disable=broad-except
            failed += 1
            print(f"FAILED: {test.__name__}\n{traceback.format_exc()}", flush=True)
            print(machine.run("journalctl", "--no-pager", "--lines", "30", check=False), flush=True)
    return failed
