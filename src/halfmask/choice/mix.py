"""Mixes: privacy and utility of the whole system if users take different settings.

In every repeat, users are divided at random into 1 / step equal groups. A mix gives each setting a whole number of
groups, in proportion to its share. All mixes of a repeat use the same groups and the same noise, so that they can be
compared.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import GLOBAL_MEAN
from halfmask.evaluation.sampling import eligible
from halfmask.evaluation.scores import privacy, utility
from halfmask.files import about_table, read_table, whole_file
from halfmask.menus.menu import Menu
from halfmask.profiles.profile import Profile
from halfmask.results import Result
from halfmask.streams import stream

FORMAT = "halfmask mix"
VERSION = 2
MOST_ROWS = 5_000_000
DEFAULT_STEP = 0.125
SCORES = ("privacy", "utility")


@dataclass(frozen=True, eq=False)
class Mix(Result):
    """Scores of mixes, with one row per mix and repeat.

    The columns are a share for each menu id, ``repeat``, ``privacy``, ``utility``, ``error`` (mean error of a period's
    total), ``dominant`` (the id with strictly the largest share, else null) and ``dominant_share`` (or null).
    """

    table: pa.Table
    about: dict[str, Any]

    @property
    def ids(self) -> list[str]:
        """The menu's ids, which are the names of the columns of shares."""
        return list(self.about["ids"])

    @property
    def experiment(self) -> Experiment:
        """The experiment of the mix: settings, users and method."""
        return Experiment.of(self.about)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mix):
            return False
        about = [about_table(FORMAT, VERSION, each.about) for each in (self, other)]
        return self.table.equals(other.table) and about[0] == about[1]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Mix of {len(self.ids)} settings ({', '.join(self.ids)}), {self.table.num_rows:,} rows>"

    def to_arrow(self) -> pa.Table:
        """Return the table with one row per mix and repeat."""
        return self.table

    @classmethod
    def read(cls, path: str | Path) -> "Mix":
        """Read mixes from a file."""
        return Mix(*read_table(path, FORMAT, VERSION, "halfmask mix"))

    def write(self, path: str | Path) -> None:
        """Write the mixes to a Parquet file; equal mixes give equal bytes."""
        table = self.table.replace_schema_metadata(about_table(FORMAT, VERSION, self.about))
        with whole_file(path) as temporary:
            pq.write_table(table, temporary, compression="zstd")


def mix(
    profile: Profile,
    menu: Menu,
    *,
    step: float = DEFAULT_STEP,
    repeats: int = 10,
    seed: int = 7,
    shares: Mapping[str, float] | None = None,
    other_data: bool = False,
    advance: Callable[[int, int], None] | None = None,
) -> Mix:
    """Return privacy and utility of all mixes of the menu's settings, or of one mix.

    ``step``        difference between neighbouring shares
    ``repeats``     number of random divisions of users into groups
    ``shares``      the shares of one mix, by id; None for all mixes
    ``other_data``  accept a menu that was made from another profile
    ``advance``     progress callback ``(done, all)``, called once per repeat
    """
    from halfmask.choice.mixed_groups import build_groups  # here, because numba takes long to import

    profile = menu.masked_profile(profile, other_data=other_data)
    if repeats < 1:
        raise OptionError(f"repeats {repeats} is below 1", kind="repeats")
    people = eligible(profile)
    plan = _all_mixes(step, menu, repeats, len(people)) if shares is None else _one_mix(shares, menu, len(people))
    streams = [stream(seed, "choice.assignment", repeat) for repeat in range(repeats)]
    systems = build_groups(
        profile,
        [each.setting for each in menu.settings],
        [_deal(people, plan.cuts, rng) for rng in streams],
        aggregate=menu.provenance.get("aggregate", "sum"),
        error=menu.provenance.get("error", "relative"),
        seed=seed,
    )
    scores = np.empty((repeats, len(plan.shares), 3))
    for repeat, (system, rng) in enumerate(zip(systems, streams, strict=True)):
        metrics = system.metrics(plan.choice(rng))
        scores[repeat, :, 0] = privacy(metrics, menu.largest, menu.weights)
        scores[repeat, :, 1] = utility(metrics, menu.largest, menu.weights)
        scores[repeat, :, 2] = metrics[:, GLOBAL_MEAN]
        if advance:
            advance(repeat + 1, repeats)
    about = _about(menu, profile, seed=seed, repeats=repeats, step=step if shares is None else None)
    return Mix(_table(menu, plan.shares, scores), about)


