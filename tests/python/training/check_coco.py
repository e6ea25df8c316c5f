"""What is made of judgements for others: Verdict.to_table(), to_pandas(), to_coco(); shapely's areas are ours."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from coco_reader import area_of, check_form
from line_daemon import BIN, CLASSES, Daemon, PackageTest, make_maps

import numpy as np

import cernita

ROOT = pathlib.Path(__file__).resolve().parents[3]
VIEWS = 3


class OfVerdicts(PackageTest):
    """A fruit of VIEWS views of random maps, with holes and islands in them."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        with cls.daemon.grader() as grader, cls.daemon.line(lane=1, views=VIEWS) as line:
            for view in range(VIEWS):
                maps, photograph = make_maps(view, height=60, width=90)
                assert line.send(maps, fruit=7, view=view, intensity=photograph, captured_ns=10**18 + view)
            cls.verdict = next(iter(grader))
        assert cls.daemon.stop() == 0
        cls.views = sorted(cernita.Recording(cls.daemon.folder / "recordings"), key=lambda view: view.view)

    def test_a_table_has_what_the_defects_have(self):
        table = self.verdict.to_table()
        self.assertEqual(len(table), len(self.verdict.defects))
        for row, defect in zip(table, self.verdict.defects):
            self.assertEqual((row["view"], row["class"], row["level"], row["closed"], row["hole"], row["parent"]),
                             (defect.view, defect.class_name, defect.level, defect.closed, defect.hole, defect.parent))
            self.assertEqual((row["area_px"], row["perimeter_px"], row["mean_probability"]),
                             (defect.area_px, defect.perimeter_px, defect.mean_probability))
            self.assertEqual((row["x0"], row["y0"], row["x1"], row["y1"]), defect.bbox)
            self.assertEqual((row["centroid_x"], row["centroid_y"]), defect.centroid)
        self.assertEqual({(row["lane"], row["epoch"], row["fruit"], row["sequence"]) for row in table},
                         {(1, self.verdict.epoch, 7, self.verdict.sequence)})
        self.assertEqual(len(np.concatenate([table, table])), 2 * len(table))

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("there is no pandas (Debian: python3-pandas)")
        frame = self.verdict.to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        sums = frame[~frame["hole"]].groupby("class")["area_px"].sum() - frame[frame["hole"]].groupby("class")["area_px"].sum()
        for name, total in self.verdict.totals.items():
            self.assertAlmostEqual(sums[name], total.area_px)

    def test_without_pandas(self):
        with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
            self.refuses(ImportError, "A table of pandas needs the module 'pandas'", self.verdict.to_pandas)

    def test_a_chain_and_a_verdict_give_the_same(self):
        with cernita.Chain.from_yaml(self.daemon.yaml) as chain:
            mine = cernita.to_coco([(view, chain.judge(view.maps, view.intensity, layout=view.layout))
                                    for view in self.views])
        coco = cernita.to_coco([(view, self.verdict) for view in self.views])
        check_form(self, coco)
        self.assertEqual([category["name"] for category in coco["categories"]], CLASSES)
        self.assertEqual(json.dumps(coco["annotations"]), json.dumps(mine["annotations"]))
        self.assertEqual([image["verdict"] for image in coco["images"]], ["complete"] * VIEWS)
        for image, view in zip(coco["images"], self.views):
            self.assertEqual((image["lane"], image["fruit"], image["view"], image["captured_ns"], image["date_captured"]),
                             (1, 7, view.view, 10**18 + view.view, "2001-09-09T01:46:40.000Z"))

    def test_areas_by_shapely_and_in_sum(self):
        coco = cernita.to_coco([(view, self.verdict) for view in self.views])
        names = {category["id"]: category["name"] for category in coco["categories"]}
        sums = dict.fromkeys(self.verdict.totals, 0.0)
        for annotation in coco["annotations"]:
            sums[names[annotation["category_id"]]] += annotation["area"]
            area = area_of(annotation)
            if area is not None:
                self.assertAlmostEqual(area, annotation["area"], delta=0.01)
        for name, total in self.verdict.totals.items():
            self.assertAlmostEqual(sums[name], total.area_px, delta=0.01)
        self.assertGreater(self.verdict.defects.table["hole"].sum(), 3)

    def test_views_that_were_not_judged_are_left_out(self):
        state = {"view": 1, "state": "lost", "reason": "no_slot"}
        message = {"view_states": [{"view": 0, "state": "judged"}, state]}
        partial = unittest.mock.Mock(spec=cernita.Verdict)
        partial.configure_mock(kind="partial", defects=self.verdict.defects, message=message,
                               view_states=message["view_states"])
        coco = cernita.to_coco([(view, partial) for view in self.views])
        self.assertEqual([image["view"] for image in coco["images"]], [0])
        self.assertEqual({annotation["image_id"] for annotation in coco["annotations"]}, {1})

    def test_a_view_of_the_programs_own(self):
        with cernita.Chain.from_yaml(self.daemon.yaml) as chain:
            found = chain.judge(self.views[0].maps, layout=self.views[0].layout)
        coco = cernita.to_coco([({"file_name": "a.png", "width": 90, "height": 60, "colour": "red"}, found)])
        check_form(self, coco)
        self.assertEqual(coco["images"][0]["colour"], "red")
        self.assertEqual(len(coco["annotations"]), (~found.table["hole"]).sum())


