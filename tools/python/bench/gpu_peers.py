#!/usr/bin/python3
"""Times of other libraries for the rows of `cernita-bench gpu`: gpu_peers.py [FRAME.npy]

Opening and convolution by NPP, opening with a disk by CuPy, the Haar transform as strided convolutions by cuDNN
(through PyTorch), the frame's contours by scikit-image on the host. Rows have the names that `cernita-bench gpu` gives
them; pictures and results lie on the device in several copies used in rotation, together larger than its cache. What
is not installed is skipped with a notice.
"""
import ctypes
import glob
import itertools
import os
import sys
import time

import tree
import packages
packages.need("numpy")

import numpy as np

from cases import case, disk, picture
from timing import times_ms

rng = np.random.default_rng(7)

# Copies together are larger than any cache.
ROTATED_BYTES = 128 << 20

REPLICATE = 2  # NppiBorderType


def print_row(row, ms, peer):
    print(f"{row:38}{'':9}{ms:10.4f}  {peer}", flush=True)


def print_skipped(rows, why):
    print(f"{rows:38}skipped: {why}", flush=True)


def needs(*modules):
    """The modules, or None after a notice that says which is missing."""
    found = []
    for name in modules:
        try:
            found.append(__import__(name, fromlist=["_"]))
        except ImportError as fault:
            print_skipped(name, fault)
            return None
    return found if len(found) > 1 else found[0]


def on_device(cupy, calls, rounds=21):
    """Milliseconds of one of the calls, made in rotation: the median of rounds by the device's clock."""
    turn = itertools.cycle(calls)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    next(turn)()
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    next(turn)()
    cupy.cuda.Device().synchronize()
    count = int(min(64, max(1, 2e-3 / (time.perf_counter() - start))))
    times = []
    for _ in range(rounds):
        next(turn)()
        begin.record()
        for _ in range(count):
            next(turn)()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / count)
    return float(np.median(times))


def copies(pixels):
    """Number of pictures and results that together exceed the cache."""
    return -(-ROTATED_BYTES // (2 * pixels.nbytes))


# --- NPP, through its C functions ---

class Size(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int)]


class StreamContext(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("device", ctypes.c_int), ("multiprocessors", ctypes.c_int),
                ("threads_per_multiprocessor", ctypes.c_int), ("threads_per_block", ctypes.c_int),
                ("shared_per_block", ctypes.c_size_t), ("major", ctypes.c_int), ("minor", ctypes.c_int),
                ("stream_flags", ctypes.c_uint), ("reserved", ctypes.c_int)]


def library(name):
    places = ["", "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"]
    names = [f"{place}lib{name}.so" for place in places]
    for place in places[1:] + [os.path.dirname(np.__path__[0]) + "/nvidia/*/lib/"]:
        names += sorted(glob.glob(f"{place}lib{name}.so.*"))
    for path in names:
        try:
            return ctypes.CDLL(path)
        except OSError:
            pass
    return None


def npp_context(cupy):
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return StreamContext(None, 0, properties["multiProcessorCount"], properties["maxThreadsPerMultiProcessor"],
                         properties["maxThreadsPerBlock"], properties["sharedMemPerBlock"], properties["major"],
                         properties["minor"], 0, 0)


