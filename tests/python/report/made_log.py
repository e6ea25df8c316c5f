"""Random verdicts of several lanes, in a verdict log, a sorter's outcomes of them, a log of changes, and what a report of
them has to add up to."""
import collections
import datetime
import hashlib
import json
import math
import random
import struct
import zlib

CLASSES = ("rot", "rust", "=stem", "hail")
LOTS = ("", "4711", "4712", "Müller 17")
RECIPES = ("", "plum", "apricot")
NS_PER_S = 10**9
BUDGET_MS = 50


def _totals(rng, looked_for, settings):
    found = {name: rng.random() < 0.3 for name in looked_for}
    totals = {name: {"count": found[name] * rng.randint(1, 4), "area_px": found[name] * rng.randint(1, 4000) / 2,
                     "level": (1 + CLASSES.index(name) + 2 * int(settings[-1])) / 16} for name in looked_for}
    measures = None
    if rng.random() < 0.5:  # areas are multiples of 0.5: sums are exact in any order; some are not known (NaN)
        measures = {name: {"count": total["count"], "area_mm2": total["count"] * 1.5 if rng.random() < 0.9 else None,
                           "largest_mm2": total["count"] * 1.0, "longest_mm": total["count"] * 2.0}
                    for name, total in totals.items()}
    return totals, measures


def make_verdict(rng, run, lane, sequence, published_ns, lot="", recipe="", reloaded=0):
    settings = f"{RECIPES.index(recipe) + 3 * reloaded:016x}"
    looked_for = [name for name in CLASSES if name != "hail" or recipe == "plum"]
    kind = rng.choices(("complete", "partial", "late"), (8, 2, 1))[0]
    states = {"complete": [("judged", "")] * 2, "partial": [("judged", ""), ("lost", "no_slot")],
              "late": [("missing", ""), ("lost", "discarded")]}[kind]
    totals, measures = _totals(rng, looked_for, settings)
    if kind == "late":
        totals, measures = {name: {**total, "count": 0, "area_px": 0.0} for name, total in totals.items()}, None
    surface = measures and {"diameter_mm": 60.0, "length_mm": 62.0, "coverage": 0.75, "seen_mm2": 9000.0, "roll_axis": "y",
                            "pose": [], "classes": measures, "defects": []}
    return {
        "v": 1, "run": run, "settings": settings, "recipe": recipe, "lot": lot, "lane": lane, "epoch": 2**64 - 1,
        "epoch_text": str(2**64 - 1), "fruit": 100 + sequence, "fruit_text": str(100 + sequence), "sequence": sequence,
        "stale": False, "encoder": 5, "encoder_text": "5", "captured_ns": published_ns - 10**8, "published_ns": published_ns,
        "deadline_ns": published_ns + 10**7, "verdict": kind, "views_expected": 2,
        "views_received": sum(state != "missing" for state, _ in states),
        "views_judged": sum(state == "judged" for state, _ in states), "skipped": [], "truncated": False,
        "budget_ms": BUDGET_MS, "latency_ms": {"queue": 0.5, "total": rng.randint(8, 416) / 8}, "assembly_ms": 20.0,
        "closed_by": "views",
        "view_states": [{"view": view, "state": state, "reason": reason, "captured_ns": None if state == "missing" else 1,
                         "encoder": None if state == "missing" else 5, "received_ms": None if state == "missing" else 0.5,
                         "queue_ms": None if state == "missing" else 0.5, "run_ms": 1.0 if state == "judged" else None,
                         "backend": "openmp" if state == "judged" else ""} for view, (state, reason) in enumerate(states)],
        "totals": totals, "defects": [], **({"surface": surface} if surface else {}),
    }


def write_log(folder, verdicts):
    """One segment, in JSON, of verdicts or of a sorter's entries."""
    folder.mkdir(exist_ok=True)
    with open(folder / "cernita-0000000001.verdicts", "wb") as file:
        file.write(struct.pack("<4sHHQ", b"CRNV", 1, 16, 1))
        for verdict in verdicts:
            body = json.dumps(verdict, ensure_ascii=False).encode()
            head = struct.pack("<II", len(body), verdict["lane"])
            file.write(head + struct.pack("<I", zlib.crc32(head + body)) + body)


