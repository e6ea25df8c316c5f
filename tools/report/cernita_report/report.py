"""Runs the tables' statements: a report, before it is written in any form."""
import dataclasses
import datetime
import functools
import sqlite3
import typing

from . import archive, cells, period, tables


@dataclasses.dataclass(frozen=True)
class Result:
    """`before`: the same of the period before, empty if there is none."""
    table: tables.Table
    sql: str
    rows: typing.List[typing.Dict[str, typing.Any]]
    before: typing.List[typing.Dict[str, typing.Any]]
    shift_ns: int  # between the periods

    def before_of(self, row):
        """The row of the same thing in the period before, or None."""
        return self._before_by_key.get(self._key(row, 0))

    def _key(self, row, shift_ns):
        return tuple(row[name] + shift_ns if name == "at_ns" else row[name] for name in self.table.key)

    @functools.cached_property
    def _before_by_key(self):
        return {self._key(row, self.shift_ns): row for row in self.before}


@dataclasses.dataclass(frozen=True)
class Report:
    path: str
    made: datetime.datetime
    selection: period.Selection
    before: typing.Optional[period.Selection]  # None: not known, or without fruits
    results: typing.Dict[str, Result]

    @property
    def summary(self):
        return self.results["summary"].rows[0]

    @property
    def missing(self):
        """Verdicts that the archive does not have."""
        return sum(row["missing"] for row in self.results["gaps"].rows)


def _ask(connection, version, table, selection, sequences=()):
    if version < table.since:
        return []
    sql = tables.sql_of(table, selection, sequences, is_alone=False)
    return [dict(zip(table.columns, row)) for row in connection.execute(sql)]


def _fill(connection, version, names, selection, step):
    cells.fill(connection, [name for name in names if cells.CELLS[name].since <= version], selection, step)


def _ask_before(connection, version, selection, step):
    """Rows by table; empty where it has no fruits."""
    compared = [table for table in tables.TABLES if table.is_compared]
    _fill(connection, version, dict.fromkeys(name for table in compared for name in table.cells), selection, step)
    if not archive.find_runs(connection):
        return {}
    return {table.name: _ask(connection, version, table, selection) for table in compared}


def make_report(path, choose, step=lambda share: None):
    """`choose(connection)` gives the selection, and the one before or None. `step(share)` is called as it goes on."""
    connection = archive.open_archive(path)
    try:
        version = archive.version_of(path, connection)
        selection, before = choose(connection)
        _fill(connection, version, cells.CELLS, selection, lambda share: step(share / 2))
        if not archive.find_runs(connection):
            raise archive.no_fruits(path, connection, selection)
        sequences = archive.find_sequences(connection, selection)
        rows = {table.name: _ask(connection, version, table, selection, sequences) for table in tables.TABLES}
        beside = _ask_before(connection, version, before, lambda share: step(0.5 + share / 2)) if before else {}
        shift_ns = selection.from_ns - before.from_ns if beside else 0
        results = {table.name: Result(table, connection.translate(tables.sql_of(table, selection, sequences)), rows[table.name],
                                      beside.get(table.name, []), shift_ns) for table in tables.TABLES}
        return Report(archive.name_of(path), datetime.datetime.now().astimezone(), selection, before if beside else None,
                      results)
    except sqlite3.Error as fault:
        raise archive.describe(path, fault) from None
    finally:
        connection.close()
