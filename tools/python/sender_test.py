"""sender.py --test: sends two fruits and shows what became of them, from the daemon's own words."""
import sys
import time

import numpy as np

from cernita import Status, Verdict, Verdicts
from cernita._line.refusals import HINTS, refusals

try:
    import msgpack  # noqa: F401
except ImportError:
    sys.exit(f"sender.py: {sys.executable} has no module 'msgpack', which --test needs: install "
             "Debian's python3-msgpack, and start it with /usr/bin/python3")

FRUITS = 2
STATUS_S = 5.0  # `status` comes once a second

# What to do about views that came and were not judged whole.
VIEW_HINTS = {
    "not_finite": "NaN or infinity: look at the CNN's weights and input",
    "out_of_range": "maps must be probabilities, 0 to 1: after softmax or sigmoid, and 0 to 255 divided "
                    "by 255; the daemon's log names the class and its values",
    "mask_values": "a u8 mask of zeros and ones: 255 is certainty, so multiply it by 255, or set "
                   "ingest.values: small_u8 in the daemon's file",
    "all_zero": "all values are 0, the background's too: the CNN is dead, or an empty buffer was sent",
    "divided_by_255": "the values of a pixel sum to 1/255: they were divided by 255 once too often",
    "labels": "u8 maps of small numbers: send a channel per class, in which 255 is certainty, not labels or masks",
    "per_cent": "the values of a pixel sum to 100: in u8 maps 255 is certainty, so multiply them by 2.55",
    "wrong_sum": "the values of a pixel must sum to 1 (u8: 255) over all classes, as after a softmax; after "
                 "sigmoids set ingest.sum: none in the daemon's file",
    "truncated": "too many outlines: raise limits.defects and limits.points in the daemon's file",
    "no_slot": "raise limits.slots in the daemon's file, or send slower (--rate)",
    "discarded": "no time left: raise latency.budget_ms in the daemon's file, or send slower (--rate)",
    "unfinished": "no time left: raise latency.budget_ms in the daemon's file, or send smaller maps",
    "skipped": "no time left for an optional stage: raise latency.budget_ms in the daemon's file",
}


# A lane whose views have no value of this or more is unproven, as the daemon says after 64 of them.
PROVEN = 0.5


def sample(maps):
    """(greatest value, least and greatest sum over the classes of 64 pixels), as probabilities."""
    certainty = 255 if maps.dtype == np.uint8 else 1
    pixels = maps.reshape(-1, maps.shape[-1])
    pixels = pixels[np.linspace(0, len(pixels) - 1, 64).astype(int)]
    sums = pixels.astype(np.float64).sum(axis=1) / certainty
    return float(maps.max()) / certainty, sums.min(), sums.max()


def scale_fault(maps):
    """The reason of VIEW_HINTS that maps without a value of PROVEN look like; None: of none."""
    greatest, least_sum, greatest_sum = sample(maps)
    if greatest == 0:
        return "all_zero"
    if maps.dtype != np.uint8:
        return "divided_by_255" if greatest <= 1.02 / 255 else None
    if abs(least_sum * 255 - 100) <= maps.shape[-1] >= abs(greatest_sum * 255 - 100):
        return "per_cent"
    return "labels" if greatest * 255 < 64 else None


def print_values(pool, verdicts):
    """Prints what the maps' values are. Returns False if they show nothing, and no verdict says why."""
    samples = np.array([sample(maps) for maps, _ in pool])
    greatest = samples[:, 0].max()
    print(f"values: at most {greatest:.3g}; those of a pixel sum to {samples[:, 1].min():.3g} to "
          f"{samples[:, 2].max():.3g} over the classes (after a softmax to 1)")
    told = any(state["reason"] in VIEW_HINTS and "class" in state for verdict in verdicts
               for state in verdict.view_states)
    if told or not greatest < PROVEN:
        return True
    fault = scale_fault(pool[0][0])
    print(f"unproven: no value of {PROVEN} or more (u8: 128): "
          + (VIEW_HINTS[fault] if fault else "is the scale that of probabilities?")
          + "; if it is sound fruit, try a view with a defect")
    return False


class Viewer:
    """What the daemon tells its viewers: its last status, and the verdicts of one epoch."""

    def __init__(self, line, options):
        self.status, self.verdicts = None, {}
        self._epoch = line.epoch
        self._source = Verdicts(options.viewers, lane=line.lane, status=True, key=options.key,
                                server_key=options.server_key)

    def listen(self, until_s, enough):
        """Reads until enough() says so, or until then. Returns what enough() says."""
        while not enough():
            try:
                message = self._source.receive(max(0, until_s - time.monotonic()))
            except TimeoutError:
                break
            if isinstance(message, Status):
                self.status = message.message
            elif isinstance(message, Verdict) and message.epoch == self._epoch:
                self.verdicts[message.fruit] = message
        return enough()

    def next_status(self):
        """The next one from now on, None when none comes."""
        self.status = None
        self.listen(time.monotonic() + STATUS_S, lambda: self.status)
        return self.status

    def close(self):
        self._source.close()


