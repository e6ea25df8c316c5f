"""Morphology and linear filters with the names, arguments and results of OpenCV.

    from cernita import opencv as cv
    opened = cv.morphologyEx(picture, cv.MORPH_OPEN, kernel)

src: H x W or H x W x C; the result of H x W x 1 is H x W, as OpenCV's. uint8 and float32 are read in place; uint16,
int16 and, for morphology, float64 are converted to float32 if that holds their values exactly, else refused. The
constants below have OpenCV's values, so that cv2's do as well. As in OpenCV, and other than in scipy and
cernita.morphology(), dilation does not reflect the kernel. Border types that differ from "nothing lies outside", the
default of morphology, cost a padded copy of the picture; BORDER_REFLECT does in filter2D. threads: None for one per
core; backend: as of cernita.morphology().
"""
from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arguments import absent, join, number, numbers, whole
from ._arrays import has_whole_elements
from ._peers.borders import cropped, padded
from ._foreign import as_numpy, in_host_memory, plain, retold, told_of
from ._peers.elements import AnchoredElement, centred_on, filtered, sees_nothing_outside
from ._library import ELEMENT_MAX, KERNEL_TAPS_MAX
from ._operators import convolve

MORPH_RECT, MORPH_CROSS, MORPH_ELLIPSE = range(3)
MORPH_ERODE, MORPH_DILATE, MORPH_OPEN, MORPH_CLOSE, MORPH_GRADIENT, MORPH_TOPHAT, MORPH_BLACKHAT = range(7)
BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT = 0, 1, 2
BORDER_REFLECT_101 = BORDER_REFLECT101 = BORDER_DEFAULT = 4
BORDER_ISOLATED = 16  # without effect on arrays
CV_8U, CV_16U, CV_16S, CV_32F = 0, 2, 3, 5

_NATIVE = {np.dtype("u1"), np.dtype("f4")}  # what the library computes with
_NAMES = {np.dtype(name): name for name in ("uint8", "uint16", "int16", "float32", "float64")}
_OPERATIONS = ("erode", "dilate", "open", "close", "gradient", "tophat", "blackhat")
_RULES = {BORDER_CONSTANT: "constant", BORDER_REPLICATE: "edge", BORDER_REFLECT: "symmetric",
          BORDER_REFLECT_101: "mirror"}
_DIRECT = {"constant": "zero", "edge": "replicate", "mirror": "reflect"}  # those that convolve() has
_DEPTHS = {CV_8U: "uint8", CV_16U: "uint16", CV_16S: "int16", CV_32F: "float32"}
_RESULTS = {"uint8": (CV_8U, CV_16U, CV_16S, CV_32F), "uint16": (CV_16U, CV_32F), "int16": (CV_16S, CV_32F),
            "float32": (CV_32F,)}  # of filter2D, by the type of src


# --- arguments --------------------------------------------------------------------------------------------------------

def _source(given: Any, types: tuple[str, ...], cure: str) -> npt.NDArray[Any]:
    src = in_host_memory("src", given, "cernita.morphology() and cernita.convolve()")
    if _NAMES.get(src.dtype) not in types:
        raise TypeError(told_of("src", given, f"src must be of {', '.join(types[:-1])} or {types[-1]}, not {src.dtype}; "
                                              f"{cure}"))
    if src.ndim not in (2, 3) or not src.size:
        raise ValueError(f"src must have 2 dimensions, or 3 with the channels last, and not be empty, as one of shape "
                         f"{src.shape}")
    src = src if has_whole_elements(src) else src.copy()
    return src[..., 0] if src.ndim == 3 and src.shape[2] == 1 else src


def _destination(dst: Any, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any] | None:
    if dst is None:
        return None
    if (not isinstance(dst, np.ndarray) or dst.shape != shape or dst.dtype != dtype or not dst.flags.writeable or
            not has_whole_elements(dst)):
        what = f"{dst.dtype} {dst.shape}" if isinstance(dst, np.ndarray) else type(dst).__name__
        raise ValueError(f"dst must be a writeable, aligned array of shape {shape} and type {np.dtype(dtype)}, not "
                         f"{what}")
    plain("dst", dst)
    return dst


