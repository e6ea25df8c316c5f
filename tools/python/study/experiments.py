"""The experiments of tools/study: each measures, prints its tables and draws its plots into a Report."""
import errno
import json
import pathlib
import subprocess

import numpy as np

import internals

import cernita
import gpu
import sources
from kept import kept
from report import bars, budget_s, cores, curves, median_ms, show, thread_counts

rng = np.random.default_rng(1)

# The definition is slow: of what would take longer than this, a strip is measured and scaled to the whole.
SERIAL_NS_PER_STEP = 6
SERIAL_BUDGETS = 3


def noise(height, width, planes=1, dtype="u1"):
    shape = (height, width) if planes == 1 else (height, width, planes)
    return gpu.pinned(rng.integers(0, 256, shape, "u1") if dtype == "u1" else rng.random(shape, "f4"))


def empty_like(picture):
    return gpu.empty(picture.shape, picture.dtype)


def waves(side):
    y, x = np.mgrid[:side, :side]
    return gpu.pinned((.5 + .3 * np.sin(x * .05) * np.cos(y * .06)).astype("f4"))


def serial_strip(height, halo, elements_per_row, steps):
    """How many rows of the result the definition is given."""
    rows = SERIAL_BUDGETS * budget_s() * 1e9 / (SERIAL_NS_PER_STEP * steps * elements_per_row)
    return height if rows >= height else int(max(2, min(rows, height - halo)))


def opening(picture, size, backend="openmp", threads=1, out=None, shape="rect"):
    return cernita.morphology(picture, "open", shape, size, backend=backend, threads=threads, out=out)


def convolving(picture, kernel, backend="openmp", threads=1, out=None):
    return cernita.convolve(picture, kernel, backend=backend, threads=threads, out=out)


def pyramid_of(side):
    return [2**i for i in range(1, side.bit_length())]


def ranklets(grey, windows, backend="openmp", threads=1, buffer=None):
    """One window after the other into the same memory, as a file would get them. On a device, what its kernels took."""
    kernels_ms = 0
    for n in windows:
        shape = (3, grey.shape[0] - n + 1, grey.shape[1] - n + 1)
        out = buffer[:np.prod(shape)].reshape(shape) if buffer is not None else None
        cernita.ranklet(grey, n, backend=backend, threads=threads, out=out)
        kernels_ms += internals.device_ms()[1] if backend == "cuda" else 0
    return kernels_ms if backend == "cuda" else None


def by_threads(call, counts=None):
    """{threads: ms} of call(threads)."""
    times = {}
    for threads in counts or thread_counts():
        times[threads] = median_ms(lambda: call(threads), 2)
    return times


def by_device(call):
    """(ms from host to host, ms of the kernels alone) of call(threads, backend), which runs one operator or says what
    the kernels of several took; None where there is no device or it has no such operator yet."""
    if gpu.missing():
        return None
    kernels = []

    def run():
        of_several = call(1, "cuda")
        kernels.append(of_several if isinstance(of_several, float) else internals.device_ms()[1])
    try:
        run()  # takes memory
        return median_ms(run), float(np.median(kernels[1:]))
    except OSError as fault:
        if fault.errno != errno.ENOSYS:
            raise
        return None


def speedup(report, long):
    photo, uhd, scaled = noise(1920, 2560, 3), noise(2160, 3840, 3), noise(1800, 2880, 1, "f4")
    grey, wide = noise(1024, 1024), waves(4096)
    dense = (rng.standard_normal((7, 7)) / 7).astype("f4")
    out, out_uhd, buffer = empty_like(photo), empty_like(uhd), gpu.empty(3 * 1024**2, "f4")
    coefficients, field = empty_like(scaled), gpu.empty((8193, 8193), "u1")
    works = {
        "contours 4096²": (lambda p, b="openmp": cernita.find_contours_many(wide, .5, backend=b, threads=p), None),
        "opening 11×11, RGB 1920×2560": (lambda p, b="openmp": opening(photo, 11, b, p, out), sources.OPENING_S),
        "convolution 7×7, RGB 2160×3840": (lambda p, b="openmp": convolving(uhd, dense, b, p, out_uhd),
                                           sources.CONVOLVE_S),
        "Haar 1800×2880, 3 levels": (
            lambda p, b="openmp": cernita.haar(scaled, 3, backend=b, threads=p, out=coefficients), None),
        "ranklet 1024², pyramid": (lambda p, b="openmp": ranklets(grey, pyramid_of(1024), b, p, buffer),
                                   {1: 6.4, 12: 1.1}),
        "diamond-square 8193²": (lambda p, b="openmp": cernita.diamond_square(13, 1, backend=b, out=field, threads=p),
                                 sources.DIAMOND_SQUARE_S),
    }
    rows, panels = [], []
    for name, (call, source) in works.items():
        times = by_threads(call)
        for threads, ms in times.items():
            s = times[1] / ms
            theirs = f"{source[1] / source[threads]:.2f}" if source and threads in source else ""
            rows.append((name, threads, show(ms), f"{s:.2f}", f"{s / threads:.2f}", theirs))
        device = by_device(call)
        if device:
            rows.append((name, "cuda", show(device[0]), f"{times[1] / device[0]:.2f}", "", ""))
        most = max([*times, *(source or {})])
        lines = {"ideal": ([1, most], [1, most]),
                 "S(p) here": (list(times), [times[1] / ms for ms in times.values()])}
        if source:
            lines["source"] = (list(source), [source[1] / s for s in source.values()])
        panels.append(curves(name, "threads p", "S(p)", lines, log=False))
    report.table("Speed-up by threads", ("work", "p", "ms", "S(p)", "E(p)", "source's S(p)"), rows,
                 "The sources: diamond-square and opening on a Core i5-8600K (6 cores), convolution in Java on a "
                 "Ryzen 5 3500U, ranklets on two Xeon X5650; S of theirs at other p stands in the plot. cuda: "
                 "transfers from and to pinned memory included.")
    report.figure("speedup", panels)


