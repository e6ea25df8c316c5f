"""The verdict log: every verdict of a daemon with `publish.log.dir`. src/formats/verdict_log/README.md describes the files."""
from __future__ import annotations

import os
import re
import struct
import zlib
from typing import BinaryIO, Iterator, NamedTuple

from .files import DataError, Numbers, Path, Selection, Time, log, open_regular
from .verdict import Verdict, read_verdict

_NAME = re.compile(r"cernita-([0-9]{10}|[1-9][0-9]{10,17})\.verdicts")
_HEADER = struct.Struct("<4sHHQ")
_RECORD = struct.Struct("<III")
_VERDICT_MAX = 64 << 20


class _Record(NamedTuple):
    at: int  # in its file
    lane: int
    body: bytes
    whole: bool  # the checksum is right


def _read_records(path: str, file: BinaryIO) -> Iterator[_Record]:
    """Up to where the file ends now. A damaged record is passed over alone, two in a row end the segment."""
    size = os.fstat(file.fileno()).st_size
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:  # a daemon was killed when it began the segment
        return
    magic, version, at, _ = _HEADER.unpack(header)
    if magic != b"CRNV" or version != 1 or not _HEADER.size <= at <= size:
        raise DataError(f"{path}: is not a segment of a verdict log, version 1")
    file.seek(at)
    damaged = False
    while at < size:
        record = file.read(_RECORD.size)
        length, lane, crc = _RECORD.unpack(record) if len(record) == _RECORD.size else (0, 0, 0)
        body = file.read(length) if 0 < length <= min(_VERDICT_MAX, size - at - _RECORD.size) else b""
        whole = bool(body) and zlib.crc32(body, zlib.crc32(record[:8])) == crc
        if not body or len(body) < length or (not whole and damaged):
            raise DataError(f"{path}: no whole verdict in its last {size - at} bytes: the daemon was killed while it "
                            "wrote, or they are damaged")
        yield _Record(at, lane, body, whole)
        damaged = not whole
        at += _RECORD.size + length


class VerdictLog:
    """The verdicts of a log, in the order in which they were given, of all runs in the folder.

    ::

        for verdict in VerdictLog("/var/lib/cernita/verdicts", lane=0, since=datetime(2026, 11, 23, 6)):
            print(verdict.fruit, verdict.kind, verdict.defects.table["area_px"].sum())

    May be iterated any number of times; a log that is being written is read up to its present end. Needs msgpack
    (Debian: python3-msgpack).
    """

    def __init__(self, folder: Path, *, lane: Numbers = None, fruit: Numbers = None, since: Time | None = None,
                 until: Time | None = None) -> None:
        """folder: publish.log.dir of the line's file. lane, fruit: a number, a range or a list; None: all. since
        (included), until (excluded): by published_ns, ns since 1970 or a datetime, local if it has no zone.

        OSError: the folder cannot be read; DataError: it has no verdict log; TypeError: another argument. While
        iterating, what cannot be read is skipped, each time with a line in the log "cernita" (logging), which goes to
        stderr unless the program says otherwise: a damaged verdict alone, the rest of a segment where nothing whole
        follows.
        """
        self.folder = os.fspath(folder)
        self._selection = Selection(lane, fruit, since, until)
        numbers = []
        for entry in os.scandir(self.folder):
            found = _NAME.fullmatch(entry.name)
            if found and int(found[1]) and entry.is_file(follow_symlinks=False):
                numbers.append((int(found[1]), entry.path))
        self.files = [path for _, path in sorted(numbers)]
        if not self.files:
            raise DataError(f"{self.folder}: there is no verdict log (cernita-*.verdicts) in this folder")

    def __iter__(self) -> Iterator[Verdict]:
        for path in self.files:
            try:
                with open_regular(path) as file:
                    yield from self._read(path, file)
            except FileNotFoundError:
                continue  # removed meanwhile, by publish.log.keep_mib
            except (DataError, OSError) as fault:
                log.warning("%s", fault)

    def _read(self, path: str, file: BinaryIO) -> Iterator[Verdict]:
        for record in _read_records(path, file):
            if not record.whole:
                log.warning("%s: the verdict at byte %d is damaged and was skipped", path, record.at)
                continue
            if not self._selection.has_lane(record.lane):
                continue
            try:
                verdict = read_verdict(record.body)
            except ImportError:
                raise
            except Exception as fault:  # whatever its bytes are, the next ones may be verdicts
                log.warning("%s: the verdict at byte %d cannot be read and was skipped: %r", path, record.at, fault)
                continue
            if self._selection.has(verdict.lane, verdict.fruit, verdict.published_ns):
                yield verdict

    def __repr__(self) -> str:
        return f"<cernita.VerdictLog {self.folder}: {len(self.files)} files>"


__all__ = ["VerdictLog"]
