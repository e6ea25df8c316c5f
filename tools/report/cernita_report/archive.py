"""An archive that is only read: opening, and what is asked besides the tables."""
import difflib
import os
import sqlite3
import stat
import urllib.parse

from . import Failure, postgresql
from .period import NS_PER_HOUR, Selection, told

APPLICATION_ID = 0x43524E41  # "CRNA", tools/archive/schema.h
SCHEMA = 5
SEQUENCE_MAX = (1 << 63) - 1  # of both databases
SQLITE_MIN = (3, 37, 0)  # STRICT tables
_MAGIC = b"SQLite format 3\0"
_NAME_THE_FILE = "name the file that cernita-archive writes"
_NEEDS_RIGHTS = ("its folder may not be written, and SQLite needs that to read what another program writes: run this as the "
                 "user of cernita-archive")
_NEEDS_ROOM = "make room in /var/tmp, where SQLite sorts, or name another folder by SQLITE_TMPDIR"
_CURES = {"unable to open": _NEEDS_RIGHTS, "readonly": _NEEDS_RIGHTS, "is full": _NEEDS_ROOM, "disk I/O": _NEEDS_ROOM,
          "no such": _NAME_THE_FILE, "locked": "another program has it for itself: end that"}


def open_archive(path):
    """All that is asked sees the archive as it is now, whatever is added meanwhile."""
    if postgresql.is_url(path):
        archive = postgresql.Connection(path)
        version_of(path, archive)
        return archive
    if sqlite3.sqlite_version_info < SQLITE_MIN:
        raise Failure(f"{path}: needs SQLite 3.37, and this Python has {sqlite3.sqlite_version}: use a newer one")
    _check_file(path)
    try:
        archive = _connect(path)
        version_of(path, archive)
        archive.execute("PRAGMA cache_size = -65536")  # KiB; a piece is sorted within
        return archive
    except sqlite3.Error as fault:
        raise describe(path, fault) from None


def describe(path, fault):
    """What SQLite says, as a Failure."""
    text = str(fault)
    if isinstance(fault, sqlite3.OperationalError):
        cure = next((cure for part, cure in _CURES.items() if part in text), "try again")
        return Failure(f"{path}: {text}: {cure}")
    return Failure(f"{path}: is damaged ({text}): move it away and let cernita-archive begin a new one, which archives what "
                   "the log still has; sqlite3 FILE .recover reads the rest")


def _check_file(path):
    try:
        with open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Failure(f"{path}: is not a regular file: {_NAME_THE_FILE}")
            head = file.read(len(_MAGIC))
    except IsADirectoryError:
        raise Failure(f"{path}: is a folder: {_NAME_THE_FILE}") from None
    except PermissionError:
        raise Failure(f"{path}: may not be read: run this as a user who may") from None
    except OSError as fault:
        raise Failure(f"{path}: {fault.strerror}: {_NAME_THE_FILE}") from None
    if head != _MAGIC:
        raise Failure(f"{path}: is not an SQLite database: {_NAME_THE_FILE}")


class _File(sqlite3.Connection):
    translate = staticmethod(str)  # of the report's SQL, which is SQLite's

    def versions(self):
        """Of the schema; None if it is not an archive."""
        application, = self.execute("PRAGMA application_id").fetchone()
        return self.execute("PRAGMA user_version").fetchone()[0] if application == APPLICATION_ID else None


def name_of(path):
    """For messages and pages: of a URL without its password."""
    return postgresql.name_of(path) if postgresql.is_url(path) else path


def _connect(path):
    address = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro"
    archive = sqlite3.connect(address, uri=True, isolation_level=None, factory=_File)
    try:
        archive.execute("BEGIN")
        archive.execute("SELECT 1 FROM sqlite_schema").fetchall()
    except sqlite3.OperationalError:
        archive.close()
        if os.path.exists(f"{os.path.realpath(path)}-wal"):
            raise
        # Nothing writes to it, and this user may not create the files by which SQLite would notice a writer.
        archive = sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None, factory=_File)
        archive.execute("BEGIN")
    return archive


def version_of(path, archive):
    """The schema's version; a Failure if it is not one that this knows."""
    version = archive.versions()
    if version is None:
        raise Failure(f"{name_of(path)}: is the database of another program: {_NAME_THE_FILE}")
    if version > SCHEMA:
        raise Failure(f"{name_of(path)}: has schema {version}, of a newer cernita-archive (this cernita-report knows up to "
                      f"{SCHEMA}): use the cernita-report of that version")
    return version


