"""The two-dimensional Haar transform with the names, arguments and results of PyWavelets.

    from cernita.wavelets import wavedec2, waverec2
    averages, *details = wavedec2(picture, "haar", level=3)

float32 is computed by the library, uint8 exactly; details are then views of one array, as the averages are. float64,
complex numbers and other integers, which PyWavelets turns to float64, are computed by NumPy: as PyWavelets in float64,
but slower than float32. All of PyWavelets' modes: they differ only for odd sizes. Results agree with PyWavelets' within
4 levels 2^-24 max|x| in float32 and 4 levels 2^-52 max|x| in float64. threads: None for one per core; backend: as of
cernita.haar(); neither is of use to NumPy.
"""
from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._arguments import absent, join, whole
from ._arrays import host_array
from ._library import lib
from ._operators import haar

Details = Tuple[Any, Any, Any]  # horizontal, vertical, diagonal

_MODES = ("zero", "symmetric", "constant", "smooth", "periodic", "periodization", "reflect", "antisymmetric",
          "antireflect")  # in the order of pywt.Modes' numbers
_LAST_AGAIN = ("symmetric", "constant", "periodization")  # the library's own way with odd sizes
_BYTES_LEVELS = 8  # levels for which sums of bytes are exact in float32


class _Call(NamedTuple):
    """Arguments that all functions share, once checked."""
    modes: tuple[str, str]  # of rows (the first axis), of columns
    axes: tuple[int, int]
    how: dict[str, Any]


# --- arguments --------------------------------------------------------------------------------------------------------

def _pair(argument: str, value: Any) -> tuple[Any, Any]:
    """A value for each axis, of one for both or a pair."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(f"{argument} must be one, or one for each of two axes, not {value!r}")
        return value[0], value[1]
    return value, value


def _check_wavelet(function: str, wavelet: Any) -> None:
    for one in _pair("wavelet", wavelet):
        name = getattr(one, "name", one)
        if not isinstance(name, str) or name.lower() not in ("haar", "db1"):
            raise ValueError(f"wavelet must be 'haar', which 'db1' is as well, not {name!r}; pywt.{function} has "
                             "others")


def _mode(mode: Any) -> str:
    if isinstance(mode, str):
        if mode not in _MODES:
            raise ValueError(f"mode must be {join(_MODES)}, not {mode!r}")
        return mode
    return _MODES[whole("mode", mode, 0, len(_MODES) - 1)]


def _call(function: str, ndim: int, wavelet: Any, mode: Any, axes: Any, how: dict[str, Any]) -> _Call:
    _check_wavelet(function, wavelet)
    modes = _pair("mode", mode)
    if not isinstance(axes, (tuple, list)):
        raise TypeError(f"axes must be two numbers, not {axes!r}")
    if len(axes) != 2:
        raise ValueError(f"axes must be two numbers, not {axes!r}")
    if ndim < 2:
        raise ValueError(f"data must have at least 2 dimensions, not {ndim}; pywt.dwt and pywt.wavedec take one")
    rows, columns = (whole("axes", axis, -ndim, ndim - 1) % ndim for axis in axes)
    if rows == columns:
        raise ValueError(f"axes must be two different ones, not {axes!r}; pywt.{function} may transform one twice")
    return _Call((_mode(modes[0]), _mode(modes[1])), (rows, columns), how)


def _result_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """PyWavelets' type of coefficients."""
    if dtype.kind not in "buifc":
        raise TypeError(f"data must be numbers, not {dtype}")
    if dtype in (np.float16, np.float32):
        return np.dtype("f4")
    if dtype.kind == "c":
        return np.dtype("c8" if dtype == np.complex64 else "c16")
    return np.dtype("f8")


def _last_two(array: npt.NDArray[Any], axes: tuple[int, int]) -> npt.NDArray[Any]:
    """A view with the transformed axes at the end."""
    return array if axes == (array.ndim - 2, array.ndim - 1) else np.moveaxis(array, axes, (-2, -1))


def _back(array: npt.NDArray[Any], axes: tuple[int, int]) -> npt.NDArray[Any]:
    return array if axes == (array.ndim - 2, array.ndim - 1) else np.moveaxis(array, (-2, -1), axes)


# --- one level, or several by the library -----------------------------------------------------------------------------

