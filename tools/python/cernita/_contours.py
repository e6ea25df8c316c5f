"""Contours: of one picture as skimage gives them, of many planes as flat arrays."""
from __future__ import annotations

import ctypes
from typing import Any, Iterator

import numpy as np
import numpy.typing as npt

from ._arguments import choice, numbers, whole
from ._arrays import Operand, operand
from ._library import BORDERS, CONNECTIVITIES, CONTOURS_PIXELS_MAX, ORIENTATIONS, ContoursParams
from ._library import Contours as _Buffer

_POINT = np.dtype([("x", "f8"), ("y", "f8")])
_CONTOUR = np.dtype([("plane", "i4"), ("closed", "?"), ("first", "u4"), ("count", "u4")], align=True)


class Contours:
    """The contours of many planes as flat arrays, in the order of planes, then of skimage.

    points: (n, 2) float64, row and column. offsets: (m + 1,) uint32; points[offsets[i]:offsets[i + 1]] are those of
    contour i. planes: (m,) int32. closed: (m,) bool.
    """

    def __init__(self, points: npt.NDArray[np.float64], offsets: npt.NDArray[np.uint32],
                 planes: npt.NDArray[np.int32], closed: npt.NDArray[np.bool_]) -> None:
        self.points, self.offsets, self.planes, self.closed = points, offsets, planes, closed

    def __len__(self) -> int:
        return len(self.planes)

    def __getitem__(self, index: int) -> npt.NDArray[np.float64]:
        index = range(len(self))[index]
        return self.points[self.offsets[index]:self.offsets[index + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.float64]]:
        return (self[index] for index in range(len(self)))

    def polylines(self, plane: int | None = None) -> list[npt.NDArray[np.float64]]:
        """The contours of one plane, or of all, as a list of (n, 2) arrays that share their memory with `points`."""
        if plane is None:
            begin, end = 0, len(self)
        else:
            plane = whole("plane", plane, 0, 2**31 - 1)
            begin, end = (int(i) for i in np.searchsorted(self.planes, [plane, plane + 1]))
        return [self[index] for index in range(begin, end)]


def _levels(levels: Any, planes: int, border: int) -> npt.NDArray[Any]:
    values = numbers("levels", levels, "f8")
    if values.shape not in ((), (1,), (planes,)):
        raise ValueError(f"levels must be one number, or one for each of {planes} planes, not {values.shape}")
    if border and (values < 0).any():
        raise ValueError("levels must be at least 0 with a closed border, beyond which maps are 0")
    return np.ascontiguousarray(np.broadcast_to(values, (planes,)))


def _mask(mask: Any, source: Operand) -> npt.NDArray[Any] | None:
    if mask is None:
        return None
    valid = np.ascontiguousarray(numbers("mask", mask, "f4") != 0, "u1")
    if valid.shape != (source.image.height, source.image.width):
        raise ValueError(f"mask must have the height and width of maps, {(source.image.height, source.image.width)}, "
                         f"not {valid.shape}")
    return valid


def find_contours_many(maps: Any, levels: Any, layout: str = "hwc", *, fully_connected: str = "low",
                       positive_orientation: str = "low", mask: Any = None, border: str = "open",
                       backend: str = "auto", threads: int | None = None) -> Contours:
    """The contours of every plane of H x W, H x W x C (layout "hwc") or C x H x W ("chw").

    levels: one for all, or one per plane (NaN: leave that plane out).
    """
    source = operand("maps", maps, layout=layout)
    edge = choice("border", border, BORDERS)
    height, width, least = source.image.height, source.image.width, 1 if edge else 2
    if height < least or width < least:
        raise ValueError(f"maps must be at least 2 x 2 with an open border, not {height} x {width}")
    if (height + 1) * (width + 1) >= CONTOURS_PIXELS_MAX:
        raise ValueError(f"maps must have fewer than 2^30 pixels per plane, not {height} x {width}")
    values, valid = _levels(levels, source.image.planes, edge), _mask(mask, source)
    params = ContoursParams(values.ctypes.data, None if valid is None else valid.ctypes.data,
                            choice("fully_connected", fully_connected, CONNECTIVITIES),
                            choice("positive_orientation", positive_orientation, ORIENTATIONS), edge)
    context = source.context(backend, threads)
    capacity = 1 << 16
    while True:
        points, contours = np.empty(capacity, _POINT), np.empty(capacity // 8, _CONTOUR)
        found = _Buffer(points.ctypes.data, contours.ctypes.data, len(points), len(contours))
        context.call("crn_find_contours", ctypes.byref(params), ctypes.byref(source.image), ctypes.byref(found))
        if not found.truncated:
            break
        capacity *= 8
    contours = contours[:found.contour_count]
    offsets = np.append(contours["first"], np.uint32(found.point_count))
    row_column = points[:found.point_count].view("f8").reshape(-1, 2)[:, ::-1]
    return Contours(row_column.copy(), offsets, contours["plane"].copy(), contours["closed"].copy())


__all__ = ["Contours", "find_contours_many"]
