#!/usr/bin/python3
"""Writes diamond_square.bin beside itself: rectangles of fields, computed here with numpy.

Two ways: level by level on arrays, and point by point from the definition of a point (for fields that no memory holds);
on small fields each must give what the other does. The random words are this file's own Philox4x32-10, held against
its authors' known answers. test_diamond_square_golden.c reads the file (its layout: read_case() there).
Run it only to add cases: the file is kept, so that the tests need no Python.
"""
import functools
import pathlib
import struct

import numpy as np

U8, F32 = 1, 3
EINVAL = -22
DIAMOND, SQUARE, CORNERS = range(3)
f4 = np.float32
cases = []


def philox(counter, key):
    """Four arrays of words for four arrays of counter words (they broadcast) and a key of 64 bits."""
    x = [np.asarray(word, "u8") for word in counter]
    low = np.uint64(0xFFFFFFFF)
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [(b >> np.uint64(32)) ^ x[1] ^ np.uint64(keys[0]), b & low,
             (a >> np.uint64(32)) ^ x[3] ^ np.uint64(keys[1]), a & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.broadcast_arrays(*x)


def check_philox():
    for counter, key, words in (
            ((0, 0, 0, 0), 0, (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)),
            ((0xffffffff,) * 4, 0xffffffffffffffff, (0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd)),
            ((0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), 0x299f31d0a4093822,
             (0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1))):
        assert tuple(int(word) for word in philox(counter, key)) == words


def amplitude(roughness, level):
    value = 128.0
    for _ in range(level):
        value *= roughness
    return f4(value)


def noise(seed, roughness, level, phase, rows, columns):
    """Of the points (j, i), j in rows and i in columns, as an array of f4."""
    i, j = np.asarray(columns, "u8"), np.asarray(rows, "u8")[:, None]
    words = np.stack(philox((i // np.uint64(4), j, np.uint64(level), np.uint64(phase)), seed))
    word = np.take_along_axis(words, np.broadcast_to(i % np.uint64(4), words.shape[1:]).astype("i8")[None], 0)[0]
    return amplitude(roughness, level) * (word.astype("u4").view("i4").astype("f4") * f4(2.0 ** -31))


def field(exponent, seed, roughness):
    """The whole field, level by level."""
    last = 1 << exponent
    v = np.zeros((last + 1, last + 1), "f4")
    v[::last, ::last] = f4(128) + noise(seed, roughness, 0, CORNERS, range(2), range(2))
    for level in range(exponent):
        n, step, half = 1 << level, last >> level, last >> level + 1
        g = v[::step, ::step]
        v[half::step, half::step] = ((((g[:-1, :-1] + g[:-1, 1:]) + g[1:, :-1]) + g[1:, 1:]) * f4(0.25)
                                     + noise(seed, roughness, level, DIAMOND, range(n), range(n)))
        d = v[half::step, half::step]
        third, h, w = f4(1) / f4(3), np.empty((n + 1, n), "f4"), np.empty((n, n + 1), "f4")
        h[1:-1] = (((d[:-1] + g[1:-1, :-1]) + g[1:-1, 1:]) + d[1:]) * f4(0.25)
        h[0] = ((g[0, :-1] + g[0, 1:]) + d[0]) * third
        h[-1] = ((d[-1] + g[-1, :-1]) + g[-1, 1:]) * third
        w[:, 1:-1] = (((g[:-1, 1:-1] + d[:, :-1]) + d[:, 1:]) + g[1:, 1:-1]) * f4(0.25)
        w[:, 0] = ((g[:-1, 0] + d[:, 0]) + g[1:, 0]) * third
        w[:, -1] = ((g[:-1, -1] + d[:, -1]) + g[1:, -1]) * third
        v[::step, half::step] = h + noise(seed, roughness, level, SQUARE, range(0, 2 * n + 1, 2), range(n))
        v[half::step, ::step] = w + noise(seed, roughness, level, SQUARE, range(1, 2 * n, 2), range(n + 1))
    return v


def points(exponent, seed, roughness, x, y, width, height):
    """A rectangle, every point from those it is the mean of."""
    side = (1 << exponent) + 1

    def one(level, phase, j, i):
        return noise(seed, roughness, level, phase, [j], [i])[0, 0]

    @functools.lru_cache(maxsize=None)
    def at(y, x):
        if y % (side - 1) == 0 and x % (side - 1) == 0:
            return f4(128) + one(0, CORNERS, y // (side - 1), x // (side - 1))
        half = min(v & -v for v in (y, x) if v)
        level = exponent - half.bit_length()
        if y & half and x & half:
            around = [(y - half, x - half), (y - half, x + half), (y + half, x - half), (y + half, x + half)]
            made = one(level, DIAMOND, y // half // 2, x // half // 2)
        else:
            around = [(y - half, x), (y, x - half), (y, x + half), (y + half, x)]
            made = one(level, SQUARE, y // half, x // half // 2)
        values = [at(*p) for p in around if 0 <= p[0] < side and 0 <= p[1] < side]
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total * (f4(0.25) if len(values) == 4 else f4(1) / f4(3)) + made

    return np.array([[at(y + j, x + i) for i in range(width)] for j in range(height)], "f4")


def add(exponent, seed, roughness, x=0, y=0, width=None, height=None, type=F32, result=0, side=None):
    side = side or (1 << exponent) + 1
    width, height = width or side - x, height or side - y
    values = b""
    if result == 0:
        v = points(exponent, seed, roughness, x, y, width, height) if exponent > 10 else \
            field(exponent, seed, roughness)[y:y + height, x:x + width]
        assert v.shape == (height, width) and np.isfinite(v).all()
        values = v.tobytes() if type == F32 else np.clip(np.rint(v), 0, 255).astype("u1").tobytes()
    cases.append(struct.pack("<7iQd", exponent, x, y, width, height, type, result, seed & (1 << 64) - 1, roughness)
                 + values)


check_philox()
for exponent, seed, roughness in ((1, 5, 0.5), (4, 1 << 40 | 9, 0.8), (5, 77, 0.0), (5, 3, 1.0)):
    side = (1 << exponent) + 1
    assert np.array_equal(field(exponent, seed, roughness), points(exponent, seed, roughness, 0, 0, side, side))

SEEDS = (0, 1, 0xFFFFFFFF, 1 << 32, 0x0123456789ABCDEF, (1 << 64) - 1)
for exponent in range(6):
    for k, roughness in enumerate((0.0, 0.5, 0.8, 1.0)):
        add(exponent, SEEDS[(exponent + k) % 6], roughness)
        add(exponent, SEEDS[(exponent + k + 3) % 6], roughness, type=U8)
add(6, 42, 0.5)
add(6, 42, 0.0)
add(7, 42, 1.0, type=U8)
add(8, 0x0123456789ABCDEF, 0.5, type=U8)
for roughness in (0.5, 1.0):
    for x, y, width, height in ((0, 0, 1, 1), (1024, 1024, 1, 1), (511, 0, 40, 9), (1000, 17, 25, 33), (0, 500, 3, 60),
                                (333, 1023, 64, 2), (700, 700, 65, 7)):
        add(10, 0xFEDCBA9876543210, roughness, x, y, width, height)
        add(10, 0xFEDCBA9876543210, roughness, x, y, width, height, type=U8)
LAST = 1 << 20
for seed in (1, 0xABCDEF0123456789):
    for x, y, width, height in ((0, 0, 4, 4), (LAST - 2, LAST - 3, 3, 4), (LAST // 2 - 3, 1234, 7, 3), (0, 777777, 2, 5),
                                (654321, LAST, 6, 1), (99999, 0, 5, 2), (LAST, 31, 1, 2)):
        add(20, seed, 0.8, x, y, width, height)
        add(20, seed, 0.99, x, y, width, height, type=U8)
add(16, 31, 0.003, 32767, 32765, 9, 5)  # amplitudes down to 2^-118
for roughness in (-0.1, 1.5, float("nan"), float("inf")):
    add(3, 1, roughness, result=EINVAL)
add(-1, 1, 0.5, width=1, height=1, result=EINVAL, side=2)
add(21, 1, 0.5, width=1, height=1, result=EINVAL)
for x, y, width, height in ((-1, 0, 2, 2), (0, -1, 2, 2), (8, 0, 2, 1), (0, 8, 1, 2), (9, 0, 1, 1), (0, 9, 1, 1),
                            (2147483647, 0, 9, 1), (0, 2147483647, 1, 9), (0, 0, 10, 9), (0, 0, 9, 10)):
    add(3, 1, 0.5, x, y, width, height, result=EINVAL)

path = pathlib.Path(__file__).with_name("diamond_square.bin")
path.write_bytes(b"CRND" + struct.pack("<I", len(cases)) + b"".join(cases))
print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes")
