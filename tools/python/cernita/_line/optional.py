"""Packages that only parts of cernita need: imported when such a part is used."""
from __future__ import annotations

import importlib
import sys
from typing import Any

_DEBIAN = {"zmq": "python3-zmq", "msgpack": "python3-msgpack"}
_PYPI = {"zmq": "pyzmq", "msgpack": "msgpack"}


def need(module: str, user: str) -> Any:
    """The module, or an ImportError that says who needs it and how to install it.

    >>> need("json", "This example").loads("[1]")
    [1]
    """
    try:
        return importlib.import_module(module)
    except ImportError as fault:
        top = module.partition(".")[0]
        raise ImportError(
            f"{user} needs the module '{top}', which {sys.executable} has not ({fault}): install Debian's "
            f"{_DEBIAN.get(top, 'python3-' + top)} and use /usr/bin/python3, or pip install {_PYPI.get(top, top)}",
            name=top) from None
