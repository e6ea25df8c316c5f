"""Why a daemon refuses views, as its topic `status` says it: by lane and reason (src/publish/status.h)."""
from __future__ import annotations

import threading
from typing import Any

from .address import connect
from .files import log
from .keys import Path
from .optional import need
from .verdict import decode

_POLL_MS = 200  # at which the thread looks whether it is to end

# What to do about a refusal, by the reason that the daemon counts it under.
HINTS = {
    "parts": "send a header, a tensor, and an intensity part if flag 1 says so",
    "header_size": "the header must be 128 bytes, and header_bytes must say so",
    "magic": "the header must begin with CRN1",
    "flags": "clear the flags that this daemon does not know, or install a newer one",
    "reserved": "set the reserved bytes to 0, or install a newer daemon",
    "type": "dtype must be 1 (u8), 2 (f16) or 3 (f32)",
    "layout": "layout must be 1 (CHW) or 2 (HWC)",
    "shape": "no side may be 0",
    "too_large": "raise limits.view_mib in the daemon's file, or send u8 or f16, or smaller maps",
    "payload_size": "payload_bytes must be height x width x channels x element size",
    "pose": "pose must be finite numbers to 1e6 with rx and ry above 0; clear flag 8 where it is not known",
    "channels": "send as many channels as the daemon's file has classes, or correct its classes",
    "class_set": "name the classes as the daemon's file does and in its order",
    "view_index": "view must be less than views, and views at most limits.views",
    "tensor_size": "the tensor part must be payload_bytes long",
    "intensity_size": "the photograph must be height x width bytes of the maps' size",
    "views_mismatch": "all views of a fruit must name the same number of views",
    "lanes": "correct the lane's number, or raise limits.lanes in the daemon's file",
    "lane_not_listed": "correct the lane's number, or ingest.lanes in the daemon's file",
}


def refusals(status: dict[str, Any], lane: int) -> dict[str, int]:
    """{reason: count} so far of that lane's messages and of those that no lane is known of."""
    sums: dict[str, int] = dict(status.get("refused_elsewhere", {}))
    for entry in status["lanes"]:
        if entry["lane"] == lane:
            for reason, count in entry.get("refused", {}).items():
                sums[reason] = sums.get(reason, 0) + count
    return sums


class Refusals:
    """What a daemon has refused of a lane since this began, read on a thread of its own: a sender may be busy with its
    camera, and what is not read piles up at the daemon.

    counts: by reason, replaced as a whole. heard: set by the first status: what comes from then on is counted.
    statuses: how many came.
    """

    def __init__(self, address: str, lane: int, key: Path | None, server_key: Path | None) -> None:
        """As connect(); ImportError: msgpack is missing."""
        zmq = need("zmq", "Line")
        need("msgpack", "The status of a Line")
        self.address, self._lane, self._run = address, lane, ""
        self.counts: dict[str, int] = {}
        self.statuses = 0
        self._before: dict[str, int] = {}
        self.heard, self._end = threading.Event(), threading.Event()
        context = zmq.Context()
        try:
            socket = context.socket(zmq.SUB)
            socket.linger = 0
            socket.subscribe("status")
            connect(socket, "status", address, key, server_key)
        except BaseException:
            context.destroy(0)
            raise
        threading.Thread(target=self._listen, args=(context, socket), name="cernita status", daemon=True).start()

    def close(self) -> None:
        """Lets the thread end, without waiting for it; of a forked child's it has none."""
        self._end.set()

    def _listen(self, context: Any, socket: Any) -> None:
        while not self._end.is_set():
            if socket.poll(_POLL_MS):
                parts = socket.recv_multipart()
                try:
                    self._take(decode(parts[1]))
                except Exception as fault:  # whatever it is: nothing that comes may end this
                    log.warning("%s: a status that cannot be read: %r", self.address, fault)
        context.destroy(0)

    def _take(self, status: dict[str, Any]) -> None:
        counts = refusals(status, self._lane)
        if status["run"] != self._run:  # that of another run counts from its start, the first one's from now on
            self._before = {} if self._run else counts
            self._run = status["run"]
        new = {reason: count - self._before.get(reason, 0) for reason, count in counts.items()
               if count > self._before.get(reason, 0)}
        self._before = counts
        for reason in new.keys() - self.counts.keys():
            log.warning("lane %d: %d messages refused (%s): %s", self._lane, new[reason], reason,
                        HINTS.get(reason, "see the log of the daemon"))
        self.counts = {**self.counts, **{reason: self.counts.get(reason, 0) + count for reason, count in new.items()}}
        self.statuses += 1
        self.heard.set()
