"""Runs the tables' statements: a report, before it is written in any form."""
import dataclasses
import datetime
import functools
import sqlite3
import typing

from . import archive, period, tables


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


def _ask(connection, table, sql):
    return [dict(zip(table.columns, row)) for row in connection.execute(sql)]


def make_report(path, choose):
    """`choose(connection)` gives the selection, and the one before or None."""
    connection = archive.open_archive(path)
    try:
        selection, before = choose(connection)
        runs, runs_before = (one and archive.find_runs(connection, one) for one in (selection, before))
        if not runs:
            raise archive.no_fruits(path, connection, selection)
        before = before if runs_before else None
        results = {}
        for table in tables.TABLES:
            sql, beside = tables.sql_of(table, selection, runs), []
            if before and table.is_compared:
                beside = _ask(connection, table, tables.sql_of(table, before, runs_before))
            results[table.name] = Result(table, sql, _ask(connection, table, sql), beside,
                                         selection.from_ns - before.from_ns if before else 0)
        return Report(path, datetime.datetime.now().astimezone(), selection, before, results)
    except sqlite3.Error as fault:
        raise archive.describe(path, fault) from None
    finally:
        connection.close()
