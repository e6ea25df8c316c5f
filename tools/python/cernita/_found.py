"""Contours as flat arrays, and the memory that they are found into, which a context keeps from one call to the next."""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np
import numpy.typing as npt

from ._arguments import whole
from ._context import Context
from ._library import MEMORY_HOST, ContoursParams, Image
from ._library import Contours as _Found

_POINT = np.dtype([("x", "f8"), ("y", "f8")])
_CONTOUR = np.dtype([("plane", "i4"), ("closed", "?"), ("first", "u4"), ("count", "u4")], align=True)

_COUNT_MAX = 2**32 - 1  # of points and of contours of one call
_LARGE = 1 << 20  # points, from which on a result takes the memory instead of a copy


class Contours:
    """Contours of many planes as flat arrays, ordered by plane, within a plane as skimage orders them.

    points: (n, 2) float64, row and column. offsets: (m + 1,) int64; the points of contour i are
    points[offsets[i]:offsets[i + 1]]. planes: (m,) int32. closed: (m,) bool; a closed contour repeats its first point
    as its last. plane_count: how many planes were searched. A Contours is a sequence of its contours, each a view of
    points.
    """
    __slots__ = ("closed", "offsets", "plane_count", "planes", "points")

    def __init__(self, points: npt.NDArray[np.float64], offsets: npt.NDArray[np.int64], planes: npt.NDArray[np.int32],
                 closed: npt.NDArray[np.bool_], plane_count: int) -> None:
        self.points, self.offsets, self.planes, self.closed = points, offsets, planes, closed
        self.plane_count = plane_count

    def __len__(self) -> int:
        return len(self.planes)

    def __getitem__(self, index: int) -> npt.NDArray[np.float64]:
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no contour {number} of {len(self)}")
        index = number % len(self)
        return self.points[self.offsets[index]:self.offsets[index + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.float64]]:
        return iter(self.polylines())

    def __repr__(self) -> str:
        return f"<Contours: {len(self)} of {len(self.points)} points>"

    def polylines(self, plane: int | None = None) -> list[npt.NDArray[np.float64]]:
        """The contours of one plane, or of all: a list of (n, 2) arrays that share their memory with `points`.

        plane: 0 to plane_count - 1; None: all. ValueError: there is no such plane; one without contours has an empty
        list.
        """
        begin, end = 0, len(self)
        if plane is not None:
            plane = whole("plane", plane, 0, self.plane_count - 1)
            begin, end = np.searchsorted(self.planes, (plane, plane + 1)).tolist()
        points, cuts = self.points, self.offsets[begin:end + 1].tolist()
        return [points[first:last] for first, last in zip(cuts, cuts[1:])]


class Part(NamedTuple):
    """What one call of the library finds: some planes, the first of which is number `plane`."""
    image: Image
    plane: int
    params: ContoursParams


