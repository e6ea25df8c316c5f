"""Stand-ins for what is not on a developer's machine: PyTorch's tensors, in host memory or as if on a device, and JAX's
arrays. They do what the originals do where a program asks for their memory, errors included; a device's memory is the
host's. `looked` lists what was asked of values."""
import types

import numpy as np

looked = []
NAMES = ("bool", "uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
         "complex128")
_LACKING = {"torch.bfloat16": "float32"}  # NumPy lacks: held as


class Device:
    def __init__(self, kind):
        self.type, self.index = kind, 0 if kind == "cuda" else None

    def __str__(self):
        return self.type


class Tensor:
    __module__ = "torch"

    def __init__(self, array, dtype=None, device="cpu", **state):
        self.array, self.dtype = array, dtype or f"torch.{array.dtype.name}"
        self.device, self.is_cuda = Device(device), device == "cuda"
        self.shape, self.ndim = array.shape, array.ndim
        self.state = {"requires_grad": False, "layout": "torch.strided", "quantized": False, "conj": False, "neg": False,
                      **state}

    requires_grad = property(lambda self: self.state["requires_grad"])
    layout = property(lambda self: self.state["layout"])
    is_quantized = property(lambda self: self.state["quantized"])
    real = property(lambda self: self._with(self.array.real, f"torch.{self.array.real.dtype.name}", conj=False))

    def is_conj(self):
        return self.state["conj"]

    def is_neg(self):
        return self.state["neg"]

    def _with(self, array=None, dtype=None, device=None, **state):
        array = self.array if array is None else array
        return type(self)(array, dtype or self.dtype, device or self.device.type, **{**self.state, **state})

    # what may be made of it

    def detach(self):
        return self._with(requires_grad=False)

    def to_dense(self):
        return self._with(layout="torch.strided")

    def dequantize(self):
        return self._with(quantized=False)

    def resolve_conj(self):
        return self._with(conj=False)

    def resolve_neg(self):
        return self._with(neg=False)

    def cpu(self):
        looked.append("cpu")
        return self._with(device="cpu")

    def to(self, dtype):
        return self._with(self.array.astype(dtype.removeprefix("torch.")), dtype)

    def float(self):
        return self.to("torch.float32")

    def view(self, dtype):
        return self._with(self.array.view(dtype.removeprefix("torch.")), dtype)

    def contiguous(self):
        return self._with(np.ascontiguousarray(self.array))

    def permute(self, *axes):
        return self._with(self.array.transpose(axes))

    def __rmul__(self, factor):
        return self._with(factor * self.array)

    def new_empty(self, shape, dtype):
        return self._with(np.full(shape, 99, dtype.removeprefix("torch.")), dtype)

    def __len__(self):
        return len(self.array)

    def __getitem__(self, index):
        looked.append("[]")
        if isinstance(index, Tensor):
            index = index.array
        return self._with(self.array[index])

    def __iter__(self):
        return (self._with(part) for part in self.array)

    # values

    def _needs(self, what):
        looked.append(what)
        if self.dtype == "torch.uint16":
            raise NotImplementedError(f'"{what}" not implemented for \'UInt16\'')

    def __eq__(self, other):
        self._needs("eq_cuda")
        return self._with(self.array == other.array, "torch.bool")

    def min(self):
        self._needs("min_all")
        return self._with(self.array.min())

    def max(self):
        self._needs("max_all")
        return self._with(self.array.max())

    def __float__(self):
        return float(self.array)

    # its memory

    def _plain(self):
        if self.is_cuda:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                            "host memory first.")
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.layout != "torch.strided":
            raise TypeError(f"can't convert {self.layout} layout tensor to numpy. Use Tensor.to_dense() first.")
        if self.is_quantized or self.dtype in _LACKING:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if self.is_conj() or self.is_neg():
            raise RuntimeError("Can't call numpy() on Tensor that has conjugate or negative bit set.")
        if self.device.type == "meta":
            raise TypeError("can't convert meta device type tensor to numpy.")
        return self.array

    def numpy(self):
        looked.append("numpy")
        return self._plain()

    def __array__(self, dtype=None, copy=None):
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __dlpack__(self, stream=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        if self.layout != "torch.strided":
            raise BufferError("Can't export tensors with layout other than torch.strided")
        return self._plain().__dlpack__()  # of bool and bfloat16, too

    def __dlpack_device__(self):
        if self.device.type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type {self.device} for Dlpack")
        return (2 if self.is_cuda else 1), 0

    @property
    def __cuda_array_interface__(self):
        if not self.is_cuda:
            raise AttributeError("Can't get __cuda_array_interface__ on non-CUDA tensor type")
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. Use var.detach()")
        raise AssertionError("is not for PyTorch's tensors")

    def data_ptr(self):
        if self.layout != "torch.strided":
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.array.ctypes.data

    def stride(self):
        return tuple(stride // self.array.itemsize for stride in self.array.strides)


class Parameter(Tensor):
    """A tensor that another module derives, as torchvision's and MONAI's."""
    __module__ = "another.library"


def torch_module():
    return types.SimpleNamespace(
        _C=None, strided="torch.strided", bfloat16="torch.bfloat16", Tensor=Tensor,
        cuda=types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=0)),
        **{name: f"torch.{name}" for name in NAMES})


class JaxArray:
    """Immutable; its boolean masks select, its arithmetic makes others."""
    __module__ = "jaxlib.xla_extension"

    def __init__(self, array):
        self._array = array.copy()
        self._array.flags.writeable = False
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype

    def __array__(self, dtype=None, copy=None):
        return self._array if dtype is None else self._array.astype(dtype)

    def __dlpack__(self, *, stream=None):
        if self.dtype == np.bool_:
            raise BufferError("Unsupported dtype in DLTensor")
        writable = self._array.copy()  # NumPy exports no others
        return writable.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0

    def astype(self, dtype):
        return type(self)(self._array.astype(dtype))

    def __len__(self):
        return len(self._array)

    def __rmul__(self, factor):
        return type(self)(factor * self._array)

    def __eq__(self, other):
        return type(self)(self._array == np.asarray(other))

    def __getitem__(self, index):
        if isinstance(index, tuple) and any(isinstance(part, (list, np.ndarray)) for part in index):
            raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed")
        return type(self)(np.asarray(self._array[np.asarray(index)]))

    def __setitem__(self, index, value):
        raise TypeError("JAX arrays are immutable and do not support in-place item assignment.")

    def min(self):
        return self._array.min()

    def max(self):
        return self._array.max()


class JaxDeviceArray(JaxArray):
    """Its memory is filled in the background: until block_until_ready() it may hold anything."""
    __module__ = "jaxlib.xla_extension"

    def __init__(self, array):
        super().__init__(array)
        self._memory = np.zeros_like(self._array, order="C")

    def block_until_ready(self):
        self._memory[...] = self._array
        return self

    def __dlpack_device__(self):
        return 2, 0

    @property
    def __cuda_array_interface__(self):
        told = self._memory.__array_interface__
        return {"version": 2, "shape": self.shape, "typestr": self.dtype.str, "strides": None,
                "data": (told["data"][0], False)}
