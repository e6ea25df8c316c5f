"""CSV and JSON of a report, and files that appear complete or not at all."""
import csv
import datetime
import io
import json
import os
import stat

from . import Failure
from .period import NS_PER_S, local, told, zone_of
from .tables import UNITS

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(path, text):
    """Replaces a regular file, or makes a new one."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISLNK(mode):
        raise Failure(f"{path}: is a symbolic link to {os.readlink(path)}: name that file")
    if not stat.S_ISREG(mode):
        raise Failure(f"{path}: exists and is not a regular file: name another one")
    part = f"{path}.part"
    try:
        with open(part, "x", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(part, path)
    except FileExistsError:
        raise Failure(f"{part}: another cernita-report writes it, or one was killed: then remove it") from None
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def make_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError:
        raise Failure(f"{path}: exists and is not a folder: name another one") from None


def _bare(name):
    return name[:-3] if name.endswith("_ns") else name


def value_of(kind, value):
    """A number of 64 bits, which SQLite has with a sign, as it was."""
    return value % 2**64 if kind == "u64" and value is not None else value


def _iso(ns):
    return local(ns).replace(microsecond=ns % NS_PER_S // 1000).isoformat(timespec="milliseconds")


def _csv_cells(name, kind, value):
    """A time is two columns: local, which spreadsheets read as a time, and UTC, which no change of clocks doubles."""
    if kind == "time":
        utc = value is not None and datetime.datetime.fromtimestamp(value // NS_PER_S, datetime.timezone.utc)
        return {f"{_bare(name)}_local": told(value) if utc else "",
                f"{_bare(name)}_utc": utc.strftime("%Y-%m-%dT%H:%M:%SZ") if utc else ""}
    if isinstance(value, str) and value.startswith(_FORMULA):
        value = f"'{value}"  # else a spreadsheet takes it for a formula
    return {name: "" if value is None else value_of(kind, value)}


def to_csv(result):
    """With the mark by which Excel knows UTF-8."""
    table, lines = result.table, []
    for row in result.rows or [dict.fromkeys(table.columns)]:
        before, cells = result.before_of(row) or {}, {}
        for name, kind in table.columns.items():
            cells.update(_csv_cells(name, kind, row[name]))
            if name in table.compared:
                cells.update(_csv_cells(name[:-3] + "_before_ns" if name.endswith("_ns") else f"{name}_before", kind,
                                        before.get(name)))
        lines.append(cells)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    if result.rows:
        writer.writerows(lines)
    return "\ufeff" + text.getvalue()


def _json_row(table, row):
    made = {}
    for name, kind in table.columns.items():
        made[name] = value_of(kind, row[name])
        if kind == "time":
            made[_bare(name)] = None if row[name] is None else _iso(row[name])
    return made


def _json_selection(selection):
    return selection and {"lot": selection.lot or None, "from": _iso(selection.from_ns), "from_ns": selection.from_ns,
                          "to": _iso(selection.to_ns), "to_ns": selection.to_ns, "zone": zone_of(selection)}


def to_json(report, words):
    made = {"version": 1, "archive": report.path, "made": report.made.isoformat(timespec="seconds"),
            "period": _json_selection(report.selection), "before": _json_selection(report.before),
            "missing_verdicts": report.missing, "tables": {}}
    for name, result in report.results.items():
        table = result.table
        made["tables"][name] = {
            "title": words["tables"][name], "sql": result.sql,
            "columns": [{"name": column, "title": words["columns"][column], "unit": UNITS[kind]}
                        for column, kind in table.columns.items()],
            "rows": [_json_row(table, row) for row in result.rows],
            "before": [_json_row(table, row) for row in result.before],
        }
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"