def send_fruits(line, pool, options):
    """Returns the number of views accepted."""
    accepted = 0
    for number in range(FRUITS * options.views):
        maps, photo = pool[number % len(pool)]
        fruit, view = divmod(number, options.views)
        accepted += line.send(maps, fruit=fruit, view=view, intensity=photo, captured_ns=time.time_ns(),
                              pose=options.poses[view])
        time.sleep(1 / options.views / options.rate)
    return accepted


def measures(verdict):
    """What a line with section geometry found, in one line; "" of one without."""
    surface = verdict.surface
    if surface is None:
        return "not measured: there was no time" if "surface" in verdict["skipped"] else ""
    if surface["diameter_mm"] is None:
        return "not measured: " + ("no view shows where the fruit is (give --pose, or photographs of fruit)"
                                   if all(pose["source"] == "none" for pose in surface["pose"])
                                   else "it is not known how far the fruit rolled, or it has too many outlines")
    areas = "".join(f", {name} {measure['area_mm2']:.1f} mm2" for name, measure in surface["classes"].items()
                    if measure["count"])
    return f"{surface['diameter_mm']:.1f} mm across, {100 * surface['coverage']:.0f} % of it seen{areas}"


def print_verdict(verdict):
    """Prints the verdict, and each of its views that was not judged whole."""
    print(f"fruit {verdict.fruit}: {verdict.kind}, {verdict['views_judged']} of "
          f"{verdict['views_expected']} views judged, {verdict['latency_ms']['total']:.1f} of "
          f"{verdict['budget_ms']} ms")
    if measured := measures(verdict):
        print(f"  {measured}")
    for state in verdict.view_states:
        if state["state"] != "judged" or state["reason"]:
            print(f"  view {state['view']}: {state['state']}"
                  + (f", {state['reason']}" if state["reason"] else ""))


def print_hints(verdicts):
    """Prints each reason why views were not judged whole."""
    reasons = {state["reason"] for verdict in verdicts for state in verdict.view_states
               if state["state"] in ("judged", "lost") and state["reason"]}
    for reason in sorted(reasons):
        print(f"{reason}: {VIEW_HINTS.get(reason, 'see the log of the daemon')}")


def print_refusals(before, after, lane):
    """Prints the refusals since `before`; returns the number of messages."""
    total = 0
    before = refusals(before, lane)
    for reason, count in refusals(after, lane).items():
        count -= before.get(reason, 0)
        if count > 0:
            print(f"{count} refused ({reason}): {HINTS.get(reason, 'see the log of the daemon')}")
            total += count
    return total


def try_out(line, pool, options):
    """Returns the exit status: 0 when every fruit is complete, and a value shows that the CNN works."""
    sent = FRUITS * options.views
    try:
        viewer = Viewer(line, options)
    except ValueError as fault:
        sys.exit(f"sender.py: --viewers '{options.viewers}': {fault}")
    before = viewer.next_status()
    if not before:
        print(f"sender.py: no status from {options.viewers}: name the daemon's publish.viewers.bind "
              "with --viewers", file=sys.stderr)
        viewer.close()
        line.close(0)
        return 1
    accepted = send_fruits(line, pool, options)
    lost = line.close(options.linger)
    viewer.listen(time.monotonic() + 1, lambda: len(viewer.verdicts) == FRUITS)
    viewer.next_status()
    after = viewer.next_status()  # packed after all of this was read
    viewer.close()
    maps = pool[0][0]
    print(f"sent: {accepted} of {sent} views, {maps.shape[0]} x {maps.shape[1]} x {maps.shape[2]} "
          f"{maps.dtype} as height x width x class, lane {options.lane}")
    for fruit in sorted(viewer.verdicts):
        print_verdict(viewer.verdicts[fruit])
    print_hints(viewer.verdicts.values())
    proven = print_values(pool, viewer.verdicts.values())
    refused = print_refusals(before, after, options.lane) if after else 0
    if lost:
        print(f"{lost} perhaps not delivered: the daemon closed the connection while they were under "
              f"way; a part of more than twice limits.view_mib does that "
              f"(these maps have {maps.nbytes / 2**20:.1f} MiB): raise it in the daemon's file, or "
              "send u8 or f16, or smaller maps")
    unheard = FRUITS - len(viewer.verdicts)
    if unheard and not refused and not lost:
        print(f"{unheard} fruits without a verdict, and nothing was refused: are {options.to} and "
              f"{options.viewers} of the same daemon?")
    good = sum(verdict.kind == "complete" for verdict in viewer.verdicts.values())
    print(f"{good} of {FRUITS} fruits complete, {refused} messages refused")
    return 0 if good == FRUITS and not refused and proven else 1