class _Buffer:
    """Memory that contours are found into: it grows, and the second result of a size allocates nothing."""
    gives_memory = True  # to a large result

    def __init__(self, points: int, contours: int) -> None:
        self._use(np.empty(points, _POINT), np.empty(contours, _CONTOUR))
        self.addresses = self.points.ctypes.data, self.contours.ctypes.data
        self.begin()

    def _use(self, points: npt.NDArray[Any], contours: npt.NDArray[Any]) -> None:
        """Takes these arrays, and views of their fields: to make them takes longer than to copy a result."""
        self.points, self.contours = points, contours
        self.columns, self.rows = points["x"], points["y"]
        self.planes, self.closed, self.firsts = contours["plane"], contours["closed"], contours["first"]

    def begin(self) -> None:
        """Forgets what was found."""
        self.point_count = self.contour_count = self.parts = 0

    def rest(self) -> _Found:
        """What is left of it."""
        points, contours = self.addresses
        return _Found(points + _POINT.itemsize * self.point_count, contours + _CONTOUR.itemsize * self.contour_count,
                      min(len(self.points) - self.point_count, _COUNT_MAX),
                      min(len(self.contours) - self.contour_count, _COUNT_MAX))

    def take(self, found: _Found, plane: int) -> None:
        """Keeps what was found, as of the planes from `plane` on."""
        self.parts += 1
        if plane:
            new = self.contours[self.contour_count:self.contour_count + found.contour_count]
            new["plane"] += plane
        self.point_count += found.point_count
        self.contour_count += found.contour_count

    def grow(self, context: Context) -> None:
        """Four times as large, with what was found."""
        larger = np.empty(4 * len(self.points), _POINT), np.empty(4 * len(self.contours), _CONTOUR)
        for old, new, count in zip((self.points, self.contours), larger, (self.point_count, self.contour_count)):
            new[:count] = old[:count]
        self._use(*larger)
        self.addresses = self.points.ctypes.data, self.contours.ctypes.data

    def wait(self, context: Context) -> None:
        """Until what was found is there."""

    def free(self, context: Context) -> None:
        """Gives memory back that is the context's."""

    def keep(self) -> bool:
        """Whether to keep it for the next call."""
        return 0 < len(self.points) <= _LARGE

    def result(self, plane_count: int) -> Contours:
        count, points = self.contour_count, self.point_count
        offsets = np.empty(count + 1, np.int64)
        if self.parts == 1:
            offsets[:count] = self.firsts[:count]
            offsets[count] = points
        else:
            offsets[0] = 0
            np.cumsum(self.contours["count"][:count], out=offsets[1:])
        planes, closed = self.planes[:count].copy(), self.closed[:count].copy()
        return Contours(self._pairs(points), offsets, planes, closed, plane_count)

    def _pairs(self, count: int) -> npt.NDArray[np.float64]:
        """The points as row and column."""
        if count < _LARGE or not self.gives_memory:
            points = np.empty((count, 2))
            points[:, 0] = self.rows[:count]
            points[:, 1] = self.columns[:count]
            return points
        points = self.points[:count].view(np.float64).reshape(count, 2)
        for first in range(0, count, _LARGE // 16):  # in place, a piece at a time: the memory itself becomes the result
            piece = points[first:first + _LARGE // 16]
            piece[:] = piece[:, ::-1].copy()
        self._use(np.empty(0, _POINT), self.contours)
        return points


class _PinnedBuffer(_Buffer):
    """Pinned memory of the context, which a device writes to."""
    gives_memory = False

    def __init__(self, context: Context, points: int, contours: int) -> None:
        self._reserve(context, points, contours)
        self.begin()

    def _reserve(self, context: Context, points: int, contours: int) -> None:
        sizes = points * _POINT.itemsize, contours * _CONTOUR.itemsize
        self.address = context.pin(64 + sum(sizes))
        self.found = _Found.from_address(self.address)
        self.addresses = self.address + 64, self.address + 64 + sizes[0]
        self._use(*(np.frombuffer(memoryview((ctypes.c_char * size).from_address(begin)), dtype)
                    for begin, size, dtype in zip(self.addresses, sizes, (_POINT, _CONTOUR))))

    def rest(self) -> _Found:
        found, (points, contours) = self.found, self.addresses
        found.points = points + _POINT.itemsize * self.point_count
        found.contours = contours + _CONTOUR.itemsize * self.contour_count
        found.point_capacity = min(len(self.points) - self.point_count, _COUNT_MAX)
        found.contour_capacity = min(len(self.contours) - self.contour_count, _COUNT_MAX)
        return found

    def wait(self, context: Context) -> None:
        context.wait()

    def keep(self) -> bool:
        return True

    def grow(self, context: Context) -> None:
        points, contours = self.points[:self.point_count].copy(), self.contours[:self.contour_count].copy()
        sizes = 4 * len(self.points), 4 * len(self.contours)
        self.free(context)
        self._reserve(context, *sizes)
        self.points[:len(points)], self.contours[:len(contours)] = points, contours

    def free(self, context: Context) -> None:
        address, self.address = self.address, 0
        self._use(np.empty(0, _POINT), np.empty(0, _CONTOUR))
        if address:
            context.unpin(address)


def _buffer_for(context: Context, elements: int) -> _Buffer:
    """The context's memory, taken from it; else one of which only what is used becomes resident."""
    buffer, context.scratch = context.scratch, None
    if isinstance(buffer, _Buffer) and len(buffer.points):
        buffer.begin()
        return buffer
    if context.key.memory != MEMORY_HOST:
        return _PinnedBuffer(context, 1 << 16, 1 << 13)
    points = min(max(elements >> 4, 1 << 16), 1 << 27)
    try:
        return _Buffer(points, points >> 3)
    except MemoryError:  # of address space, where that is limited
        return _Buffer(1 << 16, 1 << 13)


def find(context: Context, parts: Sequence[Part], elements: int, plane_count: int) -> Contours:
    """The contours of these parts, which have so many elements together; plane_count: of all that are searched."""
    buffer = _buffer_for(context, elements)
    try:
        for part in parts:
            _find_part(context, part, buffer)
        return buffer.result(plane_count)
    finally:
        if context.scratch is None and buffer.keep():
            context.scratch = buffer
        else:  # a call that began during this one has left its own
            buffer.free(context)


def _find_part(context: Context, part: Part, buffer: _Buffer) -> None:
    while True:
        found = buffer.rest()
        context.call("crn_find_contours", part.params, part.image, found)
        buffer.wait(context)
        if not found.truncated:
            break
        if found.point_capacity == _COUNT_MAX or found.contour_capacity == _COUNT_MAX:
            raise MemoryError("more than 2^32 points or contours; find those of fewer planes at a time")
        buffer.grow(context)
    buffer.take(found, part.plane)


class PreparedCall:
    """A call for pictures of one form, without a mask: all but the picture's address and the levels. For a small picture
    most of a call's time goes into checks and structures that are those of the call before."""
    __slots__ = ("_context", "_elements", "_levels", "_part")

    def __init__(self, context: Context, part: Part, levels: npt.NDArray[np.float64], elements: int) -> None:
        """levels: those that the part refers to."""
        self._context, self._part, self._levels, self._elements = context, part, levels, elements

    @property
    def planes(self) -> int:
        return int(self._part.image.planes)

    @property
    def border(self) -> int:
        return int(self._part.params.border)

    def find(self, address: int, levels: float | npt.NDArray[np.float64]) -> Contours:
        self._part.image.data = address
        self._levels[...] = levels
        return find(self._context, (self._part,), self._elements, self.planes)


def join(found: Sequence[Contours], plane_count: int) -> Contours:
    """All of them as one, in this order."""
    offsets = np.empty(sum(map(len, found)) + 1, np.int64)
    offsets[0] = first = points = 0
    for one in found:
        offsets[first + 1:first + len(one) + 1] = one.offsets[1:] + points
        first, points = first + len(one), points + len(one.points)
    return Contours(np.concatenate([one.points for one in found]), offsets,
                    np.concatenate([one.planes for one in found]), np.concatenate([one.closed for one in found]),
                    plane_count)


__all__ = ["Contours", "Part", "PreparedCall", "find", "join"]
