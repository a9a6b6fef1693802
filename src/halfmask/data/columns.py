"""Choose the columns of user, time and value."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from halfmask.data.column_types import CLOCKS, DATES, FRACTIONS, NUMBERS, TEXTS, TIMES, WHOLE, ColumnType
from halfmask.errors import ColumnError

ROLES = ("user", "time", "value")
_USERS = (
    "user id uid meter sensor household home house customer client consumer producer participant person subject "
    "device station node account site building mpan lclid nmi pod ean prm cups ppe serial tunnus "
    "tag tagname entity instance respondent dataid geoid feeder substation transformer "
    "zähler zaehler zählernummer zählpunkt zählpunktnummer zaehlpunkt marktlokation malo melo pdl kunde haushalt "
    "compteur contador medidor contatore teller"
)
_TIMES = (
    "time timestamp date datetime ts tstp instant epoch localtime datum zeit uhrzeit zeitstempel zeitpunkt horodate "
    "fecha hora heure tijd tijdstip dato tidspunkt tid aika alkuaika"
)
_VALUES = (
    "value val values kwh wh mwh kw reading consumption power load count counts usage energy demand "
    "measurement quantity amount total temperature flow volume change delta wert messwert verbrauch leistung energie "
    "consommation valeur consumo valor potenza energia verbruik waarde mængde mengde mängd määrä förbrukning forbruk "
    "kulutus"
)
_FIRST = (
    "start started from begin beginning von beginn anfang debut début de desde inicio dal inizio van fra från alkuaika"
)
_LAST = "end ended to until stop stopped bis ende fin jusqu hasta fine al tot til till loppuaika"
STARTS, ENDS = frozenset(_FIRST.split()), frozenset(_LAST.split())
"""Words for the start and the end of a reading's interval. The start is the reading's time."""
_ABOUT_USERS = frozenset(("class", "type", "kind", "model", "typ", "count"))
"""Last words of columns that describe users but do not identify them, such as device_class."""
OBIS = r"\d-\d+:\d+\.\d+\.\d+"
"""An OBIS code, which says what a meter counts: 1-0:1.8.0."""
_WORDS = {role: frozenset(words.split()) for role, words in zip(ROLES, (_USERS, _TIMES, _VALUES), strict=True)}
_POSSIBLE: dict[str, frozenset[ColumnType]] = {
    "user": frozenset(ColumnType) - TIMES - CLOCKS - {ColumnType.BOOLEAN},
    "time": TIMES | CLOCKS | TEXTS | {ColumnType.INTEGER, ColumnType.FLOAT},
    "value": NUMBERS | {ColumnType.BOOLEAN, ColumnType.TEXT, ColumnType.EMPTY},
}
_TYPICAL: dict[str, frozenset[ColumnType]] = {
    "user": frozenset(ColumnType),
    "time": TIMES | CLOCKS,
    "value": NUMBERS,
}


@dataclass(frozen=True)
class Columns:
    """The names of the three columns. If ``time`` holds only the time of day, ``date`` is the column of dates."""

    user: str
    time: str
    value: str
    date: str | None = None

    def note(self) -> str:
        """Return the chosen columns as one line of text."""
        time = f"{self.date} and {self.time}" if self.date else self.time
        return f"user = {self.user}, time = {time}, value = {self.value}"


def choose_columns(
    kinds: Mapping[str, ColumnType],
    user: str | None = None,
    time: str | None = None,
    value: str | None = None,
    *,
    files: bool = False,
    no_values: Collection[str] = (),
) -> Columns:
    """Return the columns of user, time and value: those that the caller named, and the others by name and type.

    A column is a candidate for a role if its name fits (``meter_reading``: value; ``reading_time``: time) and its type
    is possible for the role. In a name with several fitting words, the last one counts. Candidates of the role's
    typical type are preferred. Exactly one candidate must remain.

    Type alone decides in three cases: a table of three columns whose names show nothing, the only column of times, and
    the only column of fractions.

    ``no_values``  columns that are values only if the caller names them
    """
    named = {"user": user, "time": time, "value": value}
    chosen = {role: present(kinds, name, role) for role, name in named.items() if name is not None}
    for role in ROLES:
        if role not in chosen:
            found = candidates(role, {n: k for n, k in kinds.items() if role != "value" or n not in no_values}, chosen)
            if len(found) > 1:
                wide = role == "value" and "user" not in chosen
                raise several(role, found, ", or take each column of numbers as a user with `wide`" if wide else "")
            if found:
                chosen[role] = found[0]
    if len(chosen) < len(ROLES) and len(kinds) == len(ROLES):
        chosen = by_type(kinds, chosen)
    likely: dict[str, list[str]] = {}
    for role, only in (("time", TIMES), ("value", FRACTIONS)):
        free = [name for name in kinds if name not in chosen.values() and (role != "value" or name not in no_values)]
        likely[role] = [name for name in free if kinds[name] in only]
        if role not in chosen and len(likely[role]) == 1:
            chosen[role] = likely[role][0]
    for role in ROLES:
        if role not in chosen and likely.get(role):
            raise several(role, likely[role])
        if role not in chosen:
            also = ", or take the file's name with `user=@file`" if role == "user" and files else ""
            raise ColumnError(
                f"no column looks like the {role}; name one with `{role}`{also} ({listing(kinds)})", kind="missing"
            )
    columns = Columns(**chosen)
    if len(set(chosen.values())) < len(ROLES):
        raise ColumnError(
            f"one column cannot serve twice: {columns.note()}; name others with `user`, `time`, `value`", kind="twice"
        )
    return columns


def several(role: str, found: Sequence[str], also: str = "") -> ColumnError:
    """Return the error for a role with several candidates. It lists the option that chooses each."""
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    listed = ", ".join(map(repr, found[:6])) + more
    ways = ", ".join(f"`{role}={name!r}`" for name in found[:6])
    return ColumnError(
        f"{len(found)} columns could be the {role}: {listed}; name one with `{role}` ({ways}){also}", kind="several"
    )


HOURS = frozenset(("hour", "hr", "hours", "stunde", "period", "settlementperiod", "halfhour", "slot", "interval")) | {
    "hora",
    "heure",
    "ora",
    "uur",
    "timme",
}
"""Names of a column that numbers the hours or other parts of a day."""


def split_time(kinds: Mapping[str, ColumnType], date: str | None, time: str | None) -> tuple[str, str] | None:
    """Return the columns of the date and of the time of day; None if the table does not have both."""
    if date is not None:
        day = present(kinds, date, "date")
        if time is not None:
            return day, present(kinds, time, "time")
    elif time is not None or any(kind in TIMES - DATES for kind in kinds.values()):
        return None
    else:
        days = first_ends([name for name, kind in kinds.items() if kind in DATES])
        if len(days) != 1:
            return None
        day = days[0]
    clocks = first_ends([name for name, kind in kinds.items() if kind in CLOCKS and name != day])
    if not clocks:
        clocks = [
            name for name, kind in kinds.items() if kind in WHOLE and HOURS & {*words(name), "".join(words(name))}
        ]
    if len(clocks) == 1:
        return day, clocks[0]
    if date is not None:
        raise ColumnError(
            f"`date` {date!r} holds the day; name the column of the clock with `time` ({listing(kinds)})",
            kind="missing",
        )
    return None


def present(kinds: Mapping[str, ColumnType], name: str, role: str) -> str:
    """Return the column of this name. A name that differs only in upper and lower case is accepted if it is the only
    one.
    """
    if name in kinds:
        return name
    alike = [column for column in kinds if column.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise ColumnError(f"there is no column {name!r} for `{role}` ({listing(kinds)})", kind="unknown")


def listing(kinds: Mapping[str, ColumnType]) -> str:
    """List the names of the columns for a message, at most 40 of them."""
    names = [repr(name) for name in kinds]
    more = f" and {len(names) - 40} more" if len(names) > 40 else ""
    return f"the columns are {', '.join(names[:40])}{more}" if names else "there are no columns"


def candidates(role: str, kinds: Mapping[str, ColumnType], taken: Mapping[str, str]) -> list[str]:
    """Return the columns that may have a role by their name and type, in the order of the table."""
    free = [name for name in kinds if name not in taken.values()]
    possible = [name for name in free if role == role_of(name, kinds[name])]
    typical = [name for name in possible if kinds[name] in _TYPICAL[role]]
    return first_ends(typical or possible) if role == "time" else typical or possible


def first_ends(names: Sequence[str]) -> list[str]:
    """Leave out the columns that hold ends of intervals, unless all do."""
    return [name for name in names if not ENDS & set(words(name))] or list(names)


def role_of(name: str, kind: ColumnType) -> str | None:
    """Return the role that a column's name shows, if its type is possible for that role; else None.

    In a name with words for several roles, the last one counts.
    """
    if (STARTS | ENDS) & set(words(name)) and kind in TIMES | CLOCKS:
        return "time"
    if re.search(OBIS, name) and kind in NUMBERS:
        return "value"
    spoken = words(name)
    about = bool(spoken) and spoken[-1] in _ABOUT_USERS
    for word in reversed(spoken):
        for role in ROLES:
            if role == "user" and about:
                continue
            if word in _WORDS[role] and kind in _POSSIBLE[role]:
                return role
    return None


def words(name: str) -> list[str]:
    """Split a name into words: ``meterId``, ``meter_id``, ``Meter ID`` and ``meterid`` all give meter, id."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"([a-z]{2})([A-Z])", r"\1 \2", name))
    found = []
    for part in map(str.lower, parts):
        stem = part.removesuffix("id")
        glued = stem != part and stem in _WORDS["user"]
        found.extend([stem, "id"] if glued else [part])
    return found


def by_type(kinds: Mapping[str, ColumnType], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each column of a three-column table: as chosen, then by type, then by elimination.

    A type decides only if exactly one free column has it. Times are tried first, then fractions, then text.
    """
    found = dict(chosen)
    by_kind = (("time", TIMES), ("value", FRACTIONS), ("user", frozenset({ColumnType.TEXT, ColumnType.OTHER})))
    for role, allowed in (*by_kind, *_POSSIBLE.items()):
        left = [name for name in kinds if name not in found.values()]
        fitting = [name for name in left if kinds[name] in allowed]
        if role in found or len(fitting) != 1:
            continue
        if allowed is not _POSSIBLE[role] or (len(left) == 1 and role_of(left[0], kinds[left[0]]) in (None, role)):
            found[role] = fitting[0]
    return found
