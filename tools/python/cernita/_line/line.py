"""Views to a line: what a CNN does with its output."""
from __future__ import annotations

import collections
import os
import time
import weakref
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from .._arguments import seconds, whole
from .address import connect
from .files import log
from .handshake import Handshakes
from .keys import Path
from .optional import need
from .refusals import Refusals
from .times import doubt
from .wire import check_classes, check_intensity, check_maps, pack_header, sides

if TYPE_CHECKING:
    import types

_WAITING = 8  # few views wait here: old ones are of no use to the ejector
_LINGER_MS = 1000  # that the end of a program waits at most for a Line which was not closed
_STATUS_S = 2.5  # `status` comes once a second


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

    One Line per lane, used by one thread at a time; or one per camera of a lane, with the same numbers of fruits and
    with views of its own, which the daemon joins. Lines of several threads need no locks. A forked child opens its own: that of its parent raises a RuntimeError there. Needs pyzmq
    (Debian: python3-zmq).

    connected: True while a daemon answers, as far as the last call knows. fault: why it does not let this Line in, such
    as a key that it refused; None: nothing is known. refused: with `status`, how many views the
    daemon has refused since, by reason, such as {"class_set": 4}; a second after they were sent. lost: views that were accepted but may not
    have arrived, because a connection ended while they were under way. sequence: number of the next view. epoch: of
    this Line; another one after every start.

    Warnings go to the log "cernita" (logging), and so to stderr unless the program says otherwise, once each: a reason for
    which views are refused, a fault, a captured_ns or deadline_ns that is far from now, as milliseconds or local times are.
    """

    def __init__(self, address: str, *, lane: int = 0, classes: Sequence[str] = (), views: int = 0,
                 patience_s: float = 1.0, epoch: int | None = None, status: str | None = None, key: Path | None = None,
                 server_key: Path | None = None) -> None:
        """Connects, without waiting for a daemon.

        address: the daemon's ingest.bind, such as tcp://HOST:5555 or ipc:///PATH. lane: 0 to 2**32 - 1. classes: the
        names in the daemon's file, in its order, so that other maps are refused; () leaves it unchecked. views: number
        of photographs of a fruit; 0: unknown, the fruit then closes latency.assemble_ms after its first view.
        patience_s: how long send() waits for a daemon that accepts nothing. epoch: 0 to 2**64 - 1; None: the time in
        ns. status: the daemon's publish.viewers.bind, such as tcp://HOST:5557, from which `refused` is known; None: the
        daemon's log alone says what it refuses. key, server_key: files of cernita-keys, where the daemon requires keys (access.keys).

        TypeError, ValueError: an argument, which the text names. OSError: a key's file cannot be read. ImportError:
        pyzmq is missing, or for `status` msgpack.
        """
        self._zmq = zmq = need("zmq", "Line")
        self.address, self.connected, self.lost, self.sequence = address, False, 0, 0
        self.lane, self.views = whole("lane", lane, 0, 2**32 - 1), whole("views", views, 0, 65535)
        self.classes = check_classes(classes)
        self.epoch = time.time_ns() if epoch is None else whole("epoch", epoch, 0, 2**64 - 1)
        self._patience_ms = _milliseconds("patience_s", patience_s)
        self._process = os.getpid()
        self._warned: set[str] = set()
        self._refusals = None if status is None else Refusals(status, self.lane, key, server_key)
        if self._refusals:
            weakref.finalize(self, self._refusals.close)
        self._under_way: collections.deque[Any] = collections.deque()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
        self._handshakes: Any = None
        try:
            self._open(key, server_key)
        except BaseException:
            self._context.destroy(0)
            raise

    def _open(self, key: Path | None, server_key: Path | None) -> None:
        socket = self._socket
        socket.sndhwm, socket.linger = _WAITING, _LINGER_MS
        socket.immediate = 1  # nothing is queued while no daemon is connected
        socket.copy_threshold = 0  # else small views would not be tracked
        self._handshakes = Handshakes(socket, self.address, key is not None)
        connect(socket, "address", self.address, key, server_key)

    def wait(self, timeout_s: float = 0.0) -> bool:
        """Learns of the daemon's coming and going; waits up to timeout_s for news. True: a daemon answers.

        One with access.keys answers only to a Line with a key that it knows. With `status` it also waits, at the start,
        for the first one, so that all views that are refused count."""
        self._check_open()
        timeout_ms = _milliseconds("timeout_s", timeout_s)
        end_s = time.monotonic() + timeout_ms / 1000
        while self._handshakes.events.poll(timeout_ms):
            self._handshakes.read()
            self.connected = self._handshakes.connected
            if not self.connected:
                self.lost += len(self._under_way)
                self._under_way.clear()
            timeout_ms = 0
        while self._under_way and self._under_way[0].done:
            self._under_way.popleft()
        if self.connected and self._refusals and not self._refusals.heard.is_set():
            self._await_status(end_s - time.monotonic())
        return self.connected

    def _await_status(self, left_s: float) -> None:
        told = self._refusals
        if left_s > 0 and told and not told.heard.wait(min(left_s, _STATUS_S)) and left_s > _STATUS_S:
            self._warn("status", f"no status from {told.address}, so that refused views are not told: name the daemon's "
                       "publish.viewers.bind, and with access.keys a key that is for viewers too")

    @property
    def fault(self) -> str | None:
        fault: str | None = self._handshakes.fault
        return fault

    @property
    def refused(self) -> dict[str, int]:
        return dict(self._refusals.counts) if self._refusals else {}

    def _warn(self, cause: str, text: str) -> None:
        """Once for each cause."""
        if cause not in self._warned:
            self._warned.add(cause)
            log.warning("lane %d: %s", self.lane, text)

    def send(self, maps: Any, *, fruit: int, view: int, intensity: Any = None, captured_ns: int = 0,
             deadline_ns: int = 0, encoder: int = 0, layout: str = "hwc") -> bool:
        """Sends one view. False: it was not accepted, at once without a daemon, or because the daemon did not accept
        it within patience_s. The belt does not wait: drop the view then and go on with the next.

        maps: a probability per class, [height, width, class] or, with layout "chw", [class, height, width], of u8
        (p = v/255), f16 or f32, after softmax or sigmoid; any strides; of NumPy, or of PyTorch or another library in
        host memory (`maps.detach().cpu()`). It is copied and may be written again at once.
        A view with values other than 0 to 1 in a class that has a level makes its fruit partial; the daemon's log says
        why. intensity: the grey photograph, u8[height, width]. fruit: an id, the same for its views; view: its index
        among them. captured_ns: when it was exposed, in ns since 1970 (CLOCK_REALTIME); 0: unknown. deadline_ns: when
        the verdict must be out; 0: the daemon's budget decides. encoder: the belt's position, handed through to the
        verdict.

        The sequence number rises with every call that sends or fails to, so that losses show; not with one that
        raises. TypeError, ValueError: an argument, which the text names, with the cure.
        """
        maps = check_maps(maps, self.classes, layout)
        height, width, _ = sides(maps, layout)
        if intensity is not None:
            intensity = check_intensity(intensity, height, width)
        header = pack_header(
            maps, layout=layout, classes=self.classes, intensity=intensity is not None, lane=self.lane,
            epoch=self.epoch, sequence=self.sequence, fruit=fruit, view=view, views=self.views,
            captured_ns=captured_ns, deadline_ns=deadline_ns, encoder=encoder)
        for name, ns in (("captured_ns", captured_ns), ("deadline_ns", deadline_ns)):
            if name not in self._warned and (fault := doubt(int(ns))):
                self._warn(name, f"{name} {fault} (fruit {fruit}, view {view})")
        connected = self.wait()
        self.sequence += 1
        if not connected:
            return False
        parts = [header, np.array(maps, order="C")]
        if intensity is not None:
            parts.append(np.array(intensity, order="C"))
        return self._send(parts)

    def _send(self, parts: list[Any]) -> bool:
        if not self._socket.poll(self._patience_ms, self._zmq.POLLOUT):
            return False
        try:
            self._under_way.append(self._socket.send_multipart(parts, self._zmq.DONTWAIT, copy=False, track=True))
        except self._zmq.Again:  # the daemon left this very moment
            return False
        return True

    def close(self, timeout_s: float = 10.0) -> int:
        """Waits until the daemon has all that was accepted, timeout_s at most, and closes. Returns how many views may
        not have arrived. A second call returns the same at once, as does one in a forked child, which closes nothing."""
        if self._context.closed or self._process != os.getpid():
            return self.lost
        if self._refusals:
            self._refusals.close()
        end = time.monotonic() + seconds("timeout_s", timeout_s)
        while self.wait() and self._under_way and time.monotonic() < end:
            time.sleep(0.005)
        self.wait()
        self.lost += len(self._under_way)
        linger_ms = 0 if self._under_way else _LINGER_MS
        self._under_way.clear()
        self._handshakes.close()
        self._socket.close(linger_ms)
        self._context.term()
        self.connected = False
        return self.lost

    def _check_open(self) -> None:
        if self._process != os.getpid():  # where ZeroMQ's thread does not exist, and calls would wait for ever
            raise RuntimeError(f"the Line was opened by process {self._process}, of which this one is a fork; open "
                               "another one here")
        if self._context.closed:
            raise ValueError("the Line is closed; open another one")

    def __reduce__(self) -> Any:
        raise TypeError("a Line cannot be sent to another process; open another there")

    def __enter__(self) -> Line:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: types.TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cernita.Line to {self.address}, lane {self.lane}, {self.sequence} views>"


__all__ = ["Line"]
