"""The users of each sample: random subsets of several sizes, the same for all settings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import IntArray
from halfmask.errors import OptionError, ReadingError
from halfmask.profiles.bins import LARGEST
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import too_large
from halfmask.streams import stream

SMALL = 100
"""Number of users below which subsets of 50 would contain most or all of them."""


@dataclass(frozen=True)
class Subset:
    """Users of one sample: ``rows`` of the profile, drawn without replacement, with ``users`` in total."""

    size: int
    repeat: int
    rows: IntArray
    users: int


def eligible(profile: Profile) -> IntArray:
    """Return the rows that have a usable reading."""
    return np.flatnonzero(profile.rows["readings"] > 0)


def population(profile: Profile) -> int:
    """Return the number of users with a usable reading."""
    return int((profile.rows["members"] - profile.rows["empty"]).sum())


def default_sizes(users: int) -> list[int]:
    """Return 50, 100, ..., 500, 1000, 1500, ..., and the number of all users.

    For fewer than `SMALL` users, return half and all of them, so that subsets differ.
    """
    if users < SMALL:
        return sorted({-(-users // 2), users})
    sizes = [*range(50, 501, 50), *range(1000, users, 500)]
    return [*(size for size in sizes if size < users), users]


def parse_sizes(given: str | Sequence[int | str], users: int) -> list[int]:
    """Return the sizes for ``default``, ``all`` (only the whole population), or a list such as
    ``50,100,all``, as text or list.
    """
    text = given if isinstance(given, str) else ",".join(map(str, given))
    if text == "default":
        return default_sizes(users)
    sizes = []
    for part in text.split(","):
        word = part.strip()
        if word == "all":
            sizes.append(users)
        elif word.isdigit() and 1 <= int(word) <= users:
            sizes.append(int(word))
        elif word.isdigit():
            raise OptionError(
                f"size {word} is not between 1 and the {users} users with a usable reading", kind="size", field="sizes"
            )
        else:
            raise OptionError(
                f"sizes '{text}': '{word}' is not a number of users, default or all", kind="number", field="sizes"
            )
    return sorted(set(sizes))


def check_not_too_large(profile: Profile) -> None:
    """Raise a ReadingError if readings are so large that their powers or sums would overflow."""
    if (why := too_large(profile)) is not None:
        raise ReadingError(
            f"{why}: profile them in a larger unit, or without values beyond {LARGEST:g} on either side",
            kind="too-large",
        )


def draw_subsets(profile: Profile, sizes: Sequence[int], repeats: int, seed: int) -> list[Subset]:
    """Return one subset per size and repeat, each drawn from its own stream, so that adding sizes does not change
    others.

    For a bucketed profile, whole buckets are drawn until they contain ``size`` users.
    """
    if repeats < 1:
        raise OptionError(f"repeats {repeats} is below 1", kind="number", field="repeats")
    check_not_too_large(profile)
    rows = eligible(profile)
    people = (profile.rows["members"] - profile.rows["empty"])[rows]
    if people.sum() < max(sizes, default=0):
        raise OptionError(f"size {max(sizes)} is above the {people.sum()} users with a usable reading")
    subsets = []
    for size in sizes:
        for repeat in range(repeats):
            order = stream(seed, "evaluation.subsets", size, repeat).permutation(len(rows))
            held = np.cumsum(people[order])
            taken = np.sort(order[: np.searchsorted(held, size) + 1])
            subsets.append(Subset(size, repeat, rows[taken], int(people[taken].sum())))
    return subsets
