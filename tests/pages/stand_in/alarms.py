"""The alarms of a stand-in for a daemon: the list that GET /alarms gives, and what POSTs do to it."""
import copy
import json
import time

SEVERITIES = ["critical", "warning", "notice"]
CSV = b"number,condition,severity,misjudged,lane,raised,cleared,acknowledged,acknowledged_by,shelved_until,what,action\r\n"


class Alarms:
    def __init__(self):
        self.alarms, self.change = [], 0 # newest first
        self.token = None # what POSTs have to name
        self.refuses = "" # what is said to every POST, if anything
        self.posts = [] # as they came

    def raised(self, condition, **changes):
        """A new alarm, of a condition as held() gives it; its number."""
        self.change += 1
        number = len(self.alarms) + 1
        entry = {key: value for key, value in condition.items() if key != "since_s"}
        self.alarms.insert(0, entry | {"number": number, "raised_ms": round(condition["since_s"] * 1000)} | changes)
        return number

    def update(self, number, **changes):
        """None takes a field away."""
        self.change += 1
        for alarm in self.alarms:
            if number == alarm["number"]:
                alarm.update(changes)
                for key in [key for key, value in alarm.items() if value is None]:
                    del alarm[key]

    def is_shelved(self, alarm):
        return alarm.get("shelved_until_ms", 0) > 1000 * time.time()

    def summary(self):
        """What events say of them."""
        waiting = [one["severity"] for one in self.alarms if "acknowledged_ms" not in one and not self.is_shelved(one)]
        still = [one for one in self.alarms if not ("acknowledged_ms" in one and "cleared_ms" in one or self.is_shelved(one))]
        return {"open": len(still), "loudest": next((one for one in SEVERITIES if one in waiting), "none"),
                "newest": len(self.alarms), "change": self.change}

    def list(self):
        summary = self.summary()
        return json.dumps({"now_ms": round(1000 * time.time()), "open": summary["open"], "loudest": summary["loudest"],
                           "alarms": copy.deepcopy(self.alarms)}).encode()

    def numbers_of(self, fields):
        if fields["number"] != "all":
            return [int(fields["number"])]
        return [one["number"] for one in self.alarms if one["number"] <= int(fields["newest"])]

    def post(self, what, fields, token):
        """Code, text and further headers of the answer."""
        self.posts.append((what, fields))
        if self.refuses:
            return 403, self.refuses, {}
        if self.token and token != self.token:
            return 403, "X-Cernita-Token is missing or wrong; the file alarms.token has it\n", {"X-Cernita-Token": "wanted"}
        now_ms = round(1000 * time.time())
        if what == "acknowledge":
            for number in self.numbers_of(fields):
                self.update(number, acknowledged_ms=now_ms, acknowledged_by="192.168.0.7")
            return 200, '{"acknowledged": 1}', {}
        until_ms = now_ms + 60000 * int(fields["minutes"])
        self.update(int(fields["number"]), shelved_until_ms=until_ms if until_ms > now_ms else None)
        return 200, '{"shelved": 1}', {}
