"""cernita.Surface: outlines whose areas are known; what it keeps, and what it says of wrong arguments."""
import gc
import math
import os
import threading
import unittest

import numpy as np

from line_daemon import PackageTest

import cernita
from cernita._defects import DEFECT, DEFECT_OF_FRUIT, TEXTURE
from wrong_errors import wrong_errors

CLASSES = ("rot", "rust")
R_PX, MM_PER_PX = 40.0, 0.5


def cap_mm2(radius):
    return 2 * math.pi * (R_PX * MM_PER_PX) ** 2 * (1 - math.cos(radius))


def circle(longitude, height, radius, points=128):
    """The circle of a sphere about a place of it, as a view at roll 0 shows it; None if that turns its middle away."""
    r = math.sqrt(1 - height * height)
    middle = np.array([r * math.sin(longitude), height, r * math.cos(longitude)])
    across = np.array([math.cos(longitude), 0, -math.sin(longitude)])
    phi = np.linspace(0, 2 * np.pi, points, endpoint=False)[:, None]
    place = math.cos(radius) * middle + math.sin(radius) * (np.cos(phi) * across +
                                                            np.sin(phi) * np.cross(middle, across))
    return None if place[:, 2].min() < 0 else (50 + R_PX * place[:, :2]).astype("f4")


def defects_of(outlines, dtype=DEFECT):
    """Defects of {class index: outline or None}."""
    outlines = {index: outline for index, outline in outlines.items() if outline is not None}
    table = np.zeros(len(outlines), dtype)
    counts = [len(outline) for outline in outlines.values()]
    table["class"], table["parent"], table["point_count"] = list(outlines), -1, counts
    table["first_point"] = np.cumsum([0, *counts])[:len(counts)]
    points = np.concatenate(list(outlines.values())) if outlines else np.zeros((0, 2), "f4")
    return cernita.Defects(table, points, np.zeros(0, TEXTURE), CLASSES)


def views_of(count=4, dtype=DEFECT, points=128):
    """A fruit with two spots, seen by views all around."""
    views = []
    for index in range(count):
        roll = 2 * math.pi * index / count
        spots = {0: circle(math.remainder(0.8 + roll, 2 * math.pi), 0.2, 0.2, points),
                 1: circle(math.remainder(2.5 + roll, 2 * math.pi), -0.3, 0.3, points)}
        views.append(cernita.SurfaceView(defects_of(spots, dtype), cernita.Pose(50, 50, R_PX, R_PX, roll_rad=roll),
                                         MM_PER_PX, 101, 101))
    return views


def photograph_of(roll):
    """A sphere with 400 dark freckles."""
    y, x = np.mgrid[:101, :141].astype("f8")
    u, v = (x - 60) / R_PX, (y - 50) / R_PX
    z = np.sqrt(np.maximum(0, 1 - u * u - v * v))
    skin = np.stack([u * math.cos(roll) - z * math.sin(roll), v, z * math.cos(roll) + u * math.sin(roll)], -1)
    freckles = np.random.default_rng(5).standard_normal((400, 3))
    freckles /= np.linalg.norm(freckles, axis=1, keepdims=True)
    nearest = (skin @ freckles.T).max(-1)
    light = (90 + 90 * z) * np.where(nearest > math.cos(0.06), 0.6, 1.0)
    inside = np.clip(0.5 + (1 - np.hypot(u, v)) * R_PX, 0, 1)
    return (20 + inside * (light - 20)).astype("u1")


