#!/usr/bin/python3
"""The Python package on arrays in device memory: device.py FRAME.npy [--calls N] [--config LINE.yaml]

Contours of the frame, of 92 masks of 3024 x 4032 and the chain of a line's file, from PyTorch tensors and CuPy arrays
on the device to NumPy arrays; image operators from tensor to tensor. Wall clock from the call to the result, medians and
99th percentiles. Every result is compared with that of the same call on NumPy arrays. Beside them what a program
without cernita does: scikit-image after a copy to the host.
"""
import argparse
import itertools
import sys
import time

import tree
import packages
packages.need("numpy")

import numpy as np

try:
    import torch
except ImportError as fault:
    sys.exit(f"device.py: {fault}; it needs PyTorch with CUDA: pip install torch")

import cernita
from timing import times_ms

ROTATED_BYTES = 160 << 20  # copies of an input together exceed the device's cache
MASKS, MASK_HEIGHT, MASK_WIDTH = 92, 3024, 4032


def warm_up():
    """Two seconds of work: an idle device's clocks are at a sixth of what they are in a running line."""
    square = torch.rand(4096, 4096, device="cuda")
    begin = time.perf_counter()
    while time.perf_counter() - begin < 2:
        square = torch.matmul(square, square).clamp_(-1, 1)
        torch.cuda.synchronize()


def measure(call, inputs, calls):
    """(median, 99th percentile) in ms of a call on its inputs in rotation."""
    turn = itertools.cycle(inputs)
    for _ in range(min(len(inputs), 100)):
        call(next(turn))
    torch.cuda.synchronize()
    times = times_ms(lambda: call(next(turn)), calls, calls, warm_up=0)
    return np.median(times), np.percentile(times, 99)


def report(row, times, calls, note=""):
    print(f"{row:58}{times[0]:10.4f}{times[1]:10.4f}{calls:7}  {note}", flush=True)


