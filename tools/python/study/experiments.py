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
    return None if last_behind == len(cases) - 1 else cases[last_behind + 1].name


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


class Case:
    """One row of an experiment: fast(threads, backend), against the definition on the same arguments.

    x: of its point in the panel. source: cells of what was published, source_ms its line in the plot. serial: the
    definition's call where it is given only `part` of the picture; serial_ms: a function that measures it itself.
    """

    def __init__(self, panel, name, x, fast, *source, source_ms=None, serial=None, part=1, serial_ms=None):
        self.panel, self.name, self.x, self.fast, self.part = panel, name, x, fast, part
        self.source, self.source_ms = source or ("",), source_ms
        self.serial_ms = serial_ms or (lambda: median_ms(serial or (lambda: fast(1, "serial"))) / part)
        self.scaled = part < 1 or serial_ms is not None


def against_serial(report, name, title, label, cases, note, x_label="elements", highlight=0, columns=("source",),
                   source_line="source"):
    """The panel number `highlight` tells most. columns: the headings of the cases' sources."""
    counts = sorted({1, cores()})
    cuda = () if gpu.missing() else ("cuda ms", "its kernels ms")
    header = [label, "serial ms", *(f"openmp {p} ms" for p in counts), *cuda, "serial / openmp 1", *columns]
    rows, panels, fast_times, device_times, behind = [], {}, [], [], []
    for case in cases:
        serial_ms = case.serial_ms()
        times, device = by_threads(case.fast, counts), by_device(case.fast)
        fast_times.append(times)
        device_times.append(device)
        behind += [case.name] if times[1] > serial_ms else []
        shown = [show(ms) for ms in device or ()] or ["not implemented"] * len(cuda)
        rows.append((case.name, show(serial_ms, case.scaled), *(show(ms) for ms in times.values()), *shown,
                     f"{serial_ms / times[1]:.0f}", *case.source))
        points = {"serial": serial_ms, **{f"openmp {p}": ms for p, ms in times.items()}, source_line: case.source_ms,
                  **dict(zip(("cuda", "cuda kernels"), device or ()))}
        for line, ms in points.items():
            if ms:
                xs, ys = panels.setdefault(case.panel, {}).setdefault(line, ([], []))
                xs.append(case.x)
                ys.append(ms)
    first = f"openmp is behind serial at {', '.join(behind)}." if behind else "openmp is ahead of serial everywhere."
    skipped = f" cuda is skipped: {gpu.missing()}." if gpu.missing() else ""
    report.table(title, header, rows, f"{first} {crossover(cases, fast_times, device_times)} {note}{skipped}")
    drawn = [curves(panel, x_label, "ms", lines) for panel, lines in panels.items()]
    report.figure(name, drawn)
    report.highlights.append(drawn[highlight])


def sizes_of_contours(report, long):
    cases = [Case("contours", f"{side}²", side**2,
                  lambda p, b="openmp", z=waves(side): cernita.find_contours_many(z, .5, backend=b, threads=p))
             for side in (2**exponent for exponent in range(6, 13))]
    against_serial(report, "contours", "Contours by size", "side", cases,
                   "Waves of 126 and 105 pixels; the source measured one size, see phases.")


def one_and_six(seconds):
    """A source's times as text, and that of one core in ms."""
    ms = seconds[1] * 1e3
    return f"{ms:.0f} ms on 1 core, {seconds[6] * 1e3:.0f} on 6", ms


def sizes_of_diamond_square(report, long):
    cases = []
    for exponent in range(4, 14):
        side = 2**exponent + 1
        out = gpu.empty((side, side), "u1")
        source, ms = one_and_six(sources.DIAMOND_SQUARE_S) if exponent == 13 else ("", None)
        cases.append(Case(
            "diamond-square", f"{side}²", side**2,
            lambda p, b="openmp", e=exponent, o=out: cernita.diamond_square(e, 1, backend=b, out=o, threads=p), source,
            source_ms=ms))
    against_serial(report, "diamond_square", "Diamond-square by size", "side", cases,
                   "The source: OpenMP ahead of serial at every size, its CUDA version behind serial below 4097².")


