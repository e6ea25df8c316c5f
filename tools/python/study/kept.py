"""tools/study: results that stay on the device between levels, against results fetched after each."""
import numpy as np

import gpu
import sources
from cernita._library import HaarParams, RankletParams
from report import curves, median_ms, show

SLOT_IN, SLOT_OUT = 16, 17


def haar_params(levels):
    return HaarParams(0, levels, 0, False)


def haar_at_once(device, source, result, levels):
    height, width = source.shape
    near, far = device.memory(SLOT_IN, source.nbytes), device.memory(SLOT_OUT, source.nbytes)
    device.upload(near, source)
    device.run("haar", haar_params(levels), gpu.picture(near, "f4", 1, height, width),
               gpu.picture(far, "f4", 1, height, width))
    device.download(result, far)
    device.wait()


def haar_by_levels(device, source, result, buffers):
    """Downloads each level and uploads its averages again. buffers: pinned memory for a level and its averages."""
    picture = source
    near, far = device.memory(SLOT_IN, source.nbytes), device.memory(SLOT_OUT, source.nbytes)
    for level, averages in buffers:
        height, width = level.shape
        device.upload(near, picture)
        device.run("haar", haar_params(1), gpu.picture(near, "f4", 1, height, width),
                   gpu.picture(far, "f4", 1, height, width))
        device.download(level, far)
        device.wait()
        result[:height, :width] = level
        averages[...] = level[:averages.shape[0], :averages.shape[1]]
        picture = averages


def buffers_of(height, width, levels):
    buffers = []
    for _ in range(levels):
        half = -(-height // 2), -(-width // 2)
        buffers.append((gpu.empty((height, width), "f4"), gpu.empty(half, "f4")))
        height, width = half
    return buffers


def kept_haar(report, device, _):
    rng, rows, lines = np.random.default_rng(1), [], {}
    for (height, width, levels), (_, copies, kept) in sorted(sources.HAAR_MS.items(), key=lambda i: i[0][0] * i[0][1]):
        source = gpu.pinned(rng.random((height, width), "f4"))
        once, levelwise = gpu.empty(source.shape, "f4"), gpu.empty(source.shape, "f4")
        at_once = median_ms(lambda: haar_at_once(device, source, once, levels))
        buffers = buffers_of(height, width, levels)
        between = median_ms(lambda: haar_by_levels(device, source, levelwise, buffers))
        if not np.array_equal(once, levelwise):
            raise ValueError(f"Haar {height}x{width}: the levels one by one differ from all at once")
        rows.append((f"{height}×{width}, {levels} levels", show(between), show(at_once), f"{between / at_once:.1f}",
                     f"{copies} / {kept}", f"{copies / kept:.1f}"))
        for name, ms in (("cuda, fetched", between), ("cuda", at_once), ("source, fetched", copies), ("source", kept)):
            xs, ys = lines.setdefault(name, ([], []))
            xs.append(height * width)
            ys.append(ms)
    report.table("Haar on a device: levels fetched one by one, against all at once",
                 ("picture", "fetched ms", "at once ms", "ratio", "source ms", "source's ratio"), rows,
                 "From pinned memory to pinned memory, upload and download included.")
    drawn = curves("Haar: levels fetched, or all at once", "elements", "ms", lines)
    report.figure("kept", [drawn])
    report.highlights.append(drawn)


def ranklets(device, source, address, buffer=None):
    """All windows' results beside each other, or each fetched before the next is begun."""
    height, width = source.shape
    near = device.memory(SLOT_IN, source.nbytes)
    device.upload(near, source)
    n = 2
    while n <= height:
        shape = (3, height - n + 1, width - n + 1)
        device.run("ranklet", RankletParams(n, n), gpu.picture(near, "u1", 1, height, width),
                   gpu.picture(address, "f4", *shape))
        if buffer is None:
            address += -(-4 * int(np.prod(shape)) // 256) * 256
        else:
            device.download(buffer[:np.prod(shape)], address)
            device.wait()
        n *= 2
    device.wait()


def kept_ranklets(report, device, long):
    rng, rows = np.random.default_rng(1), []
    for side in (256, 512, 1024, 2048, 4096) if long else (256, 512, 1024):
        source = gpu.pinned(rng.integers(0, 256, (side, side), "u1"))
        buffer = gpu.empty(3 * side**2, "f4")
        address = device.memory(SLOT_OUT, (side.bit_length() - 1) * (12 * side**2 + 256))
        kept = median_ms(lambda: ranklets(device, source, address))
        kernels = device.kernels_ms(lambda: ranklets(device, source, address))
        fetched = median_ms(lambda: ranklets(device, source, address, buffer))
        rows.append((f"{side}²", show(fetched), show(kept), show(kernels), f"{fetched / kept:.1f}",
                     f"{1e3 * sources.RANKLET_S[side][3]:.0f}"))
    report.table("Ranklet pyramid on a device: every window's results fetched, against kept there",
                 ("picture", "fetched ms", "kept ms", "by the device's clock ms", "ratio", "source's CUDA ms"), rows,
                 "From pinned memory. Fetched: each window's results are home before the next window is begun.")


def kept(report, long):
    why = gpu.missing()
    if why:
        report.write(f"\nSkipped, results kept on a device: {why}.")
        return
    device = gpu.Device()
    for experiment in kept_haar, kept_ranklets:
        try:
            experiment(report, device, long)
        except OSError as fault:
            report.write(f"\nSkipped, {experiment.__name__} on a device: {fault.strerror}.")
