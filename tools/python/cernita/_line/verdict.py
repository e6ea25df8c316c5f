"""A fruit's verdict, as the daemon packed it, with its defects as arrays. src/publish/README.md has all keys."""
from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._defects import Defects, defects_of_message
from .optional import need

# A row of Verdict.to_table(), one number a field: as pandas and files of columns take it. A name has at most 47 bytes.
_ROW = np.dtype([
    ("lane", "u4"), ("epoch", "u8"), ("fruit", "u8"), ("sequence", "u8"), ("view", "i4"), ("class", "U47"), ("level", "f8"),
    ("closed", "?"), ("hole", "?"), ("parent", "i4"), ("area_px", "f8"), ("perimeter_px", "f8"), ("x0", "f8"),
    ("y0", "f8"), ("x1", "f8"), ("y1", "f8"), ("centroid_x", "f8"), ("centroid_y", "f8"), ("mean_probability", "f8")])


@dataclass(frozen=True)
class Total:
    """Sum over all views of a fruit, of one class."""
    count: int      # contours that are not holes
    area_px: float  # their area, less that of the holes
    level: float = math.nan  # at which the class was looked for; NaN: a daemon that does not say it


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """What the line says of one fruit.

    kind: "complete" (every view was received and judged whole), "partial" (the defects found are valid, the rest is
    unknown; views_not_whole() says why) or "late" (no result was ready). stale: its deadline had passed when it was
    sent. lane, epoch, fruit: as its views said. run: of the daemon; sequence: of the lane's verdicts, from 0 with each
    run. published_ns, deadline_ns: CLOCK_REALTIME. totals: by class, for every class that was looked for, also where
    none was found; a class that is absent has no level in the daemon's file or in the recipe, and nothing is known of it.
    missing_classes: those that the grader decides by, Verdicts(classes=…), and that were not looked for. lost: how many
    verdicts of its lane were lost just before it; Verdicts alone knows these two. message: all keys as they came,
    `defects` excepted, those of later daemons too; verdict["budget_ms"] is one of them.
    """
    run: str
    lane: int
    epoch: int
    fruit: int
    sequence: int
    kind: str
    stale: bool
    truncated: bool
    published_ns: int
    deadline_ns: int
    totals: dict[str, Total]
    defects: Defects
    message: dict[str, Any]
    lost: int = 0
    missing_classes: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Any:
        return self.message[key]

    def fail_safe(self, now_ns: int | None = None) -> str:
        """Why a grader must treat the fruit as one that nobody has looked at, in a few words; "" if it need not.

        now_ns: this machine's CLOCK_REALTIME, None: now. A fruit whose deadline has passed may have passed the ejector
        too, whatever the verdict says. Of a class that was not looked for it is unknown whether the fruit has it; only
        Verdicts(classes=…) knows which it should have been. An area that is not finite compares as false with everything, so that a bad
        fruit would be kept. "partial" is not among the reasons: what was found may be enough to reject.
        """
        if self.kind not in ("complete", "partial"):
            return "late" if self.kind == "late" else f"unknown verdict {self.kind!r}"
        if self.stale:
            return "stale"
        if (time.time_ns() if now_ns is None else now_ns) > self.deadline_ns:
            return "its deadline has passed"
        if self.missing_classes:
            return f"not looked for: {', '.join(self.missing_classes)}"
        if not all(math.isfinite(total.area_px) for total in self.totals.values()):
            return "an area is not finite"
        return ""

    @property
    def lot(self) -> str:
        """The lot that was in force at the fruit's first view; "": none, or a daemon that does not say it."""
        lot = self.message.get("lot")
        return lot if isinstance(lot, str) else ""

    @property
    def view_states(self) -> list[dict[str, Any]]:
        """What became of each view that was expected, received or refused: verdict["view_states"], [] of a daemon that
        does not say it. Each has the keys view (its index), state ("judged", "lost", "refused" or "missing"), reason,
        captured_ns, encoder, received_ms, queue_ms, run_ms and backend: src/publish/README.md."""
        states: list[dict[str, Any]] = self.message.get("view_states", [])
        return states

    @property
    def surface(self) -> dict[str, Any] | None:
        """The fruit in millimetres: verdict["surface"] of a line whose file has the section `geometry`, with the keys
        diameter_mm, length_mm, coverage, seen_mm2, pose, classes and defects: src/publish/README.md. Measures are None
        where the fruit could not be measured. None: the line does not measure, or had no time to."""
        surface: dict[str, Any] | None = self.message.get("surface")
        return surface

    def to_table(self) -> npt.NDArray[Any]:
        """The defects as a structured array, a row each: lane, epoch, fruit, sequence, view, class (its name), level,
        closed, hole, parent (a row of this table, -1: none), area_px, perimeter_px, x0, y0, x1, y1, centroid_x,
        centroid_y, mean_probability. Tables of several verdicts can be joined by numpy.concatenate(); `parent` then
        counts within a verdict."""
        table = np.zeros(len(self.defects), _ROW)
        for name in ("lane", "epoch", "fruit", "sequence"):
            table[name] = getattr(self, name)
        source = self.defects.table
        for name in ("view", "level", "closed", "hole", "parent", "area_px", "perimeter_px", "mean_probability"):
            table[name] = source[name]
        table["class"] = self.defects.class_names
        for column, name in enumerate(("x0", "y0", "x1", "y1")):
            table[name] = source["bbox"][:, column]
        for column, name in enumerate(("centroid_x", "centroid_y")):
            table[name] = source["centroid"][:, column]
        return table

    def to_pandas(self) -> Any:
        """to_table() as a pandas.DataFrame. ImportError names the package where there is no pandas."""
        return need("pandas", "A table of pandas").DataFrame(self.to_table())

    def views_not_whole(self) -> list[str]:
        """The views that were not judged, or not whole: ["view 2 lost: no_slot", "view 3 missing"]."""
        return [f"view {view.get('view')} {view.get('state')}{': ' if view.get('reason') else ''}"
                f"{view.get('reason') or ''}"
                for view in self.view_states
                if view.get("state") != "judged" or view.get("reason")]

    def __repr__(self) -> str:
        return (f"<cernita.Verdict: lane {self.lane}, fruit {self.fruit}, {self.kind}"
                f"{', stale' if self.stale else ''}{', truncated' if self.truncated else ''}, "
                f"{len(self.defects)} defects>")


