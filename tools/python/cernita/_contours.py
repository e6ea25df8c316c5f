"""Contours: of one picture as skimage gives them, of many planes and pictures as flat arrays."""
from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

from ._arguments import choice, numbers, whole
from ._arrays import LAYOUTS, Operand, address_of, arrived, form_of, is_native, operand
from ._context import cores, keep_call, take_call
from ._device import fetch
from ._foreign import FAULTS, in_host_memory, retold, told_of
from ._found import Contours, Part, PreparedCall, find, join
from ._joints import Field, join_as_skimage, may_touch_pixels
from ._library import (BORDERS, CONNECTIVITIES, CONTOURS_CELLS_MAX, MEMORY_HOST, ORIENTATIONS, THREADS_MAX, TYPES,
                       ContoursParams, Image)
from ._pool import in_threads

_WORTH_THREADS = 1 << 20  # elements; with fewer, to wake a thread costs more than it saves
_LARGE = 1 << 20  # pixels of a plane, from which on planes are found one by one
_TAKEN = (*TYPES, "bool")


def _find_in_threads(source: Operand, backend: str, threads: int, parts: Sequence[Part], elements: int,
                     plane_count: int) -> Contours:
    """As find(), several parts at a time."""
    groups = min(len(parts), 8 * threads)
    cuts = [len(parts) * group // groups for group in range(groups + 1)]

    def work(group: int) -> Contours:
        some = parts[cuts[group]:cuts[group + 1]]
        return find(source.context(backend, 1), some, elements // groups, plane_count)

    return join(in_threads(threads, work, groups), plane_count)


def _address(array: npt.NDArray[Any] | None) -> int | None:
    return None if array is None else address_of(array)


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
    in place; other integers are copied to float64, as skimage does, and so is the real part of complex numbers. The
    result is that of float64 in any case. level: by default half the sum of the least and the greatest value, in the
    image's own type, as in skimage. mask: True where contours are wanted. Returns a list of (n, 2) arrays of row and
    column; they share one block of memory.

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
    given, form = image, None
    image = arrived("image", image)
    values = image if isinstance(image, np.ndarray) else given  # what can be computed with here
    if mask is None:
        form = form_of(image, "find_contours", fully_connected, positive_orientation)
        call = take_call(form)
        if call is not None:
            at = _level(_middle(values, image.dtype) if level is None else level)
            found: Contours = call.find(address_of(image), at)
            keep_call(form, call)
            return _as_skimage(found, values, at, None, fully_connected, positive_orientation)
    _check_arguments(image, fully_connected, positive_orientation)
    valid = None if mask is None else _binary_mask(mask, image.shape)
    if values is not image:  # on a device, where none is converted
        operand("image", given, _TAKEN, (2,))
    at = _level(_middle(values, image.dtype) if level is None else level)
    usable = image
    if values is image:  # NumPy's
        values = usable = _usable(image)
    source = operand("image", usable, _TAKEN, (2,))
    _check_size("image", source.image, BORDERS.index("open"))
    levels = np.array([at])
    params = ContoursParams(address_of(levels), _address(valid), CONNECTIVITIES.index(fully_connected),
                            ORIENTATIONS.index(positive_orientation), 0)
    context, part = source.context("auto", None), Part(source.image, 0, params)
    elements = source.image.height * source.image.width
    found = find(context, [part], elements, 1)
    if address_of(image) == source.image.data:  # not a copy, which is another one in the next call
        keep_call(form, PreparedCall(context, part, levels, elements))
    return _as_skimage(found, values, at, valid, fully_connected, positive_orientation)


def _as_skimage(found: Contours, values: Any, level: float, valid: npt.NDArray[Any] | None, fully_connected: str,
                positive_orientation: str) -> list[npt.NDArray[np.float64]]:
    if not may_touch_pixels(found.points):
        return found.polylines()
    if not isinstance(values, np.ndarray):
        values = fetch("image", values, "as it has pixels exactly at the level")
    field = Field(values, level, valid, fully_connected == "high")
    return join_as_skimage(found.points, found.offsets, positive_orientation == "high", field)


def _check_arguments(image: Any, fully_connected: Any, positive_orientation: Any) -> None:
    for argument, value in (("fully_connected", fully_connected), ("positive_orientation", positive_orientation)):
        if value not in CONNECTIVITIES:
            raise ValueError(f'{argument} must be "high" or "low", not {value!r}')
    if image.ndim != 2:
        raise ValueError(f"image must have 2 dimensions, not {image.ndim}: only 2D arrays are supported")
    if min(image.shape) < 2:
        raise ValueError(f"image must be at least 2x2, not of shape {tuple(image.shape)}")


def _middle(image: Any, dtype: np.dtype[Any]) -> Any:
    """dtype: the image's, as NumPy has it."""
    if not isinstance(image, np.ndarray):
        try:
            numbers_alone = image[image == image]  # PyTorch has no nanmin
            ends = np.array([float(numbers_alone.min()), float(numbers_alone.max())]).astype(dtype)
            return (ends[0] + ends[1]) / 2.0
        except FAULTS:  # PyTorch has no such functions for some types, others have none at all
            image = fetch("image", image, "as level is not given")
    return (np.nanmin(image) + np.nanmax(image)) / 2.0


def _level(level: Any) -> float:
    try:
        return float(level)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"level must be a number, not {level!r}") from None


def _binary_mask(mask: Any, shape: Sequence[int]) -> npt.NDArray[Any]:
    given, mask = mask, in_host_memory("mask", mask)
    if mask.shape != tuple(shape):
        raise ValueError(f"mask must have the same shape as image, {tuple(shape)}, not {mask.shape}")
    if mask.dtype != np.bool_:
        raise TypeError(told_of("mask", given, f"mask must be a binary array, of bool, not of {mask.dtype.name}; "
                                               "mask.astype('bool') is one"))
    return np.ascontiguousarray(mask).view(np.uint8)


def _check_size(argument: str, image: Image, border: int) -> None:
    closed = BORDERS[border] == "closed"
    if not closed and (image.height < 2 or image.width < 2):
        raise ValueError(f"{argument} must be at least 2 x 2 with an open border, not {image.height} x {image.width}")
    more = 1 if closed else -1
    if (image.height + more) * (image.width + more) >= CONTOURS_CELLS_MAX:
        raise ValueError(f"{argument} must have fewer than 2^30 cells per plane, (height {more:+d}) x (width "
                         f"{more:+d}), not {image.height} x {image.width}")


# --- many planes ---

def _pictures(maps: Any, layout: str) -> list[Operand]:
    """The maps of each picture of a batch, of one where there is no batch; planes of one size throughout."""
    if getattr(maps, "ndim", None) != 4:
        return [operand("maps", maps, _TAKEN, (2, 3, 4), layout)]
    choice("layout", layout, LAYOUTS)
    if not len(maps):
        raise ValueError(f"maps must not be empty, as one of shape {tuple(maps.shape)} is")
    return [operand("maps", picture, _TAKEN, (3,), layout) for picture in maps]


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
    valid = np.ascontiguousarray(numbers("mask", mask, "f8") != 0, "u1")
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
    form, given = None, maps
    maps = arrived("maps", maps)
    if mask is None:
        form = form_of(maps, "find_contours_many", layout, fully_connected, positive_orientation, border, backend, threads,
                       type(threads))
        call = take_call(form)
        if call is not None:
            found: Contours = call.find(address_of(maps), _levels_again(call, levels))
            keep_call(form, call)
            return found
    try:
        pictures = _pictures(maps if isinstance(maps, np.ndarray) else given, layout)
    except TypeError as fault:
        raise retold(fault, "maps", given) from None
    first = pictures[0].image
    edge = choice("border", border, BORDERS)
    _check_size("maps", first, edge)
    values, valid = _levels(levels, len(pictures), first.planes, edge), _mask(mask, first)
    connectivity = choice("fully_connected", fully_connected, CONNECTIVITIES)
    orientation = choice("positive_orientation", positive_orientation, ORIENTATIONS)

    def params(plane: int) -> ContoursParams:
        return ContoursParams(address_of(values) + 8 * plane, _address(valid), connectivity, orientation, edge)

    parts = _parts(pictures, params)
    elements = first.height * first.width * values.size
    if len(parts) > 1 and elements >= _WORTH_THREADS and pictures[0].memory == MEMORY_HOST and backend != "cuda":
        count = cores() if threads is None else whole("threads", threads, 1, THREADS_MAX)
        if count > 1:
            return _find_in_threads(pictures[0], backend, count, parts, elements, values.size)
    context = pictures[0].context(backend, threads)
    found = find(context, parts, elements, values.size)
    if len(parts) == 1:
        keep_call(form, PreparedCall(context, parts[0], values, elements))
    return found


def _levels_again(call: PreparedCall, levels: Any) -> float | npt.NDArray[Any]:
    """The levels for a picture of the same form."""
    if type(levels) is float and (levels >= 0 or not call.border):
        return levels
    return _levels(levels, 1, call.planes, call.border)


def _parts(pictures: Sequence[Operand], params: Callable[[int], ContoursParams]) -> list[Part]:
    """What to find in one call of the library each: pictures, or their planes if they are large, so that a result that
    does not fit costs the plane alone. params: those of the planes from one on."""
    parts = []
    for number, picture in enumerate(pictures):
        image = picture.image
        base, pixels = number * image.planes, image.height * image.width
        if pixels < _LARGE or image.plane_stride == 1 or picture.memory != MEMORY_HOST:
            parts.append(Part(image, base, params(base)))
        else:
            parts += [Part(_plane(image, plane, picture.array.itemsize), base + plane, params(base + plane))
                      for plane in range(image.planes)]
    return parts


__all__ = ["Contours", "find_contours", "find_contours_many"]