def _library(planes: npt.NDArray[Any], levels: int, how: dict[str, Any],
             direction: str = "forward") -> npt.NDArray[Any]:
    """haar() of any number of planes."""
    at_most_three = planes if planes.ndim <= 3 else planes.reshape(-1, *planes.shape[-2:])
    result: npt.NDArray[Any] = haar(at_most_three, levels, direction=direction, layout="chw", **how)
    return result.reshape(planes.shape)


def _grown(quadrant: npt.NDArray[Any], height: int, width: int) -> npt.NDArray[Any]:
    """Differences of that size: zeros for those that the library does not keep, of a last sample and itself."""
    if quadrant.shape[-2:] == (height, width):
        return quadrant
    large = np.zeros((*quadrant.shape[:-2], height, width), quadrant.dtype)
    large[..., :quadrant.shape[-2], :quadrant.shape[-1]] = quadrant
    return large


def _quadrants(layout: npt.NDArray[Any], height: int, width: int) -> tuple[npt.NDArray[Any], Details]:
    """Averages and details of one level, whose picture was height x width, from the library's array."""
    rows, columns = (height + 1) // 2, (width + 1) // 2
    details = (layout[..., rows:height, :columns], layout[..., :rows, columns:width],
               layout[..., rows:height, columns:width])
    return layout[..., :rows, :columns], tuple(_grown(detail, rows, columns) for detail in details)  # type: ignore


def _continued(array: npt.NDArray[Any], mode: str) -> npt.NDArray[Any]:
    """One more sample along the last axis, by PyWavelets' mode."""
    last, other = array[..., -1:], array[..., -2:-1] if array.shape[-1] > 1 else array[..., -1:]
    if mode in _LAST_AGAIN:
        more = last
    elif mode in ("smooth", "antireflect"):
        more = 2 * last - other
    else:
        more = {"zero": 0 * last, "periodic": array[..., :1], "reflect": other, "antisymmetric": -last}[mode]
    return np.concatenate([array, more], axis=-1)


def _even(array: npt.NDArray[Any], modes: tuple[str, str]) -> npt.NDArray[Any]:
    if array.shape[-1] % 2:
        array = _continued(array, modes[1])
    if array.shape[-2] % 2:
        array = _continued(array.swapaxes(-2, -1), modes[0]).swapaxes(-2, -1)
    return array


def _forward_by_numpy(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Details]:
    """One level of a picture with even sides."""
    top, bottom = array[..., 0::2, :], array[..., 1::2, :]
    sums, differences = top + bottom, top - bottom
    (a, b), (c, d) = ((lines[..., 0::2], lines[..., 1::2]) for lines in (sums, differences))
    return (a + b) / 2, ((c + d) / 2, (a - b) / 2, (c - d) / 2)


def _inverse_by_numpy(average: Any, horizontal: Any, vertical: Any, diagonal: Any) -> npt.NDArray[Any]:
    height, width = average.shape[-2:]
    out = np.empty((*average.shape[:-2], 2 * height, 2 * width), average.dtype)
    for row, (above, below) in enumerate(((average + horizontal, vertical + diagonal),
                                          (average - horizontal, vertical - diagonal))):
        out[..., row::2, 0::2] = (above + below) / 2
        out[..., row::2, 1::2] = (above - below) / 2
    return out


def _last_again(height: int, width: int, modes: tuple[str, str]) -> bool:
    """True if a level of a picture of that size is as the library computes it."""
    return all(length % 2 == 0 or mode in _LAST_AGAIN for length, mode in zip((height, width), modes))


def _level(array: npt.NDArray[Any], call: _Call) -> tuple[npt.NDArray[Any], Details]:
    """One level of a picture of a result's type."""
    height, width = array.shape[-2:]
    if array.dtype == np.float32 and max(height, width) > 1:
        if not _last_again(height, width, call.modes):
            array = _even(array, call.modes)
            height, width = array.shape[-2:]
        return _quadrants(_library(array, 1, call.how), height, width)
    return _forward_by_numpy(_even(array, call.modes))


def _all_at_once(height: int, width: int, level: int, modes: tuple[str, str]) -> bool:
    """True if the library's levels are the transform's."""
    if level > lib.crn_haar_levels_max(height, width):
        return False
    return all(_last_again(-(-height >> n), -(-width >> n), modes) for n in range(level))


