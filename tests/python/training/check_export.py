"""cernita-export: folders in COCO's form of recordings and verdict logs, what is chosen, and what is refused."""
import dataclasses
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

from coco_reader import area_of, check_form
from line_daemon import BIN, Daemon, PackageTest, make_maps

import numpy as np

import cernita

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tools" / "export" / "cernita-export"
PACKAGE = os.path.dirname(os.path.dirname(cernita.__file__))
CONFIG = ROOT / "config" / "line.yaml"
LEVEL, TOLERANCE_PX = 0.5, 0.5


def run(*arguments, program=PROGRAM, cwd=None):
    return subprocess.run([sys.executable, program, *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, "PYTHONPATH": PACKAGE})


def synthesise(path, *options):
    subprocess.run([BIN / "cernita-synth", path, *options], check=True, stdout=subprocess.DEVNULL)


class ExportTest(PackageTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cernita-export-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def export(self, *arguments, name="coco"):
        """Into a folder of that name: its JSON, and what was printed."""
        ran = run(*arguments, "--coco", self.folder / name)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        coco = json.loads((self.folder / name / "annotations.json").read_text())
        check_form(self, coco)
        self.assertEqual(len(os.listdir(self.folder / name / "images")), len(coco["images"]))
        return coco, ran.stdout

    def refused(self, text, *arguments, status=1):
        """With one line on stderr that has the text, and nothing left behind."""
        before = sorted(self.folder.rglob("*"))
        ran = run(*arguments)
        self.assertEqual((ran.returncode, ran.stdout), (status, ""), ran.stderr)
        last = ran.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("cernita-export: "), ran.stderr)
        self.assertIn(text, last)
        self.assertTrue(status == 2 or ran.stderr.count("\n") == 1, ran.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


class OfAChain(ExportTest):
    """A recording of 5 synthetic fruits in two lanes."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="cernita-export-")
        cls.addClassCleanup(scratch.cleanup)
        cls.recording = pathlib.Path(scratch.name) / "r.tif"
        synthesise(cls.recording, "--fruits", "5", "--lanes", "2", "--seed", "5")
        with cernita.Chain.from_yaml(CONFIG) as chain:
            cls.judged = [(view, chain.judge(view.maps, view.intensity, layout=view.layout))
                          for view in cernita.Recording(cls.recording)]
        assert len(cls.judged) == 20

    def test_it_is_what_to_coco_gives(self):
        coco, told = self.export(self.recording, "--config", CONFIG)
        expected = json.loads(json.dumps(cernita.to_coco(self.judged)))
        for name in ("images", "annotations", "categories"):
            self.assertEqual(coco[name], expected[name])
        self.assertEqual(told, f"{self.folder}/coco: 20 of 20 views, {len(coco['annotations'])} polygons of 12 classes\n")
        self.assertEqual((coco["info"]["config"], coco["info"]["levels"]["rot"]), ("line.yaml", 0.5))
        for image, (view, _) in zip(coco["images"], self.judged):
            np.testing.assert_array_equal(cernita.read_picture(self.folder / "coco" / image["file_name"]), view.intensity)
            self.assertEqual((image["lane"], image["fruit"], image["view"]), (view.lane, view.fruit, view.view))

    def test_areas_are_those_of_the_chain(self):
        coco, _ = self.export(self.recording, "--config", CONFIG)
        ours = [(1 - 2 * defect.hole) * defect.area_px for _, defects in self.judged for defect in defects]
        self.assertAlmostEqual(sum(annotation["area"] for annotation in coco["annotations"]), sum(ours), 2)
        for annotation in coco["annotations"]:
            area = area_of(annotation)
            if area is not None:
                self.assertAlmostEqual(area, annotation["area"], delta=TOLERANCE_PX)
        self.assertGreater(len(coco["annotations"]), 20)

    def test_maps(self):
        coco, _ = self.export(self.recording, "--config", CONFIG, "--form", "npy", "--lane", "1", "--fruit", "0-1")
        wanted = [view for view, _ in self.judged if view.lane == 1 and view.fruit <= 1]
        self.assertEqual(len(coco["images"]), len(wanted))
        for image, view in zip(coco["images"], wanted):
            maps = np.load(self.folder / "coco" / image["maps"])
            self.assertEqual((maps.dtype, maps.shape), (view.planes[0].dtype, (95, 511, 12)))
            self.assertTrue(maps.tobytes() == np.stack(view.planes, axis=2).tobytes())

    def place(self, image):
        return image["lane"], image["fruit"], image["view"]

    def score(self, view, defects, choose):
        """As the README has it, written otherwise."""
        if choose == "bad":
            return sum((-1 if defect.hole else 1) * defect.area_px for defect in defects)
        near = [defect.mean_probability for defect in defects if not defect.hole]
        peaks = [float(plane.max()) for plane, name in zip(view.planes, view.classes) if name not in ("background", "roller")]
        return max(1 - abs(p - LEVEL) / LEVEL for p in near + [peak for peak in peaks if peak < LEVEL])

    def test_what_is_chosen(self):
        for choose in ("uncertain", "bad"):
            coco, _ = self.export(self.recording, "--config", CONFIG, "--choose", choose, "--most", "6", name=choose)
            scores = [self.score(view, defects, choose) for view, defects in self.judged]
            best = sorted(range(20), key=lambda index: -scores[index])[:6]
            self.assertEqual([self.place(image) for image in coco["images"]],
                             [(view.lane, view.fruit, view.view) for view, _ in map(self.judged.__getitem__, sorted(best))])
            for image, index in zip(coco["images"], sorted(best)):
                self.assertAlmostEqual(image[choose], scores[index], 4)
            self.assertNotEqual(sorted(best), list(range(6)))
        first, _ = self.export(self.recording, "--config", CONFIG, "--most", "6", name="first")
        self.assertEqual([self.place(image) for image in first["images"]],
                         [(view.lane, view.fruit, view.view) for view, _ in self.judged[:6]])
        drawn = []
        for seed in (1, 1, 2):
            coco, _ = self.export(self.recording, "--config", CONFIG, "--choose", "random", "--most", "6", "--seed", seed,
                                  name=f"random{len(drawn)}")
            drawn.append([self.place(image) for image in coco["images"]])
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertEqual(len(set(drawn[2])), 6)

    def test_levels(self):
        none, _ = self.export(self.recording, "--config", CONFIG, "--level", "rot=none", "--level", "stem=0.3")
        rot = next(category["id"] for category in none["categories"] if category["name"] == "rot")
        self.assertNotIn(rot, {annotation["category_id"] for annotation in none["annotations"]})
        self.assertEqual((none["info"]["levels"]["stem"], "rot" in none["info"]["levels"]), (0.3, False))

    def test_a_cnn_s_author_loads_it(self):
        coco, _ = self.export(self.recording, "--config", CONFIG, "--choose", "bad", "--most", "8")
        text = (f"import sys; sys.modules['torch'] = None; sys.path.insert(0, {str(ROOT / 'tools/examples')!r})\n"
                "from coco_dataset import CocoViews\n"
                "views = CocoViews(sys.argv[1])\n"
                "print(len(views), *(views[index][1].sum() for index in range(len(views))))\n")
        ran = subprocess.run([sys.executable, "-c", text, self.folder / "coco"], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": PACKAGE})
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        count, *pixels = ran.stdout.split()
        self.assertEqual(int(count), 8)
        for image, pixel in zip(coco["images"], map(float, pixels)):
            rings = [(one["area"], np.reshape(one["segmentation"][0], (-1, 2))) for one in coco["annotations"]
                     if one["image_id"] == image["id"]]
            lengths = sum(np.hypot(*(ring - np.roll(ring, 1, 0)).T).sum() for _, ring in rings)
            self.assertLess(abs(pixel - sum(area for area, _ in rings)), 0.3 * lengths)
        self.assertGreater(min(map(float, pixels)), 100)
        script = run(self.folder / "coco", program=ROOT / "tools/examples/coco_dataset.py")
        self.assertEqual((script.returncode, script.stderr), (0, ""))
        self.assertTrue(script.stdout.startswith("8 views; background 0 px, rot "), script.stdout)

    def test_what_is_refused(self):
        coco, made = self.folder / "coco", self.folder / "made"
        chain = ("--coco", coco, "--config", CONFIG)
        made.mkdir()
        (made / "file").touch()
        self.refused(f"{made}: is not empty; name another folder, or remove it", self.recording, "--coco", made,
                     "--config", CONFIG)
        self.refused(f"{made}/file: exists and is not a folder", self.recording, "--coco", made / "file", "--config", CONFIG)
        self.refused(f"{self.folder}/none/a.part: No such file or directory", self.recording, "--coco",
                     self.folder / "none" / "a", "--config", CONFIG)
        self.refused(f"{made}: no recording (*.tif) in this folder", made, *chain)
        self.refused(f"{self.folder}/none: No such file or directory", self.folder / "none", *chain)
        self.refused("line.yaml: there is no recipe 'plum'; the file has no recipes", self.recording, *chain, "--recipe",
                     "plum")
        self.refused("line.yaml: there is no class 'rto'; the file has background, rot", self.recording, *chain, "--level",
                     "rto=0.5")
        self.refused("/none.yaml: cannot be read", self.recording, "--coco", coco, "--config", "/none.yaml")
        self.refused(f"{made}: there is no verdict log", self.recording, "--coco", coco, "--log", made)
        self.refused("no view of 0 is exported", self.recording, *chain, "--lane", "7")
        other = self.folder / "other.yaml"
        other.write_text("classes: [{name: rot, level: 0.5}]\nchain: [contours]\n")
        self.refused(f"{self.recording}: lane 0, fruit 0, view 0 has the classes background, rot", self.recording, "--coco",
                     coco, "--config", other)
        damaged = self.folder / "damaged.tif"
        damaged.write_bytes(b"II+\0" + bytes(100))
        self.refused(f"{damaged}: ", damaged, *chain)
        (self.folder / "coco.part").mkdir()
        self.refused(f"{coco}.part: another cernita-export writes it, or one was killed: then remove it", self.recording, *chain)
        for text, *arguments in (
                ("--most: 'x' is not a whole number", "--most", "x"), ("'rot' is not CLASS=LEVEL", "--level", "rot"),
                ("'7-3' is not a number or a range", "--fruit", "7-3"), ("invalid choice: 'best'", "--choose", "best")):
            self.refused(text.split(": ")[-1], self.recording, *chain, *arguments, status=2)
        self.refused("--recipe and --level are of --config", self.recording, "--coco", coco, "--log", made, "--recipe", "a",
                     status=2)

    def test_however_the_folder_is_written(self):
        (self.folder / "empty").mkdir()
        for name in ("new/", "empty/", "./other//"):
            ran = run(self.recording, "--coco", name, "--config", CONFIG, "--most", "1", cwd=self.folder)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertEqual(sorted(os.listdir(self.folder / name)), ["annotations.json", "images"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["empty", "new", "other"])

    def test_the_folder_is_refused_before_the_recordings_are_read(self):
        (self.folder / "current").mkdir()
        for name, told in ((".", ".: is the current folder"), ("../current/", "../current/: is the current folder"),
                           ("..", "..: is not empty")):
            ran = run("none.tif", "--coco", name, "--config", CONFIG, cwd=self.folder / "current")
            self.assertEqual(ran.returncode, 1)
            self.assertTrue(ran.stderr.startswith(f"cernita-export: {told}; name another"), ran.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["current"])

    def test_a_signal_leaves_nothing(self):
        many = self.folder / "many.tif"
        synthesise(many, "--fruits", "40", "--size", "64x48")
        coco = self.folder / "coco"
        process = subprocess.Popen([sys.executable, PROGRAM, *[many] * 200, "--coco", coco, "--config", CONFIG],
                                   env={**os.environ, "PYTHONPATH": PACKAGE})
        while not any((self.folder / "coco.part" / "images").glob("*.png")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 1)
        self.assertEqual(sorted(os.listdir(self.folder)), ["many.tif"])

    def test_views_without_a_photograph(self):
        plain = self.folder / "plain.tif"
        synthesise(plain, "--fruits", "1", "--no-photograph", "--dtype", "f16", "--layout", "CHW")
        self.refused("no view of 4 is exported: 4 views without a photograph are left out", plain, "--coco",
                     self.folder / "coco", "--config", CONFIG)
        ran = run(plain, "--coco", self.folder / "coco", "--config", CONFIG, "--form", "npy", "--choose", "uncertain")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        coco = json.loads((self.folder / "coco" / "annotations.json").read_text())
        self.assertEqual([image["file_name"] for image in coco["images"]], [image["maps"] for image in coco["images"]])
        both, told = self.export(plain, self.recording, "--config", CONFIG, name="both")
        self.assertEqual(len(both["images"]), 20)
        self.assertTrue(told.endswith("; 4 views without a photograph are left out\n"), told)


class OfALog(ExportTest):
    """What a daemon recorded and judged: two fruits of three views."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        with cls.daemon.grader() as grader, cls.daemon.line(views=3) as line:
            for fruit in (0, 1):
                for view in range(3):
                    maps, photograph = make_maps(10 * fruit + view)
                    assert line.send(maps, fruit=fruit, view=view, intensity=photograph)
                next(iter(grader))
        assert cls.daemon.stop() == 0
        cls.recordings, cls.log = cls.daemon.folder / "recordings", cls.daemon.folder / "log"

    def test_it_is_what_the_verdicts_say(self):
        verdicts = {verdict.fruit: verdict for verdict in cernita.VerdictLog(self.log)}
        coco, _ = self.export(self.recordings, "--log", self.log)
        expected = cernita.to_coco([(view, verdicts[view.fruit]) for view in cernita.Recording(self.recordings)])
        for name in ("images", "annotations", "categories"):
            self.assertEqual(coco[name], json.loads(json.dumps(expected[name])))
        self.assertEqual({(image["verdict"], image["recipe"]) for image in coco["images"]}, {("complete", "")})
        self.assertEqual(coco["images"][0]["settings"], verdicts[0]["settings"])

    def test_a_chain_of_the_same_file_gives_the_same(self):
        log, _ = self.export(self.recordings, "--log", self.log, "--choose", "uncertain", name="log")
        chain, _ = self.export(self.recordings, "--config", self.daemon.yaml, "--choose", "uncertain", name="chain")
        self.assertEqual(log["annotations"], chain["annotations"])
        self.assertEqual([image["uncertain"] for image in log["images"]], [image["uncertain"] for image in chain["images"]])

    def test_views_without_a_verdict_are_left_out(self):
        other = self.folder / "other.tif"
        synthesise(other, "--fruits", "1")
        _, told = self.export(other, self.recordings, "--log", self.log)
        self.assertTrue(told.endswith("; 4 views without a verdict are left out\n"), told)

    def test_which_verdict_is_a_view_s(self):
        """Where a fruit's number returned, and of views that were not judged."""
        loader = importlib.machinery.SourceFileLoader("cernita_export", str(PROGRAM))
        program = importlib.util.module_from_spec(importlib.util.spec_from_loader("cernita_export", loader))
        with unittest.mock.patch.object(sys, "dont_write_bytecode", True):
            loader.exec_module(program)
        judge = program.LogJudge(types.SimpleNamespace(log=self.log),
                                 lambda: ((None, view) for view in cernita.Recording(self.recordings)))
        view = next(iter(cernita.Recording(self.recordings, fruit=0)))
        (verdict,) = judge._verdicts[view.lane, view.epoch, 0]
        later = dataclasses.replace(verdict, published_ns=verdict.published_ns + 10**12)
        judge._verdicts[view.lane, view.epoch, 0].append(later)
        self.assertIs(judge.judge(None, view)[0], verdict)
        again = dataclasses.replace(view, arrived_ns=verdict.published_ns + 1)
        self.assertIs(judge.judge(None, again)[0], later)
        last = dataclasses.replace(view, arrived_ns=later.published_ns + 1)
        self.assertEqual(judge.judge(None, last), (None, program.NO_VERDICT))
        lost = {**verdict.message, "view_states": [{"view": view.view, "state": "lost"}]}
        judge._verdicts[view.lane, view.epoch, 0] = [dataclasses.replace(verdict, message=lost)]
        self.assertEqual(judge.judge(None, view), (None, program.NOT_JUDGED))


if __name__ == "__main__":
    unittest.main()
