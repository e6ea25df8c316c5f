"""cernita.Chain, alone and against a daemon: what a view's defects are there, they are here, to the bit."""
import pickle
import threading
import unittest

from line_daemon import CLASSES, Daemon, PackageTest, in_child, make_maps

import numpy as np

import cernita
from cernita._defects import DEFECT, TEXTURE

CASES = [(dtype, layout, photo) for dtype in ("u1", "f2", "f4") for layout in ("hwc", "chw") for photo in (True, False)]
FIELDS = [name for name in DEFECT.names if not name.startswith("first_") and name not in ("class", "parent")]


class RoundTrip(PackageTest):
    """Line → daemon → Verdicts equals Chain.judge() on the same maps."""

    def compare(self, ours, theirs, view):
        rows = np.flatnonzero(theirs.table["view"] == view)
        table = theirs.table[rows]
        self.assertEqual(len(ours), len(rows))
        self.assertEqual(ours.class_names, [theirs.class_names[row] for row in rows])
        for name in FIELDS:
            self.assertEqual(ours.table[name].tobytes(), table[name].tobytes(), name)
        np.testing.assert_array_equal(np.where(table["parent"] < 0, -1, table["parent"] - rows[:1]), ours.table["parent"])
        for index, row in enumerate(rows):
            self.assertEqual(ours.outline(index).tobytes(), theirs.outline(row).tobytes())
            self.assertEqual(ours[index].textures.tobytes(), theirs[row].textures.tobytes())

    def through_a_daemon(self, form):
        with Daemon(form) as daemon, daemon.line(views=len(CASES)) as line, daemon.grader() as verdicts, \
                cernita.Chain.from_yaml(daemon.yaml) as chain:
            expected = []
            for view, (dtype, layout, photo) in enumerate(CASES):
                maps, photograph = make_maps(view, dtype, layout)
                photograph = photograph if photo else None
                self.assertTrue(line.send(maps, fruit=7, view=view, intensity=photograph, layout=layout, encoder=5))
                expected.append(chain.judge(maps, photograph, layout=layout))
            verdict = next(iter(verdicts))
        self.assertEqual((verdict.kind, verdict.lane, verdict.epoch, verdict.fruit, verdict["encoder"], verdict.truncated),
                         ("complete", 0, line.epoch, 7, 5, False))
        self.assertEqual(verdict.fail_safe(), "")
        self.assertEqual(line.lost, 0)
        for view, ours in enumerate(expected):
            self.compare(ours, verdict.defects, view)
        self.assertEqual(len(verdict.defects), sum(map(len, expected)))
        self.assertGreater(min(map(len, expected)), 3)
        self.assertGreater(sum((ours.table["parent"] >= 0).sum() for ours in expected), 0)
        self.assertGreater(sum(len(ours.textures) for ours in expected), 50)
        for name, total in verdict.totals.items():
            mine = [defect for ours in expected for defect in ours if defect.class_name == name]
            self.assertEqual(total.count, sum(not defect.hole for defect in mine))
            self.assertAlmostEqual(total.area_px, sum((1 - 2 * defect.hole) * defect.area_px for defect in mine))
        self.assertEqual({defect.level for defect in verdict.defects if defect.class_name == "rust"}, {0.4})

    def test_messagepack(self):
        self.through_a_daemon("msgpack")

    def test_json(self):
        self.through_a_daemon("json")


