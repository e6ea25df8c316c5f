"""Files that are not trusted, and what is chosen of them: shared by recordings and verdict logs."""
from __future__ import annotations

import datetime
import logging
import operator
import os
import stat
from typing import BinaryIO, Collection, SupportsIndex, Union

Path = Union[str, "os.PathLike[str]"]
Time = Union[int, datetime.datetime]
Numbers = Union[int, Collection[int], None]

# Notices that end nothing, a line each: without a handler of the program's they go to stderr.
log = logging.getLogger("cernita")

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
          stat.S_IFBLK: "a device"}


class DataError(ValueError):
    """A file holds something else than it should: one line that names the file, the place and the fault."""


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading; others could block for ever. OSError, DataError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise DataError(f"{os.fspath(path)}: is {_KINDS.get(stat.S_IFMT(mode), 'no regular file')}; a file is expected")
    return open(fd, "rb")


def _numbers(argument: str, wanted: Numbers) -> Collection[int] | None:
    if wanted is None or isinstance(wanted, range):
        return wanted
    try:
        if isinstance(wanted, SupportsIndex):
            return frozenset((operator.index(wanted),))
        return frozenset(operator.index(number) for number in wanted)
    except TypeError:
        raise TypeError(f"{argument} must be a whole number, a range or a list of them, not {wanted!r}") from None


def _ns(argument: str, time: Time | None, without: int) -> int:
    if time is None:
        return without
    if isinstance(time, datetime.datetime):
        whole_s = time.replace(microsecond=0)
        return int(whole_s.timestamp()) * 10**9 + time.microsecond * 1000
    try:
        return operator.index(time)
    except TypeError:
        raise TypeError(f"{argument} must be a datetime or ns since 1970, not {time!r}") from None


class Selection:
    """Which fruits are wanted.

    >>> wanted = Selection(lane=0, fruit=range(10, 20), since=None, until=1000)
    >>> wanted.has(0, 12, 999), wanted.has(0, 12, 1000), wanted.has(0, 20, 0), wanted.has(1, 12, 0)
    (True, False, False, False)
    """

    def __init__(self, lane: Numbers, fruit: Numbers, since: Time | None, until: Time | None) -> None:
        """lane, fruit: a number, a range or a list; since (included), until (excluded): ns since 1970, or a datetime,
        local if it has no zone; None: all. TypeError names the argument."""
        self._lanes, self._fruits = _numbers("lane", lane), _numbers("fruit", fruit)
        self._since_ns = _ns("since", since, 0)
        self._until_ns = _ns("until", until, 2**64)

    def has_lane(self, lane: int) -> bool:
        return self._lanes is None or lane in self._lanes

    def has(self, lane: int, fruit: int, time_ns: int) -> bool:
        return (self.has_lane(lane) and (self._fruits is None or fruit in self._fruits)
                and self._since_ns <= time_ns < self._until_ns)


__all__ = ["DataError"]
