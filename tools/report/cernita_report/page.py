"""A report as one HTML page that loads nothing."""
import collections
import html
import json
import pathlib

from .outputs import value_of
from .period import NS_PER_HOUR, NS_PER_MINUTE, told, zone_of

STEPS_MIN = (1, 5, 15, 60, 1440)  # of a point of the chart
POINTS_MAX = 300
CLASSES_SHOWN = 5
PIVOT_COLUMNS_MAX = 40
ROWS_MAX = 1500  # of a table; the other forms have all
_NO_BREAK = "\u00a0"
_UNITS = {"ms": "ms", "percent": "%", "px2": "px²", "mm2": "mm²"}
_NUMBERS = ("count", "share", "rate", "ms", "percent", "px2", "mm2", "level", "lane", "u64")
_FIGURES = ("fruits", "fruits_per_minute", "complete_share", "late", "with_defect_share", "availability")
_FOLDED = ("gaps", "minutes", "outlet_lanes", "drift", "changes")  # where they are long
_ONLY_WITH_ROWS = ("gaps", "outlet_lanes", "outlet_reasons")
_LONG_ROWS = 10
_SHARED = pathlib.Path(__file__).resolve().parents[3] / "src" / "http" / "page"


def _read(name):
    """A file of this package, or one that all pages share: in a wheel it lies here, too."""
    path = pathlib.Path(__file__).with_name(name)
    return (path if path.exists() else _SHARED / name).read_text(encoding="utf-8")


