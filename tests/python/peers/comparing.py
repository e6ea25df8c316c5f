"""What the comparisons of random cases with a peer share: CRN_CASES cases from CRN_SEED on, and what to say."""
import os
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")


def view(rng, array):
    """The same values, at times with other strides."""
    which = rng.choice(["same", "same", "padded", "reversed", "order"])
    if which == "padded":
        large = np.zeros([side + 3 for side in array.shape], array.dtype)
        inner = large[tuple(slice(1, side + 1) for side in array.shape)]
        inner[...] = array
        return inner
    if which == "reversed":
        return array[::-1].copy()[::-1]
    return np.asfortranarray(array) if which == "order" else array


def attempt(function, *arguments, **named):
    """The result, or the error that was raised."""
    try:
        return function(*arguments, **named)
    except Exception as fault:
        return fault


refused = []


def difference(describe, result, wanted, tolerance=0):
    """A line about how results differ; None if they are the same, or both are errors."""
    if isinstance(wanted, Exception) and isinstance(result, Exception):
        refused.append(describe)
        return None
    if isinstance(wanted, Exception) or isinstance(result, Exception):
        return f"{describe}: {str(result)[:300]} instead of {str(wanted)[:300]}"
    if result.dtype != wanted.dtype or result.shape != wanted.shape:
        return f"{describe}: {result.dtype} {result.shape} instead of {wanted.dtype} {wanted.shape}"
    fine = np.array_equal(result, wanted, equal_nan=wanted.dtype.kind in "fc") if not tolerance else \
        np.allclose(result, wanted, rtol=0, atol=tolerance)
    if fine:
        return None
    places = np.argwhere(~np.isclose(result, wanted, rtol=0, atol=tolerance, equal_nan=True))
    at = tuple(places[0])
    return f"{describe}: {len(places)} of {result.size} differ, at {at}: {result[at]!r} instead of {wanted[at]!r}"


def run(compare, cases):
    seed, cases = int(os.environ.get("CRN_SEED", 1)), int(os.environ.get("CRN_CASES", cases))
    found = []
    for number in range(seed, seed + cases):
        told = compare(np.random.default_rng(number))
        if told:
            found.append(f"CRN_SEED={number} CRN_CASES=1: {told}")
            print(found[-1])
            if len(found) == 5:
                break
    if len(refused) > cases // 4:
        print(f"{len(refused)} of {cases} cases were refused by both: {refused[-1]}")
        found.append("")
    if not found:
        print("all as the peer's")
    sys.exit(bool(found))
