"""What a type checker sees of the package: every public name as what it is, for both ways to import it, and a sender
and a grader as users write them. Run with mypy installed, where `import cernita` finds the package."""
import inspect
import pathlib
import re
import subprocess
import sys
import tempfile

import cernita

# A line that must be refused says why: with --strict mypy reports one that it does not refuse.
PROGRAM = """\
from typing import Any

import cernita
from cernita import Alive, Line, Recording, Silence, Unreadable, Verdict, VerdictLog, Verdicts


def send(maps: Any) -> int:
    with Line("tcp://127.0.0.1:5555", views=4, classes=["background", "rot"]) as line:
        accepted: bool = line.wait(5.0) and line.send(maps, fruit=1, view=0)
        return line.close() + accepted


def grade(address: str) -> tuple[int, str]:
    with Verdicts(address, grader=True, alive_ms=100) as verdicts:
        for message in verdicts.messages():
            if isinstance(message, Verdict):
                return message.fruit, message.fail_safe() or str(message.totals["rot"].area_px)
            if isinstance(message, Alive):
                return sum(message.lost.values()), message.state
            if isinstance(message, Silence):
                return message.ms, ""
            if isinstance(message, Unreadable):
                return 0, message.fault
        return 0, ""


def read(folder: str) -> list[int]:
    views: list[int] = [view.fruit for view in Recording(folder)]
    return views + [verdict.fruit for verdict in VerdictLog(folder)]


version: str = cernita.__version__
cernita.Lime  # type: ignore[attr-defined]
from cernita import Verdict5  # type: ignore[attr-defined]
Line(5)  # type: ignore[arg-type]
Recording("a").fruit  # type: ignore[attr-defined]
"""


def checked(folder, text):
    """What mypy says of a program."""
    file = pathlib.Path(folder, "program.py")
    file.write_text(text)
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-executable", sys.executable, "--cache-dir",
                          f"{folder}/cache", file], cwd=folder, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def is_right(name, revealed):
    """A class is called for an object of it, a function is one; all else is a text, as __version__ is."""
    if name == "__version__":
        return revealed == "builtins.str"
    value = getattr(cernita, name)
    if not inspect.isclass(value):
        return revealed.startswith(("def ", "Overload("))
    return revealed.startswith("def ") and f"{value.__module__}.{value.__qualname__}" in revealed.rpartition(" -> ")[2]


def check_names(folder, program, prefix):
    """Returns the faults of all public names after that import."""
    text = program + "".join(f"reveal_type({prefix}{name})\n" for name in cernita.__all__)
    said = checked(folder, text)[1]
    revealed = dict(re.findall(r':(\d+): note: Revealed type is "(.*)"$', said, re.MULTILINE))
    first = program.count("\n") + 1
    return [f"{prefix}{name} is taken for {revealed.get(str(line))}" for line, name in enumerate(cernita.__all__, first)
            if not is_right(name, revealed.get(str(line), ""))]


def main():
    public = {name for name, value in vars(cernita).items() if not name.startswith("_") and not inspect.ismodule(value)}
    faults = [f"cernita.__all__ has not {name}" for name in sorted(public - set(cernita.__all__))]
    with tempfile.TemporaryDirectory() as folder:
        faults += check_names(folder, "import cernita\n", "cernita.")
        faults += check_names(folder, "from cernita import *\n", "")
        status, said = checked(folder, PROGRAM)
    faults += [said] if status else []
    print("\n".join(faults) or f"{len(cernita.__all__)} names are what they are")
    sys.exit(bool(faults))


main()