def make_day(seed, begin_ns, seconds, count, lanes=3):
    """Verdicts at random times from begin_ns on, in order of time; recipes, settings, lots and runs of the daemon follow
    one another. Some are left out: the archive misses them."""
    rng = random.Random(seed)
    times = sorted(begin_ns + rng.randrange(seconds * NS_PER_S) for _ in range(count))
    sequences, verdicts, runs = collections.Counter(), [], rng.randint(1, 3)
    for index, published_ns in enumerate(times):
        lane = rng.randrange(lanes)
        run = f"18a1b2c3d4e5f6{index * runs // count:02}"
        sequence = sequences[run, lane]
        sequences[run, lane] += 1
        verdict = make_verdict(rng, run, lane, sequence, published_ns, LOTS[index * len(LOTS) // count],
                               RECIPES[index * 4 // count % len(RECIPES)], index * 8 // count % 2)
        if rng.random() >= 0.02:
            verdicts.append(verdict)
    last = {(verdict["run"], verdict["lane"]): verdict["sequence"] for verdict in verdicts}
    missing = sum(sequence + 1 for sequence in last.values()) - len(verdicts)
    return verdicts, missing


def make_outcomes(seed, verdicts):
    """A sorter's entries about these verdicts, in their order, and {(run, lane, sequence): (outlet, reason, result)} of them.
    Of some fruits there is none, and some entries stand for several fruits in a row, also for such as the archive lacks."""
    rng, entries, made = random.Random(seed), [], {}
    lost_until = collections.Counter()
    for verdict in verdicts:
        key = run, lane, sequence = verdict["run"], verdict["lane"], verdict["sequence"]
        if sequence < lost_until[run, lane]:
            made[key] = "end", "lost", None
            continue
        lost_until[run, lane] = sequence + 1
        if rng.random() < 0.03:
            continue
        common = {"outcome": 1, "sorter": "5eed", "run": run, "lane": lane, "sequence": sequence,
                  "decided_ns": verdict["published_ns"] + 10**6}
        if rng.random() < 0.03:
            count = rng.randint(1, 5)
            lost_until[run, lane] = sequence + count
            entries.append({**common, "fruits": count, "fruit": 0, "outlet": "end", "reason": "lost", "rule": 0})
            made[key] = "end", "lost", None
            continue
        outlet, rule = rng.choice((("end", 0), ("waste", 1), ("=second", 2)))
        reason = "rule" if rule else rng.choice(("default", "partial"))
        entries.append({**common, "fruits": 1, "fruit": verdict["fruit"], "outlet": outlet, "reason": reason, "rule": rule})
        results = {"waste": ("confirmed",) * 5 + ("missed", "lost", "too_late", None), "=second": ("fired", None)}
        result = rng.choice(results.get(outlet, (None,)))
        made[key] = outlet, reason, result
        if result:
            entries.append({"firing": 1, "run": run, "lane": lane, "sequence": sequence, "result": result})
    return entries, made


def make_changes(seed, verdicts):
    """A log of changes: one of each lot and recipe of the verdicts, some refused ones, a reload, and who did it."""
    rng, changes = random.Random(seed), []
    state = {"settings": verdicts[0]["settings"], "recipe": "", "lot": ""}
    for verdict in verdicts:
        after = {name: verdict[name] for name in state}
        what = next((name for name in ("lot", "recipe") if after[name] != state[name]), "reload")
        if after == state and rng.random() > 0.02:
            continue
        if what == "reload" and rng.random() < 0.3:
            what = "start"
        is_refused = what != "start" and rng.random() < 0.2
        keys = ["contours.rot: 0.5 -> 0.6", "budget_ms: 50 -> 40"] if what == "reload" else []
        changes.append({"time_ns": verdict["published_ns"] // 10**6 * 10**6, "what": what, "refused": is_refused,
                        "name": rng.choice(("anna", "bruno", "=1+1")), "before": state,
                        "after": state if is_refused else after, "keys": keys})
        state = changes[-1]["after"]
    return changes


def write_changes(folder, changes):
    """As the daemon writes them, each with the hash of the one before."""
    folder.mkdir(exist_ok=True)
    previous = "0" * 64
    with open(folder / "changes.jsonl", "w", encoding="utf-8") as file:
        for number, change in enumerate(changes, 1):
            time = datetime.datetime.fromtimestamp(change["time_ns"] // NS_PER_S, datetime.timezone.utc)
            entry = {"number": number,
                     "time": f"{time:%Y-%m-%dT%H:%M:%S}.{change['time_ns'] // 10**6 % 1000:03}Z", "what": change["what"],
                     **({"refused": True} if change["refused"] else {}),
                     "by": {"through": "control", "user": 1000, "name": change["name"], "process": 77},
                     "before": change["before"], "after": change["after"],
                     **({"keys": change["keys"]} if change["keys"] else {}), "previous": previous}
            text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))[:-1]
            previous = hashlib.sha256(text.encode()).hexdigest()
            file.write(f'{text},"hash":"{previous}"}}\n')


def make_alarms(seed, verdicts):
    """An alarm list: drift of lanes and lots, and others; some still hold."""
    rng, alarms = random.Random(seed), []
    for verdict in verdicts:
        if rng.random() > 0.05:
            continue
        raised_ms = verdict["published_ns"] // 10**6
        is_cleared, condition = rng.random() < 0.8, rng.choice(("lane_drifts", "lot_drifts", "no_grader", "disk_full"))
        alarms.append({"condition": condition, "lane": verdict["lane"] if condition == "lane_drifts" else -1,
                       "count": rng.randrange(4000), "percent": rng.choice((12.5, 150.0, float("inf"))),
                       "name": rng.choice(CLASSES), "raised_ms": raised_ms,
                       "cleared_ms": raised_ms + rng.randrange(1, 10**7) if is_cleared else 0,
                       "acknowledged_ms": raised_ms + 1 if rng.random() < 0.5 else 0, "by": "bruno"})
    return alarms


def drift_within(alarms, changes, from_ns, to_ns):
    """The report's rows of those that held in the period: none holds longer than to the daemon's next start."""
    starts_ns = sorted(change["time_ns"] for change in changes if change["what"] == "start")

    def end_of(alarm):
        later_ns = next((start_ns for start_ns in starts_ns if start_ns > alarm["raised_ms"] * 10**6), None)
        return alarm["cleared_ms"] * 10**6 or later_ns
    rows = [(alarm["raised_ms"] * 10**6, end_of(alarm), alarm["name"],
             None if alarm["lane"] < 0 else alarm["lane"], alarm["percent"] if math.isfinite(alarm["percent"]) else None,
             alarm["count"], alarm["by"] if alarm["acknowledged_ms"] else None)
            for alarm in alarms if alarm["condition"].endswith("_drifts")]
    return [row for row in rows if row[0] < to_ns and (row[1] is None or row[1] >= from_ns)]


def write_alarms(folder, alarms):
    """As the daemon writes them: each in both halves of the file."""
    folder.mkdir(exist_ok=True)
    kept, record_bytes, block_bytes = 16384, 512, 4096
    with open(folder / "alarms", "wb") as file:
        file.write(struct.pack("<16sIII", b"cernita alarms\n", 2, record_bytes, kept))
        file.truncate(block_bytes + 2 * kept * record_bytes)
        for number, alarm in enumerate(alarms, 1):
            by = alarm["by"] if alarm["acknowledged_ms"] else ""
            body = struct.pack("<4xQQ4qq4d32s48s160s", number, number, alarm["raised_ms"], alarm["cleared_ms"],
                               alarm["acknowledged_ms"], 0, alarm["lane"], alarm["count"], alarm["percent"], 0, 0,
                               alarm["condition"].encode(), by.encode(), alarm["name"].encode()).ljust(record_bytes - 4, b"\0")
            for half in range(2):
                file.seek(block_bytes + (half * kept + number % kept) * record_bytes)
                file.write(struct.pack("<I", zlib.crc32(body)) + body)


def found_in(verdict):
    """The classes that were found, with what the report adds up."""
    surface = (verdict.get("surface") or {}).get("classes", {})
    return {name: {"defects": total["count"], "area_px": total["area_px"],
                   "measured": int(surface.get(name, {}).get("area_mm2") is not None),
                   "area_mm2": surface.get(name, {}).get("area_mm2") or 0}
            for name, total in verdict["totals"].items() if total["count"]}
