#!/usr/bin/python3
"""Pictures of what every function of the package does: gallery.py FOLDER

Writes a PNG for each of them, and index.md with the calls that drew it. Needs matplotlib; all pictures are generated,
the same each time. The package is the one beside this script, or the installed one where this tree has no library built.
"""
import argparse
import os
import pathlib
import sys
from typing import Any, Callable, NamedTuple, Optional

import packages
packages.need("matplotlib", "numpy")

_HERE = pathlib.Path(__file__).resolve().parent
if not os.environ.get("CRN_LIBRARY") and not (_HERE.parents[1] / "build" / "lib" / "libcernita.so").exists():
    sys.path = [path for path in sys.path if pathlib.Path(path).resolve() != _HERE] + [str(_HERE)]

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import cernita
from cernita import opencv

SIDE = 129
DETAIL = 60  # details of the fruit's own outline go beyond it


def coordinates():
    return np.mgrid[-1:1:SIDE * 1j, -1:1:SIDE * 1j]


def fruit():
    """A round fruit with spots on a dark ground, uint8."""
    y, x = coordinates()
    skin = 150 + .35 * (cernita.diamond_square(7, seed=4, dtype="float32") - 128) - 60 * (x * x + y * y)
    for cx, cy, r, depth in ((-.3, .2, .16, 90), (.35, -.25, .1, 80), (.1, .5, .07, 110), (.45, .3, .03, 100),
                             (-.1, -.5, .03, -70), (-.5, -.3, .025, -80)):
        skin -= depth / (1 + np.exp(np.minimum(((x - cx)**2 + (y - cy)**2 - r * r) * 400, 50)))
    return np.clip(np.where(x * x + y * y < .85, skin, 12), 0, 255).astype("u1")


def probability(picture):
    """What a CNN might make of it: how likely a pixel is a dark spot."""
    local = opencv.filter2D(picture, opencv.CV_32F, np.full((5, 5), 1 / 25))
    ground = cernita.grey_closing(local, footprint=disk(51))
    y, x = coordinates()
    return ((x * x + y * y < .75) / (1 + np.exp(-(ground - local - 35) / 8))).astype("f4")


def disk(side):
    r = np.arange(side) * 2 - (side - 1)
    return (r[:, None]**2 + r**2 <= (side - 1)**2).astype("u1")


class Panel(NamedTuple):
    title: str
    picture: Any
    more: Optional[Callable[[Any], None]] = None  # draws something else on the axes
    reach: float = 0  # the colours go from -reach to reach; 0: uint8 from 0 to 255, others over the values that they have


def on_own_scale(title, picture):
    """A picture of few dark values, drawn so that they can be told apart."""
    return Panel(f"{title} ({picture.min()} to {picture.max()})", picture.astype("f4"))


class Gallery:
    def __init__(self, folder):
        self.folder, self.lines = folder, ["# Gallery\n"]
        folder.mkdir(parents=True, exist_ok=True)

    def draw(self, name, panels, calls, columns=4):
        rows = -(-len(panels) // columns)
        figure, axes = plt.subplots(rows, min(columns, len(panels)), squeeze=False, layout="constrained",
                                    figsize=(3 * min(columns, len(panels)), 3.2 * rows))
        for axis in axes.flat:
            axis.axis("off")
        for axis, panel in zip(axes.flat, panels):
            scale = {"cmap": "viridis"}
            if panel.reach:
                scale = {"cmap": "RdBu_r", "vmin": -panel.reach, "vmax": panel.reach}
            elif panel.picture.dtype == np.uint8:
                scale = {"cmap": "gray", "vmin": 0, "vmax": 255}
            axis.imshow(panel.picture, **scale)
            axis.set_title(panel.title, fontsize=9)
            if panel.more:
                panel.more(axis)
        figure.savefig(self.folder / f"{name}.png", dpi=110)
        plt.close(figure)
        self.lines.append(f"## {name}\n\n![{name}]({name}.png)\n\n```python\n{calls}\n```\n")

    def finish(self):
        (self.folder / "index.md").write_text("\n".join(self.lines))


def draw_contours(gallery, picture):
    maps = probability(picture)

    def outlines(level, **how):
        def draw(axis):
            for line in cernita.find_contours(maps, level, **how):
                axis.plot(line[:, 1], line[:, 0], linewidth=1.2, color="#d1495b")
        return draw
    gallery.draw("contours", [Panel("the picture", picture), Panel("a map of probabilities", maps),
                              Panel("level 0.5", picture, outlines(.5)), Panel("level 0.1", picture, outlines(.1))],
                 "find_contours(maps, 0.5)\nfind_contours(maps, 0.1)")


def draw_morphology(gallery, picture):
    alike = "grey_erosion", "grey_dilation", "grey_opening", "grey_closing"
    differences = "morphological_gradient", "white_tophat", "black_tophat"
    gallery.draw("morphology", [Panel("the picture", picture)] +
                 [Panel(name, getattr(cernita, name)(picture, footprint=disk(11))) for name in alike] +
                 [on_own_scale(name, getattr(cernita, name)(picture, footprint=disk(11))) for name in differences],
                 "\n".join(f"{name}(picture, footprint=disk(11))" for name in alike + differences))


def dot(side=9):
    picture = np.zeros((side, side), "u1")
    picture[side // 2, side // 2] = 255
    return picture


def draw_elements(gallery):
    """Where the peers differ: only scipy reflects the element in its window, so that a dot becomes the element."""
    element = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], "u1")
    large = dot(21)
    gallery.draw("elements", [
        Panel("an element", np.pad(255 * element, 3)),
        Panel("scipy: a dot becomes the element", cernita.grey_dilation(dot(), footprint=element)),
        Panel("OpenCV: its reflection", opencv.dilate(dot(), element)),
        Panel("a disk of 15", cernita.morphology(large, "dilate", "disk", 15))],
        'grey_dilation(dot, footprint=element)\nopencv.dilate(dot, element)\nmorphology(dot, "dilate", "disk", 15)')


