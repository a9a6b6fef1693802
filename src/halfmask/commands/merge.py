"""``halfmask merge``: profiles that were made apart, added up."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from cyclopts import Parameter

from halfmask.commands._options import AnyProfile, Options, Output, Teller, command, held
from halfmask.commands._output import note, print_table_of

if TYPE_CHECKING:
    from halfmask.profiles.profile import Profile

GROUP = "Measure"


@Parameter(name="*")
@dataclass(frozen=True)
class MergeOptions(Options):
    """Options of `merge`.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    other
        Another, of other readings: a later day, or another region.
    output
        The profile to write; it may be one of the two.
    tell
        Hears what may have been added twice.
    """

    rewritten: ClassVar[tuple[str, ...]] = ("profile", "other")

    profile: AnyProfile
    other: AnyProfile
    _: KW_ONLY
    output: Output = None
    tell: Teller = None


@command(MergeOptions)
def merge(options: MergeOptions) -> "Profile":
    """Two profiles of different readings as one, as if all had been profiled at once, without reading them again."""
    from halfmask.profiles.profile import Profile

    one, other = held(Profile, options.profile), held(Profile, options.other)
    twice = _twice(one, other)
    if twice and options.tell:
        options.tell(twice)
    made = one.merge(other)
    if options.output is not None:
        made.write(options.output)
    return made


def _twice(one: "Profile", other: "Profile") -> str | None:
    """What to say where both have readings of one user, or bucket, in one period: they may be the same readings."""
    import numpy as np

    _, *rows = np.intersect1d(one.labels, other.labels, return_indices=True)
    _, *columns = np.intersect1d(one.periods, other.periods, return_indices=True)
    held = [side.cells[np.ix_(*places)][..., 0] > 0 for side, *places in zip((one, other), rows, columns, strict=True)]
    both = held[0] & held[1]
    if not both.any():
        return None
    who = f"{int(both.any(axis=1).sum()):,} {'buckets' if one.buckets else 'users'}"
    return (
        f"both profiles have readings of {who} in {int(both.any(axis=0).sum()):,} periods: they are added up, so the "
        "same readings would count twice"
    )


def main(options: MergeOptions) -> None:
    """Two profiles of different readings as one, without reading the readings again."""
    print_table_of(merge(replace(options, tell=note)))
    note(f"wrote {options.output}")
