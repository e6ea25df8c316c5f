#!/usr/bin/python3
"""Diamond-square as plain good numpy: level by level on slices, the noise of a phase drawn at once.

What crn_diamond_square is measured against. The same arithmetic on f32 arrays; the words are those of
numpy.random.Philox (4x64), drawn in order, so the fields are other fields of the same kind.

    peer_diamond_square.py [--exponent 13] [--repeat 3]      prints the fastest run of field() and of diamond_square()
"""
import argparse

import tree
import packages
packages.need("numpy")

import numpy as np

from timing import times_ms


def field(exponent, seed, roughness=0.5):
    """The field of side 2^exponent + 1, f32."""
    random = np.random.Generator(np.random.Philox(seed))
    side = (1 << exponent) + 1
    v = np.empty((side, side), "f4")

    def noise(amplitude, *shape):
        drawn = random.random(shape, "f4")
        drawn *= np.float32(2 * amplitude)
        drawn -= np.float32(amplitude)
        return drawn

    last = side - 1
    v[::last, ::last] = noise(128, 2, 2) + np.float32(128)
    quarter, third = np.float32(0.25), np.float32(1 / 3)
    amplitude = 128.0
    for level in range(exponent):
        n, step, half = 1 << level, last >> level, last >> level + 1
        g = v[::step, ::step]
        d = g[:-1, :-1] + g[:-1, 1:]
        d += g[1:, :-1]
        d += g[1:, 1:]
        d *= quarter
        d += noise(amplitude, n, n)
        v[half::step, half::step] = d
        h = g[:, :-1] + g[:, 1:]  # between neighbours of a row
        h[1:] += d
        h[:-1] += d
        h[1:-1] *= quarter
        h[::n] *= third
        h += noise(amplitude, n + 1, n)
        v[::step, half::step] = h
        w = g[:-1] + g[1:]  # between neighbours of a column
        w[:, 1:] += d
        w[:, :-1] += d
        w[:, 1:-1] *= quarter
        w[:, ::n] *= third
        w += noise(amplitude, n, n + 1)
        v[half::step, ::step] = w
        amplitude *= roughness
    return v


def diamond_square(exponent, seed, roughness=0.5):
    """The same as u8, rounded half to even and saturated."""
    v = field(exponent, seed, roughness)
    np.rint(v, out=v)
    np.clip(v, 0, 255, out=v)
    return v.astype("u1")


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False, description=__doc__.splitlines()[0])
    parser.add_argument("--exponent", type=int, default=13)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    for make in (field, diamond_square):
        times = times_ms(lambda: make(options.exponent, 42), options.repeat, options.repeat, warm_up=0)
        print(f"{make.__name__} {(1 << options.exponent) + 1}^2: {min(times):.1f} ms")


if __name__ == "__main__":
    main()