def npp_call(function, source, target, kernel, size, context):
    """One of NPP's neighbourhood functions with a border, as a call."""
    height, width = source.shape[:2]
    step = source.strides[0]
    arguments = [ctypes.c_void_p(source.data.ptr), step, Size(width, height), Size(0, 0),
                 ctypes.c_void_p(target.data.ptr), step, Size(width, height), ctypes.c_void_p(kernel.data.ptr),
                 Size(size, size), Size(size // 2, size // 2), REPLICATE, context]

    def call(keep=(source, target, kernel)):
        status = function(*arguments)
        if status:
            raise OSError(f"NPP status {status}")
    return call


def npp_opening(cupy):
    npp = library("nppim")
    if not npp:
        print_skipped("opening by NPP", "no libnppim")
        return
    context = npp_context(cupy)
    for size in 3, 11, 21:
        row = f"opening u8 RGB 1920x2560, rect {size}"
        pixels = picture(case(row))
        members = cupy.ones((size, size), "u1")
        calls = []
        for _ in range(copies(pixels)):
            source, between, target = cupy.asarray(pixels), cupy.empty_like(pixels), cupy.empty_like(pixels)
            erode = npp_call(npp.nppiErodeBorder_8u_C3R_Ctx, source, between, members, size, context)
            dilate = npp_call(npp.nppiDilateBorder_8u_C3R_Ctx, between, target, members, size, context)
            calls.append(lambda erode=erode, dilate=dilate: (erode(), dilate()))
        print_row(row, on_device(cupy, calls), "NPP ErodeBorder + DilateBorder")


def npp_filter(cupy):
    npp = library("nppif")
    if not npp:
        print_skipped("convolve by NPP", "no libnppif")
        return
    context = npp_context(cupy)
    for size in 3, 5, 7:
        row = f"convolve u8 RGB 2160x3840, dense {size}"
        pixels = picture(case(row))
        weights = cupy.asarray((rng.standard_normal((size, size)) / size).astype("f4"))
        calls = [npp_call(npp.nppiFilterBorder32f_8u_C3R_Ctx, cupy.asarray(pixels), cupy.empty_like(pixels), weights,
                          size, context) for _ in range(copies(pixels))]
        print_row(row, on_device(cupy, calls), "NPP FilterBorder32f")


# --- Python's own ---

def cupy_opening(cupy):
    from cupyx.scipy import ndimage
    row = "opening u8 1920x2560, disk 11"
    pixels = picture(case(row))
    members = cupy.asarray(disk(case(row).size))
    pictures = [cupy.asarray(pixels) for _ in range(copies(pixels))]
    calls = [lambda p=p: ndimage.grey_opening(p, footprint=members) for p in pictures]
    print_row(row, on_device(cupy, calls, 7), "CuPy grey_opening")


def cudnn_haar(cupy):
    torch = needs("torch")
    if not torch:
        return
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    signs = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
    weights = (torch.tensor(signs, dtype=torch.float32).reshape(4, 1, 2, 2) / 2).cuda()
    row = "haar f32 1800x2880, 3 levels forward"
    pixels = picture(case(row))
    pictures = [torch.from_numpy(pixels)[None, None].cuda() for _ in range(copies(pixels))]

    def transform(averages):
        levels = []
        for _ in range(3):
            levels.append(torch.nn.functional.conv2d(averages, weights, stride=2))
            averages = levels[-1][:, :1]
        return levels
    with torch.no_grad(), torch.cuda.stream(torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr)):
        calls = [lambda p=p: transform(p) for p in pictures]
        print_row(row, on_device(cupy, calls), "cuDNN, strided convolutions")


def skimage_contours(path):
    measure = needs("skimage.measure")
    if not measure:
        return
    if not path:
        print_skipped("contours frame f32, host to host", "no FRAME.npy was given")
        return
    frame = np.load(path)
    times = times_ms(lambda: [measure.find_contours(frame[:, :, plane], .5) for plane in range(frame.shape[2])], 9, 9)
    print_row("contours frame f32, host to host", np.median(times), "scikit-image, on the host")


def main():
    skimage_contours(sys.argv[1] if len(sys.argv) > 1 else None)
    cupy = needs("cupy")
    if not cupy:
        return
    try:
        cupy.cuda.Device().synchronize()
    except cupy.cuda.runtime.CUDARuntimeError as fault:
        print_skipped("NPP, CuPy, cuDNN", fault)
        return
    for peer in npp_opening, npp_filter, cupy_opening, cudnn_haar:
        try:
            peer(cupy)
        except (OSError, AttributeError, RuntimeError) as fault:
            print_skipped(peer.__name__, f"{fault}".splitlines()[0])


if __name__ == "__main__":
    main()
