"""``halfmask report``: write all results of a folder to one page."""

from dataclasses import field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from halfmask.commands._options import AnyPath, Options, Several, command
from halfmask.commands._printing import note


class ReportOptions(Options):
    """Options of `report`.

    Parameters
    ----------
    folder
        Holds *.profile, study.parquet, menu.json, offer.json, mix.parquet, card.json, offer-card.json and so on.
    figures
        Also draw every figure to folder/figures in this format; may be repeated.
    title
        The title of the page; by default the name of the profile.
    """

    positional: ClassVar[tuple[str, ...]] = ("folder", "figures")

    folder: AnyPath = field(kw_only=False)
    figures: Annotated[tuple[Literal["png", "svg", "pdf"], ...], Several] = ()
    title: str = ""


@command(ReportOptions, group="Show")
def report(options: ReportOptions) -> Path:
    """Write all results of a folder to one page that opens offline, folder/report.html, and return its path."""
    from halfmask.commands._repeat import command_of
    from halfmask.pages.report import report as write_report

    return write_report(options.folder, options.figures, command_of, options.title)


def main(options: ReportOptions) -> None:
    """Write all results of a folder to one page that opens offline: folder/report.html."""
    note(f"wrote {report(options)}")
