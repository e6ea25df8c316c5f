"""A Prometheus with the rules, alerts and intervals of config/prometheus, for check_conditions.py."""
import collections
import json
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import yaml

from condition_line import ROOT, free_port

SHIPPED = ROOT / "config/prometheus"


def alerts_of_conditions():
    """{condition: alert}, by their expressions."""
    groups = yaml.safe_load((SHIPPED / "conditions.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return {re.search(r'condition="(\w+)"', rule["expr"]).group(1): rule["alert"] for rule in rules}


class Prometheus:
    """Scrapes lines that come and go, each as the instance of its name."""

    def __init__(self, folder):
        self.targets = folder / "targets"
        self.targets.mkdir()
        config = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())
        config["rule_files"] = [str(SHIPPED / name) for name in config["rule_files"]]
        config["scrape_configs"][0].pop("static_configs")
        config["scrape_configs"][0]["file_sd_configs"] = [{"files": [f"{self.targets}/*.json"]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}/api/v1"
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series",
             f"--web.listen-address={address}", "--log.level=error"])
        self.fired = collections.defaultdict(set) # alerts since the start, by instance
        self.ended = threading.Event()
        self.await_ready()
        self.observer = threading.Thread(target=self.observe, daemon=True)
        self.observer.start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.ended.set()
        self.observer.join()
        self.process.terminate()
        self.process.wait()

    def ask(self, path, **query):
        with urllib.request.urlopen(f"{self.url}/{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            return json.load(answer)["data"]

    def await_ready(self):
        while True:
            try:
                return self.ask("alerts")
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("prometheus ended, as it says above") from None
                time.sleep(0.2)

    def observe(self):
        while not self.ended.wait(1):
            for alert in self.ask("alerts")["alerts"]:
                if alert["state"] == "firing":
                    labels = alert["labels"]
                    self.fired[labels.get("instance")].add(labels["alertname"])

    def scrape(self, name, target):
        """From now on; also where the line of that name has another target than before."""
        text = json.dumps([{"targets": [target], "labels": {"instance": name}}])
        written = self.targets / f".{name}"
        written.write_text(text)
        written.rename(self.targets / f"{name}.json")

    def forget(self, name):
        (self.targets / f"{name}.json").unlink(missing_ok=True)

    def await_alerts(self, name, alerts, seconds):
        """Those that fired for that line until all of these had, or the time was up."""
        end = time.monotonic() + seconds
        while not self.fired[name] >= alerts and time.monotonic() < end:
            time.sleep(0.5)
        return set(self.fired[name])
