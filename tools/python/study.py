#!/usr/bin/python3
"""Runs the experiments of tools/study."""
import argparse

from study_experiments import EXPERIMENTS
from study_report import Report, set_budget


def main():
    about = "\n".join(f"  {name:16}{run.__doc__}" for name, run in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="tools/study", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The experiments that the operators were first published with, on this machine.",
        epilog=f"experiments, all unless named:\n{about}")
    parser.add_argument("--out", default="study-out", help="folder for study.md and its plots (default study-out)")
    parser.add_argument("--long", action="store_true",
                        help="also what takes more than minutes: ranklets of 2048² and more")
    parser.add_argument("--seconds", type=float, default=0.5, help="spent on a measurement (default 0.5)")
    parser.add_argument("experiment", nargs="*", help="see below")
    asked = parser.parse_args()
    for name in asked.experiment:
        if name not in EXPERIMENTS:
            parser.error(f"'{name}' is no experiment; one of {', '.join(EXPERIMENTS)}")
    set_budget(asked.seconds)
    report = Report(asked.out)
    for name in asked.experiment or EXPERIMENTS:
        EXPERIMENTS[name](report, asked.long)
    if len(report.highlights) > 1:
        report.figure("overview", report.highlights)
    print(f"\nwritten to {report.folder}/study.md")


if __name__ == "__main__":
    main()
