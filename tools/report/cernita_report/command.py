"""The command line of cernita-report."""
import argparse
import os
import signal
import sys

from . import Failure, archive, outputs, period
from .page import make_page, show
from .report import make_report
from .words import LANGUAGES

CHART_JS = "/usr/share/javascript/chart.js/chart.min.js"  # Debian's libjs-chart.js, which the live page has within it

_ABOUT = """\
The report of a shift or of a lot, from the database that cernita-archive writes.

    cernita-report FILE.sqlite --from yesterday --html yesterday.html
    cernita-report FILE.sqlite --from '2026-11-27 22:00' --to '2026-11-28 06:00' --html shift.html --csv tables
    cernita-report FILE.sqlite --lot 4711 --html lot.html --json lot.json
    cernita-report postgresql://reader@office.example/cernita --from yesterday --html yesterday.html

T is a local time: 2026-11-27, '2026-11-27 06:00', today, yesterday or now. A day as --to is its end. Without --to the
period ends with that day where --from is a day, else now. One line is printed in any case.
"""


def read_options():
    parser = argparse.ArgumentParser(
        prog="cernita-report", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        epilog="exit status: 0 success, 1 failure, 2 usage error")
    parser.add_argument("archive", metavar="FILE.sqlite|URL", 
                        help="the database; or postgresql://[USER@]HOST[:PORT]/DATABASE, with the password in ~/.pgpass")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--from", dest="begin", metavar="T", help="the period's begin")
    what.add_argument("--lot", metavar="ID", help="all fruits of this lot instead of a period")
    parser.add_argument("--to", dest="end", metavar="T", help="the period's end, excluded")
    parser.add_argument("--html", metavar="FILE", help="one page, which loads nothing")
    parser.add_argument("--csv", metavar="DIR", help="a file per table")
    parser.add_argument("--json", metavar="FILE", help="everything")
    parser.add_argument("--language", choices=sorted(LANGUAGES), default="en", help="of the page; default: en")
    parser.add_argument("--chart-js", default=CHART_JS, metavar="FILE", help=f"Chart.js 3; default: {CHART_JS}")
    options = parser.parse_args()
    if options.lot is not None and options.end is not None:
        parser.error("--to is of --from: a lot has its own times")
    if options.begin is not None:
        end = options.end or (options.begin if period.is_day(options.begin) else "now")
        for name, text, is_end in (("begin", options.begin, False), ("end", end, True)):
            try:
                setattr(options, name, period.read_time(text, is_end))
            except ValueError as fault:
                parser.error(f"argument {'--to' if is_end else '--from'}: {fault}")
        if options.begin >= options.end:
            parser.error(f"--from {options.begin} is not before --to {options.end}: name a later end")
    return options


def _chart_js(path):
    """None where it is not installed, which the page tells; a file that was named has to be there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        if path == CHART_JS:
            return None
        raise


def _write(options, report):
    words = LANGUAGES[options.language]
    if options.html:
        outputs.write(options.html, make_page(report, words, _chart_js(options.chart_js)))
    if options.json:
        outputs.write(options.json, outputs.to_json(report, words))
    if options.csv:
        outputs.make_folder(options.csv)
        for name, result in report.results.items():
            outputs.write(os.path.join(options.csv, f"{name}.csv"), outputs.to_csv(result))


def _tell(report):
    summary, selection = report.summary, report.selection
    lot = f"lot {selection.lot}, " if selection.lot else ""
    missing = f"; {report.missing} verdicts are missing in the archive" if report.missing else ""
    print(f"{report.path}: {lot}{period.told(selection.from_ns)} to {period.told(selection.to_ns)} "
          f"{period.zone_of(selection)}: "
          f"{summary['fruits']} fruits, {summary['complete']} complete, {summary['partial']} partial, {summary['late']} late, "
          f"{show('share', summary['with_defect_share'])} with a defect{missing}".replace("\u00a0", " "), flush=True)


def _count(path, choose):
    """The report; a terminal shows how far it is."""
    is_terminal = sys.stderr.isatty()

    def step(share):
        if is_terminal:
            print(f"\r{archive.name_of(path)}: {share:4.0%}", end="", file=sys.stderr, flush=True)
    try:
        return make_report(path, choose, step)
    finally:
        if is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def run(options):
    def choose(connection):
        if options.lot is not None:
            return archive.of_lot(options.archive, connection, options.lot)
        return period.of_times(options.begin, options.end)
    report = _count(options.archive, choose)
    _write(options, report)
    _tell(report)


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        run(options)
    except KeyboardInterrupt:
        sys.exit(1)
    except (Failure, MemoryError, OSError, UnicodeError) as fault:
        text = str(fault) or "out of memory"
        if isinstance(fault, OSError) and fault.errno:
            text = f"{fault.filename or archive.name_of(options.archive)}: {fault.strerror}"
        sys.exit(f"cernita-report: {text}")
