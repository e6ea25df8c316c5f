"""Keys of connections (CURVE), for a daemon whose line file has `access.keys`; systemd/ACCESS.md has the steps."""
from __future__ import annotations

import os
from typing import Any, Union

Path = Union[str, "os.PathLike[str]"]


def _read(name: Path) -> bytes:
    with open(name, encoding="ascii", errors="replace") as file:
        lines = [line.strip() for line in file]
    keys = [line.encode() for line in lines if len(line) == 40 and " " not in line and line.isascii()]
    if len(keys) != 1:
        raise ValueError(f"{os.fspath(name)}: a line with one key expected; cernita-keys makes such files")
    return keys[0]


def use_keys(socket: Any, key: Path | None, server_key: Path | None) -> None:
    """Makes a zmq.Socket prove who it is; before connect().

    key: file of this client's secret key; server_key: the line's server.pub, both as cernita-keys made them. None for
    both: the socket stays as it is. ValueError: one of the two is missing, or a file holds no key; OSError: a file
    cannot be read.
    """
    if not key and not server_key:
        return
    if not key or not server_key:
        raise ValueError("key, server_key: both files are needed: the client's key and the line's server.pub")
    import zmq
    secret, server = _read(key), _read(server_key)
    try:
        socket.curve_serverkey, socket.curve_secretkey = server, secret
        socket.curve_publickey = zmq.curve_public(secret)
    except zmq.ZMQError:
        raise ValueError(f"key, server_key: {os.fspath(key)} or {os.fspath(server_key)} holds 40 characters that are "
                         "no key; cernita-keys makes such files") from None
