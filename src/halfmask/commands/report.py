"""``halfmask report``: all results of a folder on one page."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, command
from halfmask.commands._output import note

GROUP = "Show"


@Parameter(name="*")
@dataclass(frozen=True)
class ReportOptions(Options):
    """Options of `report`.

    Parameters
    ----------
    folder
        Holds *.profile, study.parquet, menu.json, offer.json, mix.parquet, card.json, offer-card.json and so on.
    figures
        Also draw every figure to folder/figures in this format; may be repeated.
    """

    positional: ClassVar[tuple[str, ...]] = ("folder", "figures")

    folder: AnyPath
    _: KW_ONLY
    figures: Annotated[tuple[Literal["png", "svg", "pdf"], ...], Parameter(negative="", show_default=False)] = ()


@command(ReportOptions)
def report(options: ReportOptions) -> Path:
    """All results of a folder on one page that opens offline: folder/report.html. Gives its path."""
    from halfmask.commands._repeat import command_of
    from halfmask.pages.report import report as write_report

    return write_report(options.folder, options.figures, command_of)


def main(options: ReportOptions) -> None:
    """All results of a folder on one page that opens offline: folder/report.html."""
    note(f"wrote {report(options)}")
