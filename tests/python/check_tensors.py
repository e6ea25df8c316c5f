"""Tensors and other libraries' arrays into every function: check_tensors.py LIBRARY TOOLS_PYTHON [--real]

What NumPy's array of the same values gives, a tensor gives, in host memory and on a device; what is refused names the
cause and a cure, and this runs the cure until the call succeeds. By stand-ins (stand_ins.py), with --real by PyTorch,
CuPy and JAX, as far as they are installed, and a device if there is one. Prints what is not as meant; --real a table.
"""
import dataclasses
import os
import re
import sys
import tempfile
import warnings

os.environ["CRN_LIBRARY"] = sys.argv[1]
sys.path.insert(0, sys.argv[2])
REAL = "--real" in sys.argv

import numpy as np

import cernita
from cernita import _context, opencv
from cernita._library import ContextSettings

import stand_ins

if REAL:
    import torch
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
else:
    torch = sys.modules["torch"] = stand_ins.torch_module()
    devices = ("cpu", "cuda")
    settings = _context.ContextSettings
    _context.ContextSettings = lambda *key: ContextSettings(2, key[1], 0, 0, None)  # a device's memory is the host's

warnings.simplefilter("ignore", getattr(np, "exceptions", np).ComplexWarning)
random = np.random.default_rng(11)
wrong, results = [], {}


def expect(what, fine, told=""):
    results[what] = bool(fine)
    if not fine:
        wrong.append(f"{what}: {told}" if told else what)


def tensor_of(array, device="cpu"):
    if REAL:
        return torch.from_numpy(np.array(array)).to(device)
    return stand_ins.Tensor(array, device=device)


def numpy_of(value):
    """A result as NumPy's arrays, in a list."""
    if isinstance(value, cernita.Contours):
        return [value.points, value.offsets, value.planes]
    if isinstance(value, cernita.Defects):
        return [value.points, value.table["area_px"]]
    if isinstance(value, (cernita.Pose, cernita.Roll)):
        return [np.array(dataclasses.astuple(value))]
    if isinstance(value, (list, tuple)):
        return [part for one in value for part in numpy_of(one)]
    if hasattr(value, "cpu"):
        value = value.cpu().numpy()
    return [np.asarray(value.get() if hasattr(value, "get") else value)]


def same(a, b):
    a, b = numpy_of(a), numpy_of(b)
    equal = np.allclose if REAL else np.array_equal  # sums on a device are rounded in another order
    return len(a) == len(b) and all(one.dtype == other.dtype and one.shape == other.shape and equal(one, other)
                                    for one, other in zip(a, b))


# --- every argument that is an array ----------------------------------------------------------------------------------

grey = random.integers(0, 256, (20, 30)).astype("u1")
maps = random.random((20, 30, 2), "f4")
plane = np.ascontiguousarray(maps[:, :, 0])
cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], "f4")
bands = cernita.dwt2(plane, "haar")[1]
folder = tempfile.mkdtemp()
path = os.path.join(folder, "line.yaml")
with open(path, "w") as file:
    file.write("classes: [{name: a, level: 0.5}, {name: b, level: 0.7}]\nchain: [contours]\n")
chain = cernita.Chain.from_yaml(path)
surface, pose = cernita.Surface(["rot"]), cernita.Pose(15, 10, 9, 9)
try:
    line = cernita.Line(f"ipc://{folder}/nobody")
except ImportError:
    line = None


def written(out):
    """The results that went into `out`."""
    array = tensor_of(plane, "cuda") if getattr(out, "is_cuda", False) else plane
    assert cernita.morphology(array, "open", out=out) is out
    return out


def picture_of(array):
    """The array, through a file."""
    file = os.path.join(folder, "a.tif")
    cernita.write_picture(file, array)
    read = cernita.read_picture(file)
    os.unlink(file)
    return read


