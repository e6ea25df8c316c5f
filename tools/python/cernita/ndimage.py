"""Grey morphology with the names, arguments and results of scipy.ndimage.

    from cernita.ndimage import grey_opening
    opened = grey_opening(picture, size=(5, 5))

input: one or two dimensions, or three of which size, footprint or structure spans the first or the last by 1 (planes).
uint8 and float32 are read in place; bool, other integers and float64 are converted to float32 if that holds their
values exactly, which gives scipy's results, else refused. Modes that differ from "nothing lies outside" for the element
at hand cost a padded copy of the picture; those of a centred rectangle, disk or cross do not, but for "wrap" and
"constant". threads: None for one per core; backend: as of cernita.morphology(). Where scipy differs: it leaves -0 as it
is and the result of NaN to chance; here -0 becomes +0, erosion ignores NaN and dilation does, too.
"""
from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arguments import absent, join, whole
from ._arrays import has_whole_elements, host_array
from ._foreign import as_numpy, is_foreign, plain, retold
from ._peers.elements import AnchoredElement, filtered, flat_members, sees_nothing_outside
from ._library import ELEMENT_MAX

_RULES = {"reflect": "symmetric", "constant": "constant", "nearest": "edge", "mirror": "mirror", "wrap": "wrap",
          "grid-mirror": "symmetric", "grid-constant": "constant", "grid-wrap": "wrap"}
_EXACT_MAX = 1 << 24  # whole numbers up to here are exact in float32


class _Request(NamedTuple):
    """The arguments that all functions share, once checked."""
    element: AnchoredElement
    rules: tuple[str, str]
    cval: float
    first: bool  # three dimensions: the planes are the first
    how: dict[str, Any]  # threads, backend


# --- arguments --------------------------------------------------------------------------------------------------------

def _sequence(argument: str, value: Any, ndim: int) -> list[Any]:
    """One value per dimension of input, of one for all or a sequence."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * ndim
    values = list(value)
    if len(values) != ndim:
        raise ValueError(f"{argument} must be one value, or one for each of {ndim} dimensions of input, not {value!r}")
    return values


def _weights(argument: str, values: Any, ndim: int, dtype: Any) -> npt.NDArray[Any]:
    values = as_numpy(argument, values)
    try:
        array = np.asarray(values, dtype)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be numbers, not {values!r}") from None
    if array.ndim != ndim or not array.size:
        raise ValueError(f"{argument} must have {ndim} dimensions, as input has, not the shape {array.shape}")
    return array


def _extents(size: Any, footprint: Any, structure: Any, ndim: int) -> tuple[str, list[int], Any, Any]:
    """Which argument is the element, its sides, its members and its heights."""
    members = None if footprint is None else _weights("footprint", footprint, ndim, bool)
    if members is not None and not members.any():
        raise ValueError("footprint must have a member that is not 0")
    if structure is not None:
        heights = _weights("structure", structure, ndim, float)
        if members is not None and members.shape != heights.shape:
            raise ValueError(f"structure must be of footprint's shape, {members.shape}, not {heights.shape}")
        if not np.isfinite(heights).all() or (heights.astype("f4") != heights).any():
            raise ValueError("structure must be finite and exact in float32, in which is computed; "
                             "structure.astype('float32') is")
        return "structure", list(heights.shape), members, heights if heights.any() else None
    if members is not None:
        return "footprint", list(members.shape), members, None
    sides = [whole("size", side, 1, ELEMENT_MAX) for side in _sequence("size", size, ndim)]
    return "size", sides, None, None


def _in_rows_and_columns(values: Any, sides: list[int], first: bool) -> Any:
    """The element's array in two dimensions."""
    if values is None:
        return None
    if len(sides) == 3:
        return values[0] if first else values[..., 0]
    return values if len(sides) == 2 else values[None]


def _planes_first(name: str, sides: list[int]) -> bool:
    """Which dimension of three holds planes: where the element has one sample."""
    if len(sides) == 3 and sides[0] != 1 and sides[2] != 1:
        raise ValueError(f"{name} must span 1 of the first or the last of three dimensions, whose planes are worked on "
                         f"one by one, not be of {tuple(sides)}; scipy.ndimage has morphology in three dimensions")
    return len(sides) == 3 and sides[2] != 1


