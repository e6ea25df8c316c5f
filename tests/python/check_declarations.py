"""The package's tables are those of stages/cernita.h, cernita_surface.h and chain/chain.h: enumerators with their names, limits, members of structs, functions."""
import pathlib
import re
import unittest

from line_daemon import PackageTest

from cernita import _library

STAGES = pathlib.Path(__file__).resolve().parents[2] / "stages"
HEADER = re.sub(r"/\*.*?\*/", "", "".join((STAGES / name).read_text() for name in
                                        ("cernita.h", "cernita_surface.h", "chain/chain.h")), flags=re.S)
NAMES = (STAGES / "names.c").read_text() + (STAGES / "backend.c").read_text()

# An enumeration: what its enumerators begin with, and its table in the package.
ENUMERATIONS = {
    "crn_backend": ("CRN_BACKEND_", "BACKENDS"), "crn_connectivity": ("CRN_CONNECT_", "CONNECTIVITIES"),
    "crn_orientation": ("CRN_ORIENT_", "ORIENTATIONS"), "crn_border": ("CRN_BORDER_", "BORDERS"),
    "crn_morphology_operation": ("CRN_", "OPERATIONS"), "crn_element_shape": ("CRN_ELEMENT_", "ELEMENT_SHAPES"),
    "crn_roll_axis": ("CRN_ROLL_AXIS_", "ROLL_AXES"),
    "crn_convolve_border": ("CRN_CONVOLVE_", "CONVOLVE_BORDERS"), "crn_haar_direction": ("CRN_HAAR_", "HAAR_DIRECTIONS"),
}
STRUCTS = {
    "crn_image": "Image", "crn_context_settings": "ContextSettings", "crn_contours_params": "ContoursParams",
    "crn_contours": "Contours", "crn_element": "Element", "crn_morphology_params": "MorphologyParams",
    "crn_convolve_params": "ConvolveParams", "crn_haar_params": "HaarParams", "crn_ranklet_params": "RankletParams",
    "crn_diamond_square_params": "DiamondSquareParams", "crn_defects": "Defects",
    "crn_chain_settings": "ChainSettings",
    "crn_surface_pose": "SurfacePose", "crn_surface_settings": "SurfaceSettings", "crn_surface_view": "SurfaceView",
    "crn_surface_part": "SurfacePart", "crn_surface_defect": "SurfaceDefect", "crn_surface_total": "SurfaceTotal",
    "crn_surface_fruit": "SurfaceFruit", "crn_surface_photograph": "SurfacePhotograph",
    "crn_surface_roll": "SurfaceRoll",
}


def enumerators(name):
    return re.findall(r"(\w+)(?: = \d+)?,", re.search(rf"typedef enum {name} {{(.*?)}}", HEADER, re.S)[1])


class Declarations(PackageTest):
    def test_enumerators(self):
        for name, (prefix, table) in ENUMERATIONS.items():
            words = [word.removeprefix(prefix).lower() for word in enumerators(name)]
            if name == "crn_element_shape":
                self.assertEqual(words.index("picture"), _library.ELEMENT_PICTURE)
                words.remove("picture") # a shape without a name
            self.assertEqual(words, list(getattr(_library, table)), f"{name} in cernita.h, {table} in _library.py")
            array = re.search(rf"{name}_names\[\] = {{(.*?)}}", NAMES, re.S)
            if array: # names that C has, too
                self.assertEqual(words, re.findall(r'"(.*?)"', array[1]), f"{name}_names")

    def test_limits(self):
        limits = dict(re.findall(r"#define CRN_(\w+_MAX) +(.+)", HEADER))
        for name, value in limits.items():
            if hasattr(_library, name):
                number = re.sub(r"INT64_C\((\w+)\)|(\d)[UL]+\b", r"\1\2", value)
                self.assertEqual(eval(number), getattr(_library, name), name) # numbers and shifts

    def test_structs(self):
        for name, ours in STRUCTS.items():
            body = re.search(rf"typedef struct {name} {{(.*?)}}", HEADER, re.S)[1]
            members = re.findall(r"(\w+);", body)
            self.assertEqual(members, [field[0] for field in getattr(_library, ours)._fields_], name)

    def test_functions(self):
        declared = {name: 0 if arguments == "void" else arguments.count(",") + 1 for name, arguments in
                    re.findall(r"CRN_API [^;(]*?(\w+)\(([^)]*)\);", HEADER)}
        for name, (_, arguments) in _library._PROTOTYPES.items():
            self.assertEqual(declared.get(name), len(arguments), name)


if __name__ == "__main__":
    unittest.main()