# Name, the argument, the array that it takes, the call.
CALLS = [
    ("find_contours", "image", plane, lambda x: cernita.find_contours(x, 0.5)),
    ("find_contours, no level", "image", plane, lambda x: cernita.find_contours(x)),
    ("find_contours, no level, u8", "image", grey, lambda x: cernita.find_contours(x)),
    ("find_contours, mask", "mask", plane > 0.1, lambda x: cernita.find_contours(plane, 0.5, mask=x)),
    ("find_contours_many", "maps", maps, lambda x: cernita.find_contours_many(x, 0.5)),
    ("find_contours_many, batch", "maps", np.stack([maps, maps]), lambda x: cernita.find_contours_many(x, 0.5)),
    ("find_contours_many, levels", "levels", np.array([0.25, 0.5]), lambda x: cernita.find_contours_many(maps, x)),
    ("find_contours_many, mask", "mask", plane > 0.1, lambda x: cernita.find_contours_many(maps, 0.5, mask=x)),
    ("morphology", "array", grey, lambda x: cernita.morphology(x, "open")),
    ("morphology, element", "element", cross, lambda x: cernita.morphology(plane, "open", x)),
    ("morphology, heights", "heights", cross, lambda x: cernita.morphology(plane, "open", cross, heights=x)),
    ("morphology, out", "out", np.zeros_like(plane), written),
    ("convolve", "array", plane, lambda x: cernita.convolve(x, cross)),
    ("convolve, kernel", "kernel", cross, lambda x: cernita.convolve(plane, x)),
    ("haar", "array", plane, lambda x: cernita.haar(x, 2)),
    ("write_picture", "array", grey, picture_of),
    ("ranklet", "array", grey, lambda x: cernita.ranklet(x, 4)),
    ("grey_opening", "input", plane, lambda x: cernita.grey_opening(x, size=3)),
    ("grey_erosion, footprint", "footprint", cross, lambda x: cernita.grey_erosion(plane, footprint=x)),
    ("grey_erosion, structure", "structure", cross, lambda x: cernita.grey_erosion(plane, structure=x)),
    ("erode", "src", grey, lambda x: cernita.erode(x, None)),
    ("dilate, kernel", "kernel", cross, lambda x: cernita.dilate(grey, x)),
    ("morphologyEx", "src", plane, lambda x: cernita.morphologyEx(x, opencv.MORPH_OPEN, cross)),
    ("filter2D", "src", plane, lambda x: cernita.filter2D(x, -1, cross)),
    ("filter2D, kernel", "kernel", cross, lambda x: cernita.filter2D(plane, -1, x)),
    ("dwt2", "data", plane, lambda x: cernita.dwt2(x, "haar")),
    ("idwt2", "coeffs", plane[:10, :15], lambda x: cernita.idwt2((x, bands), "haar")),
    ("wavedec2", "data", plane, lambda x: cernita.wavedec2(x, "haar")),
    ("waverec2", "coeffs", plane[:10, :15], lambda x: cernita.waverec2([x, bands], "haar")),
    ("Chain.judge", "maps", maps, chain.judge),
    ("Chain.judge, intensity", "intensity", grey, lambda x: chain.judge(maps, x)),
    ("Surface.find_pose", "photograph", grey, surface.find_pose),
    ("Surface.find_roll, first", "first", grey, lambda x: surface.find_roll(x, grey, pose, pose)),
    ("Surface.find_roll, second", "second", grey, lambda x: surface.find_roll(grey, x, pose, pose)),
]
if line:
    CALLS += [
        ("Line.send", "maps", maps, lambda x: line.send(x, fruit=1, view=0)),
        ("Line.send, intensity", "intensity", grey, lambda x: line.send(maps, fruit=1, view=0, intensity=x)),
    ]

REFUSED = (TypeError, ValueError)
CURE = (r"(?:255 \* )?(?:numpy\.asarray\(NAME\)|\bNAME\b)\.\w+(?:\.astype)?(?:\([^;]*?\)\)?)?(?:\.\w+\([^;]*?\))?"
        r"|numpy\.asarray\(NAME\)")


def cured(argument, call, value, wanted=""):
    """Calls; while it is refused, applies the cure that the message names. The result, and the messages."""
    messages = []
    for _ in range(4):
        try:
            return call(value), messages
        except REFUSED as fault:
            messages.append(str(fault))
            found = re.search(CURE.replace("NAME", argument), messages[-1].split(";", 1)[-1])
            if not messages[-1].startswith(argument) or not found:
                break
            try:
                value = eval(found[0], {argument: value, "torch": torch, "numpy": np})
            except (AttributeError, TypeError) as fault:
                messages.append(f"the cure {found[0]} fails: {fault}")
                break
        except Exception as fault:  # of another kind, such as PyTorch's RuntimeError
            messages.append(f"{type(fault).__name__}: {fault}")
            break
    return None, messages


