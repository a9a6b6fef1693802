"""``halfmask show``: show a profile."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, AnyProfile, Flag, Options, command
from halfmask.commands._printing import print_json, print_table_of
from halfmask.commands._shared_options import profile_of

if TYPE_CHECKING:
    from halfmask.profiles.profile import Profile


class Show(Options):
    """Options of `show`.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    picture
        Also draw it to this file (.png, .svg or .pdf).
    aggregate
        What is drawn of each period: auto (the mean of states such as temperatures, else the sum), sum or mean.
    """

    outputs: ClassVar[tuple[str, ...]] = ("picture",)

    profile: AnyProfile = field(kw_only=False)
    picture: Annotated[AnyPath | None, Parameter(name="--png")] = None
    aggregate: Literal["auto", "sum", "mean"] = "auto"

    def save(self, made: "Profile", path: Path) -> None:
        from halfmask.figures.readings_overview import readings_plot
        from halfmask.figures.style import save
        from halfmask.profiles.show import picture_data

        save(readings_plot(picture_data(made, self.aggregate)).draw(), path)


@command(Show, group="Measure")
def show(options: Show) -> "Profile":
    """Show a profile: quality of the data, sizes of readings, totals or means over time. Return the profile."""
    return profile_of(options.profile)


def main(options: Show, *, json: Flag = False) -> None:
    """Look at a profile: quality of the data, how large readings are, totals or means over time.

    Parameters
    ----------
    json
        Print one JSON object instead.
    """
    from halfmask.profiles.quality import quality

    profile = show(options)
    if json:
        print_json({**quality(profile), "fingerprint": profile.fingerprint()})
    else:
        print_table_of(profile, options.aggregate)
