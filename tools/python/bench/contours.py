#!/usr/bin/python3
"""Contours against their peers, in one run: contours.py [MAPS.npy]

MAPS.npy: a frame of class probabilities, H x W x C, float32; default: a synthetic one. Needs scikit-image, contourpy
and scipy. First the polylines are compared with scikit-image's, bit for bit; then both sides are timed alternately,
and the medians compared. Exit 1 if a result differs or a bar is missed.
"""
import os
import sys

# Before OpenMP is loaded: threads that wait busily would be timed as the peer's.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import tree
import packages
packages.need("numpy", "contourpy", "scipy", "skimage")

import numpy as np
from contourpy import LineType, contour_generator
from scipy.ndimage import gaussian_filter
from skimage.measure import find_contours

import cernita
from cases import same_polylines, time_alternately

rng = np.random.default_rng(7)


def noise(height, width, sigma=0):
    """Noise with its median at 0.5, smoothed as a picture without borders."""
    z = rng.random((height, width))
    if sigma:
        z = gaussian_filter(z, sigma, mode="wrap")
        z = 0.5 + (z - np.median(z)) / (8 * z.std())
    return z.astype("f4")


def synthetic_frame(height=95, width=511, classes=12):
    """Softmax of a few blobs on four of the classes: most of it uniform, as on a fruit."""
    y, x = np.mgrid[:height, :width]
    scores = rng.normal(0, .3, (height, width, classes))
    scores[:, :, 2] += 6
    for plane, blobs in ((0, 50), (1, 1), (8, 1), (10, 50)):
        for _ in range(blobs):
            cy, cx, r = rng.integers(height), rng.integers(width), rng.uniform(2, 7)
            scores[:, :, plane] += 9 * np.exp(-((y - cy)**2 + (x - cx)**2) / (2 * r * r))
    e = np.exp(scores)
    return (e / e.sum(axis=2, keepdims=True)).astype("f4")


def planes_of(z):
    return [z] if z.ndim == 2 else [z[:, :, c] for c in range(z.shape[2])]


def is_equal(z, threads):
    found = cernita.find_contours_many(z, 0.5, threads=threads)
    for plane, values in enumerate(planes_of(z)):
        if not same_polylines(found.polylines(plane), find_contours(values, 0.5)):
            return False
    return True


def our_call(z, threads):
    return lambda: cernita.find_contours_many(z, 0.5, threads=threads)


def one_import_call(z, threads):
    """What a program does of which one import was changed: a call for each plane."""
    del threads  # find_contours decides itself
    planes = planes_of(z)
    return lambda: [cernita.find_contours(plane, 0.5) for plane in planes]


def skimage_call(z):
    planes = planes_of(z)
    return lambda: [find_contours(plane, 0.5) for plane in planes]


def contourpy_call(z):
    return lambda: contour_generator(z=z, name="serial", line_type=LineType.Separate).lines(0.5)


def main():
    frame = np.load(sys.argv[1]) if len(sys.argv) > 1 else synthetic_frame()
    smooth, large = noise(2048, 2048, 6), noise(4096, 4096, 6)
    busy, busy_smooth = noise(95, 511), noise(95, 511, 2)
    name = "frame " + "x".join(map(str, frame.shape))
    planar = np.ascontiguousarray(frame.transpose(2, 0, 1)).transpose(1, 2, 0)
    rows = [(name, frame, "skimage", skimage_call, our_call, 1, 40, 15),
            ("a call for each class", frame, "skimage", skimage_call, one_import_call, 1, 3, 15),
            ("the same, planar", planar, "skimage", skimage_call, one_import_call, 1, 10, 15),
            ("noise 95x511", busy, "skimage", skimage_call, our_call, 1, 10, 15),
            ("smoothed noise 95x511", busy_smooth, "skimage", skimage_call, our_call, 1, 10, 15),
            ("smooth 2048x2048", smooth, "contourpy", contourpy_call, our_call, 1, 6, 9),
            ("smooth 2048x2048", smooth, "1 thread", lambda z: our_call(z, 1), our_call, 2, 1.7, 25),
            ("smooth 4096x4096", large, "1 thread", lambda z: our_call(z, 1), our_call, 2, 1.7, 11)]
    fine = True
    print(f"{'work':24}{'peer':12}{'peer ms':>10}{'ours ms':>10}{'threads':>9}{'ratio':>8}{'bar':>6}  met")
    for work, z, peer, make_peer, make_ours, threads, bar, repeat in rows:
        if z is not large and not is_equal(z, threads):
            fine = False
            print(f"{work:24}differs from scikit-image")
            continue
        theirs, ours = time_alternately(make_peer(z), make_ours(z, threads), repeat=repeat, each=7)
        met = theirs / ours >= bar
        fine = fine and met
        print(f"{work:24}{peer:12}{theirs:10.3f}{ours:10.3f}{threads:9}{theirs / ours:8.2f}{bar:6}  "
              f"{'yes' if met else 'NO'}", flush=True)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
