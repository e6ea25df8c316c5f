#!/usr/bin/env python3
"""Holds Markdown to what is there: links, and files and functions that it names in backticks.

    check_documents.py FOLDER    the links of all documents below FOLDER, as an installation has them

check_tree.py calls it for the tree, where `path/of/a.file`, `name.c` and `crn_function` must exist as well. A
placeholder, `tests/golden/make_<operator>.py`, stands for any text and must fit something. Prints a line per fault;
exit status 1 if there is one.
"""
import posixpath
import re
import sys
from pathlib import Path

COLUMNS_MAX = 140
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
PLACEHOLDER = re.compile(r"<\w+>|\*")
FILE = re.compile(r"[\w./<>*-]+\.(?:c|h|cu|cuh|cpp|py|js|css|cmake|md|svg|abi|symbols)")
FOLDER = re.compile(r"(?:[\w.<>*-]+/)+")
FUNCTION = re.compile(r"(crn_[\w<>]+)(?:\(\))?")
# What a build, its tests or an installation makes, and the folder of a line's keys.
MADE = re.compile(r"(?:build[\w-]*|bin|lib|share)/|clients/$|config\.md$")


def outside_fences(document):
    """Its text without blocks of code, in whose place stand as many lines."""
    return FENCE.sub(lambda block: "\n" * block[0].count("\n"), document.read_text())


def anchors(document):
    """The anchors of its headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", outside_fences(document), re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        again = sum(other == slug or re.fullmatch(re.escape(slug) + r"-\d+", other) is not None for other in found)
        found.add(f"{slug}-{again}" if again else slug)
    return found


def broken_links(document, top):
    """Yields each link of the document that leads nowhere, or out of the folder."""
    for link in LINK.findall(SPAN.sub("", outside_fences(document))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or not target.is_relative_to(top):
            yield f"{link}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link}: no such heading"


class Tree:
    """The names that documents may use: files and folders of the tree, and what its sources call `crn_…`."""

    def __init__(self, paths, words):
        self.operators = "|".join(path.split("/")[2] for path in paths if re.match("stages/openmp/[^/]+/README.md$", path))
        self.starts = ("../", *{path.split("/")[0] + "/" for path in paths if "/" in path})
        folders = {path[:at.start()] for path in paths for at in re.finditer("/", path)}
        self.paths = "\n".join(sorted({*paths, *folders}))
        self.words = "\n".join(sorted(words))

    def pattern(self, name, character):
        """The name as a regular expression: `<operator>` for each of them, other placeholders and `*` for any text."""
        return PLACEHOLDER.sub(lambda found: f"(?:{self.operators})" if found[0] == "<operator>" else f"{character}+",
                               re.sub(r"([.+])", r"\\\1", name))

    def has_path(self, name, folder):
        """Whether it names a file or folder from the root, or from the document's folder or one above that."""
        above = [part + "/" for part in (folder, *(str(parent) for parent in Path(folder).parents)) if part != "."]
        if name.startswith("../"):
            name, above = posixpath.normpath(f"{folder}/{name}"), []
        wanted = self.pattern(name.rstrip("/"), r"[^/\n]")
        return any(re.search(f"^{re.escape(start)}{wanted}$", self.paths, re.MULTILINE) for start in ["", *above])

    def missing(self, span, folder):
        """What the words in backticks name that is not there, or ''."""
        name = span.split()[0].strip(",;:")
        if MADE.match(name):
            return ""
        function = FUNCTION.fullmatch(name)
        if function:
            found = re.search(f"^{self.pattern(function[1], '[a-z0-9_]')}$", self.words, re.MULTILINE)
        elif name.startswith(self.starts):
            found = self.has_path(name, folder)
        elif FOLDER.fullmatch(span) or FILE.fullmatch(span) and "/" in span:  # `programs/` beside `line/`, where it lies
            wanted = self.pattern(name.rstrip("/"), "[^/]")
            found = self.has_path(name, folder) or re.search(f"^{folder}/.*/{wanted}$", self.paths, re.MULTILINE)
        elif FILE.fullmatch(span):
            found = re.search(rf"(?:^|/){self.pattern(span, '[^/]')}$", self.paths, re.MULTILINE)
        else:
            return ""
        return "" if found else name


def long_lines(path, document):
    """Lines to be wrapped, which are not rows of tables or output of programs."""
    for number, line in enumerate(outside_fences(document).splitlines(), 1):
        if len(line) > COLUMNS_MAX and not line.startswith(("|", "    ")):
            yield f"{path}:{number}: {len(line)} characters; wrap it at 120"


def missing_names(path, document, tree):
    text = outside_fences(document)
    for span in SPAN.finditer(text):
        name = tree.missing(span[1], str(Path(path).parent))
        if name:
            yield f"{path}:{text.count(chr(10), 0, span.start()) + 1}: `{name}` names nothing in the tree"


def main():
    top = Path(sys.argv[1]).resolve()
    documents = sorted(top.rglob("*.md"))
    faults = [f"{document.relative_to(top)}: {fault}" for document in documents for fault in broken_links(document, top)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(documents)} documents, {len(faults)} broken links")
    return 1 if faults or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