def find_runs(archive):
    """run_id of all whose fruits cells.fill() counted."""
    return [run for run, in archive.execute("SELECT DISTINCT run_id FROM temp.counted ORDER BY 1")]


def find_sequences(archive, selection):
    """(run_id, lane, first, last): where gaps that touch the period have their ends. A run may be of months, of which
    this is but the period, and an hour on either side, as the clock may have been set meanwhile. Also of the run's lanes
    of which the period has no fruits."""
    found = []
    for run in find_runs(archive):
        for lane in _lanes(archive, run):
            first = _first_since(archive, run, lane, selection.from_ns - NS_PER_HOUR)
            behind = _first_since(archive, run, lane, selection.to_ns + NS_PER_HOUR)
            last, = archive.execute("SELECT MIN(sequence) FROM fruits WHERE run_id = ? AND lane = ? AND sequence >= ?",
                                    (run, lane, behind)).fetchone()
            found.append((run, lane, first, behind if last is None else last))
    return found


def _lanes(archive, run):
    """Of a run, from its index: SQLite would read all its entries for DISTINCT."""
    lane, = archive.execute("SELECT MIN(lane) FROM fruits WHERE run_id = ?", (run,)).fetchone()
    while lane is not None:
        yield lane
        lane, = archive.execute("SELECT MIN(lane) FROM fruits WHERE run_id = ? AND lane > ?", (run, lane)).fetchone()


def _first_since(archive, run, lane, ns):
    """The lowest sequence from which on fruits were judged at `ns` or later, by bisection."""
    low, last = archive.execute("SELECT MIN(sequence), MAX(sequence) FROM fruits WHERE run_id = ? AND lane = ?",
                                (run, lane)).fetchone()
    high = min(last + 1, SEQUENCE_MAX)
    while low < high:
        middle = (low + high) // 2
        sequence, published_ns = archive.execute(
            "SELECT sequence, published_ns FROM fruits WHERE run_id = ? AND lane = ? AND sequence >= ? "
            "ORDER BY sequence LIMIT 1", (run, lane, middle)).fetchone()
        low, high = (low, middle) if published_ns >= ns else (sequence + 1, high)
    return low


def no_fruits(path, archive, selection):
    """As a Failure."""
    first, last = archive.execute("SELECT (SELECT MIN(published_ns) FROM fruits), (SELECT MAX(published_ns) FROM fruits)"
                                  ).fetchone()  # in one SELECT they would read all of it
    if first is None:
        return Failure(f"{name_of(path)}: has no fruits: let cernita-archive run over the line's log first")
    return Failure(f"{name_of(path)}: no fruits from {told(selection.from_ns)} to {told(selection.to_ns)}: it has those from "
                  f"{told(first)} to {told(last)}; name a time within")


def _selection(archive, lot_id, lot):
    first, last, first_id, last_id = archive.execute(
        "SELECT MIN(published_ns), MAX(published_ns), MIN(fruit_id), MAX(fruit_id) FROM fruits INDEXED BY fruits_by_lot "
        "WHERE lot_id = ?", (lot_id,)).fetchone()
    return Selection(first, last + 1, lot, lot_id, (first_id, last_id + 1)) if first is not None else None


def _begin(archive, lot_id):
    """The time of its fruit that was archived first, or None."""
    found = archive.execute("SELECT published_ns FROM fruits INDEXED BY fruits_by_lot WHERE lot_id = ? "
                            "ORDER BY fruit_id LIMIT 1", (lot_id,)).fetchone()
    return found and found[0]


def of_lot(path, archive, lot):
    """The lot, and the same grower's lot before it, or None."""
    found = archive.execute("SELECT lot_id, grower FROM lots WHERE lot = ?", (lot,)).fetchone()
    chosen = found and _selection(archive, found[0], lot)
    if not chosen:
        raise Failure(f"{name_of(path)}: no lot '{lot}': {_nearest(archive, lot)}")
    others = archive.execute("SELECT lot_id, lot FROM lots WHERE grower = ? AND lot_id <> ?", (found[1], found[0])).fetchall()
    begins = [(_begin(archive, lot_id), lot_id, name) for lot_id, name in others]
    earlier = [one for one in begins if one[0] is not None and one[0] < chosen.from_ns]
    return chosen, _selection(archive, *max(earlier)[1:]) if earlier else None


def _nearest(archive, lot):
    lots = [name for name, in archive.execute("SELECT lot FROM lots ORDER BY lot_id DESC")]
    near = difflib.get_close_matches(lot, lots, 3, 0.4)
    if near:
        return f"the nearest are {', '.join(near)}"
    return f"the last ones are {', '.join(lots[:3])}" if lots else "it has none; name a period with --from and --to"
