"""Recorded views: files of the daemon's `record.dir`, of cernita-record and of cernita-synth.

src/formats/recording/recording.h describes the format: uncompressed BigTIFF, view by view, a page per class and one for the
photograph.
"""
from __future__ import annotations

import json
import mmap
import os
import re
from dataclasses import dataclass
from typing import Any, Iterator

import numpy as np
import numpy.typing as npt

from . import bigtiff
from .._arguments import join
from .bigtiff import Fault, PastEnd
from .files import DataError, Numbers, Path, Selection, Time, log, open_regular
from .wire import INTENSITY, POSE

_DTYPES: dict[str, np.dtype[Any]] = {"u8": np.dtype("u1"), "f16": np.dtype("<f2"), "f32": np.dtype("<f4")}
_BLOCK = 4096  # bytes that are written at once
_BITS = {"lane": 32, "view": 16, "views": 16, "height": 32, "width": 32, "channels": 32, "flags": 16}  # others: 64
_NUMBERS = ("lane", "epoch", "fruit", "view", "views", "sequence", "captured_ns", "deadline_ns", "arrived_ns",
            "encoder", "class_set", "flags", "channels", "height", "width")


@dataclass(frozen=True, eq=False, repr=False)
class RecordedView:
    """One view as it was sent, and when it arrived.

    planes: an array [height, width] per class, of u8, f16 or f32, read-only views of the file's memory, which stays
    mapped while one of them lives: nothing is read before it is used. They may be unaligned, which NumPy handles.
    intensity: the photograph, u8[height, width], likewise; None without one. layout: of the maps as they were sent,
    "hwc" or "chw". classes: the names in channel order; None: not recorded. class_set: FNV-1a 64 of the class names,
    0: unknown. pose: that of the fruit as Line.send() takes it; None: the sender did not know it. captured_ns, deadline_ns, arrived_ns: CLOCK_REALTIME, 0: unknown.
    """
    lane: int
    epoch: int
    fruit: int
    view: int
    views: int
    sequence: int
    captured_ns: int
    deadline_ns: int
    arrived_ns: int
    encoder: int
    class_set: int
    layout: str
    planes: tuple[npt.NDArray[Any], ...]
    intensity: npt.NDArray[np.uint8] | None
    classes: tuple[str, ...] | None = None
    pose: tuple[float, ...] | None = None

    @property
    def maps(self) -> npt.NDArray[Any]:
        """A dense copy of all planes in the layout in which they were sent, with the bytes that were sent."""
        return np.stack(self.planes, axis=2 if self.layout == "hwc" else 0)

    def __repr__(self) -> str:
        height, width = self.planes[0].shape
        return (f"<cernita.RecordedView: lane {self.lane}, fruit {self.fruit}, view {self.view}, "
                f"{height} x {width} x {len(self.planes)} {self.planes[0].dtype}>")


