"""Contours: of one picture as skimage gives them, of many planes as flat arrays."""
from __future__ import annotations

import ctypes
from typing import Any, Iterator

import numpy as np
import numpy.typing as npt

from ._arguments import choice, numbers, whole
from ._arrays import Operand, operand
from ._context import Context
from ._library import BORDERS, CONNECTIVITIES, CONTOURS_PIXELS_MAX, MEMORY_HOST, ORIENTATIONS, ContoursParams
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
        offsets, points = self.offsets, self.points
        if plane is not None:
            plane = whole("plane", plane, 0, 2**31 - 1)
            begin, end = np.searchsorted(self.planes, [plane, plane + 1])
            offsets = offsets[begin:end + 1]
        at = offsets.tolist()
        return [points[first:behind] for first, behind in zip(at, at[1:])]


def _levels(levels: Any, planes: int, border: int) -> npt.NDArray[Any]:
    if type(levels) is float and not (border and levels < 0):  # the usual case: others take 10 us
        one = np.empty(planes)
        one.fill(levels)
        return one
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


class _Results:
    """Room for contours: arrays in host memory, which a device writes to directly if the context is on one."""

    def __init__(self, context: Context, capacity: int, on_device: bool) -> None:
        self.capacity = capacity
        sizes = capacity * _POINT.itemsize, capacity // 8 * _CONTOUR.itemsize
        if on_device:
            address = context.pinned(64 + sum(sizes))
            self.points = self._view(address + 64, sizes[0], _POINT)
            self.contours = self._view(address + 64 + sizes[0], sizes[1], _CONTOUR)
            self.found = _Buffer.from_address(address)
        else:
            self.points, self.contours = np.empty(capacity, _POINT), np.empty(capacity // 8, _CONTOUR)
            self.found = _Buffer()
        self.found.points, self.found.contours = self.points.ctypes.data, self.contours.ctypes.data
        self.found.point_capacity, self.found.contour_capacity = len(self.points), len(self.contours)

    @staticmethod
    def _view(address: int, size: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def _find(context: Context, params: ContoursParams, source: Operand) -> _Results:
    on_device = source.memory != MEMORY_HOST
    results = context.results if on_device else None  # pinned, so kept
    while True:
        if results is None:
            results = _Results(context, 1 << 16, on_device)
        context.call("crn_find_contours", ctypes.byref(params), ctypes.byref(source.image),
                     ctypes.byref(results.found))
        if on_device:
            context.wait()
            context.results = results
        if not results.found.truncated:
            return results
        results = _Results(context, 8 * results.capacity, on_device)


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
    results = _find(context, params, source)
    found, contours = results.found, results.contours[:results.found.contour_count]
    offsets = np.empty(len(contours) + 1, np.uint32)
    offsets[:-1], offsets[-1] = contours["first"], found.point_count
    row_column = results.points[:found.point_count].view("f8").reshape(-1, 2)[:, ::-1]
    return Contours(row_column.copy(), offsets, contours["plane"].copy(), contours["closed"].copy())


__all__ = ["Contours", "find_contours_many"]
