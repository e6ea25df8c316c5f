#!/usr/bin/python3
"""Five operators against their peers, in one run: bench_operators.py [NAME…]

Morphology and convolution against OpenCV, Haar against PyWavelets, ranklets against the histogram algorithm (IDC,
built with the benchmarks), diamond-square against numpy. NAME: only rows whose work begins so. Results are compared
first; then both sides are timed in turns, one thread each, and the medians compared; then two threads against one on
what is larger than the second-level cache. Exit 1 if a result differs or a bar is missed. Contours have their own:
bench_contours.py.
"""
import ctypes
import os
import pathlib
import sys
import time

# Before OpenMP is loaded: threads that wait busily would be timed as the peer's.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import packages
packages.need("cv2", "numpy", "pywt")

import cv2
import numpy as np
import pywt

import cernita
from peer_diamond_square import diamond_square as numpy_diamond_square

cv2.setNumThreads(1)
rng = np.random.default_rng(7)

_peers = ctypes.CDLL(str(pathlib.Path(__file__).resolve().parents[2] / "build" / "lib" / "libcernita_peers.so"))


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def in_turns(theirs, ours, budget_s=6):
    """Medians in ms, of at most so many seconds."""
    theirs(), ours()
    once = seconds(theirs) + 3 * seconds(ours)
    repeat = int(min(41, max(3, budget_s / once)))
    peers, mine = [], []
    for _ in range(repeat):
        peers.append(seconds(theirs))
        mine += [seconds(ours) for _ in range(3)]
    return np.median(peers) * 1e3, np.median(mine) * 1e3


# Each row: what, bar (ours may take so many times the peer's time), larger than the cache?, and a function that
# gives the peer's call, one that prepares ours, and a check of their results.

def opening(picture, shape, size, same):
    ellipse = shape == "disk"
    element = cv2.getStructuringElement(cv2.MORPH_ELLIPSE if ellipse else cv2.MORPH_RECT, (size, size))
    out = np.empty_like(picture)

    def check():
        if same:  # the same element, not OpenCV's ellipse, which differs at its tips
            members = cernita_disk(size) if ellipse else np.ones((size, size), "u1")
            wanted = cv2.morphologyEx(picture, cv2.MORPH_OPEN, members)
            return np.array_equal(cernita.morphology(picture, "open", shape, size), wanted)
        return True
    return (lambda: cv2.morphologyEx(picture, cv2.MORPH_OPEN, element),
            lambda how: cernita.morphology(picture, "open", shape, size, out=out, **how), check)


def cernita_disk(size):
    r = np.arange(size) * 2 - (size - 1)
    return ((r[:, None]**2 + r[None]**2) <= (size - 1)**2).astype("u1")


def filtering(picture, size):
    kernel = (rng.standard_normal((size, size)) / size).astype("f4")
    out = np.empty_like(picture)

    def check():
        ours = cernita.convolve(picture, kernel, border="reflect").astype(int)
        return np.abs(ours - cv2.filter2D(picture, -1, kernel)).max() <= 1
    return (lambda: cv2.filter2D(picture, -1, kernel),
            lambda how: cernita.convolve(picture, kernel, border="reflect", out=out, **how), check)