def ahead_from(cases, fast, slow):
    """The first case from which on `fast` is ahead of `slow` by a tenth, to stay so; None."""
    last_behind = max((i for i, (f, s) in enumerate(zip(fast, slow)) if f * 1.1 > s), default=-1)
    return None if last_behind == len(cases) - 1 else cases[last_behind + 1][1]


def crossover(cases, times, device):
    """From which case on all processors are ahead of one, and the device of them."""
    one, all_of_them = [t[1] for t in times], [t[cores()] for t in times]
    start = ahead_from(cases, all_of_them, one) if cores() > 1 else None
    text = (f"{cores()} threads are ahead of one by a tenth and more from {start} on." if start else
            "More threads than one do not pay.")
    for part, what in enumerate(("with transfers", "without them")):
        if device and all(device):
            start = ahead_from(cases, [d[part] for d in device], all_of_them)
            text += (f" cuda {what} is ahead of {cores()} threads from {start} on." if start else
                     f" cuda {what} is not ahead of {cores()} threads.")
    return text


def against_serial(report, name, title, label, cases, note, x_label="elements", highlight=0):
    """cases: (panel, name, x, the definition's call, or with the part of the picture that it is given, the fast one's
    call(threads, backend), source's text, source's ms or None). The panel number `highlight` tells most."""
    counts = sorted({1, cores()})
    cuda = () if gpu.missing() else ("cuda ms", "its kernels ms")
    header = [label, "serial ms", *(f"openmp {p} ms" for p in counts), *cuda, "serial / openmp 1", "source"]
    rows, panels, fast_times, device_times, behind = [], {}, [], [], []
    for panel, what, x, serial, fast, source, source_ms in cases:
        serial, part = serial if isinstance(serial, tuple) else (serial, 1)
        serial_ms = median_ms(serial) / part
        times, device = by_threads(fast, counts), by_device(fast)
        fast_times.append(times)
        device_times.append(device)
        behind += [what] if times[1] > serial_ms else []
        shown = [show(ms) for ms in device or ()] or ["not implemented"] * len(cuda)
        rows.append((what, show(serial_ms, part < 1), *(show(ms) for ms in times.values()), *shown,
                     f"{serial_ms / times[1]:.0f}", source))
        points = {"serial": serial_ms, **{f"openmp {p}": ms for p, ms in times.items()}, "source": source_ms,
                  **dict(zip(("cuda", "cuda kernels"), device or ()))}
        for line, ms in points.items():
            if ms:
                xs, ys = panels.setdefault(panel, {}).setdefault(line, ([], []))
                xs.append(x)
                ys.append(ms)
    first = f"openmp is behind serial at {', '.join(behind)}." if behind else "openmp is ahead of serial everywhere."
    skipped = f" cuda is skipped: {gpu.missing()}." if gpu.missing() else ""
    report.table(title, header, rows, f"{first} {crossover(cases, fast_times, device_times)} {note}{skipped}")
    drawn = [curves(panel, x_label, "ms", lines) for panel, lines in panels.items()]
    report.figure(name, drawn)
    report.highlights.append(drawn[highlight])


def sizes_of_contours(report, long):
    cases = []
    for exponent in range(6, 13):
        side = 2**exponent
        picture = waves(side)
        cases.append((
            "contours", f"{side}²", side**2,
            lambda z=picture: cernita.find_contours_many(z, .5, backend="serial"),
            lambda p, b="openmp", z=picture: cernita.find_contours_many(z, .5, backend=b, threads=p), "", None))
    against_serial(report, "contours", "Contours by size", "side", cases,
                   "Waves of 126 and 105 pixels; the source measured one size, see phases.")


