"""What most tables are made from: the fruits are counted once, piece by piece of the period, not once for each table.

A cell is a temporary table. It may have several rows of equal keys: what is made from it adds them up."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Cell:
    """`sql` is a SELECT from f, the fruits of the period. Where `summed` is named, rows of equal `key` become one, so that
    memory does not grow with the period's length."""
    name: str
    sql: str
    since: int = 1  # schema of the archive that it asks
    key: typing.Tuple[str, ...] = ()
    summed: str = ""


PIECE = 200_000

# Of many rows, exactly: in thousandths, whose sum does not depend on the rows' order.
AREA = "SUM(CASE WHEN {0} >= 0 AND {0} < 1e9 THEN CAST({0} * 1000 + 0.5 AS INTEGER) END)"

HOUR_OF = "({ns} + {{offset_ns}}) / 3600000000000 * 3600000000000 - {{offset_ns}}"  # of local hours

# fruits: by minute and all that tables group by. CROSS JOIN, here and in tables: SQLite begins with the fruits.
CELLS = {cell.name: cell for cell in (
    Cell("counted", """\
SELECT published_ns / 60000000000 * 60000000000 AS minute_ns, lane, run_id, settings_id, recipe_id, lot_id, verdict_id,
  COUNT(*) AS fruits,
  COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM totals WHERE totals.fruit_id = f.fruit_id)) AS with_defect,
  COUNT(*) FILTER (WHERE total_us > budget_us) AS over_budget, COUNT(*) FILTER (WHERE views_judged > 0) AS judged,
  MIN(published_ns) AS first_ns, MAX(published_ns) AS last_ns
FROM f GROUP BY 1, lane, run_id, settings_id, recipe_id, lot_id, verdict_id"""),
    Cell("found", f"""\
SELECT {HOUR_OF.format(ns="published_ns")} AS at_ns, lane, class_id, COUNT(*) AS fruits, SUM(count) AS defects,
  {AREA.format("area_px")} AS area_px, COUNT(area_mm2) AS measured, SUM(spots) AS spots,
  {AREA.format("area_mm2")} AS area_mm2
FROM f CROSS JOIN totals USING (fruit_id) GROUP BY 1, lane, class_id"""),
    Cell("latencies", """\
SELECT budget_us, total_us, COUNT(*) AS fruits FROM f WHERE total_us IS NOT NULL GROUP BY budget_us, total_us""",
         key=("budget_us", "total_us"), summed="fruits"),
    Cell("not_judged", """\
SELECT verdict_id, state_id, reason_id, COUNT(DISTINCT f.fruit_id) AS fruits, COUNT(*) AS views
FROM f CROSS JOIN views USING (fruit_id)
WHERE verdict_id <> (SELECT name_id FROM names WHERE name = 'complete') GROUP BY verdict_id, state_id, reason_id"""),
    # An outcome of several fruits is that of its first one, and sought only where the fruit has none of its own.
    Cell("sorted", """\
SELECT f.lane, IFNULL(o.outlet_id, w.outlet_id) AS outlet_id, IFNULL(o.reason_id, w.reason_id) AS reason_id, o.result_id,
  COUNT(*) AS fruits
FROM f LEFT JOIN outcomes o ON o.run_id = f.run_id AND o.lane = f.lane AND o.sequence = f.sequence
LEFT JOIN outcomes w ON w.run_id = f.run_id AND w.lane = f.lane AND f.sequence < w.sequence + w.fruits
  AND w.sequence = CASE WHEN o.run_id IS NULL THEN (SELECT MAX(sequence) FROM outcomes
    WHERE run_id = f.run_id AND lane = f.lane AND sequence <= f.sequence) END
WHERE EXISTS (SELECT 1 FROM outcomes) GROUP BY 1, 2, 3, 4""", since=4),
    Cell("largest", f"""\
SELECT fruit_id, (SELECT {AREA.format("area_px")} FROM totals WHERE totals.fruit_id = f.fruit_id) AS area_px
FROM f ORDER BY area_px DESC NULLS LAST, fruit_id LIMIT 20"""),
)}

_FRUITS = """\
f AS NOT MATERIALIZED (
  SELECT * FROM {fruits} WHERE {where})"""


def _text(cell, selection):
    return cell.sql.format(offset_ns=selection.offset_ns)


def definitions(names, selection):
    """The named cells as common table expressions, by which a statement can be run by itself."""
    fruits = _FRUITS.format(fruits=selection.fruits, where=selection.where)
    return [fruits] * bool(names) + [f"{name} AS (\n{_text(CELLS[name], selection)})" for name in names]


def fill(connection, names, selection, step):
    """Replaces the temporary tables. `step(share)` is called with the share of the period that is counted."""
    for name in names:
        _create(connection, CELLS[name], selection)
    begin, end = selection.bounds
    for first, behind in _pieces(connection, selection):
        fruits = _FRUITS.format(fruits=selection.fruits, where=selection.within(first, behind))
        for name in names:
            connection.execute(_insert(CELLS[name], fruits, selection))
        step((behind - begin) / (end - begin))


def _pieces(connection, selection):
    """Bounds of PIECE fruits each, or few more: sorting them needs neither much memory nor the disk."""
    begin, end = selection.bounds
    while begin < end:
        behind = connection.execute(f"SELECT {selection.column} FROM {selection.fruits} "
                                    f"WHERE {selection.within(begin + 1, end)} "
                                    f"ORDER BY {selection.column} LIMIT 1 OFFSET {PIECE - 1}").fetchone()
        yield begin, behind[0] if behind else end
        begin = behind[0] if behind else end


def _create(connection, cell, selection):
    fruits = _FRUITS.format(fruits=selection.fruits, where=selection.within(0, 0))
    connection.execute(f"DROP TABLE IF EXISTS temp.{cell.name}")
    connection.execute(f"CREATE TEMP TABLE {cell.name} AS WITH {fruits} {_text(cell, selection)}")
    if cell.key:
        connection.execute(f"CREATE UNIQUE INDEX {cell.name}_key ON {cell.name} ({', '.join(cell.key)})")


def _insert(cell, fruits, selection):
    text = f"INSERT INTO temp.{cell.name} WITH {fruits} SELECT * FROM ({_text(cell, selection)}) cell WHERE TRUE"
    if cell.summed:
        text += (f" ON CONFLICT ({', '.join(cell.key)}) DO UPDATE SET {cell.summed} = {cell.name}.{cell.summed} + "
                 f"excluded.{cell.summed}")
    return text
