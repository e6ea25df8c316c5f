"""The command line of the programs that draw a picture of a page."""
import argparse
import pathlib
import tempfile


def draw_picture(doc, picture, draw):
    """Calls draw(programs, folder), which writes the picture."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cernita-picture-") as folder:
        draw(pathlib.Path(arguments.bin).resolve(), pathlib.Path(folder))
    print(picture)
