"""Recognise dates that are not in ISO form: 31/12/2012 23:30, 12/31/2012 11:30 PM, 31.12.2012, 201212312330.

A number above 12 anywhere in the column shows whether the day or the month comes first. Without one, the column is
ambiguous, and the error shows both interpretations. A two-digit year may also come first; this is assumed only if it
is the one order in which the days follow each other.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from halfmask.data.sql import Queries, text_of
from halfmask.errors import ReadingError

_SUMMER = {"CET": "CEST", "MEZ": "MESZ", "WET": "WEST", "GMT": "BST", "EET": "EEST", "EST": "EDT", "CST": "CDT"} | {
    "MST": "MDT",
    "PST": "PDT",
    "AEST": "AEDT",
    "ACST": "ACDT",
    "NZST": "NZDT",
}
_PARTNER = _SUMMER | {summer: winter for winter, summer in _SUMMER.items()}
_WORDS = "|".join(sorted(_PARTNER, key=len, reverse=True))
_CLOCK = (
    r"(?P<clock>[T ,]+\d{1,2}[:.h]\d{2}(?:[:.]\d{2}(?P<fraction>[.,]\d{1,9})?)?(?P<half> ?[AaPp][Mm])?"
    rf"(?P<word> (?:{_WORDS}))?)?"
)
"""A zone's abbreviation is part of the format. The time is not converted: it is the local clock already."""
_MONTHS = (
    "(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?)"
)
"""The month names that strptime knows. Text with another word, such as the id 1SAGM1001, is not a date."""
_NUMERIC = re.compile(rf"(?P<a>\d{{1,2}})(?P<sep>[/.\-])(?P<b>\d{{1,2}})(?P=sep)(?P<year>\d{{4}}|\d{{2}}){_CLOCK}")
_YEAR_FIRST = re.compile(rf"\d{{4}}(?P<sep>[/.\-])\d{{1,2}}(?P=sep)\d{{1,2}}{_CLOCK}")
_MONTH_FIRST = re.compile(rf"(?P<name>{_MONTHS})(?P<sep> )\d{{1,2}}(?P<after>,? )\d{{4}}{_CLOCK}")
_MONTH = re.compile(rf"\d{{4}}(?P<sep>-)(?P<m>0[1-9]|1[0-2]){_CLOCK}")
_NAMED = re.compile(
    rf"\d{{1,2}}(?P<sep>[ \-/.]?)(?P<month>{_MONTHS})(?P<sep2>[ \-/.]?)(?P<year>\d{{4}}|\d{{2}}){_CLOCK}"
)
_HOUR = re.compile(r"\d{4}-\d\d-\d\d(?P<mark>[T ])([01]\d|2[0-3])")
_UNUSUAL: dict[int, tuple[str, ...]] = {
    6: ("%y%m%d", "%d%m%y"),
    8: ("%d%m%Y", "%m%d%Y"),
    10: ("%y%m%d%H%M", "%d%m%y%H%M"),
    12: ("%y%m%d%H%M%S", "%d%m%Y%H%M"),
    14: ("%d%m%Y%H%M%S",),
}
"""Dates of digits alone that do not begin with a four-digit year. They may also be counts of seconds since 1970."""
_SINCE_2000, _UNTIL_2100 = 946_684_800, 4_102_444_800
COMPACT = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_COMPACT_SPLIT = re.compile(r"\d{8}[T ](\d{4}|\d{6})")
_THREE = r"\d{1,2}([/\-])\d{1,2}\1\d{2}(?!\d)"
ORDER = r"(\d{1,2})[/.\-](\d{1,2})[/.\-].*"
"""Groups 1 and 2 are the first two numbers of a date; both engines and Python read it alike."""


@dataclass(frozen=True)
class DateFormat:
    """The strptime formats of a column, most frequent first, and the evidence for them."""

    formats: tuple[str, ...]
    evidence: str


SPAN = r"^(\d.*\d) (?:-|–|to|bis|until) \d.*\d$"
"""Two times in one cell: group 1 is the first. Both engines and Python read it alike."""


def start_of(text: str) -> str:
    """Return the first of two times in a text, or the text if it does not contain two."""
    found = re.match(SPAN, text)
    return found[1] if found and len(found[1]) >= len("1.1.12 0:00") else text


def is_local_date(text: str) -> bool:
    """Return whether a text looks like a date in one of this module's formats, with or without a time of day."""
    return bool(date_shape(text) or _COMPACT_SPLIT.fullmatch(text))


def has_clock(text: str) -> bool:
    """Return whether a date in one of this module's formats includes a time of day."""
    found = _match(text)
    digits = text.isdigit() and len(text) > 8
    return bool((found and found["clock"]) or _COMPACT_SPLIT.fullmatch(text) or _HOUR.fullmatch(text)) or digits