def draw_borders(gallery, picture):
    corner = np.ascontiguousarray(picture[40:72, 20:52])
    modes = ("reflect", "mirror", "nearest", "wrap", "constant")
    gallery.draw("borders", [Panel("the picture", corner)] + [
        Panel(f"mode={mode!r}", cernita.grey_erosion(corner, size=9, origin=4, mode=mode)) for mode in modes],
        "\n".join(f"grey_erosion(picture, size=9, origin=4, mode={mode!r})" for mode in modes), columns=3)


def draw_filters(gallery, picture):
    kernels = {"blur": np.full((9, 9), 1 / 81), "sharpen": np.array([[-1, -1, -1], [-1, 9, -1], [-1, -1, -1]]),
               "sobel": np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])}
    gallery.draw("filters", [Panel("the picture", picture)] +
                 [Panel(name, opencv.filter2D(picture, -1, kernel, delta=128 if name == "sobel" else 0))
                  for name, kernel in kernels.items()],
                 "filter2D(picture, -1, blur)\nfilter2D(picture, -1, sharpen)\nfilter2D(picture, -1, sobel, delta=128)")


def draw_wavelets(gallery, picture):
    even = picture[:128, :128]
    averages, *levels = cernita.wavedec2(even, "haar", level=2)
    loud = [tuple(np.sign(band) * np.maximum(np.abs(band) - 12, 0) for band in level) for level in levels]
    quadrants = cernita.haar(even, 3)
    gallery.draw("wavelets", [
        Panel("the picture", even), Panel("averages of level 2", averages),
        *(Panel(f"{name} details, -{DETAIL} to {DETAIL}", band, reach=DETAIL)
          for name, band in zip(("horizontal", "vertical", "diagonal"), levels[0])),
        Panel("quadrants of 3 levels, log scale", np.sign(quadrants) * np.log1p(np.abs(quadrants)), reach=7),
        Panel("small details removed", cernita.waverec2([averages, *loud], "haar")),
        Panel("the same by haar()", cernita.haar(even, 2, direction="denoise", threshold=12))],
        'averages, coarse, fine = wavedec2(picture, "haar", level=2)\nhaar(picture, 3)\nwaverec2(soft, "haar")\n'
        'haar(picture, 2, direction="denoise", threshold=12)')


def draw_ranklets(gallery, picture):
    names = ("vertical: left brighter", "horizontal: top brighter", "diagonal")
    gallery.draw("ranklets", [Panel("the picture", picture)] +
                 [Panel(name, plane, reach=1) for name, plane in zip(names, cernita.ranklet(picture, 16))],
                 "ranklet(picture, 16)")


def draw_fields(gallery):
    values = (.3, .5, .7, .9)
    gallery.draw("diamond_square", [Panel(f"roughness={value}", cernita.diamond_square(7, 2, roughness=value))
                                    for value in values],
                 "\n".join(f"diamond_square(7, seed=2, roughness={value})" for value in values))


def main():
    parser = argparse.ArgumentParser(description="Pictures of what every function of the package does.")
    parser.add_argument("folder", type=pathlib.Path, help="where they go")
    gallery, picture = Gallery(parser.parse_args().folder), fruit()
    draw_contours(gallery, picture)
    draw_morphology(gallery, picture)
    draw_elements(gallery)
    draw_borders(gallery, picture)
    draw_filters(gallery, picture)
    draw_wavelets(gallery, picture)
    draw_ranklets(gallery, picture)
    draw_fields(gallery)
    gallery.finish()
    print(gallery.folder / "index.md")


if __name__ == "__main__":
    main()