def _figure(value):
    """Three digits, and none behind the point of what is larger."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{float(f'{value:.3g}'):.10g}"


def show(kind, value):
    """As text, as the live page writes it."""
    if value is None:
        return "–"
    if kind == "time":
        return told(value)
    if kind == "share":  # 100 % is all, not nearly all
        return f"{_figure(min(value * 100, 99.9) if value < 1 else value * 100)}{_NO_BREAK}%"
    if kind in ("text", "lane", "u64"):
        return str(value_of(kind, value))
    if kind == "count":
        return f"{value:,}"
    return _figure(value) + (_NO_BREAK + _UNITS[kind] if kind in _UNITS else "")


def _element(name, content, **attributes):
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
                    for key, value in attributes.items() if value)
    return f"<{name}{given}>{content}</{name}>"


def _class_of(kind):
    return "number" if kind in _NUMBERS else "time" if kind == "time" else ""


def _cell(kind, value, before=None, is_compared=False):
    text = html.escape(show(kind, value))
    if is_compared:
        text += _element("span", html.escape(show(kind, before)), class_="before")
    return _element("td", text, class_=_class_of(kind))


def _head(titles):
    cells = "".join(_element("th", html.escape(title), scope="col", class_=_class_of(kind))
                    for title, kind in titles)
    return f"<thead><tr>{cells}</tr></thead>"


def _wide(table, label):
    return _element("div", f"<table>{table}</table>", class_="wide", tabindex="0", role="group", aria_label=label)


def _rows(report, result, words):
    table = result.table
    body = []
    for row in result.rows[:ROWS_MAX]:
        before = result.before_of(row) if report.before else None
        body.append("<tr>" + "".join(
            _cell(kind, row[name], before.get(name) if before else None, bool(report.before) and name in table.compared)
            for name, kind in table.columns.items()) + "</tr>")
    head = _head([(words["columns"][name], kind) for name, kind in table.columns.items()])
    return _wide(head + f"<tbody>{''.join(body)}</tbody>", words["tables"][table.name])


def _transposed(report, result, words):
    """One row, as lines of a name and a value."""
    row, before = result.rows[0], (result.before or [{}])[0]
    body = "".join(
        "<tr>" + _element("th", html.escape(words["columns"][name]), scope="row") +
        _cell(kind, row[name], before.get(name), bool(report.before)).replace('class="time"', 'class="number"') + "</tr>"
        for name, kind in result.table.columns.items())
    return _wide(f"<tbody>{body}</tbody>", words["tables"][result.table.name])


def _pivot(report, result, words):
    table = result.table
    row_name, column_name, value_name = table.pivot
    kind = table.columns[value_name]
    lines, columns = collections.OrderedDict(), collections.OrderedDict()
    for row in result.rows:
        lines.setdefault(row[row_name], {})[row[column_name]] = row
        columns[row[column_name]] = None
    shown = sorted(columns)[:PIVOT_COLUMNS_MAX]
    body = []
    for key, cells in lines.items():
        made = [_element("th", html.escape(show(table.columns[row_name], key)), scope="row")]
        for column in shown:
            row = cells.get(column)
            before = result.before_of(row) if row and report.before else None
            made.append(_cell(kind, row and row[value_name], before[value_name] if before else None,
                              bool(report.before) and value_name in table.compared))
        body.append(f"<tr>{''.join(made)}</tr>")
    head = _head([(words["columns"][row_name], "text")] + [(str(column), kind) for column in shown])
    return _wide(head + f"<tbody>{''.join(body)}</tbody>", words["tables"][table.name])


def _documents(result, words):
    return "".join(
        _element("details", _element("summary", html.escape(row["settings"])) +
                 _element("pre", html.escape(row["text"] or words["unknown"]), tabindex="0"))
        for row in result.rows)


def _section(report, result, words):
    table = result.table
    title, note = words["tables"][table.name], words["notes"].get(table.name)
    if not result.rows:
        shown = _element("p", words["empty"].get(table.name, words["none"]), class_="empty")
    elif table.name == "summary":
        shown = _transposed(report, result, words)
    elif "document" in table.columns.values():
        shown = _documents(result, words)
    else:
        shown = (_pivot if table.pivot else _rows)(report, result, words)
    if len(result.rows) > ROWS_MAX and not table.pivot:
        shown += _element("p", words["more"].format(count=f"{ROWS_MAX:,}", all=f"{len(result.rows):,}"), class_="note")
    if table.name in _FOLDED and len(result.rows) > _LONG_ROWS:
        shown = _element("details", _element("summary", words["show"]) + shown)
    sql = _element("details", _element("summary", words["sql"]) + _element("p", words["asked_by"], class_="note") +
                   _element("pre", html.escape(result.sql), tabindex="0"), class_="sql")
    return _element("section", _element("h2", title) + (_element("p", note, class_="note") if note else "") + shown + sql,
                    id=table.name)


def _notices(report, words, has_chart):
    gaps = len(report.results["gaps"].rows)
    if gaps:
        text = words["missing_lot" if report.selection.lot else "missing"]
        text, level = text.format(count=f"{report.missing:,}", gaps=f"{gaps:,}"), "warning"
    else:
        text, level = words["whole"], "good"
    made = [(text, level, "!" if gaps else "✓")]
    if not has_chart:
        made.append((words["no_chart"], "notice", "i"))
    return "".join(_element("p", f'<span class="sign" aria-hidden="true">{sign}</span> {html.escape(text)}', class_="told",
                            data_level=level) for text, level, sign in made)


def _figures(report, words):
    summary, before = report.results["summary"], (report.results["summary"].before or [{}])[0]
    kinds = summary.table.columns
    made = [(words["columns"][name], show(kinds[name], report.summary[name]),
             show(kinds[name], before.get(name)) if report.before else "") for name in _FIGURES]
    latency = report.results["latency"].rows
    if latency:
        row = max(latency, key=lambda one: one["fruits"])
        made.append((words["columns"]["p99_ms"], show("ms", row["p99_ms"]),
                     words["budget"].format(budget=show("ms", row["budget_ms"]))))
    return _element("section", "<dl>" + "".join(
        "<div>" + _element("dt", html.escape(name)) +
        _element("dd", html.escape(value) + (_element("span", html.escape(beside), class_="before") if beside else "")) +
        "</div>"
        for name, value, beside in made) + "</dl>", class_="figures", id="figures")


def _per_minute(rows, from_ns, step_ns, points):
    counts = [0] * points
    for row in rows:
        index = (row["at_ns"] - from_ns) // step_ns
        if 0 <= index < points:
            counts[index] += row["fruits"]
    return [round(count * NS_PER_MINUTE / step_ns, 3) for count in counts]


def _fruits_chart(report, words):
    """Up to the last fruit of both periods."""
    minutes, selection = report.results["minutes"], report.selection
    end_ns = max([minutes.rows[-1]["at_ns"]] + [row["at_ns"] + minutes.shift_ns for row in minutes.before[-1:]])
    from_ns = selection.from_ns // NS_PER_MINUTE * NS_PER_MINUTE
    count = (end_ns - from_ns) // NS_PER_MINUTE + 1
    step = next((step for step in STEPS_MIN if count <= POINTS_MAX * step), STEPS_MIN[-1])
    points = -(-count // step)
    sets = [{"label": words["columns"]["fruits"],
             "values": _per_minute(minutes.rows, from_ns, step * NS_PER_MINUTE, points)}]
    if minutes.before:
        sets.append({"label": words["fruits_before"],
                     "values": _per_minute(minutes.before, from_ns - minutes.shift_ns, step * NS_PER_MINUTE, points)})
    is_short = count <= 1440
    labels = [told(from_ns + index * step * NS_PER_MINUTE)[11 if is_short else 5:16] for index in range(points)]
    return {"id": "fruits-chart", "title": words["fruits_chart"].format(step=step), "labels": labels, "sets": sets}


def _classes_chart(report, words):
    shares = collections.defaultdict(dict)
    for row in report.results["class_hours"].rows:
        shares[row["class"]][row["at_ns"]] = row["share"]
    rows = report.results["hours"].rows
    hours = range(rows[0]["at_ns"], rows[-1]["at_ns"] + 1, NS_PER_HOUR)  # also those without fruits
    names = [row["class"] for row in report.results["classes"].rows][:CLASSES_SHOWN]
    is_short = hours[-1] - hours[0] <= 1440 * NS_PER_MINUTE
    sets = [{"label": name, "values": [None if shares[name].get(hour) is None else round(100 * shares[name][hour], 4)
                                       for hour in hours]} for name in names]
    return {"id": "classes-chart", "title": words["classes_chart"],
            "labels": [told(hour)[11 if is_short else 5:16] for hour in hours], "sets": sets}


def _charts(report, words):
    charts = [_fruits_chart(report, words)]
    if len(report.results["hours"].rows) > 2:
        charts.append(_classes_chart(report, words))
    shown = "".join(
        _element("section", _element("h2", chart["title"]) +
                 _element("div", _element("canvas", "", id=chart["id"], role="img", aria_label=chart["title"]), class_="chart"))
        for chart in charts)
    data = json.dumps(charts).replace("<", "\\u003c")
    return shown + f'<script type="application/json" id="charts">{data}</script>'


def _header(report, words):
    selection, before = report.selection, report.before
    title = words["title_lot"].format(lot=selection.lot) if selection.lot else words["title_period"]
    kind = "_lot" if selection.lot else ""
    beside = (words[f"beside{kind}"].format(first=told(before.from_ns), last=told(before.to_ns), lot=before.lot) if before
              else words[f"alone{kind}"])
    lines = (words["period"].format(first=told(selection.from_ns), last=told(selection.to_ns), zone=zone_of(selection)),
             beside, words["archive"].format(path=report.path, made=report.made.strftime("%Y-%m-%d %H:%M:%S")))
    about = "".join(_element("p", html.escape(line)) for line in lines)
    head = (f'<div><h1><span class="name">cernita</span> {html.escape(title)}</h1>{about}</div>'
            + _element("div", _element("button", words["theme"], id="theme", type="button"), class_="choices"))
    return title, f"<header>{head}</header>"


def make_page(report, words, chart_js):
    """`chart_js`: the library's text, or None: no charts."""
    title, header = _header(report, words)
    scripts, charts = [_read("page.js")], ""
    if chart_js is not None:
        scripts.insert(0, chart_js.replace("</script", "<\\/script"))
        charts = _charts(report, words)
    order = [result for result in report.results.values() if result.rows or result.table.name not in _ONLY_WITH_ROWS]
    body = (header + '<main class="report">' + _element("section", _notices(report, words, chart_js is not None), id="told")
            + _figures(report, words) + charts + "".join(_section(report, result, words) for result in order) + "</main>")
    licence = f"<!--\n{_read('licences.txt')}-->\n" if chart_js is not None else ""
    return (f'<!doctype html>\n<html lang="{words["language"]}" data-theme="light">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; '
            'script-src \'unsafe-inline\'">\n'
            f"<title>{html.escape(title)}</title>\n<style>\n{_read('style.css')}{_read('report.css')}</style>\n</head>\n"
            f"<body>\n{body}\n{licence}" + "".join(f"<script>\n{script}</script>\n" for script in scripts)
            + "</body>\n</html>\n")