def is_compact(text: str) -> bool:
    """Return whether a text is a date of digits alone, from 1950 to 2100: 20121231, 201212312330."""
    return text.isdigit() and "1950" <= text[:4] <= "2100" and _fits(text, COMPACT.get(len(text), ""))


def moment_of(text: str, form: str) -> datetime | None:
    """Parse a text by a strptime format; return None if it does not fit."""
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _match(text: str) -> re.Match[str] | None:
    forms = (_NUMERIC, _YEAR_FIRST, _NAMED, _MONTH_FIRST, _MONTH)
    return next((found for form in forms if (found := form.fullmatch(text))), None)


def date_shape(text: str) -> str:
    """Return the strptime format of a text; an empty text if it is not a date.

    ``%1`` and ``%2`` mark the first two numbers if either can be the day or the month.
    """
    if hour := _HOUR.fullmatch(text):
        return f"%Y-%m-%d{hour['mark']}%H"
    found = _match(text)
    if found is None:
        return ""
    sep = str(found["sep"])
    if "a" in found.groupdict():
        first, second, last = (int(found[part]) for part in ("a", "b", "year"))
        year_first = len(found["a"]) == len(found["year"]) == 2 and 1 <= second <= 12 and 1 <= last <= 31
        if not (1 <= first <= 31 and 1 <= second <= 31) and not year_first:
            return ""
        date = f"%1{sep}%2{sep}" + ("%Y" if len(found["year"]) == 4 else "%y")
    elif "month" in found.groupdict():
        month = "%b" if len(found["month"]) == 3 else "%B"
        date = f"%d{sep}{month}{found['sep2']}" + ("%Y" if len(found["year"]) == 4 else "%y")
    elif "name" in found.groupdict():
        date = ("%b" if len(found["name"]) == 3 else "%B") + f" %d{found['after']}%Y"
    else:
        date = "%Y-%m" if "m" in found.groupdict() else f"%Y{sep}%m{sep}%d"
    word = found["word"] or ""
    clock = (found["clock"] or "").removesuffix(word)
    return date + _clock_shape(clock, found["half"], found["fraction"]) + word


def _clock_shape(clock: str, half: str | None, fraction: str | None) -> str:
    if not clock:
        return ""
    lead = re.match(r"[T ,]+", clock)
    body = clock[lead.end() if lead else 0 :]
    parts: list[str] = re.findall(r"[:.h]", body.split(fraction)[0] if fraction else body)
    text = (lead[0] if lead else "") + ("%I" if half else "%H") + parts[0] + "%M"
    text += f"{parts[1]}%S" if len(parts) > 1 else ""
    text += f"{fraction[0]}%f" if fraction else ""
    return text + (" %p" if half and half.startswith(" ") else "%p" if half else "")


def date_format(
    name: str, texts: Sequence[str], asked: str | None, whole: Callable[[], Sequence[int]]
) -> DateFormat | None:
    """Return the formats of a column of texts; None if most texts are not dates in one of this module's formats.

    ``asked``  the format that the caller named, if any
    ``whole``  counts in the whole column: how many first numbers, and how many second numbers, are above 12
    """
    if asked is not None:
        return DateFormat((asked,), "`date_format`")
    if texts and all(map(is_compact, texts)):
        forms = Counter(COMPACT[len(text)] for text in texts)
        return DateFormat(tuple(form for form, _ in forms.most_common()), f"{texts[0]} is a date without signs")
    if unusual := _unusual(name, texts):
        return unusual
    shapes = Counter(filter(None, map(date_shape, texts)))
    split = sum(bool(_COMPACT_SPLIT.fullmatch(text)) for text in texts)
    if split > len(texts) / 2:
        first = next(text for text in texts if _COMPACT_SPLIT.fullmatch(text))
        both = (f"%Y%m%d{first[8]}%H%M%S", f"%Y%m%d{first[8]}%H%M")
        return DateFormat(both, f"{first} is a date without signs")
    if 2 * sum(shapes.values()) <= len(texts):
        return None
    (leading, _), *_ = shapes.most_common()
    usual = [form for form, _ in shapes.most_common() if form[:5] == leading[:5]]
    if "%1" not in leading:
        example = next(text for text in texts if date_shape(text) == usual[0])
        return DateFormat(_with_kin(usual), f"such as {example}")
    order, evidence = _order(name, texts, usual, whole)
    return DateFormat(_with_kin([_placed(form, order) for form in usual]), evidence)


def _placed(form: str, order: str) -> str:
    """Fill day and month into a format in this order: ``dm``, ``md``, or ``ym`` for year, month, day."""
    if order == "ym":
        return form.replace("%y", "%d").replace("%1", "%y").replace("%2", "%m")
    return form.replace("%1", f"%{order[0]}").replace("%2", f"%{order[1]}")


