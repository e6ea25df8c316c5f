"""Judgements of views in the form of COCO's instances (https://cocodataset.org/#format-data): what trains the next CNN.

COCO counts coordinates from the upper left corner of the first pixel, the package from its centre: all are 0.5 px more
here. Its polygons have no holes: a hole is joined to its outline by a bridge, a line that is passed in both directions
and so has no area.
"""
from __future__ import annotations

import datetime
from typing import Any, Iterable, Mapping, Union

import numpy as np
import numpy.typing as npt

from .._defects import Defects
from .._line.recording import RecordedView
from .._line.verdict import Verdict

Judged = Union[Defects, Verdict]
View = Union[RecordedView, Mapping[str, Any]]

_DIGITS = 4  # of pixels: an outline of 1000 px is off by less than 0.05 px²
_ORIGIN = ("lane", "epoch", "fruit", "view", "views", "captured_ns", "arrived_ns")


def _signed_area(ring: npt.NDArray[np.float64]) -> float:
    x, y = ring.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def _with_hole(ring: npt.NDArray[np.float64], hole: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The ring, and the hole by a bridge from the hole's leftmost point to the ring left of it."""
    if _signed_area(ring) * _signed_area(hole) > 0:
        hole = hole[::-1]
    first = int(hole[:, 0].argmin())
    x, y = hole[first]
    ends = np.roll(ring, -1, axis=0)
    edges = np.flatnonzero((ring[:, 1] <= y) != (ends[:, 1] <= y))
    (x0, y0), (x1, y1) = ring[edges].T, ends[edges].T
    left = x0 + (y - y0) * (x1 - x0) / (y1 - y0)
    edge, begin = 0, ring[0]  # where they touch, so that rounding leaves nothing on the left
    if (left <= x).any():
        nearest = int(np.where(left <= x, left, -np.inf).argmax())
        edge, begin = int(edges[nearest]), np.array([left[nearest], y])
    return np.concatenate([ring[:edge + 1], [begin], hole[first:], hole[:first + 1], [begin], ring[edge + 1:]])


def _ring(defects: Defects, row: int) -> npt.NDArray[np.float64]:
    """Its points without the repeated one; fewer than 3 have no area."""
    outline = defects.outline(row).astype("f8")
    return outline[:-1] if defects.table["closed"][row] else outline


def _annotation(defects: Defects, row: int, holes: list[int]) -> dict[str, Any] | None:
    """What does not depend on the other records; None of a contour without area."""
    ring, table = _ring(defects, row), defects.table
    if len(ring) < 3:
        return None
    for hole in sorted((_ring(defects, hole) for hole in holes), key=lambda hole: float(hole[:, 0].min())):
        ring = _with_hole(ring, hole)  # the leftmost first: no bridge crosses another hole
    x0, y0, x1, y1 = table["bbox"][row].tolist()
    area_px = table["area_px"][row] - table["area_px"][holes].sum()
    return {"segmentation": [np.round(ring + 0.5, _DIGITS).ravel().tolist()], "area": round(float(area_px), _DIGITS),
            "bbox": [round(value, _DIGITS) for value in (x0 + 0.5, y0 + 0.5, x1 - x0, y1 - y0)], "iscrowd": 0,
            "mean_probability": float(table["mean_probability"][row])}


def _holes(table: npt.NDArray[Any], rows: list[int]) -> dict[int, list[int]]:
    """The holes of each outline among these rows. A hole in another, whose own outline was left out, has none."""
    found: dict[int, list[int]] = {row: [] for row in rows if not table["hole"][row]}
    for row in rows:
        parent = int(table["parent"][row])
        if table["hole"][row] and parent in found:
            found[parent].append(row)
    return found


def _date(time_ns: int) -> str:
    time = datetime.datetime.fromtimestamp(time_ns // 10**9, datetime.timezone.utc)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time_ns // 10**6 % 1000:03d}Z"


def _image(view: View, number: int) -> dict[str, Any]:
    if isinstance(view, Mapping):
        return {**view, "id": number}
    height, width = view.planes[0].shape
    image = {"id": number, "width": width, "height": height,
             "file_name": f"images/{number:06d}_lane{view.lane}_fruit{view.fruit}_view{view.view}.png",
             **{name: getattr(view, name) for name in _ORIGIN}}
    time_ns = view.captured_ns or view.arrived_ns
    return {**image, "date_captured": _date(time_ns)} if time_ns else image


def rows_of(view: View, judged: Judged) -> list[int] | None:
    """The view's rows among the defects; None: the verdict says that the view was not judged."""
    if isinstance(judged, Defects):
        return list(range(len(judged)))
    number = view["view"] if isinstance(view, Mapping) else view.view
    states = [state.get("state") for state in judged.view_states if state.get("view") == number]
    if judged.kind == "late" or (judged.view_states and states != ["judged"]):
        return None
    return [int(row) for row in np.flatnonzero(judged.defects.table["view"] == number)]


class CocoForm:
    """Makes COCO's records of one judgement after the other, numbered from 1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._images = self._annotations = 0

    def add(self, view: View, judged: Judged) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
        """Its image and annotations; None: the verdict says that the view was not judged."""
        rows = rows_of(view, judged)
        if rows is None:
            return None
        defects = judged if isinstance(judged, Defects) else judged.defects
        for name in (*((not isinstance(view, Mapping) and view.classes) or ()), *defects.classes):
            self._numbers.setdefault(name, len(self._numbers) + 1)
        self._images += 1
        image = _image(view, self._images)
        if isinstance(judged, Verdict):
            image.update(verdict=judged.kind, recipe=judged.message.get("recipe", ""),
                         settings=judged.message.get("settings", ""))
        image["truncated"] = bool(defects.truncated)
        annotations = []
        for row, holes in _holes(defects.table, rows).items():
            annotation = _annotation(defects, row, holes)
            if annotation is not None:
                self._annotations += 1
                annotations.append({"id": self._annotations, "image_id": self._images,
                                    "category_id": self._numbers[defects.classes[defects.table["class"][row]]],
                                    **annotation})
        return image, annotations

    @property
    def categories(self) -> list[dict[str, Any]]:
        return [{"id": number, "name": name, "supercategory": "defect"} for name, number in self._numbers.items()]


def to_coco(judgements: Iterable[tuple[View, Judged]]) -> dict[str, Any]:
    """Views and what was found in them, in COCO's form: a dict for json.dump() with the keys info, licenses, images,
    annotations and categories. `cernita-export` writes the same, with the pictures.

    judgements: pairs of a view and its defects. A view is a RecordedView, or a dict of the fields that its image has in
    COCO (width, height, file_name, ...; with a verdict also view). Its defects are what Chain.judge() found, or the
    fruit's Verdict; a view that this says was not judged is left out.

    An annotation is a contour that is not a hole: area is its own less that of its holes, as area_px and to 4 digits;
    segmentation one polygon, in which bridges without area lead to the holes; iscrowd 0; mean_probability. Open contours
    are closed by their chord. Coordinates are COCO's, 0.5 more than the package's. Categories are numbered from 1, the
    recording's classes in channel order first. An image of a RecordedView has its lane, epoch, fruit, view, captured_ns
    and arrived_ns, one of a Verdict also verdict, recipe and settings. truncated: a limit of the line's file cut
    something off.

    >>> from cernita._defects import DEFECT, TEXTURE
    >>> one = np.zeros(1, DEFECT)
    >>> one["point_count"], one["area_px"], one["bbox"] = 3, 0.5, [0, 0, 1, 1]
    >>> corner = Defects(one, np.array([[0, 0], [1, 0], [0, 1]], "f4"), np.zeros(0, TEXTURE), ("rot",))
    >>> coco = to_coco([({"width": 9, "height": 8, "file_name": "a.png"}, corner)])
    >>> coco["annotations"][0]["segmentation"], coco["annotations"][0]["bbox"], coco["categories"][0]["name"]
    ([[0.5, 0.5, 1.5, 0.5, 0.5, 1.5]], [0.5, 0.5, 1.0, 1.0], 'rot')
    """
    form = CocoForm()
    records = [record for view, judged in judgements if (record := form.add(view, judged))]
    return {"info": {"description": "Defects of fruits, by cernita"}, "licenses": [],
            "images": [image for image, _ in records],
            "annotations": [annotation for _, annotations in records for annotation in annotations],
            "categories": form.categories}


__all__ = ["to_coco"]
