"""``halfmask aggregate``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.aggregate import AggregateOptions
from halfmask.commands.aggregate import aggregate as count


def aggregate(options: AggregateOptions) -> None:
    """The service's cells from a lake of its reports, on DuckDB or Spark."""
    rows = [["campaign", "period", "setting", "reports", "producers", "sum in steps", "sum of squares"]]
    for (campaign, period), cells in count(options).items():
        for setting, cell in cells.items():
            rows.append([campaign, period, setting, *(f"{number:,}" for number in cell)])
    print_rows(rows)
    if options.output is not None:
        note(f"wrote {options.output}")
