"""Contours through pixels that are exactly at the level, joined as skimage joins them.

Such a point is common to several contours. The library links segments by the edge of a cell that they cross, skimage by
their points, in the raster order of the cells; which contours go on in which depends on that order. So the segments of
the contours that share a point with a pixel are taken apart, put into that order, and joined again.
"""
from __future__ import annotations

import math
from collections import deque
from typing import Any, NamedTuple, Tuple

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


def touches_pixels(points: _Floats) -> npt.NDArray[np.bool_]:
    """By point: whether it lies on a pixel, and not between two."""
    whole: npt.NDArray[np.bool_] = points == np.rint(points)
    return whole[:, 0] & whole[:, 1]


def may_touch_pixels(points: _Floats) -> bool:
    """False only if no point lies on a pixel. A point of a contour has one whole coordinate, so the sum tells."""
    sums = points[:, 0] + points[:, 1]
    return bool((sums == np.rint(sums)).any())


def _raster_keys(begin: _Floats, end: _Floats, field: Field) -> _Ints:
    """By segment a number; skimage meets the segments in this order: by cell, in a saddle the upper one first.

    Low values lie left of the direction of travel. A segment along a side of its cell joins two pixels at the level; its
    cell, where the high values are, lies to its right.
    """
    step = end - begin
    cell = np.floor(np.minimum(begin, end))
    along_row = (step[:, 0] == 0) & (begin[:, 0] == cell[:, 0])
    along_column = (step[:, 1] == 0) & (begin[:, 1] == cell[:, 1])
    cell[along_row & (step[:, 1] < 0), 0] -= 1
    cell[along_column & (step[:, 0] > 0), 1] -= 1
    # One point of each segment in a saddle is on the cell's upper side, or on the lower one.
    height = (begin[:, 0] - cell[:, 0]) + (end[:, 0] - cell[:, 0])
    # Both diagonals of a saddle: upwards first on the falling one, downwards first on the rising one.
    is_second = (height > 1) | ((height == 1) & (step[:, 0] * np.sign(step[:, 0] * step[:, 1]) > 0))
    for number in _near_pixels(begin, end, field):
        _find_cell(field, begin[number].tolist(), end[number].tolist(), cell[number], is_second[number:number + 1])
    keys: _Ints = (2 * (cell[:, 0] * field.values.shape[1] + cell[:, 1]) + is_second).astype(np.int64)
    return keys


def _near_pixels(begin: _Floats, end: _Floats, field: Field) -> list[int]:
    """The segments with a point that only rounding put onto a pixel: they may lie along any side of their cell."""
    near = np.zeros(len(begin), np.bool_)
    for points in begin, end:
        on_pixel = np.flatnonzero(touches_pixels(points))
        near[on_pixel[~field.is_at_level(points[on_pixel])]] = True
    numbers: list[int] = np.flatnonzero(near).tolist()
    return numbers


def _find_cell(field: Field, begin: list[float], end: list[float], ret_cell: _Floats,
               ret_is_second: npt.NDArray[np.bool_]) -> None:
    """The cell among those around the segment that has it, and whether it is its second."""
    wanted = (begin[0], begin[1]), (end[0], end[1])
    rows, columns = [range(math.ceil(max(pair)) - 1, math.floor(min(pair)) + 1) for pair in zip(begin, end)]
    for row in rows:
        for column in columns:
            segments = field.segments(row, column)
            if wanted in segments:
                ret_cell[:] = row, column
                ret_is_second[:] = segments.index(wanted)
                return


_Point = Tuple[float, float]

# The sides that the segments of a cell join, by its high corners: upper left 1, upper right 2, lower left 4, lower right
# 8. From side to side, with low values on the left; a saddle, 6 and 9, has two, by which values are connected.
_SIDES = {1: "TL", 2: "RT", 3: "RL", 4: "LB", 5: "TB", 7: "RB", 8: "BR", 10: "BT", 11: "BL", 12: "LR", 13: "TR", 14: "LT"}
_SADDLES = {6: ("RT LB", "LT RB"), 9: ("TL BR", "TR BL")}


