#!/usr/bin/env python3
"""Holds the source tree to its rules: sizes, READMEs, who may include whom, one name for one thing.

    tools/source/check_tree.py            the tree that it lies in

Prints a line per fault, `FILE:LINE: what; what to do`, and exits 1 when there was any.
"""
import argparse
import bisect
import collections
import json
import pathlib
import re
import subprocess
import sys

import check_documents

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINES_MAX = 500
# Of a function's lines and arguments, and of a folder's files; above_limits.txt lists what is above them, and why.
LIMITS = {"lines": 50, "arguments": 6, "files": 20}
ABOVE_LIMITS = "tools/source/above_limits.txt"
CURES = {"lines": "split it", "arguments": "take a struct", "files": "make folders in it"}
SOURCES = (".c", ".h", ".cu", ".cuh", ".cpp")
HEADERS = (".h", ".cuh")

# Folders and files from the lowest floor to the highest; a file includes from its own floor and those below. Of two
# names that fit the longer counts.
FLOORS = [
    ["stages/producer"],
    ["stages/base"],
    ["stages/cernita", "stages/cernita_surface"],
    [f"stages/{name}" for name in ("image", "ops", "result", "context", "philox", "kernel/element", "maps")],
    ["stages/serial"],
    ["stages/openmp", "gpu"],
    ["stages/backend"],
    ["stages", "stages/picture"],
    ["stages/config"],
    ["stages/chain"],
    ["src/formats/encoding", "src/formats/keys", "src/formats/slots", "src/formats/view"],
    ["src/formats"],
    ["src/client", "src/http", "src/counts"],
    ["src/service"],
    ["src/recorder"],
    ["src/realtime"],
    ["src/ingest/access"],
    ["src/ingest/peers"],
    ["src/ingest/socket"],
    ["src/ingest"],
    ["src/fruit/values"],
    ["src/fruit/lane"],
    ["src/fruit"],
    ["src/engine"],
    ["src/publish"],
    ["src/surface"],
    ["src/monitor", "src/monitor/drift", "src/monitor/log_messages", "src/monitor/resources", "src/monitor/fruits", "src/monitor/events", "src/monitor/http",
     "src/monitor/http/responses"],
    ["src", "src/control", "src/self_check"],
    ["tools/common", "tools/common/drawing", "tools/common/operators", "tools/common/scene", "tools/common/verdicts"],
    ["tools", "tools/apply", "tools/archive", "tools/bench", "tools/ctl", "tools/record", "tools/replay", "tools/reprocess", "tools/sorter", "tools/synth", "tools/tail",
     "tools/top", "tools/why", "tools/workbench"],
    ["tests"],
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
# On the same floor, but not for each other: an operator's folder, a program's. What they share lies in the folder above
# them, or in tools/common/.
APART = ("stages/openmp/", "gpu/", "tools/")
SHARED = "tools/common/"

# Programs of others have these files in one folder: they include each other by name.
COPIED = ("stages/producer/", "stages/cernita_surface.h")

# What the libraries and programs may include of src/ beside their own folder: the folders of what they link
# (CMakeLists.txt, the table in src/README.md), and counts/, which is headers alone. The longest name that fits counts;
# files of src/ that no name fits belong to cernita_line, and may include what their floor allows.
SOCKETS = ("src/ingest/socket", "src/ingest/peers", "src/ingest/access")
RECORDER = ("src/recorder", "src/service")
FOR_TOOLS = ("src/formats", "src/client", "src/http")
LINKED = {
    "src/formats": (),
    "src/client": ("src/formats",),
    "src/http": (),
    "src/counts": (),
    **{name: (*SOCKETS, "src/formats", "src/counts") for name in SOCKETS},
    **{name: (*RECORDER, "src/formats", "src/counts") for name in RECORDER},
    "tools": FOR_TOOLS,
    "tools/ctl": (*FOR_TOOLS, "src/service/control_socket.h"),  # the sizes of the protocol
    "tools/record": (*FOR_TOOLS, *SOCKETS, *RECORDER),
    "tools/sorter": (*FOR_TOOLS, *RECORDER),
    "tools/reprocess": (*FOR_TOOLS, "src/engine", "src/fruit", "src/ingest", "src/line/outputs.h", "src/publish", "src/surface"),
    "tools/bench": ("src",),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
TYPE = re.compile(r"^typedef\s+(?:struct|union|enum)\s*\w*\s*\{.*?^\}\s*(?:\w+\(.*?\)\s*)?(\w+)\s*;", re.M | re.S)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)  # or a text, in which /* begins none
NAME = re.compile(r"\bcrn_\w+")
FILE = re.compile(r"(?<![\w./<-])(?!_)[\w/-]+\.(?:c|cu|cuh|md)\b")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)