def copies(tensor):
    return [tensor.clone() for _ in range(ROTATED_BYTES // tensor.nbytes + 1)]


def assert_same_contours(a, b):
    assert np.array_equal(a.points, b.points) and np.array_equal(a.offsets, b.offsets), "contours differ"
    assert np.array_equal(a.planes, b.planes) and np.array_equal(a.closed, b.closed), "contours differ"


def bench_frame(frame, arguments):
    def contours(maps):
        return cernita.find_contours_many(maps, 0.5).polylines()

    tensor = torch.from_numpy(frame).cuda()
    found = cernita.find_contours_many(frame, 0.5)
    assert_same_contours(cernita.find_contours_many(tensor, 0.5), found)
    note = f"{len(found.points)} points"
    tensors, halves = copies(tensor), copies(tensor.half())

    def flat(maps):
        return cernita.find_contours_many(maps, 0.5)

    report("contours, frame, torch -> numpy", measure(flat, tensors, arguments.calls), arguments.calls, note)
    report("contours, frame, torch float16 -> numpy", measure(flat, halves, arguments.calls), arguments.calls, note)
    report("contours, frame, torch -> list of numpy", measure(contours, tensors, arguments.calls), arguments.calls,
           f"{len(found)} contours")
    try:
        import cupy
    except ImportError as fault:
        print(f"CuPy skipped: {fault}")
    else:
        assert_same_contours(cernita.find_contours_many(cupy.asarray(frame), 0.5), found)
        report("contours, frame, cupy -> numpy",
               measure(flat, [cupy.asarray(frame) for _ in range(70)], arguments.calls), arguments.calls, note)
    report("contours, frame, numpy, openmp, one thread",
           measure(lambda maps: cernita.find_contours_many(maps, 0.5, threads=1), [frame], arguments.calls),
           arguments.calls, note)


def bench_skimage(frame, calls):
    try:
        from skimage.measure import find_contours
    except ImportError as fault:
        print(f"scikit-image skipped: {fault}")
        return

    def contours(maps):
        host = maps.cpu().numpy()
        return [line for plane in range(host.shape[2]) for line in find_contours(host[:, :, plane], 0.5)]

    report("contours, frame, torch -> .cpu() -> scikit-image",
           measure(contours, [torch.from_numpy(frame).cuda()], calls), calls)


def bench_chain(frame, arguments):
    with cernita.Chain.from_yaml(arguments.config) as chain:
        tensor = torch.from_numpy(frame).cuda()
        here, there = chain.judge(frame), chain.judge(tensor)
        assert np.array_equal(here.points, there.points), "outlines differ"
        assert np.array_equal(here.table["mean_probability"], there.table["mean_probability"]), "means differ"
        note = f"{len(here)} defects"
        report("chain, frame, torch", measure(chain.judge, copies(tensor), arguments.calls), arguments.calls, note)
        report("chain, frame, numpy, openmp, one thread", measure(chain.judge, [frame], arguments.calls),
               arguments.calls, note)


def make_masks():
    """Ellipses of 255, some with holes, as instances in photographs have them."""
    generator = torch.Generator(device="cuda").manual_seed(3)
    y = torch.arange(MASK_HEIGHT, device="cuda", dtype=torch.float32)[:, None]
    x = torch.arange(MASK_WIDTH, device="cuda", dtype=torch.float32)[None]
    masks = torch.zeros((MASKS, MASK_HEIGHT, MASK_WIDTH), dtype=torch.uint8, device="cuda")
    for i in range(MASKS):
        at = torch.rand(5, generator=generator, device="cuda").tolist()
        u = (x - at[0] * MASK_WIDTH) / (100 + 500 * at[2])
        v = (y - at[1] * MASK_HEIGHT) / (100 + 500 * at[3])
        ripple = 0.1 * torch.sin(10 * torch.atan2(v, u))
        inside = torch.hypot(u, v) < 1 + ripple
        if i % 2:
            inside &= torch.hypot(u, v) > 0.4
        masks[i] = 255 * inside.to(torch.uint8)
    return masks


def bench_masks():
    masks, calls = make_masks(), 100
    found = cernita.find_contours_many(masks, 127.5, "chw")
    part = cernita.find_contours_many(masks[:3].cpu().numpy(), 127.5, "chw")
    assert np.array_equal(part.points, found.points[:len(part.points)]), "contours differ"
    times = measure(lambda given: cernita.find_contours_many(given, 127.5, "chw").polylines(), [masks], calls)
    report(f"contours, {MASKS} masks {MASK_HEIGHT} x {MASK_WIDTH} u8, torch", times, calls,
           f"{len(found)} contours, {len(found.points)} points")


def bench_operators(frame, calls):
    tensor = torch.from_numpy(frame).cuda()
    grey = torch.randint(0, 256, (1024, 1024), dtype=torch.uint8, device="cuda")
    weights = np.full((3, 3), 1 / 9, "f4")
    rows = {
        "opening, frame, disk 5": (lambda a: cernita.morphology(a, "open", "disk", 5), tensor),
        "convolve, frame, 3 x 3": (lambda a: cernita.convolve(a, weights), tensor),
        "haar, frame, 3 levels": (lambda a: cernita.haar(a, 3), tensor),
        "ranklet, u8 1024 x 1024, window 8": (lambda a: cernita.ranklet(a, 8), grey),
    }
    for name, (call, given) in rows.items():
        result, host = call(given), call(given.cpu().numpy())
        assert result.is_cuda and np.allclose(result.cpu().numpy(), host, rtol=0, atol=1e-5), name

        def waited(array):
            call(array)
            torch.cuda.current_stream().synchronize()

        report(f"{name}, torch -> torch", measure(waited, copies(given), calls), calls)
        report(f"{name}, the call alone", measure(call, copies(given), calls), calls, "does not wait")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("frame")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--config", default="config/line.yaml")
    arguments = parser.parse_args()
    frame = np.load(arguments.frame).astype("f4")
    print(f"{torch.cuda.get_device_name()}, cernita {cernita.__version__}, PyTorch {torch.__version__}")
    print(f"{'':58}{'median ms':>10}{'p99 ms':>10}{'calls':>7}")
    warm_up()
    bench_frame(frame, arguments)
    bench_skimage(frame, 50)
    bench_chain(frame, arguments)
    bench_masks()
    bench_operators(frame, arguments.calls)


if __name__ == "__main__":
    main()
