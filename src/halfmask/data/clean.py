"""The SQL expressions that read clean readings from the chosen columns: one per role, the same on every engine."""

import re
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from halfmask.data.arrow_blocks import ArrowCells
from halfmask.data.column_types import ABSENT, NUMBERS, TEXTS, ColumnType, texts
from halfmask.data.number_formats import NumberFormat, undecided
from halfmask.data.source_table import Rule
from halfmask.data.sql import extract, literal, matches, quote
from halfmask.data.times import TimeRule
from halfmask.errors import ReadingError


def operand(name: str, column: pa.ChunkedArray) -> str:
    """Return the column as an SQL operand; it is cast to text if it holds categories or only nulls."""
    plain = not (pa.types.is_dictionary(column.type) or pa.types.is_null(column.type))
    return quote(name) if plain else f"CAST({quote(name)} AS VARCHAR)"


def user_rule(name: str, kind: ColumnType, column: pa.ChunkedArray, integral: Callable[[], bool]) -> Rule:
    """Return the rule that reads users in the column's own type.

    An id stored as a float (1392.0) becomes a whole number.

    ``integral`` finds out whether all floats of the whole column are whole; it is called for floats only.
    """
    quoted = operand(name, column)
    sql = quoted
    if kind is ColumnType.FLOAT:
        target = "BIGINT" if integral() else "VARCHAR"
        sql = f"CAST(CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted} END AS {target})"
    elif kind in {ColumnType.DECIMAL, ColumnType.OTHER, ColumnType.BOOLEAN}:
        sql = f"CAST({quoted} AS VARCHAR)"
    elif kind is ColumnType.TEXT_NUMBER and all(re.fullmatch(r"\d+(\.0*)?", text) for text in texts(column)):
        zeros = literal(r"\.0+$")
        sql = f"nullif(regexp_replace(trim({quoted}), {zeros}, ''), '')"
    elif kind in TEXTS and any(re.fullmatch(KEPT, text) for text in texts(column)):
        text = f"trim({quoted})"
        sql = f"nullif(coalesce(nullif({extract(text, KEPT, 1)}, ''), {text}), '')"
    elif kind in TEXTS:
        # Blanks around a name are the exporter's; who reads quickly looks for them afterwards, among the users alone.
        return Rule("user", name, f"nullif(trim({quoted}), '')", quick=quoted, cells=ArrowCells(pa.string()))
    return Rule("user", name, sql, cells=ArrowCells(column.type) if kind is ColumnType.INTEGER else None)


KEPT = '^="(.*)"$'
"""The form in which exporters write an id so that a spreadsheet does not read it as a number."""


def time_column(name: str, rule: TimeRule, column: pa.ChunkedArray) -> Rule:
    """Return the rule that reads a column of times."""
    quoted, rule = operand(name, column), replace(rule, name=name)
    attempt = f"({rule.present(quoted)}) AND ({rule.sql(quoted, 'TRY_CAST')}) IS NULL"
    safe = rule.kind in {ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.ZONED}
    careful = Rule("time", name, rule.sql(quoted), None if safe else attempt, rule.wanted())
    found = texts(column) if rule.kind in TEXTS else []
    return replace(careful, quick=rule.quick(quoted, found), cells=rule.cells(found))


def value_rule(
    name: str, kind: ColumnType, column: pa.ChunkedArray, form: NumberFormat | None = None, by: str = ""
) -> Rule:
    """Return the rule that reads values as doubles. The usual words for a missing value become null.

    ``form``  how the texts write numbers
    ``by``    an expression by which values are multiplied, to convert units; empty if they are not
    """
    quoted = operand(name, column)
    if kind not in NUMBERS | {ColumnType.TEXT, ColumnType.EMPTY}:
        held = "true and false" if kind is ColumnType.BOOLEAN else "no numbers"
        raise ReadingError(f"column {name!r} holds {held}; name a column of numbers with `value`", kind="type")
    if kind in TEXTS:
        rule = _value_of_text(name, quoted, form or NumberFormat())
    else:
        double = pa.types.is_float64(column.type)
        sql, cells = (quoted, ArrowCells(pa.float64())) if double else (f"CAST({quoted} AS DOUBLE)", None)
        rule = Rule("value", name, sql, cells=cells)
    if not by:
        return rule
    quick = f"({rule.quick}) * {by}" if rule.quick else ""
    return replace(rule, sql=f"({rule.sql}) * {by}", quick=quick, cells=_multiplied(by, rule.cells))


def _multiplied(by: str, cells: ArrowCells | None) -> ArrowCells | None:
    """Return how Arrow reads cells and multiplies them by a constant; None if the factor differs between rows."""
    try:
        times = float(by)
    except ValueError:
        return None
    return cells and ArrowCells(cells.type, lambda column: pc.multiply(cells.read(column), times))


def _value_of_text(name: str, quoted: str, form: NumberFormat) -> Rule:
    """Return the rule for texts with a decimal point; a word for a missing value becomes null."""
    words = ", ".join(map(literal, (*ABSENT, name.lower())))
    absent = f"lower(trim({quoted})) IN ({words})"
    if not form.plain:
        return _local_value(name, quoted, form, absent)
    if form.whole:
        return _whole_value(name, quoted, absent)
    number = f"TRY_CAST({quoted} AS DOUBLE)"
    rest = f"CAST(CASE WHEN {absent} THEN NULL ELSE {quoted} END AS DOUBLE)"
    bad = f"{quoted} IS NOT NULL AND {number} IS NULL AND NOT {absent}"
    wanted = "a number such as 0.14"
    careful = f"CASE WHEN {quoted} IS NOT NULL THEN coalesce({number}, {rest}) END"
    quick = f"CAST({quoted} AS DOUBLE)"
    return Rule("value", name, careful, bad, wanted, quick, ArrowCells(pa.float64()))


def _whole_value(name: str, quoted: str, absent: str) -> Rule:
    """Return the rule for texts of which the first are whole numbers.

    A point further down may group thousands, so it is an error and not read as a decimal point.
    """
    doubtful = matches(f"trim({quoted})", undecided("."))
    text = f"CASE WHEN {absent} THEN NULL WHEN {doubtful} THEN 'no number' ELSE {quoted} END"
    bad = f"{quoted} IS NOT NULL AND NOT {absent} AND ({doubtful} OR TRY_CAST({quoted} AS DOUBLE) IS NULL)"
    cells = ArrowCells(pa.int64(), lambda column: column.cast(pa.float64(), safe=False))
    return Rule("value", name, f"CAST({text} AS DOUBLE)", bad, "a number such as 14", "", cells)


def _local_value(name: str, quoted: str, form: NumberFormat, absent: str) -> Rule:
    """Return the rule for texts with a decimal comma, groups of thousands or a unit. All other texts are errors."""
    bare = form.bare(quoted)
    fits = f"({matches(bare, form.pattern())} AND {bare} <> '')"
    nothing = f"{quoted} IS NULL OR {absent}"
    text = f"CASE WHEN {nothing} THEN NULL WHEN {fits} THEN {form.cleaned(bare)} ELSE 'no number' END"
    bad = f"{quoted} IS NOT NULL AND NOT {absent} AND NOT {fits}"
    wanted = f"a number with the decimal sign {form.decimal!r}, as the others are; `decimal` names another"
    return Rule("value", name, f"CAST({text} AS DOUBLE)", bad, wanted)
