"""Pixels beyond the border of a picture, as scipy.ndimage, OpenCV and PyWavelets define them: by padding, a copy."""
from __future__ import annotations

from typing import Any, Tuple

import numpy as np
import numpy.typing as npt

# The rules under one set of names. abcd is continued by
#   constant   kkk|abcd|kkk    edge      aaa|abcd|ddd    symmetric  cba|abcd|dcb
#   mirror     dcb|abcd|cba    wrap      bcd|abcd|abc
RULES = ("constant", "edge", "symmetric", "mirror", "wrap")

Margin = Tuple[int, int]  # rows or columns before and after the picture


def sources(rule: str, length: int, margin: Margin) -> npt.NDArray[Any]:
    """Which sample of a line stands at positions -before to length + after - 1; not for "constant"."""
    at = np.arange(-margin[0], length + margin[1])
    if rule == "edge":
        return np.clip(at, 0, length - 1)
    if rule == "wrap":
        return at % length
    period = 2 * length - (rule == "mirror") * 2
    if not period:
        return np.zeros_like(at)
    at %= period
    return np.minimum(at, period - (rule == "symmetric") - at)


def _continue(lines: npt.NDArray[Any], rule: str, length: int, margin: Margin, value: Any) -> None:
    """Fills what lies before and after the `length` samples along the first axis."""
    before, after = margin
    if rule == "constant":
        lines[:before] = value
        lines[before + length:] = value
        return
    found = sources(rule, length, margin) + before
    if before:
        lines[:before] = lines[found[:before]]
    if after:
        lines[before + length:] = lines[found[before + length:]]


def padded(array: npt.NDArray[Any], rows: Margin, columns: Margin, rules: tuple[str, str],
           value: Any = 0) -> npt.NDArray[Any]:
    """The picture, H x W or H x W x C, continued by the rule for rows, then by that for columns."""
    height, width = array.shape[:2]
    out = np.empty((rows[0] + height + rows[1], columns[0] + width + columns[1], *array.shape[2:]), array.dtype)
    within = out[:, columns[0]:columns[0] + width]
    within[rows[0]:rows[0] + height] = array
    _continue(within, rules[0], height, rows, value)
    _continue(out.swapaxes(0, 1), rules[1], width, columns, value)
    return out


def cropped(array: npt.NDArray[Any], rows: Margin, columns: Margin) -> npt.NDArray[Any]:
    """The picture without its margins: a view."""
    return array[rows[0]:array.shape[0] - rows[1], columns[0]:array.shape[1] - columns[1]]
