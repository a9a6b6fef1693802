"""Grids of privacy settings. They are stored as arrays, because a million objects would take too much memory.

The named grids and their numbers of settings:

laplace   b = 0.001, 0.002, ..., 10                                            10,000

sine      all combinations of {0, 0.3, ..., 1.8} for 5 coefficients,
          except all zero: 7^5 - 1                                             16,806
          one coefficient of 0.03, ..., 0.27, the others 0: 5 * 9                  45
          two coefficients of 0.03, ..., 0.27, the others 0: 10 * 9 * 9           810
                                                                               17,661

paper     laplace and sine                                                     27,661

auto      paper, scaled to the data and extended upwards (`halfmask.evaluation.auto`)

full      laplace, and {0, 0.03, ..., 0.3, 0.6, ..., 1.8}^5 except all zero:
          16^5 - 1 = 1,048,575                                              1,058,575
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.grid_language import parse_block
from halfmask.mechanisms.mechanism_registry import mechanism, mechanisms
from halfmask.mechanisms.setting import PrivacySetting, release_of
from halfmask_device.decimals import number_text
from halfmask_device.setting import READING, SPLIT, split_release, suffix

PAPER = ("laplace", "sine")
"""The mechanisms of the paper."""
WELL_KNOWN = (*PAPER, "gaussian")
"""Mechanisms with which others are compared."""
TYPICAL = (4225 * 0.497 + 485 * 2.09 + 1735 * 0.747) / (4225 + 485 + 1735)
"""Mean |s| of the paper's data, 0.684 file units: the mean of the published means of residential, small business and
other meters, weighted by their numbers. The values of the paper's grids suit this scale."""
AUTO = "auto"
DIGITS = 6
REFERENCE = "laplace"
"""A mechanism with a guarantee, used for comparison with mechanisms without one."""


@dataclass(frozen=True, eq=False)
class Block:
    """Settings of one mechanism with the same number of parameters, inner setting and release.

    ``parameters``  one row per setting
    ``inner``       for ``clip``: the setting that masks the clipped value
    """

    mechanism: str
    parameters: FloatArray  # (S, P)
    inner: PrivacySetting | None = None
    release: str = READING

    def __len__(self) -> int:
        return len(self.parameters)

    def settings(self) -> Iterator[PrivacySetting]:
        """Yield the settings one by one, in order."""
        for row in self.parameters:
            yield PrivacySetting(self.mechanism, tuple(row.tolist()), self.inner, self.release)

    def texts(self) -> list[str]:
        """Return the text of each setting. Each distinct number is formatted once, for speed."""
        ending = ("" if self.inner is None else f"/{self.inner}") + suffix(self.release)
        if self.parameters.shape[1] == 0:
            return [self.mechanism + ending] * len(self)
        distinct, place = np.unique(self.parameters, return_inverse=True)
        words = np.array([number_text(value) for value in distinct.tolist()], dtype=object)
        rows = words[place.reshape(self.parameters.shape)].tolist()
        return [f"{self.mechanism}:{','.join(row)}{ending}" for row in rows]


@dataclass(frozen=True, eq=False)
class Grid:
    """Distinct settings in blocks. ``name`` is the text that describes the grid."""

    blocks: tuple[Block, ...]
    name: str
    scale: float = 1.0
    """The noise of an ``auto`` grid divided by that of the paper's grid."""

    def __post_init__(self) -> None:
        release_of(next(block.settings()) for block in self.blocks)
        if any(block.release == SPLIT for block in self.blocks):
            raise SettingError(
                "nobody sees a masked value of a split setting, so a study cannot score it: evaluate @total, and add "
                "a split level to the offer",
                kind="release",
            )

    @property
    def release(self) -> str:
        """The release of all settings: each reading, or the total of a period."""
        return self.blocks[0].release

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def settings(self) -> Iterator[PrivacySetting]:
        """Yield the settings one by one, block after block."""
        for block in self.blocks:
            yield from block.settings()

    def texts(self) -> list[str]:
        """Return the text of each setting, block after block."""
        return [text for block in self.blocks for text in block.texts()]

    @classmethod
    def from_settings(cls, settings: Iterable[PrivacySetting], name: str = "settings") -> "Grid":
        """Make a grid from settings: remove duplicates, and group them into blocks."""
        distinct = dict.fromkeys(settings)
        if not distinct:
            raise SettingError(
                "a grid needs at least one setting, none given: write one like laplace:0.5", kind="empty"
            )
        ones = [Block(each.mechanism, np.array([each.parameters]), each.inner, each.release) for each in distinct]
        return cls(joined(ones), name)


