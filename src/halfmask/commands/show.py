"""``halfmask show``: a look at a profile."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, AnyProfile, Flag, Options, command, held
from halfmask.commands._output import note, print_json, print_table_of

if TYPE_CHECKING:
    from halfmask.profiles.profile import Profile

GROUP = "Measure"


@Parameter(name="*")
@dataclass(frozen=True)
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

    profile: AnyProfile
    _: KW_ONLY
    picture: Annotated[AnyPath | None, Parameter(name="--png")] = None
    aggregate: Literal["auto", "sum", "mean"] = "auto"


@command(Show)
def show(options: Show) -> "Profile":
    """Look at a profile: quality of the data, how large readings are, totals or means over time. Gives the profile."""
    from halfmask.profiles.profile import Profile
    from halfmask.profiles.show import draw_profile

    loaded = held(Profile, options.profile)
    if options.picture is not None:
        draw_profile(loaded, Path(options.picture), options.aggregate)
    return loaded


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
    if options.picture is not None:
        note(f"drew {options.picture}")
