"""A view that is being written where the daemon will read it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import numpy.typing as npt

from .slots import Ring

if TYPE_CHECKING:
    import types


class Slot:
    """A view of a Line, written in a `with` block and sent at its end; an exception in the block drops it, and so does the
    end of a Slot whose block was never entered.

    ::

        with line.slot(fruit=fruit, view=view) as slot:
            slot.maps[:] = maps

    maps: an array to be written, of the shape and type that Line.slot() was asked for. intensity: the photograph's,
    u8[height, width]; None: the view has none. They lie in memory that the daemon reads, may hold a former view, and
    are read-only once the block, or the Slot, has ended. sent: after the block, whether the daemon has the view. In a
    condition a Slot is False if none was free: what is written is then lost, and the fruit's verdict says why.
    """

    def __init__(self, maps: npt.NDArray[Any], intensity: npt.NDArray[np.uint8] | None, header: bytearray,
                 send: Callable[[Slot], bool]) -> None:
        self.maps, self.intensity, self.sent = maps, intensity, False
        self._header, self._send = header, send
        self._ring: Ring | None = None
        self._number: int | None = None  # in the ring, while it is this Slot's
        self._is_lost = False            # none was free, or there is no daemon

    def __bool__(self) -> bool:
        return not self._is_lost

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: types.TracebackType | None) -> None:
        self._write_no_more()
        if kind is None:
            self.sent = self._send(self)
            self._number = None
        else:
            self._drop()

    def __del__(self) -> None:
        if self._number is not None:
            self._write_no_more()
            self._drop()

    def _write_no_more(self) -> None:
        for array in (self.maps, self.intensity):
            if array is not None:
                array.flags.writeable = False

    def _drop(self) -> None:
        if self._ring and self._number is not None:
            self._ring.drop(self._number)
        self._number = None


__all__ = ["Slot"]
