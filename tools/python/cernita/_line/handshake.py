"""Why a line does not let a socket in: what libzmq tells of the socket's handshakes."""
from __future__ import annotations

from typing import Any

from .files import log

_UNFINISHED = 3  # in a row: a daemon that starts or ends cuts a connection off, too

_REFUSED = ("the line refused this key: no file in the folder clients of its access.keys has it, or the file's `for:` "
            "does not name this socket. Let whoever keeps the line add it (its log names the key) and reload the "
            "daemon, then start this program again")
_BY_KEYS = ("the line requires keys (access.keys): give both, key and server_key",
            "the line requires no keys at this socket: leave out key and server_key")
_UNFINISHED_BY_KEYS = ("what answers there ends the connection at once: a line that requires keys (key and server_key), "
                       "or another program",
                       "the line ends the connection before it asks for the key: server_key is not its server.pub, or "
                       "it requires no keys at this socket")


class Handshakes:
    """Those of a zmq.Socket that is not connected yet.

    connected: as of the events that were read. fault: why the line lets nobody in, with the cure; None: as far as known
    it does. final: libzmq does not try again. A warning goes to the log once for each fault.
    """

    def __init__(self, socket: Any, address: str, keys: bool) -> None:
        import zmq
        import zmq.utils.monitor
        self._zmq, self._receive = zmq, zmq.utils.monitor.recv_monitor_message
        self._address, self._keys, self._unfinished = address, keys, 0
        self._told: set[str] = set()
        self.connected = self.final = False
        self.fault: str | None = None
        self._socket = socket
        self.events = socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
            | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)

    def read(self) -> None:
        """Takes in the next event, which must be there."""
        event = self._receive(self.events)["event"]
        self.connected = event == self._zmq.EVENT_HANDSHAKE_SUCCEEDED
        if self.connected:
            self.fault, self.final, self._unfinished = None, False, 0
        elif event == self._zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            self._unfinished += 1
            if self._unfinished >= _UNFINISHED and not self.final:
                self.fault = _UNFINISHED_BY_KEYS[self._keys]
        elif event == self._zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            self.fault, self.final = _REFUSED, True
        elif event == self._zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            self.fault, self.final = _BY_KEYS[self._keys], True
        if self.fault and self.fault not in self._told:
            self._told.add(self.fault)
            log.warning("%s: %s", self._address, self.fault)

    def close(self) -> None:
        self._socket.disable_monitor()
        self.events.close(0)
