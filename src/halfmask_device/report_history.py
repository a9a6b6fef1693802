"""Counts of the reports to one campaign, for programs that display them."""

from dataclasses import dataclass

from halfmask_device.device_state import State
from halfmask_device.instants import Instant, instant_text, parse_instant


@dataclass(frozen=True)
class ReportHistory:
    """Reports to a campaign.

    ``last``      time of the latest report or period in the queue, sent or not; None if there is none
    ``accepted``  number of reports that the service has accepted
    ``waiting``   number of reports without a receipt
    ``earned``    rewards in the campaign's smallest unit
    """

    last: Instant | None = None
    accepted: int = 0
    waiting: int = 0
    earned: int = 0


def read_history(state: State, campaign: str, since: Instant = 0) -> ReportHistory:
    """Return the history of reports whose time is ``since`` or later."""
    with state.memory() as memory:
        last, accepted, waiting, earned = memory.execute(
            "SELECT max(time), count(*) FILTER (WHERE outcome IN ('accepted', 'known')), "
            "count(*) FILTER (WHERE outcome IS NULL), coalesce(sum(reward), 0) "
            "FROM queue WHERE campaign = ? AND time >= ?",
            (campaign, instant_text(since)),
        ).fetchone()
    return ReportHistory(None if last is None else parse_instant(last), accepted, waiting, earned)
