"""The commands that documents, help texts, messages and pages print, each with where it stands.

A command is (where, words, whole): the words from the program's name on; whole if all of them are the command's, as in
a block of code or in backticks. In a sentence those after an unknown word are not, so the reader has to stop there.
"""
import re
import subprocess

PROGRAMS = ("cernita-apply", "cernita-archive", "cernita-bench", "cernita-calibrate", "cernita-keys", "cernita-record",
            "cernita-replay", "cernita-reprocess", "cernita-synth", "cernita-tail", "cernita-top", "cernita-why", "cernita-workbench", "cernitactl", "cernitad")
NAME = re.compile(r"(?<![\w./@-])(?:build/bin/|bin/|@CMAKE_INSTALL_FULL_BINDIR@/)?(" + "|".join(PROGRAMS) +
                  r")(?= [^ ]|$)")
SPAN = re.compile(r"`([^`\n]+(?:\n *(?:// |# |\* )?[^`\n]+)?)`")
STRINGS = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*(?:PRI\w+\s*)?"((?:[^"\\\n]|\\.)*)")*')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SCRIPT_TEXT = re.compile(r"'((?:[^'\\\n]|\\.)*)'|`([^`]*)`")


def words(text):
    """Of a command, without what a shell takes for itself and remarks."""
    text = re.split(r"\s#\s|\s#$|\s[|&;>]|;\s|\s2>|\\n|\n", text)[0]
    return re.findall(r"'[^']*'|[^\s]+", text)


def in_text(where, text, whole):
    """Each command of a text; one of a sentence ends with it."""
    for found in NAME.finditer(text):
        rest = text[found.end(1):]
        if not whole:
            rest = re.split(r"[;)]| \(|\.(?:\s|$)|, |: |\s[–-]\s", rest)[0]
        yield where, [found[1], *words(rest)], whole


def in_document(path, text):
    text = re.sub(r"\\\|", "|", text)
    prose = []
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and (found := re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S+ )*", line)):
            first = NAME.match(line, found.end())
            if first and not re.match(r":|( [\w-]+)?: ", line[first.end():]):
                yield from in_text(f"{path}:{number}", line[found.end():], True)
        else:
            prose.append((number, line))
    for number, line in prose:
        for span in re.findall(r"`([^`]+)`", line):
            if NAME.match(span):
                yield from in_text(f"{path}:{number}", span, True)


def in_c(path, text):
    text = re.sub(r"/\*.*?\*/", lambda remark: re.sub(r"[^\n]", " ", remark[0]), text, flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#include"))
    for found in STRINGS.finditer(text):
        joined = "".join(LITERAL.findall(found[0])).replace('\\"', '"')
        where = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        for line in joined.split("\\n"):
            yield from in_line(where, line)


def in_line(where, line):
    """Commands in backticks, and those in what remains."""
    for span in re.findall(r"`([^`]+)`", line):
        if NAME.match(span):
            yield from in_text(where, span, True)
    yield from in_text(where, re.sub(r"`[^`]+`", "…", line), False)


def in_script(path, text):
    """Of a page's JavaScript: a text that begins with a program's name is a command."""
    for found in SCRIPT_TEXT.finditer(text):
        literal = found[1] or found[2] or ""
        where = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        yield from in_text(where, literal, bool(NAME.match(literal) and "${" in literal))


def in_lines(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        yield from in_line(f"{path}:{number}", line)


READERS = ((r"\.md$", in_document), (r"\.[ch]$|\.cu$", in_c), (r"/page/.*\.js$", in_script),
           (r"\.ya?ml$|\.in$|\.html$|tools/demo$", in_lines))


def in_tree(top):
    """Of all files of the tree but tests."""
    listed = subprocess.run(["git", "-C", top, "ls-files"], capture_output=True, text=True, check=True).stdout
    for path in listed.splitlines():
        reader = next((reader for pattern, reader in READERS if re.search(pattern, path)), None)
        if reader and (not path.startswith("tests/") or path.endswith(".md")):
            yield from reader(path, (top / path).read_text())