class TheSurface(PackageTest):
    def check(self, fruit):
        self.assertEqual([fruit.totals[name].count for name in CLASSES], [1, 1])
        for name, radius in zip(CLASSES, (0.2, 0.3)):
            self.assertAlmostEqual(fruit.totals[name].area_mm2 / cap_mm2(radius), 1, delta=0.01)
            self.assertAlmostEqual(fruit.totals[name].longest_mm / (40 * math.sin(radius)), 1, delta=0.02)

    def test_spots_count_once(self):
        surface = cernita.Surface(CLASSES)
        for count in (4, 5, 6, 8):
            fruit = surface.measure(views_of(count))
            self.check(fruit)
            self.assertAlmostEqual(fruit.diameter_mm, 40)
            self.assertTrue(0.94 < fruit.coverage < 0.97)
            self.assertEqual(sorted(defect.class_name for defect in fruit.defects), list(CLASSES))
        rot = next(defect for defect in fruit.defects if defect.class_name == "rot")
        self.assertAlmostEqual(rot.lambda_rad, 0.8, delta=0.02)
        self.assertAlmostEqual(rot.v, 0.2, delta=0.02)

    def test_defects_of_a_verdict_are_taken(self):
        self.check(cernita.Surface(CLASSES).measure(views_of(dtype=DEFECT_OF_FRUIT)))

    def test_the_other_axis_and_a_distance(self):
        turned = [cernita.SurfaceView(cernita.Defects(view.defects.table, view.defects.points[:, ::-1],
                                                      view.defects.textures, CLASSES), view.pose, MM_PER_PX)
                  for view in views_of()]
        self.check(cernita.Surface(CLASSES, roll_axis="x").measure(turned))
        near = cernita.Surface(CLASSES, distance_mm=160).measure(views_of())
        self.assertAlmostEqual(near.diameter_mm, 2 * 20 * 160 / math.hypot(160, 20), delta=1e-9)

    def test_it_grows_with_the_fruits(self):
        surface = cernita.Surface(CLASSES)
        for points in (16, 20000, 128):
            surface.measure(views_of(points=points))
        self.check(surface.measure(views_of()))

    def test_any_thread_may_measure(self):
        surface, fruits = cernita.Surface(CLASSES), []
        threads = [threading.Thread(target=lambda: fruits.extend(surface.measure(views_of()) for _ in range(20)))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(fruits), 80)
        self.assertTrue(all(fruit == fruits[0] for fruit in fruits))

    def test_a_forked_child_may_go_on(self):
        surface = cernita.Surface(CLASSES)
        expected = surface.measure(views_of())
        child = os.fork()
        if child == 0:
            os._exit(0 if surface.measure(views_of()) == expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_results_stay(self):
        surface = cernita.Surface(CLASSES)
        first = surface.measure(views_of())
        surface.measure([cernita.SurfaceView(defects_of({}), cernita.Pose(50, 50, 9, 9), 1.0)])
        del surface
        gc.collect()
        self.check(first)

    def test_pose_and_roll_are_found_in_photographs(self):
        surface, rolls = cernita.Surface(CLASSES), (0.0, 0.6)
        photos = [photograph_of(roll) for roll in rolls]
        poses = [surface.find_pose(photo) for photo in photos]
        for pose in poses:
            for value, expected in ((pose.x, 60), (pose.y, 50), (pose.rx, R_PX), (pose.ry, R_PX)):
                self.assertAlmostEqual(value, expected, delta=0.4)
            self.assertTrue(pose.confidence > 0.7 and pose.roll_rad == 0)
        roll = surface.find_roll(*photos, *poses, expected_rad=0.4, range_rad=0.5)
        self.assertAlmostEqual(roll.roll_rad, 0.6, delta=0.02)
        self.assertGreater(roll.confidence, 0.3)
        self.assertEqual(surface.find_roll(photos[0][::-1, ::-1], photos[1][::-1, ::-1], *(
            cernita.Pose(photos[0].shape[1] - 1 - pose.x, photos[0].shape[0] - 1 - pose.y, pose.rx, pose.ry)
            for pose in poses), expected_rad=-0.4, range_rad=0.5).confidence > 0.3, True)
        self.assertEqual(surface.find_pose(np.zeros((95, 300), "u1")).confidence, 0)

    def test_wrong_photographs_are_named(self):
        surface, photo = cernita.Surface(CLASSES), photograph_of(0.0)
        pose = surface.find_pose(photo)
        cases = {
            "type": (lambda: surface.find_pose(photo / 255), TypeError, "photograph must be of uint8, not float64"),
            "colour": (lambda: surface.find_pose(np.zeros((9, 9, 3), "u1")), ValueError,
                       "photograph must have 2 dimensions, not 3"),
            "second": (lambda: surface.find_roll(photo, None, pose, pose), TypeError, "second must be"),
            "pose": (lambda: surface.find_roll(photo, photo, pose, None), TypeError, "second_pose must be a Pose"),
            "expected": (lambda: surface.find_roll(photo, photo, pose, pose, expected_rad=math.nan), ValueError,
                         "expected_rad is nan"),
            "range": (lambda: surface.find_roll(photo, photo, pose, pose, range_rad=4), ValueError, "range_rad is 4"),
            "scale": (lambda: surface.find_roll(photo, photo, pose, pose, mm_per_px="1"), TypeError,
                      "mm_per_px must be a number, not '1'"),
        }
        self.assertEqual(wrong_errors(cases), [])

    def test_wrong_arguments_are_named(self):
        measure, view = cernita.Surface(CLASSES).measure, views_of(1)[0]

        def with_pose(**more):
            return lambda: measure([cernita.SurfaceView(view.defects, cernita.Pose(**{"x": 50, "y": 50, "rx": 40,
                                                                                      "ry": 40, **more}), 0.5)])
        broken = defects_of({0: np.full((3, 2), np.nan, "f4")})
        short = defects_of({0: np.zeros((1, 2), "f4")})
        long = defects_of({0: np.zeros((3, 2), "f4")})
        long.table["point_count"] = 4
        cases = {
            "no classes": (lambda: cernita.Surface([]), ValueError, "the number of classes must be from 1 to 256, not 0"),
            "a text": (lambda: cernita.Surface("rot"), TypeError, "classes must be names, not 'rot'"),
            "axis": (lambda: cernita.Surface(CLASSES, roll_axis="z"), ValueError, "roll_axis must be y or x, not 'z'"),
            "distance": (lambda: cernita.Surface(CLASSES, distance_mm=-1), ValueError, "distance_mm must be"),
            "roll error": (lambda: cernita.Surface(CLASSES, roll_error_rad=4), ValueError, "roll_error_rad must be"),
            "no views": (lambda: measure([]), ValueError, "the number of views must be from 1 to 64, not 0"),
            "no view": (lambda: measure([5]), TypeError, "views[0] must be a SurfaceView, not int"),
            "no defects": (lambda: measure([cernita.SurfaceView(None, view.pose, 1.0)]), TypeError,
                           "views[0].defects must be Defects, not NoneType"),
            "no pose": (lambda: measure([cernita.SurfaceView(view.defects, (1, 2, 3, 4), 1.0)]), TypeError,
                        "views[0].pose must be a Pose, not tuple"),
            "classes": (lambda: cernita.Surface(["rust", "rot"]).measure([view]), ValueError,
                        "views[0].defects has the classes ('rot', 'rust'), not ('rust', 'rot')"),
            "nan": (with_pose(x=math.nan), ValueError, "views[0].pose.x is nan; it must be"),
            "radius": (with_pose(rx=0), ValueError, "views[0].pose.rx is 0; it must be 0.5 to 1e+06"),
            "type": (with_pose(ry="40"), TypeError, "views[0].pose.ry must be a number, not '40'"),
            "points": (lambda: measure([cernita.SurfaceView(broken, view.pose, 1.0)]), ValueError,
                       "views[0].defects[0]: its point 0 is not finite"),
            "one point": (lambda: measure([cernita.SurfaceView(short, view.pose, 1.0)]), ValueError,
                          "views[0].defects[0] has 1 points"),
            "beyond": (lambda: measure([cernita.SurfaceView(long, view.pose, 1.0)]), ValueError,
                       "views[0].defects[0] has 4 points from number 0 on; the view has 3"),
            "scale": (lambda: measure([cernita.SurfaceView(view.defects, view.pose, 0)]), ValueError,
                      "views[0].mm_per_px is 0"),
            "height": (lambda: measure([cernita.SurfaceView(view.defects, view.pose, 1.0, -1)]), ValueError,
                       "views[0].height must be from 0 to"),
        }
        self.assertEqual(wrong_errors(cases), [])


if __name__ == "__main__":
    unittest.main()
