"""Verdicts from a line, as they come: for a grader, or for viewers beside it."""
from __future__ import annotations

import dataclasses
import difflib
import math
import os
import time
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence, Union

from .._arguments import join, seconds, whole
from .address import connect
from .files import log
from .handshake import Handshakes
from .keys import Path
from .optional import need
from .verdict import Verdict, decode, read_verdict
from .wire import check_classes

if TYPE_CHECKING:
    import types

SILENT_TIMES = 3  # so many times alive_ms without a message is silence
_POLL_S = 3600.0  # within ZeroMQ's range
# Silence is looked for again after its time: a program that was not run for so long finds what came meanwhile.
_CONFIRM_MS = 5


class Alive(NamedTuple):
    """Topic `alive`, to the grader after alive_ms without a verdict."""
    run: str
    state: str           # ready, running, degraded, stopping
    alive_ms: int
    lost: dict[int, int]  # lane: verdicts that were given and did not come; fail-safe for their fruits


class Silence(NamedTuple):
    """Nothing came for three times alive_ms: from now on every fruit on the belt is one that nobody has looked at,
    until another message comes."""
    ms: int


class Status(NamedTuple):
    """Topic `status`, to viewers once a second: src/publish/status.h."""
    message: dict[str, Any]


class Unreadable(NamedTuple):
    """A message that is not what it should be: fail-safe for its fruit."""
    topic: str
    fault: str


Message = Union[Verdict, Alive, Silence, Status, Unreadable]


class _Sequences:
    """Whether every verdict came: they are numbered by lane, from 0 with each start of the daemon."""

    def __init__(self) -> None:
        self.run: str | None = None
        self.next: dict[int, int] = {}

    def check(self, run: str, lane: int, sequence: int, came: bool = True) -> int:
        """A verdict came; came False: `alive` says that it is the lane's last. Returns how many are lost that should
        have come by now."""
        if run != self.run:
            self.run, self.next = run, {}
        due = sequence if came else sequence + 1
        missing = max(0, due - self.next.get(lane, due))
        self.next[lane] = max(due + came, self.next.get(lane, 0))
        return missing