class Shapes(PackageTest):
    """Known shapes through a chain of their own."""

    def judge(self, mask, contours="{border: closed}"):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(f"classes: [{{name: rot, level: 0.5}}]\nchain: [contours: {contours}]\n")
            file.flush()
            with cernita.Chain.from_yaml(file.name) as chain:
                found = chain.judge(np.uint8(255 * mask)[..., None])
        height, width = mask.shape
        return found, cernita.to_coco([({"file_name": "a.png", "width": width, "height": height}, found)])["annotations"]

    def test_a_square_lies_where_coco_looks(self):
        mask = np.zeros((20, 30))
        mask[5:9, 10:14] = 1
        _, (square,) = self.judge(mask)
        self.assertEqual((square["bbox"], square["area"]), ([10, 5, 4, 4], 15.5))
        x, y = np.reshape(square["segmentation"][0], (-1, 2)).T
        self.assertEqual((x.min(), y.min(), x.max(), y.max()), (10, 5, 14, 9))

    def test_holes_islands_and_holes_in_them(self):
        mask = np.zeros((60, 60))
        for inset in range(0, 25, 5):
            mask[2 + inset:58 - inset, 2 + inset:58 - inset] = inset // 5 % 2 == 0
        mask[4, 4:50:4] = mask[50:55:4, 4] = 0  # and more holes in the outermost
        found, annotations = self.judge(mask)
        self.assertEqual(len(annotations), 3)
        for annotation in annotations:
            area = area_of(annotation)
            self.assertAlmostEqual(annotation["area"], area if area is not None else annotation["area"], delta=0.01)
        table = found.table
        self.assertAlmostEqual(sum(annotation["area"] for annotation in annotations),
                               table["area_px"][~table["hole"]].sum() - table["area_px"][table["hole"]].sum(), 3)
        self.assertGreater(table["hole"].sum(), 10)

    def test_open_contours_are_closed_by_their_chord(self):
        mask = np.zeros((20, 30))
        mask[:8, 10:14] = mask[0, 0] = 1
        found, annotations = self.judge(mask, "{border: open}")
        self.assertEqual((found.table["closed"].any(), len(found), len(annotations)), (False, 2, 1))  # a corner has no area
        self.assertAlmostEqual(annotations[0]["area"], area_of(annotations[0]) or annotations[0]["area"], delta=0.01)


class Readme(PackageTest):
    def test_its_sweep_and_export(self):
        text = (ROOT / "tools/python/README.md").read_text()
        example = re.search(r"```python\n(import json\n.*?to_coco.*?)```", text, re.S)[1]
        with tempfile.TemporaryDirectory(prefix="cernita-sweep-") as folder:
            subprocess.run([BIN / "cernita-synth", f"{folder}/views.tif", "--fruits", "2", "--seed", "4"], check=True,
                           stdout=subprocess.DEVNULL)
            (pathlib.Path(folder) / "line.yaml").write_text((ROOT / "config/line.yaml").read_text())
            run = subprocess.run([sys.executable, "-c", example.replace("/data/views", f"{folder}/views.tif")], cwd=folder,
                                 env={**os.environ, "PYTHONPATH": os.path.abspath(os.path.dirname(os.path.dirname(cernita.__file__))),
                                      "CRN_LIBRARY": os.path.abspath(os.environ["CRN_LIBRARY"])},
                                 capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            areas = [float(line.split()[1]) for line in run.stdout.splitlines()]
            self.assertEqual(len(areas), 10)
            self.assertEqual(areas, sorted(areas, reverse=True))
            self.assertGreater(areas[0], areas[-1])
            coco = json.loads((pathlib.Path(folder) / "rot.json").read_text())
            self.assertEqual(sorted(os.listdir(folder)), ["line.yaml", "rot.json", "views.tif"])
        check_form(self, coco)
        self.assertEqual(len(coco["images"]), 8)
        self.assertGreater(len(coco["annotations"]), 0)


if __name__ == "__main__":
    unittest.main()
