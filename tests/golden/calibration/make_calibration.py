#!/usr/bin/python3
"""Draws chequerboards and writes OpenCV's corners of them: corners.csv, and a PNG each, beside this file.

    tests/golden/calibration/make_calibration.py

Uses Debian's python3-opencv. A board is drawn with 64 rays a pixel, blurred, and gets noise.
"""
import csv
import pathlib

import cv2
import numpy as np

HEIGHT, WIDTH, RAYS = 240, 320, 8
COLUMNS, ROWS = 7, 5
FOLDER = pathlib.Path(__file__).parent

# Pitch in px, turn in degrees, how much shorter along x, growth along x per px, sigma of the blur, of the noise.
BOARDS = {"plain": (30.5, 0, 1, 0, 0.6, 0), "turned": (24.7, 31, 1, 0, 0.8, 0), "inclined": (28, 12, 0.985, 4e-5, 0.8, 1),
          "blurred": (29, 5, 1, 0, 2.5, 2), "noisy": (26, 77, 0.99, 0, 1, 12), "small": (12, 8, 1, 0, 0.6, 2)}


def homography(pitch, turn, shorter, growth):
    """From columns and rows to pixels."""
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    middle = np.array([[1, 0, (WIDTH - 1) / 2], [0, 1, (HEIGHT - 1) / 2], [0, 0, 1]])
    far = np.array([[1, 0, 0], [0, 1, 0], [growth, 0, 1]])
    start = np.array([[pitch, 0, -pitch * (COLUMNS - 1) / 2], [0, pitch, -pitch * (ROWS - 1) / 2], [0, 0, 1]])
    return middle @ far @ np.diag([shorter, 1, 1]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ start


def draw(pitch, turn, shorter, growth, blur, noise):
    y, x = (np.mgrid[0:HEIGHT * RAYS, 0:WIDTH * RAYS] + 0.5) / RAYS - 0.5
    u, v, depth = np.einsum("ij,jyx->iyx", np.linalg.inv(homography(pitch, turn, shorter, growth)), np.stack([x, y, np.ones_like(x)]))
    u, v = u / depth, v / depth
    inside = (u > -1) & (u < COLUMNS) & (v > -1) & (v < ROWS)
    values = np.where(inside & ((np.floor(u) + np.floor(v)) % 2 == 0), 40.0, 200.0)
    values = cv2.GaussianBlur(values.reshape(HEIGHT, RAYS, WIDTH, RAYS).mean((1, 3)), (0, 0), blur)
    values += np.random.default_rng(1).normal(0, noise, values.shape)
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def main():
    with open(FOLDER / "corners.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["board", "corner", "x", "y"])
        for name, board in BOARDS.items():
            picture = draw(*board)
            cv2.imwrite(str(FOLDER / f"{name}.png"), picture)
            found, corners = cv2.findChessboardCorners(picture, (COLUMNS, ROWS))
            assert found, f"OpenCV finds no board in {name}.png"
            reach = int(0.3 * board[0])
            corners = cv2.cornerSubPix(picture, corners, (reach, reach), (-1, -1), (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 50, 1e-3))
            writer.writerows([name, i, f"{x:.3f}", f"{y:.3f}"] for i, [(x, y)] in enumerate(corners))


if __name__ == "__main__":
    main()