def transform(picture, levels, inverse):
    coefficients = pywt.wavedec2(picture, "haar", level=levels)
    ours = cernita.haar(picture, levels)
    out = np.empty_like(ours)

    def check():
        wanted = pywt.coeffs_to_array(coefficients)[0]
        h, w = (n // 2**levels for n in picture.shape)
        back = cernita.haar(ours, levels, direction="inverse")
        return np.allclose(ours[:h, :w], wanted[:h, :w], atol=1e-4) and np.allclose(back, picture, atol=1e-5)
    if inverse:
        return (lambda: pywt.waverec2(coefficients, "haar"),
                lambda how: cernita.haar(ours, levels, direction="inverse", out=out, **how), check)
    return (lambda: pywt.wavedec2(picture, "haar", level=levels),
            lambda how: cernita.haar(picture, levels, out=out, **how), check)


def ranklets(picture, windows):
    outs = [np.empty((3, picture.shape[0] - n + 1, picture.shape[1] - n + 1), "f4") for n in windows]

    def idc():
        source = cernita.image(picture)
        for n, out in zip(windows, outs):
            target = cernita.image(out, "chw")
            _peers.crn_bench_idc(ctypes.byref(source), n, n, ctypes.byref(target))

    def ours(how):
        calls = [cernita.ranklet(picture, n, out=out, **how) for n, out in zip(windows, outs)]
        return lambda: [call() for call in calls]

    def check():
        idc()
        wanted = [out.copy() for out in outs]
        ours({"prepare": True})()
        return all(np.array_equal(a, b) for a, b in zip(outs, wanted))
    return idc, ours, check


def field(exponent):
    side = 2**exponent + 1
    out = np.empty((side, side), "u1")
    return (lambda: numpy_diamond_square(exponent, 1, 0.5),
            lambda how: cernita.diamond_square(exponent, 1, out=out, **how),
            lambda: np.array_equal(cernita.diamond_square(8, 1), cernita.diamond_square(8, 1, backend="serial")))


def rows():
    photo = rng.integers(0, 256, (1920, 2560, 3), "u1")
    uhd = rng.integers(0, 256, (2160, 3840, 3), "u1")
    maps, scaled = rng.random((95, 511), "f4"), rng.random((1800, 2880), "f4")
    grey, frame = rng.integers(0, 256, (1024, 1024), "u1"), rng.integers(0, 256, (95, 511), "u1")
    for size, bar in (3, 1.0), (11, .6), (21, .5):
        yield f"opening u8 RGB 1920x2560, rect {size}", bar, True, lambda: opening(photo, "rect", size, True)
    for size, bar in (11, .4), (21, .2):
        yield f"opening u8 RGB 1920x2560, disk {size}", bar, True, lambda: opening(photo, "disk", size, True)
    yield "opening f32 95x511, disk 5", .5, False, lambda: opening(maps, "disk", 5, True)
    for size, bar in (3, 1.0), (7, .7), (15, .35):
        yield f"convolve u8 RGB 2160x3840, dense {size}", bar, True, lambda: filtering(uhd, size)
    for name, inverse in ("forward", False), ("inverse", True):
        yield f"haar f32 1800x2880, 3 levels {name}", .1, True, lambda: transform(scaled, 3, inverse)
    pyramid = [2**i for i in range(1, 11)]
    yield "ranklet u8 1024x1024, pyramid", 1 / 8, True, lambda: ranklets(grey, pyramid)
    yield "ranklet u8 95x511, windows 4, 8, 16", 1 / 20, False, lambda: ranklets(frame, [4, 8, 16])
    yield "diamond_square u8 8193x8193", .25, True, lambda: field(13)


def tell_memory():
    """What two threads gain where there is nothing to do but to copy: the bound of all that is cheap per byte."""
    picture = rng.random((1800, 2880), "f4")
    out = np.empty_like(picture)
    one, two = (cernita.haar(picture, 0, out=out, context=cernita.Context(n), prepare=True) for n in (1, 2))
    single, double = in_turns(one, two)
    print(f"a copy of f32 1800x2880: {single:.3f} ms, {double:.3f} with two threads, S(2) {single / double:.2f}")


def main():
    only, fine = tuple(sys.argv[1:]), True
    works = [row[0] for row in rows()]
    for name in only:
        if not any(work.startswith(name) for work in works):
            sys.exit(f"bench_operators.py: no work begins with '{name}'; there are: {'; '.join(works)}")
    print(f"{'work':42}{'peer ms':>10}{'ours ms':>10}{'ratio':>8}{'bar':>7}  met   {'2 threads':>9}{'S(2)':>6}  met")
    for work, bar, large, make in rows():
        if only and not work.startswith(only):
            continue
        peer, call, check = make()
        if not check():
            fine = False
            print(f"{work:42}differs from the peer")
            continue
        one, two = ({"context": cernita.Context(threads), "prepare": True} for threads in (1, 2))
        theirs, ours = in_turns(peer, call(one))
        met = ours <= bar * theirs
        fine = fine and met
        line = f"{work:42}{theirs:10.3f}{ours:10.3f}{ours / theirs:8.3f}{bar:7.3f}  {'yes' if met else 'NO':6}"
        if large:
            single, double = in_turns(call(one), call(two))
            fine = fine and single >= 1.7 * double
            line += f"{double:9.3f}{single / double:6.2f}  {'yes' if single >= 1.7 * double else 'NO'}"
        print(line, flush=True)
    tell_memory()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