def _forward(data: npt.NDArray[Any], level: int, call: _Call) -> list[Any]:
    """wavedec2() of checked arguments, with the transformed axes at the end."""
    kind, (height, width) = _result_type(data.dtype), data.shape[-2:]
    exact = data.dtype in (np.uint8, np.bool_) and level <= _BYTES_LEVELS
    if not data.size:
        raise ValueError(f"data must not be empty, as one of shape {data.shape} is")
    if level and (kind == np.float32 or exact) and _all_at_once(height, width, level, call.modes):
        source = data.view("u1") if exact else data.astype("f4", copy=False)
        layout = _library(source, level, call.how).astype(kind, copy=False)
        result: list[Any] = []
        for _ in range(level):
            average, details = _quadrants(layout, height, width)
            height, width = average.shape[-2:]
            result.insert(0, details)
        return [average, *result]
    average, result = data.astype(kind, copy=False) if level else data, []
    for _ in range(level):
        average, details = _level(average, call)
        result.insert(0, details)
    return [average, *result]


# --- inverse ----------------------------------------------------------------------------------------------------------

def _details(details: Any) -> Details:
    """Horizontal, vertical and diagonal details of one shape, as arrays, or None."""
    if not isinstance(details, (tuple, list)) or len(details) != 3:
        raise ValueError(f"coeffs: Unexpected detail coefficient type: {type(details).__name__}; must be tuples of "
                         "horizontal, vertical and diagonal ones")
    bands = tuple(None if band is None else host_array("coeffs", band, "cernita.haar()") for band in details)
    _shape(bands)
    return bands  # type: ignore[return-value]


def _shape(bands: Sequence[Any]) -> tuple[int, ...] | None:
    """That of all which are not None."""
    shapes = {band.shape for band in bands if band is not None}
    if len(shapes) > 1:
        raise ValueError("coeffs must be of one shape in each level, not of "
                         f"{join([str(shape) for shape in sorted(shapes)], 'and')}")
    return shapes.pop() if shapes else None


def _common_type(bands: Sequence[npt.NDArray[Any] | None]) -> np.dtype[Any]:
    kinds = {_result_type(band.dtype) for band in bands if band is not None}
    if len(kinds) == 1:
        return kinds.pop()
    return np.dtype("c16" if any(kind.kind == "c" for kind in kinds) else "f8")


def _inverse(bands: Sequence[npt.NDArray[Any] | None], how: dict[str, Any]) -> npt.NDArray[Any]:
    """One level back, with the transformed axes at the end."""
    kind = _common_type(bands)
    shape = next(band.shape for band in bands if band is not None)
    height, width = shape[-2:]
    if kind == np.float32:
        layout = np.zeros((*shape[:-2], 2 * height, 2 * width), kind)
        corners = ((0, 0), (height, 0), (0, width), (height, width))
        for band, (row, column) in zip(bands, corners):
            if band is not None:
                layout[..., row:row + height, column:column + width] = band
        return _library(layout, 1, how, "inverse")
    return _inverse_by_numpy(*(np.zeros(shape, kind) if band is None else band.astype(kind, copy=False)
                               for band in bands))


def _layout_of(average: npt.NDArray[Any], levels: Sequence[Details]) -> npt.NDArray[Any] | None:
    """All levels in the library's array, if each is twice as large as the one before and in float32; the transformed
    axes are the last ones."""
    height, width = average.shape[-2:]
    layout = np.empty((*average.shape[:-2], height << len(levels), width << len(levels)), "f4")
    layout[..., :height, :width] = average
    for details in levels:
        for band, row, column in zip(details, (height, 0, height), (0, width, width)):
            if band is not None and (band.shape != (*average.shape[:-2], height, width) or band.dtype != np.float32):
                return None
            layout[..., row:row + height, column:column + width] = 0 if band is None else band
        height, width = 2 * height, 2 * width
    return layout


def _without_repeated(average: npt.NDArray[Any], details: Details) -> npt.NDArray[Any]:
    """The average, without the last sample of an odd size, which the level above had twice."""
    shape = _shape(details)
    if shape is None:
        return average
    return average[tuple(slice(side if there == side + 1 else None) for there, side in zip(average.shape, shape))]


# --- the functions ----------------------------------------------------------------------------------------------------

