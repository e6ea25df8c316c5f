"""cernita-report of an archive in PostgreSQL: the bytes of CSV, JSON and page are those of the same rows in SQLite, but for the
SQL and the archive's name. Skipped without PostgreSQL and psycopg2 (tools/setup --test).

CRN_CASES is the number of random logs (20), CRN_SEED the first seed.
"""
import datetime
import glob
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1))
sys.argv.pop(1)
PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "tools" / "report" / "cernita-report"
CASES, SEED = int(os.environ.get("CRN_CASES", 20)), int(os.environ.get("CRN_SEED", 1))
FOLDERS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
OWNER = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}

sys.path.insert(0, str(PROGRAM.parent))

from made_log import (  # noqa: E402
    LOTS, make_alarms, make_changes, make_day, make_outcomes, write_alarms, write_changes, write_log)

from cernita_report import cells, dialect, period, postgresql  # noqa: E402

try:
    import psycopg2
    pwd.getpwnam(OWNER.get("user", "root"))
    IS_THERE = bool(FOLDERS) and b"needs libpq" not in subprocess.run(
        [BIN / "cernita-archive", "--from", "/", "--to", "postgresql://127.0.0.1:1/x"], capture_output=True).stderr
except (ImportError, KeyError):
    IS_THERE = False


def run(*arguments, **given):
    return subprocess.run([sys.executable, "-B", PROGRAM, *map(str, arguments)], capture_output=True, text=True, **given)


