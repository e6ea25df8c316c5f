#!/usr/bin/env python3
"""Makes the completions of bash, zsh and fish: completion.py --out DIR PROGRAM…

Each shell gets a file per program, in the folder where it looks for one, from what the program's --help says: options,
the words that a value may be, files where a value is one, subcommands and their own options."""

import argparse
import re
import shlex
import sys
from pathlib import Path

import help_text

FILE_VALUE = re.compile(r"FILE|DIR|PATH|\.(tif|csv|npy|sqlite|png)\b")


def takes_file(row):
    """Whether an option's value is a file, or may be one."""
    return bool(FILE_VALUE.search(row.option["value"] or ""))


def names(row):
    """`-c`, `--config`."""
    short = row.option["short"] or row.option["alone"]
    return ([f"-{short}"] if short else []) + ([f"--{row.option['long']}"] if row.option["long"] else [])


def function_name(program):
    """A name of a shell's function."""
    return "_" + program.replace("-", "_")


# --- bash ---


def bash_options(help_):
    """Lines that complete the values and the names of these options."""
    lines = ["    case $previous in"]
    for row in (row for row in help_.options if row.option["value"]):
        lines.append(f"    {'|'.join(names(row))})")
        if row.choices:
            words = shlex.quote(" ".join(row.choices))
            lines.append(f'        mapfile -t COMPREPLY < <(compgen -W {words} -- "$word")')
        elif takes_file(row):
            lines.append("        compopt -o default")
        lines.append("        return ;;")
    words = " ".join(name for row in help_.options for name in names(row) if name.startswith("--"))
    lines += ["    esac", f'    [[ $word != -* ]] || mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$word")']
    return lines if len(lines) > 3 else lines[2:]


def bash(help_, own):
    """A program's file; `own`: the helps of subcommands with options of their own."""
    name = function_name(help_.program)
    lines = [f"{name}()", "{", "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}"]
    lines.append("    COMPREPLY=()")
    if help_.commands:
        words = " ".join(help_.commands)
        lines.append('    if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then')
        lines += [f'        mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$word")', "        return", "    fi"]
    for command in own:
        called = function_name(command.program.replace(" ", "-"))
        lines.append(f"    [[ ${{COMP_WORDS[1]}} != {command.program.split()[1]} ]] || {{ {called}; return; }}")
    # a word that is no option's name or value is a file
    lines += ["    [[ $word = -* ]] || compopt -o default", *bash_options(help_), "}"]
    for command in own:
        lines += [f"{function_name(command.program.replace(' ', '-'))}()", "{"]
        lines += ["    [[ $word = -* ]] || compopt -o default", *bash_options(command), "}"]
    return "\n".join([*lines, f"complete -F {name} {help_.program}"]) + "\n"


# --- zsh ---


def zsh_arguments(help_):
    """The words of an _arguments call."""
    words = []
    for row in help_.options:
        about = re.sub(r"([\[\]:\\])", r"\\\1", row.text)
        value = ""
        if row.option["value"]:
            kind = f"({' '.join(row.choices)})" if row.choices else "_files" if takes_file(row) else ""
            value = ":" + re.sub(r"([\[\]:\\])", r"\\\1", row.option["value"]) + ":" + kind
        words += [shlex.quote(f"{name}[{about}]{value}") for name in names(row)]
    return " \\\n    ".join([*words, "'*:file:_files'"])


def zsh(help_, own):
    """A program's file."""
    lines = [f"#compdef {help_.program}", ""]
    if help_.commands:
        commands = " ".join(help_.commands)
        lines += ["if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then", f"    compadd {commands}", "    return", "fi"]
    if own:
        lines.append("case $words[2] in")
        for command in own:
            lines += [f"({command.program.split()[1]})", "    shift words; ((CURRENT--))"]
            lines += [f"    _arguments {zsh_arguments(command)}", "    return ;;"]
        lines.append("esac")
    return "\n".join([*lines, f"_arguments {zsh_arguments(help_)}"]) + "\n"


# --- fish ---


def fish_options(program, help_, condition):
    """A `complete` line for each option."""
    for row in help_.options:
        words = ["complete", "-c", program, *condition]
        words += [word for name in names(row) for word in ("-l" if name.startswith("--") else "-s", name.lstrip("-"))]
        if row.option["value"]:
            words += ["-r"]
            words += ["-f", "-a", shlex.quote(" ".join(row.choices))] if row.choices else []
            words += ["-F"] if not row.choices and takes_file(row) else []
            words += ["-f"] if not row.choices and not takes_file(row) else []
        about = row.text.replace("\\", "\\\\").replace("'", "\\'")
        yield " ".join([*words, "-d", f"'{about}'"])


def fish(help_, own):
    """A program's file."""
    program, lines = help_.program, []
    if help_.commands:
        about = {row.name.split()[0]: row.text for row in reversed(help_.rows)}
        for command in help_.commands:
            text = about.get(command, "").replace("'", "\\'")
            words = ["complete", "-c", program, "-n", "__fish_use_subcommand", "-f", "-a", command]
            lines.append(" ".join([*words, "-d", f"'{text}'"]))
    lines += fish_options(program, help_, [])
    for command in own:
        condition = ["-n", f"'__fish_seen_subcommand_from {command.program.split()[1]}'"]
        lines += fish_options(program, command, condition)
    return "\n".join(lines) + "\n"


# Each shell's folder below share, the name of a program's file there, and what makes it.
SHELLS = (
    ("bash-completion/completions", "{}", bash),
    ("zsh/site-functions", "_{}", zsh),
    ("fish/vendor_completions.d", "{}.fish", fish),
)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder `share`")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="a program, in the folder of its build")
    given = parser.parse_args()
    for help_, *own in help_text.read_all(given.programs):
        for folder, name, make in SHELLS:
            place = given.out / folder
            place.mkdir(parents=True, exist_ok=True)
            (place / name.format(help_.program)).write_text(make(help_, own))
    return 0


if __name__ == "__main__":
    sys.exit(main())
