"""Contours: of one picture as skimage gives them, of many planes and pictures as flat arrays."""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np
import numpy.typing as npt

from ._arguments import choice, numbers, whole
from ._arrays import LAYOUTS, Operand, is_native, operand
from ._context import Context, cores
from ._device import fetch, is_foreign
from ._joints import Field, join_as_skimage, touches_pixels
from ._library import (BORDERS, CONNECTIVITIES, CONTOURS_PIXELS_MAX, MEMORY_HOST, ORIENTATIONS, THREADS_MAX, TYPES,
                       ContoursParams, Image)
from ._library import Contours as _Found
from ._pool import in_threads

_POINT = np.dtype([("x", "f8"), ("y", "f8")])
_CONTOUR = np.dtype([("plane", "i4"), ("closed", "?"), ("first", "u4"), ("count", "u4")], align=True)

_COUNT_MAX = 2**32 - 1  # of points and of contours of one call
_PLANES_MAX = 2**31 - 1
_WORTH_THREADS = 1 << 20  # elements; with fewer, to wake a thread costs more than it saves
_LARGE = 1 << 20  # pixels of a plane, from which on planes are found one by one, and points not copied


class Contours:
    """Contours of many planes as flat arrays, ordered by plane, within a plane as skimage orders them.

    points: (n, 2) float64, row and column. offsets: (m + 1,) int64; the points of contour i are
    points[offsets[i]:offsets[i + 1]]. planes: (m,) int32. closed: (m,) bool; a closed contour repeats its first point
    as its last. plane_count: how many planes were searched. A Contours is a sequence of its contours, each a view of
    points.
    """
    __slots__ = ("closed", "offsets", "plane_count", "planes", "points")

    def __init__(self, points: npt.NDArray[np.float64], offsets: npt.NDArray[np.int64], planes: npt.NDArray[np.int32],
                 closed: npt.NDArray[np.bool_], plane_count: int = _PLANES_MAX) -> None:
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


class _Part(NamedTuple):
    """What one call of the library finds: some planes, the first of which is number `plane`."""
    image: Image
    plane: int
    params: ContoursParams