class _Classes:
    """The classes that a grader decides by, and whether they were looked for: without a level a class finds nothing."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = check_classes(names)
        self._told: dict[str, tuple[str, ...]] = {}  # by recipe

    def missing(self, verdict: Verdict) -> tuple[str, ...]:
        """Those that were not looked for; a warning when they become others."""
        missing = tuple(name for name in self.names if name not in verdict.totals)
        recipe = str(verdict.message.get("recipe", ""))
        if missing != self._told.get(recipe, ()):
            self._told[recipe] = missing
            if missing:
                log.warning("%s", self._text(missing, verdict, recipe))
        return missing

    def _text(self, missing: tuple[str, ...], verdict: Verdict, recipe: str) -> str:
        found = [repr(name) for name in verdict.totals]
        alike = [f"{close[0]!r} for {name!r}" for name in missing
                 if (close := difflib.get_close_matches(name, set(verdict.totals) - set(self.names), 1))]
        where = f"recipe {recipe!r}" if recipe else "the daemon's file"
        was, a_level = ("was", "it a level") if len(missing) == 1 else ("were", "them levels")
        return (f"lane {verdict.lane}: {join([repr(name) for name in missing], 'and')} {was} not looked for, so that "
                f"fail_safe() holds for every fruit: give {a_level} in {where}, or correct the names in `classes`; looked "
                f"for: {join(found, 'and') if found else 'nothing'}"
                + (f"; did you mean {join(alike, 'and')}?" if alike else ""))


class Verdicts:
    """A line's verdicts.

    ::

        with Verdicts("tcp://127.0.0.1:5557") as verdicts:         # a viewer: publish.viewers.bind
            for verdict in verdicts:
                print(verdict.fruit, verdict.kind, verdict.defects.table["area_px"])

    A grader, which decides for the ejector, takes every message, since silence and losses concern it, too:

    ::

        with Verdicts("tcp://127.0.0.1:5556", grader=True, classes=["rot", "mould"], alive_ms=100) as verdicts:
            for message in verdicts.messages():
                if isinstance(message, Verdict):
                    eject(message.fruit, decide(message))       # message.fail_safe() says when not to trust it
                elif isinstance(message, Silence):
                    fail_safe_for_the_belt()
                elif isinstance(message, (Alive, Unreadable)):
                    ...                                         # Alive.lost, Unreadable: fail-safe for those fruits

    There is one grader: a second one would get every other verdict. Viewers may be many and lose verdicts when they
    are slow, which `lost` counts. Used by one thread at a time. A forked child opens its own: those of its parent raise a
    RuntimeError there. Needs pyzmq and msgpack (Debian: python3-zmq, python3-msgpack).

    fault: why the line does not let this in, such as a key that it refused, with a warning (logging, "cernita") once;
    None: nothing is known. count: verdicts so far; lost: how many did not come; unreadable: messages that could not be read; silent: nothing
    has come since the last Silence.
    """

    def __init__(self, address: str, *, grader: bool = False, classes: Sequence[str] = (), lane: int | None = None,
                 status: bool = False, alive_ms: int = 0, timeout_s: float | None = None, key: Path | None = None,
                 server_key: Path | None = None) -> None:
        """Connects, without waiting for a daemon.

        address: the daemon's publish.viewers.bind or, with grader=True, publish.grader.bind. classes: the names
        that you decide by; a verdict without one of them, which has no level in the daemon's file or in the recipe, or
        another name there, has it in missing_classes and in fail_safe(), and a warning (logging, "cernita") says so at
        once. lane: of a viewer, that lane's verdicts only. status: of a viewer, the topic `status`, too. alive_ms: the daemon's
        publish.grader.alive_ms, for a grader that may start before the daemon; 0: as the daemon announces. timeout_s:
        iteration raises TimeoutError when nothing has come for so long; None: never. key, server_key: files of
        cernita-keys, where the daemon requires keys (access.keys).

        TypeError, ValueError: an argument, which the text names. OSError: a key's file cannot be read. ImportError:
        pyzmq or msgpack is missing.
        """
        zmq = need("zmq", "Verdicts")
        need("msgpack", "Verdicts")
        if grader and (lane is not None or status):
            raise ValueError("lane and status are for viewers; the grader gets every verdict")
        self.address, self.timeout_s = address, None if timeout_s is None else seconds("timeout_s", timeout_s)
        self.count = self.lost = self.unreadable = 0
        self.silent = False
        self.alive_ms = whole("alive_ms", alive_ms, 0, 2**31 - 1)
        self._classes = _Classes(classes)
        self._lane = None if lane is None else whole("lane", lane, 0, 2**32 - 1)
        self._grader, self._sequences, self._heard_s = grader, _Sequences(), time.monotonic()
        self._process = os.getpid()
        self._context = zmq.Context()
        try:
            self._socket = self._context.socket(zmq.PULL if grader else zmq.SUB)
            self._open(status, key, server_key)
        except BaseException:
            self._context.destroy(0)
            raise

    def _open(self, status: bool, key: Path | None, server_key: Path | None) -> None:
        socket = self._socket
        socket.linger = 0
        # A daemon whose power went is missed after 5 s. Not by ZeroMQ's heartbeats: libzmq 4.3 aborts the process when
        # one expires while a full queue has stopped the input, as a slow reader's has (libzmq issue 3937).
        socket.tcp_keepalive, socket.tcp_keepalive_idle = 1, 2
        socket.tcp_keepalive_intvl, socket.tcp_keepalive_cnt = 1, 3
        if not self._grader:
            socket.subscribe("fruit/" if self._lane is None else f"fruit/{self._lane}")
            if status:
                socket.subscribe("status")
        self._handshakes = Handshakes(socket, self.address, key is not None)
        connect(socket, "address", self.address, key, server_key)
        self._poller = need("zmq", "Verdicts").Poller()
        for polled in (socket, self._handshakes.events):
            self._poller.register(polled, 1)  # POLLIN

    def receive(self, timeout_s: float | None = None) -> Message:
        """The next message, whatever it is; those of unknown topics, which later daemons may have, are skipped.

        TimeoutError: none came within timeout_s (None: the object's own). Nothing that the daemon sends raises an
        error: what cannot be read is Unreadable.
        """
        if timeout_s is None:
            timeout_s = self.timeout_s
        end_s = None if timeout_s is None else time.monotonic() + seconds("timeout_s", timeout_s)
        while True:
            if not self._poll(end_s):
                return Silence(SILENT_TIMES * self.alive_ms)
            parts = self._socket.recv_multipart()
            self._heard_s, self.silent = time.monotonic(), False
            message = self._read(parts[0], parts[1] if len(parts) > 1 else b"")
            if message is not None:
                return message

    @property
    def fault(self) -> str | None:
        return self._handshakes.fault

    def _is_ready(self, timeout_ms: int) -> bool:
        """True: a message is there. False: none within the time, or something was told of the connection."""
        ready = dict(self._poller.poll(timeout_ms))
        if self._handshakes.events in ready:
            self._handshakes.read()
        return self._socket in ready

    def _poll(self, end_s: float | None) -> bool:
        """True: a message is there. False: the line has fallen silent. TimeoutError: neither until then."""
        if self._process != os.getpid():  # where ZeroMQ's thread does not exist, and calls would wait for ever
            raise RuntimeError(f"the Verdicts were opened by process {self._process}, of which this one is a fork; open "
                               "others here")
        if self._context.closed:
            raise ValueError("the Verdicts are closed; open others")
        silence_s = None
        if self._grader and self.alive_ms and not self.silent:
            silence_s = self._heard_s + SILENT_TIMES * self.alive_ms / 1000
        first_s = min((at for at in (end_s, silence_s) if at is not None), default=math.inf)
        left_s = 0.0
        while not self._is_ready(int(1000 * min(left_s, _POLL_S)) + (left_s > 0)):
            left_s = first_s - time.monotonic()
            if left_s <= 0:
                break
        else:
            return True
        if first_s == silence_s:
            if self._is_ready(_CONFIRM_MS):
                return True
            self.silent = True
            return False
        raise TimeoutError(f"nothing came from {self.address} in time" + (f": {self.fault}" if self.fault else ""))

    def _read(self, topic: bytes, body: bytes) -> Message | None:
        try:
            if topic.startswith(b"fruit/"):
                return self._verdict(read_verdict(body))
            if topic == b"alive":
                return self._alive(decode(body))
            return Status(decode(body)) if topic == b"status" else None
        except Exception as fault:  # whatever it is: nothing that comes may end a grader
            self.unreadable += 1
            return Unreadable(topic.decode(errors="replace"), repr(fault))

    def _verdict(self, verdict: Verdict) -> Verdict | None:
        if self._lane is not None and verdict.lane != self._lane:
            return None  # subscriptions go by their beginning: "fruit/3" gets lane 30, too
        self.count += 1
        missing = self._sequences.check(verdict.run, verdict.lane, verdict.sequence)
        self.lost += missing
        not_looked_for = self._classes.missing(verdict)
        if not missing and not not_looked_for:
            return verdict
        return dataclasses.replace(verdict, lost=missing, missing_classes=not_looked_for)

    def _alive(self, alive: dict[str, Any]) -> Alive:
        self.alive_ms = whole("alive_ms", alive["alive_ms"], 0, 2**31 - 1)
        lost = {}
        for entry in alive["lanes"]:
            lane, last = entry["lane"], entry["sequence"]  # None: no verdict yet
            if last is not None and (missing := self._sequences.check(alive["run"], lane, last, False)):
                lost[lane] = missing
                self.lost += missing
        return Alive(alive["run"], alive["state"], self.alive_ms, lost)

    def messages(self) -> Iterator[Message]:
        """All messages, without end; TimeoutError as in receive(), after which it may be called again."""
        while True:
            yield self.receive()

    def __iter__(self) -> Iterator[Verdict]:
        """The verdicts alone, without end."""
        return (message for message in self.messages() if isinstance(message, Verdict))

    def close(self) -> None:
        """Closes the connection; what has not been read is lost. May be called again; closes nothing in a forked child.

        With or without it the daemon counts the verdicts of the last 10 s before its grader left as possibly lost
        (verdict_possibly_lost): it cannot know which were read.
        """
        if not self._context.closed and self._process == os.getpid():
            self._context.destroy(0)

    def __reduce__(self) -> Any:
        raise TypeError("Verdicts cannot be sent to another process; open others there")

    def __enter__(self) -> Verdicts:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: types.TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cernita.Verdicts from {self.address}, {self.count} verdicts, {self.lost} lost>"


__all__ = ["Alive", "Silence", "Status", "Unreadable", "Verdicts"]