def sizes_of_diamond_square(report, long):
    cases = []
    for exponent in range(4, 14):
        side = 2**exponent + 1
        out = gpu.empty((side, side), "u1")
        times, source, source_ms = sources.DIAMOND_SQUARE_S, "", None
        if exponent == 13:
            source_ms = times[1] * 1e3
            source = f"{source_ms:.0f} ms on 1 core, {times[6] * 1e3:.0f} on 6"
        cases.append((
            "diamond-square", f"{side}²", side**2,
            lambda e=exponent, o=out: cernita.diamond_square(e, 1, out=o, backend="serial"),
            lambda p, b="openmp", e=exponent, o=out: cernita.diamond_square(e, 1, backend=b, out=o, threads=p), source,
            source_ms))
    against_serial(report, "diamond_square", "Diamond-square by size", "side", cases,
                   "The source: OpenMP ahead of serial at every size, its CUDA version behind serial below 4097².")


def sizes_of_opening(report, long):
    cases = []
    for height, width in (480, 640), (1920, 2560), (2448, 3264):
        picture = noise(height, width, 3)
        out = empty_like(picture)
        for size in 3, 5, 7, 9, 11, 15, 21:
            rows = serial_strip(height, size, 3 * width, 2 * size**2)
            part = np.ascontiguousarray(picture[:rows])
            source, source_ms = "", None
            if (height, size) == (1920, 11):
                source_ms = sources.OPENING_S[1] * 1e3
                source = f"{source_ms:.0f} ms on 1 core, {sources.OPENING_S[6] * 1e3:.0f} on 6"
            cases.append((
                f"opening RGB {width}×{height}", f"{width}×{height}, {size}×{size}", size**2,
                (lambda p=part, s=size: opening(p, s, "serial"), rows / height),
                lambda p, b="openmp", z=picture, s=size, o=out: opening(z, s, b, p, o), source, source_ms))
    against_serial(report, "opening", "Opening of RGB pictures by size and element", "picture, element", cases,
                   "The definition costs one step for each pixel of the element, the fast one about log2 of its side.",
                   "pixels of the element", highlight=1)


def sizes_of_haar(report, long):
    cases = []
    for (height, width, levels), (host, copies, kept) in sources.HAAR_MS.items():
        picture = noise(height, width, 1, "f4")
        out = empty_like(picture)
        cases.append((
            "Haar", f"{height}×{width}, {levels} levels", height * width,
            lambda p=picture, n=levels, o=out: cernita.haar(p, n, out=o, backend="serial"),
            lambda p, b="openmp", z=picture, n=levels, o=out: cernita.haar(z, n, backend=b, out=o, threads=p),
            f"host {host}, CUDA {copies} / {kept}", host))
    against_serial(report, "haar", "Haar by size and levels", "picture", sorted(cases, key=lambda case: case[2]),
                   "The source: ms with transfers; CUDA with copies between the levels / without.")


def sizes_of_convolution(report, long):
    cases = []
    for name, height, width in ("480p", 480, 854), ("Full HD", 1080, 1920), ("4K", 2160, 3840):
        picture = noise(height, width, 3)
        out = empty_like(picture)
        for size in 3, 5, 7:
            kernel = (rng.standard_normal((size, size)) / size).astype("f4")
            rows = serial_strip(height, size, 3 * width, size**2)
            part = np.ascontiguousarray(picture[:rows])
            source, source_ms = "", None
            if name == "4K":
                source_ms = sources.CONVOLVE_ROWS_S[size] * 1e3
                source = f"{source_ms:.0f} by rows on 6 threads"
                source += "; 14200 on 1, 4380 on 6 plainly" if size == 7 else ""
            cases.append((
                f"convolution {size}×{size}", f"{name}, {size}×{size}", 3 * height * width,
                (lambda p=part, k=kernel: convolving(p, k, "serial"), rows / height),
                lambda p, b="openmp", z=picture, k=kernel, o=out: convolving(z, k, b, p, o), source, source_ms))
    against_serial(report, "convolution", "Convolution of RGB pictures by size and kernel", "picture, kernel",
                   cases, "Kernels of random weights: no short cut. The source: Java, milliseconds.", highlight=2)


