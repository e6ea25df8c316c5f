"""cernita-workbench --levels against numpy: counts of pixels and of views, precision, recall and F1 at each level.

    check_levels.py BIN FOLDER

Labels are random. Pixels are counted by numpy, outlines by cernita-apply contours and the shoelace formula. Prints what
differs; exit status 1 if anything does.
"""
import csv
import json
import pathlib
import subprocess
import sys

import numpy as np
import tifffile

LEVELS = np.arange(101) / 100
OUTLINES_AT = range(0, 101, 10) # a program for each
AREA_MIN = 4
CLASSES = 4


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def views_of(recording):
    """Fruit, view and maps."""
    with tifffile.TiffFile(recording) as file:
        pages = list(file.pages)
        while pages:
            facts = json.loads(pages[0].description)
            if not facts.get("intensity"):
                yield facts["fruit"], facts["view"], np.stack([page.asarray() for page in pages[:facts["shape"][0]]])
                del pages[1:facts["shape"][0]]
            del pages[0]


def area_of(points):
    x, y = np.array(points).T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def outlined(programs, folder, maps, level):
    """Of each class, whether it has an outline of at least AREA_MIN."""
    tifffile.imwrite(folder / "maps.tif", maps, photometric="minisblack", compression=None)
    run(programs / "cernita-apply", "contours", "--level", level, "--border", "closed", "--backend", "serial",
        folder / "maps.tif", folder / "contours.json")
    found = {one["plane"] for one in json.loads((folder / "contours.json").read_text()) if area_of(one["points"]) >= AREA_MIN}
    return np.array([plane in found for plane in range(len(maps))])


def make_labels(folder, views, names):
    """Random ones: a row for most views and classes, a mask for every other view."""
    random = np.random.default_rng(7)
    rows, masks = {}, {}
    (folder / "labels").mkdir()
    for number, (fruit, view, maps) in enumerate(views):
        for plane in range(CLASSES):
            if random.random() < 0.8:
                rows[fruit, view, plane] = int(random.random() < 0.5)
        if number % 2 == 0:
            mask = random.choice([0, 1, 2, 3, 255], maps.shape[1:]).astype(np.uint8)
            mask[:, :9] = 3 if number % 4 else 1
            tifffile.imwrite(folder / f"labels/{fruit}-{view}.tif", mask)
            masks[fruit, view] = mask
    with open(folder / "labels/labels.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["fruit", "view", "class", "has_defect"])
        writer.writerows([fruit, view, names[plane], has] for (fruit, view, plane), has in rows.items())
        writer.writerow([999, 0, names[1], 1]) # not in the recording
    return rows, masks


def wanted_pixels(views, masks):
    """By class: positives, negatives, and hits and alarms at each level."""
    counts = np.zeros((CLASSES, 2), np.int64)
    found = np.zeros((CLASSES, 2, 101), np.int64)
    for fruit, view, maps in views:
        if (fruit, view) not in masks:
            continue
        mask = masks[fruit, view]
        for plane in range(CLASSES):
            for which, chosen in enumerate((mask == plane, (mask != plane) & (mask != 255))):
                values = maps[plane][chosen].astype(np.float64)
                counts[plane, which] += values.size
                found[plane, which] += (values[:, None] >= LEVELS).sum(0)
    return counts, found


def wanted_views(programs, folder, views, rows, masks):
    """The same of views, at OUTLINES_AT alone."""
    counts = np.zeros((CLASSES, 2), np.int64)
    found = np.zeros((CLASSES, 2, 101), np.int64)
    for fruit, view, maps in views:
        mask = masks.get((fruit, view))
        known = [rows.get((fruit, view, plane), None if mask is None else int((mask == plane).any())) for plane in range(CLASSES)]
        seen = {at: outlined(programs, folder, maps, LEVELS[at]) for at in OUTLINES_AT}
        for plane in range(CLASSES):
            if known[plane] is None:
                continue
            which = 1 - known[plane]
            counts[plane, which] += 1
            for at in OUTLINES_AT:
                found[plane, which, at] += seen[at][plane]
    return counts, found


def compare(what, shown, counts, found, levels):
    """Yields a line for each difference."""
    for plane, name in enumerate(sorted(shown, key=list(shown).index)):
        for at in levels:
            row = shown[name][at]
            (positives, negatives), hits, alarms = counts[plane], found[plane, 0, at], found[plane, 1, at]
            wanted = [hits, alarms, positives, negatives]
            if [int(row[key]) for key in ("hits", "alarms", "positives", "negatives")] != wanted:
                yield f"{what}, {name} at {LEVELS[at]}: {row}, not {wanted}"
            shares = {"precision": hits / (hits + alarms) if hits + alarms else None, "recall": hits / positives,
                      "f1": 2 * hits / (hits + alarms + positives)}
            for key, value in shares.items():
                if (row[key] == "") != (value is None) or (value is not None and abs(float(row[key]) - value) > 1e-15):
                    yield f"{what}, {name} at {LEVELS[at]}: {key} {row[key]}, not {value}"


def check_suggestions(table, yaml, shown, names):
    """The table and the YAML have the level with the largest F1 of the curve by views."""
    for name in names:
        best = max(float(row["f1"]) for row in shown["view"][name][1:-1])
        row = next(line.split() for line in table.splitlines() if line.startswith(f"{name} ".ljust(21) + "view"))
        if best == 0:
            if row[-4] != "-" or f'{{name: "{name}", level: 0.5}} # nothing to choose it by' not in yaml:
                yield f"{name}: nothing is found, and yet: {row}, {yaml}"
            continue
        level = float(row[-4])
        if abs(float(shown["view"][name][round(level * 100)]["f1"]) - best) > 1e-15:
            yield f"{name}: {level} is not the best: {row}"
        if f'{{name: "{name}", level: {level:g}}}' not in yaml:
            yield f"{name}: {level:g} is not in {yaml}"


def main():
    programs, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    recording = folder / "fruits.tif"
    run(programs / "cernita-synth", recording, "--fruits", 3, "--size", "90x48", "--classes", CLASSES, "--seed", 5)
    views = list(views_of(recording))
    with tifffile.TiffFile(recording) as file:
        names = json.loads(file.pages[0].description)["classes"]
    rows, masks = make_labels(folder, views, names)
    output = run(programs / "cernita-workbench", "--levels", "--labels", folder / "labels", "--curves", folder / "curves.csv", recording)
    shown = {by: {name: [] for name in names} for by in ("view", "pixel")}
    with open(folder / "curves.csv", newline="") as file:
        for row in csv.DictReader(file):
            shown[row["by"]][row["class"]].append(row)
    faults = [*compare("pixels", shown["pixel"], *wanted_pixels(views, masks), range(101)),
              *compare("views", shown["view"], *wanted_views(programs, folder, views, rows, masks), OUTLINES_AT)]
    table, yaml = output.split("\n\nclass ")[1].split("\n\n")
    faults += check_suggestions(table, yaml, shown, names)
    first = f"{len(views)} views, {len(views)} of them labelled, {len(masks)} with masks"
    if not output.startswith(first):
        faults.append(f"{output.splitlines()[0]}, not {first}")
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
