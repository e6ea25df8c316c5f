"""What the functions under the names of scipy.ndimage, OpenCV and PyWavelets share."""
