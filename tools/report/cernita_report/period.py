"""Which fruits a report is of: a period in local time, or a lot."""
import dataclasses
import datetime
import re
import typing

NS_PER_S = 1_000_000_000
NS_PER_MINUTE = 60 * NS_PER_S
NS_PER_HOUR = 60 * NS_PER_MINUTE
_DAYS = {"today": 0, "yesterday": -1}
_ONE_DAY = datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class Selection:
    """Rows of the table fruits. from_ns (included) and to_ns (excluded) are the period, or the lot's first and last
    verdict; a lot's rows are those with its lot_id, of which `ids` are the first one and the one behind the last."""
    from_ns: int
    to_ns: int
    lot: str = ""
    lot_id: int = 0
    ids: typing.Tuple[int, int] = (0, 0)

    @property
    def fruits(self):
        """For FROM: by the index, whatever SQLite makes of what it is joined with."""
        return "fruits INDEXED BY " + ("fruits_by_lot" if self.lot_id else "fruits_by_time")

    @property
    def bounds(self):
        """Of `column`, by which it can be cut into pieces: included and excluded."""
        return self.ids if self.lot_id else (self.from_ns, self.to_ns)

    @property
    def column(self):
        return "fruit_id" if self.lot_id else "published_ns"

    @property
    def where(self):
        return f"lot_id = {self.lot_id}" if self.lot_id else self.within(*self.bounds)

    def within(self, begin, end):
        """A piece of it, for WHERE."""
        lot = f"lot_id = {self.lot_id} AND " if self.lot_id else ""
        return f"{lot}{self.column} >= {begin} AND {self.column} < {end}"

    @property
    def offset_ns(self):
        """By how much local hours begin before those of UTC: 0 but for zones of half hours and the like."""
        offset = datetime.datetime.fromtimestamp(self.from_ns // NS_PER_S).astimezone().utcoffset()
        return int(offset.total_seconds()) * NS_PER_S % NS_PER_HOUR


def local(ns):
    """With its zone."""
    return datetime.datetime.fromtimestamp(ns // NS_PER_S).astimezone()


def told(ns):
    return local(ns).strftime("%Y-%m-%d %H:%M:%S")


def zone_of(selection):
    """CET (UTC+01:00), of both ends where they differ."""
    zones = []
    for ns in (selection.from_ns, selection.to_ns):
        time = local(ns)
        zone = f"{time.tzname()} (UTC{time.isoformat()[-6:]})"
        if zone not in zones:
            zones.append(zone)
    return " / ".join(zones)


def to_ns(time):
    """Of a local time without a zone."""
    return int(time.timestamp()) * NS_PER_S


def read_time(text, is_end=False):
    """A local time; a day as the end of a period is its end. ValueError with one line."""
    if text == "now":
        return datetime.datetime.now().replace(microsecond=0)
    if is_day(text):
        day = (datetime.datetime.combine(datetime.date.today(), datetime.time()) + _DAYS[text] * _ONE_DAY if text in _DAYS
               else _parse(text, "%Y-%m-%d"))
        return day + _ONE_DAY if is_end else day
    return _parse(text.replace("T", " "), "%Y-%m-%d %H:%M:%S" if text.count(":") == 2 else "%Y-%m-%d %H:%M")


def is_day(text):
    return text in _DAYS or bool(re.fullmatch(r"\d+-\d+-\d+", text))


def _parse(text, form):
    try:
        time = datetime.datetime.strptime(text, form)
    except ValueError:
        time = None
    if not time or not 1971 <= time.year <= 2261:  # what 63 bits of ns hold
        raise ValueError(f"'{text}' is not a time such as 2026-11-27, '2026-11-27 06:00', today, yesterday or now")
    return time


def of_times(begin, end):
    """The period, and the one that it is compared with: the same hours of the day before, or, if it is longer than a
    day, what precedes it with the same length."""
    length = max(_ONE_DAY, end - begin)
    return Selection(to_ns(begin), to_ns(end)), Selection(to_ns(begin - length), to_ns(end - length))