def serial_pyramid(grey):
    """The definition on a few positions of each window, scaled to all of them."""
    side = len(grey)
    strips = [(n, np.ascontiguousarray(grey[:n + 1, :min(side, n + 63)])) for n in pyramid_of(side)[:-1]]
    times = {n: median_ms(lambda s=strip, n=n: cernita.ranklet(s, n, backend="serial"), .1) for n, strip in strips}
    whole = 0
    for n, strip in strips:
        measured = (strip.shape[0] - n + 1) * (strip.shape[1] - n + 1)
        whole += times[n] * (side - n + 1)**2 / measured
    return whole


def sizes_of_ranklet(report, long):
    rows, lines = [], {}
    counts = sorted({1, cores()})
    cuda = () if gpu.missing() else ("cuda ms", "its kernels ms")
    for side in (256, 512, 1024, 2048, 4096) if long else (256, 512, 1024):
        grey, buffer = noise(side, side), gpu.empty(3 * side**2, "f4")
        serial_ms = serial_pyramid(grey)
        times = by_threads(lambda p: ranklets(grey, pyramid_of(side), threads=p, buffer=buffer), counts)
        device = by_device(lambda p, b: ranklets(grey, pyramid_of(side), b, p, buffer))
        shown = [show(ms) for ms in device or ()] or ["not implemented"] * len(cuda)
        naive, one, twelve, their_cuda = sources.RANKLET_S[side]
        rows.append((f"{side}²", show(serial_ms, True), *(show(ms) for ms in times.values()), *shown,
                     f"{serial_ms / times[1]:.0f}", naive or "", one, twelve, their_cuda))
        for name, y in (("serial", serial_ms), *((f"openmp {p}", ms) for p, ms in times.items()),
                        *zip(("cuda", "cuda kernels"), device or ()), ("source, counting on 1 core", one * 1e3)):
            xs, ys = lines.setdefault(name, ([], []))
            xs.append(side)
            ys.append(y)
    report.table("Ranklet pyramid by size",
                 ("picture", "serial ms", *(f"openmp {p} ms" for p in counts), *cuda, "serial / openmp 1",
                  "source: plain s", "counting s", "12 cores s", "CUDA s"), rows,
                 "The source: two Xeon X5650 and a Tesla X2090, seconds.")
    drawn = curves("ranklet pyramid", "side", "ms", lines)
    report.figure("ranklet", [drawn])
    report.highlights.append(drawn)


def huge_ranklet(report, long):
    if not long:
        return
    side = 16384
    grey, buffer, rows, total = noise(side, side), gpu.empty(3 * side**2, "f4"), [], 0
    for n in pyramid_of(side):
        ms = median_ms(lambda: ranklets(grey, [n], threads=cores(), buffer=buffer), .002)
        total += ms
        rows.append((n, show(ms), f"{ms * 1e6 / (side - n + 1)**2:.1f}"))
    rows.append(("all", show(total), ""))
    report.table("Ranklet 16384², level by level", ("window", "ms", "ns per position"), rows,
                 f"{cores()} threads, all three orientations, in the memory of one level (3.2 GB). The source: 1661 s "
                 "on 12 cores, 1131 s with CUDA.")


def phases(report, long):
    tree = pathlib.Path(__file__).resolve().parents[3]
    lines = subprocess.run([tree / "build" / "bin" / "cernita-bench", "phases", "--json"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    found = [json.loads(line) for line in lines]
    names = sources.CONTOURS_MS
    rows = [(f["operator"], f["what"], *(show(f[key]) for key in ("first_ms", "second_ms", "all_ms")),
             f"{f['second_ms'] / f['all_ms']:.0%}") for f in found]
    real, artificial = names["real"], names["artificial"]
    report.table("Time by phase", ("operator", "what", "scan / window ms", "joining / counting ms", "all ms",
                                   "second's share"), rows,
                 f"The source of contours: skimage {real[0]} ms, of which joining {real[1]} (real map), "
                 f"{artificial[0]} and {artificial[1]} (artificial); CUDA without joining: {real[2]}, {artificial[2]}.")
    panels = []
    for operator, parts in ("contours", ("scan", "joining")), ("ranklet", ("window", "counting")):
        chosen = [f for f in found if f["operator"] == operator]
        shares = [[100 * f[key] / f["all_ms"] for f in chosen] for key in ("first_ms", "second_ms")]
        panels.append(bars(f"{operator}: share of time", "%", [f["what"] for f in chosen], dict(zip(parts, shares))))
    report.figure("phases", panels, height=4.2)
    report.highlights.append(panels[1])


# Under the names that study.py knows them by.
RUN = {
    "speedup": speedup,
    "contours": sizes_of_contours,
    "diamond-square": sizes_of_diamond_square,
    "opening": sizes_of_opening,
    "haar": sizes_of_haar,
    "convolution": sizes_of_convolution,
    "ranklet": sizes_of_ranklet,
    "ranklet-16384": huge_ranklet,
    "kept": kept,
    "phases": phases,
}
