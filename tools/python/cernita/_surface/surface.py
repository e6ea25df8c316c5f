"""The views of a rolling fruit as one surface: areas in mm2 and lengths in mm, no spot twice."""
from __future__ import annotations

import ctypes
import sys
import threading
from ctypes import POINTER, byref, c_void_p
from typing import Any, Sequence

import numpy as np

from .. import _library
from .._arguments import choice, number, whole
from .._arrays import Operand, operand
from .._context import Context, host_key
from .._defects import DEFECT, Defects
from .._foreign import to_host
from .._library import MEMORY_HOST, ROLL_AXES, SURFACE_CLASSES_MAX, SURFACE_POINTS_MAX, SURFACE_VIEWS_MAX, check, lib
from .measures import FruitSurface, Pose, Roll, SurfaceDefect, SurfaceTotal, SurfaceView

_INT32_MAX = 2**31 - 1


class _Workspace:
    """A crn_surface and its context, of one thread."""

    def __init__(self, settings: _library.SurfaceSettings) -> None:
        self.settings = settings
        self.pointer = c_void_p()
        self.context = Context(host_key("auto", 1))
        self.context.call("crn_surface_open", byref(settings), byref(self.pointer))

    def __del__(self) -> None:
        if self.pointer:
            lib.crn_surface_free(byref(self.pointer))  # before its context


class Surface:
    """Joins the views of a fruit that rolls under the camera, for fruits of one line.

    The model is a spheroid that turns about its own axis; each view answers for the longitudes nearest to its middle.
    classes: the names of the defects' classes, in their order (chain.classes). roll_axis: the axis of the picture that
    the fruit rolls about: "y" if it travels along x. distance_mm: from the camera to the roll axis; 0: far away.
    roll_error_rad: how far a roll may be wrong: pieces are joined across it. May be used from any thread.

    >>> surface = Surface(["rot"])
    >>> corner = np.zeros(1, DEFECT)
    >>> corner["point_count"], corner["parent"] = 4, -1
    >>> square = Defects(corner, np.array([[45, 45], [55, 45], [55, 55], [45, 55]], "f4"), np.zeros(0), ("rot",))
    >>> fruit = surface.measure([SurfaceView(square, Pose(50, 50, 40, 40), mm_per_px=0.5)])
    >>> fruit.diameter_mm, round(fruit.totals["rot"].area_mm2, 2), fruit.defects[0].parts
    (40.0, 25.15, ((0, 0),))
    """

    def __init__(self, classes: Sequence[str], *, roll_axis: str = "y", distance_mm: float = 0.0,
                 roll_error_rad: float = 0.0) -> None:
        if isinstance(classes, str) or not all(isinstance(name, str) for name in classes):
            raise TypeError(f"classes must be names, not {classes!r}")
        self.classes = tuple(classes)
        whole("the number of classes", len(self.classes), 1, SURFACE_CLASSES_MAX)
        self._axis = choice("roll_axis", roll_axis, ROLL_AXES)
        self._distance_mm = number("distance_mm", distance_mm, 0, sys.float_info.max)
        self._roll_error_rad = number("roll_error_rad", roll_error_rad, 0, np.pi)
        self._kept = threading.local()

    def measure(self, views: Sequence[SurfaceView]) -> FruitSurface:
        """The surface of one fruit. Neither the order of the views nor the instant at which the roll is 0 matters.

        Left out are outlines whose centroid lies beside the fruit, and those without an area. Time: O(points).

        TypeError, ValueError: an argument, or a pose, scale or outline that cannot be; the text names view and value.
        MemoryError.
        """
        views = list(views)
        whole("the number of views", len(views), 1, SURFACE_VIEWS_MAX)
        tables = [self._table_of(index, view) for index, view in enumerate(views)]
        workspace = self._workspace(sum(map(len, tables)),
                                    sum(int(table["point_count"].sum(dtype="u8")) for table in tables))
        inputs = (_library.SurfaceView * len(views))()
        points = [np.ascontiguousarray(view.defects.points, "<f4") for view in views]
        found = [_library.Defects(table.ctypes.data, xy.ctypes.data, None, len(table), len(xy), 0, len(table), len(xy))
                 for table, xy in zip(tables, points)]
        for index, (view, defects) in enumerate(zip(views, found)):
            inputs[index] = _input_of(f"views[{index}]", view, defects)
        result = POINTER(_library.SurfaceFruit)()
        failure = lib.crn_surface_measure(workspace.pointer, inputs, len(views), byref(result))
        check(failure, lib.crn_context_error(workspace.context.pointer).decode(errors="replace"))
        return self._fruit_of(result.contents)

    def find_pose(self, photograph: Any) -> Pose:
        """Where a photograph shows the fruit: the upright ellipse that fits best where it meets what is behind it.

        photograph: u8[height, width], in host memory. The confidence is the share of the outline that lies on the
        ellipse, less where fruit and background are alike; 0: nothing was found. The roll is 0.

        TypeError, ValueError: the photograph is not such an array.

        >>> y, x = np.mgrid[:95, :301]
        >>> disc = np.where(np.hypot(x - 120, y - 47) < 40, 180, 20).astype("u1")
        >>> pose = Surface(["rot"]).find_pose(disc)
        >>> round(pose.x), round(pose.y), round(pose.rx), pose.confidence > 0.8
        (120, 47, 40, True)
        """
        image = _photograph("photograph", photograph)
        found = _library.SurfacePose()
        self._call("crn_surface_find_pose", byref(image.image), byref(found))
        return Pose(*(getattr(found, field) for field, _ in _library.SurfacePose._fields_))

    def find_roll(self, first: Any, second: Any, first_pose: Pose, second_pose: Pose, *, expected_rad: float = 0.0,
                  range_rad: float = np.pi, mm_per_px: float = 1.0) -> Roll:
        """How far the fruit has rolled from one photograph to another, by its skin, within `range_rad` of the expected
        roll.

        first, second: u8[height, width], in host memory. first_pose, second_pose: where they show the fruit, of
        find_pose(). mm_per_px: matters only with a `distance_mm`. The expected roll comes back with the confidence 0 if
        none is found.

        TypeError, ValueError: an argument, which the text names.
        """
        photos = [_input_of_photograph(name, array, pose, mm_per_px)
                  for name, array, pose in (("first", first, first_pose), ("second", second, second_pose))]
        found = _library.SurfaceRoll()
        self._call("crn_surface_find_roll", byref(photos[0][0]), byref(photos[1][0]),
                   _real("expected_rad", expected_rad), _real("range_rad", range_rad), byref(found))
        return Roll(found.roll_rad, found.confidence)

    def _call(self, function: str, *arguments: Any) -> None:
        workspace = self._workspace(0, 0)
        failure = getattr(lib, function)(workspace.pointer, *arguments)
        check(failure, lib.crn_context_error(workspace.context.pointer).decode(errors="replace"))

    def _table_of(self, index: int, view: SurfaceView) -> Any:
        """Its defects as crn_defect, dense."""
        if not isinstance(view, SurfaceView):
            raise TypeError(f"views[{index}] must be a SurfaceView, not {type(view).__name__}")
        if not isinstance(view.defects, Defects):
            raise TypeError(f"views[{index}].defects must be Defects, not {type(view.defects).__name__}")
        if tuple(view.defects.classes) != self.classes:
            raise ValueError(f"views[{index}].defects has the classes {view.defects.classes}, not {self.classes}")
        points, table = view.defects.points, view.defects.table
        if points.ndim != 2 or points.shape[1] != 2 or points.dtype.kind != "f":
            raise ValueError(f"views[{index}].defects.points must be f32[points, 2], not {points.dtype}{points.shape}")
        if table.dtype == DEFECT:
            return np.ascontiguousarray(table)
        same = np.zeros(len(table), DEFECT)
        for name in DEFECT.names or ():
            same[name] = table[name]
        return same

    def _workspace(self, defects: int, points: int) -> _Workspace:
        """This thread's, with room for so many: twice as much as was needed last, if it has to grow."""
        kept: _Workspace | None = getattr(self._kept, "workspace", None)
        if kept is not None and (kept.settings.defects >= defects and kept.settings.points >= points):
            return kept
        if defects > SURFACE_POINTS_MAX or points > SURFACE_POINTS_MAX:
            raise ValueError(f"the views have {defects} outlines of {points} points; at most {SURFACE_POINTS_MAX}")
        room = [min(SURFACE_POINTS_MAX, max(1024, 2 * count)) for count in (defects, points)]
        workspace = _Workspace(_library.SurfaceSettings(self._axis, self._distance_mm, self._roll_error_rad,
                                                        len(self.classes), SURFACE_VIEWS_MAX, *room))
        self._kept.workspace = workspace
        return workspace

    def _fruit_of(self, found: _library.SurfaceFruit) -> FruitSurface:
        totals = {name: SurfaceTotal(total.count, total.area_mm2, total.largest_mm2, total.longest_mm)
                  for name, total in zip(self.classes, found.totals[:len(self.classes)])}
        parts = [(part.view, part.defect) for part in found.parts[:found.part_count]]
        defects = tuple(
            SurfaceDefect(self.classes[defect.channel], defect.area_mm2, defect.length_mm, defect.width_mm,
                          defect.lambda_rad, defect.v,
                          tuple(parts[defect.first_part:defect.first_part + defect.part_count]))
            for defect in found.defects[:found.defect_count])
        return FruitSurface(found.diameter_mm, found.length_mm, found.surface_mm2, found.seen_mm2, found.coverage, totals,
                            defects)

    def __reduce__(self) -> Any:
        raise TypeError("a Surface cannot be sent to another process; make another there")

    def __repr__(self) -> str:
        return f"<cernita.Surface of {len(self.classes)} classes>"


