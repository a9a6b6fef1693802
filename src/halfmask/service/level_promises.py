"""What each level of a campaign promises and pays: the best guesser's odds, epsilon of a day, money of a month.

The guesser knows everything except which of two equally likely values a household's readings have. The values differ by
``change`` in every reading (or in every total) of the window. A coin is right 50 times of 100.

The figures are those of the noise that devices draw on the campaign's lattice, composed over all reports of the window.
"""

import math
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from halfmask.errors import HalfmaskError
from halfmask.service.campaign import Campaign
from halfmask.service.request import Call
from halfmask.service.storage.tables import Plain
from halfmask_device.level_epsilon import CampaignLevel, month_reward
from halfmask_device.privacy_budget import ROLLING
from halfmask_device.protocol import CampaignTerms
from halfmask_device.setting import SPLIT

if TYPE_CHECKING:
    from halfmask.protection.guarantees.composition import LossDistribution

DELTA = 1e-6
HIDES = 5.0
"""Largest epsilon of a whole day at `DELTA` with which a level is said to hide the day."""
MOST_COMPOSED = 10**5
"""Most reports that are composed exactly."""
SHARES = (1, 2, 4, 8)
"""A change that is not the worst for its law is replaced by the worst of it and these parts of it."""
_computing = threading.Lock()


@dataclass(frozen=True)
class Odds:
    """A guesser's chance to be right, and epsilon at `DELTA`; None if no finite one holds."""

    chance: float
    epsilon: float | None


OPEN = Odds(1.0, None)


@lru_cache(maxsize=256)
def _loss(setting: str, change: float, step: float) -> "LossDistribution | None":
    """Return the loss of one report for this change; None if nothing is promised."""
    from halfmask.mechanisms.setting import PrivacySetting  # a service starts without numpy
    from halfmask.protection.guarantees.composition import loss_distribution
    from halfmask.protection.guarantees.lattice_noise import lattice_loss_cells, lattice_steps

    noise = PrivacySetting.parse(setting).noise
    steps = lattice_steps(change, step)
    pure = noise.pure_epsilon(steps * step)
    apart = {steps} if noise.law.falling else {max(1, steps // share) for share in SHARES}
    found = [lattice_loss_cells(noise, step, each, math.inf if pure is None else pure) for each in sorted(apart)]
    known = [each for each in found if each is not None]
    return loss_distribution(known, math.inf if pure is None else pure) if len(known) == len(found) else None


@lru_cache(maxsize=1024)
def odds_of(setting: str, change: float, step: float, reports: int) -> Odds:
    """Return what is learned from this number of reports, each about a value that may differ by ``change``."""
    if reports > MOST_COMPOSED:
        return OPEN
    with _computing:
        try:
            loss = _loss(setting, change, step)
        except HalfmaskError:  # a law without a known privacy loss promises nothing
            loss = None
        if loss is None:
            return OPEN
        together = loss.composed(reports)
        epsilon = together.epsilon_at(DELTA)
        return Odds((1 + together.delta(0.0)) / 2, epsilon if math.isfinite(epsilon) else None)


def show_levels(call: Call) -> Plain:
    """Return what each level of the campaign promises and pays."""
    return levels_of(call.campaign())


def levels_of(campaign: Campaign) -> Plain:
    """Return promise and pay by level, from the most open to the most private.

    ``change``   by how much the two values differ; the offer states it, otherwise it is the whole range
    ``reports``  reports of a day and of a month; None if nothing says how many readings a day has
    """
    terms = CampaignTerms.read(campaign.terms)
    low, high = (float(campaign.terms["lattice"][end]) for end in ("low", "high"))
    question = campaign.terms["menu"].get("question")
    stated = question.get("change") if isinstance(question, dict) else None
    change = float(stated) if isinstance(stated, (int, float)) and 0 < stated <= high - low else high - low
    entries = [_level(campaign, terms, each, change, high - low) for each in campaign.terms["menu"]["settings"]]
    return {"change": change, "range": high - low, "delta": DELTA, "levels": sorted(entries, key=_place)}


def _place(entry: Plain) -> tuple[bool, float]:
    return entry["against"] == "one_service", entry["noise_std"]


def _level(campaign: Campaign, terms: CampaignTerms, entry: dict[str, Any], change: float, most: float) -> Plain:
    """Return promise and pay of one level. It is said to hide a day only if it hides any change within the range."""
    id = entry["id"]
    level, noise = CampaignLevel.of(terms, id), campaign.noises[id]
    counts = {"one": 1, "day": level.reports("day", None), "month": level.reports(ROLLING, None)}
    found = {name: _odds(entry["setting"], change, campaign, count) for name, count in counts.items()}
    day = _odds(entry["setting"], most, campaign, counts["day"])
    reward = int(campaign.terms["rewards"].get(id, 0))
    return {
        "id": id,
        "name": str(entry.get("name", "")),
        "setting": entry["setting"],
        "noise_std": math.sqrt(noise.variance) * float(campaign.lattice.unit),
        "against": "one_service" if level.release == SPLIT else "everyone" if noise.variance else "nobody",
        "reports": counts,
        "odds": {name: each and each.chance for name, each in found.items()},
        "epsilon": {name: each and each.epsilon for name, each in found.items()},
        "hides_day": bool(day and day.epsilon is not None and day.epsilon <= HIDES),
        "reward": reward,
        "month_reward": month_reward(terms, id) if reward else 0,
    }


def _odds(setting: str, change: float, campaign: Campaign, count: int | None) -> Odds | None:
    return None if count is None else odds_of(setting, change, float(campaign.lattice.unit), count)
