"""All texts of the page, by language. To add a language: its table here; the tests name what it lacks."""

ENGLISH = {
    "language": "en",
    "title_period": "Report of a period",
    "title_lot": "Report of lot {lot}",
    "period": "{first} to {last}, {zone}",
    "archive": "Archive {path}; made {made}",
    "beside": "Beside it in grey: {first} to {last}",
    "beside_lot": "Beside it in grey: the same grower's lot before, {lot}, {first} to {last}",
    "alone": "There is no period before to compare with: the archive has no fruits of it",
    "alone_lot": "There is no lot before to compare with: the archive knows none of the same grower",
    "missing": "{count} verdicts are missing in the archive, in {gaps} gaps (below): "
               "every sum is too low by these fruits",
    "missing_lot": "{count} verdicts are missing in the archive while this lot ran, in {gaps} gaps (below): "
                   "sums are too low by those of this lot",
    "whole": "No verdict is missing between the first and the last one of each lane",
    "no_chart": "Without charts: Chart.js was not found where this was made. Install libjs-chart.js and make it again",
    "theme": "Light or dark",
    "sql": "SQL",
    "asked_by": "To ask it again: sqlite3 -readonly FILE, or psql URL",
    "none": "None",
    "empty": {
        "drift": "None, or not in the archive: it has alarms where cernita-archive has the line's state folder (--state)",
        "outlets": "None in the archive: it has them where cernita-archive has the sorter's log (--sorter)",
        "changes": "None in the archive: it has them where cernita-archive has the line's state folder (--state)",
    },
    "unknown": "not known",
    "show": "Show",
    "more": "The first {count} of {all} rows: CSV and JSON have all",
    "fruits_chart": "Fruits per minute, points of {step} min",
    "fruits_before": "before",
    "classes_chart": "Fruits with each class, % by hour",
    "budget": "of a budget of {budget}",
    "tables": {
        "summary": "Summary", "gaps": "Verdicts that the archive does not have", "latency": "Latency against the budget",
        "classes": "Defects by class", "lanes": "Lanes", "outlets": "Outlets", "outlet_lanes": "Outlets by lane",
        "outlet_reasons": "Why fruits went to their outlets", "changes": "Changes of settings, recipes and lots", "drift": "Drift: lanes and lots that changed",
        "class_lanes": "Share of fruits with each class, by lane",
        "hours": "Hours", "class_hours": "Share of fruits with each class, by hour",
        "incomplete": "Why fruits were partial or late", "in_force": "Settings and recipes in force",
        "levels": "Levels of these settings", "settings": "Texts of these settings", "lots": "Lots",
        "worst": "The fruits with the largest area of defects", "minutes": "Minutes",
    },
    "notes": {
        "latency": "From the fruit's close to its verdict. p50, p99: at least so many per cent of the fruits took no longer.",
        "classes": "Looked for: in so many fruits, late ones not among them. A class without a level is not looked for. "
                   "mm² only where surfaces are measured.",
        "summary": "Availability: the share of minutes with fruits, of those from the first to the last one.",
        "outlets": "Where the sorter sent fruits; – are those of which the archive has no outcome. Fired: the PLC "
                   "acknowledged the coil; of these confirmed: seen in the outlet, missed: not seen there. Too late, lost: "
                   "meant for the outlet, but passed it. All 0 where the sorter has no ejector for the outlet.",
        "outlet_lanes": "The share is of the lane's fruits.",
        "outlet_reasons": "rule, default: as the rules say; partial, late, stale: judged in part or too late; unmeasured: "
                          "a rule needs what was not measured; lost: the sorter never got the verdict.",
        "drift": "Alarms that held in this period. The share of fruits with the class, 100 % being the usual one, was counted "
                 "over so many fruits of the lane. Without a lane: more than half of the lanes changed. Without an end: it "
                 "still held when the archive was last written.",
        "changes": "From the line's log of changes; start and stop are those of the daemon.",
        "in_force": "A row is a run of the daemon with the same recipe and settings.",
        "incomplete": "Views that were not judged, or judged with a reservation; a fruit may have several.",
        "gaps": "By run and lane, between two verdicts that the archive has.",
    },
    "columns": {
        "first_ns": "first", "last_ns": "last", "at_ns": "from", "published_ns": "judged", "after_ns": "after",
        "before_ns": "before", "lanes": "lanes", "lane": "lane", "fruits": "fruits", "complete": "complete",
        "partial": "partial", "late": "late", "with_defect": "with a defect", "over_budget": "over budget",
        "with_defect_share": "share with a defect", "complete_share": "share complete", "minutes": "minutes",
        "minutes_with_fruits": "minutes with fruits", "availability": "availability",
        "fruits_per_minute": "fruits per minute with fruits", "run": "start of the daemon", "first": "first missing",
        "last": "last missing", "missing": "missing", "budget_ms": "budget", "p50_ms": "p50", "p99_ms": "p99",
        "max_ms": "maximum", "class": "class", "looked_for": "looked for", "share": "share", "defects": "defects",
        "area_px": "area", "measured": "measured fruits", "spots": "spots", "area_mm2": "area", "verdict": "verdict",
        "state": "state of the view", "reason": "reason", "views": "views", "recipe": "recipe", "settings": "settings",
        "level": "level", "text": "text", "lot": "lot", "grower": "grower", "variety": "variety", "epoch": "epoch",
        "fruit": "fruit", "outlet": "outlet", "fired": "fired", "confirmed": "confirmed", "missed": "missed",
        "too_late": "too late", "lost": "lost", "changed_ns": "time", "what": "what", "refused": "refused", "who": "who",
        "through": "through", "before": "before", "after": "after", "details": "details",
        "raised_ns": "raised", "cleared_ns": "ended", "of_usual": "share, % of the usual",
        "acknowledged_by": "acknowledged by",
    },
}

LANGUAGES = {"en": ENGLISH}
