"""A model of producers: the value of privacy to them, and their choices at given rewards.

For producer n, setting k with personal privacy q_nk and reward r_nk has the value

    V_nk = take + worth_n q_nk + money r_nk + Gumbel noise;  not taking part has 0 + Gumbel noise

so the producer takes k with probability exp(v_nk) / (1 + sum_j exp(v_nj)), v_nk being V_nk without noise (conditional
logit). ``worth`` is normally distributed over producers (mixed logit), with mean ``worth`` and standard deviation
``spread``. A unit of privacy is worth worth / money in money. The model fails if a third setting changes how a producer
compares two others (it assumes independence of irrelevant alternatives).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.plain import from_plain, to_plain

NODES = 15
"""Number of Gauss-Hermite nodes that represent producers with different values of privacy."""

FEWER = 5
"""Number of nodes for each draw of an uncertain model. Fewer suffice, because there are many draws."""

FORMAT, VERSION = "halfmask choice model", 1
PARAMETERS = ("take", "worth", "money", "spread")


@dataclass(frozen=True)
class ChoiceModel:
    """Parameters of the model.

    ``covariance``  covariance of the estimates, in the order of `PARAMETERS`
    """

    take: float
    worth: float
    money: float
    spread: float = 0.0
    covariance: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        if not all(np.isfinite([self.take, self.worth, self.money, self.spread])):
            raise OptionError("the model of producers has a parameter that is not a finite number", kind="finite")
        if self.money <= 0:
            raise OptionError(
                f"under this model more money makes producers less willing (money is {self.money:.3g}): "
                "no schedule can be worked out from it; offer rewards that vary more, then fit again",
                kind="money",
            )
        if self.spread < 0:
            raise OptionError(
                f"the spread of what privacy is worth is {self.spread:.3g}: it must be 0 or above", kind="spread"
            )
        if self.covariance is not None and np.shape(self.covariance) != (len(PARAMETERS), len(PARAMETERS)):
            raise ValueError(f"the covariance of {len(PARAMETERS)} parameters needs as many rows and columns")

    def to_json(self) -> dict[str, Any]:
        """Return the content of the model's file."""
        return {"format": FORMAT, "version": VERSION, **to_plain(self)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "ChoiceModel":
        """Rebuild a model from the result of `to_json`. Raise a ValueError if it is damaged."""
        return from_plain(plain, cls)

    def population(self, privacy: FloatArray, classes: int = NODES) -> "Producers":
        """Return classes of producers with different values of privacy.

        ``privacy``  (K,) privacy of the settings
        ``classes``  number of classes
        """
        if self.spread == 0:
            worth, weight = np.array([self.worth]), np.ones(1)
        else:
            nodes, weight = np.polynomial.hermite_e.hermegauss(classes)
            worth, weight = self.worth + self.spread * nodes, weight / weight.sum()
        return Producers(self.take + worth[:, None] * privacy, np.full(len(worth), self.money), weight)

    def draws(self, privacy: FloatArray, count: int, rng: np.random.Generator) -> "Producers":
        """Return the classes of producers for ``count`` equally likely draws of the parameters around the estimates."""
        if self.covariance is None:
            return self.population(privacy)
        centre = np.array([self.take, self.worth, self.money, self.spread])
        drawn = rng.multivariate_normal(centre, np.array(self.covariance), size=count, method="eigh")
        spread = drawn[:, 3].copy()
        if spread.any():  # a negative spread changes its sign, and the other parameters move with it
            slope = np.array(self.covariance)[:, 3] / max(self.covariance[3][3], 1e-300)
            drawn += np.outer(np.abs(spread) - spread, slope)
        kept = [row for row in drawn if row[2] > 0]
        if len(kept) < 0.9 * count:
            raise OptionError(
                "what money does is too uncertain in this model: offer rewards that vary more, fit again",
                kind="uncertain",
            )
        models = [ChoiceModel(take, worth, money, max(spread, 0.0)) for take, worth, money, spread in kept]
        made = [each.population(privacy, FEWER) for each in models]
        return Producers(
            np.concatenate([each.appeal for each in made]),
            np.concatenate([each.money for each in made]),
            np.concatenate([each.weight for each in made]) / len(made),
        )

    def price_of_privacy(self) -> tuple[float, float, float]:
        """Return the price of a unit of privacy, worth / money, and both ends of its 95 % interval (Fieller's theorem).

        The interval contains every price p for which worth - p money is within 1.96 of its standard errors of 0:

            (worth - p money)^2 <= 1.96^2 (V_ww - 2 p V_wm + p^2 V_mm)

        V are the variances and the covariance of worth and money. If money may be 0, the interval is (-inf, inf).
        Without a covariance it is (nan, nan).
        """
        price = self.worth / self.money
        if self.covariance is None:
            return price, np.nan, np.nan
        (v_ww, v_wm), (_, v_mm) = float(norm.ppf(0.975)) ** 2 * np.array(self.covariance)[1:3, 1:3]
        a, b, c = self.money**2 - v_mm, self.worth * self.money - v_wm, self.worth**2 - v_ww
        if a <= 0:
            return price, -np.inf, np.inf
        reach = np.sqrt(b**2 - a * c)
        return price, float((b - reach) / a), float((b + reach) / a)

    def price_told(self) -> str:
        """Return the price of privacy and its interval as text."""
        price, low, high = self.price_of_privacy()
        if np.isinf(high):
            return f"{price:.4g} (it may be any amount: what money does is too uncertain)"
        return f"{price:.4g} (95 % interval {low:.4g} to {high:.4g})"


@dataclass(frozen=True, eq=False)
class Producers:
    """Classes of producers.

    ``appeal``  (C, K) value of each setting without a reward
    ``money``   (C,) value of a unit of money
    ``weight``  (C,) share of producers in each class
    """

    appeal: FloatArray
    money: FloatArray
    weight: FloatArray

    def choices(self, rewards: FloatArray) -> FloatArray:
        """Return the probability (..., C, K) that a producer of each class takes each setting.

        ``rewards``  (K,), or (..., C, K) if classes get different rewards
        """
        value = self.appeal + self.money[:, None] * rewards
        top = np.maximum(value.max(axis=-1, keepdims=True), 0.0)
        taken = np.exp(value - top)
        return np.asarray(taken / (np.exp(-top) + taken.sum(axis=-1, keepdims=True)))

    def shares(self, rewards: FloatArray) -> FloatArray:
        """Return the share of all producers (K,) that takes each setting; the rest does not take part."""
        return np.asarray(self.weight @ self.choices(rewards))

    def slopes(self, rewards: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the shares (K,), and their derivatives (K, K): row j, column k is that of share j with respect to
        reward k.
        """
        chance = self.choices(rewards)
        moved = (self.weight * self.money)[:, None] * chance
        return np.asarray(self.weight @ chance), np.asarray(np.diag(moved.sum(axis=0)) - chance.T @ moved)

    @property
    def average(self) -> "Producers":
        """A single class with the average appeal and money, used to start searches."""
        return Producers((self.weight @ self.appeal)[None], np.array([self.weight @ self.money]), np.ones(1))
