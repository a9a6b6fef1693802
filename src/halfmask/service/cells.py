"""Cells of a period, one per setting, or per setting and group: counting, merging, storing, and checking.

A cell holds the number of reports, the number of producers, the sum and the sum of squares, in steps.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from halfmask.service.refusal import unfit
from halfmask_device.protocol import Cell

if TYPE_CHECKING:  # cells are counted without a database too
    from halfmask.service.campaign import Campaign
    from halfmask.service.storage.report_rows import ReportRow, ReportTuple
    from halfmask.service.storage.tables import Plain
    from halfmask_device.instants import Instant

MOST_REPORTS = 2**53

Cells = dict[str, Cell]


def merge(parts: Iterable[Mapping[str, Cell]]) -> Cells:
    """Return the sum of cells per setting. A setting whose sums are all 0 is left out."""
    total: Cells = {}
    for part in parts:
        for setting, cell in part.items():
            total[setting] = total.get(setting, Cell()).merge(cell)
    return {setting: total[setting] for setting in sorted(total) if any(total[setting])}


def cell_name(setting: str, group: str | None) -> str:
    """Return the name of the cell of a setting in a group. Ids of settings are without slashes; groups may."""
    return setting if group is None else f"{setting}/{group}"


def by_setting(cells: Cells) -> Cells:
    """Return the cells of settings, added over groups."""
    return merge({name.partition("/")[0]: cell} for name, cell in cells.items())


def negated(cells: Mapping[str, Cell]) -> Cells:
    return {setting: Cell(*(-number for number in cell)) for setting, cell in cells.items()}


def count_reports(reports: "Iterable[ReportRow]") -> Cells:
    """Return the cells of reports, which must be sorted by producer and time.

    A producer counts once, under the setting of its first report.
    """
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


def added_cells(rows: "Iterable[ReportTuple]", first: "Mapping[int, tuple[Instant, str]]") -> Cells:
    """Return what new reports of one period add to its cells. Producers may move from one cell to another.

    ``first``  time and setting of the first report that each producer had before
    """
    numbers: dict[str, list[int]] = {}
    earliest: dict[int, tuple[Instant, str]] = {}
    for producer, time, steps, setting, _ in rows:
        cell = numbers.setdefault(setting, [0, 0, 0, 0])
        cell[0] += 1
        cell[2] += steps
        cell[3] += steps * steps
        if producer not in earliest or time < earliest[producer][0]:
            earliest[producer] = (time, setting)
    for producer, (time, setting) in earliest.items():
        before = first.get(producer)
        if before is None or time < before[0]:
            numbers[setting][1] += 1
            if before is not None:
                numbers.setdefault(before[1], [0, 0, 0, 0])[1] -= 1
    return merge([{setting: Cell(*each) for setting, each in numbers.items()}])


def plain_cells(cells: Mapping[str, Cell]) -> "Plain":
    return {setting: cell._asdict() for setting, cell in cells.items()}


def read(stored: Mapping[str, Mapping[str, int]]) -> Cells:
    """Return the cells that `plain_cells` wrote."""
    return {setting: Cell(**cell) for setting, cell in stored.items()}


def check_cells(value: Any, campaign: "Campaign") -> Cells:
    """Return the cells that a node sent. Refuse cells that no plausible reports could have."""
    groups = campaign.groups or (None,)
    names = {cell_name(setting, group): setting for setting in campaign.noises for group in groups}
    if not isinstance(value, dict) or value.keys() - names.keys():
        message = "the cells of a period must be an object from the menu's ids to cells; with groups, from ID/GROUP"
        raise unfit("periods", message)
    cells = {name: _check_cell(each, campaign.plausible[names[name]]) for name, each in sorted(value.items())}
    if campaign.totals and any(cell.reports != cell.producers for cell in cells.values()):
        raise unfit("periods", "a producer has one total in a period: reports and producers must be the same")
    return cells


def _check_cell(value: Any, plausible: tuple[int, int]) -> Cell:
    if not isinstance(value, dict) or value.keys() != set(Cell._fields):
        raise unfit("periods", f"a cell must have {', '.join(Cell._fields)} and nothing else")
    if not all(type(number) is int for number in value.values()):
        raise unfit("periods", "a cell holds whole numbers")
    cell = Cell(**value)
    low, high = plausible
    largest = max(abs(low), abs(high)) ** 2
    fits = (
        cell.possible
        and cell.reports <= MOST_REPORTS
        and cell.reports * low <= cell.sum <= cell.reports * high
        and cell.squares <= cell.reports * largest
    )
    if not fits:
        raise unfit("periods", "no plausible reports have such a cell: check reports, producers, sum and squares")
    return cell
