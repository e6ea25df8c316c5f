"""Arrays of other libraries, without a device: check_device_arrays.py LIBRARY TOOLS_PYTHON

Stand-ins for PyTorch's, CuPy's and DLPack's arrays whose memory is the host's; the contexts that the package opens for
them are turned into ones on the host. Prints what is not as meant.
"""
import os
import sys
import tempfile
import types

os.environ["CRN_LIBRARY"] = sys.argv[1]
sys.path.insert(0, sys.argv[2])

import numpy as np

import cernita
from cernita import _context, _device
from cernita._library import ContextSettings

opened, asked_streams = [], []


def on_the_host(*key):
    opened.append(_context.ContextKey(*key))
    return ContextSettings(2, key[1], 0, 0, None)


_context.ContextSettings = on_the_host


class CupyArray:
    """As CuPy's: the CUDA array interface, on stream 41 of device 3."""
    __module__ = "cupy"
    device = types.SimpleNamespace(id=3)

    @property
    def ndim(self):
        return self.array.ndim

    def __init__(self, array, dense=False, **more):
        self.shape = array.shape
        told = array.__array_interface__
        self.array = array
        self.__cuda_array_interface__ = {
            "version": 3, "shape": array.shape, "typestr": array.dtype.str, "stream": 41, "data": told["data"],
            "strides": None if dense else array.strides, **more}


    def astype(self, dtype):
        return CupyArray(self.array.astype(dtype))


class Batch(CupyArray):
    """Of pictures."""
    __module__ = "cupy"

    def __len__(self):
        return len(self.array)

    def __getitem__(self, index):
        return CupyArray(self.array[index])


class TorchTensor:
    """As PyTorch's, on stream 77 of device 1."""
    __module__ = "torch"
    device = types.SimpleNamespace(index=1)
    is_cuda = True

    def __init__(self, array, dtype=None):
        self.array, self.dtype = array, dtype or f"torch.{array.dtype}"
        self.shape = array.shape

    def __dlpack__(self, stream=None):
        raise AssertionError("copies, for some layouts")

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def new_empty(self, shape, dtype):
        return TorchTensor(np.full(shape, 99, dtype.removeprefix("torch.")))


class DlpackArray:
    """As anybody's."""

    def __init__(self, array, kind=2):
        self.array, self.kind = array, kind

    def __dlpack_device__(self):
        return self.kind, 2

    def __dlpack__(self, stream=None):
        asked_streams.append(stream)
        return self.array.__dlpack__()


class OnDevice:
    def __init__(self, number):
        self.number = number

    def __enter__(self):
        empty_on.append(self.number)

    def __exit__(self, *fault):
        pass


empty_on = []
names = ("uint8", "uint16", "float16", "float32")
sys.modules["torch"] = types.SimpleNamespace(
    _C=None, **{name: f"torch.{name}" for name in names},
    cuda=types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=77)))
sys.modules["cupy"] = types.SimpleNamespace(
    cuda=types.SimpleNamespace(Device=OnDevice), empty=lambda shape, dtype: CupyArray(np.full(shape, 99, dtype)))

random = np.random.default_rng(5)
maps = random.random((40, 50, 3), "f4")
grey = random.integers(0, 256, (40, 50)).astype("u1")
wide = random.random((3, 40, 100), "f4")
wrong = []


def expect(what, fine):
    if not fine:
        wrong.append(what)


def same_contours(a, b):
    return (np.array_equal(a.points, b.points) and np.array_equal(a.offsets, b.offsets)
            and np.array_equal(a.planes, b.planes) and np.array_equal(a.closed, b.closed) and len(a) > 5)


def refused(cases):
    """Calls that must raise an error of that type whose text begins so."""
    for name, (call, kind, text) in cases.items():
        try:
            call()
        except kind as fault:
            expect(f"{name}: {fault}", str(fault).startswith(text))
        except Exception as fault:  # of another kind
            wrong.append(f"{name}: {type(fault).__name__}: {fault}")
        else:
            wrong.append(f"{name} was taken")