def check(name, argument, call, given, plain, must=None):
    """given: as NumPy's array `plain`, which is refused alike; must: refused, with this method as the cure."""
    stand_ins.looked.clear()
    try:
        reference = call(plain)
    except REFUSED:
        reference = None
    got, messages = cured(argument, call, given)
    if must:
        expect(name, messages and must in messages[0] and got is not None, f"{messages} -> {type(got).__name__}")
    elif reference is not None and not messages:
        expect(name, same(got, reference), "another result")
    else:
        expect(name, messages and got is not None, f"{messages} -> {type(got).__name__}")


# --- PyTorch ----------------------------------------------------------------------------------------------------------

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]
TYPES += ["uint16"] if hasattr(torch, "uint16") else []
CONVERTED = {"int8": 100, "uint8": 255, "bool": 1}


def in_type(array, dtype):
    if array.dtype == np.dtype(dtype):
        return array
    if np.dtype(dtype).kind in "iu" and array.dtype.kind == "f" and array.max() <= 1:
        return (array * 99).astype(dtype)
    return (array > array.mean()) if dtype == "bool" and array.dtype != bool else array.astype(dtype)


def flagged(array, device):
    """Tensors that cannot be read as they are, and the cure's method."""
    real = tensor_of(array, device)
    single = tensor_of(array.astype("f4"), device)
    if not REAL:
        yield "bfloat16", stand_ins.Tensor(array.astype("f4"), "torch.bfloat16", device), ".float()"
        for kind, state, cure in (("a gradient", {"requires_grad": True}, ".detach()"),
                                  ("sparse", {"layout": "torch.sparse_coo"}, ".to_dense()"),
                                  ("quantized", {"quantized": True}, ".dequantize()"),
                                  ("negative bit", {"neg": True}, ".resolve_neg()"),
                                  ("conjugate bit", {"conj": True}, ".resolve_conj()")):
            yield kind, real._with(**state), cure
        yield "a parameter", stand_ins.Parameter(array, device=device, requires_grad=True), ".detach()"
        return
    yield "bfloat16", single.to(torch.bfloat16), ".float()"
    yield "a gradient", single.requires_grad_(), ".detach()"
    yield "a result with a gradient", single * 1, ".detach()"
    yield "a parameter", torch.nn.Parameter(single.detach().clone()), ".detach()"
    yield "sparse", single.detach().to_sparse(), ".to_dense()"
    yield "negative bit", torch.complex(single.detach(), -single.detach()).conj().imag, ".resolve_neg()"
    yield "conjugate bit", torch.complex(single.detach(), single.detach()).conj(), ".resolve_conj()"


for device in devices:
    for name, argument, array, call in CALLS:
        for dtype in TYPES:
            values = in_type(array, dtype)
            check(f"{device}: {name}: {dtype}", argument, call, tensor_of(values, device), values)
        for kind, given, cure in flagged(array, device):
            check(f"{device}: {name}: {kind}", argument, call, given, array, cure)
        if name != "morphology, out":
            for kind, values in (("transposed", np.ascontiguousarray(array.T).T),
                                 ("with gaps", np.repeat(array, 2, 0)[::2])):
                given = (stand_ins.Tensor(values, device=device) if not REAL else
                         torch.from_numpy(np.ascontiguousarray(array.T)).to(device).permute(*range(array.ndim)[::-1])
                         if kind == "transposed" else torch.from_numpy(np.repeat(array, 2, 0)).to(device)[::2])
                check(f"{device}: {name}: {kind}", argument, call, given, array)
    # What a device's tensor is refused for, is seen without a look at its values.
    for dtype in ("int64", "float64", "complex64"):
        given = tensor_of(in_type(plane, dtype), device)
        stand_ins.looked.clear()
        try:
            cernita.find_contours(given)
        except Exception as fault:
            expect(f"{device}: {dtype} is refused by its type", not stand_ins.looked and str(fault).startswith(
                "image must be of uint8, float16, float32, uint16 or bool, not "), f"{fault}, {stand_ins.looked}")
        else:
            expect(f"{device}: {dtype} is refused by its type", device == "cpu", "taken")
    # Pixels at the level, and the level that is not given, as skimage has it: in the picture's own type.
    steps = np.repeat(np.eye(9), 2, 1)
    for dtype in ("uint8", "uint16", "float16", "float32", "bool"):
        if hasattr(torch, dtype):
            values = (steps * (200 if dtype.startswith("u") else 1)).astype(dtype)
            given = tensor_of(values, device)
            for level in (0, None):
                check(f"{device}: level {level}: {dtype}", "image", lambda x: cernita.find_contours(x, level), given,
                      values)
    for values in (steps, plane):
        needy = tensor_of(values.astype("f4"), device)
        needy = needy.requires_grad_() if REAL else needy._with(requires_grad=True)
        for level in (0, 0.4, None):
            try:
                cernita.find_contours(needy, level)
            except Exception as fault:
                expect(f"{device}: a gradient, level {level}", "image.detach()" in str(fault), str(fault))
            else:
                expect(f"{device}: a gradient, level {level}", False, "taken")
