"""cernita-report: its sums are those of the verdict log, in every form; what it compares with; what it refuses.

CRN_CASES is the number of random logs (20), CRN_SEED the first seed; of each five periods and lots are counted.
"""
import collections
import csv
import datetime
import itertools
import json
import math
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1))
sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tools" / "report" / "cernita-report"
CASES, SEED = int(os.environ.get("CRN_CASES", 20)), int(os.environ.get("CRN_SEED", 1))
PERIODS = 5
NS_PER_S = 10**9
ZONES = ("Europe/Rome", "UTC", "Asia/Kolkata", "America/St_Johns")
DAYS = ("2026-11-27", "2026-10-25", "2026-03-29")  # in two of them Rome's clocks change
SORTED_FACTS = ("fruits", "fired", "confirmed", "missed", "too_late", "lost")
SOME_FACTS = ("fruits", "complete", "partial", "late", "with_defect", "over_budget")

sys.path.insert(0, str(PROGRAM.parent))

from made_log import (  # noqa: E402
    CLASSES, LOTS, drift_within, found_in, make_alarms, make_changes, make_day, make_outcomes, make_verdict, write_alarms, write_changes,
    write_log)

from cernita_report import archive, cells, page, period, report, tables, words  # noqa: E402


def run(*arguments, **given):
    return subprocess.run([sys.executable, "-B", PROGRAM, *map(str, arguments)], capture_output=True, text=True, **given)


def make_archive(folder, verdicts, outcomes=(), changes=(), alarms=()):
    write_log(folder / "log", verdicts)
    path, more = folder / "line.sqlite", []
    if outcomes:
        write_log(folder / "sorter", outcomes)
        more += ["--sorter", folder / "sorter"]
    if changes:
        write_changes(folder / "state", changes)
        write_alarms(folder / "state", alarms)
        more += ["--state", folder / "state"]
    subprocess.run([BIN / "cernita-archive", "--from", folder / "log", "--to", path, *more], check=True, capture_output=True)
    return path


def set_zone(name):
    os.environ["TZ"] = name
    time.tzset()


def count(verdicts):
    """What COUNTS of the tables counts."""
    kinds = collections.Counter(verdict["verdict"] for verdict in verdicts)
    return {"fruits": len(verdicts), "complete": kinds["complete"], "partial": kinds["partial"], "late": kinds["late"],
            "with_defect": sum(bool(found_in(verdict)) for verdict in verdicts),
            "over_budget": sum(verdict["latency_ms"]["total"] > verdict["budget_ms"] for verdict in verdicts)}


def count_classes(verdicts):
    made = {}
    for verdict in verdicts:
        found = found_in(verdict)
        for name in verdict["totals"] if verdict["views_judged"] else ():
            row = made.setdefault(name, collections.Counter(looked_for=0, fruits=0, defects=0, area_px=0, measured=0))
            row.update(looked_for=1, fruits=int(name in found), **found.get(name, {}))
    return {name: {**row, "area_mm2": row["area_mm2"] if row["measured"] else None} for name, row in made.items()}


def group(verdicts, key):
    made = collections.defaultdict(list)
    for verdict in verdicts:
        made[key(verdict)].append(verdict)
    return dict(made)