class Server:
    """Of the user postgres where this is root, whom PostgreSQL refuses."""
    def __init__(self, folder):
        self.data = folder / "postgresql"
        self.data.mkdir(mode=0o700)
        if OWNER:
            folder.chmod(0o711)
            shutil.chown(self.data, OWNER["user"], OWNER["group"])
        subprocess.run([f"{FOLDERS[-1]}/initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
                        "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd="/", **OWNER)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        self.process = subprocess.Popen(
            [f"{FOLDERS[-1]}/postgres", "-D", self.data, "-p", str(port), "-c", "listen_addresses=127.0.0.1", "-c",
             "unix_socket_directories=", "-c", "fsync=off"], stderr=subprocess.DEVNULL, cwd="/", **OWNER)
        for _ in range(600):
            try:
                self.connection = psycopg2.connect(self.url)
                break
            except psycopg2.OperationalError:
                time.sleep(0.1)
        self.connection.autocommit = True

    def ask(self, sql, *parameters):
        cursor = self.connection.cursor()
        cursor.execute(sql, parameters or None)
        return cursor

    def fill(self, path):
        """With the rows of an SQLite archive; the tables are cernita-archive's."""
        archive = sqlite3.connect(path)
        tables = [name for name, in archive.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        self.ask("TRUNCATE " + ", ".join(tables))
        for table in tables:
            for row in archive.execute(f"SELECT * FROM {table}"):
                self.ask(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", *row)
        archive.close()

    def end(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()


@unittest.skipUnless(IS_THERE, "without PostgreSQL, psycopg2 or libpq")
class PostgresqlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="cernita-report-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.server = Server(cls.folder)
        cls.addClassCleanup(cls.server.end)

    def make(self, seed, folder):
        """A random archive, in both; returns the file and the times of its fruits."""
        rng = random.Random(seed)
        begin = period.read_time("2026-11-27") + datetime.timedelta(minutes=rng.randrange(1200))
        verdicts, _ = make_day(seed, period.to_ns(begin), rng.choice((600, 8 * 3600, 30 * 3600)), rng.randint(40, 200))
        for verdict in verdicts:  # areas whose sums depend on their order
            for total in verdict["totals"].values():
                total["area_px"] *= rng.random()
        write_log(folder / "log", verdicts)
        write_log(folder / "sorter", make_outcomes(seed, verdicts)[0])
        changes = make_changes(seed, verdicts)
        write_changes(folder / "state", changes)
        write_alarms(folder / "state", make_alarms(seed, verdicts))
        command = [BIN / "cernita-archive", "--from", folder / "log", "--sorter", folder / "sorter"]
        subprocess.run([*command, "--to", folder / "line.sqlite", "--state", folder / "state"], check=True, capture_output=True)
        subprocess.run([*command, "--to", self.server.url], check=True, capture_output=True)
        self.server.fill(folder / "line.sqlite")
        self.server.ask("UPDATE lots SET grower = 'g'")
        with sqlite3.connect(folder / "line.sqlite") as archive:
            archive.execute("UPDATE lots SET grower = 'g'")
        archive.close()
        return folder / "line.sqlite", sorted(verdict["published_ns"] for verdict in verdicts)

    def outputs(self, archive, folder, *selected):
        """What a report of the archive writes, without what names the archive or its SQL."""
        ran = run(archive, *selected, "--csv", folder / "csv", "--json", folder / "json", "--html", folder / "html")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        made = {path.name: path.read_bytes() for path in sorted((folder / "csv").iterdir())}
        data = json.loads((folder / "json").read_text())
        for table in data["tables"].values():
            table["sql"] = ""
        made["json"] = json.dumps({**data, "archive": "", "made": ""})
        text = re.sub(r"<pre.*?</pre>", "", (folder / "html").read_text(), flags=re.S)
        made["html"] = re.sub(r"\d+-\d+-\d+ \d+:\d+:\d+", "", text.replace(data["archive"], "ARCHIVE"))
        return made

    def test_the_bytes_are_those_of_sqlite(self):
        for seed in range(SEED, SEED + CASES):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory(dir=self.folder) as name:
                folder = pathlib.Path(name)
                path, times = self.make(seed, folder)
                rng = random.Random(seed)
                ends = [period.told(ns) for ns in (times[0], times[-1] + period.NS_PER_S)]
                chosen = (("--from", ends[0], "--to", ends[1]), ("--lot", rng.choice(LOTS[1:])))[seed % 2]
                wanted, found = (self.outputs(archive, folder, *chosen) for archive in (path, self.server.url))
                self.assertEqual(list(wanted), list(found))
                for what, expected in wanted.items():
                    self.assertEqual(found[what], expected, what)

    def test_its_sql_can_be_run_by_itself(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = pathlib.Path(name)
            _, times = self.make(SEED, folder)
            ran = run(self.server.url, "--from", period.told(times[0]), "--to", period.told(times[-1] + period.NS_PER_S), "--json",
                      folder / "json")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            for table in json.loads((folder / "json").read_text())["tables"].values():
                self.assertEqual(len(self.server.ask(table["sql"]).fetchall()), len(table["rows"]), table["title"])

    def test_faults_are_one_line_without_the_password(self):
        port = self.server.url.split(":")[2].split("/")[0]
        self.server.ask("DROP DATABASE IF EXISTS other")
        self.server.ask("CREATE DATABASE other")
        for url, said in ((f"postgresql://postgres:pl4in@127.0.0.1:{port}/nowhere", "name the archive's database"),
                          ("postgresql://postgres:pl4in@127.0.0.1:1/postgres", "start the server"),
                          ("postgresql://postgres:pl4in%ZZ@127.0.0.1:1/postgres", "as %XX"),
                          ("postgresql://postgres:pl4in@[::1/postgres", "as %XX"),
                          *((f"postgresql://postgres:{mark}pl4in@127.0.0.1:1/postgres", "as %XX") for mark in "#/?"),
                          (f"postgresql://nobody:pl4in@127.0.0.1:{port}/postgres", "name another user"),
                          (f"postgresql://postgres:pl4in@127.0.0.1:{port}/other", "is the database of another program")):
            ran = run(url, "--from", "today")
            self.assertEqual(ran.returncode, 1)
            self.assertIn(said, ran.stderr)
            self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
            self.assertNotIn("pl4in", ran.stderr)

    def test_who_may_only_read_gets_a_report(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            _, times = self.make(SEED, pathlib.Path(name))
            self.server.ask("DROP ROLE IF EXISTS reader")
            self.server.ask("CREATE ROLE reader LOGIN")
            url, chosen = self.server.url.replace("postgres@", "reader@"), ("--from", period.told(times[0]), "--to", "2027-01-01")
            ran = run(url, *chosen)
            self.assertIn("permission denied", ran.stderr)
            self.assertIn("GRANT SELECT", ran.stderr)
            self.server.ask("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
            ran = run(url, *chosen)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.server.ask("DROP OWNED BY reader")


class DialectTest(unittest.TestCase):
    def test_words_of_sqlite_are_translated(self):
        self.assertEqual(dialect.to_postgresql("SELECT IFNULL(a, 1.5) FROM temp.t INDEXED BY i CROSS JOIN u v USING (b)"),
                         "SELECT COALESCE(a, 1.5::float8) FROM pg_temp.t JOIN u v USING (b)")
        for cell in cells.CELLS.values():
            self.assertNotRegex(dialect.to_postgresql(cell.sql), r"IFNULL|IIF|INDEXED|CROSS JOIN \w+( \w+)? (USING|ON)")

    def test_a_url_is_shown_without_its_user(self):
        self.assertEqual(postgresql.name_of("postgresql://a:b%40@h:1/d?password=x"), "postgresql://h:1/d")


if __name__ == "__main__":
    unittest.main()