class _Room:
    """Memory that contours are found into: it grows, and the second result of a size allocates nothing."""
    gives_memory = True  # to a large result

    def __init__(self, points: int, contours: int) -> None:
        self.points, self.contours = np.empty(points, _POINT), np.empty(contours, _CONTOUR)
        self.addresses = self.points.ctypes.data, self.contours.ctypes.data
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

    def grow(self) -> None:
        for name, count, dtype in (("points", self.point_count, _POINT), ("contours", self.contour_count, _CONTOUR)):
            old = getattr(self, name)
            larger = np.empty(4 * len(old), dtype)
            larger[:count] = old[:count]
            setattr(self, name, larger)
        self.addresses = self.points.ctypes.data, self.contours.ctypes.data

    def wait(self) -> None:
        """Until what was found is there."""

    def keep(self) -> bool:
        """Whether to keep it for the next call."""
        return 0 < len(self.points) <= _LARGE

    def result(self) -> Contours:
        contours, count = self.contours[:self.contour_count], self.point_count
        offsets = np.empty(len(contours) + 1, np.int64)
        if self.parts == 1:
            offsets[:-1] = contours["first"]
            offsets[-1] = count
        else:
            offsets[0] = 0
            np.cumsum(contours["count"], out=offsets[1:])
        pairs = self.points[:count].view(np.float64).reshape(count, 2)
        if count < _LARGE or not self.gives_memory:
            points = np.empty((count, 2))
            points[:, 0], points[:, 1] = pairs[:, 1], pairs[:, 0]
        else:  # in place, a piece at a time: the memory itself becomes the result
            for first in range(0, count, _LARGE // 16):
                piece = pairs[first:first + _LARGE // 16]
                piece[:] = piece[:, ::-1].copy()
            points, self.points = pairs, np.empty(0, _POINT)
        return Contours(points, offsets, contours["plane"].copy(), contours["closed"].copy())


class _PinnedRoom(_Room):
    """The context's pinned memory, which a device writes to."""
    gives_memory = False

    def __init__(self, context: Context, points: int, contours: int) -> None:
        self.context = context
        self._reserve(points, contours)
        self.point_count = self.contour_count = self.parts = 0

    def _reserve(self, points: int, contours: int) -> None:
        sizes = points * _POINT.itemsize, contours * _CONTOUR.itemsize
        address = self.context.pinned(64 + sum(sizes))
        self.found = _Found.from_address(address)
        self.addresses = address + 64, address + 64 + sizes[0]
        self.points, self.contours = (
            np.frombuffer(memoryview((ctypes.c_char * size).from_address(begin)), dtype)
            for begin, size, dtype in zip(self.addresses, sizes, (_POINT, _CONTOUR)))

    def rest(self) -> _Found:
        found, (points, contours) = self.found, self.addresses
        found.points = points + _POINT.itemsize * self.point_count
        found.contours = contours + _CONTOUR.itemsize * self.contour_count
        found.point_capacity = min(len(self.points) - self.point_count, _COUNT_MAX)
        found.contour_capacity = min(len(self.contours) - self.contour_count, _COUNT_MAX)
        return found

    def wait(self) -> None:
        self.context.wait()

    def keep(self) -> bool:
        return True

    def grow(self) -> None:
        points, contours = self.points[:self.point_count].copy(), self.contours[:self.contour_count].copy()
        self._reserve(4 * len(self.points), 4 * len(self.contours))
        self.points[:len(points)], self.contours[:len(contours)] = points, contours


def _room_for(context: Context, elements: int) -> _Room:
    """The context's memory, taken from it; else one of which only what is used becomes resident."""
    room, context.scratch = context.scratch, None
    if isinstance(room, _Room) and len(room.points):
        room.point_count = room.contour_count = room.parts = 0
        return room
    if context.key.memory != MEMORY_HOST:
        return _PinnedRoom(context, 1 << 16, 1 << 13)
    points = min(max(elements >> 4, 1 << 16), 1 << 27)
    try:
        return _Room(points, points >> 3)
    except MemoryError:  # of address space, where that is limited
        return _Room(1 << 16, 1 << 13)


def _find(context: Context, parts: Sequence[_Part], elements: int) -> Contours:
    room = _room_for(context, elements)
    for part in parts:
        while True:
            found = room.rest()
            context.call("crn_find_contours", ctypes.byref(part.params), ctypes.byref(part.image), ctypes.byref(found))
            room.wait()
            if not found.truncated:
                break
            if found.point_capacity == _COUNT_MAX or found.contour_capacity == _COUNT_MAX:
                raise MemoryError("more than 2^32 points or contours; find those of fewer planes at a time")
            room.grow()
        room.take(found, part.plane)
    result = room.result()
    if room.keep():
        context.scratch = room
    return result


def _join(found: Sequence[Contours]) -> Contours:
    """All of them as one, in this order."""
    offsets = np.empty(sum(map(len, found)) + 1, np.int64)
    offsets[0] = first = points = 0
    for one in found:
        offsets[first + 1:first + len(one) + 1] = one.offsets[1:] + points
        first, points = first + len(one), points + len(one.points)
    return Contours(np.concatenate([one.points for one in found]), offsets,
                    np.concatenate([one.planes for one in found]), np.concatenate([one.closed for one in found]))


def _find_in_threads(source: Operand, backend: str, threads: int, parts: Sequence[_Part], elements: int) -> Contours:
    """As _find(), several parts at a time."""
    groups = min(len(parts), 8 * threads)
    cuts = [len(parts) * group // groups for group in range(groups + 1)]
    return _join(in_threads(threads, lambda group: _find(source.context(backend, 1), parts[cuts[group]:cuts[group + 1]],
                                                         elements // groups), groups))


def _address(array: npt.NDArray[Any] | None, offset: int = 0) -> int | None:
    return None if array is None else array.ctypes.data + offset


# --- as skimage ---

def _usable(image: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The image itself if the library takes it as it is, else in float64, as skimage converts it."""
    if image.dtype == np.bool_:
        image = image.view(np.uint8)
    if not is_native(image.dtype):
        return image.astype(np.double)
    if not image.flags.aligned or any(stride % image.itemsize for stride in image.strides):
        return image.copy()
    return image


def find_contours(image: Any, level: float | None = None, fully_connected: str = "low",
                  positive_orientation: str = "low", *, mask: Any = None) -> list[npt.NDArray[np.float64]]:
    """skimage.measure.find_contours: the same arguments, polylines, order, starting points and errors.

    image: two dimensions, of any type that becomes float64. uint8, uint16, float16, float32, float64 and bool are read
    in place; other integers are copied to float64, as skimage does, and so is the real part of complex numbers. The result is that of float64 in any case. level:
    by default half the sum of the least and the greatest value, in the image's own type, as in skimage. mask: True
    where contours are wanted. Returns a list of (n, 2) arrays of row and column; they share one block of memory.

    The doubles are skimage's, but that next to an infinite value a point is placed on its finite neighbour: skimage places
    some at NaN, where it cuts contours that are whole here.
    Pixels exactly at the level, where contours touch, cost time: those contours are joined again, as skimage joins them,
    in Python. A level between the values, such as 127.5 instead of 128, has none.

    >>> import numpy as np
    >>> image = np.zeros((3, 3))
    >>> image[0, 0] = 1
    >>> find_contours(image, 0.5)
    [array([[0. , 0.5],
           [0.5, 0. ]])]
    """
    for argument, value in (("fully_connected", fully_connected), ("positive_orientation", positive_orientation)):
        if value not in CONNECTIVITIES:
            raise ValueError(f'{argument} must be "high" or "low", not {value!r}')
    if not isinstance(image, np.ndarray) and not is_foreign(image):
        raise TypeError(f"image must be a numpy array, not {type(image).__name__}")
    if image.ndim != 2:
        raise ValueError(f"image must have 2 dimensions, not {image.ndim}: only 2D arrays are supported")
    if min(image.shape) < 2:
        raise ValueError(f"image must be at least 2x2, not of shape {tuple(image.shape)}")
    valid = None if mask is None else _binary_mask(mask, image.shape)
    if level is None:
        level = _middle(image)
    source = operand("image", _usable(image) if isinstance(image, np.ndarray) else image, TYPES, (2,))
    _check_size("image", source.image, 2)
    at = ctypes.c_double(_level(level))
    params = ContoursParams(ctypes.addressof(at), _address(valid), CONNECTIVITIES.index(fully_connected),
                            ORIENTATIONS.index(positive_orientation), 0)
    context = source.context("auto", None)
    found = _find(context, [_Part(source.image, 0, params)], source.image.height * source.image.width)
    if not touches_pixels(found.points).any():
        return found.polylines()
    values = source.array if isinstance(source.array, np.ndarray) else fetch("image", image)
    field = Field(values, at.value, valid, fully_connected == "high")
    return join_as_skimage(found.points, found.offsets, positive_orientation == "high", field)


def _middle(image: Any) -> Any:
    if isinstance(image, np.ndarray):
        return (np.nanmin(image) + np.nanmax(image)) / 2.0
    numbers_alone = image[image == image]  # PyTorch has no nanmin
    return (numbers_alone.min() + numbers_alone.max()) / 2.0


def _level(level: Any) -> float:
    try:
        return float(level)
    except (TypeError, ValueError):
        raise TypeError(f"level must be a number, not {level!r}") from None


def _binary_mask(mask: Any, shape: Sequence[int]) -> npt.NDArray[Any]:
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"mask must be a numpy array, not {type(mask).__name__}")
    if mask.shape != tuple(shape):
        raise ValueError(f"mask must have the same shape as image, {tuple(shape)}, not {mask.shape}")
    if mask.dtype != np.bool_:
        raise TypeError(f"mask must be a binary array, of bool, not of {mask.dtype.name}")
    return np.ascontiguousarray(mask).view(np.uint8)


def _check_size(argument: str, image: Image, least: int) -> None:
    if image.height < least or image.width < least:
        raise ValueError(f"{argument} must be at least 2 x 2 with an open border, not {image.height} x {image.width}")
    if (image.height + 1) * (image.width + 1) >= CONTOURS_PIXELS_MAX:
        raise ValueError(f"{argument} must have fewer than 2^30 pixels per plane, not {image.height} x {image.width}")


# --- many planes ---

def _pictures(maps: Any, layout: str) -> list[Operand]:
    """The maps of each picture of a batch, of one where there is no batch; planes of one size throughout."""
    if isinstance(maps, np.ndarray) and maps.dtype == np.bool_:
        maps = maps.view(np.uint8)
    if getattr(maps, "ndim", None) != 4:
        return [operand("maps", maps, TYPES, (2, 3, 4), layout)]
    choice("layout", layout, LAYOUTS)
    if not len(maps):
        raise ValueError(f"maps must not be empty, as one of shape {tuple(maps.shape)} is")
    return [operand("maps", picture, TYPES, (3,), layout) for picture in maps]


def _levels(levels: Any, pictures: int, planes: int, border: int) -> npt.NDArray[Any]:
    """pictures x planes."""
    values = np.asarray(levels) if type(levels) is float else numbers("levels", levels, "f8")
    if values.shape not in ((), (1,), (planes,), (pictures, planes)):
        batch = f", or a row of them for each of {pictures} pictures" if pictures > 1 else ""
        raise ValueError(f"levels must be one number, or one for each of {planes} planes{batch}, not of shape "
                         f"{values.shape}")
    if border and (values < 0).any():
        raise ValueError("levels must be at least 0 with a closed border, beyond which maps are 0")
    spread = np.empty((pictures, planes))
    spread[...] = values
    return spread


def _mask(mask: Any, image: Image) -> npt.NDArray[Any] | None:
    if mask is None:
        return None
    valid = np.ascontiguousarray(numbers("mask", mask, "f4") != 0, "u1")
    if valid.shape != (image.height, image.width):
        raise ValueError(f"mask must have the height and width of maps, {(image.height, image.width)}, not "
                         f"{valid.shape}")
    return valid


def _plane(image: Image, plane: int, itemsize: int) -> Image:
    return Image(image.data + plane * image.plane_stride * itemsize, image.type, 1, image.height, image.width,
                 image.height * image.width, image.row_stride, image.step)


def find_contours_many(maps: Any, levels: Any, layout: str = "hwc", *, fully_connected: str = "low",
                       positive_orientation: str = "low", mask: Any = None, border: str = "open",
                       backend: str = "auto", threads: int | None = None) -> Contours:
    """The contours of all planes of a picture, or of all pictures of a batch, as flat arrays.

    maps: H x W, H x W x C (layout "hwc") or C x H x W ("chw"), or a batch of N such pictures of 3 dimensions; uint8,
    uint16, float16, float32, float64 or bool, read in place. levels: one number, C, or N x C; NaN leaves that plane out.
    mask: H x W, 0 where no contours are wanted. border: "open" as in skimage, or "closed", as if zeros surrounded each
    plane. threads: None for one per core. The plane of class c of picture n has the number n * C + c.

    The contours of a plane are those of find_contours(), but where pixels are exactly at the level: they have the same
    segments, joined by the edge that they cross, so that contours that touch in a pixel stay apart.

    >>> import numpy as np
    >>> maps = np.zeros((3, 3, 2), "float32")
    >>> maps[1, 1] = 1
    >>> found = find_contours_many(maps, [0.5, 0.75])
    >>> found
    <Contours: 2 of 10 points>
    >>> found.planes, found.offsets
    (array([0, 1], dtype=int32), array([ 0,  5, 10]))
    >>> found.polylines(plane=1)[0][0]
    array([1.25, 1.  ])
    """
    pictures = _pictures(maps, layout)
    first = pictures[0].image
    edge = choice("border", border, BORDERS)
    _check_size("maps", first, 1 if edge else 2)
    values, valid = _levels(levels, len(pictures), first.planes, edge), _mask(mask, first)
    connectivity = choice("fully_connected", fully_connected, CONNECTIVITIES)
    orientation = choice("positive_orientation", positive_orientation, ORIENTATIONS)

    def params(plane: int) -> ContoursParams:
        return ContoursParams(values.ctypes.data + 8 * plane, _address(valid), connectivity, orientation, edge)

    parts = []
    pixels, itemsize = first.height * first.width, pictures[0].array.itemsize
    for number, picture in enumerate(pictures):
        base = number * first.planes
        if pixels < _LARGE or picture.image.plane_stride == 1 or picture.memory != MEMORY_HOST:
            parts.append(_Part(picture.image, base, params(base)))
        else:  # so that a result that does not fit costs the plane alone
            parts += [_Part(_plane(picture.image, plane, itemsize), base + plane, params(base + plane))
                      for plane in range(first.planes)]
    elements = pixels * values.size
    if len(parts) > 1 and elements >= _WORTH_THREADS and pictures[0].memory == MEMORY_HOST and backend != "cuda":
        count = cores() if threads is None else whole("threads", threads, 1, THREADS_MAX)
        if count > 1:
            found = _find_in_threads(pictures[0], backend, count, parts, elements)
            found.plane_count = values.size
            return found
    found = _find(pictures[0].context(backend, threads), parts, elements)
    found.plane_count = values.size
    return found


__all__ = ["Contours", "find_contours", "find_contours_many"]
