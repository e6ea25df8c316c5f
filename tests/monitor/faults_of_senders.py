"""Faults of cameras, CNNs and senders."""
import numpy as np
import zmq

from fault import Fault, nothing, setting


# --- values ---

def with_nan(maps):
    maps = maps.copy()
    maps[3:5, 3:5, 1] = np.nan
    return maps


def logits(maps):
    return maps * 8 - 4


def divided(maps):
    return maps / np.float32(255)


def faint(maps):
    return 0.2 * maps + np.float32(0.8 / 3)


def faint_cnn(line):
    line.belt.change_maps = faint
    line.belt.begin_epoch()


def first_again(maps, kept={}):
    return kept.setdefault(maps.shape, maps)


def noise(maps, rng=np.random.default_rng(2)):
    """Every other pixel is a defect."""
    rot = (rng.random(maps.shape[:2]) < 0.5).astype(np.float32)
    return np.stack([1 - rot, rot, np.zeros_like(rot)], axis=2)


# --- messages ---

def cut_tensor(parts):
    return [parts[0], parts[1][:-4], *parts[2:]]


def other_magic(parts):
    return [b"XXXX" + parts[0][4:], *parts[1:]]


def send_too_much(line):
    line.extra = zmq.Context.instance().socket(zmq.PUSH)
    line.extra.connect(line.endpoint("views"))
    line.extra.send(bytes(64 << 20))


def close_extra(line):
    line.extra.close(0)


# --- lanes ---

def two_lanes(line):
    line.belt.lanes = [0, 1]


def other_lane_alone(line):
    line.belt.lanes = [0]


FAULTS = [
    Fault("lane_silent", "one of two lanes sends no more", setting(silent_lanes={1}), setting(silent_lanes=set()),
          prepare=two_lanes),
    Fault("lane_never_seen", "a lane of `ingest.lanes` never sends", nothing, two_lanes,
          changes={"ingest": {"lanes": ["0-1"]}}),
    Fault("no_sender", "the CNN's program ends", lambda line: line.belt.pause(), lambda line: line.belt.resume()),
    Fault("views_missing", "view 3 is never sent", setting(skipped={3}), setting(skipped=set()),
          why="view 3 did not come .*camera"),
    Fault("views_late", "view 3 comes 1.5 s after its fruit's others", setting(delay_s={3: 1.5}), setting(delay_s={}),
          why=r"view 3 did not come .*\(.*CNN"),
    Fault("views_lost", "a message of ten is numbered and not sent", setting(dropped=10), setting(dropped=0)),
    Fault("", "the sender ends within a fruit and begins a new epoch", lambda line: line.belt.begin_epoch(),
          alerts={"CernitaSenderRestarted"}, why="the sender was restarted"),
    Fault("two_senders", "a second sender sends the same views", lambda line: line.belt.double(),
          lambda line: line.belt.single(), also={"CernitaSenderRestarted"}),
    Fault("epoch_reused", "the sender restarts, and numbers messages and fruits as before",
          lambda line: line.belt.begin_again(), changes={"latency": {"budget_ms": 1000, "straggler_ms": 2000}}),
    Fault("numbers_too_early", "a fruit's number returns after eight fruits", setting(numbers=8), setting(numbers=0)),
    Fault("wrong_class_set", "the CNN's classes are in another order", setting(other_classes=True),
          setting(other_classes=False)),
    Fault("wrong_size", "tensors are four bytes too short", setting(change_parts=cut_tensor), setting(change_parts=None)),
    Fault("messages_refused", "headers do not begin with CRN1", setting(change_parts=other_magic),
          setting(change_parts=None)),
    Fault("too_many_lanes", "views of a lane that `ingest.lanes` does not have", two_lanes, other_lane_alone,
          changes={"ingest": {"lanes": ["0"]}}),
    Fault("not_finite", "the CNN emits NaN", setting(change_maps=with_nan), setting(change_maps=None)),
    Fault("out_of_range", "the CNN's softmax is missing", setting(change_maps=logits), setting(change_maps=None)),
    Fault("wrong_scale", "maps are divided by 255 once more", setting(change_maps=divided), setting(change_maps=None)),
    Fault("frozen", "the same maps come again and again", setting(change_maps=first_again), setting(change_maps=None)),
    Fault("unproven", "a CNN starts, and no value of it reaches 0.5", faint_cnn, setting(change_maps=None),
          also={"CernitaSenderRestarted"}),
    Fault("defects_left_out", "every other pixel is a defect, `limits.points` 1024", setting(change_maps=noise),
          setting(change_maps=None), changes={"limits": {"points": 1024, "view_mib": 2, "slots": 64}}),
    Fault("sender_cut", "a message of 64 MiB", send_too_much, close_extra),
    Fault("clocks_apart", "deadlines lie an hour back", setting(deadline_ns=-3600 * 10**9), setting(deadline_ns=0)),
    Fault("deadlines_over", "deadlines lie a second back", setting(deadline_ns=-10**9), setting(deadline_ns=0)),
    Fault("too_many_fruits", "eight fruits at once, `limits.open_fruits` 4", setting(at_once=8), setting(at_once=1),
          changes={"limits": {"open_fruits": 4, "view_mib": 2, "slots": 64}}),
]
