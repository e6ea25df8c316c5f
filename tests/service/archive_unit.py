"""The archive's unit beside that of its line. Tests of check_service.py."""
import shutil
import sqlite3
import tempfile

from live_line import Belt
from machine import await_true

UNIT, LINE = "cernita-archive@line", "cernitad@line"
RUN, FILE = "/run/cernita/line", "/var/lib/cernita/archive-line/line.sqlite"
RATE = 10 # fruits a second


def ask(machine, question):
    """A number; 0 while there is no such table yet. Of a copy: SQLite does not open a path through /proc."""
    with tempfile.TemporaryDirectory() as folder:
        for end in ("", "-wal"):
            if machine.path(FILE + end).exists():
                shutil.copy(machine.path(FILE + end), f"{folder}/line.sqlite{end}")
        archive = sqlite3.connect(f"{folder}/line.sqlite")
        try:
            return archive.execute(question).fetchone()[0] or 0
        except sqlite3.DatabaseError:
            return 0 # it was copied while it was written
        finally:
            archive.close()


def the_archive_follows_its_line(machine):
    machine.run("systemctl", "start", LINE)
    belt = Belt(f"ipc://{machine.path(RUN)}/views", rate=RATE)
    belt.start()
    log = machine.path("/var/lib/cernita/line/log")
    await_true("a log", lambda: log.exists() and any(log.iterdir()))
    machine.run("systemctl", "start", UNIT)
    await_true("an archive", machine.path(FILE).exists)
    await_true("verdicts", lambda: ask(machine, "SELECT COUNT(*) FROM fruits") > 0)
    await_true("changes", lambda: ask(machine, "SELECT COUNT(*) FROM changes WHERE what = 'start'") > 0)
    await_true("settings", lambda: ask(machine, "SELECT COUNT(*) FROM settings WHERE text IS NOT NULL") > 0)
    await_true("the log's mark", (log / "archived").exists)
    belt.ended.set()
    belt.join()
    machine.run("systemctl", "stop", LINE)
    machine.run("systemctl", "stop", UNIT)
    about = machine.run("systemctl", "show", "--property", "NRestarts,Result", UNIT)
    assert set(about.split()) == {"NRestarts=0", "Result=success"}, about
    machine.run("systemctl", "reset-failed", check=False)


TESTS = [the_archive_follows_its_line]
