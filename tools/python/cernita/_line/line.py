"""Views to a line: what a CNN does with its output."""
from __future__ import annotations

import os
import struct
import time
import weakref
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np
import numpy.typing as npt

from .._arguments import flag, seconds, whole
from .files import log
from .keys import Path
from .refusals import Refusals
from .slot import Slot
from .slots import intensity_at
from .slots_sender import SlotsSender
from .socket_sender import SocketSender
from .times import doubt
from .wire import (INTENSITY, SEQUENCE_AT, check_classes, check_intensity, check_maps, check_pose, check_shape,
                   pack_header, sides)

if TYPE_CHECKING:
    import types

_STATUS_S = 2.5  # `status` comes once a second
_POLL_S = 0.05  # how often a daemon with slots is looked for
_FALLBACK_S = 1.0  # a daemon that starts may open its slots after its other sockets


def _milliseconds(argument: str, value: Any) -> int:
    """Within ZeroMQ's range, which 24 days are."""
    return int(1000 * min(seconds(argument, value), 24 * 86400))


class Line:
    """The connection of one lane's CNN to the daemon, for the whole run.

    ::

        with Line("tcp://127.0.0.1:5555", classes=CLASSES, views=4) as line:
            line.wait(5)                            # until the daemon answers
            for fruit, view, photo in camera:       # photo: u8[height, width]
                maps = net(photo)                   # maps: f32[height, width, class], 0 to 1
                line.send(maps, fruit=fruit, view=view, intensity=photo)

    On the daemon's machine views go without a copy through slots, where its file has ingest.slots.path; pyzmq is not
    needed then:

    ::

        with Line(slots="/run/cernita/slots", classes=CLASSES, views=4, shape=(95, 511, 12)) as line:
            line.wait(5)
            for fruit, view, photo in camera:
                with line.slot(fruit=fruit, view=view) as slot:     # sent at the end of the block
                    slot.maps[:] = net(photo)

    One Line per lane, used by one thread at a time; or one per camera of a lane, with the same numbers of fruits and
    with views of its own, which the daemon joins. Lines of several threads need no locks. A forked child opens its own: that of its parent raises a RuntimeError there. Needs pyzmq
    (Debian: python3-zmq).

    connected: True while a daemon answers, as far as the last call knows. fault: why it does not let this Line in, such
    as a key that it refused; None: nothing is known. refused: with `status`, how many views the
    daemon has refused since, by reason, such as {"class_set": 4}; a second after they were sent. lost: views that were accepted but may not
    have arrived, because a connection ended while they were under way. sequence: number of the next view. epoch: of
    this Line; another one after every start. path: how views go: "memfd" through slots, "tcp" or "ipc" through a socket.

    Warnings go to the log "cernita" (logging), and so to stderr unless the program says otherwise, once each: a reason for
    which views are refused, a fault, a captured_ns or deadline_ns that is far from now, as milliseconds or local times are.
    """

    def __init__(self, address: str | None = None, *, lane: int = 0, classes: Sequence[str] = (), views: int = 0,
                 patience_s: float = 1.0, epoch: int | None = None, status: str | None = None, key: Path | None = None,
                 server_key: Path | None = None, slots: Path | None = None, shape: Sequence[int] | None = None,
                 dtype: npt.DTypeLike = "f4", layout: str = "hwc", slots_fallback: bool = False, slots_count: int = 16) -> None:
        """Connects, without waiting for a daemon.

        address: the daemon's ingest.bind, such as tcp://HOST:5555 or ipc:///PATH. lane: 0 to 2**32 - 1. classes: the
        names in the daemon's file, in its order, so that other maps are refused; () leaves it unchecked. views: number
        of photographs of a fruit; 0: unknown, the fruit then closes latency.assemble_ms after its first view.
        patience_s: how long send() waits for a daemon that accepts nothing. epoch: 0 to 2**64 - 1; None: the time in
        ns. status: the daemon's publish.viewers.bind, such as tcp://HOST:5557, from which `refused` is known; None: the
        daemon's log alone says what it refuses. key, server_key: files of cernita-keys, where the daemon requires keys (access.keys).

        slots: the daemon's ingest.slots.path, instead of an address. shape, dtype, layout: of the largest maps that
        will be sent through them, [height, width, class] or, with layout "chw", [class, height, width]. slots_fallback:
        True: where slots cannot be had, views go to `address`, which a warning says and `path` tells. slots_count: 1 to
        1024, how many are asked for, of which the daemon gives its ingest.slots.slots at most; 16 are enough for a line
        that keeps up.

        TypeError, ValueError: an argument, which the text names. OSError: a key's file cannot be read. ImportError:
        pyzmq is missing, or for `status` msgpack.
        """
        if (address is None) != (slots is not None and not flag("slots_fallback", slots_fallback)):
            raise ValueError("give address, or slots, or both with slots_fallback=True")
        self.address, self.sequence = address, 0
        self.lane, self.views = whole("lane", lane, 0, 2**32 - 1), whole("views", views, 0, 65535)
        self.classes = check_classes(classes)
        self.epoch = time.time_ns() if epoch is None else whole("epoch", epoch, 0, 2**64 - 1)
        self._patience_s = _milliseconds("patience_s", patience_s) / 1000
        self._process, self._is_closed = os.getpid(), False
        self._warned: set[str] = set()
        self._slots, self.path = None, "memfd"
        if slots is not None:
            self._template = check_shape(shape, dtype, self.classes, layout)
            self._layout = layout
            self._slots = SlotsSender(slots, self._bytes(self._template, layout, True),
                                      whole("slots_count", slots_count, 1, 1024))
        self._refusals = None if status is None else Refusals(status, self.lane, key, server_key)
        if self._refusals:
            weakref.finalize(self, self._refusals.close)
        self._socket = None if address is None else SocketSender(address, key, server_key)
        self._fall_back_s = 0.0
        if not self._slots:
            self._use_socket()

    @staticmethod
    def _bytes(maps: npt.NDArray[Any], layout: str, intensity: bool) -> int:
        """What a view takes of a slot."""
        height, width, _ = sides(maps, layout)
        return intensity_at(maps.nbytes) + height * width if intensity else maps.nbytes

    def _use_socket(self) -> None:
        assert self.address
        self.path = self.address.partition(":")[0]

    @property
    def connected(self) -> bool:
        if self._slots and self.path == "memfd":
            return self._slots.ring is not None
        return self._socket is not None and self._socket.connected

    @property
    def lost(self) -> int:
        return sum(sender.lost for sender in (self._slots, self._socket) if sender)

    @property
    def memory(self) -> npt.NDArray[np.uint8] | None:
        """The memory of all slots, in which the arrays of Slots lie, to be pinned; another one after each connection.
        None: there is none."""
        ring = self._slots and self._slots.ring
        return np.frombuffer(ring.memory, np.uint8) if ring else None

    def wait(self, timeout_s: float = 0.0) -> bool:
        """Learns of the daemon's coming and going; waits up to timeout_s for news. True: a daemon answers.

        One with access.keys answers only to a Line with a key that it knows. With `status` it also waits, at the start,
        for the first one, so that all views that are refused count."""
        self._check_open()
        timeout_ms = _milliseconds("timeout_s", timeout_s)
        end_s = time.monotonic() + timeout_ms / 1000
        if self._slots:
            self._await_slots(self._slots, end_s, timeout_ms > 0)
        elif self._socket:
            self._socket.update(timeout_ms)
        if self.connected and self._refusals and not self._refusals.heard.is_set():
            self._await_status(end_s - time.monotonic())
        return self.connected

    def _await_slots(self, slots: SlotsSender, end_s: float, waits: bool) -> None:
        while not self._find_path(slots, end_s) and (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(_POLL_S, left_s))
        if slots.fault and not self.connected and (waits or not slots.absent):
            self._warn(slots.fault, slots.fault)

    def _find_path(self, slots: SlotsSender, end_s: float) -> bool:
        """A path that was found is kept until its connection ends."""
        if self._socket and self.path != "memfd" and self._socket.update():
            return True
        if slots.update(end_s - time.monotonic()):
            if self.path != "memfd":
                log.warning("lane %d: views go through slots again", self.lane)
            self.path = "memfd"
            return True
        if not self._socket or not self._socket.update():
            self._fall_back_s = 0.0
            return False
        self._fall_back_s = self._fall_back_s or time.monotonic() + _FALLBACK_S
        if time.monotonic() < self._fall_back_s:
            return False
        self._use_socket()
        log.warning("lane %d: views go to %s, as slots_fallback says: %s", self.lane, self.address, slots.fault)
        return True

    def _await_status(self, left_s: float) -> None:
        told = self._refusals
        if left_s > 0 and told and not told.heard.wait(min(left_s, _STATUS_S)) and left_s > _STATUS_S:
            self._warn("status", f"no status from {told.address}, so that refused views are not reported: name the daemon's "
                       "publish.viewers.bind, and with access.keys a key that is for viewers too")

    @property
    def fault(self) -> str | None:
        if self._slots and self.path == "memfd":
            return self._slots.fault or None
        return self._socket.handshakes.fault if self._socket else None

    @property
    def refused(self) -> dict[str, int]:
        return dict(self._refusals.counts) if self._refusals else {}

    def _warn(self, cause: str, text: str) -> None:
        """Once for each cause."""
        if cause not in self._warned:
            self._warned.add(cause)
            log.warning("lane %d: %s", self.lane, text)

    def send(self, maps: Any, *, fruit: int, view: int, intensity: Any = None, captured_ns: int = 0,
             deadline_ns: int = 0, encoder: int = 0, layout: str = "hwc", pose: Sequence[float] | None = None) -> bool:
        """Sends one view. False: it was not accepted, at once without a daemon, or because the daemon did not accept
        it within patience_s. The belt does not wait: drop the view then and go on with the next.

        maps: a probability per class, [height, width, class] or, with layout "chw", [class, height, width], of u8
        (p = v/255), f16 or f32, after softmax or sigmoid; any strides; of NumPy, or of PyTorch or another library in
        host memory (`maps.detach().cpu()`). It is copied and may be written again at once.
        A view with values other than 0 to 1 in a class that has a level makes its fruit partial; the daemon's log says
        why. intensity: the grey photograph, u8[height, width]. fruit: an id, the same for its views; view: its index
        among them. captured_ns: when it was exposed, in ns since 1970 (CLOCK_REALTIME); 0: unknown. deadline_ns: when
        the verdict must be out; 0: the daemon's budget decides. encoder: the belt's position, handed through to the
        verdict. pose: where the view shows the fruit, for lines that know: (x, y, rx, ry, roll_rad), centre and
        semi-axes of its outline in pixels, and how far it has rolled, from any instant on.

        The sequence number rises with every call that sends or fails to, so that losses show; not with one that
        raises. TypeError, ValueError: an argument, which the text names, with the cure.
        """
        maps = check_maps(maps, self.classes, layout)
        height, width, _ = sides(maps, layout)
        if intensity is not None:
            intensity = check_intensity(intensity, height, width)
        header = self._pack(maps, layout, intensity is not None, fruit, view, captured_ns, deadline_ns, encoder, pose)
        self._doubt(fruit, view, captured_ns, deadline_ns)
        if self.wait() and self._socket and self.path != "memfd":
            self.sequence += 1
            parts = [bytes(header), np.array(maps, order="C")]
            if intensity is not None:
                parts.append(np.array(intensity, order="C"))
            return self._socket.send(parts, int(1000 * self._patience_s))
        with self._open_slot(maps, layout, header) as slot:
            if slot:
                slot.maps[...] = maps
                if slot.intensity is not None:
                    slot.intensity[...] = intensity
        return slot.sent

    def slot(self, *, fruit: int, view: int, shape: Sequence[int] | None = None, dtype: npt.DTypeLike | None = None,
             layout: str | None = None, intensity: bool = False, captured_ns: int = 0, deadline_ns: int = 0,
             encoder: int = 0, pose: Sequence[float] | None = None) -> Slot:
        """A view to be written in a `with` block, at whose end it is sent; of a Line with slots.

        It waits for a free slot for patience_s at most. shape, dtype, layout: those of the Line, where left out.
        intensity: with a photograph. All else as send(), the errors too. Several may be written at a time; they are
        sent, and numbered, in the order in which their blocks end.
        """
        if not self._slots:
            raise ValueError("the Line has no slots; Line(slots=PATH, shape=...) makes one that has")
        layout = self._layout if layout is None else layout
        maps = self._template if shape is None and dtype is None else check_shape(
            self._template.shape if shape is None else shape, self._template.dtype if dtype is None else dtype,
            self.classes, layout)
        header = self._pack(maps, layout, flag("intensity", intensity), fruit, view, captured_ns, deadline_ns, encoder,
                            pose)
        self._doubt(fruit, view, captured_ns, deadline_ns)
        self.wait()
        return self._open_slot(maps, layout, header)

    def _pack(self, maps: npt.NDArray[Any], layout: str, intensity: bool, fruit: int, view: int, captured_ns: int,
              deadline_ns: int, encoder: int, pose: Sequence[float] | None) -> bytearray:
        return bytearray(pack_header(
            maps, layout=layout, classes=self.classes, intensity=intensity, lane=self.lane, epoch=self.epoch,
            sequence=self.sequence, fruit=fruit, view=view, views=self.views, captured_ns=captured_ns,
            deadline_ns=deadline_ns, encoder=encoder, pose=check_pose(pose)))

    def _doubt(self, fruit: int, view: int, captured_ns: int, deadline_ns: int) -> None:
        for name, ns in (("captured_ns", captured_ns), ("deadline_ns", deadline_ns)):
            if name not in self._warned and (fault := doubt(int(ns))):
                self._warn(name, f"{name} {fault} (fruit {fruit}, view {view})")

    def _open_slot(self, like: npt.NDArray[Any], layout: str, header: bytearray) -> Slot:
        """A slot for such maps; or memory of our own, to be sent by socket, or to no end."""
        height, width, _ = sides(like, layout)
        photograph = (height, width) if header[6] & INTENSITY else None
        ring = self._slots.ring if self._slots and self.path == "memfd" else None
        if ring and (needed := self._bytes(like, layout, photograph is not None)) > ring.slot_bytes:
            raise ValueError(f"maps of shape {list(like.shape)} take {needed} bytes, and slots have {ring.slot_bytes}; "
                             "give Line the shape and dtype of its largest maps")
        number = ring.take(self._patience_s) if ring else None
        if self._slots and number is not None:
            arrays = self._slots.arrays(number, like.shape, like.dtype, photograph)
        else:
            arrays = np.empty(like.shape, like.dtype), None if photograph is None else np.empty(photograph, np.uint8)
        slot = Slot(*arrays, header, self._send_slot)
        slot._ring, slot._number = ring, number
        slot._is_lost = number is None and (ring is not None or not self.connected)
        return slot

    def _send_slot(self, slot: Slot) -> bool:
        struct.pack_into("<Q", slot._header, SEQUENCE_AT, self.sequence)
        self.sequence += 1
        if slot._ring:
            return slot._ring.send(slot._header, slot._number) and bool(slot)
        if not slot or not self._socket:
            return False
        parts = [bytes(slot._header), slot.maps] + ([] if slot.intensity is None else [slot.intensity])
        return self._socket.send(parts, int(1000 * self._patience_s))

    def close(self, timeout_s: float = 10.0) -> int:
        """Waits until the daemon has all that was accepted, timeout_s at most, and closes. Returns how many views may
        not have arrived. A second call returns the same at once, as does one in a forked child, which closes nothing."""
        if self._is_closed or self._process != os.getpid():
            return self.lost
        end_s = time.monotonic() + seconds("timeout_s", timeout_s)
        self._is_closed = True
        if self._refusals:
            self._refusals.close()
        for sender in (self._slots, self._socket):
            if sender:
                sender.close(end_s)
        return self.lost

    def _check_open(self) -> None:
        if self._process != os.getpid():  # where ZeroMQ's thread does not exist, and calls would wait for ever
            raise RuntimeError(f"the Line was opened by process {self._process}, of which this one is a fork; open "
                               "another one here")
        if self._is_closed:
            raise ValueError("the Line is closed; open another one")

    def __reduce__(self) -> Any:
        raise TypeError("a Line cannot be sent to another process; open another there")

    def __enter__(self) -> Line:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: types.TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cernita.Line to {self.address or self._slots and self._slots.path}, lane {self.lane}, {self.sequence} views>"


__all__ = ["Line"]
