"""A Line's views through ZeroMQ."""
from __future__ import annotations

import collections
import time
from typing import Any

from .address import connect
from .handshake import Handshakes
from .keys import Path
from .optional import need

_WAITING = 8  # few views wait here: old ones are of no use to the ejector
_LINGER_MS = 1000  # that the end of a program waits at most for a Line which was not closed


class SocketSender:
    """Connects whenever a daemon is there.

    handshakes.fault: why it lets nobody in. lost: views that were accepted but may not have arrived, because a
    connection ended while they were under way.
    """

    def __init__(self, address: str, key: Path | None, server_key: Path | None) -> None:
        """As connect(); ImportError: pyzmq is missing."""
        self._zmq = zmq = need("zmq", "Line")
        self.address, self.connected, self.lost = address, False, 0
        self._under_way: collections.deque[Any] = collections.deque()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
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
        self.handshakes = Handshakes(socket, self.address, key is not None)
        connect(socket, "address", self.address, key, server_key)

    def update(self, timeout_ms: int = 0) -> bool:
        """Learns of the daemon's coming and going; waits so long for news. True: a daemon answers."""
        while self.handshakes.events.poll(timeout_ms):
            self.handshakes.read()
            self.connected = self.handshakes.connected
            if not self.connected:
                self.lost += len(self._under_way)
                self._under_way.clear()
            timeout_ms = 0
        while self._under_way and self._under_way[0].done:
            self._under_way.popleft()
        return self.connected

    def send(self, parts: list[Any], patience_ms: int) -> bool:
        """Sends a message without a copy. False: the daemon did not accept it in time."""
        if not self._socket.poll(patience_ms, self._zmq.POLLOUT):
            return False
        try:
            self._under_way.append(self._socket.send_multipart(parts, self._zmq.DONTWAIT, copy=False, track=True))
        except self._zmq.Again:  # the daemon left this very moment
            return False
        return True

    def close(self, end_s: float) -> None:
        """Waits until the daemon has all that was accepted, until then at most."""
        while self.update() and self._under_way and time.monotonic() < end_s:
            time.sleep(0.005)
        self.update()
        self.lost += len(self._under_way)
        linger_ms = 0 if self._under_way else _LINGER_MS
        self._under_way.clear()
        self.handshakes.close()
        self._socket.close(linger_ms)
        self._context.term()
        self.connected = False
