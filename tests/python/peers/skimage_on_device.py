"""scikit-image's own tests of find_contours, run on cernita with arrays in device memory:

    PYTHONPATH=tools/python:tests/python/peers pytest -p skimage_on_device .../skimage/measure/tests/test_find_contours.py

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


def find_contours(image, *arguments, **more):
    image = np.asarray(image)
    if image.dtype == np.float64:  # not read on a device
        image = image.astype("f4")
    return cernita.find_contours(_to_device(image), *arguments, **more)


skimage.measure.find_contours = find_contours
