#!/usr/bin/python3
"""tools/study: parses the command line, builds what is needed, runs the experiments."""
import argparse
import os
import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TREE / "tools/python"))

import packages

EXPERIMENTS = {
    "speedup": "S(p) and E(p) of every operator by threads",
    "contours": "contours of smooth waves, 64² to 4096²",
    "diamond-square": "diamond-square 17² to 8193²",
    "opening": "opening 640×480, 1920×2560, 3264×2448 with elements 3 to 21",
    "haar": "Haar at the source's sizes and levels",
    "convolution": "convolution 480p, Full HD and 4K with 3, 5, 7",
    "ranklet": "ranklet, whole pyramid, 256² to 1024², with --long 4096²",
    "ranklet-16384": "ranklet 16384² level by level (only with --long)",
    "kept": "results kept on a device between levels against fetched: Haar, ranklet",
    "phases": "time by phase: contours scan and joining, ranklets window and counting",
}


def read_arguments():
    about = "\n".join(f"  {name:16}{text}" for name, text in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="tools/study", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The experiments that the operators were first published with, on this machine.",
        epilog=f"experiments, all unless named:\n{about}")
    parser.add_argument("--out", default="study-out", help="folder for study.md and its plots (default study-out)")
    parser.add_argument("--long", action="store_true",
                        help="also what takes more than minutes: ranklets of 2048² and more")
    parser.add_argument("--image", metavar="FILE", help="instead: every operator on this picture (TIFF, PNG, JPEG, .npy)")
    parser.add_argument("--seconds", type=float, default=0.5, help="spent on a measurement (default 0.5)")
    parser.add_argument("experiment", nargs="*", help="see below")
    options = parser.parse_args()
    for name in options.experiment:
        if name not in EXPERIMENTS:
            parser.error(f"'{name}' is not an experiment; one of {', '.join(EXPERIMENTS)}")
    if options.image and options.experiment:
        parser.error("--image stands alone: the experiments have their own pictures")
    if options.image and not pathlib.Path(options.image).is_file():
        parser.error(f"--image {options.image}: there is no such file")
    return options


def build():
    """What the experiments import and run; the first command that fails ends all."""
    for command in (["tools/setup", "--study"], ["cmake", "-S", ".", "-B", "build", "-G", "Ninja"],
                    ["ninja", "-C", "build", "cernita", "cernita-bench"]):
        done = subprocess.run(command, cwd=TREE, text=True, check=False,
                              stdout=None if command[0] == "tools/setup" else subprocess.PIPE)
        if done.returncode:
            sys.exit(f"{done.stdout or ''}tools/study: {' '.join(command)} failed as shown")


def main():
    options = read_arguments()
    build()
    # Busy-waiting threads would occupy the processor that is measured; libgomp reads this when it is loaded.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    packages.need("numpy", "matplotlib")  # of a Python that is not Debian's
    from experiments import RUN
    from image import study_image
    from report import Report, set_budget

    set_budget(options.seconds)
    report = Report(options.out)
    if options.image:
        study_image(report, options.image)
    for name in () if options.image else options.experiment or EXPERIMENTS:
        RUN[name](report, options.long)
    if len(report.highlights) > 1:
        report.figure("overview", report.highlights)
    print(f"\nwritten to {report.folder}/study.md")


if __name__ == "__main__":
    main()
