"""Contours through pixels that are exactly at the level, joined as skimage joins them.

Such a point is common to several contours. The library links segments by the edge of a cell that they cross, skimage by
their points, in the raster order of the cells; which contours go on in which depends on that order. So the segments of
the contours that share a point with a pixel are taken apart, put into that order, and joined again.
"""
from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


def touches_pixels(points: _Floats) -> npt.NDArray[np.bool_]:
    """By point: whether it lies on a pixel, and not between two."""
    whole: npt.NDArray[np.bool_] = points == np.rint(points)
    return whole[:, 0] & whole[:, 1]


def _raster_keys(begin: _Floats, end: _Floats) -> _Ints:
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
    columns = cell[:, 1].max() + 2
    keys: _Ints = (2 * (cell[:, 0] * columns + cell[:, 1]) + is_second).astype(np.int64)
    return keys


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


def join_as_skimage(points: _Floats, offsets: _Ints, high: bool) -> list[_Floats]:
    """Contours of one plane, as the library gives them, in the order and with the joints of skimage. high: they run with
    high values on their left, as asked for."""
    is_first = np.ones(len(points), np.bool_)
    is_first[offsets[1:] - 1] = False
    at = np.flatnonzero(is_first)  # the first points of all segments
    keys = _raster_keys(*((points[at + 1], points[at]) if high else (points[at], points[at + 1])))

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
