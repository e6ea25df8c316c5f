#!/usr/bin/env python3
"""What cernita-export wrote, for the training of a CNN: coco_dataset.py DIR. PyTorch's Dataset, where it is installed."""
import json
import pathlib
import sys

import numpy as np

import cernita

try:
    from torch.utils.data import Dataset
except ImportError:
    Dataset = object


class CocoViews(Dataset):
    """Pairs of a photograph, f32[1, height, width] from 0 to 1, and masks, f32[class, height, width] of 0 and 1."""

    def __init__(self, folder):
        self.folder, coco = pathlib.Path(folder), json.loads(pathlib.Path(folder, "annotations.json").read_text())
        self.classes = [category["name"] for category in coco["categories"]]
        self.images, self.defects = coco["images"], {image["id"]: [] for image in coco["images"]}
        for defect in coco["annotations"]:
            self.defects[defect["image_id"]].append(defect)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        masks = np.zeros((len(self.classes), image["height"], image["width"]), bool)
        for defect in self.defects[image["id"]]:
            fill(masks[defect["category_id"] - 1], np.reshape(defect["segmentation"][0], (-1, 2)) - 0.5)
        return np.float32(cernita.read_picture(self.folder / image["file_name"]))[None] / 255, np.float32(masks)


def fill(mask, ring):
    """Even-odd: the pixels right of each edge change; those of a bridge, which is passed twice, change back."""
    height, width = mask.shape
    for (x0, y0), (x1, y1) in zip(ring, np.roll(ring, -1, axis=0)):
        rows = np.arange(max(np.ceil(min(y0, y1)), 0), min(np.ceil(max(y0, y1)), height), dtype=int)
        if len(rows):
            mask[rows] ^= np.arange(width) > x0 + ((rows - y0) * (x1 - x0) / (y1 - y0))[:, None]


if __name__ == "__main__":
    views = CocoViews(sys.argv[1])
    pixels = sum(views[index][1].sum((1, 2)) for index in range(len(views)))
    print(f"{len(views)} views;", ", ".join(f"{name} {count:.0f} px" for name, count in zip(views.classes, pixels)))
