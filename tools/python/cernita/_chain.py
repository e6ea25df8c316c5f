"""A line's chain as an object: the maps of a view in, its defects out."""
from __future__ import annotations

import ctypes
import math
import os
import threading
import weakref
from ctypes import POINTER, byref, c_void_p
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np
import numpy.typing as npt

from ._arrays import Operand, arrived, image_of, operand
from ._arguments import choice, number
from ._context import Context, ContextKey, host_key
from . import _library
from ._foreign import to_host, told_of
from ._defects import DEFECT, TEXTURE, Defects
from ._library import BACKENDS, MEMORY_HOST, ChainSettings, Image, check, lib

if TYPE_CHECKING:
    import types

_MAPS = ("uint8", "float16", "float32")


def _copy(address: int | None, count: int, dtype: Any, columns: int = 0) -> npt.NDArray[Any]:
    """An array of its own of what lies there."""
    array = np.empty((count, columns) if columns else count, dtype)
    if count:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)  # type: ignore[arg-type]
    return array


def _settings(levels: Mapping[str, float | None] | None, recipe: str | None) -> ChainSettings:
    """TypeError, ValueError: an argument. Whether the file has these classes and this recipe is for the library to say."""
    if recipe is not None and not isinstance(recipe, str):
        raise TypeError(f"recipe must be a recipe's name, not {recipe!r}")
    if levels is not None and (not isinstance(levels, Mapping) or not all(isinstance(name, str) for name in levels)):
        raise TypeError(f"levels must be a dict of levels by class, such as {{'rot': 0.4}}, not {levels!r}")
    wanted = {name: math.nan if level is None else number(f"levels[{name!r}]", level, 0, 1)
              for name, level in (levels or {}).items()}
    return ChainSettings(
        (recipe or "").encode(), (ctypes.c_char_p * len(wanted))(*[name.encode() for name in wanted]),
        (ctypes.c_double * len(wanted))(*wanted.values()), len(wanted))


class _Opened:
    """A crn_chain and its context, for maps in one kind of memory."""

    def __init__(self, path: str, settings: ChainSettings, key: ContextKey) -> None:
        self.pointer = c_void_p()
        self.context = Context(key)
        self.context.call("crn_chain_open_with", os.fsencode(path), byref(settings), byref(self.pointer))
        count = lib.crn_chain_class_count(self.pointer)
        self.classes = tuple(lib.crn_chain_class_name(self.pointer, index).decode(errors="replace")
                             for index in range(count))
        levels = [lib.crn_chain_class_level(self.pointer, index) for index in range(count)]
        self.levels = {name: level for name, level in zip(self.classes, levels) if not math.isnan(level)}

    def judge(self, maps: Operand, intensity: Operand | None) -> Defects:
        found = POINTER(_library.Defects)()
        failure = lib.crn_chain_judge(self.pointer, byref(maps.image), byref(intensity.image) if intensity else None,
                                      byref(found))
        if failure:
            check(failure, lib.crn_context_error(self.context.pointer).decode(errors="replace"))
        result = found.contents
        return Defects(
            _copy(result.defects, result.defect_count, DEFECT), _copy(result.xy, result.point_count, "<f4", 2),
            _copy(result.textures, result.texture_count, TEXTURE), self.classes, result.truncated)

    def __del__(self) -> None:
        if self.pointer:
            lib.crn_chain_free(byref(self.pointer))  # before its context


