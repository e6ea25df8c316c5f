"""The pages of a BigTIFF in memory, as recordings have them: little-endian, a single uncompressed strip each.

Nothing in a file is trusted: every offset is checked against the file's end. A general TIFF library would read the
directories of all pages, of which a recording of 2 GiB has some ten thousand, before the first pixel.
"""
from __future__ import annotations

import mmap
import struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT, BITS, COMPRESSION, DESCRIPTION, OFFSETS = 256, 257, 258, 259, 270, 273
SAMPLES, BYTE_COUNTS, TILE_WIDTH, FORMAT = 277, 279, 322, 339

_START = b"II\x2b\x00\x08\x00\x00\x00"
_ENTRY = struct.Struct("<HHQ8s")
_INTEGERS = {3: "<H", 4: "<I", 16: "<Q"}  # SHORT, LONG, LONG8
_ENTRIES_MAX = 256
_ASCII, _ASCII_MAX = 2, 65536
_DEFAULTS = {BITS: 1, COMPRESSION: 1, SAMPLES: 1, FORMAT: 1}


class PastEnd(Exception):
    """The file ends before what is read: a writer was killed, or the file was truncated."""


class Fault(Exception):
    """The page is not as a recording has it; the text says what is wrong."""


class Page(NamedTuple):
    """A page's directory."""
    tags: dict[int, int]
    description: str
    next: int  # offset of the next page's directory, 0 at the end
    end: int   # of the bytes that it takes, its pixels included

    def tag(self, number: int) -> int:
        value = self.tags.get(number, _DEFAULTS.get(number))
        if value is None:
            raise Fault(f"has no tag {number}")
        return value


def bytes_at(data: mmap.mmap, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise PastEnd
    return data[offset:offset + size]


def first_page(data: mmap.mmap) -> int:
    """Offset of the first directory, 0 if the file has no page; Fault if it is not a BigTIFF file."""
    if len(data) < 16 or data[:8] != _START:
        raise Fault("is not a recording: not a little-endian BigTIFF")
    return int.from_bytes(data[8:16], "little")


def _read_text(data: mmap.mmap, count: int, value: bytes) -> str:
    if count > _ASCII_MAX:
        raise Fault("its ImageDescription is too long for a view's")
    text = value[:count] if count <= 8 else bytes_at(data, int.from_bytes(value, "little"), count)
    return text.split(b"\0")[0].decode("utf-8", "replace")


def read_page(data: mmap.mmap, offset: int) -> Page:
    """The directory at that offset; PastEnd or Fault."""
    count = int.from_bytes(bytes_at(data, offset, 8), "little")
    if count > _ENTRIES_MAX:
        raise Fault(f"its directory has {count} entries")
    entries = bytes_at(data, offset + 8, count * _ENTRY.size + 8)
    tags, description, end = {}, "", offset + 8 + len(entries)
    for number, kind, values, value in _ENTRY.iter_unpack(entries[:-8]):
        if kind in _INTEGERS and values == 1:
            tags[number] = struct.unpack_from(_INTEGERS[kind], value)[0]
        elif number == DESCRIPTION and kind == _ASCII:
            description = _read_text(data, values, value)
            end = max(end, int.from_bytes(value, "little") + values if values > 8 else 0)
        elif number in (OFFSETS, BYTE_COUNTS):
            raise Fault(f"has {values} strips; a recording's has one")
    end = max(end, tags.get(OFFSETS, 0) + tags.get(BYTE_COUNTS, 0))
    return Page(tags, description, int.from_bytes(entries[-8:], "little"), end)


def pixels(data: mmap.mmap, page: Page, height: int, width: int,
           dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """[height, width] over the file's memory, read-only, aligned or not. Fault if the page is of another shape or
    type, PastEnd if it is not whole."""
    if TILE_WIDTH in page.tags or page.tag(COMPRESSION) != 1:
        raise Fault("is tiled or compressed; recordings are neither")
    if (page.tag(WIDTH), page.tag(HEIGHT)) != (width, height):
        raise Fault(f"is {page.tag(WIDTH)} x {page.tag(HEIGHT)} where its view says {width} x {height}")
    found = page.tag(BITS), page.tag(FORMAT), page.tag(SAMPLES)
    wanted = 8 * dtype.itemsize, 3 if dtype.kind == "f" else 1, 1
    if found != wanted:
        raise Fault(f"has {found[0]} bits in sample format {found[1]} where its view says {wanted[0]} in {wanted[1]}, "
                    "one sample a pixel")
    size = height * width * dtype.itemsize
    if page.tag(BYTE_COUNTS) != size:
        raise Fault(f"has {page.tag(BYTE_COUNTS)} bytes of pixels, not {size}")
    offset = page.tag(OFFSETS)
    if offset + size > len(data):
        raise PastEnd
    return np.frombuffer(data, dtype, height * width, offset).reshape(height, width)
