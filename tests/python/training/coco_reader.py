"""COCO files as others read them: the form by jsonschema, areas by shapely, where they are installed."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # for line_daemon

SCHEMA = pathlib.Path(__file__).resolve().parent / "coco.schema.json"


def check_form(test, coco):
    """The schema, and what a schema cannot say."""
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    if jsonschema:
        jsonschema.validate(json.loads(json.dumps(coco, allow_nan=False)), json.loads(SCHEMA.read_text()))
    for name in ("images", "annotations", "categories"):
        numbers = [record["id"] for record in coco[name]]
        test.assertEqual(numbers, list(range(1, len(numbers) + 1)), name)
    images = {image["id"]: image for image in coco["images"]}
    test.assertEqual(len({image["file_name"] for image in coco["images"]}), len(images))
    for annotation in coco["annotations"]:
        image = images[annotation["image_id"]]
        test.assertLessEqual(annotation["category_id"], len(coco["categories"]))
        x, y, width, height = annotation["bbox"]
        xs, ys = annotation["segmentation"][0][0::2], annotation["segmentation"][0][1::2]
        for least, most, values, side in ((x, x + width, xs, image["width"]), (y, y + height, ys, image["height"])):
            test.assertTrue(-0.5 <= min(values) and max(values) <= side + 0.5, annotation)
            test.assertAlmostEqual(min(values), least, delta=0.001)
            test.assertAlmostEqual(max(values), most, delta=0.001)


def area_of(annotation):
    """By shapely, of the region that the polygon's line encloses, bridges resolved; None without shapely."""
    try:
        from shapely.geometry import Polygon
        from shapely.validation import make_valid
    except ImportError:
        return None
    (ring,) = annotation["segmentation"]
    return make_valid(Polygon(list(zip(ring[0::2], ring[1::2])))).area