def decode(body: bytes) -> dict[str, Any]:
    """A message of the daemon, MessagePack or (format: json in its file) JSON. Raises some error if it is neither.

    >>> decode(b'{"v": 1}')
    {'v': 1}
    """
    message = json.loads(body) if body[:1] == b"{" else need("msgpack", "Reading verdicts").unpackb(body)
    if not isinstance(message, dict):
        raise ValueError(f"a map expected, not {type(message).__name__}")
    return message


def _number(message: dict[str, Any], key: str) -> int:
    value = message[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} must be a whole number, not {value!r}")
    return value


def _total(entry: dict[str, Any]) -> Total:
    area_px, level = entry["area_px"], entry.get("level")
    if not isinstance(area_px, (int, float)):
        raise ValueError(f"area_px must be a number, not {area_px!r}")
    return Total(_number(entry, "count"), float(area_px), float(level) if isinstance(level, (int, float)) else math.nan)


def read_verdict(body: bytes) -> Verdict:
    """The verdict in a message. Raises some error if it cannot be read or lacks what a grader needs."""
    message = decode(body)
    if not isinstance(message["stale"], bool):
        raise ValueError(f"stale must be a boolean, not {message['stale']!r}")
    totals = {name: _total(entry) for name, entry in message["totals"].items()}
    view_states = message.get("view_states", [])
    if not isinstance(view_states, list) or not all(isinstance(view, dict) for view in view_states):
        raise ValueError(f"view_states must be a list of maps, not {view_states!r}")
    truncated = message.get("truncated", False) is True
    defects = defects_of_message(message.pop("defects"), tuple(totals), truncated)
    epoch = _number(message, "epoch") if "epoch" in message else 0
    return Verdict(
        run=str(message["run"]), lane=_number(message, "lane"), epoch=epoch, fruit=_number(message, "fruit"),
        sequence=_number(message, "sequence"), kind=str(message["verdict"]), stale=message["stale"],
        truncated=truncated, published_ns=_number(message, "published_ns"),
        deadline_ns=_number(message, "deadline_ns"), totals=totals, defects=defects, message=message)


__all__ = ["Total", "Verdict"]