def _photograph(name: str, array: Any) -> Operand:
    image = operand(name, array, ("uint8",), (2,))
    if image.memory != MEMORY_HOST:
        raise TypeError(f"{name} must lie in host memory{to_host(name, array)}")
    return image


def _input_of_photograph(name: str, array: Any, pose: Pose, mm_per_px: float) -> tuple[Any, Operand]:
    """With the array, which must last as long."""
    image = _photograph(name, array)
    return _library.SurfacePhotograph(image.image, _input_of_pose(f"{name}_pose", pose),
                                      _real("mm_per_px", mm_per_px)), image


def _input_of_pose(name: str, pose: Pose) -> _library.SurfacePose:
    """What is out of range, NaN too, the library says."""
    if not isinstance(pose, Pose):
        raise TypeError(f"{name} must be a Pose, not {type(pose).__name__}")
    return _library.SurfacePose(*(_real(f"{name}.{field}", getattr(pose, field))
                                  for field, _ in _library.SurfacePose._fields_))


def _input_of(name: str, view: SurfaceView, defects: _library.Defects) -> _library.SurfaceView:
    return _library.SurfaceView(
        _input_of_pose(f"{name}.pose", view.pose), _real(f"{name}.mm_per_px", view.mm_per_px),
        whole(f"{name}.height", view.height, 0, _INT32_MAX), whole(f"{name}.width", view.width, 0, _INT32_MAX),
        ctypes.pointer(defects))


def _real(name: str, value: Any) -> float:
    try:
        return number(name, value, -np.inf, np.inf)
    except ValueError:
        return np.nan


__all__ = ["Surface"]
