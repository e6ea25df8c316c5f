#!/usr/bin/env python3
"""Makes the manual pages: manual.py --out DIR --documents ROOT PROGRAM…

man1 from what each program's --help says, its subcommands' too; man5 from the documents of the YAML files, whose
tables of keys the programs print. lowdown makes pages of both."""

import argparse
import itertools
import re
import subprocess
import sys
from pathlib import Path

import help_text

# What a terminal of 80 shows of a page.
PAGE_COLUMNS = 73

# Documents that are pages of section 5: the page's name, its clause, and the document below the root.
FILES = {
    "cernita.yaml": ("the file of a line: classes, stages, latency, sockets", "config/README.md"),
    "cernita-sorter.yaml": ("the file of cernita-sorter: rules, outlets, outputs", "tools/sorter/README.md"),
}


def escape(text):
    """Text as Markdown that shows it as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", text)


def option_name(row):
    """`-c, --config FILE`, the value in italics."""
    parts = row.option
    if not parts:
        return f"**{escape(row.name)}**"
    names = [f"-{parts['short'] or parts['alone']}"] if parts["short"] or parts["alone"] else []
    names += [f"--{parts['long']}"] if parts["long"] else []
    value = f" *{escape(parts['value'])}*" if parts["value"] else ""
    return ", ".join(f"**{escape(name)}**" for name in names) + value


def paragraph(lines):
    """A paragraph; indented lines are shown as they are."""
    if all(line.startswith("    ") for line in lines):
        return "\n".join(lines)
    return escape(" ".join(line.strip() for line in lines))


def program_page(help_, others):
    """The Markdown of a program's page; `others` are the pages that it names at its end."""
    text = ["# NAME", f"{help_.program.replace(' ', '-')} - {escape(help_.clause)}", "# SYNOPSIS"]
    text += ["\\\n".join(escape(line) for line in help_.usage), "# DESCRIPTION"]
    for part in help_.parts:
        if isinstance(part[0], help_text.Row):
            rows = (f"{option_name(row)}\n:   {escape(row.text)}" for row in part)
            heading = ["# OPTIONS"] if part[0].option and "# OPTIONS" not in text else []
            text += [*heading, "\n\n".join(rows)]
        else:
            text.append(paragraph(part))
    if help_.exit_status:
        text += ["# EXIT STATUS", escape(help_.exit_status)]
    text += ["# SEE ALSO", ", ".join(f"**{escape(name)}**({section})" for name, section in others)]
    return "\n\n".join(text) + "\n"


def cells_of(line):
    """The cells of a table's row."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def table_as_list(match):
    """A table, as a list of its first cells where it is too wide for a page; else as it was."""
    lines = match[0].strip().split("\n")
    if max(map(len, lines)) <= PAGE_COLUMNS:
        return match[0]
    titles, rows = cells_of(lines[0]), [cells_of(line) for line in lines[2:]]
    items = []
    for first, *others in rows:
        told = [
            f"{title}: {cell}" if title and title != "Meaning" else cell
            for title, cell in zip(titles[1:], others)
            if cell
        ]
        items.append(f"{first or '-'}\n:   {'; '.join(reversed(told)) or '-'}\n")
    return "\n".join(items) + "\n"


def file_page(name, clause, text):
    """The Markdown of a file's page; links are left out, their words stay."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?:^\|.*\|\n){3,}", table_as_list, text, flags=re.M)
    text = re.sub(r"^# .*\n", "", text, count=1)
    return f"# NAME\n\n{name} - {clause}\n\n# DESCRIPTION\n\n{text}"


def write_page(folder, name, section, version, markdown):
    """Writes a page, by lowdown."""
    place = folder / f"man{section}"
    place.mkdir(parents=True, exist_ok=True)
    metadata = {"title": name, "section": section, "source": f"cernita {version}", "volume": "cernita"}
    arguments = [word for key, value in metadata.items() for word in ("-M", f"{key}={value}")]
    made = subprocess.run(
        ["lowdown", "-s", "-Tman", "--out-no-smarty", *arguments], input=markdown, capture_output=True, text=True, check=True
    )
    (place / f"{name}.{section}").write_text(made.stdout)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for man1 and man5")
    parser.add_argument("--documents", type=Path, required=True, help="the root of the source tree")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="a program, in the folder of its build")
    given = parser.parse_args()
    version = help_text.version(given.programs[0])
    pages = [(Path(path).name, 1) for path in given.programs] + [(name, 5) for name in FILES]
    for help_ in itertools.chain.from_iterable(help_text.read_all(given.programs)):
        name = help_.program.replace(" ", "-")
        write_page(given.out, name, 1, version, program_page(help_, [page for page in pages if page[0] != name]))
    for name, (clause, document) in FILES.items():
        text = (given.documents / document).read_text()
        write_page(given.out, name, 5, version, file_page(name, clause, text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
