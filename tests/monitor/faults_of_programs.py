"""Faults of the programs that read from the line, of those that should not, and of its settings."""
import pathlib
import signal
import subprocess
import threading

import yaml
import zmq

from fault import Fault

RECIPES = {"recipes": {"peach": {"classes": {"rot": 0.4}}}}


# --- graders and viewers ---

def close_grader(line):
    line.grader.close()


def open_grader(line):
    line.open_grader()


def second_grader(line):
    line.extra = zmq.Context.instance().socket(zmq.PULL)
    line.extra.connect(line.endpoint("grader"))


def close_extra(line):
    line.extra.close(0)


def slow_grader(line):
    line.grader.pause_s = 0.2


def fast_grader(line):
    line.grader.pause_s = 0


def let_grader_crash(line):
    """Again and again, each time back at once."""
    line.crashes = True

    def crash():
        while line.crashes:
            line.grader.close()
            line.open_grader()
            line.belt.ended.wait(1)
    line.crasher = threading.Thread(target=crash, daemon=True)
    line.crasher.start()


def end_crashes(line):
    line.crashes = False
    line.crasher.join()


def connect_viewer(line):
    line.viewer = line.connect_viewer()


def stop_viewer(line):
    line.viewer.send_signal(signal.SIGSTOP)


# --- programs without a key ---

def make_keys(line):
    subprocess.run([line.programs / "cernita-keys", line.folder / "keys"], check=True, stdout=subprocess.DEVNULL)


def connect_without_key(line):
    line.extra = zmq.Context.instance().socket(zmq.PUSH)
    line.extra.connect(line.guarded)


# --- settings ---

def break_file(line):
    line.good_file = line.file.read_text()
    line.file.write_text(line.good_file + "\nnonsense: 1\n")
    line.ctl("reload")


def mend_file(line):
    line.file.write_text(line.good_file)
    line.ctl("reload")


def choose_recipe(line):
    line.ctl("recipe", "peach")


def lose_recipe(line):
    """A crash, after which the file does not have the recipe any more."""
    config = yaml.safe_load(pathlib.Path(line.file).read_text())
    del config["recipes"]
    line.file.write_text(yaml.safe_dump(config))
    line.crash()


def confirm_file(line):
    line.ctl("recipe", "--none")


def begin_lot(line):
    line.ctl("lot", "Hof 7")


def lose_lot(line):
    """A crash, and a power failure that leaves part of the file."""
    def damage():
        kept = line.folder / "state/lot"
        kept.write_bytes(kept.read_bytes()[:20])
    line.crash(damage)


def make_state_folder(line):
    (line.folder / "disk/state").mkdir()


def make_read_only(line):
    """Over the folder lies itself, read-only: what is open in it, as the alarms' file, stays writable."""
    folder = line.folder / "disk/state"
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)


def choose_on_read_only_disk(line):
    make_read_only(line)
    choose_recipe(line)


def begin_lot_on_read_only_disk(line):
    make_read_only(line)
    begin_lot(line)


def reload_on_read_only_disk(line):
    make_read_only(line)
    config = yaml.safe_load(line.file.read_text())
    config["latency"] = config.get("latency", {}) | {"straggler_ms": 900}
    line.file.write_text(yaml.safe_dump(config))
    line.ctl("reload")


def make_writable(line):
    subprocess.run(["umount", line.folder / "disk/state"], check=True)


# --- fruit ---

def three_lanes(line):
    line.belt.lanes = [0, 1, 2]


def change_fruit(line):
    """Once so many fruits with rot have passed that their share is known."""
    while line.event()["verdicts"]["complete"] < 600:
        line.belt.ended.wait(0.2)
    line.belt.without_rot = {0}


def restore_fruit(line):
    line.belt.without_rot = set()


FAULTS = [
    Fault("lane_drifts", "the CNN of one of three lanes finds no rot, before there are 400 fruits to compare with",
          lambda line: setattr(line.belt, "without_rot", {2}), restore_fruit, prepare=three_lanes, rate=6, within_s=90),
    Fault("lot_drifts", "within a lot the CNN finds no rot any more", change_fruit, restore_fruit, prepare=begin_lot,
          rate=20),
    Fault("no_grader", "the grader closes its socket", close_grader, open_grader),
    Fault("several_graders", "a second grader connects", second_grader, close_extra),
    Fault("grader_slow", "the grader reads five verdicts a second of twenty", slow_grader, fast_grader, rate=20,
          also={"verdicts_lost"}),
    Fault("verdicts_lost", "the grader crashes once a second, and connects again", let_grader_crash, end_crashes),
    Fault("viewer_stuck", "SIGSTOP to a viewer", stop_viewer, prepare=connect_viewer),
    Fault("keys_refused", "a program without a key connects to a guarded address", connect_without_key, close_extra,
          changes={"access": {"keys": "FOLDER/keys"}, "ingest": {"bind": ["ipc://FOLDER/views", "GUARDED"]}},
          before=make_keys),
    Fault("reload_refused", "a faulty file is loaded", break_file, mend_file),
    Fault("recipe_lost", "SIGKILL, and a start with a file that lacks the recipe in force", lose_recipe, confirm_file,
          changes=RECIPES, prepare=choose_recipe, also={"no_sender", "views_lost"}),
    Fault("recipe_not_kept", "another recipe is chosen, and the disk of the state folder is read-only",
          choose_on_read_only_disk, make_writable, disk="tmpfs", before=make_state_folder,
          changes=RECIPES | {"state": {"dir": "FOLDER/disk/state"}}, also={"changes_not_kept"}),
    Fault("lot_lost", "SIGKILL, and a start that finds the first 20 bytes of the lot's file", lose_lot, begin_lot,
          prepare=begin_lot, also={"no_sender", "views_lost"}),
    Fault("lot_not_kept", "a lot is begun, and the disk of the state folder is read-only",
          begin_lot_on_read_only_disk, make_writable, disk="tmpfs", before=make_state_folder,
          changes={"state": {"dir": "FOLDER/disk/state"}}, also={"changes_not_kept"}),
    Fault("changes_not_kept", "other settings are loaded, and the disk of the state folder is read-only",
          reload_on_read_only_disk, make_writable, disk="tmpfs", before=make_state_folder,
          changes={"state": {"dir": "FOLDER/disk/state"}}),
]