meta = torch.empty((4, 4), device="meta") if REAL else stand_ins.Tensor(plane, device="meta")
for name, argument, array, call in CALLS:
    try:
        call(meta)
    except Exception as fault:
        expect(f"meta: {name}", str(fault).startswith(f"{argument} must have values, which tensors on PyTorch's"),
               str(fault))
    else:
        expect(f"meta: {name}", False, "taken")

# --- others -----------------------------------------------------------------------------------------------------------

others = {}
if not REAL:
    others = {"JAX": stand_ins.JaxArray, "JAX on a device": stand_ins.JaxDeviceArray}
else:
    try:
        import cupy
        others["CuPy"] = cupy.asarray
    except ImportError:
        pass
    try:
        import jax
        jax.config.update("jax_enable_x64", True)
        others["JAX"] = lambda values: jax.device_put(values, jax.devices("cpu")[0])
        if jax.default_backend() == "gpu":
            others["JAX on a device"] = jax.device_put
    except ImportError:
        pass
for library, make in others.items():
    for name, argument, array, call in CALLS:
        if name == "morphology, out":
            continue
        if "device" in library and name in ("morphology", "convolve", "haar", "ranklet"):
            continue  # results need `out`, which JAX has not
        for dtype in ("bool", "uint8", "int32", "float32", "float64"):
            values = in_type(array, dtype)
            check(f"{library}: {name}: {dtype}", argument, call, make(values), values)
    for dtype in ("uint8", "uint16", "float32", "bool"):
        values = (steps * (200 if dtype.startswith("u") else 1)).astype(dtype)
        for level in (0, 0.4, None):
            check(f"{library}: level {level}: {dtype}", "image", lambda x: cernita.find_contours(x, level), make(values),
                  values)


class Frame:
    """As a table of pandas: no memory of its own, an array of it all."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype)

    def astype(self, dtype):
        return Frame(self.array.astype(dtype))


class Picture:
    """As Pillow's: the same, without astype()."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


for name, argument, array, call in CALLS:
    masked = np.ma.masked_array(array, np.arange(array.size).reshape(array.shape) == 1)
    check(f"masked: {name}", argument, call, masked, array, f"{argument}.filled(0)")
    if name != "morphology, out":
        check(f"masked, without a mask: {name}", argument, call, np.ma.array(array), array)
    if array.ndim == 2 and name != "morphology, out":
        check(f"np.matrix: {name}", argument, call, np.asmatrix(array), array)
    if "out" in name or name in ("find_contours, mask", "find_contours_many, batch"):
        continue
    for kind in (Frame, Picture):
        for dtype in (array.dtype.name, "float64"):
            values = in_type(array, dtype)
            check(f"{kind.__name__}: {name}: {dtype}", argument, call, kind(values), values)
touching = np.asmatrix(steps)
check("np.matrix at the level", "image", lambda x: cernita.find_contours(x, 0), touching, steps)
for name, call in (("dst", lambda x: cernita.erode(grey, None, x)), ("output", lambda x: cernita.grey_erosion(
        grey, 3, output=x))):
    try:
        call(np.ma.masked_array(grey.copy(), grey > 5))
    except Exception as fault:
        expect(f"masked {name}", f"{name} must not be a masked array" in str(fault), str(fault))
    else:
        expect(f"masked {name}", False, "taken")

chain.close()
if line:
    line.close(0)
os.remove(path)
os.rmdir(folder)
if REAL:
    print(f"PyTorch {torch.__version__}, devices {', '.join(devices)}, others: {', '.join(others) or 'none'}")
    groups = {}
    for what, fine in results.items():
        group = groups.setdefault(what.rpartition(": ")[0] or what, [0, 0])
        group[not fine] += 1
    for group, (passed, failed) in groups.items():
        print(f"{'FAIL' if failed else 'ok  '} {group}: {passed} of {passed + failed}")
print("\n".join(wrong) if wrong else "all as meant")
sys.exit(bool(wrong) and REAL)