def hour_of(ns):
    return datetime.datetime.fromtimestamp(ns // NS_PER_S).astimezone().replace(minute=0, second=0).isoformat()


def minute_of(verdict):
    return verdict["published_ns"] // (60 * NS_PER_S) * 60 * NS_PER_S


def count_in_force(verdicts):
    """Each lane's runs of equal settings, the n-th of all lanes together."""
    made = collections.defaultdict(list)
    for lane in group(verdicts, lambda verdict: verdict["lane"]).values():
        runs = itertools.groupby(lane, lambda verdict: (verdict["recipe"], verdict["settings"], verdict["run"]))
        for nth, (what, some) in enumerate(runs):
            made[nth, what].extend(some)
    rows = []
    for (_, what), some in made.items():
        times = [verdict["published_ns"] for verdict in some]
        rows.append((min(times), max(times), *what, len({verdict["lane"] for verdict in some}), len(some)))
    return sorted(rows)


def gaps_between(verdicts, chosen, from_ns, to_ns):
    """{(run, lane, first, last)} of those that touch the period, of the runs that have fruits in it."""
    made, before, runs = set(), {}, {verdict["run"] for verdict in chosen}
    for verdict in verdicts:
        key, sequence = (verdict["run"], verdict["lane"]), verdict["sequence"]
        last = before.get(key)
        after_ns = last["published_ns"] if last else verdict["published_ns"]
        first = last["sequence"] + 1 if last else 0
        if verdict["run"] in runs and sequence > first and verdict["published_ns"] >= from_ns and after_ns < to_ns:
            made.add((*key, first, sequence - 1))
        before[key] = verdict
    return made


def count_sorted(verdicts, outcomes, by_lane):
    """{(lane, outlet): fruits, fired, confirmed, missed, too_late, lost}, without lanes where not `by_lane`."""
    made = {}
    for verdict in verdicts:
        outlet, _, result = outcomes.get((verdict["run"], verdict["lane"], verdict["sequence"]), (None,) * 3)
        row = made.setdefault((verdict["lane"], outlet) if by_lane else outlet, collections.Counter())
        row.update(["fruits", result, *(["fired"] if result in ("confirmed", "missed") else [])])
    return {key: tuple(row[fact] for fact in SORTED_FACTS) for key, row in made.items()}


class ReportTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cernita-report-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.addCleanup(set_zone, os.environ.get("TZ", "UTC"))

    def refused(self, text, *arguments, status=1, **given):
        """With one line on stderr that has the text, and nothing printed."""
        ran = run(*arguments, **given)
        self.assertEqual((ran.returncode, ran.stdout), (status, ""), ran.stderr)
        last = ran.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("cernita-report: "), ran.stderr)
        self.assertIn(text, last)
        self.assertTrue(status == 2 or ran.stderr.count("\n") == 1, ran.stderr)


