"""What the name of a row says, as `cernita-bench gpu` and these benchmarks print it, and its times."""
import functools
import re
import time

import numpy as np


@functools.lru_cache(maxsize=2)
def _random(kind, shape):
    rng = np.random.default_rng(7)
    return rng.integers(0, 256, shape, "u1") if kind == "u8" else rng.random(shape, "f4")


def picture(row):
    """White noise of the type and size in the name: "opening u8 RGB 1920x2560, rect 3"."""
    kind, rgb, height, width = re.search(r"(u8|f32) (RGB )?(\d+)x(\d+)", row).groups()
    return _random(kind, (int(height), int(width)) + ((3,) if rgb else ()))


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def time_alternately(theirs, ours, budget_s=6):
    """Medians in ms, of at most so many seconds."""
    theirs(), ours()
    once = seconds(theirs) + 3 * seconds(ours)
    repeat = int(min(41, max(3, budget_s / once)))
    peers, mine = [], []
    for _ in range(repeat):
        peers.append(seconds(theirs))
        mine += [seconds(ours) for _ in range(3)]
    return np.median(peers) * 1e3, np.median(mine) * 1e3