def _rule(borderType: Any) -> str:
    kind = whole("borderType", borderType, 0, 63) & ~BORDER_ISOLATED
    if kind not in _RULES:
        raise ValueError("borderType must be BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT or BORDER_REFLECT_101, "
                         f"not {borderType}; cernita.convolve(border='wrap') has another, so has scipy.ndimage")
    return _RULES[kind]


def _anchor(anchor: Any, shape: tuple[int, int]) -> tuple[int, int]:
    """Row and column."""
    if not isinstance(anchor, (tuple, list, np.ndarray)) or len(anchor) != 2:
        raise ValueError(f"anchor must be (x, y), not {anchor!r}")
    column, row = (whole("anchor", at, -1, side - 1) for at, side in zip(anchor, shape[::-1]))
    return shape[0] // 2 if row < 0 else row, shape[1] // 2 if column < 0 else column


def _two_dimensions(kernel: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """A column of one dimension, as OpenCV takes it."""
    if kernel.ndim == 1:
        kernel = kernel[:, None]
    if kernel.ndim != 2 or not kernel.size or max(kernel.shape) > most:
        raise ValueError(f"kernel must have 2 dimensions with sides from 1 to {most}, not the shape {kernel.shape}")
    return kernel


@functools.lru_cache(64)
def _element_of(packed: bytes, shape: tuple[int, int], at: tuple[int, int],
                iterations: int) -> tuple[AnchoredElement, int]:
    """The element, and how often it is to be applied: a full one is enlarged instead, as OpenCV does."""
    members = np.frombuffer(packed, bool).reshape(shape)
    if not members.all():
        return AnchoredElement("kernel", shape, at, members), iterations
    shape = shape[0] + (iterations - 1) * (shape[0] - 1), shape[1] + (iterations - 1) * (shape[1] - 1)
    return AnchoredElement("kernel", shape, (at[0] * iterations, at[1] * iterations)), 1


def _element(kernel: Any, anchor: Any, iterations: int) -> tuple[AnchoredElement, int]:
    if kernel is None:
        return _element_of(b"\1" * 9, (3, 3), (1, 1), iterations)
    kernel = as_numpy("kernel", kernel)
    if not isinstance(kernel, np.ndarray) or kernel.dtype.kind not in "buif":
        kernel = numbers("kernel", kernel, "f8")
    members = _two_dimensions(kernel, ELEMENT_MAX) != 0
    if not members.any():
        raise ValueError("kernel must have a member that is not 0")
    return _element_of(members.tobytes(), members.shape, _anchor(anchor, members.shape), iterations)


def _border_value(borderValue: Any, src: npt.NDArray[Any]) -> Any:
    """One value per channel, in src's range; None: OpenCV's default, beyond all others."""
    if borderValue is None:
        return None
    values = np.ravel(numbers("borderValue", borderValue, "f8"))
    if len(values) > 4 or not len(values) or np.isnan(values).any():
        raise ValueError(f"borderValue must be a number, or one for each of at most 4 channels, not {borderValue!r}")
    if (np.abs(values) == sys.float_info.max).all() and len(values) == 4:
        return None
    channels = 1 if src.ndim == 2 else src.shape[2]
    if channels > 4:
        raise ValueError(f"borderValue must be left out for pictures of {channels} channels: OpenCV takes 4 values")
    if len(values) < channels:
        raise ValueError(f"borderValue must have a value for each of {channels} channels, not be {borderValue!r}: "
                         "OpenCV would take the others to be the largest number")
    values = values[:channels]
    if src.dtype.kind in "iu":
        values = np.clip(np.rint(values), np.iinfo(src.dtype).min, np.iinfo(src.dtype).max)
    if src.dtype == np.float64 and (values.astype("f4") != values).any():
        raise ValueError(f"borderValue must be exact in float32, not {borderValue!r}")
    return values if src.ndim == 3 else values[0]


# --- morphology -------------------------------------------------------------------------------------------------------

def _working(src: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if src.dtype in _NATIVE:
        return src
    result = src.astype("f4")
    if not np.array_equal(result, src, equal_nan=src.dtype.kind == "f"):
        raise TypeError("src must be of values that float32 holds exactly, which some of this float64 are not: "
                        "src.astype('float32') rounds them, cv2 computes with them")
    return result


def _saturated(values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype.kind in "iu":
        values = np.clip(values, np.iinfo(dtype).min, np.iinfo(dtype).max)
    return values.astype(dtype)


def _difference(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if a.dtype.kind == "f":
        return np.subtract(a, b)
    return _saturated(np.subtract(a, b, dtype="i4"), a.dtype)


class _Morphology(NamedTuple):
    """One call's element and border."""
    element: AnchoredElement
    iterations: int
    rules: tuple[str, str] | None  # None: nothing lies outside
    value: Any
    how: dict[str, Any]

    def step(self, operation: str, array: npt.NDArray[Any], out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Erosion or dilation, all iterations, of an array of src's type."""
        element = self.element if operation == "erode" else self.element.reflected  # the library reflects it again
        working = _working(array)
        direct = out if working is array and self.iterations == 1 else None
        for _ in range(self.iterations):
            working = filtered(operation, working, element, self.rules, self.value, direct, **self.how)
        if working.dtype != array.dtype:
            working = _saturated(working, array.dtype)
        if array.dtype == np.float32 and not element.has_anchor:  # OpenCV's value where no member is on the picture
            np.clip(working, np.finfo("f4").min, np.finfo("f4").max, out=working)
        return working

    def fusible(self, dtype: np.dtype[Any]) -> bool:
        """True if the library's own operation gives what the steps would."""
        return (self.iterations == 1 and dtype in _NATIVE and self.element.is_symmetric and
                (self.rules is None or "constant" not in self.rules and sees_nothing_outside(self.element, self.rules)))

    def run(self, operation: str, src: npt.NDArray[Any], out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        if operation in ("erode", "dilate"):
            return self.step(operation, src, out)
        if self.fusible(src.dtype):
            return filtered(operation, src, self.element, None, out=out, **self.how)  # type: ignore[no-any-return]
        if operation == "open":
            return self.step("dilate", self.step("erode", src), out)
        if operation == "close":
            return self.step("erode", self.step("dilate", src), out)
        if operation == "gradient":
            return _difference(self.step("dilate", src), self.step("erode", src))
        if operation == "tophat":
            return _difference(src, self.run("open", src, None))
        return _difference(self.run("close", src, None), src)


def _morphology(operation: str, src: Any, kernel: Any, dst: Any, anchor: Any, iterations: Any, borderType: Any,
                borderValue: Any, how: dict[str, Any]) -> npt.NDArray[Any]:
    source = _source(src, ("uint8", "uint16", "int16", "float32", "float64"), "src.astype('float32') makes it one")
    target = _destination(dst, source.shape, source.dtype)
    count = whole("iterations", iterations, 0, ELEMENT_MAX)
    element, count = _element(kernel, anchor, count) if count else (AnchoredElement("kernel", (1, 1), (0, 0)), 1)
    rule, value = _rule(borderType), _border_value(borderValue, source)
    call = _Morphology(element, count, None if rule == "constant" and value is None else (rule, rule), value, how)
    try:
        result = call.run(operation, source, None if target is None or np.may_share_memory(target, source) else target)
    except TypeError as fault:
        raise retold(fault, "src", src) from None
    if target is None or result is target:
        return result
    target[...] = result
    return target


def getStructuringElement(shape: int, ksize: Any, anchor: Any = (-1, -1)) -> npt.NDArray[np.uint8]:
    """A rectangle, a cross or an ellipse of (width, height). As cv2.getStructuringElement: the ellipse is wider than
    cernita.morphology()'s disk.

    >>> getStructuringElement(MORPH_ELLIPSE, (5, 5))[1]
    array([1, 1, 1, 1, 1], dtype=uint8)
    """
    kind = whole("shape", shape, 0, 2)
    if not isinstance(ksize, (tuple, list, np.ndarray)) or len(ksize) != 2:
        raise ValueError(f"ksize must be (width, height), not {ksize!r}")
    width, height = (whole("ksize", side, 1, ELEMENT_MAX) for side in ksize)
    row, column = _anchor(anchor, (height, width))
    element = np.zeros((height, width), "u1")
    if kind == MORPH_RECT or width == height == 1:
        element[:] = 1
    elif kind == MORPH_CROSS:
        element[row] = element[:, column] = 1
    else:
        # Each row as far to both sides as the ellipse with half axes width // 2 and height // 2, rounded half to even.
        down, across = height // 2, width // 2
        dy = np.arange(height) - down
        reach = np.rint(across * np.sqrt(np.maximum(down * down - dy * dy, 0) * (1 / (down * down) if down else 0)))
        element[np.abs(np.arange(width) - across) <= reach[:, None]] = 1
        element[np.abs(dy) > down] = 0
    return element


def erode(src: Any, kernel: Any, dst: Any = None, anchor: Any = (-1, -1), iterations: int = 1,
          borderType: int = BORDER_CONSTANT, borderValue: Any = None, *, backend: str = "auto",
          threads: int | None = 1) -> npt.NDArray[Any]:
    """The minimum over the kernel's non-zero pixels. As cv2.erode; kernel None is a square of 3.

    >>> erode(np.array([[5, 7, 6, 9]], "uint8"), np.ones((1, 3)))
    array([[5, 5, 6, 6]], dtype=uint8)
    """
    return _morphology("erode", src, kernel, dst, anchor, iterations, borderType, borderValue,
                       {"backend": backend, "threads": threads})


def dilate(src: Any, kernel: Any, dst: Any = None, anchor: Any = (-1, -1), iterations: int = 1,
           borderType: int = BORDER_CONSTANT, borderValue: Any = None, *, backend: str = "auto",
           threads: int | None = 1) -> npt.NDArray[Any]:
    """The maximum over the kernel's non-zero pixels, which is not reflected. As cv2.dilate.

    >>> dilate(np.array([[0, 0, 3, 0]], "uint8"), np.array([[1, 1, 0]]))
    array([[0, 0, 3, 3]], dtype=uint8)
    """
    return _morphology("dilate", src, kernel, dst, anchor, iterations, borderType, borderValue,
                       {"backend": backend, "threads": threads})


def morphologyEx(src: Any, op: int, kernel: Any, dst: Any = None, anchor: Any = (-1, -1), iterations: int = 1,
                 borderType: int = BORDER_CONSTANT, borderValue: Any = None, *, backend: str = "auto",
                 threads: int | None = 1) -> npt.NDArray[Any]:
    """Erosion, dilation and their combinations. As cv2.morphologyEx, but for MORPH_HITMISS.

    >>> morphologyEx(np.array([[0, 9, 0, 5, 5, 5]], "uint8"), MORPH_TOPHAT, np.ones((1, 3)))
    array([[0, 9, 0, 0, 0, 0]], dtype=uint8)
    """
    operation = whole("op", op, 0, 7)
    if operation == 7:
        raise ValueError("op must be MORPH_ERODE to MORPH_BLACKHAT; MORPH_HITMISS is in cv2 and, as "
                         "binary_hit_or_miss, in scipy.ndimage")
    return _morphology(_OPERATIONS[operation], src, kernel, dst, anchor, iterations, borderType, borderValue,
                       {"backend": backend, "threads": threads})


# --- filter2D ---------------------------------------------------------------------------------------------------------

def _weights(kernel: Any, anchor: Any) -> npt.NDArray[Any]:
    """The kernel with its anchor where convolve() has it: enlarged with zeros if that is not its middle."""
    weights = _two_dimensions(numbers("kernel", kernel, "f4"), KERNEL_TAPS_MAX)
    if not np.isfinite(weights).all():
        raise ValueError("kernel must be of finite weights")
    height, width = weights.shape
    at = _anchor(anchor, (height, width))
    if at == (height // 2, width // 2):
        return weights
    large = centred_on(at, weights)
    if large.size > KERNEL_TAPS_MAX:
        raise ValueError(f"kernel must have at most {KERNEL_TAPS_MAX} weights once its anchor is its middle, not "
                         f"{large.size}")
    return large


def _convolved(src: npt.NDArray[Any], weights: npt.NDArray[Any], rule: str, out: npt.NDArray[Any] | None,
               how: dict[str, Any]) -> npt.NDArray[Any]:
    if rule in _DIRECT:
        return convolve(src, weights, border=_DIRECT[rule], out=out, **how)  # type: ignore[no-any-return]
    rows, columns = ((side // 2, side - 1 - side // 2) for side in weights.shape)
    large = padded(src, rows, columns, (rule, rule))
    return cropped(convolve(large, weights, border="zero", **how), rows, columns)


def filter2D(src: Any, ddepth: int, kernel: Any, dst: Any = None, anchor: Any = (-1, -1), delta: float = 0,
             borderType: int = BORDER_DEFAULT, *, backend: str = "auto", threads: int | None = 1) -> npt.NDArray[Any]:
    """Correlation with the kernel, plus delta. As cv2.filter2D, within rounding.

    Sums are in float32: |error| <= 2 n 2^-24 S, with n the number of weights and S the sum of |weight x pixel|;
    integers are rounded half to even and saturated, and off by one at most, where the sum is that near to a tie.
    ddepth: -1 (that of src), CV_8U, CV_16U, CV_16S or CV_32F, in OpenCV's combinations; CV_64F is refused.

    >>> filter2D(np.array([[1, 2, 4]], "uint8"), CV_32F, [[-1, 0, 1]])
    array([[0., 3., 0.]], dtype=float32)
    """
    how = {"backend": backend, "threads": threads}
    source = _source(src, tuple(_RESULTS), "src.astype('float32') makes it one, cv2.filter2D has sums in float64")
    depth = whole("ddepth", ddepth, -1, 6)
    if depth >= 0 and depth not in _RESULTS[_NAMES[source.dtype]]:
        allowed = [f"{depth} ({_DEPTHS[depth]})" for depth in _RESULTS[_NAMES[source.dtype]]]
        raise ValueError(f"ddepth must be -1, {join(allowed)} where src is of {source.dtype}, not {ddepth}")
    kind = source.dtype if depth < 0 else np.dtype(_DEPTHS[depth])
    target = _destination(dst, source.shape, kind)
    weights, rule, shift = _weights(kernel, anchor), _rule(borderType), number("delta", delta, -np.inf, np.inf)
    if kind == source.dtype and (kind == np.float32 or kind == np.uint8 and not shift):
        apart = None if target is None or np.may_share_memory(target, source) else target
        result = _convolved(source, weights, rule, apart, how)
        if shift:
            result += np.float32(shift)
    else:
        sums = _convolved(source.astype("f4"), weights, rule, None, how)
        sums += np.float32(shift)
        result = sums if kind == np.float32 else _saturated(np.rint(sums, out=sums), kind)
    if target is None or result is target:
        return result
    target[...] = result
    return target


def __getattr__(name: str) -> Any:
    raise absent(__name__, "cv2", name)


__all__ = ["dilate", "erode", "filter2D", "getStructuringElement", "morphologyEx"]
