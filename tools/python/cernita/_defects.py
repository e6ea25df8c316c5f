"""Defects as arrays: of a view from Chain.judge(), of a fruit from a verdict."""
from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

import numpy as np
import numpy.typing as npt

# crn_defect and crn_texture of cernita.h, byte for byte.
_FIELDS = {
    "class": ("i4", 0), "parent": ("i4", 4), "closed": ("?", 8), "hole": ("?", 9), "first_point": ("u4", 12),
    "point_count": ("u4", 16), "area_px": ("f8", 24), "perimeter_px": ("f8", 32), "bbox": (("f8", 4), 40),
    "centroid": (("f8", 2), 72), "first_texture": ("u4", 88), "texture_count": ("u4", 92),
    "mean_probability": ("f8", 96),
}
_BYTES = 104


def _make_dtype(more: dict[str, tuple[Any, int]], size: int) -> np.dtype[Any]:
    fields = {**_FIELDS, **more}
    return np.dtype({"names": list(fields), "formats": [kind for kind, _ in fields.values()],
                     "offsets": [offset for _, offset in fields.values()], "itemsize": size})


DEFECT = _make_dtype({}, _BYTES)
DEFECT_OF_FRUIT = _make_dtype({"level": ("f8", _BYTES), "view": ("i4", _BYTES + 8)}, _BYTES + 16)
TEXTURE = np.dtype([("width", "i4"), ("height", "i4"), ("vertical", "f4"), ("horizontal", "f4"), ("diagonal", "f4")])


@dataclass(frozen=True, eq=False)
class Defect:
    """One defect: a contour of a class. Coordinates are in pixels, x right, y down, pixel centres at whole numbers."""
    class_name: str
    closed: bool             # the outline repeats its first point
    hole: bool               # closed, and encloses low values
    parent: int              # index of the nearest enclosing contour of its class and view; -1: none
    area_px: float           # >= 0; an open contour is closed by its chord
    perimeter_px: float      # without that chord
    bbox: tuple[float, ...]  # x0, y0, x1, y1
    centroid: tuple[float, ...]  # x, y
    mean_probability: float  # of the map as received, over the pixels inside
    outline: npt.NDArray[np.float32] = field(repr=False)  # [points, 2]: x, y
    # A row per window: its width and height, the mean ranklets vertical, horizontal, diagonal.
    textures: npt.NDArray[Any] = field(repr=False)
    view: int = 0            # index of its view, in a verdict
    level: float = float("nan")  # of its class, in a verdict


@dataclass(frozen=True, eq=False)
class Defects:
    """Defects in the order of view, class, contour: a table, and the points of all their outlines.

    len() is their number; indexing and iteration make a Defect each, whose arrays are views into these.

    table: a structured array, one row per defect, with the fields class (index into `classes`), parent, closed, hole,
    first_point, point_count, area_px, perimeter_px, bbox (x0, y0, x1, y1), centroid (x, y), first_texture,
    texture_count, mean_probability; of a verdict also level and view. points: f32[points, 2], x and y. textures: a
    structured array with the fields width, height, vertical, horizontal, diagonal. classes: the names. truncated: a
    limit of the line's file cut something off the end. The arrays belong to the object, and are the caller's to keep.

    >>> one = np.zeros(1, DEFECT)
    >>> one["point_count"], one["area_px"] = 3, 0.5
    >>> corner = Defects(one, np.array([[0, 0], [1, 0], [0, 1]], "f4"), np.zeros(0, TEXTURE), ("rot",))
    >>> [(defect.class_name, defect.area_px, len(defect.outline)) for defect in corner]
    [('rot', 0.5, 3)]
    >>> corner.offsets.tolist()
    [0, 3]
    """
    table: npt.NDArray[Any]
    points: npt.NDArray[np.float32]
    textures: npt.NDArray[Any]
    classes: tuple[str, ...]
    truncated: bool = False

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """i64[defects + 1]: the outline of defect i is points[offsets[i]:offsets[i + 1]]."""
        return np.append(self.table["first_point"].astype("i8"), len(self.points))

    @property
    def class_names(self) -> list[str]:
        """The class of every defect."""
        return [self.classes[index] for index in self.table["class"].tolist()]

    def outline(self, index: int) -> npt.NDArray[np.float32]:
        """f32[points, 2] of one defect, x and y, in the direction that the chain's `orientation` says."""
        row = self.table[index]
        first = int(row["first_point"])
        return self.points[first:first + int(row["point_count"])]

    def outlines(self) -> list[npt.NDArray[np.float32]]:
        """One array per defect."""
        return [self.outline(index) for index in range(len(self.table))]

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> Defect:
        try:
            number = operator.index(index)
        except TypeError:
            raise TypeError(f"index must be a whole number, not {index!r}; table[...] takes others") from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no defect {number} of {len(self)}")
        row = self.table[number]
        first = int(row["first_texture"])
        more = {"view": int(row["view"]), "level": float(row["level"])} if self.table.dtype == DEFECT_OF_FRUIT else {}
        return Defect(
            class_name=self.classes[row["class"]], closed=bool(row["closed"]), hole=bool(row["hole"]),
            parent=int(row["parent"]), area_px=float(row["area_px"]), perimeter_px=float(row["perimeter_px"]),
            bbox=tuple(row["bbox"].tolist()), centroid=tuple(row["centroid"].tolist()),
            mean_probability=float(row["mean_probability"]), outline=self.outline(number),
            textures=self.textures[first:first + int(row["texture_count"])], **more)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Defect]:
        return (self[index] for index in range(len(self.table)))

    def __repr__(self) -> str:
        return (f"<cernita.Defects: {len(self.table)}, {len(self.points)} points"
                f"{', truncated' if self.truncated else ''}>")


