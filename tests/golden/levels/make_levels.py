#!/usr/bin/python3
"""Writes levels.txt: precision, recall, F1 and the suggested levels of random labels, for test_levels_golden.c.

Shares are numpy's, levels are chosen with exact fractions. A case: `case ITEMS`, ITEMS lines `HIGHEST HAS_DEFECT`
(the index of the highest level at which the item is found, -1 for none), 101 lines `PRECISION RECALL F1`, `best INDEX`,
and `at_recall` with an index for each recall 0, 0.01, … 1; -1: none.
"""
import pathlib
from fractions import Fraction

import numpy as np

LEVELS = 101


def middle_of_best(scores):
    """The middle of the longest series of the largest scores but for levels 0 and 1; None is no score."""
    scores = [None, *scores[1:-1], None]
    best = max((score for score in scores if score is not None), default=None)
    if best is None:
        return -1
    series, start = [], None
    for i, score in enumerate([*scores, None]):
        if score == best and start is None:
            start = i
        elif score != best and start is not None:
            series.append((i - start, -start))
            start = None
    length, start = max(series)
    return -start + (length - 1) // 2


def suggestions(hits, found, positives):
    """The index with the largest F1, and those by recall."""
    f1 = [Fraction(2 * int(h), int(n) + positives) if h else None for h, n in zip(hits, found)]
    at_recall = []
    for percent in range(LEVELS):
        reach = [positives and 100 * int(h) >= percent * positives for h in hits]
        at_recall.append(middle_of_best([Fraction(int(h), int(n)) if ok and n else None
                                         for ok, h, n in zip(reach, hits, found)]))
    return middle_of_best(f1), at_recall


def make_case(random, items, share, noise):
    has_defect = random.random(items) < share
    highest = np.clip(np.rint(np.where(has_defect, 70, 30) + noise * random.standard_normal(items)), -1, LEVELS - 1).astype(int)
    found_at = highest[:, None] >= np.arange(LEVELS)
    hits = (found_at & has_defect[:, None]).sum(0)
    found = found_at.sum(0)
    positives = int(has_defect.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = hits / found
        recall = hits / np.float64(positives)
        f1 = np.where(hits > 0, 2 / (1 / precision + 1 / recall), 0 if positives else np.nan)
    lines = [f"case {items}", *(f"{level} {int(has)}" for level, has in zip(highest, has_defect)),
             *(" ".join(f"{value:.17g}" for value in row) for row in zip(precision, recall, f1))]
    best, at_recall = suggestions(hits, found, positives)
    return [*lines, f"best {best}", "at_recall " + " ".join(map(str, at_recall))]


def main():
    random = np.random.default_rng(29)
    cases = [(60, 0.4, 4), (80, 0.3, 15), (120, 0.1, 30), (40, 0.5, 60), (30, 0, 20), (30, 1, 20), (1, 1, 0)]
    lines = [line for case in cases for line in make_case(random, *case)]
    (pathlib.Path(__file__).parent / "levels.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
