"""A Line's views through slots."""
from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from .files import Path
from .slots import Ring, SlotsFault, intensity_at

_ANSWER_S = 1.0          # in which a daemon answers, beside the time for the memory
_ANSWER_S_PER_MIB = 0.01  # in which it makes the memory: ten times what an idle machine needs
_RETRY_S = 0.05  # a daemon that is not there is asked again so often


class SlotsSender:
    """Connects whenever a daemon is there.

    fault: why it is not connected, after the first attempt; absent: because none may run yet. lost: views that were sent
    to a daemon that ended before it gave their slots back.
    """

    def __init__(self, path: Path, view_bytes: int, slots_count: int) -> None:
        self.path, self.fault, self.absent, self.lost = path, "", True, 0
        self._view_bytes, self._slots_count, self._next_s = view_bytes, slots_count, 0.0
        self._answer_s = _ANSWER_S + _ANSWER_S_PER_MIB * slots_count * view_bytes / (1 << 20)
        self.ring: Ring | None = None

    def update(self, patience_s: float = 0.0) -> bool:
        """Learns of the daemon's coming and going; waits for its answer so long, if that is more than it needs.
        True: it is connected."""
        if self.ring and not self.ring.update():
            self.lost += self.ring.count_sent()
            self._end()
        if not self.ring and time.monotonic() >= self._next_s:
            try:
                self.ring = Ring(self.path, self._view_bytes, self._slots_count, max(patience_s, self._answer_s))
                self.fault = ""
            except SlotsFault as fault:
                self.fault, self.absent = str(fault), fault.absent
                self._next_s = time.monotonic() + _RETRY_S
        return self.ring is not None

    def _end(self) -> None:
        if self.ring:
            self.ring.close()
        self.ring = None

    def arrays(self, slot: int, shape: tuple[int, ...], dtype: npt.DTypeLike,
               photograph: tuple[int, int] | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8] | None]:
        """What is to be written: the maps and the photograph of that slot, where there is one."""
        assert self.ring
        start = slot * self.ring.slot_bytes
        maps: npt.NDArray[Any] = np.ndarray(shape, dtype, self.ring.memory, start)
        if photograph is None:
            return maps, None
        return maps, np.ndarray(photograph, np.uint8, self.ring.memory, start + intensity_at(maps.nbytes))

    def close(self, end_s: float) -> None:
        """Waits until the daemon has read all that was sent, until then at most."""
        while self.ring and self.update() and self.ring.is_unread():
            if time.monotonic() >= end_s:
                self.lost += self.ring.count_sent()
                break
            time.sleep(0.005)
        self._end()
