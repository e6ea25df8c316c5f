"""An archive that is only read: opening, and what is asked besides the tables."""
import difflib
import os
import sqlite3
import stat
import urllib.parse

from . import Failure
from .period import Selection, told

APPLICATION_ID = 0x43524E41  # "CRNA", tools/archive/schema.h
SCHEMA = 2
SQLITE_MIN = (3, 37, 0)  # STRICT tables
_MAGIC = b"SQLite format 3\0"
_NAME_THE_FILE = "name the file that cernita-archive writes"


def open_archive(path):
    """All that is asked sees the archive as it is now, whatever is added meanwhile."""
    if sqlite3.sqlite_version_info < SQLITE_MIN:
        raise Failure(f"{path}: needs SQLite 3.37, and this Python has {sqlite3.sqlite_version}: use a newer one")
    _check_file(path)
    try:
        archive = _connect(path)
        _check_schema(path, archive)
        return archive
    except sqlite3.Error as fault:
        raise describe(path, fault) from None


def describe(path, fault):
    """What SQLite says, as a Failure."""
    text = str(fault)
    if isinstance(fault, sqlite3.OperationalError):
        cure = ("its folder may not be written, and SQLite needs that to read what another program writes: run this as the "
                "user of cernita-archive" if "open" in text or "readonly" in text else "try again")
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


def _connect(path):
    address = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro"
    archive = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        archive.execute("BEGIN")
        archive.execute("SELECT 1 FROM sqlite_schema").fetchall()
    except sqlite3.OperationalError:
        archive.close()
        if os.path.exists(f"{path}-wal"):
            raise
        # Nothing writes to it, and this user may not create the files by which SQLite would notice a writer.
        archive = sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None)
        archive.execute("BEGIN")
    return archive


def _check_schema(path, archive):
    application, = archive.execute("PRAGMA application_id").fetchone()
    version, = archive.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise Failure(f"{path}: is the database of another program: {_NAME_THE_FILE}")
    if version > SCHEMA:
        raise Failure(f"{path}: has schema {version}, of a newer cernita-archive (this cernita-report knows up to {SCHEMA}): "
                      "use the cernita-report of that version")


def find_runs(archive, selection):
    """run_id of all that it has fruits of."""
    return [run for run, in archive.execute(f"SELECT DISTINCT run_id FROM fruits WHERE {selection.where}")]


def no_fruits(path, archive, selection):
    """As a Failure."""
    first, last = archive.execute("SELECT MIN(published_ns), MAX(published_ns) FROM fruits").fetchone()
    if first is None:
        return Failure(f"{path}: has no fruits: let cernita-archive run over the line's log first")
    return Failure(f"{path}: no fruits from {told(selection.from_ns)} to {told(selection.to_ns)}: it has those from "
                  f"{told(first)} to {told(last)}; name a time within")


def _selection(archive, lot_id, lot):
    where = f"lot_id = {lot_id}"
    first, last = archive.execute(f"SELECT MIN(published_ns), MAX(published_ns) FROM fruits WHERE {where}").fetchone()
    return first is not None and Selection(first, last + 1, where, lot)


def of_lot(path, archive, lot):
    """The lot, and the same grower's lot before it, or None."""
    found = archive.execute("SELECT lot_id, grower FROM lots WHERE lot = ?", (lot,)).fetchone()
    chosen = found and _selection(archive, found[0], lot)
    if not chosen:
        raise Failure(f"{path}: no lot '{lot}': {_nearest(archive, lot)}")
    before = None
    if found[1]:
        for lot_id, name in archive.execute("SELECT lot_id, lot FROM lots WHERE grower = ? AND lot_id <> ?",
                                            (found[1], found[0])):
            other = _selection(archive, lot_id, name)
            if other and other.from_ns < chosen.from_ns and (not before or other.from_ns > before.from_ns):
                before = other
    return chosen, before


def _nearest(archive, lot):
    lots = [name for name, in archive.execute("SELECT lot FROM lots ORDER BY lot_id DESC")]
    near = difflib.get_close_matches(lot, lots, 3, 0.4)
    if near:
        return f"the nearest are {', '.join(near)}"
    return f"the last ones are {', '.join(lots[:3])}" if lots else "it has none; name a period with --from and --to"
