"""Find the cell that made a query fail, so that the error names file, row and column."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from halfmask.data.column_types import NAIVE_TIME, ZONED_TIME
from halfmask.data.number_formats import NumberFormat, proof, undecided, unit_behind
from halfmask.data.source_table import Rule, SourceTable
from halfmask.data.sql import Queries, advised, in_list, literal, matches, quote, text_of
from halfmask.errors import HalfmaskError, ReadingError

FEW_WORDS = 8
"""The largest number of texts that an advised query lists."""
_LEADING = "[-+]?[0-9][0-9.,]*([eE][-+]?[0-9]+)?"
"""Matches a number with any decimal sign."""


@contextmanager
def guard(raw: SourceTable, rules: Sequence[Rule]) -> Iterator[None]:
    """Turn an engine's exception into one of our errors.

    The source is searched for the first unreadable reading only after a failure, so a query that succeeds costs nothing
    more.
    """
    try:
        yield
    except raw.failures as error:
        raise diagnose(raw, rules, error) from error


def diagnose(raw: SourceTable, rules: Sequence[Rule], error: Exception) -> HalfmaskError:
    """Return the error for the first unreadable reading; if there is none, the error for the engine's failure."""
    try:
        found = raw.fatal(error) or unreadable(raw, rules)
    except raw.failures as second:
        # If the file itself is damaged, the search fails too.
        return raw.explain(second)
    return found or raw.explain(error)


def unreadable(raw: SourceTable, rules: Sequence[Rule]) -> ReadingError | None:
    """Return the error for the first reading that cannot be parsed, or None."""
    for rule in rules:
        if rule.bad is None:
            continue
        place = raw.first(rule.bad, quote(rule.column))
        if place is None:
            continue
        if rule.role == "time" and (mixed := mixed_zones(raw, rule.column)):
            return mixed
        where = f"{place.file or raw.source}, row {place.row}"
        shown = repr(place.text if len(place.text) <= 40 else place.text[:37] + "...")  # a message stays one line
        advice = _of_values(raw, rule, rules) if rule.role == "value" else _of_times(raw, rule)
        return ReadingError(
            f"{where}, column {rule.column!r}: {shown} is not {rule.wanted}{advice}",
            kind="cell",
            place=f"{where}, column {rule.column!r}",
        )
    return None


def _unread(raw: SourceTable, rule: Rule) -> tuple[str, list[str]]:
    """Return an SQL expression for a column's text, and the distinct texts that cannot be parsed."""
    text = f"trim(CAST({quote(rule.column)} AS VARCHAR))"
    return text, [cell for cell in raw.distinct(f"CASE WHEN {rule.bad} THEN {text} END") if cell]


def _of_times(raw: SourceTable, rule: Rule) -> str:
    """Return advice to leave out rows whose texts are not times, such as footers; empty if the texts are too many."""
    _, cells = _unread(raw, rule)
    left = Queries(raw.origin).where(f"coalesce({text_of(rule.column)}, '') not in {in_list(cells)}")
    return f"; leave such rows out, {left}" if len(cells) <= FEW_WORDS else ""


def _of_values(raw: SourceTable, rule: Rule, rules: Sequence[Rule]) -> str:
    """Return advice for a column in which some cells are not numbers."""
    queries, (text, cells) = Queries(raw.origin), _unread(raw, rule)
    if advice := _of_signs(raw, rule.column, text, cells):
        return advice
    if _all(r"[+-]?\d.*", cells):
        number = f"regexp_extract({text_of(rule.column)}, {literal(_LEADING)})"
        units = sorted({unit for cell in cells if (unit := unit_behind(cell))})
        where = f"where all are in {' and '.join(units)}, " if units else ""
        return f"; {where}cut off what is behind the numbers, {queries.replace({rule.column: number})}"
    if len(cells) > FEW_WORDS:
        return ""
    if len([each for each in rules if each.role == "value"]) > 1:
        every = "select case when trim(cast(columns(*) as varchar)) not in"
        return (
            f"; take such cells for empty, {advised(f'{every} {in_list(cells)} then columns(*) end from {raw.origin}')}"
        )
    kept = f"case when {text_of(rule.column)} not in {in_list(cells)} then {quote(rule.column)} end"
    return f"; take such cells for empty, {queries.replace({rule.column: kept})}"


def _of_signs(raw: SourceTable, column: str, text: str, cells: Sequence[str]) -> str:
    """Return advice for numbers with an unexpected decimal sign; empty if the sign is not the problem."""
    if not _all(r"[+-]?\d[\d.,]*([eE][+-]?\d+)?", cells):
        return ""
    if _all(undecided("."), cells):
        return "; `decimal=.` takes its point for decimals, `decimal=,` takes it for thousands"
    forms = (proof(","), proof("."), r".*[.,].*[.,].*")
    comma, point, both = raw.count([matches(text, form) for form in forms])
    if comma and point and not both:
        alike = Queries(raw.origin).replace({column: f"replace({text_of(column)}, ',', '.')"})
        return f"; some have a decimal comma and some a decimal point: write all alike, {alike}"
    ways = ["`decimal=.` takes its comma for thousands"] if _all(NumberFormat(grouped=True).pattern(), cells) else []
    ways += (
        ["`decimal=,` takes its comma for decimals"] if not point and _all(NumberFormat(",").pattern(), cells) else []
    )
    without = Queries(raw.origin).replace({column: f"replace({text_of(column)}, ',', '')"})
    return "; " + (" and ".join(ways) or f"where commas group its digits, leave them out, {without}")


def _all(pattern: str, cells: Sequence[str]) -> bool:
    return all(re.fullmatch(pattern, cell) for cell in cells)


def mixed_zones(raw: SourceTable, column: str) -> ReadingError | None:
    """Return the error for a column in which only some times have a zone; None otherwise."""
    text = f"trim(CAST({quote(column)} AS VARCHAR))"
    zoned, naive = raw.count([matches(text, pattern) for pattern in (ZONED_TIME, NAIVE_TIME)])
    if not (zoned and naive):
        return None
    return ReadingError(
        f"{raw.source}, column {column!r}: {zoned} times have a zone and {naive} have none; "
        "write all of them with a zone, or none",
        kind="zones",
        place=f"{raw.source}, column {column!r}",
    )
