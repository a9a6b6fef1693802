"""Any setting on a menu's scale: its paper scores by the menu's own samples, seed and normalisers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.sampling import Subset, draw_subsets
from halfmask.evaluation.scores import Constraint, passing, privacy, utility
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, Score
from halfmask.profiles.profile import Profile

OUTSIDE = "outside the study's range"
ROUNDING = 1e-9


def beyond(scores: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which scores leave 0 to 1: errors exceed the study's largest, and no more can be said of them."""
    values = np.asarray(scores, float)
    return np.asarray((values < -ROUNDING) | (values > 1 + ROUNDING))


def outside(scores: npt.ArrayLike) -> bool:
    """Whether any of them does."""
    return bool(beyond(scores).any())


def score_words(score: float, *, known: bool = False) -> str:
    """A score for a table, from 0 to 1; that it is outside of the study's range where it is, or is ``known`` to be."""
    return OUTSIDE if known or outside(score) else f"{min(max(score, 0.0), 1.0):.2f}"


@dataclass(frozen=True)
class Placed:
    """Scores of one setting; ``outside`` where its errors exceed the study's largest, and scores would leave 0 to 1.

    ``passes`` tells whether it keeps the menu's constraint on the global error.
    """

    privacy: Score
    utility: Score
    outside: bool
    passes: bool

    @property
    def objective(self) -> float:
        """perc(U, 50) + perc(U, 10)."""
        return self.utility.median + self.utility.p10

    def words(self) -> list[str]:
        """Privacy and utility for a table."""
        return [score_words(each.median, known=self.outside) for each in (self.privacy, self.utility)]


def samples_of(menu: Menu, profile: Profile) -> list[Subset]:
    """The subsets of users that the menu's study was made on."""
    made = menu.provenance
    try:
        return draw_subsets(profile, made["sizes"], made["repeats"], made["seed"])
    except KeyError as error:
        raise OptionError(f"the menu does not say which samples it was made on (no {error}): optimize again") from error


def place(
    settings: Sequence[PrivacySetting], profile: Profile, menu: Menu, largest: FloatArray | None = None
) -> dict[PrivacySetting, Placed]:
    """Scores of settings with a noise law; those without one are left out.

    ``largest`` are other normalisers than the menu's, for a scale that several menus share.
    """
    from halfmask.evaluation.analytic.run import evaluate_analytic  # here, because numba takes long to import

    laws = [each for each in settings if each.kind != "direct" and each.inner is None]
    if not laws:
        return {}
    grid, made = Grid.from_settings(laws), menu.provenance
    metrics = evaluate_analytic(
        profile, grid, samples_of(menu, profile), aggregate=str(made.get("aggregate", "sum")),
        error=made.get("error", "relative"), seed=int(made["seed"]),
    )  # fmt: skip
    scale = menu.largest if largest is None else largest
    limits = {name: menu.constraints[name] for name in ("max_mean", "max_std") if name in menu.constraints}
    passes = passing(metrics, Constraint(**limits))
    q, u = privacy(metrics, scale, menu.weights), utility(metrics, scale, menu.weights)
    return {setting: _placed(q[row], u[row], bool(passes[row])) for row, setting in enumerate(grid.settings())}


def _placed(q: FloatArray, u: FloatArray, passes: bool) -> Placed:
    found = [np.percentile(each, (50, 10)) for each in (q, u)]
    of_privacy, of_utility = (Score(*(float(value) for value in np.clip(each, 0, 1))) for each in found)
    return Placed(of_privacy, of_utility, outside(found), passes)
