"""Checks of arguments: each error names the argument, what it is and what is allowed."""
from __future__ import annotations

import operator
from typing import Any, Sequence

import numpy as np
import numpy.typing as npt

from ._foreign import as_numpy


def join(names: Sequence[str], last: str = "or") -> str:
    return ", ".join(names[:-1]) + f" {last} {names[-1]}" if len(names) > 1 else names[0]


def choice(argument: str, value: object, names: Sequence[str]) -> int:
    """The index of the value among the names."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be {join(names)}, not {value!r}")
    if value not in names:
        raise ValueError(f"{argument} must be {join(names)}, not {value!r}")
    return names.index(value)


def whole(argument: str, value: Any, least: int, most: int) -> int:
    """A whole number from `least` to `most`, NumPy's included.

    >>> whole("plane", np.int64(2), 0, 2)
    2
    >>> whole("plane", 1, 0, 0)
    Traceback (most recent call last):
        ...
    ValueError: plane must be 0, not 1
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{argument} must be a whole number, not {value!r}")
    if not least <= number <= most:
        raise ValueError(f"{argument} must be {f'from {least} to {most}' if most > least else least}, not {number}")
    return number


def number(argument: str, value: Any, least: float, most: float) -> float:
    try:
        if isinstance(value, (str, bytes)):  # float() reads it
            raise TypeError
        real = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be a number, not {value!r}") from None
    if not least <= real <= most:
        allowed = (f"from {least} to {most}" if most < np.inf else f"at least {least}" if least > -np.inf else "a number")
        raise ValueError(f"{argument} must be {allowed}, not {real}")
    return real


def seconds(argument: str, value: Any) -> float:
    """How long to wait; 0 if the time is over already.

    >>> seconds("timeout_s", -0.5), seconds("timeout_s", np.inf)
    (0.0, inf)
    """
    return max(number(argument, value, -np.inf, np.inf), 0.0)


def pair(argument: str, size: Any, least: int, most: int) -> tuple[int, int]:
    """(width, height) of N or (width, height)."""
    both = tuple(size) if isinstance(size, (tuple, list, np.ndarray)) and np.ndim(size) == 1 else (size, size)
    if len(both) != 2:
        raise ValueError(f"{argument} must be N or (width, height), not {size!r}")
    return whole(argument, both[0], least, most), whole(argument, both[1], least, most)


def absent(module: str, peer: str, name: str) -> AttributeError:
    """The error for a name of a peer's module that the package's module of this name has not."""
    return AttributeError(f"{module} has no {name!r}; import from {peer} what it lacks")


def flag(argument: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{argument} must be True or False, not {value!r}")
    return bool(value)


def _is_of_numbers(array: npt.NDArray[Any]) -> bool:
    """True of objects such as fractions and of what is empty."""
    if array.dtype.kind != "O":
        return not array.size
    return not any(value is None or isinstance(value, (str, bytes)) for value in array.flat)


def numbers(argument: str, values: Any, dtype: str) -> npt.NDArray[Any]:
    """Numbers in whatever numpy makes an array of, dense; but none that it would make of text or None, or cut to their
    real part."""
    values = as_numpy(argument, values)
    is_array = isinstance(values, np.ndarray)
    if is_array and values.dtype.kind == "c":
        raise TypeError(f"{argument} must be real numbers, not {values.dtype}; {argument}.real is")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf" and not _is_of_numbers(array):
            raise TypeError
        return np.ascontiguousarray(array, dtype)
    except (TypeError, ValueError):
        told = f"an array of {values.dtype}" if is_array else repr(values)
        raise TypeError(f"{argument} must be numbers, not {told}") from None
