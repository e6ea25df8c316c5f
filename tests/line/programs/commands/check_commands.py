"""Every command that documents, help texts, messages and pages print is one that its program takes.

    check_commands.py BIN [FILE…]    of the tree, or only of these files

Each is given to its program with --help behind it: the program reads all options and their values, and does nothing.
Prints a line per fault; exit status 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

import printed

TOP = pathlib.Path(__file__).resolve().parents[4]
# What a reader puts in for a name in capitals.
SAMPLES = {"N": "1", "S": "1", "F": "1", "MIB": "16", "LANE": "1", "FRUIT": "2", "FRUITS": "1", "EPOCH": "1",
           "HOST:PORT": "127.0.0.1:9464", "ENDPOINT": "ipc:///tmp/x", "TIME": "01:30", "WxH": "8x8", "B": "serial", "OPERATOR": "haar"}
# Words of a sentence behind a program's name.
PROSE = set("asks takes would counts makes has with does is in and or as finds says reads writes of".split())


class Program:
    """A program, or one of its commands, as its help describes it."""

    def __init__(self, folder, command):
        self.command = [f"{folder}/{command[0]}", *command[1:]]
        self.help = subprocess.run([*self.command, "--help"], capture_output=True, text=True, check=True).stdout
        self.values = dict(re.findall(r"^ +(?:-\w, )?(--[\w-]+) ?([A-Zh][^\s]*|F\|max)?(?=\s|$)", self.help, re.MULTILINE))
        self.commands = self._commands()

    def _commands(self):
        if self.command[0].endswith("cernitactl"):
            return set(re.findall(r"^  (\w+)", self.help, re.MULTILINE))
        if self.command[0].endswith("cernita-bench") and len(self.command) == 1:
            return set(re.search(r"usage: cernita-bench (\S+)", self.help)[1].split("|"))
        if self.command[0].endswith("cernita-apply") and len(self.command) == 1:
            return set(re.findall(r"^  ([a-z][\w-]+)", self.help, re.MULTILINE))
        return set()

    def operands_max(self):
        """As many as its usage names."""
        if self.command[0].endswith("cernitactl"):
            return 2
        usage = self.help.splitlines()[0].split(None, 2)[2:]
        usage = re.sub(r"\[options\]|[\[\]]", "", usage[0] if usage else "")
        most = 0
        for one in usage.split(" | "):
            names = re.sub(r"--\S+ \S+", "", one).split()
            most = max(most, 1000 if "…" in one else len(names) - (len(self.command) - 1))
        return most


class Checker:
    def __init__(self, folder):
        self.folder, self.programs = folder, {}

    def program(self, *command):
        if command not in self.programs:
            self.programs[command] = Program(self.folder, command)
        return self.programs[command]

    def arguments(self, program, given, whole):
        """The words that are the command's, with samples for names in capitals; and those that are operands."""
        taken, operands, at = [], [], 0
        while at < len(given):
            word = given[at].strip("[]").rstrip(",:") if not whole else given[at].strip("[]")
            at += 1
            if word in ("…", "\\", "--", "options", "|"):
                continue
            if word.startswith("-") and len(word) > 1:
                word = word.rstrip(".")
                name, equals, value = word.partition("=")
                if program.values.get(name) and not equals and at == len(given):
                    break  # the option is named, without a value
                taken.append(word)
                if program.values.get(name) and not equals:
                    taken.append(self.sample(given[at].strip("[]").rstrip("].,…" if not whole else "]…"), program.values[name]))
                    at += 1
            elif not whole and re.fullmatch(r"[a-z]+['’]?[a-z]*|%\S+", word) and word not in program.commands:
                if program.commands and not operands:
                    operands.append(word)
                break
            else:
                operands.append(self.sample(word, word))
                taken.append(operands[-1])
        return taken, operands

    @staticmethod
    def sample(word, placeholder):
        if word in SAMPLES:
            return SAMPLES[word]
        if re.search(r"[A-Z]{2,}|[$%{…]|^[A-Z]$", word):
            return SAMPLES.get(placeholder.strip("[]"), "x")
        return word.strip("'\"")

    def of_command(self, program, given, whole):
        """The command of a program that has some, the words behind it, and what is wrong."""
        name, first = pathlib.Path(program.command[0]).name, given[0].strip("[]")
        known = sorted(program.commands)
        if "%" in first:
            return None, given, ""
        if first.startswith("-"):  # of one of its commands
            known = [one for one in known if first.split("=")[0] in self.program(name, one).values]
            return (self.program(name, known[0]), given, "") if known else (program, given, "")
        if re.match("[A-Z]", first):
            return self.program(name, known[0]), given[1:], ""
        unknown = [one for one in first.rstrip(",.:").split("|") if one not in program.commands]
        if unknown:
            is_prose = not whole and unknown[0] in PROSE
            return None, given, "" if is_prose else f"'{unknown[0]}' is not a command of {name}"
        return self.program(name, first.rstrip(",.:").split("|")[0]), given[1:], ""

    def fault(self, words, whole):
        """What is wrong with a command, or ''."""
        name, *given = words
        program = self.program(name)
        if program.commands and name != "cernitactl" and given:
            program, given, fault = self.of_command(program, given, whole)
            if fault or not program:
                return fault
        arguments, operands = self.arguments(program, given, whole)
        if name == "cernitactl" and operands:
            unknown = [one for one in operands[0].rstrip(".,:").split("|") if one not in program.commands]
            if unknown and unknown != ["x"]:
                return "" if not whole and unknown[0] in PROSE else f"'{unknown[0]}' is not a command of cernitactl"
        if not arguments:
            return ""
        run = subprocess.run([*program.command, *arguments, "--help"], capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, timeout=60)
        if run.returncode != 0:
            return run.stderr.strip().splitlines()[-1]
        if len(operands) > program.operands_max() and whole and not any("|" in word for word in operands):
            return f"{len(operands)} operands: {program.help.splitlines()[0]}"
        return ""


def main():
    folder = pathlib.Path(sys.argv[1])
    checker, faults, count = Checker(folder), [], 0
    if len(sys.argv) > 2:
        commands = [one for file in map(pathlib.Path, sys.argv[2:]) for pattern, reader in printed.READERS
                    if re.search(pattern, str(file)) for one in reader(str(file), file.read_text())]
    else:
        commands = list(printed.in_tree(TOP))
        for name in printed.PROGRAMS:
            if (folder / name).exists():
                text = checker.program(name).help
                commands += [(f"{name} --help: {one[0]}", *one[1:]) for line in text.splitlines() if not line.startswith(("usage", "      "))
                             for one in printed.in_line("", line)]
    for where, words, whole in commands:
        if len(words) > 1 and (folder / words[0]).exists():
            count += 1
            fault = checker.fault(words, whole)
            if fault:
                faults.append(f"{where}: {' '.join(words)}: {fault}")
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{count} commands, {len(faults)} wrong")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
