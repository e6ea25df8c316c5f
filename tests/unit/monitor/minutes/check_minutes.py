#!/usr/bin/env python3
"""Reads a file of minutes by the program in src/formats/minutes/README.md, and prints what it adds up to.

    check_minutes.py README FILE

Prints the sums of complete, partial, late, with_defect; then of each class its fruits and areas, by name.
"""
import collections
import re
import sys

readme, path = sys.argv[1:]
text = open(readme, encoding="utf-8").read()
program = {}
exec(re.search(r"```python\n(.*?)```", text, re.S).group(1), program)
lanes = [0] * 4
classes = collections.defaultdict(lambda: [0] * 3)
for _, _, _, by_lane, _, _, by_class in program["minutes"](path):
    for counts in by_lane.values():
        lanes = [a + b for a, b in zip(lanes, counts)]
    for name, sums in by_class.items():
        classes[name] = [a + b for a, b in zip(classes[name], sums)]
print(*lanes)
for name in sorted(classes):
    print(name, *classes[name])
