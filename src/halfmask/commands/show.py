"""``halfmask show``: show a profile."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, AnyProfile, Options, command
from halfmask.commands._printing import CommandAnswer, columns
from halfmask.commands._shared_options import IN_SHORT, Display, profile_of

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


def described(profile: "Profile", path: object, aggregate: Literal["auto", "sum", "mean"] = "auto") -> CommandAnswer:
    """Return what is said of a profile: what readings there are, their sizes, and totals or means over time."""
    from halfmask.profiles.quality import advice, quality
    from halfmask.profiles.show import pictures, short_rows, table_rows

    found, short = quality(profile), short_rows(profile)
    used = f"{found['readings']:,} readings of {found['users']:,} users"
    return CommandAnswer(
        {**found, "fingerprint": profile.fingerprint()},
        [("", [("", ""), *short])],
        f"{used}, in {found['periods']:,} periods of one {found['period']}.",
        f"halfmask offer {path or 'READINGS.profile'} -o offer.json",
        advice(profile),
        [("", [("", ""), *(row for row in table_rows(profile) if row not in short)])],
        pictures(profile, columns() - 4, aggregate),
    )


def main(options: Show, *, shown: Display = IN_SHORT) -> None:
    """Look at a profile: quality of the data, how large readings are, totals or means over time."""
    shown.show(described(show(options), options.profile, options.aggregate))
