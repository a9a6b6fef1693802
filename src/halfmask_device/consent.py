"""What the owner of a device must agree to before it joins a campaign or takes another level, and the budget then kept.

A second campaign on the same readings is one more observation of them, so it needs consent each time. The budget is set
by the first level joined: epsilon of its reports of 30 days.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from halfmask_device.decimals import number_text, upwards
from halfmask_device.errors import OptionError
from halfmask_device.level_epsilon import CampaignLevel, planned_reports
from halfmask_device.privacy_budget import ROLLING, Budget, Window, is_open, trust_of
from halfmask_device.protocol import CampaignTerms

LEAST_PRODUCERS = 20


@dataclass(frozen=True)
class Consent:
    """What the owner of a device allows when it joins a campaign.

    ``also``             join although the device shares the same readings with another campaign
    ``budget``           epsilon of the budget from now on; infinite: keep none; None: as it is
    ``least_producers``  smallest least cohort of a campaign that the device joins
    ``again``            join a campaign that the device is in, and leave the earlier membership once that succeeded
    """

    also: bool = False
    budget: float | None = None
    least_producers: int = LEAST_PRODUCERS
    again: bool = False


def check_cohort(terms: CampaignTerms, consent: Consent) -> None:
    """Raise an OptionError if the campaign publishes totals of fewer producers than the owner allows."""
    if terms.least_producers < consent.least_producers:
        raise OptionError(
            f"the campaign publishes totals from {terms.least_producers} producer(s) on, and this device joins from "
            f"{consent.least_producers} on: a total of so few tells about each; `least_producers` lowers this floor",
            kind="least_producers",
            field="least_producers",
        )


def check_also(
    level: CampaignLevel, others: Sequence[CampaignLevel], names: Sequence[str], seen: int | None, consent: Consent
) -> None:
    """Raise an OptionError without consent if the device's readings are shared with other campaigns, ``names``."""
    if names and not consent.also:
        raise OptionError(
            f"this device shares the same readings with campaign {', '.join(names)}, and each further campaign is one "
            f"more observation of them. This level alone: {level_words([level], seen)}. "
            f"All together: {level_words([*others, level], seen)}. `also` joins all the same",
            kind="also",
            field="also",
        )


def level_words(levels: Sequence[CampaignLevel], seen: int | None, window: Window = ROLLING) -> str:
    """Return in words the epsilon of the reports of levels in a window, as one sum for each kind of budget."""
    sums = []
    for trust in dict.fromkeys(trust_of(each.law) for each in levels):
        of_kind = [each for each in levels if trust_of(each.law) == trust]
        sums.append(_sum_words(of_kind, seen, window) + (" (split)" if trust == "split" else ""))
    return " and ".join(sums)


def _sum_words(levels: Sequence[CampaignLevel], seen: int | None, window: Window) -> str:
    if any(is_open(each.law) for each in levels):
        return "no finite epsilon"
    planned = planned_reports(levels, window, seen)
    unit = Budget(None, window=window)
    if planned is not None:
        return unit.words(unit.epsilon_of(planned))
    one = unit.epsilon_of(dict.fromkeys((each.law for each in levels), 1))
    at = f"delta {number_text(unit.delta)}"
    return f"epsilon {upwards(one)} for a change of one reading by anything within its range, {at}"


def first_budget(level: CampaignLevel, seen: int | None) -> Budget:
    """Return the budget that follows from the first level joined: epsilon of its reports of 30 days."""
    budget = Budget(math.inf if is_open(level.law) else None, first=level.law)
    planned = planned_reports([level], ROLLING, seen)
    return budget if budget.epsilon or planned is None else replace(budget, epsilon=budget.epsilon_of(planned))


def budget_with(
    level: CampaignLevel, others: Sequence[CampaignLevel], stored: Budget | None, asked: float | None, seen: int | None
) -> Budget:
    """Return the budget that is kept with a level and others of its kind; raise an OptionError if it is too small.

    ``stored``  the budget so far; None if no level was joined yet
    ``asked``   epsilon of the budget from now on; None: as it is
    """
    budget = stored or first_budget(level, seen)
    if asked is not None:
        budget = replace(budget, epsilon=asked, first="")
    if not budget.kept or budget.then != "stop":
        return budget
    setting = level.law.rpartition("@")[0]
    if is_open(level.law):
        raise OptionError(
            f"{setting} has no finite epsilon, and this device keeps a budget of {budget.words()}: "
            "`budget=inf` gives it up",
            kind="budget",
            field="budget",
        )
    planned = planned_reports([*others, level], budget.window, seen)
    needed = 0.0 if planned is None else budget.epsilon_of(planned)
    if not budget.holds(needed):
        raise OptionError(
            f"with {setting} the levels joined would use {budget.words(needed)}, and the budget is "
            f"{budget.shown()}: leave a campaign, take more noise, or name a larger `budget`",
            kind="budget",
            field="budget",
        )
    return budget