def strip_of(picture, halo, steps):
    """The rows that the definition is given, and which part of the picture they are."""
    height, width = picture.shape[:2]
    rows = serial_strip(height, halo, 3 * width, steps)
    return np.ascontiguousarray(picture[:rows]), rows / height


def sizes_of_opening(report, long):
    cases = []
    for height, width in (480, 640), (1920, 2560), (2448, 3264):
        picture = noise(height, width, 3)
        out = empty_like(picture)
        for size in 3, 5, 7, 9, 11, 15, 21:
            strip, part = strip_of(picture, size, 2 * size**2)
            source, ms = one_and_six(sources.OPENING_S) if (height, size) == (1920, 11) else ("", None)
            cases.append(Case(
                f"opening RGB {width}×{height}", f"{width}×{height}, {size}×{size}", size**2,
                lambda p, b="openmp", z=picture, s=size, o=out: opening(z, s, b, p, o), source, source_ms=ms,
                serial=lambda z=strip, s=size: opening(z, s, "serial"), part=part))
    against_serial(report, "opening", "Opening of RGB pictures by size and element", "picture, element", cases,
                   "The definition costs one step for each pixel of the element, the fast one about log2 of its side.",
                   "pixels of the element", highlight=1)


def sizes_of_haar(report, long):
    cases = []
    for (height, width, levels), (host, copies, kept) in sources.HAAR_MS.items():
        picture = noise(height, width, 1, "f4")
        cases.append(Case(
            "Haar", f"{height}×{width}, {levels} levels", height * width,
            lambda p, b="openmp", z=picture, n=levels, o=empty_like(picture): cernita.haar(z, n, backend=b, out=o,
                                                                                           threads=p),
            f"host {host}, CUDA {copies} / {kept}", source_ms=host))
    against_serial(report, "haar", "Haar by size and levels", "picture", sorted(cases, key=lambda case: case.x),
                   "The source: ms with transfers; CUDA with copies between the levels / without.")


def sizes_of_convolution(report, long):
    cases = []
    for name, height, width in ("480p", 480, 854), ("Full HD", 1080, 1920), ("4K", 2160, 3840):
        picture = noise(height, width, 3)
        out = empty_like(picture)
        for size in 3, 5, 7:
            kernel = (rng.standard_normal((size, size)) / size).astype("f4")
            strip, part = strip_of(picture, size, size**2)
            ms = sources.CONVOLVE_ROWS_S[size] * 1e3 if name == "4K" else None
            source = f"{ms:.0f} by rows on 6 threads" if ms else ""
            source += "; 14200 on 1, 4380 on 6 plainly" if ms and size == 7 else ""
            cases.append(Case(
                f"convolution {size}×{size}", f"{name}, {size}×{size}", 3 * height * width,
                lambda p, b="openmp", z=picture, k=kernel, o=out: convolving(z, k, b, p, o), source, source_ms=ms,
                serial=lambda z=strip, k=kernel: convolving(z, k, "serial"), part=part))
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
    cases = []
    for side in (256, 512, 1024, 2048, 4096) if long else (256, 512, 1024):
        grey, buffer = noise(side, side), gpu.empty(3 * side**2, "f4")
        naive, one, twelve, their_cuda = sources.RANKLET_S[side]
        cases.append(Case(
            "ranklet pyramid", f"{side}²", side,
            lambda p, b="openmp", z=grey, o=buffer: ranklets(z, pyramid_of(len(z)), b, p, o), naive or "", one, twelve,
            their_cuda, source_ms=one * 1e3, serial_ms=lambda z=grey: serial_pyramid(z)))
    against_serial(report, "ranklet", "Ranklet pyramid by size", "picture", cases,
                   "The source: two Xeon X5650 and a Tesla X2090, seconds.", "side",
                   columns=("source: plain s", "counting s", "12 cores s", "CUDA s"),
                   source_line="source, counting on 1 core")


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