class Sums(ReportTest):
    """Counted by the report's SQL, and here from the verdicts that were logged."""

    def test_they_are_the_log_s(self):
        for seed in range(SEED, SEED + CASES):
            rng = random.Random(seed)
            set_zone(rng.choice(ZONES))
            begin = period.read_time(rng.choice(DAYS)) + datetime.timedelta(minutes=rng.randrange(1200))
            seconds = rng.choice((600, 8 * 3600, 30 * 3600))
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                verdicts, missing = make_day(seed, period.to_ns(begin), seconds, rng.randint(40, 400))
                # As it comes, or lane after lane, as of several logs: then times and rows are in different orders.
                in_order = rng.choice((verdicts, sorted(verdicts, key=lambda verdict: verdict["lane"])))
                entries, self.outcomes = make_outcomes(seed, in_order) if seed % 4 else ([], {})
                self.changes = make_changes(seed, verdicts) if seed % 3 else []
                self.alarms = make_alarms(seed, verdicts) if self.changes else []
                path = make_archive(pathlib.Path(folder), in_order, entries, self.changes, self.alarms)
                cells.PIECE = rng.choice((1, 7, 100, 200_000))
                for nth in range(PERIODS):
                    with self.subTest(seed=seed, nth=nth):
                        self.compare(rng, path, verdicts, missing, nth)

    def compare(self, rng, path, verdicts, missing, nth):
        """The whole, then any period, then a lot."""
        times = sorted(verdict["published_ns"] for verdict in verdicts)
        ends = sorted(rng.sample(times, 2)) if nth else [times[0], times[-1] + 1]
        lot = rng.choice([name for name in LOTS if name]) if nth == PERIODS - 1 else ""

        def choose(connection):
            return archive.of_lot(path, connection, lot) if lot else (period.Selection(*ends), None)
        made = report.make_report(path, choose)
        chosen = [verdict for verdict in verdicts
                  if (verdict["lot"] == lot if lot else ends[0] <= verdict["published_ns"] < ends[1])]
        rows = {name: result.rows for name, result in made.results.items()}
        self.assertEqual({name: made.summary[name] for name in SOME_FACTS}, count(chosen))
        self.compare_groups(rows, chosen)
        self.compare_classes(rows, chosen)
        self.compare_times(rows, chosen)
        self.compare_outlets(rows, chosen)
        self.compare_changes(rows, made.selection)
        self.assertEqual([tuple(row.values()) for row in rows["drift"]],
                         drift_within(self.alarms, self.changes, made.selection.from_ns, made.selection.to_ns))
        found = {(row["run"], row["lane"], row["first"], row["last"]) for row in rows["gaps"]}
        self.assertEqual(found, gaps_between(verdicts, chosen, made.selection.from_ns, made.selection.to_ns))
        if nth == 0:
            self.assertEqual(made.missing, missing)

    def compare_groups(self, rows, chosen):
        for name, key, expected in (("lanes", "lane", lambda verdict: verdict["lane"]),
                                    ("lots", "lot", lambda verdict: verdict["lot"] or None),
                                    ("hours", "at_ns", lambda verdict: hour_of(verdict["published_ns"]))):
            ours = {hour_of(row[key]) if key == "at_ns" else row[key]: {fact: row[fact] for fact in SOME_FACTS}
                    for row in rows[name]}
            self.assertEqual(ours, {value: count(some) for value, some in group(chosen, expected).items()}, name)
            self.assertEqual(len(ours), len(rows[name]))
        for row in rows["hours"]:
            self.assertEqual(hour_of(row["at_ns"]), period.local(row["at_ns"]).isoformat())
        self.assertEqual({row["at_ns"]: row["fruits"] for row in rows["minutes"]},
                         collections.Counter(map(minute_of, chosen)))
        reasons = collections.Counter((verdict["verdict"], state["state"], state["reason"] or None) for verdict in chosen
                                      for state in verdict["view_states"] if state["state"] != "judged")
        self.assertEqual({(row["verdict"], row["state"], row["reason"]): row["views"] for row in rows["incomplete"]}, reasons)

    def compare_outlets(self, rows, chosen):
        expected = count_sorted(chosen, self.outcomes, False) if self.outcomes else {}
        self.assertEqual({row["outlet"]: tuple(row[fact] for fact in SORTED_FACTS) for row in rows["outlets"]}, expected)
        self.assertAlmostEqual(sum(row["share"] for row in rows["outlets"]), 1 if expected else 0)
        expected = count_sorted(chosen, self.outcomes, True) if self.outcomes else {}
        self.assertEqual({(row["lane"], row["outlet"]): tuple(row[fact] for fact in SORTED_FACTS)
                          for row in rows["outlet_lanes"]}, expected)
        reasons = collections.Counter(self.outcomes.get((verdict["run"], verdict["lane"], verdict["sequence"]),
                                                        (None, None, None))[:2] for verdict in chosen)
        self.assertEqual({(row["outlet"], row["reason"]): row["fruits"] for row in rows["outlet_reasons"]},
                         reasons if self.outcomes else {})

    def compare_changes(self, rows, selection):
        expected = [(change["time_ns"], change["what"], "refused" if change["refused"] else None, change["name"], "control",
                     *((state["settings" if change["what"] in ("reload", "start") else change["what"]] or None)
                       for state in (change["before"], change["after"])), "; ".join(change["keys"]) or None)
                    for change in self.changes if selection.from_ns <= change["time_ns"] < selection.to_ns]
        self.assertEqual([tuple(row[name] for name in ("changed_ns", "what", "refused", "who", "through", "before", "after",
                                                       "details")) for row in rows["changes"]], expected)

    def compare_classes(self, rows, chosen):
        def facts(row):
            return {name: row[name] for name in ("looked_for", "fruits", "defects", "area_px", "measured", "area_mm2")}
        self.assertEqual({row["class"]: facts(row) for row in rows["classes"]}, count_classes(chosen))
        for name, key, expected in (("class_lanes", "lane", lambda verdict: verdict["lane"]),
                                    ("class_hours", "at_ns", lambda verdict: hour_of(verdict["published_ns"]))):
            ours = {(hour_of(row[key]) if key == "at_ns" else row[key], row["class"]): facts(row) for row in rows[name]}
            theirs = {(value, one): row for value, some in group(chosen, expected).items()
                      for one, row in count_classes(some).items()}
            self.assertEqual(ours, theirs, name)

    def compare_times(self, rows, chosen):
        latencies = sorted(verdict["latency_ms"]["total"] for verdict in chosen)
        row, = rows["latency"]
        for name, part in (("p50_ms", 0.5), ("p99_ms", 0.99), ("max_ms", 1)):
            self.assertEqual(row[name], latencies[math.ceil(round(part * len(latencies), 6)) - 1], name)
        summary, = rows["summary"]
        minutes = {minute_of(verdict) for verdict in chosen}
        all_minutes = (max(minutes) - min(minutes)) // (60 * NS_PER_S) + 1
        self.assertEqual((summary["minutes_with_fruits"], summary["minutes"]), (len(minutes), all_minutes))
        self.assertEqual(summary["availability"], len(minutes) / all_minutes)
        self.assertEqual([(row["first_ns"], row["last_ns"], row["recipe"] or "", row["settings"], row["run"], row["lanes"],
                           row["fruits"]) for row in rows["in_force"]], count_in_force(chosen))
        areas = sorted((sum(one["area_px"] for one in found_in(verdict).values()) for verdict in chosen if found_in(verdict)),
                       reverse=True)
        self.assertEqual([row["area_px"] for row in rows["worst"]], areas[:20])


