"""scikit-image's own tests of find_contours, run on cernita with arrays in device memory:

    PYTHONPATH=tools/python:tests/line/programs pytest -p skimage_on_device .../skimage/measure/tests/test_find_contours.py

A plugin for pytest: it puts a function in the place of skimage.measure.find_contours that copies the picture to the
device as a CuPy array, or as a PyTorch tensor with CRN_ARRAYS=torch, and finds the contours there.
"""
import os

import numpy as np
import skimage.measure

import cernita


def _to_device(image):
    if os.environ.get("CRN_ARRAYS") == "torch":
        import torch
        return torch.from_numpy(np.array(image)).cuda()
    import cupy
    return cupy.asarray(image)


def find_contours(image, level=None, fully_connected="low", positive_orientation="low", *, mask=None):
    """As skimage's, with its refusals of masks and its default level."""
    image = np.asarray(image)
    if image.ndim != 2:
        raise ValueError(f"Only 2D arrays are supported, not {image.ndim}D")
    if mask is not None:
        if mask.shape != image.shape:
            raise ValueError("Parameters array and mask must have the same shape.")
        if not np.can_cast(mask.dtype, bool, casting="safe"):
            raise TypeError("Parameter mask must be a binary array.")
    if level is None:
        level = (np.nanmin(image) + np.nanmax(image)) / 2
    found = cernita.find_contours_many(_to_device(image.astype("f4")), level, fully_connected=fully_connected,
                                       positive_orientation=positive_orientation, mask=mask)
    return found.polylines()


skimage.measure.find_contours = find_contours
