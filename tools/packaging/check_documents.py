#!/usr/bin/env python3
"""check_documents.py FOLDER: every relative link of the Markdown files below it leads to a file there, and to a heading
of it. Prints each broken one; exit status 1 if there is one."""
import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(document):
    """The anchors of its headings, as GitHub makes them."""
    found = set()
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        again = sum(other == slug or re.fullmatch(re.escape(slug) + r"-\d+", other) is not None for other in found)
        found.add(f"{slug}-{again}" if again else slug)
    return found


def broken(document, top):
    """Yields each link of the document that leads nowhere, or out of the folder."""
    for link in LINK.findall(CODE.sub("", document.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or not target.is_relative_to(top):
            yield f"{link}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link}: no such heading"


def main():
    top = Path(sys.argv[1]).resolve()
    documents = sorted(top.rglob("*.md"))
    faults = [f"{document.relative_to(top)}: {fault}" for document in documents for fault in broken(document, top)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(documents)} documents, {len(faults)} broken links")
    return 1 if faults or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
