"""The Levels mode of the workbench's page."""
import csv
import json
import subprocess

import numpy as np
import tifffile

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from workbench_modes import table_of


def make_labelled(test):
    """A recording of four classes, and random labels of its views: their files."""
    recording, labels = test.folder / "labelled.tif", test.folder / "labels.csv"
    if labels.exists():
        return recording, labels
    subprocess.run([test.programs / "cernita-synth", recording, "--fruits", "4", "--size", "90x48", "--classes", "4", "--seed", "5"],
                   check=True, capture_output=True)
    random = np.random.default_rng(3)
    with tifffile.TiffFile(recording) as file:
        facts = [json.loads(page.description) for page in file.pages if page.description]
    with open(labels, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["fruit", "view", "class", "has_defect"])
        for one in facts:
            if "fruit" in one:
                writer.writerows([one["fruit"], one["view"], name, int(random.random() < 0.4)] for name in one["classes"])
    return recording, labels


def compute(test, language="en", theme="light"):
    """Opens both files, where they are not, and computes."""
    files = make_labelled(test)
    test.page.start(f"{test.workbench.address}#page.mode=levels", language, theme)
    for file in files:
        def is_open(name=file.name):
            return any(one["name"] == name for one in test.workbench.ask("pictures")["pictures"])
        if not is_open():
            test.browser.elements("#file")[0].send_keys(str(file))
            test.browser.wait(f"{file.name} open", is_open)
    test.browser.wait("the choice", lambda: test.browser.run(
        "const form = document.querySelector('#levels .main-action'); return form.checkVisibility()"))
    ActionChains(test.browser.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    test.browser.wait("the table", lambda: table_of(test.page, "#levels table"), 60)


def printed(test, *options):
    """The table and the YAML of the program without a page."""
    recording, labels = make_labelled(test)
    config = test.folder / "levels.yaml"
    config.write_text("classes: [" + ", ".join(f"{{name: {name}, level: 0.5}}" for name in ("background", "rot", "rust", "fresh hail"))
                      + "]\nchain: [{contours: {border: closed, min_area_px: 4}}]\n")
    done = subprocess.run([test.programs / "cernita-workbench", "--levels", "--labels", labels, "--config", config, *options, recording],
                          capture_output=True, text=True, check=True)
    table = [line.rsplit(None, 7) for line in done.stdout.splitlines() if " view " in line]
    return table, done.stdout.split("classes:\n")[1]


def expect_table(test, wanted):
    shown = table_of(test.page, "#levels table")[1:]
    assert len(shown) == len(wanted) > 0, f"{shown}, not {wanted}"
    for row, other in zip(shown, wanted):
        one, other = [text.replace("–", "-") for text in row], [text.strip() for text in other]
        same = [a == b or "." in a and abs(float(a) - float(b)) < 0.0011 for a, b in zip(one, other)] # halves are rounded by habit
        assert len(one) == len(other) and all(same), f"{one}, not {other}"


def levels_are_the_command_s(test):
    """The levels of a labelled recording are those that cernita-workbench --levels prints, by F1 and by recall; so is the YAML."""
    compute(test)
    table, yaml = printed(test)
    expect_table(test, table)
    levels = [line.split("level: ")[1].split("}")[0] for line in yaml.splitlines()]
    shown = test.browser.text("#levels .chain-yaml pre")
    assert [line.split("level: ")[1].strip("}") for line in shown.splitlines()[1:]] == levels, f"{shown}, not {yaml}"
    assert "{name: rot, level: " in shown, shown
    test.keep("levels", both=True)
    for percent in (100, 50):
        test.browser.run("""
            const [rule, recall] = [document.querySelector('#levels select[data-rule]'), document.querySelector('#levels input')];
            rule.value = 'recall';
            recall.value = arguments[0];
            for (const one of [rule, recall]) one.dispatchEvent(new Event('input', { bubbles: true }));""", percent)
        expect_table(test, printed(test, "--recall", str(percent / 100))[0])
    marks = test.browser.elements("#levels .level-curve .mark")
    rows = table_of(test.page, "#levels table")[1:]
    assert len(marks) == sum(row[4] != "–" for row in rows) > 0


LEVEL_TESTS = [levels_are_the_command_s]
