"""What a program's --help says, as parts: the usage, paragraphs, rows of a name and its text, the exit status.

All programs print it in one form (tools/common/options.c, and argparse for those in Python)."""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# A row: two blanks or more, a name, then its text behind two blanks or more, or on the next line.
ROW = re.compile(r"^(?P<left> {2,8}(?P<name>\S+(?: \S+)*))(?:(?P<gap> {2,})(?P<text>\S.*))?$")
OPTION = re.compile(r"^(?:-(?P<short>\w)(?: [A-Z]\S*)?, )?(?:--(?P<long>[\w-]+)(?:[ =](?P<value>\S.*))?|-(?P<alone>\w))$")
CHOICES = re.compile(r"(?:^|[:;] )((?:[\w-]+, )*[\w-]+ or [\w-]+)(?: \([\w.-]+\))?(?:$|,)")


@dataclass
class Row:
    """An option, a subcommand or an operand."""

    name: str
    text: str = ""

    @property
    def option(self):
        """The parts of an option: short, long, value; None: it is none."""
        return OPTION.match(self.name)

    @property
    def choices(self):
        """The words that its value may be; empty: anything."""
        braces = re.search(r"\{([^}]*)\}", self.name)
        if braces:
            return braces[1].split(",")
        found = CHOICES.search(self.text)
        words = re.split(", | or ", found[1]) if found else []
        return words if self.option and self.option["value"] not in words else []


@dataclass
class Help:
    """A program's --help."""

    program: str
    usage: list = field(default_factory=list)
    parts: list = field(default_factory=list)  # in order: a paragraph, a list of lines; or a list of rows
    exit_status: str = ""

    @property
    def rows(self):
        """All rows."""
        return [row for part in self.parts if isinstance(part[0], Row) for row in part]

    @property
    def options(self):
        """The rows that are options."""
        return [row for row in self.rows if row.option]

    @property
    def commands(self):
        """The subcommands: those of the rows, or of the usage line, as in "program one|other [options]"."""
        named = [row.name.split()[0] for row in self.rows if re.match(r"[a-z][a-z-]+( |$)", row.name)]
        named = [name for name in dict.fromkeys(named) if name != self.program]
        listed = re.match(r"\S+ ([a-z-]+(?:\|[a-z-]+)+)(?: |$)", self.usage[0])
        return named or (listed[1].split("|") if listed else [])

    @property
    def clause(self):
        """What it does, in one clause without a full stop."""
        text = " ".join(line.strip() for line in self.parts[0])
        first = re.split(r"[.:;](?: |$)", text)[0]
        return first[0].lower() + first[1:] if not first[1:2].isupper() else first


def _block(lines):
    """A block without blank lines, as rows where every line belongs to one, else as a paragraph."""
    rows, indent = [], None
    for line in map(str.rstrip, lines):
        depth = len(line) - len(line.lstrip())
        found = ROW.match(line)
        if indent is not None and depth > indent + 4 and rows:
            rows[-1].text += (" " if rows[-1].text else "") + line.strip()
        elif found and (found["text"] or found["name"].startswith("-")):
            # the short option's place is left blank before a long one alone
            indent = depth if indent is None else min(indent, depth)
            rows.append(Row(found["name"], found["text"] or ""))
        else:
            return list(lines)
    return rows


def parse(program, text):
    """The text of `program --help`."""
    blocks = [block.split("\n") for block in re.split(r"\n\s*\n", text.rstrip("\n"))]
    help_ = Help(program)
    for line in blocks.pop(0):
        line = line.removeprefix("usage: ").strip()
        if help_.usage and not line.startswith(program.split()[0]):
            help_.usage[-1] += " " + line
        else:
            help_.usage.append(line)
    for block in blocks:
        if re.fullmatch(r"(positional arguments|options):", block[0]):
            block = block[1:]
        if block and block[0].startswith("exit status:"):
            help_.exit_status = " ".join(line.strip() for line in block).removeprefix("exit status:").strip()
        elif block:
            help_.parts.append(_block(block))
    return help_


def _output_of(*command):
    """What a program prints; ends this one with a line where it fails."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        why = (ran.stderr.strip().split("\n") or [""])[-1]
        sys.exit(f"{' '.join(command)}: exit status {ran.returncode}: {why}")
    return ran.stdout


def read(program, path, *subcommand):
    """Runs `path subcommand --help`."""
    return parse(" ".join([program, *subcommand]), _output_of(path, *subcommand, "--help"))


def read_all(programs):
    """For each program its help, and those of its subcommands that have one of their own."""
    for path in programs:
        help_ = read(Path(path).name, path)
        own = (read(help_.program, path, command) for command in help_.commands)
        yield [help_, *(one for one in own if one.usage[0].startswith(one.program + " ") and one.usage != help_.usage)]


def version(path):
    """What `path --version` says behind the name."""
    return _output_of(path, "--version").split()[1]
