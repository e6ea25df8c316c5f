"""What goes into a Surface, and what comes out of it."""
from __future__ import annotations

from dataclasses import dataclass

from .._defects import Defects


@dataclass(frozen=True)
class Pose:
    """Where a view shows the fruit, and how far it has rolled: the ellipse of its outline, in pixels and radians.

    x, y: its centre. rx, ry: its semi-axes along x and y, before `tilt_rad` turns it from x towards y. roll_rad: since
    any instant, the same for all views; spots move along +x, or +y if the fruit rolls about x. confidence: 0 to 1; of
    two views within 5 degrees the surer one is used. pitch_rad: turns the roll axis out of the picture, its +y (+x) end
    to the camera.
    """
    x: float
    y: float
    rx: float
    ry: float
    tilt_rad: float = 0.0
    roll_rad: float = 0.0
    confidence: float = 1.0
    pitch_rad: float = 0.0


@dataclass(frozen=True)
class Roll:
    """How far a fruit has rolled from one photograph to another, and how sure that is, 0 to 1: the correlation of both
    skins there, less the best one elsewhere. Below some 0.15 the expected roll is the better one."""
    roll_rad: float
    confidence: float


@dataclass(frozen=True, eq=False)
class SurfaceView:
    """One view of a fruit: its defects, as Chain.judge() gives them (a verdict has those of all views in one table), where
    it shows the fruit, and the scale at the roll axis. height, width: of the picture, from which the coverage is known; 0: unlimited."""
    defects: Defects
    pose: Pose
    mm_per_px: float
    height: int = 0
    width: int = 0


@dataclass(frozen=True)
class SurfaceTotal:
    """The defects of one class: their number, area, and the area and length of the largest and the longest one."""
    count: int
    area_mm2: float
    largest_mm2: float
    longest_mm: float


@dataclass(frozen=True)
class SurfaceDefect:
    """A defect of the fruit. length_mm: its longest chord; width_mm: its extent across that. lambda_rad, v: longitude
    and place along the roll axis (-1 to 1) of its middle. parts: the outlines that it was seen in, as (index of the view,
    index in its defects)."""
    class_name: str
    area_mm2: float
    length_mm: float
    width_mm: float
    lambda_rad: float
    v: float
    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FruitSurface:
    """The surface of a fruit: its size across and along the roll axis, its area, the part of it that some view shows
    at most 75 degrees inclined, the totals of each class and the defects."""
    diameter_mm: float
    length_mm: float
    surface_mm2: float
    seen_mm2: float
    coverage: float
    totals: dict[str, SurfaceTotal]
    defects: tuple[SurfaceDefect, ...]


__all__ = ["FruitSurface", "Pose", "Roll", "SurfaceDefect", "SurfaceTotal", "SurfaceView"]
