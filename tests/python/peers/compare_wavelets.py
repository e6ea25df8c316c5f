"""cernita.wavelets against PyWavelets, on random pictures, sizes, modes and axes: compare_wavelets.py

Types and shapes must be equal, values within the rounding of both. CRN_SEED and CRN_CASES choose the cases; prints
those that differ.
"""
import numpy as np
import pywt as peer

import comparing
from cernita import wavelets as ours

TYPES = ("f4", "f4", "f4", "f2", "f8", "f8", "u1", "?", "u2", "i4", "i8", "c8", "c16")
MODES = peer.Modes.modes


def picture(rng, shape, kind):
    if kind == "?":
        return rng.random(shape) < .5
    if kind[0] in "ui":
        return rng.integers(0 if kind[0] == "u" else -1000, 256 if kind == "u1" else 1000, shape, kind)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if kind[0] == "c" else values).astype(kind)


def case(rng):
    kind, ndim = str(rng.choice(TYPES)), int(rng.choice([2, 2, 2, 3, 4]))
    shape = rng.integers(1, rng.choice([3, 9, 34]), ndim, endpoint=True)
    if ndim == 4:
        shape = np.minimum(shape, 7)
    if rng.random() < .3:
        shape = shape // 4 * 4 + 4
    axes = [int(axis) for axis in rng.permutation(ndim)[:2]]
    axes = tuple(axis - ndim if rng.random() < .3 else axis for axis in axes)
    if rng.random() < .5:
        axes = (-2, -1)
    mode = str(rng.choice(MODES))
    if rng.random() < .2:
        mode = (mode, str(rng.choice(MODES)))
    elif rng.random() < .2:
        mode = getattr(peer.Modes, mode)
    wavelet = [lambda: "haar", lambda: "db1", lambda: peer.Wavelet("haar"), lambda: ("haar", "db1")][rng.integers(4)]()
    return comparing.view(rng, picture(rng, shape, kind)), wavelet, mode, axes


def hangs(array, mode, axes, level):
    """PyWavelets 1.1 never returns from these modes for a single sample, nor from a level that has one."""
    shortest = min(array.shape[axis] for axis in axes)
    modes = mode if isinstance(mode, tuple) else [mode]
    names = [one if isinstance(one, str) else next(name for name in MODES if getattr(peer.Modes, name) == one)
             for one in modes]
    return any("reflect" in name for name in names) and level is not None and level > int(shortest).bit_length() - 1


def tolerance(values, single, levels):
    """Rounding of both sides, of values that grow twofold in each level."""
    scale = max((float(np.abs(array).max()) for array in flat(values) if array is not None), default=0)
    return 8 * max(levels, 1) * 2.**(-24 if single else -52) * scale + 1e-300


def flat(coeffs):
    """Arrays one after the other."""
    if coeffs is None or isinstance(coeffs, np.ndarray):
        return [coeffs]
    return [array for one in coeffs for array in flat(one)]


def differences(describe, result, wanted, bound):
    if isinstance(wanted, Exception) or isinstance(result, Exception):
        return comparing.difference(describe, result, wanted)
    result, wanted = flat(result), flat(wanted)
    if len(result) != len(wanted):
        return f"{describe}: {len(result)} arrays instead of {len(wanted)}"
    told = (comparing.difference(f"{describe}, array {i}", *both, bound) for i, both in enumerate(zip(result, wanted)))
    return next((one for one in told if one), None)


def without_some(rng, details):
    """Details, some of which are None."""
    return tuple(None if rng.random() < .1 else band for band in details)


def compare(rng):
    array, wavelet, mode, axes = case(rng)
    describe = f"{array.dtype} {array.shape}, {mode}, axes {axes}"
    single = array.dtype in (np.float16, np.float32, np.complex64)
    if rng.random() < .4:
        if hangs(array, mode, axes, 1):
            return None
        wanted = comparing.attempt(peer.dwt2, array, wavelet, mode, axes)
        result = comparing.attempt(ours.dwt2, array, wavelet, mode, axes)
        told = differences(f"dwt2 of {describe}", result, wanted, tolerance(wanted, single, 1))
        if told or isinstance(wanted, Exception):
            return told
        coeffs = (wanted[0] if rng.random() < .9 else None, without_some(rng, wanted[1]))
        return differences(f"idwt2 of {describe}", comparing.attempt(ours.idwt2, coeffs, wavelet, mode, axes),
                           comparing.attempt(peer.idwt2, coeffs, wavelet, mode, axes), tolerance(coeffs, single, 1))
    level = None if rng.random() < .4 else int(rng.integers(0, 7))
    if hangs(array, mode, axes, level):
        return None
    wanted = comparing.attempt(peer.wavedec2, array, wavelet, mode, level, axes)
    result = comparing.attempt(ours.wavedec2, array, wavelet, mode, level, axes)
    levels = len(wanted) - 1
    told = differences(f"wavedec2 of {describe}, level {level}", result, wanted, tolerance(wanted, single, levels))
    if told:
        return told
    coeffs = [wanted[0], *(without_some(rng, details) for details in wanted[1:])]
    return differences(f"waverec2 of {describe}, level {level}", comparing.attempt(ours.waverec2, coeffs, wavelet, mode,
                       axes), comparing.attempt(peer.waverec2, coeffs, wavelet, mode, axes),
                       tolerance(coeffs, single, levels))


comparing.run(compare, 2000)
