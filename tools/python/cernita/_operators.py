"""The operators but contours under their own names: morphology, convolve, haar, ranklet, diamond_square."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import choice, flag, number, numbers, pair, whole
from ._arrays import checked, operand, target
from ._library import (CONVOLVE_BORDERS, DIAMOND_SQUARE_EXPONENT_MAX, ELEMENT_MAX, ELEMENT_PICTURE, ELEMENT_SHAPES,
                       HAAR_DIRECTIONS, KERNEL_TAPS_MAX, OPERATIONS, RANKLET_HALF_MAX, ConvolveParams,
                       DiamondSquareParams, Element, HaarParams, MorphologyParams, RankletParams, lib)

_PLAIN = ("uint8", "float32")
_INT32_MAX = 2**31 - 1


def _element(element: Any, size: Any) -> tuple[int, int, int, npt.NDArray[Any] | None]:
    """Its crn_element_shape, width, height, and members or None."""
    if isinstance(element, str):
        return (choice("element", element, ELEMENT_SHAPES), *pair("size", size, 1, ELEMENT_MAX), None)
    if element is None:
        raise TypeError("element must be rect, disk or cross, or an array of 2 dimensions, not None")
    members = numbers("element", element, "f8")
    if members.ndim != 2 or not members.any() or max(members.shape) > ELEMENT_MAX:
        raise ValueError(f"element must be rect, disk or cross, or an array of 2 dimensions with sides up to "
                         f"{ELEMENT_MAX} and a member that is not 0, not this one of shape {members.shape}")
    return ELEMENT_PICTURE, members.shape[1], members.shape[0], np.ascontiguousarray(members != 0, "u1")


def _heights(heights: Any, height: int, width: int, bytes_only: bool) -> npt.NDArray[Any]:
    levels = numbers("heights", heights, "f4")
    if levels.shape != (height, width):
        raise ValueError(f"heights must be of the element's shape, {(height, width)}, not {levels.shape}")
    if not np.isfinite(levels).all():
        raise ValueError("heights must be finite")
    if bytes_only and (np.abs(levels).max() > 255 or (levels != np.rint(levels)).any()):
        raise ValueError("heights must be whole numbers from -255 to 255 where array is of uint8")
    return levels


def _address(array: npt.NDArray[Any] | None) -> int | None:
    return None if array is None else array.ctypes.data


def morphology(array: Any, operation: str, element: Any = "rect", size: Any = 3, *, heights: Any = None,
               layout: str = "hwc", out: Any = None, backend: str = "auto", threads: int | None = 1) -> Any:
    """Erosion, dilation and their combinations, with the semantics of scipy.ndimage.

    array: H x W, H x W x C (layout "hwc") or C x H x W ("chw"), uint8 or float32. operation: "erode", "dilate",
    "open", "close", "gradient", "tophat" or "blackhat". element: "rect", "disk" or "cross" of `size` (N or (width,
    height)), or an array whose non-zero pixels are its members; heights: of a non-flat one. Only members that lie on
    the picture count. Returns `out` or a new array of the same shape and type.

    >>> import numpy as np
    >>> grey = np.zeros((5, 5), "uint8"); grey[2, 2] = 9
    >>> morphology(grey, "dilate", "cross", 3)[1:4, 1:4]
    array([[0, 9, 0],
           [9, 9, 9],
           [0, 9, 0]], dtype=uint8)
    """
    source = operand("array", array, _PLAIN, layout=layout)
    shape, width, height, members = _element(element, size)
    levels = None if heights is None else _heights(heights, height, width, source.array.dtype == np.uint8)
    params = MorphologyParams(choice("operation", operation, OPERATIONS),
                              Element(shape, width, height, _address(members), _address(levels)))
    result = target("out", out, source, source.array.shape, source.array.dtype, layout)
    source.context(backend, threads).call("crn_morphology", ctypes.byref(params), ctypes.byref(source.image),
                                          ctypes.byref(result.image))
    return result.array


def convolve(array: Any, kernel: Any, *, border: str = "replicate", layout: str = "hwc", out: Any = None,
             backend: str = "auto", threads: int | None = 1) -> Any:
    """The kernel laid over the array as it is written (a correlation), its anchor in its middle, as OpenCV's filter2D.

    array: as of morphology(). kernel: 2 dimensions, finite, at most 16384 weights. border: "replicate", "reflect"
    (without the edge), "wrap" or "zero". uint8 is rounded half to even and saturated.

    >>> import numpy as np
    >>> convolve(np.array([[1, 2, 4]], "float32"), [[-1, 0, 1]])
    array([[1., 3., 2.]], dtype=float32)
    """
    source = operand("array", array, _PLAIN, layout=layout)
    weights = numbers("kernel", kernel, "f4")
    if weights.ndim != 2 or not 1 <= weights.size <= KERNEL_TAPS_MAX:
        raise ValueError(f"kernel must have 2 dimensions and 1 to {KERNEL_TAPS_MAX} weights, not the shape "
                         f"{weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("kernel must be of finite weights")
    params = ConvolveParams(weights.ctypes.data, weights.shape[1], weights.shape[0],
                            choice("border", border, CONVOLVE_BORDERS))
    result = target("out", out, source, source.array.shape, source.array.dtype, layout)
    source.context(backend, threads).call("crn_convolve", ctypes.byref(params), ctypes.byref(source.image),
                                          ctypes.byref(result.image))
    return result.array


def haar(array: Any, levels: int, *, direction: str = "forward", threshold: float = 0, unit: bool = False,
         layout: str = "hwc", out: Any = None, backend: str = "auto", threads: int | None = 1) -> Any:
    """The orthonormal Haar transform in quadrant layout: averages top left, float32.

    array: as of morphology(). levels: 0 to ceil(log2(longer side)). direction: "forward", "inverse" or "denoise"
    (forward, soft threshold of all differences, inverse). unit: uint8 is read as value / 255.

    >>> import numpy as np
    >>> haar(np.array([[1, 2], [3, 5]], "float32"), 1)
    array([[ 5.5, -1.5],
           [-2.5,  0.5]], dtype=float32)
    """
    source = operand("array", array, _PLAIN, layout=layout)
    most = lib.crn_haar_levels_max(source.image.height, source.image.width)
    params = HaarParams(choice("direction", direction, HAAR_DIRECTIONS), whole("levels", levels, 0, most),
                        number("threshold", threshold, 0, np.inf), flag("unit", unit))
    result = target("out", out, source, source.array.shape, np.float32, layout)
    source.context(backend, threads).call("crn_haar", ctypes.byref(params), ctypes.byref(source.image),
                                          ctypes.byref(result.image))
    return result.array


def ranklet(array: Any, window: Any, *, out: Any = None, backend: str = "auto", threads: int | None = 1) -> Any:
    """Vertical, horizontal and diagonal ranklets of an H x W array of uint8 or uint16: for every position of the
    window (N or (width, height), even) how much brighter its left half, its top half, and its main diagonal's quarters
    are than the rest, from -1 to 1. Returns 3 x (H - height + 1) x (W - width + 1), float32.

    >>> import numpy as np
    >>> ranklet(np.array([[9, 1], [9, 1]], "uint8"), 2).ravel()
    array([1., 0., 0.], dtype=float32)
    """
    source = operand("array", array, ("uint8", "uint16"), (2,))
    width, height = pair("window", window, 2, _INT32_MAX)
    rows, columns = source.array.shape
    if width % 2 or height % 2:
        raise ValueError(f"window must have even sides, not {width} x {height}")
    if height > rows or width > columns:
        raise ValueError(f"window must fit into array, {columns} wide and {rows} high, not be {width} wide and "
                         f"{height} high")
    if width * height // 2 > RANKLET_HALF_MAX:
        raise ValueError(f"window must have at most {2 * RANKLET_HALF_MAX} pixels")
    params = RankletParams(width, height)
    result = target("out", out, source, (3, rows - height + 1, columns - width + 1), np.float32, "chw")
    source.context(backend, threads).call("crn_ranklet", ctypes.byref(params), ctypes.byref(source.image),
                                          ctypes.byref(result.image))
    return result.array


def diamond_square(exponent: int, seed: int = 0, *, roughness: float = 0.5, dtype: Any = "uint8", x: int = 0,
                   y: int = 0, size: Any = None, out: Any = None, backend: str = "auto",
                   threads: int | None = 1) -> Any:
    """The fractal field of side 2^exponent + 1, or its rectangle of `size` (N or (width, height)) at column x, row y;
    uint8 or float32. The same arguments give the same field everywhere.

    >>> diamond_square(1, seed=3).shape
    (3, 3)
    """
    side = 2**whole("exponent", exponent, 0, DIAMOND_SQUARE_EXPONENT_MAX) + 1
    x, y = whole("x", x, 0, side - 1), whole("y", y, 0, side - 1)
    width, height = pair("size", side if size is None else size, 1, side)
    if out is None:
        try:
            kind = np.dtype(dtype).name
        except TypeError:
            kind = str(dtype)
        choice("dtype", kind, _PLAIN)
        out = np.empty((height, width), kind)
    field = checked("out", out, _PLAIN, (2,))
    if size is not None and field.shape != (height, width):
        raise ValueError(f"out must be of size, {height} high and {width} wide, not of shape {field.shape}")
    if field.shape[1] > side - x or field.shape[0] > side - y:
        raise ValueError(f"{'out' if size is None else 'size'} must fit into the field of side {side} from x {x}, "
                         f"y {y} on, not be {field.shape[1]} wide and {field.shape[0]} high")
    result = target("out", out, None, field.shape, field.dtype)
    params = DiamondSquareParams(exponent, whole("seed", seed, 0, 2**64 - 1), number("roughness", roughness, 0, 1),
                                 x, y)
    result.context(backend, threads).call("crn_diamond_square", ctypes.byref(params), ctypes.byref(result.image))
    return result.array


__all__ = ["convolve", "diamond_square", "haar", "morphology", "ranklet"]