class Field(NamedTuple):
    """What contours were found of."""
    values: npt.NDArray[Any]
    level: float
    mask: npt.NDArray[Any] | None
    connect_high: bool

    def segments(self, row: int, column: int) -> list[tuple[_Point, _Point]]:
        """Those of a cell, in order."""
        bottom, right = row + 1, column + 1
        if row < 0 or column < 0 or bottom >= self.values.shape[0] or right >= self.values.shape[1]:
            return []
        corners = self.values[row:row + 2, column:column + 2].astype(np.float64)
        if np.isnan(corners).any() or self.mask is not None and not self.mask[row:row + 2, column:column + 2].all():
            return []
        ((a, b), (c, d)) = corners.tolist()
        case = sum((value > self.level) << bit for bit, value in enumerate((a, b, c, d)))
        sides = _SADDLES[case][self.connect_high] if case in _SADDLES else _SIDES.get(case, "")
        points = {"T": (row, column + self._fraction(a, b)), "B": (bottom, column + self._fraction(c, d)),
                  "L": (row + self._fraction(a, c), column), "R": (row + self._fraction(b, d), right)}
        return [(points[pair[0]], points[pair[1]]) for pair in sides.split()]

    def _fraction(self, a: float, b: float) -> float:
        return 0 if a == b or np.isinf(a) or np.isinf(b) else (self.level - a) / (b - a)

    def is_at_level(self, pixels: _Floats) -> npt.NDArray[np.bool_]:
        at: npt.NDArray[np.bool_] = self.values[tuple(pixels.astype(np.intp).T)].astype(np.float64) == self.level
        return at


class _Chain:
    """Joined segments, by the numbers of their points; `number` is that of the first segment."""
    __slots__ = ("number", "points")

    def __init__(self, number: int, begin: int, end: int) -> None:
        self.number, self.points = number, deque((begin, end))


def _join(numbers: list[int], begins: list[int], ends: list[int], points: int) -> list[_Chain]:
    """The chains of these segments. A point knows the last chain that came to begin there, and to end there."""
    beginning: list[_Chain | None] = [None] * points
    ending: list[_Chain | None] = [None] * points
    alive: dict[int, _Chain] = {}
    for number, begin, end in zip(numbers, begins, ends):
        after, beginning[end] = beginning[end], None
        before, ending[begin] = ending[begin], None
        if after is None and before is None:
            chain = alive[number] = _Chain(number, begin, end)
            beginning[begin] = ending[end] = chain
        elif before is None:
            assert after is not None
            after.points.appendleft(begin)
            beginning[begin] = after
        elif after is None:
            before.points.append(end)
            ending[end] = before
        elif after is before:
            before.points.append(end)
        elif after.number > before.number:
            before.points.extend(after.points)
            alive.pop(after.number, None)
            beginning[before.points[0]] = ending[before.points[-1]] = before
        else:
            after.points.extendleft(reversed(before.points))
            beginning[before.points[0]] = None
            alive.pop(before.number, None)
            beginning[after.points[0]] = ending[after.points[-1]] = after
    return [alive[number] for number in sorted(alive)]


def _number_points(points: _Floats, offsets: _Ints, touching: npt.NDArray[np.bool_]) -> tuple[_Floats, _Ints]:
    """The points by number, and by point its number: equal points have the same. Only a contour's ends can be equal
    where none touches a pixel."""
    numbers = np.arange(len(points))
    begin, end = offsets[:-1], offsets[1:] - 1
    closed = (points[begin] == points[end]).all(axis=1)
    numbers[end[closed]] = begin[closed]
    pixels, inverse = np.unique(points[touching] @ (1 << 31, 1), return_inverse=True)
    numbers[touching] = len(points) + inverse.ravel()
    return np.concatenate((points, np.stack((pixels // (1 << 31), pixels % (1 << 31)), axis=1))), numbers


def join_as_skimage(points: _Floats, offsets: _Ints, high: bool, field: Field) -> list[_Floats]:
    """Contours of one plane, as the library gives them, in the order and with the joints of skimage. high: they run with
    high values on their left, as asked for."""
    is_first = np.ones(len(points), np.bool_)
    is_first[offsets[1:] - 1] = False
    at = np.flatnonzero(is_first)  # the first points of all segments
    keys = _raster_keys(*((points[at + 1], points[at]) if high else (points[at], points[at + 1])), field)

    segments = offsets[:-1] - np.arange(len(offsets) - 1)  # a contour has one segment less than points
    on_pixel = touches_pixels(points)
    touching = np.logical_or.reduceat(on_pixel, offsets[:-1])
    joined = np.flatnonzero(np.repeat(touching, np.diff(offsets) - 1))
    joined = joined[np.argsort(keys[joined], kind="stable")]
    distinct, numbers = _number_points(points, offsets, on_pixel)
    begins, ends = numbers[at[joined]].tolist(), numbers[at[joined] + 1].tolist()
    if high:
        begins, ends = ends, begins
    chains = _join(keys[joined].tolist(), begins, ends, len(distinct))
    result = [(chain.number, distinct[np.array(chain.points)[::-1 if high else 1]]) for chain in chains]

    least, cuts = np.minimum.reduceat(keys, segments).tolist(), offsets.tolist()
    result += [(least[number], points[cuts[number]:cuts[number + 1]]) for number in np.flatnonzero(~touching).tolist()]
    return [line for _, line in sorted(result, key=lambda pair: pair[0])]
