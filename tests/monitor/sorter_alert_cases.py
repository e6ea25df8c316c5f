"""Series of a healthy sorter, and for each alert in config/prometheus/sorter.yml what differs from it, as alert_cases.py
has them for a line."""
from alert_cases import Case, burst, constant, event, from_minute, growing

COUNTERS = ("silences", "verdicts_lost", "messages_unreadable", "firing_messages_unreadable", "modbus_lost",
            "plc_overwritten", "plc_dropped", "plc_refusals", "plc_decisions", "plc_connections", "mqtt_connections",
            "mqtt_messages_dropped", "outcomes_dropped", "outcomes_failed")
REASONS = ("rule", "default", "unmeasured", "partial", "late", "stale", "lost", "silence")
RESULTS = ("fired", "confirmed", "missed", "too_late", "lost", "unexpected")


def of_sorter(name, **labels):
    more = "".join(f',{key}="{value}"' for key, value in sorted(labels.items()))
    return f'{name}{{instance="sorter",job="cernita-sorter"{more}}}'


def sorter(name, **labels):
    return of_sorter(f"cernita_sorter_{name}", **labels)


def total(name, **labels):
    return sorter(f"{name}_total", **labels)


def fired(result):
    return total("firings", outlet="waste", result=result)


def line_is(state, values="0x12 1x200"):
    """After a minute in which it was heard."""
    return {sorter("line_state", state="running"): "1x12 0x200", sorter("line_state", state=state): values}


def healthy_sorter():
    """With PLC, broker, belt and ejectors; nothing polls it."""
    series = {of_sorter("up"): constant(1), sorter("start_time_seconds"): constant(1.7e9)}
    series |= {sorter("line_state", state=state): constant(int(state == "running"))
               for state in ("waiting", "running", "silent")}
    series |= {total(name): constant(0) for name in COUNTERS}
    series |= {total("decisions", reason=reason): growing(10 if reason == "rule" else 0) for reason in REASONS}
    series |= {fired(result): growing(5 if result in ("fired", "confirmed") else 0) for result in RESULTS}
    series |= {total("fruits", outlet="waste"): growing(5), total("fruits", outlet="end"): growing(5)}
    series |= {total("reloads", result="refused"): constant(0), total("modbus_acknowledged"): constant(0)}
    series |= {sorter(name): constant(int(name not in ("belt_missed", "modbus_clients")))
               for name in ("plc_connected", "belt_known", "belt_missed", "mqtt_connected", "modbus_clients")}
    return series


# A file that has none of these outputs: their levels are 0 from the start.
WITHOUT_OUTPUTS = ({fired(result): constant("_") for result in RESULTS} |
                   {sorter(name): constant(0) for name in ("plc_connected", "belt_known", "mqtt_connected")})
STOPPED_BELT = {total("fruits", outlet=outlet): constant(100) for outlet in ("waste", "end")}
BATCH_ENDS = {sorter("belt_known"): from_minute(1, 0)} | {
    total("fruits", outlet=outlet): "0+5x12 60x200" for outlet in ("waste", "end")}
UNKNOWN = {sorter("belt_known"): from_minute(1, 0), sorter("belt_missed"): from_minute(0, 1)}

SORTER_CASES = [
    Case(None, "a sorter without PLC, broker and ejectors", WITHOUT_OUTPUTS, "3m"),
    Case("CernitaSorterDown", "no answer", {of_sorter("up"): from_minute(1, 0)}, "1m30s"),
    Case(None, "one answer of a sorter is missing", {of_sorter("up"): "1x12 0 1x100"}, "1m10s"),
    Case("CernitaSorterRestarted", "one restart", {sorter("start_time_seconds"): "10x24 100x200"}, "3m", "8m"),
    Case("CernitaSorterLineSilent", "silent", line_is("silent") | {total("silences"): burst(1)}, "2m"),
    Case("CernitaSorterLineWasSilent", "for a moment", {total("silences"): burst(1)}, "1m30s", "7m"),
    Case("CernitaSorterLineNotHeard", "waiting", line_is("waiting"), "3m"),
    Case(None, "waiting for half a minute", line_is("waiting"), "1m30s"),
    *event("CernitaSorterVerdictsLost", total("verdicts_lost"), "7m"),
    *event("CernitaSorterMessagesUnreadable", total("messages_unreadable"), "7m"),
    *event("CernitaSorterMessagesUnreadable", total("firing_messages_unreadable"), "7m"),
    Case("CernitaSorterUnmeasured", "one in ten", {total("decisions", reason="unmeasured"): growing(1)}, "3m"),
    Case(None, "one in fifty unmeasured", {total("decisions", reason="unmeasured"): growing(0.2)}, "3m"),
    *event("CernitaSorterReloadRefused", total("reloads", result="refused"), "7m"),
    *(case for name in ("modbus_lost", "plc_overwritten", "plc_dropped")
      for case in event("CernitaSorterDecisionsOverwritten", total(name), "7m")),
    Case("CernitaSorterNoPlcPolls", "it polled before",
         {total("modbus_acknowledged"): burst(9), sorter("modbus_clients"): "0x6 1x12 0x100"}, "2m"),
    Case(None, "a PLC that polls", {total("modbus_acknowledged"): growing(9), sorter("modbus_clients"): constant(1)}, "2m"),
    Case("CernitaSorterPlcGone", "with ejectors, never reached", {sorter("plc_connected"): from_minute(1, 0)}, "2m"),
    *(Case("CernitaSorterPlcGone", f"without ejectors, by {name}", WITHOUT_OUTPUTS | {total(name): constant(3)}, "2m")
      for name in ("plc_connections", "plc_decisions")),
    Case(None, "connected again", {sorter("plc_connected"): "1x12 0 1x100"}, "1m30s"),
    Case("CernitaSorterPlcGone", "and the position with it", UNKNOWN | {sorter("plc_connected"): from_minute(1, 0)}, "2m"),
    *event("CernitaSorterPlcRefuses", total("plc_refusals"), "7m"),
    Case("CernitaSorterBeltUnknown", "fruits come", UNKNOWN, "2m"),
    Case(None, "no position and no fruits", UNKNOWN | STOPPED_BELT, "3m"),
    Case(None, "a batch ends, and the position comes with its views", BATCH_ENDS, "1m25s"),
    *event("CernitaSorterFruitsPassed", fired("lost"), "7m"),
    *event("CernitaSorterFruitsPassed", fired("too_late"), "7m"),
    Case("CernitaSorterEjectorMisses", "one in ten", {fired("missed"): growing(0.5)}, "5m"),
    Case(None, "one in fifty missed", {fired("missed"): growing(0.1)}, "5m"),
    Case(None, "three missed at the start", {fired("missed"): burst(3), fired("fired"): burst(20)}, "2m"),
    *event("CernitaSorterOutcomesNotLogged", total("outcomes_dropped"), "7m"),
    *event("CernitaSorterOutcomesNotLogged", total("outcomes_failed"), "7m"),
    Case("CernitaSorterBrokerGone", "lost", {sorter("mqtt_connected"): from_minute(1, 0),
                                             total("mqtt_connections"): constant(1)}, "2m"),
    Case("CernitaSorterBrokerGone", "never reached", {sorter("mqtt_connected"): constant(0),
                                                      total("mqtt_messages_dropped"): growing(3)}, "2m"),
]
