"""How a socket connects to a line: the family of its address, and its keys."""
from __future__ import annotations

import socket as system
from typing import Any

from .keys import Path, use_keys

_RECONNECT_MS = 50  # to 100, however long the daemon was away: the belt runs when it returns
_ATTEMPT_MS = 1000  # by the system's default two minutes, in which a host without power that returns is not seen
_LISTENS_WAIT_S = 0.25  # for a network that drops what is sent by IPv6: such a name then stands for IPv4


def _listens(family: int, address: Any) -> bool:
    with system.socket(family, system.SOCK_STREAM) as probe:
        probe.settimeout(_LISTENS_WAIT_S)
        return probe.connect_ex(address) == 0


def _is_ipv6(address: str) -> bool:
    """libzmq takes one family for a socket, IPv4 if it is not told."""
    if not isinstance(address, str) or not address.startswith("tcp://"):
        return False
    host, _, port = address[len("tcp://"):].rpartition(";")[2].rpartition(":")
    if host.startswith("["):
        return True
    try:
        found = system.getaddrinfo(host, port, type=system.SOCK_STREAM)
    except (OSError, UnicodeError):  # libzmq asks again, whenever it connects
        return False
    six = [one for one in found if one[0] == system.AF_INET6]
    return len(six) == len(found) or any(_listens(one[0], one[4]) for one in six)


def _has_wrong_port(address: str) -> bool:
    """tcp://HOST:PORT whose PORT libzmq would read in part, or modulo 65536."""
    if not isinstance(address, str) or not address.startswith("tcp://"):
        return False
    _, colon, port = address[len("tcp://"):].rpartition(":")
    if not colon or "]" in port:  # none: libzmq says so
        return False
    return not (port.isascii() and port.isdigit()) or int(port) > 65535


def connect(socket: Any, argument: str, address: str, key: Path | None, server_key: Path | None) -> None:
    """Connects a zmq.Socket to a daemon, now or whenever one is there, by IPv4 or IPv6, with these keys.

    A name that has addresses of both kinds stands for IPv6 if something listens there now, else for IPv4. argument:
    how the caller calls the address. ValueError: the address, which the text names; as use_keys() for the keys.
    """
    import zmq
    socket.reconnect_ivl, socket.connect_timeout = _RECONNECT_MS, _ATTEMPT_MS
    use_keys(socket, key, server_key)
    if _has_wrong_port(address):
        raise ValueError(f"{argument} must have a port from 1 to 65535, not {address!r}")
    socket.ipv6 = _is_ipv6(address)
    try:
        socket.connect(address)
    except (zmq.ZMQError, TypeError) as fault:
        raise ValueError(f"{argument} must be tcp://HOST:PORT, tcp://[IPV6]:PORT or ipc://PATH, not {address!r} "
                         f"({fault})") from None
