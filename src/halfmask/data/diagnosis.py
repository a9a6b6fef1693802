"""From an engine's failure to an error that names file, row and column."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from halfmask.data.kinds import NAIVE_TIME, TEXTS, ZONED_TIME
from halfmask.data.raw import Raw
from halfmask.data.rules import Rule
from halfmask.data.times import TimeRule
from halfmask.errors import HalfmaskError, ReadingError


def guard(raw: Raw, rules: Sequence[Rule], time: TimeRule | None) -> Callable[[], AbstractContextManager[None]]:
    """A context for queries: what the engine raises in it becomes one of our errors.

    Only then is the source searched for the first reading that cannot be read; a query that succeeds pays nothing.
    """

    @contextmanager
    def watch() -> Iterator[None]:
        try:
            yield
        except raw.failures as error:
            raise diagnose(raw, rules, time, error) from error

    return watch


def diagnose(raw: Raw, rules: Sequence[Rule], time: TimeRule | None, error: Exception) -> HalfmaskError:
    """The first reading at fault, or else what the engine's own failure means."""
    if fatal := raw.fatal(error):
        return fatal
    try:
        found = unreadable(raw, rules, time)
    except raw.failures as second:
        # The search runs into the same wall where the file itself is broken.
        return raw.explain(second)
    return found or raw.explain(error)


def unreadable(raw: Raw, rules: Sequence[Rule], time: TimeRule | None) -> ReadingError | None:
    """The error for the first reading that cannot be read, or None if all can."""
    for rule in rules:
        if rule.bad is None:
            continue
        place = raw.first(rule.bad, raw.dialect.quote(rule.column))
        if place is None:
            continue
        if rule.role == "time" and time is not None and (mixed := mixed_zones(raw, rule.column, time)):
            return mixed
        where = f"{place.file}, row {place.row}" if place.file else f"{raw.source}, row {place.row}"
        advice = _advice(rule, place.text)
        return ReadingError(f"{where}, column {rule.column!r}: {shortened(place.text)} is not {rule.wanted}{advice}")
    return None


def _advice(rule: Rule, text: str) -> str:
    """What mends a cell that is no number, by what is in it."""
    if rule.role != "value":
        return ""
    if "," in text:
        return "; where its comma is meant, `decimal=.` takes it for thousands, `decimal=,` for decimals"
    if re.match(r"\s*[+-]?\d", text):
        column = f'"{rule.column}"'
        return (
            "; with `db=:memory:` a query, `sql`, cuts off what is behind the number: select * replace "
            f"(regexp_extract({column}, '[-+]?[0-9.]+') as {column}) from 'x.csv'"
        )
    return ""


def mixed_zones(raw: Raw, column: str, time: TimeRule) -> ReadingError | None:
    """The error for a column in which some times have a zone and some have none."""
    if time.kind not in TEXTS or time.unit is not None:
        return None
    text = f"trim({raw.dialect.quote(column)})"
    zoned, naive = raw.count([raw.dialect.matches(text, pattern) for pattern in (ZONED_TIME, NAIVE_TIME)])
    if not (zoned and naive):
        return None
    return ReadingError(
        f"{raw.source}, column {column!r}: {zoned} times have a zone and {naive} have none; "
        "write all of them with a zone, or none"
    )


def shortened(text: str) -> str:
    """A reading as it stands in the source, cut so that a message stays a line."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
