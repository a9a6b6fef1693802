"""``halfmask profile``: make a profile of readings."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from halfmask.commands._options import Counter, Flag, command
from halfmask.commands._printing import counting, note
from halfmask.commands._shared_options import IN_SHORT, Display, MayWrite, OnEngine, ReadingsOptions, Tells
from halfmask.commands.show import described
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.profiles.profile import Profile


class ProfileOptions(ReadingsOptions, MayWrite, OnEngine, Tells):
    """Options of `profile`.

    Parameters
    ----------
    output
        The profile to write.
    buckets
        More users than this are hashed into as many buckets; 0 keeps every user apart.
    dry_run
        Only describe the source, its columns and quality: nothing is written.
    advance
        Progress callback: receives how many more rows were read.
    """

    unrecorded: ClassVar[tuple[str, ...]] = ("engine", "master", "db", "dry_run")

    buckets: int = 10_000
    dry_run: Flag = False
    advance: Counter = None

    def written(self) -> list[Path]:
        return [] if self.dry_run else super().written()


@command(ProfileOptions, group="Measure")
def profile(options: ProfileOptions) -> "Profile":
    """Return the profile of readings, made in one pass: the compact file that every later command uses."""
    from halfmask.data.open_panel import open_panel
    from halfmask.profiles.build import build_profile

    panel = open_panel(options.readings, options.read_options())
    options.say(panel.notes)
    made = build_profile(
        panel, period=options.period, policies=options.policies(), buckets=options.buckets, advance=options.advance
    )
    options.say(made.about["notes"][len(panel.notes) :])  # what only the readings show, after those of the source
    return replace(made, about={**made.about, "asked": options.asked()})


def main(options: ProfileOptions, *, shown: Display = IN_SHORT) -> None:
    """Readings to a profile: the compact file that every later command works from."""
    if options.output is None and not options.dry_run:
        raise OptionError("say where the profile goes: -o NAME.profile (or --dry-run to look at the source only)")
    with counting("reading", "readings") as advance:
        made = profile(replace(options, advance=advance, tell=note))
    shown.show(described(made, options.output))