def tracked():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    return [path for path in listed.splitlines() if (ROOT / path).is_file()]


def floor(path):
    parts = path.split("/")
    names = [path.rsplit(".", 1)[0]] + ["/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]
    return next((FLOOR[name] for name in names if name in FLOOR), None)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def neighbours(path, included):
    """Whether both lie in folders that stand apart, say two operators'."""
    for prefix in APART:
        if path.startswith(prefix) and included.startswith(prefix) and not included.startswith(SHARED):
            folder, inner, _ = included[len(prefix):].partition("/")
            return bool(inner) and not path.startswith(f"{prefix}{folder}/")
    return False


def within(path, folder):
    return path == folder or path.startswith(f"{folder}/")


def unlinked(path, included):
    """Whether a library or program includes what it does not link."""
    own = max((name for name in LINKED if within(path, name)), key=len, default=None)
    return own is not None and within(included, "src") and \
        not any(within(included, folder) for folder in (own, *LINKED[own]))


def check_includes(path, text):
    own = floor(path)
    for found in INCLUDE.finditer(text):
        included = found.group(1)
        beside = f"{path.rpartition('/')[0]}/{included}"
        if path.startswith(COPIED) and (ROOT / beside).is_file():
            included = beside
        where = f"{path}:{line_of(text, found.start())}"
        other = floor(included)
        if other is None or not (ROOT / included).is_file():
            yield f"{where}: '{included}' is not a path from the root; include files by their whole path"
        elif own is not None and other > own:
            yield f"{where}: '{included}' is on a higher floor; see FLOORS in tools/source/check_tree.py"
        elif unlinked(path, included):
            yield f"{where}: '{included}' is of a library that this does not link; see LINKED in tools/source/check_tree.py"
        elif neighbours(path, included):
            yield f"{where}: '{included}' belongs to a neighbour; move what both need to where both may look"


def check_cycles(texts):
    graph = {path: [name for name in INCLUDE.findall(text) if name in texts] for path, text in texts.items()}
    state = {}

    def visit(path, trail):
        state[path] = "open"
        for name in graph[path]:
            if state.get(name) == "open":
                yield f"{path}: includes itself by way of {' -> '.join(trail[trail.index(name):] + [name])}" \
                    if name in trail else f"{path}: includes itself"
            elif name not in state:
                yield from visit(name, trail + [name])
        state[path] = "done"

    for path in sorted(graph):
        if path not in state:
            yield from visit(path, [path])


def check_names(texts):
    """A type in no two files, and in headers no macro without a prefix."""
    types = collections.defaultdict(dict)
    for path, text in texts.items():
        for found in TYPE.finditer(text):
            types[found.group(1)].setdefault(path, line_of(text, found.start(1)))
        if path.endswith(HEADERS):
            for found in MACRO.finditer(text):
                name = found.group(1)
                if not name.startswith(("CRN_", "crn_")) and f"#undef {name}\n" not in text:  # of another's header
                    yield f"{path}:{line_of(text, found.start())}: macro {name} in a header; begin it with CRN_"
    for name, places in sorted(types.items()):
        (first, _), *others = sorted(places.items())
        for path, line in others:
            yield f"{path}:{line}: type {name} is also defined in {first}; give one of them another name"


def check_sizes(paths):
    for path in paths:
        if path.endswith(SOURCES + (".py",)) or (path.startswith("tools/") and "." not in path.rsplit("/", 1)[1]):
            lines = (ROOT / path).read_bytes().count(b"\n")
            if lines > LINES_MAX:
                yield f"{path}: {lines} lines; {LINES_MAX} is the limit: split it"


def arguments(signature):
    """How many a C function with this signature, `(int a, void (*b)(int, int))`, takes."""
    inner, depth, count = signature[1:-1].strip(), 0, 1
    for character in inner:
        depth += (character in "([<") - (character in ")]>")
        count += character == "," and depth == 0
    return count if inner not in ("", "void") else 0


def functions(paths):
    """Yields kind, name and figure: each function's lines and arguments, as universal-ctags sees them."""
    listed = subprocess.run(["ctags", "--output-format=json", "--fields=+neS", "--langmap=C:.c.h.cu.cuh", "--kinds-C=f",
                             "-f", "-", "-L", "-"], input="\n".join(path for path in paths if path.endswith(SOURCES)),
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        found = json.loads(line)
        name = f"{found['path']}: {found['name']}"
        yield "lines", name, found.get("end", found["line"]) - found["line"] + 1
        yield "arguments", name, arguments(found.get("signature", "()"))


def check_limits(paths):
    """What is above a limit is listed with exactly its figure, so that the list can only shrink."""
    listed = {}
    for line in (ROOT / ABOVE_LIMITS).read_text().splitlines():
        if line[:1].isdigit():
            figure, kind, name = line.split(" ", 2)
            listed[kind, name] = int(figure)
    files = collections.Counter(path.rsplit("/", 1)[0] for path in paths if "/" in path)
    measured = collections.Counter()
    for kind, name, figure in [*functions(paths), *(("files", folder, count) for folder, count in files.items())]:
        measured[kind, name] = max(measured[kind, name], figure)
    for (kind, name), figure in measured.items():
        allowed = max(LIMITS[kind], listed.get((kind, name), 0))
        if figure > allowed:
            yield f"{name} has {figure} {kind}; {allowed} is the limit: {CURES[kind]}"
    for (kind, name), figure in listed.items():
        if measured[kind, name] < figure:
            yield f"{ABOVE_LIMITS}: {name} has {measured[kind, name]} {kind}, not {figure}: change or remove its line"


def check_readmes(paths):
    folders = {path.rsplit("/", 1)[0] for path in paths if "/" in path and not path.startswith(".")}
    for folder in sorted(folders):
        if not folder.startswith("tests/") and f"{folder}/README.md" not in paths:
            yield f"{folder}/README.md: missing; say what lives there, what it may include, how to add one more"


def check_comments(paths, texts):
    """Files and functions that comments name exist; `crn_noun_…` may be the beginning of several names."""
    names = sorted({name for text in texts.values() for name in NAME.findall(COMMENT.sub(" ", text))})
    files = {"/" + path for path in paths}
    for path, text in texts.items():
        for comment in (found for found in COMMENT.finditer(text) if found[0][0] == "/"):
            for found in NAME.finditer(comment[0]):
                after = bisect.bisect_left(names, found[0])
                if found[0].islower() and not (after < len(names) and names[after].startswith(found[0])):
                    yield f"{path}:{line_of(text, comment.start() + found.start())}: {found[0]} names nothing"
            for found in FILE.finditer(comment[0]):
                if not any(file.endswith("/" + found[0]) for file in files):
                    yield f"{path}:{line_of(text, comment.start() + found.start())}: there is no file {found[0]}"


def check_markdown(paths, texts):
    """Links, and files and functions in backticks; the changelog tells of some that are gone."""
    others = [path for path in paths if path.endswith((".py", ".symbols"))]
    words = {word for text in (*texts.values(), *((ROOT / path).read_text() for path in others))
             for word in re.findall(r"\bcrn_\w+", text)}
    tree = check_documents.Tree(paths, words)
    for path in paths:
        if path.endswith(".md"):
            yield from (f"{path}: {fault}" for fault in check_documents.broken_links(ROOT / path, ROOT))
            yield from check_documents.long_lines(path, ROOT / path)
            if not path.endswith("CHANGELOG.md"):
                yield from check_documents.missing_names(path, ROOT / path, tree)


def main():
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    paths = tracked()
    texts = {path: (ROOT / path).read_text() for path in paths if path.endswith(SOURCES)}
    faults = list(check_sizes(paths)) + list(check_readmes(paths)) + list(check_limits(paths))
    for path, text in texts.items():
        faults += check_includes(path, text)
    faults += check_cycles(texts)
    faults += check_names(texts)
    faults += check_comments(paths, texts)
    faults += check_markdown(paths, texts)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