KINDS = {"cupy": (CupyArray, 3, 41), "torch": (TorchTensor, 1, 77), "dlpack": (DlpackArray, 0, None)}
for name, (make, device, stream) in KINDS.items():
    opened.clear()
    for what, array, layout in (("as it comes", maps, "hwc"), ("planar", wide, "chw"), ("a window", wide[:, 3:, ::2], "chw"),
                                ("backwards", maps[::-1], "hwc"), ("u8", grey, "hwc"), ("f16", maps.astype("f2"), "hwc"),
                                ("one plane", maps[:, :, :1], "hwc")):
        level = 100 if array.dtype == np.uint8 else 0.5
        expect(f"{name}: contours, {what}", same_contours(
            cernita.find_contours_many(make(array), level, layout), cernita.find_contours_many(array, level, layout)))
    first = next((key for key in opened if key.memory == 1), None)
    expect(f"{name}: opened {first}", first and first.backend == 3 and (first.device, first.stream) == (device, stream))
    expect(f"{name}: no contours", len(cernita.find_contours_many(make(maps), 2)) == 0)
    if name == "cupy":
        expect("contours as skimage's", [line.tolist() for line in cernita.find_contours(make(maps[:, :, 0]), 0.5)]
               == [line.tolist() for line in cernita.find_contours(maps[:, :, 0], 0.5)])
        batch = random.random((3, 40, 50, 2), "f4")
        expect("contours of a batch", same_contours(cernita.find_contours_many(Batch(batch), 0.5),
                                                    cernita.find_contours_many(batch, 0.5)))
    many = random.random((400, 500), "f4")  # more than fit at first
    expect(f"{name}: none left out", len(cernita.find_contours_many(make(many), 0.5).points) > 1 << 17)
    expect(f"{name}: many contours", same_contours(cernita.find_contours_many(make(many), 0.5),
                                                   cernita.find_contours_many(many, 0.5)))
    results = {
        "morphology": lambda a, **more: cernita.morphology(a, "open", "disk", 3, **more),
        "convolve": lambda a, **more: cernita.convolve(a, np.ones((3, 3)), **more),
        "haar": lambda a, **more: cernita.haar(a, 2, **more),
        "ranklet": lambda a, **more: cernita.ranklet(a, 4, **more),
    }
    for operator, call in results.items():
        array = grey if operator == "ranklet" else maps
        wanted = call(array)
        out = make(np.zeros_like(wanted))
        expect(f"{name}: {operator} into out", call(make(array), out=out) is out and np.array_equal(out.array, wanted))
        if name != "dlpack":
            got = call(make(array))
            expect(f"{name}: {operator}", type(got) is make and np.array_equal(got.array, wanted))
            expect(f"{name}: {operator} has the type", got.array.dtype == wanted.dtype)
    field = make(np.zeros((17, 17), "f4"))
    cernita.diamond_square(4, 2, out=field)
    expect(f"{name}: field", np.array_equal(field.array, cernita.diamond_square(4, 2, dtype="float32")))
    cernita.free_contexts()

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "line.yaml")
    with open(path, "w") as file:
        file.write("classes: [{name: a, level: 0.5}, {name: b, level: 0.7}, {name: c}]\n"
                   "chain: [contours, ranklet: {windows: 4}]\n")
    chain = cernita.Chain.from_yaml(path)
    for make, device, stream in KINDS.values():
        for photograph in (None, grey):
            opened.clear()
            wanted = chain.judge(maps, photograph)
            got = chain.judge(make(maps), None if photograph is None else make(photograph))
            expect(f"{make}: chain", len(got) > 5 and np.array_equal(got.points, wanted.points)
                   and got.textures.tobytes() == wanted.textures.tobytes()
                   and np.array_equal(got.table["mean_probability"], wanted.table["mean_probability"]))
            if photograph is None:
                expect(f"{make}: chain's context", [(key.memory, key.device, key.stream) for key in opened]
                       == [(1, device, stream)])
    CHAIN_CASES = {
        "photograph on the host": (lambda: chain.judge(CupyArray(maps), grey), TypeError,
                                   "intensity must lie in the same memory as maps"),
        "photograph on another device": (lambda: chain.judge(CupyArray(maps), TorchTensor(grey)), TypeError,
                                         "intensity must lie in the same memory as maps"),
        "photograph on the device": (lambda: chain.judge(maps, CupyArray(grey)), TypeError,
                                     "intensity must lie in the same memory as maps"),
        "maps with gaps": (lambda: chain.judge(CupyArray(wide.transpose(1, 2, 0)[:, ::2])), ValueError,
                           "maps must have no gaps, as none are copied on a device, and the layout hwc; maps.copy()"),
    }
    refused(CHAIN_CASES)
    chain.close()

expect("an array is made on the device of the one read", set(empty_on) == {3})
expect("the stream that DLPack is told", set(asked_streams) == {1})
expect("no strides: dense", same_contours(cernita.find_contours_many(CupyArray(maps, dense=True), 0.5),
                                          cernita.find_contours_many(maps, 0.5)))
for told in (None, 1):
    opened.clear()
    cernita.find_contours_many(CupyArray(maps, stream=told), 0.5)
    expect(f"stream {told} is the default one", opened[-1].stream is None)
    cernita.free_contexts()
for pictures in random.random((1, 20, 30, 3), "f4"), random.random((1, 40, 50, 5), "f4"):
    expect("a batch of one", same_contours(cernita.find_contours_many(Batch(pictures), 0.5),
                                           cernita.find_contours_many(pictures, 0.5)))


def nest(inner):
    """Has another call begin when the next one's results are there and not yet read, as a signal's handler may."""
    wait = _context.Context.wait

    def interrupted(context):
        wait(context)
        _context.Context.wait = wait
        nested.append(inner())

    nested = []
    _context.Context.wait = interrupted
    return nested