def dwt2(data: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1), *, backend: str = "auto",
         threads: int | None = 1) -> tuple[Any, Details]:
    """One level: (averages, (horizontal, vertical, diagonal details)). As pywt.dwt2.

    >>> average, (horizontal, vertical, diagonal) = dwt2(np.array([[1, 2], [3, 5]], "float32"), "haar")
    >>> average, horizontal, vertical, diagonal
    (array([[5.5]], dtype=float32), array([[-2.5]], dtype=float32), array([[-1.5]], dtype=float32), \
array([[0.5]], dtype=float32))
    """
    array = host_array("data", data, "cernita.haar()")
    call = _call("dwt2", array.ndim, wavelet, mode, axes, {"backend": backend, "threads": threads})
    average, details = _forward(_last_two(array, call.axes), 1, call)
    return _back(average, call.axes), tuple(_back(band, call.axes) for band in details)  # type: ignore[return-value]


def idwt2(coeffs: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1), *, backend: str = "auto",
          threads: int | None = 1) -> npt.NDArray[Any]:
    """The inverse of dwt2(), with even sides; None stands for zeros. As pywt.idwt2.

    >>> idwt2(dwt2(np.array([[1, 2], [3, 5]], "float32"), "haar"), "haar")
    array([[1., 2.],
           [3., 5.]], dtype=float32)
    """
    if not isinstance(coeffs, (tuple, list)) or len(coeffs) != 2:
        raise ValueError("coeffs must be (averages, (horizontal, vertical, diagonal details))")
    bands = (None if coeffs[0] is None else host_array("coeffs", coeffs[0], "cernita.haar()"), *_details(coeffs[1]))
    shape = _shape(bands)
    if shape is None:
        raise ValueError("coeffs must not all be None")
    call = _call("idwt2", len(shape), wavelet, mode, axes, {"backend": backend, "threads": threads})
    return _back(_inverse([None if band is None else _last_two(band, call.axes) for band in bands], call.how),
                 call.axes)


def wavedec2(data: Any, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axes: Any = (-2, -1), *,
             backend: str = "auto", threads: int | None = 1) -> list[Any]:
    """Several levels: [averages, details of the last level, …, of the first]. level None: as many as halve the shorter
    side down to 1. As pywt.wavedec2.

    >>> averages, coarse, fine = wavedec2(np.ones((4, 4), "float32"), "haar")
    >>> averages, fine[0].shape
    (array([[4.]], dtype=float32), (2, 2))
    """
    array = host_array("data", data, "cernita.haar()")
    call = _call("wavedec2", array.ndim, wavelet, mode, axes, {"backend": backend, "threads": threads})
    moved = _last_two(array, call.axes)
    most = max(min(moved.shape[-2:]), 1).bit_length() - 1
    level = most if level is None else whole("level", level, 0, 64)
    if level > most:
        warnings.warn(f"level {level} is above {most}: coefficients of all further levels depend on the border",
                      UserWarning, stacklevel=2)
    average, *details = _forward(moved, level, call)
    return [_back(average, call.axes), *(tuple(_back(band, call.axes) for band in bands) for bands in details)]


def waverec2(coeffs: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1), *, backend: str = "auto",
             threads: int | None = 1) -> Any:
    """The inverse of wavedec2(), with even sides; None stands for zeros. As pywt.waverec2.

    >>> waverec2(wavedec2(np.array([[1, 2], [3, 5]], "float32"), "haar"), "haar")
    array([[1., 2.],
           [3., 5.]], dtype=float32)
    """
    if not isinstance(coeffs, (list, tuple)) or not len(coeffs):
        raise ValueError("coeffs must be a sequence of averages and then details, as wavedec2() gives it")
    if len(coeffs) == 1:
        return coeffs[0]
    average = host_array("coeffs", coeffs[0], "cernita.haar()")
    call = _call("waverec2", average.ndim, wavelet, mode, axes, {"backend": backend, "threads": threads})
    average = _last_two(average, call.axes)
    levels = [_details(details) for details in coeffs[1:]]
    if any(band is not None and band.ndim != average.ndim for details in levels for band in details):
        raise ValueError("coeffs must all have the same number of dimensions")
    levels = [tuple(None if band is None else _last_two(band, call.axes) for band in details)  # type: ignore[misc]
              for details in levels]
    layout = _layout_of(average, levels) if average.dtype == np.float32 else None
    if layout is not None:
        return _back(_library(layout, len(levels), call.how, "inverse"), call.axes)
    for details in levels:
        bands = (_without_repeated(average, details), *details)
        _shape(bands)
        average = _inverse(bands, call.how)
    return _back(average, call.axes)


def __getattr__(name: str) -> Any:
    raise absent(__name__, "pywt", name)


__all__ = ["dwt2", "idwt2", "wavedec2", "waverec2"]