def _outline_of(xy: Any) -> npt.NDArray[np.float32]:
    """MessagePack has bytes, JSON pairs, in which null stands for NaN and infinity."""
    if isinstance(xy, bytes):
        return np.frombuffer(xy, "<f4").reshape(-1, 2)
    return np.array(xy, "<f4").reshape(-1, 2)


def _whole(name: str, values: Sequence[Any], least: int, most: int) -> npt.NDArray[Any]:
    """Older NumPy wraps what does not fit into a smaller type."""
    numbers = np.array(values, "i8")
    if numbers.size and not least <= numbers.min() <= numbers.max() <= most:
        raise ValueError(f"a defect's {name} must be from {least} to {most}")
    return numbers


def _textures_of(defects: Sequence[dict[str, Any]]) -> npt.NDArray[Any]:
    entries = [texture for defect in defects for texture in defect.get("ranklet", ())]
    textures = np.zeros(len(entries), TEXTURE)
    if entries:
        windows = _whole("window", [texture["window"] for texture in entries], 0, 2**31 - 1).reshape(-1, 2)
        textures["width"], textures["height"] = windows.T
        for name in ("vertical", "horizontal", "diagonal"):
            with np.errstate(over="ignore"):
                textures[name] = np.array([texture[name] for texture in entries], "f8")
    return textures


def _starts(counts: Sequence[int]) -> npt.NDArray[Any]:
    return np.cumsum([0, *counts[:-1]]) if counts else np.zeros(0, "i8")


def defects_of_message(defects: Sequence[dict[str, Any]], classes: Sequence[str], truncated: bool) -> Defects:
    """The `defects` of a decoded verdict; classes: those known, to which others are added. Raises some error if they
    are not what the verdict's description says."""
    if not isinstance(defects, list):
        raise ValueError(f"defects must be a list, not {type(defects).__name__}")
    names = tuple(dict.fromkeys([*classes, *(defect["class"] for defect in defects)]))
    index = {name: number for number, name in enumerate(names)}
    table = np.zeros(len(defects), DEFECT_OF_FRUIT)
    outlines = [_outline_of(defect["xy"]) for defect in defects]
    counts = [len(outline) for outline in outlines]
    texture_counts = [len(defect.get("ranklet", ())) for defect in defects]
    if defects:
        table["class"] = [index[defect["class"]] for defect in defects]
        table["first_point"], table["point_count"] = _starts(counts), counts
        table["first_texture"], table["texture_count"] = _starts(texture_counts), texture_counts
        table["view"] = _whole("view", [defect["view"] for defect in defects], 0, 65535)
        table["parent"] = _whole("parent", [defect["parent"] for defect in defects], -1, len(defects) - 1)
        for name in ("closed", "hole"):
            table[name] = [defect[name] is True for defect in defects]
        for name in ("level", "area_px", "perimeter_px", "mean_probability", "bbox", "centroid"):
            table[name] = np.array([defect[name] for defect in defects], "f8")
    points = np.concatenate(outlines) if outlines else np.zeros((0, 2), "<f4")
    return Defects(table, points, _textures_of(defects), names, truncated)


__all__ = ["Defect", "Defects"]
