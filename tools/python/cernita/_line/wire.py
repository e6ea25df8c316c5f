"""The view message: what a CNN sends for one photograph. src/formats/view/wire.h has the header's table."""
from __future__ import annotations

import struct
from typing import Any, Sequence

import numpy as np
import numpy.typing as npt

from .._arguments import choice, whole
from .._foreign import in_host_memory, told_of

HEADER = struct.Struct("<4sHHQQQQQQIHHIIIBBHQQ5f12x")  # little-endian, 128 bytes
DTYPES = {np.dtype("u1"): 1, np.dtype("<f2"): 2, np.dtype("<f4"): 3}
LAYOUTS = {"chw": 1, "hwc": 2}
SEQUENCE_AT = 8  # in a header
INTENSITY = 1  # flag: an intensity part follows
POSE = 8  # flag: with the fruit's pose

_AXES = {"hwc": ("height", "width", "class"), "chw": ("class", "height", "width")}


def class_set(names: Sequence[str]) -> int:
    """FNV-1a 64 of the class names, by which the daemon refuses maps of other classes than its file's.

    >>> hex(class_set(["background", "rot"]))
    '0xe50d833a8a8d9b5e'
    """
    value = 0xCBF29CE484222325
    for byte in "\n".join(names).encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def check_classes(classes: Sequence[str]) -> tuple[str, ...]:
    if isinstance(classes, str):
        raise TypeError("classes must be a list of names, not one text; classes.split(',') makes one")
    for name in classes:
        if not isinstance(name, str):
            raise TypeError(f"classes must be a list of names, not of {type(name).__name__}")
    return tuple(classes)


def _type_fault(maps: npt.NDArray[Any]) -> str:
    """What is wrong with the maps' type, and the cure; nothing if it can be sent."""
    if maps.dtype in DTYPES:
        return ""
    cure = ("255 * maps.astype('uint8')" if maps.dtype == bool
            else "maps.astype('float32')" if maps.dtype.kind == "f"
            else "maps.real.astype('float32')" if maps.dtype.kind == "c"
            else "maps.astype('uint8'), if 255 is certainty," if maps.dtype.kind in "iu" else "")
    return f"maps must be u8 (p = v/255), f16 or f32, not {maps.dtype}" + (f"; {cure} makes them so" if cure else "")


def check_maps(given: Any, classes: Sequence[str], layout: str) -> npt.NDArray[Any]:
    """The maps as NumPy's; raises TypeError or ValueError, with the cure, for those that the daemon would refuse or
    misread."""
    choice("layout", layout, tuple(LAYOUTS))
    maps = in_host_memory("maps", given)
    last = layout == "hwc"
    if maps.ndim != 3 or (classes and maps.shape[2 if last else 0] != len(classes)):
        other = maps.ndim == 3 and maps.shape[0 if last else 2] == len(classes)
        sides = [len(classes) if axis == "class" and classes else axis for axis in _AXES[layout]]
        wanted = ", ".join(str(side) for side in sides)
        raise ValueError(told_of(
            "maps", given, f"maps must be [{wanted}], one channel for each class, not {list(maps.shape)}"
            + (f"; maps.transpose({'1, 2, 0' if last else '2, 0, 1'}) puts the class {'last' if last else 'first'}"
               if other else "")))
    fault = _type_fault(maps)
    if fault:
        raise TypeError(told_of("maps", given, fault))
    if maps.size == 0:
        raise ValueError(f"maps must have no side of 0, not {list(maps.shape)}")
    return maps


def check_shape(shape: Sequence[int] | None, dtype: npt.DTypeLike, classes: Sequence[str],
                layout: str) -> npt.NDArray[Any]:
    """Something of that shape and type, without memory; raises as check_maps()."""
    if shape is None:
        raise ValueError("shape must be that of the largest maps, [height, width, class] or, with layout \"chw\", [class, "
                         "height, width]")
    lengths = [whole("shape", length, 1, 2**31 - 1) for length in shape]
    return check_maps(np.broadcast_to(np.zeros((), dtype), lengths), classes, layout)


def check_intensity(given: Any, height: int, width: int) -> npt.NDArray[np.uint8]:
    """The photograph as NumPy's; raises TypeError or ValueError for one that does not go with maps of that size."""
    intensity = in_host_memory("intensity", given)
    if intensity.dtype != np.uint8 or intensity.shape != (height, width):
        scaled = "scaled to 0 to 255, " if intensity.dtype.kind in "bfc" else ""
        real = ".real" if intensity.dtype.kind == "c" else ""
        cure = f"; {scaled}intensity{real}.astype('uint8') is of that type" if intensity.dtype != np.uint8 else ""
        raise ValueError(told_of(
            "intensity", given, f"intensity must be uint8{[height, width]}, as high and wide as the maps, not "
                                f"{intensity.dtype}{list(intensity.shape)}{cure}"))
    return intensity


def check_pose(given: Any) -> tuple[float, ...]:
    """The fruit's pose (x, y, rx, ry, roll_rad), or nothing for None; TypeError or ValueError for one that the daemon
    would refuse."""
    if given is None:
        return ()
    try:
        pose = tuple(float(number) for number in given)
    except (TypeError, ValueError):
        raise TypeError(f"pose must be five numbers, x, y, rx, ry in pixels and roll_rad, not {given!r:.80}") from None
    if len(pose) != 5 or not all(abs(number) <= 1e6 for number in pose) or min(pose[2:4]) <= 0:
        raise ValueError("pose must be x, y, rx, ry in pixels and roll_rad, finite numbers to 1e6, rx and ry above 0, not "
                         f"{pose}")
    return pose


def sides(maps: npt.NDArray[Any], layout: str) -> tuple[int, int, int]:
    """(height, width, channels) of checked maps."""
    if layout == "hwc":
        height, width, channels = maps.shape
    else:
        channels, height, width = maps.shape
    return height, width, channels


def pack_header(maps: npt.NDArray[Any], *, layout: str, classes: Sequence[str], intensity: bool, lane: int, epoch: int,
                sequence: int, fruit: int, view: int, views: int, captured_ns: int, deadline_ns: int,
                encoder: int, pose: tuple[float, ...] = ()) -> bytes:
    """The header of checked maps and a checked pose; TypeError or ValueError for a number that does not fit into its field."""
    if whole("view", view, 0, 65535) >= views > 0:
        raise ValueError(f"view must be 0 to {views - 1}, as views is {views}, not {view}")
    height, width, channels = sides(maps, layout)
    try:
        return HEADER.pack(
            b"CRN1", HEADER.size, (INTENSITY if intensity else 0) | (POSE if pose else 0), sequence, epoch, fruit, captured_ns, deadline_ns,
            encoder, lane, view, views, height, width, channels, DTYPES[maps.dtype], LAYOUTS[layout], 0,
            class_set(classes) if classes else 0, maps.nbytes, *(pose or (0.0,) * 5))
    except struct.error:
        for name, value, bits in (("fruit", fruit, 64), ("captured_ns", captured_ns, 64), ("deadline_ns", deadline_ns, 64),
                                  ("encoder", encoder, 64), ("sequence", sequence, 64), ("epoch", epoch, 64),
                                  ("lane", lane, 32), ("views", views, 16)):
            whole(name, value, 0, 2**bits - 1)
        raise
