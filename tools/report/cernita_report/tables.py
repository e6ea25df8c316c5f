"""The tables of a report, a row each: page, CSV and JSON are made from this list."""
import dataclasses
import typing

from .cells import AREA, HOUR_OF, definitions

# What the values of a column are, and the unit that the JSON states.
UNITS = {
    "time": "ns since 1970", "count": "", "share": "0 to 1", "rate": "1/min", "ms": "ms", "px2": "px²", "mm2": "mm²",
    "percent": "%", "level": "0 to 1", "lane": "", "u64": "", "text": "", "document": "",
}


@dataclasses.dataclass(frozen=True)
class Table:
    """`columns` are those of `sql` with their kind. `sql` asks `cells`, and what `further` defines.

    Rows with equal values of `key` are of the same thing in both periods; then each column of `compared` has the value
    of the period before beside it. `pivot`: row, column and value of the page's table, instead of all columns."""
    name: str
    columns: typing.Dict[str, str]
    sql: str
    cells: typing.Tuple[str, ...] = ("counted",)
    further: typing.Tuple[str, ...] = ()
    since: int = 1  # schema of the archive that it asks; it is empty of an older one
    key: typing.Tuple[str, ...] = ()
    compared: typing.Tuple[str, ...] = ()
    pivot: typing.Tuple[str, ...] = ()

    @property
    def is_compared(self):
        return bool(self.compared or self.pivot)


HOUR = HOUR_OF.format(ns="minute_ns")

KINDS = "SUM(fruits) AS fruits, " + ",\n  ".join(
    f"IFNULL(SUM(fruits) FILTER (WHERE verdict_id = (SELECT name_id FROM names WHERE name = '{kind}')), 0) AS {kind}"
    for kind in ("complete", "partial", "late"))
COUNTS = KINDS + ", SUM(with_defect) AS with_defect, SUM(over_budget) AS over_budget"
COUNTED = {"fruits": "count", "complete": "count", "partial": "count", "late": "count", "with_defect": "count",
           "over_budget": "count", "with_defect_share": "share"}


def _counted_by(columns, group):
    return f"""\
SELECT *, 1.0 * with_defect / fruits AS with_defect_share FROM (
  SELECT {columns},
  {COUNTS}
  FROM counted GROUP BY {group}) sums ORDER BY 1"""


def _by_class(name="", expression=""):
    """What of a table asks it per class, and per `name` where there is one; `expression` makes it of `counted`."""
    make, key = (f"{expression} AS {name}, ", f"{name}, ") if name else ("", "")
    looked = f"""\
looked AS (
  SELECT {key}class_id, SUM(judged) AS looked_for FROM (
    SELECT {make}settings_id, SUM(judged) AS judged FROM counted WHERE judged > 0 GROUP BY {key}settings_id) judged
  JOIN levels USING (settings_id)
  GROUP BY {key}class_id)"""
    with_it = f"""\
with_it AS (
  SELECT {key}class_id, SUM(fruits) AS fruits, SUM(defects) AS defects, SUM(area_px) / 1000.0 AS area_px,
  SUM(measured) AS measured, SUM(spots) AS spots, SUM(area_mm2) / 1000.0 AS area_mm2
  FROM found GROUP BY {key}class_id)"""
    return {"cells": ("counted", "found"), "further": (looked, with_it), "sql": f"""\
SELECT {key}name AS class, looked_for, IFNULL(fruits, 0) AS fruits, 1.0 * IFNULL(fruits, 0) / looked_for AS share,
  IFNULL(defects, 0) AS defects, IFNULL(area_px, 0.0) AS area_px, IFNULL(measured, 0) AS measured, spots, area_mm2
FROM (SELECT {key}class_id FROM looked UNION SELECT {key}class_id FROM with_it) classes
LEFT JOIN looked USING ({key}class_id) LEFT JOIN with_it USING ({key}class_id) JOIN names ON name_id = class_id
ORDER BY {key}fruits DESC, class"""}


OF_CLASS = {"class": "text", "looked_for": "count", "fruits": "count", "share": "share", "defects": "count",
            "area_px": "px2", "measured": "count", "spots": "count", "area_mm2": "mm2"}