class Chain:
    """What cernitad does with the maps of one view: the steps of a line's file, with the same bytes as a result.

    ::

        with Chain.from_yaml("line.yaml") as chain:
            defects = chain.judge(maps)                # maps: f32[height, width, class], 0 to 1
            areas_px = defects.table["area_px"]
            for defect in defects: ...                 # class_name, outline, ...; an object each, on demand

    Calls from several threads wait for each other; threads that are to work at the same time have a Chain each. The
    library works without the GIL. A forked child may go on with it, and works alone, whatever `threads` says. classes: the
    names of the file's classes, in channel order. levels: those in force, by class; classes without one are not outlined.
    """

    def __init__(self, path: str | os.PathLike[str], *, levels: Mapping[str, float | None] | None = None,
                 recipe: str | None = None, backend: str = "auto", threads: int | None = 1) -> None:
        """As from_yaml()."""
        self.path = os.fspath(path)
        self._settings = _settings(levels, recipe)
        self._key = host_key(backend, threads)
        self._lock = threading.Lock()
        self._is_open = True
        self._opened: dict[ContextKey, _Opened] = {}
        opened = self._open(self._key)
        self.classes, self.levels = opened.classes, opened.levels
        _chains.add(self)

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str], *, levels: Mapping[str, float | None] | None = None,
                  recipe: str | None = None, backend: str = "auto", threads: int | None = 1) -> Chain:
        """Opens the chain of a line's file: its `classes`, `chain` and `limits`; other sections are checked and have no
        effect. Files that it names are relative to the working directory. Reserves memory for `limits.points` and
        `limits.defects`.

        levels: of some classes, by name, over those of file and recipe; None: the class is not outlined. recipe: one of
        the file's `recipes`, by name; None: none.
        backend: "auto", "serial", "openmp" or "cuda", for maps in host memory; maps in device memory are worked on
        there. threads: of one call; None: one per core.

        ValueError: an argument, a class or a recipe that the file does not have, or faults in the file, each on a line
        with its place (file:line:column); OSError: the
        file cannot be read, or the backend is missing; MemoryError.
        """
        return cls(path, levels=levels, recipe=recipe, backend=backend, threads=threads)

    def judge(self, maps: Any, intensity: Any = None, *, layout: str = "hwc") -> Defects:
        """The defects of one view, all steps, without a time limit. Time: that of the steps, and O(points x log points
        + pixels inside the outlines).

        maps: a probability per class of the file, [height, width, class] or, with layout "chw", [class, height,
        width]; u8 (p = v/255), f16 or f32. Read in place; only a window with gaps is copied first. That they are
        probabilities is not checked. intensity: the photograph, u8[height, width], in the same memory; without one,
        textures are of the maps. Maps on a device are worked on there, on their current stream.
        The result's arrays are the caller's, in host memory.

        TypeError, ValueError: an argument, which the text names. MemoryError; OSError: a device failed.
        """
        dtype = arrived("maps", maps).dtype
        if dtype.kind in "biu" and dtype != np.uint8:
            raise TypeError(told_of(
                "maps", maps, f"maps must be of uint8, float16 or float32, not {dtype}; maps.astype('uint8') if 255 is "
                              "certainty, maps.astype('float32') if 1 is"))
        source = operand("maps", maps, _MAPS, (3,), layout)
        planes = source.image.planes
        if planes != len(self.classes):
            raise ValueError(f"maps must have {len(self.classes)} planes, the classes of {self.path}, not {planes}; "
                             f"layout is {layout!r}")
        photograph = None if intensity is None else self._photograph(intensity, source)
        if source.memory != MEMORY_HOST and not _is_dense(source.image):
            raise ValueError(told_of(
                "maps", maps, f"maps must have no gaps, as none are copied on a device, and the layout {layout}; "
                              "maps.copy() has none"))
        if source.memory == MEMORY_HOST and not _is_dense(source.image):
            source = operand("maps", np.ascontiguousarray(source.array), _MAPS, (3,), layout)
        with self._lock:
            return self._opened_for(source).judge(source, photograph)

    def _opened_for(self, maps: Operand) -> _Opened:
        """The chain for the memory that the maps lie in: a context each for the host and for every device and stream.
        """
        if not self._is_open:
            raise ValueError("the Chain is closed; open another one")
        if maps.memory == MEMORY_HOST:
            return self._open(self._key)
        return self._open(ContextKey(choice("backend", "cuda", BACKENDS), self._key.threads, maps.memory, maps.device,
                                     maps.stream))

    def _open(self, key: ContextKey) -> _Opened:
        if key not in self._opened:
            self._opened[key] = _Opened(self.path, self._settings, key)
        return self._opened[key]

    @staticmethod
    def _photograph(intensity: Any, maps: Operand) -> Operand:
        """It lies where the maps do."""
        photograph = operand("intensity", intensity, ("uint8",), (2,))
        if (photograph.memory, photograph.device) != (maps.memory, maps.device):
            cure = to_host("intensity", intensity) if maps.memory == MEMORY_HOST else ""
            raise TypeError(f"intensity must lie in the same memory as maps, in host memory or on the same device{cure}")
        if photograph.array.shape != (maps.image.height, maps.image.width):
            raise ValueError(f"intensity must be uint8{[maps.image.height, maps.image.width]}, as high and wide as "
                             f"the maps, not {list(photograph.array.shape)}")
        if photograph.memory == MEMORY_HOST and not photograph.array.flags.c_contiguous:
            dense = np.ascontiguousarray(photograph.array)
            return Operand(dense, image_of(dense))
        return photograph

    def close(self) -> None:
        """Frees its memory, which deletion of the object does as well; results stay. May be called again."""
        with self._lock:
            self._is_open = False
            self._opened.clear()

    def __reduce__(self) -> Any:
        raise TypeError("a Chain cannot be sent to another process; open another there")

    def __enter__(self) -> Chain:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: types.TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cernita.Chain of {self.path}: {len(self.classes)} classes{'' if self._is_open else ', closed'}>"


_chains: weakref.WeakSet[Chain] = weakref.WeakSet()
_leaked: list[object] = []


def _forget_calls() -> None:
    """In the child of a fork: a call that another thread was making never ends there, so its Chain opens the file again.
    """
    for chain in list(_chains):
        if chain._lock.locked():
            _leaked.append(chain._opened)
            chain._opened, chain._lock = {}, threading.Lock()


os.register_at_fork(after_in_child=_forget_calls)


def _is_dense(image: Image) -> bool:
    """True of CHW and HWC without gaps, which the chain reads in place."""
    strides = image.plane_stride, image.row_stride, image.step
    planes, height, width = image.planes, image.height, image.width
    return strides in ((height * width, width, 1), (1, width * planes, planes))


__all__ = ["Chain"]
