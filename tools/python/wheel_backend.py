"""Builds the wheel of the package cernita (PEP 517), with the standard library and the tree's own CMake build.

    pip install tools/python

A wheel holds the Python files of cernita/, the programs cernita-export and cernita-report, and libcernita.so, which is
built first, in build/ of the tree or in the folder that CRN_BUILD names, relative to the tree. It needs a tree with its
C sources, so there is no source distribution.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

_HERE = pathlib.Path(__file__).resolve().parent
_TREE = _HERE.parents[1]

# Beside libc: what the library is linked to, so the wheel is not a manylinux one.
_DEBIAN = "libgomp1 libtiff6 libpng16-16 libjpeg62-turbo libyaml-0-2"

_METADATA = """\
Metadata-Version: 2.1
Name: cernita
Version: {version}
Summary: Contours as scikit-image's find_contours gives them, morphology, convolution, Haar, ranklets: fast, on CPU and GPU
Requires-Python: >=3.9
Requires-Dist: numpy>=1.21
Provides-Extra: line
Requires-Dist: pyzmq; extra == 'line'
Requires-Dist: msgpack; extra == 'line'
Description-Content-Type: text/markdown

One import instead of another:

```python
from cernita import find_contours       # instead of: from skimage.measure import find_contours
```

The wheel contains libcernita.so, which needs these libraries of Debian 12 (or their like): {debian}.
"""

_WHEEL = """\
Wheel-Version: 1.0
Generator: cernita ({version})
Root-Is-Purelib: false
Tag: {tag}
"""


def _version():
    """The project's, which CMakeLists.txt states, as PEP 440 writes it."""
    stated = re.search(r"project\(cernita VERSION ([0-9.]+).*?CRN_VERSION_SUFFIX *(\S*)\)",
                       (_TREE / "CMakeLists.txt").read_text(), re.DOTALL)
    return stated[1] + stated[2].replace("-dev", ".dev0")


def _tag():
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def _run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\ncernita: '{' '.join(map(str, command))}' failed as shown above; tools/setup installs "
                 "what the build needs")


def _library(folder):
    """Builds libcernita.so; a copy of it without what only debuggers need, in the folder."""
    if not (_TREE / "stages" / "cernita.h").exists():
        sys.exit(f"cernita: {_TREE} has no C sources: install from a checkout, with pip install tools/python")
    if not shutil.which("cmake"):
        sys.exit("cernita: there is no cmake: tools/setup installs what the build needs; or install a wheel that was "
                 "built elsewhere")
    build = _TREE / (os.environ.get("CRN_BUILD") or "build")
    if not (build / "CMakeCache.txt").exists():
        _run("cmake", "-S", _TREE, "-B", build, *(["-G", "Ninja"] if shutil.which("ninja") else []))
    _run("cmake", "--build", build, "--target", "cernita", "--parallel")
    library = folder / "library"
    shutil.copy(build / "lib" / "libcernita.so", library)
    if shutil.which("strip"):
        _run("strip", "--strip-unneeded", library)
    return library


def _program(name):
    """A program of tools/, for pip to start with the Python that it installs for."""
    _, rest = (_TREE / "tools" / name).read_text().split("\n", 1)
    return f"#!python\n{rest}".encode()


def _report_files():
    """What cernita-report is made of, with the files that it shares with the other pages."""
    package, shared = _TREE / "tools" / "report" / "cernita_report", _TREE / "src" / "http" / "page"
    made = [path for path in package.iterdir() if path.suffix in (".py", ".css", ".js")]
    return sorted([*made, shared / "style.css", shared / "report.css", shared / "licences.txt"], key=lambda path: path.name)


class _Archive:
    """A wheel that is being written; the same files give the same bytes."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record_name):
        lines = "\n".join(self.record + [f"{record_name},,"]) + "\n"
        self.record = []
        self.add(record_name, lines.encode())
        self.zip.close()


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version, tag = _version(), _tag()
    name, info = f"cernita-{version}-{tag}.whl", f"cernita-{version}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        library = _library(pathlib.Path(folder)).read_bytes()
    archive = _Archive(pathlib.Path(wheel_directory) / name)
    package = _HERE / "cernita"
    for path in sorted([*package.rglob("*.py"), *package.rglob("py.typed")]):
        archive.add(path.relative_to(_HERE).as_posix(), path.read_bytes())
    # By its soname: *.so would pass for a module of the package.
    soname = "libcernita.so." + ".".join(version.split(".")[:2])
    archive.add(f"cernita/{soname}", library, 0o755)
    for path in _report_files():
        archive.add(f"cernita_report/{path.name}", path.read_bytes())
    for program in ("export", "report"):
        archive.add(f"cernita-{version}.data/scripts/cernita-{program}", _program(f"{program}/cernita-{program}"), 0o755)
    archive.add(f"{info}/METADATA", _METADATA.format(version=version, debian=_DEBIAN).encode())
    archive.add(f"{info}/WHEEL", _WHEEL.format(version=version, tag=tag).encode())
    archive.close(f"{info}/RECORD")
    return name


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("cernita: there is no source distribution, as the library's sources lie beside this folder: build a wheel "
             "with pip wheel --no-deps tools/python")
