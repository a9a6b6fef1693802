"""Lay out tables and sentences as lines of a terminal: nothing that is shorter than a line is broken within a word."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

GAP = "  "
WHOLE = 20
"""Cells up to this length stay on one line; longer ones continue at a space."""

Rows = Sequence[Sequence[object]]


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Return a text as lines. Words are never broken, so settings and addresses can be copied."""
    wrapper = textwrap.TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line for part in text.split("\n") for line in wrapper.wrap(part) or [""]]


@dataclass(frozen=True)
class TablePart:
    """As many columns of a table as fit side by side: the lines of the headings, and those of each row."""

    columns: int
    head: list[str]
    rows: list[list[str]]


def parts(rows: Rows, width: int) -> list[TablePart]:
    """Return a table as lines. One that is too wide becomes several, and each begins with the first column."""
    columns = [[str(cell) for cell in column] for column in zip(*rows, strict=True)]
    least = [_least(column) for column in columns]
    found, places = list[TablePart](), list(range(1, len(columns)))
    while places or not found:
        taken = [0]
        while places and sum(least[at] + len(GAP) for at in (*taken, places[0])) <= width + len(GAP):
            taken.append(places.pop(0))
        if len(taken) == 1 and places:  # one column that is too wide is better than one that is missing
            taken.append(places.pop(0))
        head, *lines = _lines([columns[at] for at in taken], [least[at] for at in taken], width)
        found.append(TablePart(len(taken), [line for line in head if line], lines))
    return found


def _least(column: Sequence[str]) -> int:
    """Return the least width of a column in which no short cell and no word is broken."""
    head, *cells = column
    whole = [cell if len(cell) <= WHOLE else _longest(cell) for cell in cells]
    return max(map(len, [*whole, _longest(head)]))


def _longest(text: str) -> str:
    return max(text.split() or [""], key=len)


def _lines(columns: Sequence[Sequence[str]], least: Sequence[int], width: int) -> list[list[str]]:
    """Return the lines of each row. Columns get their natural widths as far as there is room, the first ones first."""
    widths, room = list(least), width - sum(least) - len(GAP) * (len(least) - 1)
    for place, column in enumerate(columns):
        more = max(0, min(room, max(map(len, column)) - widths[place]))
        widths[place], room = widths[place] + more, room - more
    found = []
    for row in zip(*columns, strict=True):
        cells = [wrapped(cell, max(size, 1)) for cell, size in zip(row, widths, strict=True)]
        found.append([_joined(line, widths) for line in zip_longest(*cells, fillvalue="")])
    return found


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(f"{cell:<{size}}" for cell, size in zip(cells, widths, strict=True)).rstrip()