class Outputs(ReportTest):
    """Two days of one shift."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="cernita-report-")
        cls.addClassCleanup(scratch.cleanup)
        os.environ["TZ"] = "Europe/Rome"
        time.tzset()
        begin_ns = period.to_ns(period.read_time("2026-11-26 06:00"))
        cls.days = [make_day(day, begin_ns + day * 86400 * NS_PER_S, 4 * 3600, 500)[0] for day in (0, 1)]
        for day, verdicts in enumerate(cls.days):
            for verdict in verdicts:
                verdict["run"] = f"{verdict['run'][:-3]}{day}{verdict['run'][-2:]}"
        cls.days[1][0]["lot"] = "</script><b>"
        verdicts = cls.days[0] + cls.days[1]
        cls.path = make_archive(pathlib.Path(scratch.name), verdicts, make_outcomes(1, verdicts)[0],
                                make_changes(1, verdicts), make_alarms(1, verdicts))

    def setUp(self):
        super().setUp()
        set_zone("Europe/Rome")

    def make(self, *arguments):
        ran = run(self.path, *arguments, "--html", self.folder / "a.html", "--csv", self.folder / "csv",
                  "--json", self.folder / "a.json")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout, json.loads((self.folder / "a.json").read_text())

    def shift(self):
        return self.make("--from", "2026-11-27 06:00", "--to", "2026-11-27 10:00")

    def test_yesterday_s_hours_are_beside(self):
        told, made = self.shift()
        self.assertIn(f": {len(self.days[1])} fruits, ", told)
        self.assertEqual((made["period"]["from"], made["before"]["from"]),
                         ("2026-11-27T06:00:00.000+01:00", "2026-11-26T06:00:00.000+01:00"))
        for name in ("lanes", "hours"):
            self.assertEqual(sum(row["fruits"] for row in made["tables"][name]["before"]), len(self.days[0]))
        with open(self.folder / "csv" / "hours.csv", encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row, before in zip(rows, made["tables"]["hours"]["before"]):
            self.assertEqual(row["fruits_before"], str(before["fruits"]))
        self.assertEqual([row["at_local"] for row in rows], [f"2026-11-27 {hour:02}:00:00" for hour in range(6, 10)])
        self.assertEqual(rows[0]["at_utc"], "2026-11-27T05:00:00Z")

    def test_a_longer_period_has_the_same_length_before(self):
        made = self.make("--from", "2026-11-26", "--to", "2026-11-27")[1]
        self.assertEqual((made["period"]["to"][:10], made["before"]), ("2026-11-28", None))
        self.assertIn("There is no period before to compare with", (self.folder / "a.html").read_text())
        begin, end = map(period.read_time, ("2026-11-20", "2026-11-23"))
        before = period.of_times(begin, end)[1]
        self.assertEqual(period.told(before.from_ns), "2026-11-17 00:00:00")

    def test_a_lot_s_grower_had_one_before(self):
        writer = sqlite3.connect(self.path)
        self.addCleanup(writer.close)
        made = self.make("--lot", "Müller 17")[1]
        self.assertIsNone(made["before"])
        writer.execute("UPDATE lots SET grower = 'Rossi' WHERE lot IN ('4711', '4712', 'Müller 17')")
        writer.commit()
        made = self.make("--lot", "Müller 17")[1]
        self.assertEqual((made["period"]["lot"], made["before"]["lot"]), ("Müller 17", "4712"))
        self.assertEqual(made["tables"]["summary"]["rows"][0]["fruits"],
                         sum(verdict["lot"] == "Müller 17" for day in self.days for verdict in day))
        self.assertEqual(made["tables"]["lots"]["rows"][0]["grower"], "Rossi")

    def test_an_older_archive_lacks_what_came_later(self):
        path = self.folder / "older.sqlite"
        path.write_bytes(self.path.read_bytes())
        expected = self.shift()[1]["tables"]
        for version, step, empty in (
                (4, "DROP TABLE alarms", {"drift"}),
                (3, "DROP VIEW fruit_outcomes; ALTER TABLE outcomes DROP COLUMN result_id", {"drift", "outlets"}),
                (2, "DROP TABLE outcomes", {"drift", "outlets"}),
                (1, "DROP VIEW change_gaps; DROP TABLE changes", {"drift", "outlets", "changes"})):
            database = sqlite3.connect(path)
            database.executescript(f"{step}; PRAGMA user_version = {version}")
            database.close()
            ran = run(path, "--from", "2026-11-27 06:00", "--to", "2026-11-27 10:00", "--html", self.folder / "b.html",
                      "--json", self.folder / "b.json")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            made = json.loads((self.folder / "b.json").read_text())["tables"]
            for name in ("outlets", "changes", "drift", "lanes", "worst"):
                self.assertTrue(expected[name]["rows"])
                self.assertEqual(made[name]["rows"], [] if name in empty else expected[name]["rows"], name)

    def test_csv_and_json_have_the_same(self):
        _, made = self.shift()
        self.assertEqual(sorted(path.stem for path in (self.folder / "csv").iterdir()), sorted(made["tables"]))
        for name, table in made["tables"].items():
            text = (self.folder / "csv" / f"{name}.csv").read_bytes().decode()
            self.assertTrue(text.startswith("\ufeff\"") and text.endswith("\r\n"))
            rows = list(csv.DictReader(text[1:].splitlines(), quoting=csv.QUOTE_NONNUMERIC))
            self.assertEqual(len(rows), len(table["rows"]), name)
            for ours, theirs in zip(rows, table["rows"]):
                for column in table["columns"]:
                    if column["unit"] != "ns since 1970":
                        expected = theirs[column["name"]]
                        expected = f"'{expected}" if str(expected)[:1] in "=+-@" and expected else expected
                        expected = float(expected) if isinstance(expected, int) else expected  # as csv reads numbers
                        self.assertEqual(ours[column["name"]], "" if expected is None else expected)
        names = {row["class"] for row in made["tables"]["classes"]["rows"]}
        self.assertEqual(names, set(CLASSES))
        self.assertEqual(made["tables"]["worst"]["rows"][0]["epoch"], 2**64 - 1)

    def test_the_sql_that_is_shown_gives_the_table(self):
        _, made = self.shift()
        text = (self.folder / "a.html").read_text()
        reader = sqlite3.connect(self.path)
        self.addCleanup(reader.close)
        for table in tables.TABLES:
            shown = made["tables"][table.name]
            rows = [list(row) for row in reader.execute(shown["sql"])]
            self.assertEqual([[page.value_of(kind, value) for kind, value in zip(table.columns.values(), row)] for row in rows],
                             [[row[name] for name in table.columns] for row in shown["rows"]], table.name)
            self.assertIn(page.html.escape(shown["sql"]), text)

    def test_the_page(self):
        _, made = self.shift()
        text = (self.folder / "a.html").read_text()
        for table in made["tables"].values():
            self.assertIn(f"<h2>{table['title']}</h2>", text)
        own = re.sub(r"<!--.*?-->|<script>.*?</script>|<style>.*?</style>", "", text, flags=re.S)
        self.assertNotRegex(own, r"https?:|\ssrc=|\shref=|@import")
        self.assertNotIn("</script><b>", text)
        self.assertIn("&lt;/script&gt;&lt;b&gt;", own)
        self.assertIn(f"{made['missing_verdicts']} verdicts are missing in the archive", own)
        self.assertIn("CET (UTC+01:00)", own)
        if not os.path.exists("/usr/share/javascript/chart.js/chart.min.js"):
            self.skipTest("without libjs-chart.js there is no chart to look for")
        self.assertEqual((text.count("Chart.js v3"), text.count("Permission is hereby granted")), (1, 1))

    def test_a_page_without_charts_says_so(self):
        selection = period.of_times(*map(period.read_time, ("2026-11-27 06:00", "2026-11-27 10:00")))
        made = page.make_page(report.make_report(self.path, lambda _: selection), words.ENGLISH, None)
        self.assertIn("Install libjs-chart.js", made)
        self.assertNotIn("<canvas", made)

    def test_every_language_has_all_texts(self):
        for language in words.LANGUAGES.values():
            self.assertEqual({table.name for table in tables.TABLES}, set(language["tables"]))
            self.assertEqual({name for table in tables.TABLES for name in table.columns}, set(language["columns"]))
            self.assertEqual(set(language), set(words.ENGLISH))

    def test_who_may_not_write_the_folder_reads_it(self):
        if os.geteuid():
            self.skipTest("only root can run it as another user")
        copy = self.folder / "read"
        copy.mkdir()
        (copy / "line.sqlite").write_bytes(self.path.read_bytes())
        for path in (self.folder, copy, copy / "line.sqlite"):
            path.chmod(0o755)
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from cernita_report import archive; " \
               "print(archive.open_archive(sys.argv[1]).execute('SELECT COUNT(*) FROM fruits').fetchone()[0])"
        ran = subprocess.run(["/usr/bin/python3", "-B", "-c", code, PROGRAM.parent, copy / "line.sqlite"],
                             capture_output=True, text=True, user=65534, group=65534, extra_groups=[], cwd="/")
        if "cernita_report" in ran.stderr and "No module" in ran.stderr:
            self.skipTest("another user may not read this tree")
        self.assertEqual((ran.stdout, ran.stderr), (f"{sum(map(len, self.days))}\n", ""))

    def test_what_is_refused(self):
        day = ("--from", "2026-11-27")
        self.refused("no fruits from 2026-11-01 00:00:00 to 2026-11-02 00:00:00: it has those from 2026-11-26 06:0", self.path,
                     "--from", "2026-11-01")
        self.refused("no lot '471': the nearest are 471", self.path, "--lot", "471")
        self.refused("no lot 'xyz': the last ones are ", self.path, "--lot", "xyz")
        self.refused(f"{self.folder}/none: No such file or directory: name the file", self.folder / "none", *day)
        self.refused(f"{self.folder}: is a folder", self.folder, *day)
        self.refused("/dev/null: is not a regular file", "/dev/null", *day)
        other = self.folder / "other"
        other.write_text("text")
        self.refused(f"{other}: is not an SQLite database: name the file that cernita-archive writes", other, *day)
        for name, statements, text in (
                ("foreign", "CREATE TABLE a (b)", "is the database of another program"),
                ("newer", f"PRAGMA application_id = {archive.APPLICATION_ID}; PRAGMA user_version = 999",
                 f"has schema 999, of a newer cernita-archive (this cernita-report knows up to {archive.SCHEMA})"),
                ("bare", f"PRAGMA application_id = {archive.APPLICATION_ID}; PRAGMA user_version = 1",
                 "no such table: fruits: name the file that cernita-archive writes")):
            database = sqlite3.connect(self.folder / name)
            database.executescript(statements)
            database.close()
            self.refused(text, self.folder / name, *day)
        damaged = self.folder / "damaged"
        content = bytearray(self.path.read_bytes())
        content[4096:] = os.urandom(len(content) - 4096)
        damaged.write_bytes(content)
        self.refused(f"{damaged}: is damaged (", damaged, *day)
        damaged.write_bytes(self.path.read_bytes()[:len(content) // 2])
        self.refused(f"{damaged}: is damaged (", damaged, *day)
        (self.folder / "nothing").touch()
        self.refused("nothing: is not an SQLite database", self.folder / "nothing", *day)
        empty = make_archive(self.folder, [make_verdict(random.Random(1), "a", 0, 0, NS_PER_S)])
        database = sqlite3.connect(empty)
        database.executescript("DELETE FROM fruits")
        database.close()
        self.refused("has no fruits: let cernita-archive run", empty, *day)
        self.assertEqual(run(self.path, "--from", "today").returncode, 1)

    def test_wrong_options(self):
        for text, *arguments in (
                ("'26.11.2026' is not a time such as", "--from", "26.11.2026"), ("'2026-13-01' is not", "--from", "2026-13-01"),
                ("argument --to: '1'", "--from", "2026-11-27", "--to", "1"),
                ("a lot has its own times", "--lot", "a", "--to", "now"),
                ("one of the arguments --from --lot is required",), ("not allowed with", "--lot", "a", "--from", "today")):
            self.refused(text, self.path, *arguments, status=2)
        self.refused("is not before --to 2026-11-27 06:00:00: name a later end", self.path, "--from", "2026-11-27 10:00",
                     "--to", "2026-11-27 06:00", status=2)

    def test_outputs_that_are_left_alone(self):
        day = (self.path, "--from", "2026-11-27")
        link, target = self.folder / "link", self.folder / "target"
        link.symlink_to(target)
        target.write_text("mine")
        self.refused(f"{link}: is a symbolic link to {target}", *day, "--html", link)
        self.refused(f"{self.folder}: exists and is not a regular file", *day, "--json", self.folder)
        self.refused(f"{target}: exists and is not a folder", *day, "--csv", target)
        self.refused(f"{self.folder}/no/a.part: No such file or directory", *day, "--json", self.folder / "no" / "a")
        self.refused("/none.js: No such file or directory", *day, "--html", target, "--chart-js", "/none.js")
        (self.folder / "target.part").touch()
        self.refused(f"{target}.part: another cernita-report writes it", *day, "--html", target)
        self.assertEqual(target.read_text(), "mine")


if __name__ == "__main__":
    if not (BIN / "cernita-archive").exists():
        print("skipped: there is no cernita-archive, which needs SQLite")
    else:
        unittest.main()
