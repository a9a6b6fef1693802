"""Parse the columns of the values, and convert them to one unit."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from halfmask.data.arrow_blocks import ArrowCells
from halfmask.data.column_types import ABSENT, NUMBERS, TEXTS, ColumnType, texts
from halfmask.data.columns import words
from halfmask.data.interpretation import Interpretation
from halfmask.data.number_formats import NumberFormat, number_format, undecided, unit_behind
from halfmask.data.panel import Guess
from halfmask.data.reading_interval import head, step_of
from halfmask.data.source_table import Rule, operand
from halfmask.data.sql import Queries, literal, matches, quote, text_of
from halfmask.data.units import NAMES as UNIT_NAMES
from halfmask.data.units import Wanted, conversion, factor, is_unit, kept_unit, needs_step, unit_in_name, usual_unit
from halfmask.errors import ColumnError, ReadingError

NOTHING = "no cell"


def value_rules(
    table: Interpretation, names: Sequence[str], unit_column: str | None, keys: Sequence[Rule]
) -> tuple[list[Rule], str | None]:
    """Return how to parse the columns of values, and the unit of the result (None if unknown).

    ``keys``  how to parse user and time; needed to find the interval between readings
    """
    kept: str | None
    form, wanted = _number_format(table, names), Wanted.parse(table.options.unit)
    dressed = form is not None and form.dressed and any(map(unit_behind, texts(table.sample(names[0]))))
    if unit_column is not None:
        text = f"CAST({quote(unit_column)} AS VARCHAR)"
        by, kept = _unit_of_rows(table, names[0], unit_column, text, wanted, keys)
    elif form is not None and dressed and len(names) == 1:
        quoted, nothing = quote(names[0]), ", ".join(map(literal, ABSENT))
        text = f"CASE WHEN lower(trim({quoted})) NOT IN ({nothing}) THEN {form.unit(quoted)} ELSE '{NOTHING}' END"
        by, kept = _unit_of_rows(table, names[0], None, text, wanted, keys)
    else:
        factors, kept = _units_of_columns(table, names, form, wanted)
        return [_rule(table, name, form, factors[name]) for name in names], kept
    return [_rule(table, name, form, by) for name in names], kept


def _rule(table: Interpretation, name: str, form: NumberFormat | None, by: str) -> Rule:
    return value_rule(name, table.kinds[name], table.sample(name), form, by)


def _units_of_columns(
    table: Interpretation, names: Sequence[str], form: NumberFormat | None, wanted: Wanted
) -> tuple[dict[str, str], str | None]:
    """Return the factor of each column as SQL text, and the unit after the conversion: that of the first column."""
    units = {name: wanted.source or _unit_of(table, name, form) for name in names}
    known = {unit: name for name, unit in reversed(units.items()) if unit}
    kept = wanted.kept or next((unit for unit in units.values() if unit), None)
    if kept is None:
        return dict.fromkeys(names, ""), None
    odd = [f"{name} in {unit}" for unit, name in known.items() if factor(unit, kept) is None]
    if odd:
        raise ColumnError(
            f"{table.raw.source}: {odd[0]} does not convert into {kept}, which the first is in; name one column "
            "with `value`, and its user with `user` (`user=@file` is the file's name)",
            kind="units",
        )
    bare = [name for name, unit in units.items() if unit is None]
    if bare:
        raise ColumnError(
            f"{table.raw.source}: {', '.join(bare)} say no unit, and {known[kept]} is in {kept}; say `unit={kept}` "
            "where all are, or leave those out",
            kind="units",
        )
    named = "a row under the header" if table.raw.units.get(names[0]) else f"the name {names[0]!r}"
    evidence = named if len(names) == 1 else "names, cells or a row under the header"
    table.guesses.append(Guess("unit", kept, "`unit`" if wanted.source else evidence, "`unit`"))
    factors = {name: factor(unit or "", kept) for name, unit in units.items()}
    return {name: "" if by == 1.0 else repr(by) for name, by in factors.items()}, kept


def _unit_of(table: Interpretation, name: str, form: NumberFormat | None) -> str | None:
    """Return the unit of a column, from a row under the header, its name or its cells; None if unknown.

    Raise an error if the cells have different units.
    """
    if found := table.raw.units.get(name) or unit_in_name(name):
        return found
    if form is None or not form.dressed:
        return None
    behind = {unit for text in texts(table.sample(name)) if (unit := unit_behind(text))}
    if len(behind) > 1:
        listed = ", ".join(sorted(behind))
        raise ReadingError(
            f"{table.raw.source}, column {name!r}: its cells are in {listed}; give a table of a reading a row",
            kind="units",
        )
    return usual_unit(behind.pop()) if behind else None


def unit_column(table: Interpretation) -> str | None:
    """Return the column that holds the unit of each row; None if there is none."""
    named = [name for name, kind in table.kinds.items() if kind in TEXTS and UNIT_NAMES & {*words(name), name.lower()}]
    if len(named) > 1:  # a time's unit, or a sensor's, beside that of the values
        named = [name for name in named if all(map(is_unit, texts(table.sample(name))))]
    return named[0] if len(named) == 1 else None


def _number_format(table: Interpretation, names: Sequence[str]) -> NumberFormat | None:
    """Return the number format of the columns of text, which must be the same for all; None if no column is text."""
    written = [name for name in names if table.kinds[name] in TEXTS]
    if not written:
        return None
    found = [text for name in written for text in texts(table.sample(name))]

    def whole(patterns: Sequence[str]) -> list[int]:
        tests = [matches(f"trim({quote(name)})", pattern) for name in written for pattern in patterns]
        counts = table.raw.count(tests)
        return [sum(counts[i :: len(patterns)]) for i in range(len(patterns))]

    form = number_format(written[0], found, table.options.decimal, whole)
    if not form.plain:
        table.notes.append(f"{written[0]} has decimal {form.decimal!r}: {form.evidence}")
    evidence = form.evidence or "every number has a point or none"
    table.guesses.append(Guess("numbers", f"decimal {form.decimal!r}", evidence, "`decimal`"))
    return form


def _unit_of_rows(
    table: Interpretation, value: str, column: str | None, text: str, wanted: Wanted, keys: Sequence[Rule]
) -> tuple[str, str]:
    """Return the factor of each row as an SQL expression, and the unit of the results, if each row has its own unit.

    ``text``  the SQL expression of the unit: in a column of units, or after each value

    If both power and energy occur, power is converted to energy by the interval between readings.
    """
    place = f"column {column}" if column else f"the cells of {value}"
    found = table.raw.distinct(text)
    found.pop(NOTHING, None)
    if wanted.source is not None and {usual_unit(unit) for unit in found if unit} <= {wanted.source}:
        by = factor(wanted.source, wanted.kept or wanted.source) or 1.0
        return (repr(by) if by != 1.0 else ""), wanted.kept or wanted.source
    step = None
    if needs_step(found, wanted):
        plain = value_rule(value, ColumnType.EMPTY, pa.chunked_array([pa.nulls(0)]))
        zero = replace(plain, sql="CAST(0 AS DOUBLE)", bad=None)
        step = step_of(head(table.panel([*keys, zero])))

    def apart(unit: str) -> str:
        cell, shown = text_of(column or value), literal(unit)
        return Queries(table.raw.origin).where(f"{cell} = {shown}" if column else f"ends_with({cell}, {shown})")

    kept = kept_unit(f"{table.raw.source}, {place}", found, wanted, step, apart)
    listed = ", ".join(f"{unit} {count:,}" for unit, count in sorted(found.items()))
    table.notes.append(f"unit = {kept}: by {place}, {listed} rows")
    table.guesses.append(Guess("unit", kept, f"{place}: {listed} rows", "`unit`"))
    if all(factor(unit, kept, step) == 1.0 for unit in found):
        return "", kept
    return conversion(text, found, kept, step), kept


def value_rule(
    name: str, kind: ColumnType, column: pa.ChunkedArray, form: NumberFormat | None = None, by: str = ""
) -> Rule:
    """Return how to parse values as doubles. The usual words for a missing value become null.

    ``form``  how texts write numbers
    ``by``    the SQL expression of the factor that converts units; empty for none
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
    """Return how Arrow parses cells and multiplies them by a constant; None if the factor differs between rows."""
    try:
        times = float(by)
    except ValueError:
        return None
    return cells and ArrowCells(cells.type, lambda column: pc.multiply(cells.read(column), times))