def _modes(mode: Any, ndim: int, separable: bool) -> list[str]:
    if not separable and not isinstance(mode, str):
        raise ValueError("mode must be one name where footprint or structure is not a full rectangle")
    modes = _sequence("mode", mode, ndim)
    for name in modes:
        if not isinstance(name, str) or name not in _RULES:
            raise ValueError(f"mode must be {join(list(_RULES))}, not {name!r}")
    return [_RULES[name] for name in modes]


def _request(ndim: int, size: Any, footprint: Any, structure: Any, mode: Any, cval: Any, origin: Any,
             how: dict[str, Any]) -> _Request:
    if ndim not in (1, 2, 3):
        raise ValueError(f"input must have 1 to 3 dimensions, not {ndim}; scipy.ndimage takes any number")
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint or structure must be given")
    if size is not None and footprint is not None:
        warnings.warn("size is ignored because footprint is given", UserWarning, stacklevel=4)
    name, sides, members, heights = _extents(size, footprint, structure, ndim)
    full = structure is None and (members is None or bool(members.all()))
    modes = _modes(mode, ndim, full)
    anchors = []
    for side, shift in zip(sides, _sequence("origin", origin, ndim)):
        anchors.append(side // 2 + whole("origin", shift, -(side // 2), side - 1 - side // 2))
    try:
        cval = float(cval)
    except (TypeError, ValueError):
        raise TypeError(f"cval must be a number, not {cval!r}") from None
    if np.isnan(cval):
        raise ValueError("cval must not be NaN")
    first = _planes_first(name, sides)
    spatial = slice(1, 3) if first else slice(0, 2)
    shape, anchor, rules = tuple(sides[spatial]), tuple(anchors[spatial]), tuple(modes[spatial])
    if ndim == 1:
        shape, anchor, rules = (1, *shape), (0, *anchor), ("edge", *rules)
    members = _in_rows_and_columns(members, sides, first)
    heights = _in_rows_and_columns(heights, sides, first)
    members = None if members is None else flat_members(members)
    return _Request(AnchoredElement(name, shape, anchor, members, heights), rules, cval,  # type: ignore[arg-type]
                    first, how)


# --- types ------------------------------------------------------------------------------------------------------------

def _refuse(array: npt.NDArray[Any], why: str) -> TypeError:
    return TypeError(f"input must be uint8 or float32, or of values that float32 holds exactly, which {why} of "
                     f"{array.dtype} are not: input.astype('float32') rounds them, scipy.ndimage computes with them")


def _working(array: npt.NDArray[Any], flat: bool) -> npt.NDArray[Any]:
    """The picture in a type that the library computes with: the array itself, or a copy in float32."""
    kind, wide = array.dtype.kind, array.dtype.itemsize > 2
    if kind not in "uif" or array.dtype.itemsize > 8 or array.dtype == np.float16:
        raise TypeError(f"input must be bool, integers, float32 or float64, not {array.dtype}; "
                        "input.astype('float32') makes it one")
    if array.dtype == np.uint8 and flat or array.dtype == np.float32 and array.dtype.isnative:
        return array
    with np.errstate(over="ignore"):
        result = array.astype("f4")
    if array.dtype == np.float64:
        if not np.array_equal(result, array, equal_nan=True):
            raise _refuse(array, "some values")
        if not flat and ((result != np.rint(result)).any() or np.abs(result).max() > _EXACT_MAX / 2):
            raise _refuse(array, "with structure, fractions")
    if kind in "iu" and wide and (int(array.max()) > _EXACT_MAX or int(array.min()) < -_EXACT_MAX):
        raise _refuse(array, "values beyond 2^24")
    return result


def _check_heights(request: _Request, operation: str, array: npt.NDArray[Any]) -> None:
    """Sums with heights are rounded once in float32, as by scipy; all others must be exact and within their type, where
    scipy's wrap around before they are compared."""
    heights, dtype = request.element.heights, array.dtype
    if heights is None or dtype == np.float32:
        return
    if (heights != np.rint(heights)).any() or np.abs(heights).max() > _EXACT_MAX / 2:
        raise ValueError(f"structure must hold whole numbers up to 2^23 where input is of {dtype}; "
                         "input.astype('float32') takes any")
    if dtype.kind == "f":
        return
    if request.element.members is not None:
        heights = heights[request.element.members]
    cval = [int(request.cval)] if "constant" in request.rules else []
    least, most = min([int(array.min()), *cval]), max([int(array.max()), *cval])
    least, most = ((least - int(heights.max()), most - int(heights.min())) if operation == "erode" else
                   (least + int(heights.min()), most + int(heights.max())))
    if least < np.iinfo(dtype).min or most > np.iinfo(dtype).max:
        raise ValueError(f"structure must not lead beyond the values of input's type, {dtype}, as to {least} or "
                         f"{most}: scipy's wrap around there; input.astype('float32') takes it, footprint is flat")


def _outside(request: _Request, operation: str, dtype: np.dtype[Any]) -> tuple[tuple[str, str] | None, float]:
    """The rules and the value outside, as the picture's type; no rules: that value would never be the result."""
    rules, cval, element = request.rules, request.cval, request.element
    if "constant" not in rules:
        return rules, 0
    flat = element.heights is None
    whole_frame = all(rule == "constant" for rule, side in zip(rules, element.shape) if side > 1)
    if dtype.kind == "f":
        neutral = cval == (np.inf if operation == "erode" else -np.inf)
        return None if neutral and flat and whole_frame else rules, cval
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if flat and whole_frame and element.has_anchor and (cval >= most if operation == "erode" else cval <= least):
        return None, 0
    if not least <= cval <= most or abs(cval) > _EXACT_MAX:
        raise ValueError(f"cval must be a value of input's type, {dtype}, not {cval}")
    return rules, float(np.trunc(cval))


# --- one operation ----------------------------------------------------------------------------------------------------

def _picture(array: Any, request: _Request) -> Any:
    """H x W or H x W x C of input's dimensions: a view."""
    if array.ndim == 1:
        return array[None]
    return array.transpose(1, 2, 0) if request.first else array


def _plain(values: Any, ndim: int, request: _Request) -> Any:
    """Input's dimensions of H x W or H x W x C: a view."""
    if ndim == 1:
        return values[0]
    return values.transpose(2, 0, 1) if request.first else values


def _as_type(values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """As C casts, which is what scipy does: fractions are cut off, integers wrap around."""
    if dtype.kind in "iu" and values.dtype.kind == "f":
        values = values.astype("i8")
    return values.astype(dtype, copy=False)


def _output(output: Any, array: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """The caller's array, or a new one of the type asked for; None: a new one of input's type."""
    if output is None:
        return None
    try:
        target = output if isinstance(output, np.ndarray) else np.empty(array.shape, output)
    except TypeError:
        told = type(output).__name__ if is_foreign(output) else repr(output)
        raise TypeError(f"output must be an array or a type, not {told}") from None
    plain("output", target)
    if target.shape != array.shape:
        raise ValueError(f"output must be of input's shape, {array.shape}, not {target.shape}")
    if not target.flags.writeable:
        raise ValueError("output must be writeable")
    if not np.can_cast(array.dtype, target.dtype, "safe"):
        raise TypeError(f"output must be of a type that holds all values of input's, {array.dtype}, not "
                        f"{target.dtype}; .astype() converts the result")
    return target


def _call(operation: str, array: npt.NDArray[Any], request: _Request, rules: tuple[str, str] | None, value: float,
          output: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """One call of the library, and the result in output or in a new array of input's type."""
    working = _working(array, request.element.heights is None)
    direct = (output is not None and output.dtype == working.dtype == array.dtype and
              has_whole_elements(output) and not np.may_share_memory(output, array))
    result = filtered(operation, _picture(working, request), request.element, rules, value,
                      _picture(output, request) if direct else None, **request.how)
    if output is None:
        return _as_type(_plain(result, array.ndim, request), array.dtype)
    if not direct:
        output[...] = _as_type(_plain(result, array.ndim, request), output.dtype)
    return output


def _step(operation: str, array: npt.NDArray[Any], request: _Request,
          output: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    """Erosion or dilation."""
    rules, value = _outside(request, operation, array.dtype)
    _check_heights(request, operation, array)
    return _call(operation, array, request, rules, value, output)


def _fusible(dtype: np.dtype[Any], request: _Request) -> bool:
    """True if the library's own operation gives what its steps would: nothing lies outside, nothing is rounded."""
    return ((dtype == np.float32 or dtype.kind in "iu" and dtype.itemsize <= 2) and
            "constant" not in request.rules and sees_nothing_outside(request.element, request.rules))


def _composed(operation: str, array: npt.NDArray[Any], request: _Request,
              output: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """An operation by its steps, as scipy composes it."""
    if operation in ("erode", "dilate"):
        return _step(operation, array, request, output)
    if operation in ("open", "close"):
        steps = ("erode", "dilate") if operation == "open" else ("dilate", "erode")
        return _step(steps[1], _step(steps[0], array, request), request, output)
    apart = output  # what a step may overwrite while array is still needed
    if output is not None and np.may_share_memory(output, array):
        apart = np.empty_like(output)
    if operation == "gradient":
        return np.subtract(_step("dilate", array, request), _step("erode", array, request, apart), out=output)
    if operation == "tophat":
        return np.subtract(array, _composed("open", array, request, apart), out=output)
    return np.subtract(_composed("close", array, request, apart), array, out=output)


def _of_bool(operation: str, array: npt.NDArray[Any], request: _Request,
             output: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """Bool is worked on as bytes, 0 and 1; differences are "or else", as scipy's, unless output is of another type."""
    if operation == "gradient":
        raise TypeError("input must not be bool, of which NumPy has no difference; input.view('uint8') has one")
    if request.element.heights is not None:
        raise TypeError("input must not be bool where structure is given: scipy's values wrap around within bytes; "
                        "footprint=structure is flat, input.view('uint8') holds sums")
    if "constant" in request.rules and request.cval not in (0, 1):
        raise ValueError(f"cval must be 0 or 1 where input is of bool, not {request.cval}")
    work = array.view("u1")
    if operation not in ("tophat", "blackhat"):
        result = _composed(operation, work, request, None).view(bool)
    else:
        result = _composed("open" if operation == "tophat" else "close", work, request, None)
        if output is not None and output.dtype != bool:
            return np.subtract(*((work, result) if operation == "tophat" else (result, work)), out=output,
                               dtype=output.dtype)
        result = result != work
    if output is None:
        return result
    output[...] = result
    return output


def _check_rounding(array: npt.NDArray[Any], request: _Request, target: npt.NDArray[Any] | None) -> None:
    """Refuses what scipy rounds in another way than the library, which has float32 alone."""
    if array.dtype.kind != "f":
        return
    single = array.dtype == np.float32 and (target is None or target.dtype == np.float32)
    flat = request.element.heights is None
    if "constant" in request.rules and np.float32(request.cval) != request.cval and not (single and flat):
        raise ValueError("cval must be exact in float32 where input or output is float64 or structure is given, not "
                         f"{request.cval}; numpy.float32(cval) is")
    if array.dtype == np.float32 and not single and not flat:
        raise TypeError("output must be float32, as input is, where structure is given: scipy would round some sums "
                        "and not others; .astype() converts the result")


def _run(operation: str, input: Any, size: Any, footprint: Any, structure: Any, output: Any, mode: Any, cval: Any,
         origin: Any, how: dict[str, Any]) -> npt.NDArray[Any]:
    array = host_array("input", input, "cernita.morphology()")
    try:
        return _run_checked(operation, array, size, footprint, structure, output, mode, cval, origin, how)
    except (TypeError, ValueError) as fault:
        raise retold(fault, "input", input) from None


def _run_checked(operation: str, array: npt.NDArray[Any], size: Any, footprint: Any, structure: Any, output: Any,
                 mode: Any, cval: Any, origin: Any, how: dict[str, Any]) -> npt.NDArray[Any]:
    request = _request(array.ndim, size, footprint, structure, mode, cval, origin, how)
    target = _output(output, array)
    _check_rounding(array, request, target)
    if not array.size:
        raise ValueError(f"input must not be empty, as one of shape {array.shape} is")
    if array.dtype == bool:
        return _of_bool(operation, array, request, target)
    if _fusible(array.dtype, request) and (target is None or target.dtype == array.dtype):
        return _call(operation, array, request, None, 0, target)
    return _composed(operation, array, request, target)


# --- the functions ----------------------------------------------------------------------------------------------------


def grey_erosion(input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
                 mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, backend: str = "auto",
                 threads: int | None = 1) -> npt.NDArray[Any]:
    """The minimum over the element. As scipy.ndimage.grey_erosion.

    >>> import numpy as np
    >>> grey_erosion(np.array([[5, 7, 6], [8, 1, 9]], "uint8"), size=(1, 3))
    array([[5, 5, 6],
           [1, 1, 1]], dtype=uint8)
    """
    return _run("erode", input, size, footprint, structure, output, mode, cval, origin,
                {"backend": backend, "threads": threads})


def grey_dilation(input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
                  mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, backend: str = "auto",
                  threads: int | None = 1) -> npt.NDArray[Any]:
    """The maximum over the reflected element. As scipy.ndimage.grey_dilation.

    >>> grey_dilation([[0, 0, 3, 0]], footprint=[[1, 1, 0]])
    array([[0, 3, 3, 0]])
    """
    return _run("dilate", input, size, footprint, structure, output, mode, cval, origin,
                {"backend": backend, "threads": threads})


def grey_opening(input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
                 mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, backend: str = "auto",
                 threads: int | None = 1) -> npt.NDArray[Any]:
    """Dilation of the erosion: what is brighter than its surroundings and smaller than the element vanishes. As
    scipy.ndimage.grey_opening.

    >>> grey_opening([0, 9, 0, 5, 5, 5], size=3)
    array([0, 0, 0, 5, 5, 5])
    """
    return _run("open", input, size, footprint, structure, output, mode, cval, origin,
                {"backend": backend, "threads": threads})


def grey_closing(input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
                 mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, backend: str = "auto",
                 threads: int | None = 1) -> npt.NDArray[Any]:
    """Erosion of the dilation: what is darker than its surroundings and smaller than the element vanishes. As
    scipy.ndimage.grey_closing.

    >>> grey_closing([7, 2, 7, 5, 5, 5], size=3)
    array([7, 7, 7, 5, 5, 5])
    """
    return _run("close", input, size, footprint, structure, output, mode, cval, origin,
                {"backend": backend, "threads": threads})


def morphological_gradient(input: Any, size: Any = None, footprint: Any = None, structure: Any = None,
                           output: Any = None, mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *,
                           backend: str = "auto", threads: int | None = 1) -> npt.NDArray[Any]:
    """Dilation minus erosion. As scipy.ndimage.morphological_gradient.

    >>> morphological_gradient([1, 1, 5, 5], size=3)
    array([0, 4, 4, 0])
    """
    return _run("gradient", input, size, footprint, structure, output, mode, cval, origin,
                {"backend": backend, "threads": threads})


def white_tophat(input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
                 mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, backend: str = "auto",
                 threads: int | None = 1) -> npt.NDArray[Any]:
    """The picture minus its opening: what the opening removes. As scipy.ndimage.white_tophat.

    >>> white_tophat([0, 9, 0, 5, 5, 5], size=3)
    array([0, 9, 0, 0, 0, 0])
    """
    return _run("tophat", input, size, footprint, structure, output, mode, cval, origin,
                {"backend": backend, "threads": threads})


def black_tophat(input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
                 mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, backend: str = "auto",
                 threads: int | None = 1) -> npt.NDArray[Any]:
    """The closing minus the picture: what the closing fills. As scipy.ndimage.black_tophat.

    >>> black_tophat([7, 2, 7, 5, 5, 5], size=3)
    array([0, 5, 0, 0, 0, 0])
    """
    return _run("blackhat", input, size, footprint, structure, output, mode, cval, origin,
                {"backend": backend, "threads": threads})


def __getattr__(name: str) -> Any:
    raise absent(__name__, "scipy.ndimage", name)


__all__ = ["black_tophat", "grey_closing", "grey_dilation", "grey_erosion", "grey_opening", "morphological_gradient",
           "white_tophat"]