def grid(text: str, auto: Grid | None = None) -> Grid:
    """Parse the text of a grid: parts joined by ``;``, each a named grid, a setting, or ranges of parameters.

    Examples of parts: ``paper``, ``laplace:0.5``, ``laplace:b=0.001..10/0.001``, ``gaussian:sigma=0.1|0.2``,
    ``sine:k=5,values=0|0.3``. Each may end in ``@total``. Duplicate settings are kept once, at their first position.

    ``auto``  the grid for the part ``auto``, which depends on data
    """
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if not parts:
        raise SettingError(f"the grid {text!r} is empty; named grids are {AUTO}, {', '.join(NAMED)}", kind="empty")
    blocks = [block for part in parts for block in _blocks(part, auto)]
    return Grid(joined(blocks), ";".join(parts), 1.0 if auto is None else auto.scale)


def asks_for_auto(text: str) -> bool:
    """Return whether a part of the text is ``auto``."""
    return any(split_release(part)[0] == AUTO for part in text.split(";"))


def asked_release(text: str) -> str:
    """Return the release of the first part of a grid's text. `grid` checks that all parts have the same."""
    return split_release(text.partition(";")[0])[1]


def _blocks(text: str, auto: Grid | None) -> tuple[Block, ...]:
    part, release = split_release(text)
    return tuple(replace(block, release=release) for block in _blocks_of_law(part, auto))


def _blocks_of_law(part: str, auto: Grid | None) -> tuple[Block, ...]:
    if part == AUTO and auto is not None:
        return auto.blocks
    if part == AUTO:
        raise SettingError(
            "the grid auto is scaled to data, and there is none here: name another, such as paper", kind="auto"
        )
    if part in NAMED:
        return grid(NAMED[part]).blocks
    if "=" in part:
        return (Block(*parse_block(part)),)
    name = part.partition(":")[0].strip()
    if name not in mechanisms():
        known = f"named grids are {AUTO}, {', '.join(NAMED)}; mechanisms are {', '.join(mechanisms())}"
        raise SettingError(f"unknown grid or mechanism {name[:40]!r}; {known}", kind="unknown")
    return Grid.from_settings([PrivacySetting.parse(part)]).blocks


def joined(blocks: list[Block]) -> tuple[Block, ...]:
    """Merge blocks that have the same mechanism, number of parameters, inner setting and release. Remove duplicates."""
    groups: dict[tuple[str, int, PrivacySetting | None, str], list[FloatArray]] = {}
    for each in blocks:
        key = (each.mechanism, each.parameters.shape[1], each.inner, each.release)
        groups.setdefault(key, []).append(each.parameters)
    return tuple(Block(of, _distinct(rows), inner, release) for (of, _, inner, release), rows in groups.items())


def _distinct(arrays: list[FloatArray]) -> FloatArray:
    """Return the distinct rows of all arrays, in order of first occurrence. A single array must be distinct already."""
    if len(arrays) == 1:
        return arrays[0]
    rows = np.concatenate(arrays)
    if rows.shape[1] == 0:
        return rows[:1]
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)]


_COARSE, _FINE = "0..1.8/0.3", "0.03..0.27/0.03"
_LAPLACE = "laplace:b=0.001..10/0.001"
_SINE = ";".join(
    [f"sine:k=5,values={_COARSE}"]
    + [
        "sine:" + ",".join(f"theta_{k}={_FINE if k in fine else 0}" for k in range(5))
        for count in (1, 2)
        for fine in combinations(range(5), count)
    ]
)
NAMED = {
    "paper": f"{_LAPLACE};{_SINE}",
    "full": f"{_LAPLACE};sine:k=5,values=0|0.03|0.06|0.09|0.12|0.15|0.18|0.21|0.24|0.27|0.3|0.6|0.9|1.2|1.5|1.8",
    "laplace": _LAPLACE,
    "sine": _SINE,
}
"""The named grids, in the grid language."""


def scaled(block: Block, factor: float) -> Block:
    """Multiply the noise of a block's settings by ``factor``, and round parameters to `DIGITS` digits.

    This converts settings to readings in another unit. Relative noise is the same in any unit.
    """
    law = mechanism(block.mechanism)
    grown = block.parameters if law.kind == "relative" else law.surely_grown(block.parameters, factor)
    return replace(block, parameters=to_digits(grown))


def to_digits(values: FloatArray) -> FloatArray:
    """Round values to `DIGITS` significant digits, so that their texts are short."""
    distinct, place = np.unique(values, return_inverse=True)
    short = np.array([float(f"{value:.{DIGITS}g}") for value in distinct.tolist()])
    return np.asarray(short[place].reshape(values.shape))


def read_settings(path: str | Path) -> list[PrivacySetting]:
    """Read settings from a text file, one per line. Comments begin with ``#``; empty lines are skipped."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SettingError(
            f"cannot read the settings file {path}: {reason}", kind="unreadable", place=str(path)
        ) from error
    settings = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if text:
            try:
                settings.append(PrivacySetting.parse(text))
            except SettingError as error:
                place = f"{path}, line {number}"
                kind = error.code.partition(".")[2]
                raise SettingError(f"{place}: {error}", kind=kind, place=place) from error
    if not settings:
        raise SettingError(
            f"{path} holds no setting: write one a line, like laplace:0.5", kind="empty", place=str(path)
        )
    return settings