def _value_of_text(name: str, quoted: str, form: NumberFormat) -> Rule:
    """Return how to parse texts with a decimal point. Words for a missing value become null."""
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
    """Return how to parse texts if those of the sample are whole numbers.

    In a later row, ``1.234`` is an error, because its point may separate thousands.
    """
    doubtful = matches(f"trim({quoted})", undecided("."))
    text = f"CASE WHEN {absent} THEN NULL WHEN {doubtful} THEN 'no number' ELSE {quoted} END"
    bad = f"{quoted} IS NOT NULL AND NOT {absent} AND ({doubtful} OR TRY_CAST({quoted} AS DOUBLE) IS NULL)"
    cells = ArrowCells(pa.int64(), lambda column: column.cast(pa.float64(), safe=False))
    return Rule("value", name, f"CAST({text} AS DOUBLE)", bad, "a number such as 14", "", cells)


def _local_value(name: str, quoted: str, form: NumberFormat, absent: str) -> Rule:
    """Return how to parse texts with a decimal comma, thousands separators or a unit. Any other text is an error."""
    bare = form.bare(quoted)
    fits = f"({matches(bare, form.pattern())} AND {bare} <> '')"
    nothing = f"{quoted} IS NULL OR {absent}"
    text = f"CASE WHEN {nothing} THEN NULL WHEN {fits} THEN {form.cleaned(bare)} ELSE 'no number' END"
    bad = f"{quoted} IS NOT NULL AND NOT {absent} AND NOT {fits}"
    wanted = f"a number with the decimal sign {form.decimal!r}, as the others are; `decimal` names another"
    return Rule("value", name, f"CAST({text} AS DOUBLE)", bad, wanted)
