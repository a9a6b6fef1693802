"""Cells: the mergeable part of an aggregate, per setting whole numbers in steps. Adding them commutes and is exact."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from halfmask.service.campaign import Campaign
from halfmask.service.refusal import unfit
from halfmask.service.storage.base import Plain, ReportRow

MOST_REPORTS = 2**53


class Cell(NamedTuple):
    """Of one setting: how many reports, of how many producers, their sum and the sum of their squares, in steps."""

    reports: int = 0
    producers: int = 0
    sum: int = 0
    squares: int = 0

    def merge(self, other: "Cell") -> "Cell":
        return Cell(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


Cells = dict[str, Cell]


def merge(parts: Iterable[Mapping[str, Cell]]) -> Cells:
    """The sum of cells, setting by setting; settings without a report fall away."""
    total: Cells = {}
    for part in parts:
        for setting, cell in part.items():
            total[setting] = total.get(setting, Cell()).merge(cell)
    return {setting: total[setting] for setting in sorted(total) if any(total[setting])}


def negated(cells: Mapping[str, Cell]) -> Cells:
    return {setting: Cell(*(-number for number in cell)) for setting, cell in cells.items()}


def count(reports: Iterable[ReportRow]) -> Cells:
    """The cells of reports that come by producer and time; a producer counts under its first report's setting."""
    found: dict[str, list[int]] = {}
    last = None
    for producer, _, steps, setting, _ in reports:
        cell = found.get(setting)
        if cell is None:
            cell = found[setting] = [0, 0, 0, 0]
        cell[0] += 1
        cell[2] += steps
        cell[3] += steps * steps
        if producer != last:
            cell[1] += 1
            last = producer
    return {setting: Cell(*found[setting]) for setting in sorted(found)}


def plain(cells: Mapping[str, Cell]) -> Plain:
    return {setting: cell._asdict() for setting, cell in cells.items()}


def read(stored: Mapping[str, Mapping[str, int]]) -> Cells:
    """The cells that `plain` wrote."""
    return {setting: Cell(**cell) for setting, cell in stored.items()}


def check_cells(value: Any, campaign: Campaign) -> Cells:
    """The cells that a node sent, if they can be those of plausible reports: whole, bounded, n squares >= sum^2."""
    if not isinstance(value, dict) or value.keys() - campaign.noises.keys():
        raise unfit("periods", "the cells of a period must be an object from the menu's ids to cells")
    return {setting: _check_cell(each, campaign.plausible[setting]) for setting, each in sorted(value.items())}


def _check_cell(value: Any, plausible: tuple[int, int]) -> Cell:
    if not isinstance(value, dict) or value.keys() != set(Cell._fields):
        raise unfit("periods", f"a cell must have {', '.join(Cell._fields)} and nothing else")
    if not all(type(number) is int for number in value.values()):
        raise unfit("periods", "a cell holds whole numbers")
    cell = Cell(**value)
    low, high = plausible
    largest = max(abs(low), abs(high)) ** 2
    fits = (
        0 <= cell.producers <= MOST_REPORTS  # a producer counts where its first report is: producers may be 0
        and 0 <= cell.reports <= MOST_REPORTS
        and cell.producers <= cell.reports
        and cell.reports * low <= cell.sum <= cell.reports * high
        and cell.sum**2 <= cell.reports * cell.squares
        and cell.squares <= cell.reports * largest
    )
    if not fits:
        raise unfit("periods", "no plausible reports have such a cell: check reports, producers, sum and squares")
    return cell
