"""The epsilon of the levels that a device joined: the number of their reports in a window, and a bound on epsilon.

A level that masks readings makes one report per reading. The campaign's terms give the number of readings per day;
otherwise it follows from the interval between readings that the device has seen. A level that masks totals makes one
report per period. If the period is longer than a day, a whole day means the period.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from statistics import median

from halfmask_device.campaign_calendar import Calendar
from halfmask_device.instants import DAY, parse_instant
from halfmask_device.masking import Channel
from halfmask_device.privacy_budget import ROLLING, WINDOW_DAYS, Window
from halfmask_device.protocol import CampaignTerms
from halfmask_device.setting import READING, DeviceSetting

PERIOD_DAYS = {
    "quarter_hour": Fraction(1, 96), "half_hour": Fraction(1, 48), "hour": Fraction(1, 24), "day": Fraction(1),
    "week": Fraction(7), "month": Fraction(28), "year": Fraction(365),
}  # fmt: skip
"""The least number of days in each period."""
YEAR = 366 * DAY


@dataclass(frozen=True)
class CampaignLevel:
    """A level of a campaign's menu.

    ``law``      ``setting@step,low,high``, the name under which its reports are counted
    ``terms``    the campaign's terms
    ``release``  what a report masks: a reading, or a total of a period
    """

    law: str
    terms: CampaignTerms
    release: str

    @classmethod
    def of(cls, terms: CampaignTerms, id: str) -> "CampaignLevel":
        """Return the menu's level with this id."""
        text = terms.menu[id]
        return cls(Channel.of(text, terms.lattice).name, terms, DeviceSetting.parse(text).release)

    def reports(self, window: Window, seen: int | None) -> int | None:
        """Return the largest number of reports in a window; None if the number of readings per day is unknown.

        ``seen``  readings per day according to the interval that the device has seen
        """
        days, period = WINDOW_DAYS[window], PERIOD_DAYS.get(self.terms.period, Fraction(1))
        if self.release != READING:
            return max(math.ceil(days / period), self._begun(days) if window == ROLLING and period >= 1 else 0)
        expected, every = self.terms.readings_expected, self.terms.offer.get("every_minutes")
        if expected:
            return math.ceil(days * expected / period)
        if isinstance(every, int) and every > 0:
            return math.ceil(Fraction(days * 24 * 60, every))
        return None if seen is None else days * seen

    def _begun(self, days: int) -> int:
        """Return the largest number of periods that begin within ``days`` days in UTC, in the campaign's first year.

        A total counts on the day in UTC on which its period begins. When clocks go forward, two periods may begin on
        one day.
        """
        try:
            calendar = Calendar(self.terms.period, self.terms.time_zone)
        except (KeyError, ValueError):
            return 0
        spans = calendar.spans(self.terms.begins, min(self.terms.ends, self.terms.begins + YEAR))
        begun = [span.begins // DAY for span in spans]
        return max(bisect_left(begun, first + days) - i for i, first in enumerate(begun))


def month_reward(terms: CampaignTerms, id: str, seen: int | None = None) -> int | None:
    """Return the most that a level earns in 30 days, under the cap per period.

    None if the number of readings per day is unknown.
    """
    offer = terms.offer
    reward, cap = (offer.get("rewards") or {}).get(id, 0), offer.get("most_per_period")
    reports = CampaignLevel.of(terms, id).reports(ROLLING, seen)
    if not isinstance(reward, int) or reports is None:
        return None
    if not isinstance(cap, int):
        return reward * reports
    spans = Calendar(terms.period, terms.time_zone).spans(terms.begins, terms.begins + WINDOW_DAYS[ROLLING] * DAY)
    return min(reward * reports, cap * len(list(spans)))


def planned_reports(levels: Iterable[CampaignLevel], window: Window, seen: int | None) -> dict[str, int] | None:
    """Return the largest number of reports in a window by law; None if it is unknown for a level.

    Campaigns with equal laws share their reports, because one draw of noise serves all of them.
    """
    planned: dict[str, int] = {}
    for level in levels:
        reports = level.reports(window, seen)
        if reports is None:
            return None
        planned[level.law] = max(planned.get(level.law, 0), reports)
    return planned


def readings_a_day(times: Iterable[str]) -> int | None:
    """Return the readings per day, from the median gap between RFC 3339 times; None for fewer than two times."""
    instants = sorted({found for time in times if (found := parse_instant(time)) is not None})
    gaps = [after - before for before, after in pairwise(instants)]
    return math.ceil(DAY / median(gaps)) if gaps else None
