"""Structuring elements with any anchor, and which borders they see as the library does: as if nothing lay outside."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from .borders import Margin, cropped, padded
from .._library import ELEMENT_MAX
from .._operators import morphology


class AnchoredElement:
    """The offsets of an element's members from its anchor, rows before columns; not to be changed."""

    def __init__(self, argument: str, shape: tuple[int, int], anchor: tuple[int, int],
                 members: npt.NDArray[np.bool_] | None = None, heights: npt.NDArray[Any] | None = None) -> None:
        """argument: what errors call it. anchor: of its rows and columns, 0 to side - 1. members: None: all. heights:
        None: flat."""
        self.argument, self.shape, self.anchor, self.members, self.heights = argument, shape, anchor, members, heights

    @functools.cached_property
    def reflected(self) -> AnchoredElement:
        """The element turned by 180 degrees about its anchor."""
        (height, width), (row, column) = self.shape, self.anchor
        return AnchoredElement(self.argument, self.shape, (height - 1 - row, width - 1 - column),
                               None if self.members is None else self.members[::-1, ::-1],
                               None if self.heights is None else self.heights[::-1, ::-1])

    @functools.cached_property
    def is_symmetric(self) -> bool:
        """True of a flat element that is its own reflection."""
        return (self.heights is None and self.anchor == self.reflected.anchor and
                (self.members is None or bool((self.members == self.reflected.members).all())))

    @functools.cached_property
    def has_anchor(self) -> bool:
        return self.members is None or bool(self.members[self.anchor])

    @functools.cached_property
    def library_arguments(self) -> dict[str, Any]:
        """The arguments of morphology() for it."""
        (height, width), (row, column) = self.shape, self.anchor
        centred = row == height // 2 and column == width // 2
        if max(self.shape if centred else [2 * max(margin) + 1 for margin in self.margins()]) > ELEMENT_MAX:
            raise ValueError(f"{self.argument} must reach at most {ELEMENT_MAX // 2} pixels from its centre, not be of "
                             f"shape {self.shape}")
        if centred and self.members is None and self.heights is None:
            return {"element": "rect", "size": (width, height)}
        members = np.ones(self.shape, bool) if self.members is None else self.members
        heights = None if self.heights is None else np.where(members, self.heights, 0)
        if not centred:
            members = centred_on(self.anchor, members)
            heights = None if heights is None else centred_on(self.anchor, heights)
        return {"element": members, "heights": heights}

    def margins(self) -> tuple[Margin, Margin]:
        """Rows and columns of the element before and after its anchor."""
        (height, width), (row, column) = self.shape, self.anchor
        return (row, height - 1 - row), (column, width - 1 - column)


def centred_on(anchor: tuple[int, int], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values, enlarged with zeros so that the anchor is where the library expects it."""
    reach = [max(at, side - 1 - at) for at, side in zip(anchor, values.shape)]
    large = np.zeros((2 * reach[0] + 1, 2 * reach[1] + 1), values.dtype)
    top, left = reach[0] - anchor[0], reach[1] - anchor[1]
    large[top:top + values.shape[0], left:left + values.shape[1]] = values
    return large


def flat_members(members: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    """Members of an AnchoredElement: None if all are."""
    return None if members.all() else members


def _interval_rule(before: int, after: int, rule: str) -> bool:
    """True if a run from -before to after that is cut by a border of this rule sees only pixels that it has anyway."""
    if rule == "edge":
        return before >= 0 and after >= 0
    if rule == "symmetric":
        return abs(before - after) <= 1
    return rule == "mirror" and before == after


@functools.lru_cache(256)
def _runs_allow(packed: bytes, shape: tuple[int, int], anchor: tuple[int, int], rules: tuple[str, str]) -> bool:
    members = np.frombuffer(packed, bool).reshape(shape)
    for lines, at, rule in ((members, anchor[1], rules[1]), (members.T, anchor[0], rules[0])):
        for line in lines:
            found = np.flatnonzero(line)
            if len(found) and (found[-1] - found[0] + 1 != len(found) or
                               not _interval_rule(int(at - found[0]), int(found[-1] - at), rule)):
                return False
    return True


def sees_nothing_outside(element: AnchoredElement, rules: tuple[str, str]) -> bool:
    """True if a flat element sees no other pixels beyond a border of these rules than those that it has on the
    picture, wherever it lies: then it may as well see none.

    That is so if each of its rows and columns is one run of members which, from the anchor, reaches equally far both
    ways ("mirror"), as far or one further ("symmetric"), or contains the anchor's column or row ("edge"): a pixel
    beyond the border then repeats one of the same row or column of the element.
    """
    if element.heights is not None:
        return False
    if element.members is None:
        return all(_interval_rule(before, after, rule) for (before, after), rule in zip(element.margins(), rules))
    return _runs_allow(element.members.tobytes(), element.shape, element.anchor, rules)


def filtered(operation: str, array: Any, element: AnchoredElement, rules: tuple[str, str] | None, value: Any = 0,
             out: Any = None, **how: Any) -> Any:
    """Erosion or dilation of a picture, H x W or H x W x C, as the library defines it but with that border; without
    rules any operation, and nothing lies outside."""
    arguments = {**element.library_arguments, **how}
    if rules is None or sees_nothing_outside(element, rules):
        return morphology(array, operation, out=out, **arguments)
    rows, columns = (element if operation == "erode" else element.reflected).margins()
    result = cropped(morphology(padded(array, rows, columns, rules, value), operation, **arguments), rows, columns)
    if out is None:
        return result
    out[...] = result
    return out
