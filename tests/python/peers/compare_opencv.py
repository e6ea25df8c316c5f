"""cernita.opencv against OpenCV, on random pictures, kernels and borders: compare_opencv.py

Morphology must be equal; filter2D within the error of sums in float32, on both sides. CRN_SEED and CRN_CASES choose the
cases; prints those that differ.
"""
import cv2 as peer
import numpy as np

import comparing
from cernita import opencv as ours

BORDERS = (peer.BORDER_CONSTANT, peer.BORDER_REPLICATE, peer.BORDER_REFLECT, peer.BORDER_REFLECT_101)
TYPES = ("u1", "u1", "f4", "f4", "u2", "i2", "f8")
DEPTHS = {"u1": (-1, 0, 2, 3, 5), "u2": (-1, 2, 5), "i2": (-1, 3, 5), "f4": (-1, 5)}


def picture(rng, kind):
    shape = tuple(rng.integers(1, rng.choice([4, 12, 40]), 2, endpoint=True))
    if rng.random() < .4:
        shape += (int(rng.integers(1, 4, endpoint=True)),)
    if kind[0] == "f":
        array = rng.standard_normal(shape).astype("f4").astype(kind)
    else:
        limits = np.iinfo(kind)
        array = rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
    return comparing.view(rng, array)


def element(rng):
    sides = tuple(int(side) for side in rng.integers(1, rng.choice([3, 6, 12]), 2, endpoint=True))
    shape = rng.choice(["rect", "ellipse", "cross", "random", "full", "none", "column"])
    if shape in ("rect", "ellipse", "cross"):
        return peer.getStructuringElement({"rect": 0, "cross": 1, "ellipse": 2}[shape], sides)
    if shape in ("none", "column"):
        return None if shape == "none" else np.ones(sides[0], "u1")
    members = (rng.random(sides) < (.6 if shape == "random" else 2)).astype("u1")
    members.flat[rng.integers(members.size)] = 1
    return members


def anchor(rng, shape):
    if rng.random() < .7:
        return (-1, -1)
    return tuple(int(rng.integers(-1, side)) for side in shape[::-1])


def border_value(rng, array, arguments):
    """OpenCV's own choice mostly."""
    if rng.random() < .3 and arguments["borderType"] == peer.BORDER_CONSTANT:
        single = array.ndim == 2 or array.shape[2] == 1
        arguments["borderValue"] = int(rng.choice([0, 7, 100, 300])) if single else (1., 2., 3., 250.)


def destination(rng, array, arguments):
    """None, an array, or, for us and the peer, one of their own each."""
    if rng.random() < .7:
        return {}, {}
    shape = array.shape[:2] if array.ndim == 2 or array.shape[2] == 1 else array.shape
    return {"dst": np.zeros(shape, array.dtype)}, {"dst": np.zeros(shape, array.dtype)}


def compare_morphology(rng):
    kind = str(rng.choice(TYPES))
    array, kernel, op = picture(rng, kind), element(rng), int(rng.integers(7))
    arguments = {"anchor": (-1, -1) if kernel is None else
                 anchor(rng, kernel.shape if kernel.ndim == 2 else (len(kernel), 1)),
                 "iterations": int(rng.choice([0, 1, 1, 1, 2, 3])), "borderType": int(rng.choice(BORDERS))}
    if rng.random() < .4:
        arguments["borderType"] = peer.BORDER_CONSTANT
    border_value(rng, array, arguments)
    theirs, mine = destination(rng, array, arguments)
    describe = f"morphologyEx {op} of {kind} {array.shape}, {kernel}, {arguments}"
    members = None if kernel is None else kernel.astype("u1")
    if kind == "f8" and members is not None and members.ndim == 2:
        members[...] = 1  # where no member lies on the picture ours gives an infinite value, OpenCV the largest one
    if op < 2 and rng.random() < .5:
        name = ("erode", "dilate")[op]
        return comparing.difference(
            describe, comparing.attempt(getattr(ours, name), array, members, **mine, **arguments),
            comparing.attempt(getattr(peer, name), array, members, **theirs, **arguments))
    return comparing.difference(describe, comparing.attempt(ours.morphologyEx, array, op, members, **mine, **arguments),
                                comparing.attempt(peer.morphologyEx, array, op, members, **theirs, **arguments))


def compare_filter(rng):
    kind = str(rng.choice(list(DEPTHS)))
    array, depth = picture(rng, kind), int(rng.choice(DEPTHS[kind]))
    sides = tuple(int(side) for side in rng.integers(1, rng.choice([4, 8, 13]), 2, endpoint=True))
    kernel = rng.integers(-4, 5, sides).astype("f4") if rng.random() < .4 else rng.standard_normal(sides).astype("f4")
    arguments = {"anchor": anchor(rng, sides), "borderType": int(rng.choice(BORDERS)),
                 "delta": float(rng.choice([0, 0, 3, -17.5]))}
    describe = f"filter2D of {kind} {array.shape} to {depth}, {sides}, {arguments}"
    wanted = comparing.attempt(peer.filter2D, array, depth, kernel, **arguments)
    result = comparing.attempt(ours.filter2D, array, depth, kernel, **arguments)
    scale = float(np.abs(kernel).sum()) * float(np.abs(array.astype("f8")).max()) + abs(arguments["delta"])
    # Both sides' error; the peer's transforms by DFT, whose error grows with the whole block's values.
    tolerance = 2 * (2 * kernel.size + 8) * 2.**-24 * scale + 1e-30
    if isinstance(wanted, np.ndarray) and wanted.dtype.kind in "iu":
        # Sums of whole numbers and halves up to 2^23 are exact on both sides, but for DFT; others may round either way.
        taps = 130 if kind == "u1" and depth in (-1, 0, 3) else 50  # from there on OpenCV transforms
        exact = (kernel == np.rint(kernel)).all() and scale < 1 << 23 and kernel.size < taps
        tolerance = 0 if exact else 1 + tolerance
    return comparing.difference(describe, result, wanted, tolerance)


def compare_element(rng):
    sides = tuple(int(side) for side in rng.integers(1, 64, 2))
    arguments = (int(rng.integers(3)), sides, anchor(rng, sides[::-1]))
    return comparing.difference(f"getStructuringElement{arguments}", comparing.attempt(ours.getStructuringElement,
                                *arguments), comparing.attempt(peer.getStructuringElement, *arguments))


def compare(rng):
    return rng.choice([compare_element, compare_morphology, compare_filter], p=[.1, .5, .4])(rng)


comparing.run(compare, 3000)
