#!/usr/bin/env python3
"""An archive of many fruits, for the times of cernita-report; no test runs it.

    tests/python/report/make_week.py build/bin week.sqlite [--days 7] [--per-second 10] [--lanes 1]

cernita-archive makes the tables; SQL adds the rows in batches, as cernita-archive commits them, so that the pages of the
tables are mixed as in a real archive. The last fruit is of 2026-11-27 23:59 UTC. A week takes a minute and 3 GB.
"""
import argparse
import pathlib
import random
import sqlite3
import subprocess
import tempfile

from made_log import BUDGET_MS, NS_PER_S, make_verdict, write_log

END_NS = 1795824000 * NS_PER_S
BATCH = 10_000
VIEWS = 4
CLASSES = 11

# n is the fruit's number; a multiplication and a shift of it stand for chance.
_FRUITS = """
WITH RECURSIVE n(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM n WHERE n + 1 < :end)
INSERT INTO fruits SELECT n + 2, 1 + n / :per_run, n % :lanes, n % :per_run / :lanes, 7, 100 + n, 1 + n / :per_settings % 3,
  :recipe, 1 + n / :per_lot, CASE WHEN n * 2654435761 >> 7 & 255 = 0 THEN :late
  WHEN n * 2654435761 >> 7 & 255 < 8 THEN :partial ELSE :complete END,
  :complete, 0, 0, n, :begin + n * :step - 100000000, :begin + n * :step, :begin + n * :step + 10000000, :views, :views,
  CASE WHEN n * 2654435761 >> 7 & 255 = 0 THEN 0 ELSE :views END, :budget, 8000 + (n * 2654435761 >> 9 & 16383), 20000,
  60.5, 62.25, 0.75, 9000.0 FROM n"""
_VIEWS = """
INSERT INTO views SELECT fruit_id, value, CASE WHEN verdict_id = :complete THEN :judged ELSE :lost END,
  CASE WHEN verdict_id = :complete THEN NULL ELSE :reason END, :openmp, captured_ns, 5, 500 + value, 400, 2000 + value
FROM fruits CROSS JOIN json_each(:view_list) WHERE fruit_id BETWEEN :first + 2 AND :end + 1"""
_TOTALS = """
INSERT INTO totals SELECT fruit_id, class_id, 1 + (fruit_id & 1), 12.5 + (fruit_id * 2654435761 >> 5 & 4095), 1, 3.25, 3.25, 2.5
FROM fruits CROSS JOIN levels USING (settings_id)
WHERE fruit_id BETWEEN :first + 2 AND :end + 1 AND views_judged > 0 AND (fruit_id + class_id) * 2654435761 >> 8 & 15 < 2"""
_DEFECTS = """
INSERT INTO defects SELECT t.fruit_id, value * 16 + class_id, value, class_id, 1, 0, 1, area_px, 0.8, 10, 10, 30, 30
FROM totals t CROSS JOIN json_each(:view_list) WHERE t.fruit_id BETWEEN :first + 2 AND :end + 1 AND value <= (t.fruit_id & 1)"""

_OUTCOMES = """
INSERT INTO outcomes SELECT run_id, lane, sequence, 1, fruit,
  CASE WHEN fruit_id * 2654435761 >> 6 & 7 = 0 THEN :waste ELSE :first_class END, :rule, 1, published_ns + 300000, :sorter,
  CASE WHEN fruit_id * 2654435761 >> 6 & 7 = 0 THEN CASE WHEN fruit_id & 1008 = 0 THEN :missed ELSE :confirmed END END
FROM fruits WHERE fruit_id BETWEEN :first + 2 AND :end + 1"""


def begin_archive(programs, path):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        write_log(log, [make_verdict(random.Random(1), "18a1b2c3d4e5f607", 0, 0, END_NS)])
        subprocess.run([programs / "cernita-archive", "--from", log, "--to", path], check=True, capture_output=True)
    archive = sqlite3.connect(path, isolation_level=None)
    archive.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN")
    for table in ("fruits", "views", "totals", "defects", "levels", "settings", "runs", "lots", "sources"):
        archive.execute(f"DELETE FROM {table}")
    archive.execute("COMMIT")
    return archive


def add_names(archive):
    """The words that the statements above use, by number."""
    words = ("complete", "partial", "late", "judged", "lost", "no_slot", "openmp", "plum",
             "waste", "first", "rule", "sorter", "missed", "confirmed", *(f"class {index}" for index in range(CLASSES)))
    archive.executemany("INSERT OR IGNORE INTO names (name) VALUES (?)", [(word,) for word in words])
    number = dict(archive.execute("SELECT name, name_id FROM names"))
    for settings_id in (1, 2, 3):
        archive.execute("INSERT INTO settings VALUES (?, ?, NULL)", (settings_id, f"{settings_id:016x}"))
        archive.executemany("INSERT INTO levels VALUES (?, ?, 0.5)",
                            [(settings_id, number[f"class {index}"]) for index in range(CLASSES)])
    return {"complete": number["complete"], "partial": number["partial"], "late": number["late"], "judged": number["judged"],
            **{name: number[name] for name in ("waste", "rule", "sorter", "missed", "confirmed")}, "first_class": number["first"],
            "lost": number["lost"], "reason": number["no_slot"], "openmp": number["openmp"], "recipe": number["plum"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--per-second", type=int, default=10, help="fruits of all lanes")
    parser.add_argument("--lanes", type=int, default=1)
    options = parser.parse_args()
    per_day = 86400 * options.per_second
    count = options.days * per_day
    archive = begin_archive(options.programs, options.archive)
    given = {**add_names(archive), "lanes": options.lanes, "per_run": 2 * per_day, "per_settings": per_day // 2,
             "per_lot": per_day // 12, "step": NS_PER_S // options.per_second, "begin": END_NS - options.days * 86400 * NS_PER_S,
             "views": VIEWS, "view_list": str(list(range(VIEWS))), "budget": 1000 * BUDGET_MS}
    archive.executemany("INSERT INTO runs VALUES (?, ?)",
                        [(1 + run, f"{run:016x}") for run in range(count // given["per_run"] + 1)])
    archive.executemany("INSERT INTO lots VALUES (?, ?, 'Rossi', 'Gala')",
                        [(1 + lot, str(4000 + lot)) for lot in range(count // given["per_lot"] + 1)])
    for first in range(0, count, BATCH):
        archive.execute("BEGIN")
        for statement in (_FRUITS, _VIEWS, _TOTALS, _DEFECTS, _OUTCOMES):
            archive.execute(statement, {**given, "first": first, "end": min(first + BATCH, count)})
        archive.execute("COMMIT")
    archive.close()


if __name__ == "__main__":
    main()
