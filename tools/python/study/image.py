"""tools/study --image: every operator on the user's own picture, by backend and threads."""
import numpy as np

import internals

import cernita
from experiments import by_device, by_threads
from report import curves, median_ms, show

PLANES_MAX = 64


def load(path):
    """The picture, with its values as the operators take them."""
    picture = cernita.read_picture(path)
    if picture.ndim == 3 and picture.shape[2] > PLANES_MAX:
        raise SystemExit(f"tools/study: {path}: has {picture.shape[2]} planes; the first {PLANES_MAX} are the most that "
                         "one picture may have here")
    return picture


def works_on(picture):
    """{name: call(threads, backend)}; the picture is what all of them read but diamond-square, which has its size."""
    plain = picture if picture.dtype in (np.uint8, np.float32) else picture.astype("f4")
    level = float(plain.min()) / 2 + float(plain.max()) / 2
    if not np.isfinite(level):
        raise SystemExit("tools/study: the picture has values that are not finite: contours have no middle level")
    kernel = cernita.named_kernel("gaussian", 5)
    height, width = picture.shape[:2]
    levels = min(3, int(np.ceil(np.log2(max(height, width, 2)))))
    works = {
        f"contours at {level:.6g}": lambda p, b="openmp": cernita.find_contours_many(plain, level, border="closed",
                                                                                   backend=b, threads=p),
        "opening, disk 9": lambda p, b="openmp": cernita.morphology(plain, "open", "disk", 9, backend=b, threads=p),
        "convolution, gaussian 5": lambda p, b="openmp": cernita.convolve(plain, kernel, backend=b, threads=p),
        f"Haar, {levels} levels": lambda p, b="openmp": cernita.haar(plain, levels, backend=b, threads=p),
    }
    grey = np.ascontiguousarray(picture if picture.ndim == 2 else picture[..., 0])
    if grey.dtype in (np.uint8, np.uint16) and min(height, width) >= 8:
        works["ranklet, window 8, first plane"] = lambda p, b="openmp": cernita.ranklet(grey, 8, backend=b, threads=p)
    exponent = int(np.clip(np.round(np.log2(max(height, width))), 1, 13))
    works[f"diamond-square {2**exponent + 1}²"] = lambda p, b="openmp": cernita.diamond_square(exponent, 1, backend=b,
                                                                                             threads=p)
    return works


def study_image(report, path):
    picture = load(path)
    planes = picture.shape[2] if picture.ndim == 3 else 1
    rows, panels = [], []
    for name, call in works_on(picture).items():
        serial = median_ms(lambda: call(1, "serial"))
        times = by_threads(call)
        rows.append((name, "serial", show(serial), "", "", "1"))
        for threads, ms in times.items():
            speedup = times[1] / ms
            rows.append((name, threads, show(ms), f"{speedup:.2f}", f"{speedup / threads:.2f}", f"{serial / ms:.1f}"))
        device = by_device(call)
        if device:
            rows.append((name, "cuda", show(device[0]), f"{times[1] / device[0]:.2f}", "", f"{serial / device[0]:.1f}"))
            rows.append((name, "cuda, kernels", show(device[1]), f"{times[1] / device[1]:.2f}", "",
                         f"{serial / device[1]:.1f}"))
        panels.append(curves(name, "threads p", "S(p)", {"ideal": ([1, max(times)], [1, max(times)]),
                                                        "S(p)": (list(times), [times[1] / ms for ms in times.values()])},
                             log=False))
    report.table(f"{path}: {picture.shape[1]} × {picture.shape[0]}, {planes} planes, {picture.dtype}",
                 ("work", "p", "ms", "S(p)", "E(p)", "over serial"), rows,
                 "S(p): over openmp on one thread, E(p): over p. cuda: with transfers from and to pageable memory.")
    report.figure("image", panels)
