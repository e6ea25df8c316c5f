"""What tools/study measures with and leaves behind: medians, tables (Markdown), plots (PNG)."""
import datetime
import os
import pathlib

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from timing import processor, seconds, times_ms

_budget_s = 0.5

COLOURS = {"serial": "#8c8c8c", "openmp 1": "#e08a1e", "source": "#7a4fa3", "cuda": "#2a8f4c",
           "cuda kernels": "#8ccf9f"}


def cores():
    return len(os.sched_getaffinity(0))


def thread_counts(most=None):
    """1, 2, 4, … and the number of processors."""
    most = most or cores()
    counts = [2**i for i in range(12) if 2**i < most]
    return counts + [most]


def set_budget(seconds):
    global _budget_s
    _budget_s = seconds


def budget_s():
    """What is spent on one measurement."""
    return _budget_s


def median_ms(call, budgets=1):
    """The first call is not counted, unless it takes longer than the budget by itself."""
    limit_s = budgets * _budget_s
    first_s = seconds(call)
    if first_s >= 2 * limit_s:
        return first_s * 1e3
    return float(np.median(times_ms(call, 3, 101, limit_s, warm_up=0)))


def show(ms, scaled=False):
    digits = 4 if ms < 0.1 else 3 if ms < 1 else 2 if ms < 100 else 0
    return ("~" if scaled else "") + f"{ms:.{digits}f}"


def output(path):
    """The path of a file to be written, where nothing but a regular file may be."""
    if path.exists() and not path.is_file():
        raise SystemExit(f"tools/study: {path}: is not a regular file; remove it, or name another --out")
    return path


class Report:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.highlights = []  # the panels that tell most, for one picture
        self.text = output(self.folder / "study.md").open("w", encoding="utf-8")
        self.write(f"# Study of {datetime.date.today()}, {cores()} processors, {processor()}\n\n"
                 "Milliseconds are medians. ~: measured on a part of the picture and scaled to the whole.")

    def write(self, text):
        print(text, flush=True)
        self.text.write(text + "\n")
        self.text.flush()

    def table(self, title, header, rows, note=""):
        widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
        line = "| " + " | ".join("{:>%d}" % w for w in widths) + " |"
        lines = ["", f"## {title}", "", line.format(*header), "|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|"]
        lines += [line.format(*map(str, row)) for row in rows]
        self.write("\n".join(lines + (["", note] if note else [])))

    def figure(self, name, panels, width=4.2, height=3.7, columns=3):
        """A picture of several panels, each drawn by a function of its axes."""
        columns = min(columns, len(panels))
        lines = -(-len(panels) // columns)
        figure, axes = plt.subplots(lines, columns, figsize=(width * columns, height * lines), squeeze=False)
        for axis in axes.flat[len(panels):]:
            axis.set_visible(False)
        for axis, draw in zip(axes.flat, panels):
            draw(axis)
            axis.grid(alpha=.3, which="both", linewidth=.5)
            names = axis.get_legend_handles_labels()[1]
            across = len(names) if len(names) < 5 else 3
            if names:  # above the panel, where it hides nothing
                axis.legend(fontsize=7, frameon=False, ncols=across, handlelength=1.5, columnspacing=1,
                            loc="lower center", bbox_to_anchor=(.5, .98))
                axis.set_title(axis.get_title(), fontsize=9, pad=6 + 11 * -(-len(names) // across))
        figure.tight_layout()
        path = output(self.folder / f"{name}.png")
        figure.savefig(path, dpi=110)
        plt.close(figure)
        self.write(f"\n![{name}]({path.name})")


def colour(name):
    if name.startswith("source"):
        return COLOURS["source"]
    return COLOURS.get(name, "#1f6fb4")


def curves(title, x_label, y_label, series, log=True):
    """A panel of lines: series is {name: ([x…], [y…])}; what the sources measured is dashed."""
    def draw(axis):
        for name, (x, y) in series.items():
            style = "--" if name.startswith(("source", "ideal")) else "-"
            axis.plot(x, y, style, marker=".", label=name, color="#999999" if name == "ideal" else colour(name))
        if log:
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
        axis.set(title=title, xlabel=x_label, ylabel=y_label)
    return draw


def bars(title, y_label, names, parts):
    """A panel of stacked bars: parts is {phase: [height per name]}."""
    def draw(axis):
        below = np.zeros(len(names))
        for phase, heights in parts.items():
            axis.bar(names, heights, bottom=below, label=phase, width=.6)
            below += heights
        axis.tick_params(axis="x", labelsize=6, labelrotation=90 if max(map(len, names)) > 4 else 0)
        axis.set(title=title, ylabel=y_label)
    return draw