def _header(text: str) -> dict[str, Any]:
    """The JSON of a view's first page, checked; Fault."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise Fault("its ImageDescription is not JSON of a view")
    for name in _NUMBERS:
        value, end = header.get(name), 1 << _BITS.get(name, 64)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < end:
            raise Fault(f'its JSON has no whole number "{name}" from 0 to {end - 1}')
    if header.get("dtype") not in _DTYPES:
        raise Fault('its JSON\'s "dtype" is not u8, f16 or f32')
    if header.get("layout") not in ("HWC", "CHW"):
        raise Fault('its JSON\'s "layout" is not CHW or HWC')
    sides = [header["channels"], header["height"], header["width"]]
    if header.get("shape") != sides or 0 in sides:
        raise Fault('its JSON\'s "shape" is empty or not [channels, height, width]')
    classes = header.setdefault("classes", None)
    if classes is not None and (not isinstance(classes, list) or len(classes) != header["channels"]
                                or not all(isinstance(name, str) for name in classes)):
        raise Fault('its JSON\'s "classes" is not a list of a name per channel')
    pose = header.get("pose") if header["flags"] & POSE else None
    if header["flags"] & POSE and not (isinstance(pose, list) and len(pose) == 5
                                       and all(isinstance(number, (int, float)) for number in pose)):
        raise Fault('its JSON\'s "flags" announce a "pose" and it has no five numbers')
    header["pose"] = pose
    return header


class _File:
    """One recording, view by view."""

    def __init__(self, path: Path) -> None:
        self._path, self._pages, self._views = os.fspath(path), 0, 0
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size < 16:
                raise DataError(f"{self._path}: is not a recording: not a little-endian BigTIFF")
            self._data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        self._before = self._next = self._end = 0

    def _turn_page(self) -> bigtiff.Page:
        """Reads the next page's directory; offsets must increase, so that loops are impossible."""
        if not self._next:
            raise PastEnd
        if self._next <= self._before:
            raise Fault("lies before the page that it follows")
        page = bigtiff.read_page(self._data, self._next)
        self._before, self._next, self._end = self._next, page.next, max(self._end, page.end)
        self._pages += 1
        return page

    def _plane(self, page: bigtiff.Page, header: dict[str, Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        return bigtiff.pixels(self._data, page, header["height"], header["width"], dtype)

    def _read_view(self, selection: Selection) -> RecordedView | None:
        """None: not selected."""
        page = self._turn_page()
        header = _header(page.description)
        dtype = _DTYPES[header["dtype"]]
        wanted = selection.has(header["lane"], header["fruit"], header["arrived_ns"])
        planes = [self._plane(page, header, dtype)]
        for _ in range(header["channels"] - 1):
            planes.append(self._plane(self._turn_page(), header, dtype))
        intensity = None
        if header["flags"] & INTENSITY:
            intensity = self._plane(self._turn_page(), header, np.dtype("u1"))
        self._views += 1
        if not wanted:
            return None
        return RecordedView(**{name: header[name] for name in _NUMBERS[:11]}, layout=header["layout"].lower(),
                            planes=tuple(planes), intensity=intensity,
                            classes=None if header["classes"] is None else tuple(header["classes"]),
                            pose=None if header["pose"] is None else tuple(header["pose"]))

    def _is_filled_up(self) -> bool:
        """True if only the zeros follow with which a writer that was killed had filled its last block."""
        rest = len(self._data) - self._end
        return rest < _BLOCK and len(self._data) % _BLOCK == 0 and not any(self._data[self._end:])

    def read(self, selection: Selection) -> Iterator[RecordedView]:
        try:
            self._next = bigtiff.first_page(self._data)
            while self._next:
                view = self._read_view(selection)
                if view is not None:
                    yield view
            if self._end < len(self._data) and not self._is_filled_up():
                log.warning("%s: the file ends with %d bytes of a view that was never finished: they are skipped",
                            self._path, len(self._data) - self._end)
        except PastEnd:
            log.warning("%s: the file ends within view %d: that view is skipped", self._path, self._views)
        except Fault as fault:
            place = f" page {self._pages}:" if self._before or self._pages else ""
            raise DataError(f"{self._path}:{place} {fault}") from None


def _by_number(name: str) -> list[Any]:
    """Sorts "a-9" before "a-10", as cernita-replay does."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _nothing_in(folder: str, unfinished: list[str]) -> str:
    """Why there is nothing to read in a folder."""
    if not unfinished:
        return f"{folder}: no recording (*.tif) in this folder"
    names = join(sorted(unfinished, key=_by_number), "and")
    state, what = (("which is being written or was left", "it holds so far, name that file") if len(unfinished) == 1 else
                   ("which are being written or were left", "they hold so far, name one of these files"))
    return (f"{folder}: no finished recording (*.tif) in this folder, only {names}, {state} by a program that was killed; to "
            f"read what {what}")


class Recording:
    """The views of a recording, oldest file first, in the order of the file.

    ::

        for view in Recording("/data/views", lane=0, fruit=range(4700, 4720)):
            print(view.fruit, view.view, view.planes[1].max())
            defects = chain.judge(view.maps, view.intensity, layout=view.layout)

    May be iterated any number of times, and by several threads at once, each with its own iteration.
    """

    def __init__(self, path: Path, *, lane: Numbers = None, fruit: Numbers = None, since: Time | None = None,
                 until: Time | None = None) -> None:
        """path: a file, or a folder, whose files *.tif are read; one that is being written (*.part) must be named
        itself. lane, fruit: a number, a range or a list; None: all. since (included), until (excluded): by the time at
        which a view arrived, ns since 1970 or a datetime, local if it has no zone.

        OSError: the path cannot be read; DataError: the folder has no recording; TypeError: another argument. While
        iterating, DataError: a file is damaged, or no recording: one line that names file, page and fault. The
        incomplete last view of a recorder that was killed, or of a truncated file, is skipped with a line in the log
        "cernita" (logging), which goes to stderr unless the program says otherwise. A file must not be truncated
        while it is read.
        """
        self.path = os.fspath(path)
        self._selection = Selection(lane, fruit, since, until)
        self.files = [self.path]
        if os.path.isdir(self.path):
            names = [entry.name for entry in os.scandir(self.path)
                     if entry.name.endswith((".tif", ".tif.part")) and not entry.name.startswith(".") and not entry.is_dir()]
            finished = sorted((name for name in names if name.endswith(".tif")), key=_by_number)
            self.files = [os.path.join(self.path, name) for name in finished]
            if not finished:
                raise DataError(_nothing_in(self.path, names))
        else:
            os.stat(self.path)

    def __iter__(self) -> Iterator[RecordedView]:
        for path in self.files:
            yield from _File(path).read(self._selection)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the classes of the first selected view, in channel order; None: no view, or not recorded."""
        view = next(iter(self), None)
        return None if view is None else view.classes

    def __repr__(self) -> str:
        return f"<cernita.Recording {self.path}: {len(self.files)} files>"


__all__ = ["RecordedView", "Recording"]
