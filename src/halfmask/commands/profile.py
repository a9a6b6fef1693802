"""``halfmask profile``: readings to a profile."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import Counter, Flag, OutputIfAny, Teller, command
from halfmask.commands._output import counting, note, print_table_of
from halfmask.commands._readings import ReadingsOptions
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.profiles.profile import Profile

GROUP = "Measure"


@Parameter(name="*")
@dataclass(frozen=True)
class ProfileOptions(ReadingsOptions):
    """Options of `profile`.

    Parameters
    ----------
    output
        The profile to write; with --dry-run nothing is written.
    buckets
        More users than this are hashed into as many buckets; 0 keeps every user apart.
    engine
        duckdb on one machine, spark beyond it.
    master
        Spark's address: local[2], spark://..., sc://...
    advance
        Hears how many more rows were read.
    tell
        Hears what was guessed.
    """

    unrecorded: ClassVar[tuple[str, ...]] = ("engine", "master", "db")

    _: KW_ONLY
    output: OutputIfAny = None
    buckets: int = 10_000
    engine: Literal["duckdb", "spark"] = "duckdb"
    master: str | None = None
    advance: Counter = None
    tell: Teller = None


@command(ProfileOptions)
def profile(options: ProfileOptions) -> "Profile":
    """Readings to a profile, in one pass: the compact file that every later step works from."""
    from halfmask.data.sources import open_panel
    from halfmask.profiles.build import build_profile

    panel = open_panel(options.readings, options.read_options())
    tell = options.tell or (lambda _: None)
    for told in panel.notes:
        tell(told)
    made = build_profile(
        panel, period=options.period, policies=options.policies(), buckets=options.buckets, advance=options.advance
    )
    for told in made.about["notes"][len(panel.notes) :]:  # what only the readings show, after those of the source
        tell(told)
    made = replace(made, about={**made.about, "asked": options.asked()})
    if options.output is not None:
        made.write(options.output)
    return made


def main(options: ProfileOptions, *, dry_run: Flag = False) -> None:
    """Readings to a profile: the compact file that every later step works from.

    Parameters
    ----------
    dry_run
        Only describe the source: columns and quality.
    """
    if options.output is None and not dry_run:
        raise OptionError("say where the profile goes: -o NAME.profile (or --dry-run to look at the source only)")
    with counting("reading", "readings") as advance:
        made = profile(replace(options, output=None if dry_run else options.output, advance=advance, tell=note))
    print_table_of(made)
    if not dry_run:
        note(f"wrote {options.output}")
