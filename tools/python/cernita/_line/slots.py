"""Slots: memory that a daemon on the same machine shares with this process, one view in each.

stages/producer/cernita_producer.h says what the steps mean, src/formats/slots/slots.h what the bytes are. Without
pyzmq, and without a library.
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import mmap
import os
import select
import socket as system
import struct
import termios
import time
import weakref

from .files import Path

IN_SLOT, NO_SLOT = 2, 4  # flags of a view's header
ALIGNMENT = 64  # of the intensity part

_HELLO = struct.Struct("<4sHHIIQ16x")
_ANSWER = struct.Struct("<IIQQ104s")
_REFERENCE = struct.Struct("<QIIQ")
_VERSION, _MEMFD = 1, 1
_FREE, _FILLING, _SENT, _STATES = 0, 1, 2, 4  # a slot's word: its state, and 4 times its generation
_QUEUE_S = 0.005  # a daemon whose queue is full is asked again so often
_POPULATE = getattr(mmap, "MAP_POPULATE", 0x8000)  # Python 3.10; else the first lap pays for every page

_CURES = {
    errno.ENOENT: "there is no such socket: correct the path, or start cernitad",
    errno.EACCES: "permission denied: add this user to the group of the socket",
    errno.ECONNREFUSED: "nobody listens there: start cernitad",
    errno.EPROTOTYPE: "a socket of another kind: name ingest.slots.path of the line",
    errno.EAGAIN: "the daemon accepts no connection: is it stopped?",
    errno.ETIMEDOUT: "no answer: is the daemon stopped?",
}
_HUNG_UP = "hung up before its answer: the daemon ends, or is another program"
_NO_DAEMON = "what listens there is not a cernitad: name ingest.slots.path of a line"


class SlotsFault(Exception):
    """Why there are no slots: one line that names the socket and the cure. absent: no daemon may run yet, or one
    is ending."""

    def __init__(self, path: Path, text: str, absent: bool = False) -> None:
        super().__init__(f"slots {os.fspath(path)}: {text}")
        self.absent = absent


def intensity_at(maps_bytes: int) -> int:
    """Where the photograph begins in a slot, behind the maps."""
    return -(-maps_bytes // ALIGNMENT) * ALIGNMENT


def _hang_up(socket: system.socket, process: int) -> None:
    """A copy in a forked child neither keeps the connection nor ends it."""
    if process == os.getpid():
        with contextlib.suppress(OSError):  # the daemon has ended before
            socket.shutdown(system.SHUT_RDWR)
    socket.close()


class Ring:
    """A connection and its slots, until the daemon ends. slots: how many; slot_bytes: of each; memory: of all."""

    def __init__(self, path: Path, view_bytes: int, slots_count: int, answer_s: float) -> None:
        """Connects, waits so long for an answer, and maps so many slots, or fewer, for views of so many bytes;
        SlotsFault."""
        self._path = path
        self._socket = system.socket(system.AF_UNIX, system.SOCK_SEQPACKET)
        self._process = os.getpid()
        self._hang_up = weakref.finalize(self, _hang_up, self._socket, self._process)
        fds: list[int] = []
        self._socket.settimeout(answer_s)
        try:
            self._map(self._ask(view_bytes, slots_count, fds), fds)
        except BaseException:
            self.close()
            raise
        finally:
            for fd in fds:
                os.close(fd)
        self._socket.setblocking(False)
        self._poller = select.poll()
        self._poller.register(self._socket, select.POLLIN)

    def _connect(self) -> None:
        """Waits while the daemon's queue is full, for which neither a poll nor the socket's timeout waits."""
        end_s = time.monotonic() + (self._socket.gettimeout() or 0)
        while True:
            try:
                self._socket.connect(os.fspath(self._path))
                return
            except BlockingIOError:
                if time.monotonic() >= end_s:
                    raise
            time.sleep(_QUEUE_S)

    def _ask(self, view_bytes: int, slots_count: int, fds: list[int]) -> tuple[int, int, int]:
        """Says hello; returns the answer's slots, ring and slot_bytes, with the descriptors in fds."""
        socket = self._socket
        try:
            self._connect()
            socket.send(_HELLO.pack(b"CRNS", _VERSION, _MEMFD, slots_count, 0, view_bytes))
            answer, received, _, _ = system.recv_fds(socket, _ANSWER.size + 1, 2, system.MSG_CMSG_CLOEXEC)
            fds += received
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        except system.timeout:
            raise SlotsFault(self._path, _CURES[errno.ETIMEDOUT]) from None
        except OSError as fault:
            number = fault.errno or 0
            raise SlotsFault(self._path, _CURES.get(number, fault.strerror or str(fault)),
                             number in (errno.ENOENT, errno.ECONNREFUSED)) from None
        if len(answer) != _ANSWER.size:
            raise SlotsFault(self._path, _NO_DAEMON if answer else _HUNG_UP, not answer)
        status, slots, ring, slot_bytes, text = _ANSWER.unpack(answer)
        if status:
            raise SlotsFault(self._path, "refused: " + text.split(b"\0")[0].decode("utf-8", "replace"))
        return slots, ring, slot_bytes

    def _map(self, answer: tuple[int, int, int], fds: list[int]) -> None:
        self.slots, self._ring, self.slot_bytes = answer
        try:
            memory, words = (mmap.mmap(fd, size, mmap.MAP_SHARED | _POPULATE) for fd, size in
                             zip(fds, (self.slots * self.slot_bytes, self.slots * 8)))
        except (ValueError, OverflowError):
            raise SlotsFault(self._path, "the answer lacks memory for its slots: install producer and daemon of one "
                             "release") from None
        except OSError as fault:
            raise SlotsFault(self._path, f"cannot map {self.slots * self.slot_bytes} bytes ({fault.strerror}): raise "
                             "ulimit -v") from None
        self.memory = memoryview(memory)
        # Loads and stores of 8 bytes, each by one instruction. What orders them with the maps: the calls of the system
        # by which the header leaves and a slot's return is told.
        self._words = memoryview(words).cast("Q")

    def update(self) -> bool:
        """Reads what has come: bytes that say that slots are free. False: the daemon has ended."""
        try:
            while self._socket.recv(64):
                pass
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def _first_free(self) -> int | None:
        for slot, word in enumerate(self._words):
            if word % _STATES == _FREE:
                self._words[slot] = word + _FILLING
                return slot
        return None

    def take(self, patience_s: float) -> int | None:
        """A free slot; None: there is none within that time, or the daemon has ended."""
        end_s = time.monotonic() + patience_s
        while (slot := self._first_free()) is None:
            left_s = end_s - time.monotonic()
            if left_s <= 0 or not self._poller.poll(math.ceil(1000 * left_s)) or not self.update():
                return None
        return slot

    def _set(self, slot: int, state: int) -> None:
        self._words[slot] = self._words[slot] // _STATES * _STATES + state

    def drop(self, slot: int) -> None:
        """Gives back a slot that was taken; in a forked child, whose parent has it, nothing."""
        if self._process == os.getpid():
            self._set(slot, _FREE)

    def _send(self, packet: bytes) -> bool:
        try:
            self._socket.send(packet)
        except OSError:  # the daemon reads nothing, or has ended
            return False
        return True

    def send(self, header: bytearray, slot: int | None) -> bool:
        """Sends the header of a view in that slot, which is the daemon's then; None: of one that found none. False:
        the daemon reads nothing or has ended, and the slot is free."""
        struct.pack_into("<H", header, 6, header[6] | (NO_SLOT if slot is None else IN_SLOT))
        if slot is None:
            return self._send(header)
        reference = _REFERENCE.pack(self._ring, slot, 0, self._words[slot] // _STATES)
        self._set(slot, _SENT)  # before it leaves: afterwards the daemon may have freed it already
        if self._send(header + reference):
            return True
        self._set(slot, _FREE)
        return False

    def count_sent(self) -> int:
        """Views that the daemon has not given back."""
        return sum(word % _STATES == _SENT for word in self._words)

    def is_unread(self) -> bool:
        """Whether headers wait that the daemon has not read."""
        return any(fcntl.ioctl(self._socket, termios.TIOCOUTQ, bytes(4)))

    def close(self) -> None:
        """Ends the connection. The memory stays mapped as long as an array lies in it, which reads 0 once the line has
        freed the slots, latency.assemble_ms later."""
        self._hang_up()