class ChainAlone(PackageTest):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()  # for its file
        cls.yaml = cls.daemon.yaml

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def equal(self, a, b):
        return (a.table.tobytes(), a.points.tobytes(), a.textures.tobytes()) == (
            b.table.tobytes(), b.points.tobytes(), b.textures.tobytes())

    def test_arrays_and_objects_say_the_same(self):
        maps, photo = make_maps(1)
        with cernita.Chain.from_yaml(self.yaml) as chain:
            self.assertEqual(chain.classes, tuple(CLASSES))
            found = chain.judge(maps, photo)
            before = found.table.tobytes(), found.points.tobytes(), found.textures.tobytes()
            self.assertFalse(self.equal(found, chain.judge(*make_maps(5))))
        self.assertEqual((found.table.tobytes(), found.points.tobytes(), found.textures.tobytes()), before)
        self.assertEqual((found.table.dtype, found.points.dtype, found.textures.dtype), (DEFECT, np.dtype("f4"), TEXTURE))
        self.assertEqual(found.points.shape, (found.offsets[-1], 2))
        for index, defect in enumerate(found):  # valid after the chain has ended
            points = found.points[found.offsets[index]:found.offsets[index + 1]]
            self.assertEqual(points.tobytes(), defect.outline.tobytes())
            x0, y0, x1, y1 = defect.bbox
            np.testing.assert_allclose([points.min(0), points.max(0)], [[x0, y0], [x1, y1]], rtol=1e-6)
            x, y = defect.outline.astype("f8").T
            self.assertTrue(defect.closed)
            self.assertTrue(x0 < defect.centroid[0] < x1 and y0 < defect.centroid[1] < y1, defect)
            self.assertTrue(0 <= defect.mean_probability <= 1 and defect.parent < index, defect)
            self.assertAlmostEqual(abs((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) / 2, defect.area_px, 3)
            self.assertEqual([(row["width"], row["height"]) for row in defect.textures], [(4, 4), (8, 4)])
        self.assertEqual((found[-1].area_px, found[np.int8(-1)].parent), (defect.area_px, defect.parent))
        self.refuses(IndexError, f"there is no defect {len(found)} of {len(found)}", found.__getitem__, len(found))
        self.refuses(IndexError, f"there is no defect {-len(found) - 1} of ", found.__getitem__, -len(found) - 1)
        for index in (slice(0, 1), "rot", 1.5):
            self.refuses(TypeError, f"index must be a whole number, not {index!r}; table[...] takes others",
                         found.__getitem__, index)

    def test_what_lies_in_memory_otherwise_gives_the_same(self):
        maps, photo = make_maps(2)
        wide = np.zeros((maps.shape[0], maps.shape[1] + 5, 4), "f4")
        wide[:, 2:-3, :3] = maps
        frame = np.zeros((photo.shape[0], 2 * photo.shape[1]), "u1")
        frame[:, ::2] = photo
        with cernita.Chain.from_yaml(self.yaml) as chain:
            expected = chain.judge(maps, photo)
            planar = np.ascontiguousarray(maps.transpose(2, 0, 1))
            self.assertTrue(self.equal(expected, chain.judge(planar, photo, layout="chw")))
            self.assertTrue(self.equal(expected, chain.judge(planar.transpose(1, 2, 0), photo)))
            self.assertTrue(self.equal(expected, chain.judge(wide[:, 2:-3, :3], frame[:, ::2])))
            self.assertTrue(self.equal(expected, chain.judge(maps[::-1][::-1], photo)))
            self.assertFalse(self.equal(expected, chain.judge(maps[::-1], photo)))
            self.assertEqual(len(chain.judge(np.zeros_like(maps))), 0)

    def test_windows_of_one_row_or_column(self):
        """NumPy keeps the parent's stride of a side that has one element."""
        maps, photo = make_maps(6, height=24, width=32)
        one_class = self.daemon.folder / "one_class.yaml"
        one_class.write_text("classes: [{name: rot, level: 0.3}]\nchain: [{contours: {border: closed}}, ranklet: {windows: [4]}]\n")
        for path, layout in ((self.yaml, "hwc"), (self.yaml, "chw"), (one_class, "hwc"), (one_class, "chw")):
            with cernita.Chain.from_yaml(path) as chain:
                for height, width in ((1, 9), (9, 1), (1, 1), (1, 32), (24, 1), (9, 9)):
                    window = np.s_[3:3 + height, 5:5 + width] if width < 32 else np.s_[3:3 + height]
                    part, photograph = maps[window], photo[window]
                    if layout == "chw":
                        part = np.ascontiguousarray(maps.transpose(2, 0, 1))[(np.s_[:], *np.index_exp[window])]
                    if path == one_class:
                        part = part[..., 1:2] if layout == "hwc" else part[1:2]
                    with self.subTest(path=path.name, layout=layout, size=(height, width)):
                        self.assertTrue(self.equal(chain.judge(part, photograph, layout=layout),
                                                   chain.judge(part.copy(), photograph.copy(), layout=layout)))

    def in_threads(self, count, judge):
        found, threads = [None] * count, []

        def run(index):
            found[index] = [judge(index, seed) for seed in range(20)]
        for index in range(count):
            threads.append(threading.Thread(target=run, args=(index,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        return found

    def test_threads(self):
        inputs = [make_maps(seed) for seed in range(20)]
        with cernita.Chain.from_yaml(self.yaml) as shared:
            expected = [shared.judge(*one) for one in inputs]
            own = [cernita.Chain.from_yaml(self.yaml) for _ in range(8)]
            for judge in (lambda index, seed: own[index].judge(*inputs[seed]),
                          lambda _, seed: shared.judge(*inputs[seed])):
                for found in self.in_threads(8, judge):
                    self.assertTrue(all(self.equal(a, b) for a, b in zip(found, expected)))

    def test_forked_children(self):
        """Also while another thread of the parent judges, whose call never ends in the child."""
        large, _ = make_maps(7, height=700, width=900)
        maps, photo = make_maps(7)
        with cernita.Chain.from_yaml(self.yaml, threads=4) as chain:
            expected = chain.judge(maps, photo)

            def judge():
                return self.equal(chain.judge(maps, photo), expected)
            self.assertEqual(in_child(judge), "True")
            stop = threading.Event()

            def work():
                while not stop.is_set():
                    chain.judge(large)
            thread = threading.Thread(target=work)
            thread.start()
            try:
                while not chain._lock.locked():
                    pass
                self.assertEqual(in_child(judge), "True")
                self.assertEqual(in_child(lambda: (chain.close(), repr(chain).endswith("closed>"))), "(None, True)")
            finally:
                stop.set()
                thread.join()
            self.assertEqual(in_child(judge), "True")
            self.assertTrue(judge())

    def test_levels_and_recipes(self):
        """As files that say the same; test_library_chain_settings.c has more of them."""
        maps, photo = make_maps(8)
        text = self.yaml.read_text()
        with_recipe, other = self.daemon.folder / "with_recipe.yaml", self.daemon.folder / "other.yaml"
        with_recipe.write_text(text + "recipes: {plum: {classes: {rot: 0.3}}, pear: {}}\n")
        for given, levels in (({}, (0.5, 0.4)), ({"recipe": "plum"}, (0.3, 0.4)), ({"levels": {"rust": 0.25}}, (0.5, 0.25)),
                              ({"recipe": "plum", "levels": {"rot": np.float32(0.25)}}, (0.25, 0.4)),
                              ({"levels": {"rot": None}}, (None, 0.4))):
            rot, rust = levels
            said = text.replace("level: 0.4", f"level: {rust}")
            other.write_text(said.replace("{name: rot, level: 0.5}", "{name: rot}" if rot is None else
                                          f"{{name: rot, level: {rot}}}"))
            with cernita.Chain.from_yaml(with_recipe, **given) as chain, cernita.Chain(other) as same:
                self.assertEqual(chain.levels, {"rust": rust} if rot is None else {"rot": rot, "rust": rust})
                self.assertTrue(self.equal(chain.judge(maps, photo), same.judge(maps, photo)))
        open_chain = cernita.Chain.from_yaml
        self.refuses(ValueError, f"{with_recipe}: there is no recipe 'apple'; the file has plum, pear", open_chain,
                     with_recipe, recipe="apple")
        self.refuses(ValueError, f"{self.yaml}: there is no recipe 'plum'; the file has no recipes", open_chain, self.yaml,
                     recipe="plum")
        self.refuses(ValueError, f"{self.yaml}: there is no class 'rto'; the file has background, rot, rust", open_chain,
                     self.yaml, levels={"rto": 0.5})
        self.refuses(ValueError, f"{self.yaml}: contours: no class has a level", open_chain, self.yaml,
                     levels={"rot": None, "rust": None})
        self.refuses(ValueError, "levels['rot'] must be from 0 to 1, not 1.5", open_chain, self.yaml, levels={"rot": 1.5})
        self.refuses(TypeError, "levels['rot'] must be a number, not '0.5'", open_chain, self.yaml, levels={"rot": "0.5"})
        self.refuses(TypeError, "levels must be a dict of levels by class, such as {'rot': 0.4}, not [0.5]", open_chain,
                     self.yaml, levels=[0.5])
        self.refuses(TypeError, "recipe must be a recipe's name, not 5", open_chain, self.yaml, recipe=5)

    def test_wrong_arguments(self):
        maps, photo = make_maps(3)
        chain = cernita.Chain.from_yaml(self.yaml)
        judge = chain.judge
        self.refuses(TypeError, "maps must be a numpy array, not list", judge, [[1]])
        self.refuses(TypeError, "maps must be of uint8, float16 or float32, not float64", judge, maps.astype("f8"))
        self.refuses(ValueError, "maps must have 3 dimensions, not 2", judge, maps[..., 0])
        self.refuses(ValueError, f"maps must have 3 planes, the classes of {self.yaml}, not 2", judge, maps[..., :2])
        self.refuses(ValueError, "maps must have 3 planes", judge, maps, layout="chw")
        self.refuses(ValueError, "maps must not be empty", judge, maps[:0])
        self.refuses(ValueError, "layout must be hwc or chw, not 'cwh'", judge, maps, layout="cwh")
        self.refuses(TypeError, "maps must be of uint8, float16 or float32, not int32; maps.astype('uint8') if 255 is "
                     "certainty, maps.astype('float32') if 1 is", judge, maps.astype("i4"))
        self.refuses(TypeError, "intensity must be of uint8, not float32; scaled to 0 to 255, intensity.astype('uint8')",
                     judge, maps, photo.astype("f4"))
        self.refuses(TypeError, "a Chain cannot be sent to another process; open another there", pickle.dumps, chain)
        self.refuses(ValueError, "intensity must be uint8[29, 41], as high and wide as the maps, not [28, 41]", judge, maps,
                     photo[1:])
        chain.close()
        chain.close()
        self.refuses(ValueError, "the Chain is closed; open another one", judge, maps)
        open_chain = cernita.Chain.from_yaml
        self.refuses(FileNotFoundError, "[Errno 2] /none.yaml: cannot be read", open_chain, "/none.yaml")
        self.refuses(ValueError, "backend must be auto, serial, openmp or cuda, not 'gpu'", open_chain, self.yaml,
                     backend="gpu")
        self.refuses(ValueError, "threads must be from 1 to 1024, not 0", open_chain, self.yaml, threads=0)
        faulty = self.daemon.folder / "faulty.yaml"
        faulty.write_text("classes: [{name: a, level: 2}]\nchain: [contour: {}]\n")
        with self.assertRaises(ValueError) as caught:
            open_chain(faulty)
        self.assertIn(f"{faulty}:1:", str(caught.exception))
        self.assertIn(f"{faulty}:2:", str(caught.exception))

    def test_calls_do_not_add_memory(self):
        def resident_kib():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4
        maps, photo = make_maps(4)
        with cernita.Chain.from_yaml(self.yaml) as chain:
            for _ in range(2000):
                chain.judge(maps, photo)
            before_kib = resident_kib()
            for _ in range(20000):  # a leak of the result alone would be 100 MB
                chain.judge(maps, photo)
            self.assertLess(resident_kib() - before_kib, 1024)


if __name__ == "__main__":
    unittest.main()
