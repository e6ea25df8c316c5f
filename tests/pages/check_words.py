#!/usr/bin/python3
"""The words of the live page: every language has the same keys, and every key that the page uses; no browser.

    tests/pages/check_words.py

Prints what is missing, and exits 1 if anything is. The conditions' words are test_conditions' matter.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, SHARED = ROOT / "src/monitor/http/page", ROOT / "src/http/page"
ENTRY = re.compile(r"^(  |    )(\w+): (.*)$")
# Said large, to people who operate the line: no name of a key or program.
LARGE = ("waiting", "not_connected", "connection_lost", "never_connected", "normal", "ready", "idle", "starting", "stopping",
         "misjudged", "no_recipe", "no_alarm", "no_alarm_list", "to_acknowledge", "new_alarm", "alarm_states", "refused",
         "sound_waits", "token_wanted", "token_wrong", "outlet_faults", "outlet_actions", "not_found", "not_found_hint", "lane_normal", "lane_idle", "lane_gone", "why")
IDENTIFIER = re.compile(r"\w[_.]\w")


def read_words(language):
    """The texts by key; those of a table as 'table.key'."""
    found, table = {}, ""
    own, shared = (folder / f"words_{language}.js" for folder in (PAGE, SHARED / "surface"))
    for line in (own.read_text() + shared.read_text()).splitlines():
        entry = ENTRY.match(line)
        if not entry:
            continue
        indent, key, text = entry.groups()
        if indent == "    ":
            found[f"{table}.{key}"] = text
        elif text == "{":
            table = key
            found[key] = ""
        elif text.startswith("{"):
            found[key] = ""
            found.update({f"{key}.{name}": value for name, value in re.findall(r"(\w+): ('[^']*'|\([^,]*)", text)})
        else:
            found[key] = text
    return found


def read_scripts():
    """The page's scripts and HTML without its words."""
    files = [*PAGE.glob("*.html"), *PAGE.rglob("*.js"), *SHARED.rglob("*.js")]
    return "\n".join(path.read_text() for path in files if not path.name.startswith("words_"))


def find_faults():
    languages = re.findall(r"'\./words_(\w+)\.js'", (PAGE / "languages.js").read_text())
    words = {language: read_words(language) for language in languages}
    english, scripts = words["en"], read_scripts()
    for language, texts in words.items():
        for key in english.keys() - texts.keys():
            yield f"words_{language}.js: no '{key}', which words_en.js has"
        for key in texts.keys() - english.keys():
            yield f"words_en.js: no '{key}', which words_{language}.js has"
        for key, text in texts.items():
            said = re.sub(r"\$\{[^}]*\}", "", " ".join(re.findall(r"'[^']*'|\"[^\"]*\"|`[^`]*`", text)))
            if key.split(".")[0].removesuffix("_action") in LARGE and IDENTIFIER.search(said):
                yield f"words_{language}.js: '{key}' has an identifier, which operators do not know: {said}"
    for key in set(re.findall(r"say\('(\w+)'|data-(?:word|label)=\"(\w+)\"", scripts)):
        if not (key[0] or key[1]) in english:
            yield f"words_en.js: no '{key[0] or key[1]}', which the page uses"
    faults = re.findall(r'\{\s*"(\w+)",\s*"(?:notice|warning|critical)"', (ROOT / "tools/sorter/monitor/health.c").read_text())
    for key in (f"{table}.{fault}" for fault in faults for table in ("outlet_faults", "outlet_actions")):
        if key not in english:
            yield f"words_en.js: no '{key}', which a sorter reports"
    for key in english:
        if key.startswith(("causes.", "states.", "outlet_faults.", "outlet_actions.")): # the programs' names
            continue
        if not re.search(rf"\b{key.split('.')[-1].removesuffix('_action')}\b", scripts):
            yield f"words_en.js: nothing uses '{key}'"
    reasons = re.findall(r'ROW\(\w+,\s*"(\w+)"', (ROOT / "src/formats/view/reason.h").read_text())
    for reason in reasons:
        if f"['{reason}', " not in (PAGE / "fruit/why.js").read_text():
            yield f"why.js: no words for the reason '{reason}' of a view"
    if len(languages) < 5 or len(english) < 100 or len(reasons) < 10 or len(faults) < 4:
        yield "the words could not be read: their files have another form"


if __name__ == "__main__":
    faults = sorted(find_faults())
    print("\n".join(faults))
    sys.exit(bool(faults))
