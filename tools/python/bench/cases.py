"""The named cases of `cernita-bench list`, their pictures, and how a peer's times and results are compared."""
import functools
import json
import subprocess
import types

import numpy as np

import tree
from timing import seconds

BENCH = tree.ROOT / "build/bin/cernita-bench"


@functools.lru_cache
def _cases():
    told = subprocess.run([BENCH, "list", "--json"], check=True, capture_output=True, text=True).stdout
    return {case["name"]: types.SimpleNamespace(**case) for case in map(json.loads, told.splitlines())}


def case(name):
    """Operator, picture and parameters of a case, as `cernita-bench list --json` prints them."""
    return _cases()[name]


@functools.lru_cache(maxsize=2)
def _random(kind, shape):
    rng = np.random.default_rng(7)
    return rng.integers(0, 256, shape, "u1") if kind == "u8" else rng.random(shape, "f4")


def picture(of):
    """White noise of a case's type and size, planes interleaved."""
    return _random(of.type, (of.height, of.width) + ((of.planes,) if of.planes > 1 else ()))


def disk(side):
    """The members of the operators' disk, which is not OpenCV's ellipse."""
    r = np.arange(side) * 2 - (side - 1)
    return (r[:, None]**2 + r[None]**2 <= (side - 1)**2).astype("u1")


def same_polylines(ours, theirs):
    return len(ours) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(ours, theirs))


def time_alternately(theirs, ours, budget_s=6, repeat=None, each=3):
    """Medians in ms: of `repeat` rounds, or of as many as take at most so many seconds. Ours runs `each` times after
    each run of the peer, which has replaced the caches' content."""
    theirs(), ours()
    repeat = repeat or int(min(41, max(3, budget_s / (seconds(theirs) + each * seconds(ours)))))
    peers, mine = [], []
    for _ in range(repeat):
        peers.append(seconds(theirs))
        mine += [seconds(ours) for _ in range(each)]
    return np.median(peers) * 1e3, np.median(mine) * 1e3
