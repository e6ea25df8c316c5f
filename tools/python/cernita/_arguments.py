"""Checks of arguments: each error names the argument, what it is and what is allowed."""
from __future__ import annotations

import operator
from typing import Any, Sequence

import numpy as np
import numpy.typing as npt


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
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{argument} must be a whole number, not {value!r}")
    if not least <= number <= most:
        raise ValueError(f"{argument} must be from {least} to {most}, not {number}")
    return number


def number(argument: str, value: Any, least: float, most: float) -> float:
    try:
        real = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be a number, not {value!r}") from None
    if not least <= real <= most:
        raise ValueError(f"{argument} must be {f'from {least} to {most}' if most < np.inf else f'at least {least}'}, "
                         f"not {real}")
    return real


def pair(argument: str, size: Any, least: int, most: int) -> tuple[int, int]:
    """(width, height) of N or (width, height)."""
    both = tuple(size) if isinstance(size, (tuple, list, np.ndarray)) and np.ndim(size) == 1 else (size, size)
    if len(both) != 2:
        raise ValueError(f"{argument} must be N or (width, height), not {size!r}")
    return whole(argument, both[0], least, most), whole(argument, both[1], least, most)


def flag(argument: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{argument} must be True or False, not {value!r}")
    return bool(value)


def numbers(argument: str, values: Any, dtype: str) -> npt.NDArray[Any]:
    """Anything that numpy makes numbers of, dense."""
    try:
        return np.ascontiguousarray(values, dtype)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be numbers, not {values!r}") from None