def _sorted_by(columns, whole):
    """Fruits by outlet and `columns`, with their share of those of the same `whole`."""
    of = f"PARTITION BY {whole}" if whole else ""
    results = ",\n  ".join(
        f"IFNULL(SUM(s.fruits) FILTER (WHERE r.name {condition}), 0) AS {result}" for result, condition in (
            ("fired", "IN ('fired', 'confirmed', 'missed')"), ("confirmed", "= 'confirmed'"), ("missed", "= 'missed'"),
            ("too_late", "= 'too_late'"), ("lost", "= 'lost'")))
    return f"""\
SELECT {columns}o.name AS outlet, SUM(s.fruits) AS fruits, 1.0 * SUM(s.fruits) / SUM(SUM(s.fruits)) OVER ({of}) AS share,
  {results}
FROM sorted s LEFT JOIN names o ON o.name_id = outlet_id LEFT JOIN names r ON r.name_id = result_id
GROUP BY {columns}outlet_id, o.name ORDER BY {columns}fruits DESC, outlet NULLS FIRST"""


OF_OUTLET = {"outlet": "text", "fruits": "count", "share": "share", "fired": "count", "confirmed": "count",
             "missed": "count", "too_late": "count", "lost": "count"}

TABLES = (
    Table(
        "summary",
        {"first_ns": "time", "last_ns": "time", "lanes": "count", **COUNTED, "complete_share": "share", "minutes": "count",
         "minutes_with_fruits": "count", "availability": "share", "fruits_per_minute": "rate"},
        f"""\
SELECT first_ns, last_ns, lanes, fruits, complete, partial, late, with_defect, over_budget,
  1.0 * with_defect / fruits AS with_defect_share, 1.0 * complete / fruits AS complete_share, minutes, minutes_with_fruits,
  1.0 * minutes_with_fruits / minutes AS availability, 1.0 * fruits / minutes_with_fruits AS fruits_per_minute
FROM (
  SELECT MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns, COUNT(DISTINCT lane) AS lanes,
  {COUNTS},
  (MAX(minute_ns) - MIN(minute_ns)) / 60000000000 + 1 AS minutes, COUNT(DISTINCT minute_ns) AS minutes_with_fruits
  FROM counted) sums""",
        compared=("first_ns", "last_ns", "lanes", *COUNTED, "complete_share", "minutes", "minutes_with_fruits",
                  "availability", "fruits_per_minute")),
    Table(
        "gaps",
        {"run": "text", "lane": "lane", "first": "count", "last": "count", "missing": "count", "after_ns": "time",
         "before_ns": "time"},
        """\
SELECT run, b.lane, IFNULL(a.sequence, -1) + 1 AS first, b.sequence - 1 AS last,
  b.sequence - IFNULL(a.sequence, -1) - 1 AS missing, a.published_ns AS after_ns, b.published_ns AS before_ns
FROM (
  SELECT *, (SELECT MAX(sequence) FROM fruits
    WHERE run_id = f.run_id AND lane = f.lane AND sequence < f.sequence) AS sequence_before
  FROM looked_at CROSS JOIN fruits f USING (run_id, lane)
  WHERE f.sequence BETWEEN first_sequence AND last_sequence AND f.sequence > 0 AND NOT EXISTS (
    SELECT 1 FROM fruits WHERE run_id = f.run_id AND lane = f.lane AND sequence = f.sequence - 1)) b
CROSS JOIN runs USING (run_id)
LEFT JOIN fruits a ON a.run_id = b.run_id AND a.lane = b.lane AND a.sequence = sequence_before
WHERE b.published_ns >= {from_ns} AND IFNULL(a.published_ns, b.published_ns) < {to_ns}
ORDER BY before_ns, b.lane, first""",
        cells=(), further=("""\
looked_at (run_id, lane, first_sequence, last_sequence) AS (
  VALUES {sequences})""",)),
    Table(
        "latency",
        {"budget_ms": "ms", "fruits": "count", "p50_ms": "ms", "p99_ms": "ms", "max_ms": "ms", "over_budget": "count"},
        """\
SELECT budget_us / 1000.0 AS budget_ms, SUM(n) AS fruits,
  MIN(total_us) FILTER (WHERE 100 * up_to >= 50 * of) / 1000.0 AS p50_ms,
  MIN(total_us) FILTER (WHERE 100 * up_to >= 99 * of) / 1000.0 AS p99_ms,
  MAX(total_us) / 1000.0 AS max_ms, IFNULL(SUM(n) FILTER (WHERE total_us > budget_us), 0) AS over_budget
FROM (
  SELECT budget_us, total_us, n, SUM(n) OVER (PARTITION BY budget_us ORDER BY total_us) AS up_to,
  SUM(n) OVER (PARTITION BY budget_us) AS of FROM (
    SELECT budget_us, total_us, SUM(fruits) AS n FROM latencies GROUP BY budget_us, total_us) times) shares
GROUP BY budget_us ORDER BY budget_us NULLS FIRST""",
        cells=("latencies",),
        key=("budget_ms",), compared=("fruits", "p50_ms", "p99_ms")),
    Table("classes", OF_CLASS, **_by_class(), key=("class",), compared=("fruits", "share")),
    Table("lanes", {"lane": "lane", **COUNTED}, _counted_by("lane", "lane"), key=("lane",),
          compared=("fruits", "with_defect_share")),
    Table("outlets", OF_OUTLET, _sorted_by("", ""), cells=("sorted",), since=4, key=("outlet",),
          compared=("fruits", "share")),
    Table("outlet_lanes", {"lane": "lane", **OF_OUTLET}, _sorted_by("lane, ", "lane"), cells=("sorted",), since=4,
          key=("lane", "outlet"), compared=("fruits", "share")),
    Table(
        "outlet_reasons", {"outlet": "text", "reason": "text", "fruits": "count"},
        """\
SELECT o.name AS outlet, r.name AS reason, SUM(fruits) AS fruits
FROM sorted LEFT JOIN names o ON o.name_id = outlet_id LEFT JOIN names r ON r.name_id = reason_id
GROUP BY outlet_id, reason_id, o.name, r.name ORDER BY fruits DESC, outlet NULLS FIRST, reason NULLS FIRST""",
        cells=("sorted",), since=4, key=("outlet", "reason"), compared=("fruits",)),
    Table("class_lanes", {"lane": "lane", **OF_CLASS}, **_by_class("lane", "lane"), key=("lane", "class"),
          compared=("fruits", "share"), pivot=("lane", "class", "share")),
    Table("hours", {"at_ns": "time", **COUNTED}, _counted_by(f"{HOUR} AS at_ns", "at_ns"), key=("at_ns",),
          compared=("fruits", "with_defect_share")),
    Table("class_hours", {"at_ns": "time", **OF_CLASS}, **_by_class("at_ns", HOUR), key=("at_ns", "class"),
          compared=("fruits", "share"), pivot=("at_ns", "class", "share")),
    Table(
        "incomplete", {"verdict": "text", "state": "text", "reason": "text", "fruits": "count", "views": "count"},
        """\
SELECT v.name AS verdict, s.name AS state, r.name AS reason, SUM(fruits) AS fruits, SUM(views) AS views
FROM not_judged JOIN names v ON v.name_id = verdict_id
LEFT JOIN names s ON s.name_id = state_id LEFT JOIN names r ON r.name_id = reason_id
WHERE s.name <> 'judged' OR r.name IS NOT NULL
GROUP BY 1, 2, 3 ORDER BY fruits DESC, verdict, state NULLS FIRST, reason NULLS FIRST""",
        cells=("not_judged",),
        key=("verdict", "state", "reason"), compared=("fruits",)),
    Table(
        "in_force",
        {"first_ns": "time", "last_ns": "time", "recipe": "text", "settings": "text", "run": "text", "lanes": "count",
         "fruits": "count"},
        """\
SELECT MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns, name AS recipe, hash AS settings, run,
  COUNT(DISTINCT lane) AS lanes, SUM(n) AS fruits
FROM (
  SELECT *, SUM(changed) OVER (PARTITION BY lane ORDER BY first_ns) AS nth FROM (
    SELECT *, CASE WHEN run_id IS NOT LAG(run_id) OVER by_lane OR settings_id IS NOT LAG(settings_id) OVER by_lane
      OR recipe_id IS NOT LAG(recipe_id) OVER by_lane THEN 1 ELSE 0 END AS changed FROM (
      SELECT lane, run_id, settings_id, recipe_id, MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns, SUM(fruits) AS n
      FROM counted GROUP BY lane, run_id, settings_id, recipe_id, minute_ns) minutes
    WINDOW by_lane AS (PARTITION BY lane ORDER BY first_ns)) steps) numbered
JOIN runs USING (run_id) LEFT JOIN settings USING (settings_id) LEFT JOIN names ON name_id = recipe_id
GROUP BY nth, run_id, settings_id, recipe_id, name, hash, run ORDER BY first_ns, run_id, settings_id, recipe_id, nth"""),
    Table(
        "drift",
        {"raised_ns": "time", "cleared_ns": "time", "class": "text", "lane": "lane", "of_usual": "percent", "fruits": "count",
         "acknowledged_by": "text"},
        """\
SELECT raised_ns, ended_ns AS cleared_ns, name AS class, lane, percent AS of_usual, CAST(count AS INTEGER) AS fruits,
  acknowledged_by
FROM (
  SELECT *, IFNULL(cleared_ns, (SELECT MIN(c.time_ns) FROM changes c
    WHERE c.source = a.source AND c.what = 'start' AND c.time_ns > a.raised_ns)) AS ended_ns FROM alarms a
  WHERE condition IN ('lane_drifts', 'lot_drifts') AND raised_ns < {to_ns}) drifts
WHERE IFNULL(ended_ns, {to_ns}) >= {from_ns}
ORDER BY raised_ns, alarm_id""",
        cells=(), since=5),
    Table(
        "changes",
        {"changed_ns": "time", "what": "text", "refused": "text", "who": "text", "through": "text", "before": "text",
         "after": "text", "details": "text"},
        """\
SELECT time_ns AS changed_ns, what, CASE WHEN refused <> 0 THEN 'refused' END AS refused,
  IFNULL(user_name, CAST("user" AS TEXT)) AS who, through,
  CASE what WHEN 'recipe' THEN rb.name WHEN 'lot' THEN lb.lot ELSE sb.hash END AS before,
  CASE what WHEN 'recipe' THEN ra.name WHEN 'lot' THEN la.lot ELSE sa.hash END AS after,
  REPLACE(keys, char(10), '; ') AS details
FROM changes c
LEFT JOIN settings sb ON sb.settings_id = before_settings_id LEFT JOIN settings sa ON sa.settings_id = c.settings_id
LEFT JOIN names rb ON rb.name_id = before_recipe_id LEFT JOIN names ra ON ra.name_id = c.recipe_id
LEFT JOIN lots lb ON lb.lot_id = before_lot_id LEFT JOIN lots la ON la.lot_id = c.lot_id
WHERE time_ns >= {from_ns} AND time_ns < {to_ns} ORDER BY time_ns, change_id""",
        cells=(), since=2),
    Table(
        "levels", {"settings": "text", "class": "text", "level": "level"},
        """\
SELECT hash AS settings, name AS class, level
FROM settings JOIN levels USING (settings_id) JOIN names ON name_id = class_id
WHERE settings_id IN (SELECT settings_id FROM counted) ORDER BY hash, name""",
        pivot=("settings", "class", "level")),
    Table(
        "settings", {"settings": "text", "text": "document"},
        "SELECT hash AS settings, text FROM settings WHERE settings_id IN (SELECT settings_id FROM counted) ORDER BY hash"),
    Table(
        "lots",
        {"lot": "text", "grower": "text", "variety": "text", "first_ns": "time", "last_ns": "time", **COUNTED},
        """\
SELECT lot, grower, variety, first_ns, last_ns, fruits, complete, partial, late, with_defect, over_budget,
  1.0 * with_defect / fruits AS with_defect_share FROM (
  SELECT lot_id, MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns,
  """ + COUNTS + """
  FROM counted GROUP BY lot_id) sums LEFT JOIN lots USING (lot_id) ORDER BY first_ns, lot_id"""),
    Table(
        "worst",
        {"published_ns": "time", "lane": "lane", "epoch": "u64", "fruit": "u64", "verdict": "text", "defects": "count",
         "area_px": "px2", "area_mm2": "mm2"},
        f"""\
SELECT published_ns, lane, epoch, fruit, name AS verdict, SUM(count) AS defects,
  {AREA.format("totals.area_px")} / 1000.0 AS area_px, {AREA.format("area_mm2")} / 1000.0 AS area_mm2
FROM (SELECT fruit_id FROM largest ORDER BY area_px DESC NULLS LAST, fruit_id LIMIT 20) largest
CROSS JOIN fruits USING (fruit_id) CROSS JOIN totals USING (fruit_id) CROSS JOIN names ON name_id = verdict_id
GROUP BY fruit_id, published_ns, lane, epoch, fruit, name ORDER BY 7 DESC NULLS LAST, fruit_id""",
        cells=("largest",)),
    Table(
        "minutes", {"at_ns": "time", "fruits": "count", "complete": "count", "partial": "count", "late": "count"},
        f"""\
SELECT minute_ns AS at_ns, {KINDS}
FROM counted GROUP BY 1 ORDER BY 1""",
        key=("at_ns",), compared=("fruits",)),
)


def sql_of(table, selection, sequences, is_alone=True):
    """The whole statement; `is_alone`: it can be run by itself, with sqlite3 -readonly FILE, else after cells.fill().
    `sequences`: those to find gaps in, archive.find_sequences()."""
    given = {"offset_ns": selection.offset_ns, "from_ns": selection.from_ns, "to_ns": selection.to_ns,
             "sequences": ", ".join(map(str, sequences))}
    before = definitions(table.cells, selection) if is_alone else []
    before += [one.format(**given) for one in table.further]
    return ("WITH " + ",\n".join(before) + "\n" if before else "") + table.sql.format(**given) + ";\n"