def _deal(people: IntArray, cuts: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Divide users at random into groups."""
    dealt = rng.permutation(people)
    return [np.sort(dealt[low:high]) for low, high in pairwise(cuts)]


@dataclass(frozen=True, eq=False)
class _Plan:
    """The mixes to evaluate.

    ``shares``  (mixes, settings) share of users
    ``cuts``    positions at which the shuffled users are divided into groups
    ``held``    (mixes, settings) number of equal groups of each setting; None for a single mix, which has one group for
                each setting with a share
    """

    shares: FloatArray
    cuts: IntArray
    held: IntArray | None

    def choice(self, rng: np.random.Generator) -> IntArray:
        """Return the setting of each group in each mix. Every mix orders its settings at random."""
        if self.held is None:
            return np.flatnonzero(self.shares[0])[None]
        order = np.argsort(rng.random(self.held.shape), axis=1)
        return np.array([np.repeat(row, counts[row]) for row, counts in zip(order, self.held, strict=True)])


def _all_mixes(step: float, menu: Menu, repeats: int, people: int) -> _Plan:
    groups = round(1 / step) if 0 < step <= 1 else 0
    if not groups or abs(groups * step - 1) > 1e-9:
        raise OptionError(f"`step` {step} does not divide 1 into equal shares: take 0.5, 0.25, 0.2, 0.125, 0.1 ...")
    if people < groups:
        raise OptionError(f"{people} users cannot be dealt into {groups} equal shares: take a larger `step`")
    held = compositions(groups, len(menu.ids), repeats)
    return _Plan(held / groups, np.arange(groups + 1) * people // groups, held)


def _one_mix(shares: Mapping[str, float], menu: Menu, people: int) -> _Plan:
    for name in shares:
        menu[name]
    values = np.array([float(shares.get(name, 0.0)) for name in menu.ids])
    if not (values >= 0).all() or not abs(values.sum() - 1) <= 1e-6:
        raise OptionError(
            f"the shares {dict(shares)} are not numbers from 0 that add up to 1 but to {values.sum():g}", kind="shares"
        )
    taken = values > 0
    cuts = np.round(np.cumsum(np.concatenate([[0.0], values[taken] / values.sum()])) * people).astype(np.int64)
    if (np.diff(cuts) == 0).any():
        raise OptionError(
            f"the shares {dict(shares)} leave a setting without a user of {people}: leave it out", kind="few"
        )
    return _Plan(values[None] / values.sum(), cuts, None)


def compositions(parts: int, settings: int, repeats: int = 1) -> IntArray:
    """Return all ways to distribute equal groups over settings, one per row."""
    count = math.comb(parts + settings - 1, settings - 1)
    if count * repeats > MOST_ROWS:
        raise OptionError(
            f"{count:,} mixes in steps of 1/{parts} x {repeats} repeats are too many: take a larger `step`"
        )
    bars = np.array(list(combinations(range(parts + settings - 1), settings - 1)), np.int64).reshape(count, -1)
    edges = np.column_stack([np.full(count, -1), bars, np.full(count, parts + settings - 1)])
    return (np.diff(edges, axis=1) - 1)[::-1]


def parse_shares(text: str, option: str = "shares") -> dict[str, float]:
    """Parse ``A=0.3,B=0.2,N=0.5`` into a dictionary."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = (word.strip() for word in part.partition("="))
        try:
            value = float(number)
        except ValueError as error:
            raise OptionError(f"`{option}` '{part.strip()}' is not ID=NUMBER: write A=0.3,B=0.2,N=0.5") from error
        if not equals or name in shares:
            raise OptionError(f"`{option}` names '{name}' twice or without '=': write A=0.3,B=0.2,N=0.5")
        shares[name] = value
    return shares


def _table(menu: Menu, shares: FloatArray, scores: FloatArray) -> pa.Table:
    """Return the table, with rows ordered by mix, then repeat.

    ``scores``  (repeats, mixes, 3)
    """
    repeats, histograms, _ = scores.shape
    ordered = np.sort(shares, axis=1)
    strictly = ordered[:, -1] > ordered[:, -2] if shares.shape[1] > 1 else np.ones(histograms, bool)
    names = np.array(menu.ids, dtype=object)[shares.argmax(axis=1)]
    columns: dict[str, pa.Array] = {
        name: pa.array(np.repeat(shares[:, number], repeats)) for number, name in enumerate(menu.ids)
    }
    columns["repeat"] = pa.array(np.tile(np.arange(repeats), histograms))
    columns["privacy"] = pa.array(scores[..., 0].T.ravel())
    columns["utility"] = pa.array(scores[..., 1].T.ravel())
    columns["error"] = pa.array(scores[..., 2].T.ravel())
    columns["dominant"] = pa.array(np.repeat(names, repeats), pa.string(), mask=np.repeat(~strictly, repeats))
    columns["dominant_share"] = pa.array(np.repeat(ordered[:, -1], repeats), mask=np.repeat(~strictly, repeats))
    return pa.table(columns)


def _about(menu: Menu, profile: Profile, **asked: Any) -> dict[str, Any]:
    return {
        **asked,
        "ids": list(menu.ids),
        "menu": {each.id: str(each.setting) for each in menu.settings},
        "utility": {each.id: each.utility.median for each in menu.settings},
        "fingerprint": profile.fingerprint(),
        "menu_fingerprint": menu.provenance.get("fingerprint"),
        "aggregate": menu.provenance.get("aggregate", "sum"),
        "error": menu.provenance.get("error", "relative"),
        "period": profile.period.text,
        "users": len(eligible(profile)),
    }


@dataclass(frozen=True)
class Blend:
    """One mix over all its repeats: shares by id, median privacy, and lowest and median utility."""

    shares: dict[str, float]
    privacy: float
    lowest_utility: float
    utility: float


@dataclass(frozen=True)
class Keeping:
    """The mixes whose utility stays above ``bar``, most private first.

    ``of``       number of all mixes
    ``closest``  the mix whose lowest utility is highest
    """

    bar: float
    blends: tuple[Blend, ...]
    of: int
    closest: Blend

    @property
    def best(self) -> Blend | None:
        """The mix with the highest median privacy whose utility stays above the bar; None if there is none."""
        return self.blends[0] if self.blends else None


@dataclass(frozen=True)
class Dominated:
    """The mixes in which setting ``id`` has a ``share`` that is strictly the largest.

    ``rows``                  number of these mixes, counting repeats
    ``privacy``, ``utility``  lower quartile, median and upper quartile
    """

    id: str
    share: float
    rows: int
    privacy: tuple[float, float, float]
    utility: tuple[float, float, float]


def by_dominant(made: Mix) -> list[Dominated]:
    """Group mixes by dominant setting and its share. The largest share of each setting comes first."""
    names = np.array(made.table["dominant"].to_pylist(), object)
    shares = np.round(made.table["dominant_share"].to_numpy(zero_copy_only=False).astype(float), 9)
    held = sorted({(name, -share) for name, share in zip(names, shares.tolist(), strict=True) if name is not None})
    found = []
    for name, share in held:
        rows = (names == name) & (shares == -share)
        q, u = (np.percentile(made.table[score].to_numpy()[rows], (25, 50, 75)).tolist() for score in SCORES)
        found.append(Dominated(name, -share, int(rows.sum()), tuple(q), tuple(u)))
    return found


def keeping(made: Mix, bar: float) -> Keeping:
    """Return the mixes whose utility is above ``bar`` in every repeat, by falling median privacy."""
    blends = sorted(_blends(made), key=lambda blend: -blend.privacy)
    kept = tuple(blend for blend in blends if blend.lowest_utility > bar)
    return Keeping(bar, kept, len(blends), max(blends, key=lambda blend: blend.lowest_utility))


def _blends(made: Mix) -> Iterator[Blend]:
    repeats = int(made.about["repeats"])
    scores = [made.table.column(name).to_numpy().reshape(-1, repeats) for name in SCORES]
    shares = np.stack([made.table.column(name).to_numpy()[::repeats] for name in made.ids], axis=1)
    middle, lowest, typical = np.median(scores[0], axis=1), scores[1].min(axis=1), np.median(scores[1], axis=1)
    for row, q, low, u in zip(shares, middle, lowest, typical, strict=True):
        yield Blend(dict(zip(made.ids, row.tolist(), strict=True)), float(q), float(low), float(u))