def _with_kin(usual: list[str]) -> tuple[str, ...]:
    """Return the given formats, and each also with seconds, without seconds, and without a time of day."""
    kin = list(usual)
    for form in usual:
        if ":%S" in form and "%f" not in form:
            kin.append(form.replace(":%S", ""))
        elif "%M" in form and "%f" not in form:
            kin.append(form.replace("%M", "%M:%S"))
        kin.append(re.split(r"[T ,]+%[HI]", form)[0])
        start, _, word = form.rpartition(" ")
        kin += [f"{start} {_PARTNER[word]}"] if word in _PARTNER else []
    return tuple(dict.fromkeys(kin))


def _order(name: str, texts: Sequence[str], usual: list[str], whole: Callable[[], Sequence[int]]) -> tuple[str, str]:
    """Return the order of day (``d``), month (``m``) and two-digit year (``y``): ``dm``, ``md`` or ``ym``. Add the
    evidence.
    """
    if "%1." in usual[0]:
        return "dm", "points stand between day, month and year"
    if _year_first(name, [text for text in texts if date_shape(text)], usual[0]):
        return "ym", "only so the days follow each other"
    pairs = [tuple(map(int, found.groups())) for text in texts if (found := re.match(ORDER, text))]
    first, second = sum(a > 12 for a, _ in pairs), sum(b > 12 for _, b in pairs)
    place = "of the first rows"
    if not first and not second:
        (first, second), place = whole(), "of all rows"
    if not first and not second:
        raise _several(name, texts, [_placed(usual[0], order) for order in ("dm", "md")])
    order, count = ("dm", first) if first >= second else ("md", second)
    which = "first" if order == "dm" else "second"
    return order, f"the {which} number is above 12 in {count:,} {place}, so it is the day"


def _year_first(name: str, texts: Sequence[str], usual: str) -> bool:
    """Return whether dates begin with a two-digit year. Raise an error if another order is as plausible."""
    if "%y" not in usual:
        return False
    days = {order: _days(texts, order) for order in ("dm", "md", "ym")}
    possible = [order for order, found in days.items() if found]
    # In the right order the dates cover most days of their span. In a wrong order they are months or years apart.
    close = [order for order in possible if 2 * len(days[order]) > (max(days[order]) - min(days[order])).days]
    if "ym" not in possible or (close and "ym" not in close):
        return False
    if close == ["ym"] or possible == ["ym"]:
        return True
    raise _several(name, texts, [_placed(usual, order) for order in close or possible])


def _days(texts: Sequence[str], order: str) -> set[date]:
    """Return the days that texts mean in this order; an empty set if one of them is not a valid date in it."""
    numbers = {found[0] for text in texts if (found := re.match(_THREE, text))}
    moments = [moment_of(text, _placed(date_shape(text), order)) for text in numbers]
    return {moment.date() for moment in moments if moment} if all(moments) else set()


def _unusual(name: str, texts: Sequence[str]) -> DateFormat | None:
    """Return the format from `_UNUSUAL` that every text fits; None if there is none. Raise an error if several fit."""
    forms = _UNUSUAL.get(len(texts[0]), ()) if len(set(texts)) > 1 else ()
    fitting = [form for form in forms if all(len(text) == len(texts[0]) and _fits(text, form) for text in texts)]
    if not fitting:
        return None
    low, high = (choice(map(int, texts)) for choice in (min, max))
    counts = [unit for unit in (1, 1000) if _SINCE_2000 * unit <= low and high < _UNTIL_2100 * unit]
    if len(fitting) == 1 and not counts:
        return DateFormat((fitting[0],), f"{texts[0]} is a date without signs")
    raise _several(name, texts, fitting, counts[0] if counts else None)


def _fits(text: str, form: str) -> bool:
    return text.isdigit() and moment_of(text, form) is not None


def _several(name: str, texts: Sequence[str], forms: Sequence[str], counts: int | None = None) -> ReadingError:
    """Return the error for ambiguous dates.

    ``counts``  units per second, if the texts may also be counts of time since 1970
    """
    fitting = [text for text in texts if all(_read(text, form) for form in forms)] or list(texts[:1])
    text = next((t for t in fitting if len({_read(t, form) for form in forms}) == len(forms)), fitting[0])
    readings = [f"{_read(text, form)} with `date_format='{form}'`" for form in forms]
    if counts is not None:
        moment = datetime(1970, 1, 1) + timedelta(seconds=int(text) / counts)
        stamp = f"make_timestamp(cast({text_of(name)} as bigint) * {1_000_000 // counts})"
        readings.append(f"{moment:%-d %B %Y %H:%M} if it counts from 1970, {Queries().replace({name: stamp})}")
    listed = ", ".join(readings[:-1]) + f" and {readings[-1]}"
    return ReadingError(f"column {name!r}: {text!r} is {listed}, and no row settles it; say which", kind="ambiguous")


def _read(text: str, form: str) -> str:
    """Return the day that a text means in a format; an empty text if it does not fit."""
    moment = moment_of(text.replace("24:00", "00:00"), form)
    return f"{moment:%-d %B %Y}" if moment else ""