other = random.random((900, 900), "f4")
nested = nest(lambda: cernita.find_contours_many(CupyArray(other), 0.5))
expect("a call around another", same_contours(cernita.find_contours_many(CupyArray(maps), 0.5),
                                              cernita.find_contours_many(maps, 0.5)))
expect("a call within another", same_contours(nested[0], cernita.find_contours_many(other, 0.5)))
steps = np.repeat(np.eye(9, dtype="f4"), 2, 1)
expect("DLPack on the host, pixels at the level", [line.tolist() for line in cernita.find_contours(
    DlpackArray(steps, kind=1), 0)] == [line.tolist() for line in cernita.find_contours(steps, 0)])
opened.clear()
host = cernita.morphology(DlpackArray(maps, kind=1), "open")
expect("DLPack on the host", type(host) is np.ndarray and np.array_equal(host, cernita.morphology(maps, "open")))
expect("DLPack on the host opens nothing else", all(key.memory == 0 for key in opened))

half = np.zeros((8, 24), "f4")
class SparseTensor(TorchTensor):
    __module__ = "torch"

    def data_ptr(self):
        raise RuntimeError("Cannot access data pointer")


negated = TorchTensor(maps)
negated.is_neg = lambda: True
CASES = {
    "sparse": (lambda: cernita.find_contours_many(SparseTensor(maps), 0.5), TypeError,
               "maps cannot be read where it lies: Cannot access data pointer"),
    "negative bit": (lambda: cernita.find_contours_many(negated, 0.5), TypeError,
                     "maps must not have PyTorch's negative bit; maps.resolve_neg() has not"),
    "backend": (lambda: cernita.morphology(CupyArray(maps), "open", backend="serial"), ValueError,
                "backend must be auto or cuda for arrays in device memory, not 'serial'"),
    "type": (lambda: cernita.morphology(CupyArray(maps.astype("f8")), "open"), TypeError,
             "array must be of uint8 or float32, not float64"),
    "contours of doubles": (lambda: cernita.find_contours_many(CupyArray(maps.astype("f8")), 1), TypeError,
                            "maps must be of uint8, float16, float32, uint16 or bool, not float64; maps.astype('float32')"),
    "type of PyTorch alone": (lambda: cernita.morphology(TorchTensor(maps, "torch.bfloat16"), "open"), TypeError,
                              "array must be of a type that NumPy has, not torch.bfloat16; array.float() makes it"),
    "out on the host": (lambda: cernita.morphology(CupyArray(maps), "open", out=np.empty_like(maps)), TypeError,
                        "out must lie in device memory, as the array that is read"),
    "out on the device": (lambda: cernita.morphology(maps, "open", out=CupyArray(np.empty_like(maps))), TypeError,
                          "out must lie where the array that is read does, not on device 3"),
    "out on another device": (lambda: cernita.morphology(CupyArray(maps), "open", out=TorchTensor(np.empty_like(maps))),
                              TypeError, "out must lie where the array that is read does, not on device 1"),
    "out is read": (lambda: cernita.morphology(CupyArray(half[:, :12]), "open", out=CupyArray(half[:, 12:])), ValueError,
                    "out must not share memory with the array that is read"),
    "out cannot be written": (lambda: cernita.morphology(
        CupyArray(maps), "open", out=CupyArray(np.empty_like(maps), data=(64, True))), ValueError,
        "out must be writeable"),
    "shape of out": (lambda: cernita.morphology(CupyArray(maps), "open", out=CupyArray(maps[:5])), ValueError,
                     "out must be of shape (40, 50, 3), not (5, 50, 3)"),
    "no library to make arrays": (lambda: cernita.morphology(DlpackArray(maps), "open"), TypeError,
                                  "out must be given: cernita makes arrays of PyTorch, CuPy and Numba alone, not of "
                                  "DlpackArray"),
    "masked": (lambda: cernita.morphology(CupyArray(maps, mask=1), "open"), TypeError, "array must have no mask"),
    "uneven strides": (lambda: cernita.morphology(CupyArray(maps, strides=(7, 5, 3)), "open"), ValueError,
                       "array must have strides of whole elements"),
    "another device": (lambda: cernita.morphology(DlpackArray(maps, kind=10), "open"), TypeError,
                       "array must lie in host memory or on an NVIDIA GPU, not on DLPack's device 10"),
    "empty": (lambda: cernita.morphology(CupyArray(maps[:0]), "open"), ValueError, "array must not be empty"),
}
refused(CASES)

a = _device.DeviceArray(None, 1000, np.dtype("f4"), (2, 3), (3, 1), 0, None)
backwards = _device.DeviceArray(None, 1020, np.dtype("f4"), (2, 3), (-3, -1), 0, None)
expect("extents", a.extent() == (1000, 1024) == backwards.extent())
expect("overlaps", _device.overlap(a, backwards))
behind = _device.DeviceArray(None, 1024, np.dtype("f4"), (2, 3), (3, 1), 0, None)
expect("behind", not _device.overlap(a, behind) and not _device.overlap(behind, a))

print("\n".join(wrong) if wrong else "all as meant")
