"""``halfmask merge``: add profiles of different readings."""

from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from halfmask.commands._options import AnyProfile, command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import IN_SHORT, Display, Tells, Writes, profile_of
from halfmask.commands.show import described

if TYPE_CHECKING:
    from halfmask.profiles.profile import Profile


class MergeOptions(Writes, Tells):
    """Options of `merge`.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    other
        Another, of other readings: a later day, or another region.
    output
        The profile to write; it may be one of the two.
    """

    rewritten: ClassVar[tuple[str, ...]] = ("profile", "other")

    profile: AnyProfile = field(kw_only=False)
    other: AnyProfile = field(kw_only=False)


@command(MergeOptions, group="Measure")
def merge(options: MergeOptions) -> "Profile":
    """Add two profiles of different readings, without reading these again: as if all had been profiled at once."""

    one, other = profile_of(options.profile), profile_of(options.other)
    options.say(_twice(one, other))
    return one.merge(other)


def _twice(one: "Profile", other: "Profile") -> list[str]:
    """Return a note if both have readings of one user or bucket in one period: they may be the same readings."""
    import numpy as np

    _, *rows = np.intersect1d(one.labels, other.labels, return_indices=True)
    _, *columns = np.intersect1d(one.periods, other.periods, return_indices=True)
    held = [side.cells[np.ix_(*places)][..., 0] > 0 for side, *places in zip((one, other), rows, columns, strict=True)]
    both = held[0] & held[1]
    if not both.any():
        return []
    who = f"{int(both.any(axis=1).sum()):,} {'buckets' if one.buckets else 'users'}"
    periods = int(both.any(axis=0).sum())
    return [f"both profiles have readings of {who} in {periods:,} periods: if these are the same, they count twice"]


def main(options: MergeOptions, *, shown: Display = IN_SHORT) -> None:
    """Add two profiles of different readings, without reading these again."""
    shown.show(described(merge(replace(options, tell=note)), options.output))
