"""The Levels mode of the workbench's page."""
import csv
import json
import re
import subprocess

import numpy as np
import tifffile
from PIL import Image

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
    # Other tests leave recordings and labels of their own, of which the newest labels would be chosen.
    test.browser.wait("the choice", lambda: test.browser.run("""
        return [...document.querySelectorAll('#levels select')].slice(0, 2).every((list, i) => {
            const one = [...list.options].find(({ textContent }) => textContent.startsWith(arguments[0][i]));
            if (one) list.value = one.value;
            return one && list.checkVisibility();
        });""", [file.name for file in files]))
    ActionChains(test.browser.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    test.browser.wait("the table", lambda: table_of(test.page, "#levels table"), 60)


def printed(test, *options):
    """The table and the YAML of the program without a page."""
    recording, labels = make_labelled(test)
    if "--labels" not in options:
        options = ("--labels", labels, *options)
    config = test.folder / "levels.yaml"
    config.write_text("classes: [" + ", ".join(f"{{name: {name}, level: 0.5}}" for name in ("background", "rot", "rust", "fresh hail"))
                      + "]\nchain: [{contours: {border: closed, min_area_px: 4}}]\n")
    done = subprocess.run([test.programs / "cernita-workbench", "--levels", "--config", config, *options, recording],
                          capture_output=True, text=True, check=True)
    table = [line.rsplit(None, 7) for line in done.stdout.splitlines() if " view " in line or " pixel " in line]
    return table, done.stdout.split("classes:\n")[1]


def expect_table(test, wanted):
    shown = table_of(test.page, "#levels table")[1:]
    assert len(shown) == len(wanted) > 0, f"{shown}, not {wanted}"
    for row, other in zip(shown, wanted):
        one, other = [text.replace("–", "-").replace(",", "") for text in row], [text.strip() for text in other]
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
            const [rule, recall] = [document.querySelector('#levels select[data-rule]'), document.querySelector('#levels input[type=number]')];
            rule.value = 'recall';
            recall.value = arguments[0];
            for (const one of [rule, recall]) one.dispatchEvent(new Event('input', { bubbles: true }));""", percent)
        expect_table(test, printed(test, "--recall", str(percent / 100))[0])
    marks = test.browser.elements("#levels .level-curve .mark")
    rows = table_of(test.page, "#levels table")[1:]
    assert len(marks) == sum(row[4] != "–" for row in rows) > 0


def make_masks(test):
    """A folder of masks of the recording's views, and rows of some: what has no meaning there is passed over."""
    recording, labels = make_labelled(test)
    folder = test.folder / "apples"
    if folder.exists():
        return recording, folder
    (folder / "within").mkdir(parents=True)
    random = np.random.default_rng(4)
    with open(labels, newline="") as file:
        rows = list(csv.DictReader(file))
    for fruit, view in sorted({(row["fruit"], row["view"]) for row in rows})[::2]:
        mask = random.choice([0, 1, 2, 3, 255], (48, 90), p=[0.4, 0.2, 0.2, 0.1, 0.1]).astype(np.uint8)
        if int(view) % 2:
            tifffile.imwrite(folder / f"{fruit}-{view}.tif", mask)
        else:
            Image.fromarray(mask).save(folder / f"{fruit}-{view}.png")
    with open(folder / "labels.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows[1::3])
    (folder / "notes.txt").write_text("not labels")
    (folder / "within" / "0-0.png").write_text("not labels either")
    return recording, folder


def open_recording(test, recording):
    test.page.start(f"{test.workbench.address}#page.mode=levels")
    if not any(one["name"] == recording.name for one in test.workbench.ask("pictures")["pictures"]):
        test.browser.elements("#file")[0].send_keys(str(recording))
    test.browser.wait(f"{recording.name} open", lambda: recording.name in str(test.browser.texts("#picture option")))


def expect_folder(test, name, folder):
    """The newest labels are chosen; computed, they are what the command finds with the folder."""
    test.browser.wait(f"{name} chosen", lambda: re.fullmatch(rf"{name}(-\d+)?", test.browser.run(
        "const list = [...document.querySelectorAll('#levels select')][1]; return list.selectedOptions[0]?.textContent || ''")))
    test.page.button("#levels", "Compute").click()
    table = test.browser.wait("the table", lambda: test.browser.run("return document.querySelector('#levels .facts')?.textContent"), 60)
    assert " with masks." in table and " 0 with masks" not in table, table
    expect_table(test, printed(test, "--labels", str(folder))[0])


def a_folder_of_masks_is_chosen(test):
    """A folder of labels that is chosen gives what --labels FOLDER prints, by view and by pixel; so does a dropped one."""
    recording, folder = make_masks(test)
    open_recording(test, recording)
    test.browser.elements("#levels input[data-folder]")[0].send_keys(str(folder))
    test.browser.wait_text("#told", "apples is open, ")
    expect_folder(test, "apples", folder)
    test.keep("levels_masks", both=True)
    open_recording(test, recording)
    drop(test, folder)
    test.browser.wait_text("#told", "apples is open, ")
    expect_folder(test, "apples", folder)


def dropped_masks_are_labels(test):
    """Masks that are dropped in the Levels mode are labels; in another mode they are pictures; a folder without any is refused."""
    recording, folder = make_masks(test)
    open_recording(test, recording)
    drop(test, *(path for path in folder.iterdir() if path.is_file() and path.suffix != ".txt"))
    expect_folder(test, "labels", folder)
    drop(test, folder / "within")
    test.browser.wait_text("#told", "within is open, 1 file of labels")
    empty = test.folder / "no labels"
    empty.mkdir(exist_ok=True)
    (empty / "photo.png").write_bytes((test.folder / "grey.png").read_bytes())
    drop(test, empty)
    test.browser.wait_text("#alert", "no labels has neither labels.csv nor a mask")
    test.page.click("tab-operator")
    mask = next(folder.glob("*.png"))
    drop(test, mask)
    test.page.wait_picture(mask.name)


def drop(test, *paths):
    """Files or folders, as the desktop drops them: by the browser's own input."""
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        test.browser.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})


LEVEL_TESTS = [levels_are_the_command_s, a_folder_of_masks_is_chosen, dropped_masks_are_labels]
