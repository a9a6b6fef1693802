"""Which users a sample is made of: random subsets of growing size, the same for every setting."""

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
"""Users below which subsets of 50 hold most of them, or all."""


@dataclass(frozen=True)
class Subset:
    """Users of one sample: ``rows`` of the profile, drawn without replacement; ``users`` is how many they are."""

    size: int
    repeat: int
    rows: IntArray
    users: int


def eligible(profile: Profile) -> IntArray:
    """The rows that have a usable reading."""
    return np.flatnonzero(profile.rows["readings"] > 0)


def population(profile: Profile) -> int:
    """How many users have a usable reading."""
    return int((profile.rows["members"] - profile.rows["empty"]).sum())


def default_sizes(users: int) -> list[int]:
    """50, 100, ..., 500, 1000, 1500, ..., up to and including all users; half and all of fewer than `SMALL`, so that
    subsets differ.
    """
    if users < SMALL:
        return sorted({-(-users // 2), users})
    sizes = [*range(50, 501, 50), *range(1000, users, 500)]
    return [*(size for size in sizes if size < users), users]


def parse_sizes(given: str | Sequence[int | str], users: int) -> list[int]:
    """``default``, ``all`` (the whole population alone) or a list such as ``50,100,all``, as text or as a list."""
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
            raise OptionError(f"size {word} is not between 1 and the {users} users with a usable reading")
        else:
            raise OptionError(f"sizes '{text}': '{word}' is not a number of users, default or all")
    return sorted(set(sizes))


def draw_subsets(profile: Profile, sizes: Sequence[int], repeats: int, seed: int) -> list[Subset]:
    """One subset for each size and repeat, each drawn from its own stream: sizes can come and go without
    changing the others. Of a bucketed profile, whole buckets are drawn until they hold ``size`` users.
    """
    if repeats < 1:
        raise OptionError(f"repeats {repeats} is below 1")
    if (why := too_large(profile)) is not None:
        raise ReadingError(
            f"{why}: profile them in a larger `unit`, or drop such values, `low={-LARGEST:g}` with `high={LARGEST:g}`"
        )
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
