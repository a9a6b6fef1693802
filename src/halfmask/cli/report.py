"""``halfmask report``."""

from halfmask.cli.output import note
from halfmask.commands.report import ReportOptions
from halfmask.commands.report import report as write_report


def report(options: ReportOptions) -> None:
    """All results of a folder on one page that opens offline: folder/report.html."""
    note(f"wrote {write_report(options)}")
