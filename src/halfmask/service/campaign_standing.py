"""The state of a campaign, for its consumer: members, money, refused reports, and what other rewards would do."""

import math
import re
from collections import defaultdict
from contextlib import suppress
from typing import Any

from halfmask.errors import OptionError
from halfmask.service.campaign import Campaign, check_campaign, check_rewards
from halfmask.service.campaign_periods import periods
from halfmask.service.campaign_requests import ALWAYS, read_campaign
from halfmask.service.level_promises import levels_of
from halfmask.service.refusal import Refusal
from halfmask.service.request import Call, Request, parse_json
from halfmask.service.split.leading import check_split_offer
from halfmask.service.storage.tables import Plain

REFUSED = re.compile(r'halfmask_reports_total\{campaign="([^"]*)",status="refused",code="([^"]*)"\}')
LATEST = 60
"""Closed periods from which choices are learned, the latest."""


def show_standing(call: Call) -> Plain:
    """Return members, money and refused reports. Open periods are one number, as in the ledger."""
    campaign = call.own_campaign()
    spent = call.tx.spent(campaign.key)
    return {
        "joined": call.tx.members(campaign.key),
        "budget": campaign.terms["budget"],
        "earned": sum(spent.values()),
        "expected": call.tx.hidden_spending(campaign.key),
        "by_period": spent,
        "refused": _refused(call.service.counters.totals(), campaign.public),
    }


def _refused(counted: dict[str, float], campaign: str) -> dict[str, int]:
    """Return how many reports were refused, by reason, since the service started."""
    found: defaultdict[str, int] = defaultdict(int)
    for name, value in counted.items():
        match = REFUSED.fullmatch(name)
        if match and match[1] == campaign:
            found[match[2]] += int(value)
    return dict(found)


def check_offered(call: Call) -> Plain:
    """Check a campaign without making it: its terms, and what producers will see, or why it would be refused."""
    try:
        sent = parse_json(call.request.raw)
        terms = check_campaign(sent)
        call.service.floors.check(terms)
        check_split_offer(call, sent, terms)
    except Refusal as refusal:
        return {"refused": refusal.body()["error"]}
    return {"refused": None, "terms": terms, **levels_of(Campaign(0, "", 0, terms))}


def prepare_check(request: Request) -> None:
    """Compute what `check_offered` needs; it is cached."""
    with suppress(Refusal):
        levels_of(Campaign(0, "", 0, read_campaign(request)))


def forecast_rewards(call: Call) -> Plain:
    """Predict shares, error and cost of a period under other rewards, from what producers chose in closed periods.

    ``basis``  "observed" if closed periods had rewards that differ; "unchanged" if nothing can be learned from them,
               and the shares are those of the last period
    """
    campaign, asked = call.own_campaign(), call.request.query.get("rewards")
    sent = parse_json(asked.encode()) if asked else campaign.terms["rewards"]
    rewards = check_rewards(sent, set(campaign.noises))
    spans = [span for span in campaign.spans(call.now) if span.key in call.tx.closed_keys(campaign.key)][-LATEST:]
    entries = [each for each in periods(call.tx, campaign, spans) if each["settings"]]
    if not entries:
        return {"basis": "nothing", "shares": None, "producers": None, "error": None, "cost": None}
    ids = list(campaign.noises)
    members = max(call.tx.members(campaign.key), *(each["producers"] for each in entries))
    shares = _learned(campaign, call.tx.schedule(campaign.key), entries, members, rewards)
    last = entries[-1]
    basis = "observed" if shares else "unchanged"
    if shares is None:
        shares = {id: last["settings"].get(id, {}).get("producers", 0) / members for id in ids}
    each = last["reports"] / last["producers"]
    reports = {id: share * members * each for id, share in shares.items()}
    unit = float(campaign.lattice.unit)
    noise = unit * math.sqrt(sum(count * campaign.noises[id].variance for id, count in reports.items()))
    size = abs(last["mean"]["estimate"]) * sum(reports.values()) if last["mean"] else 0.0
    return {
        "basis": basis,
        "shares": shares,
        "producers": sum(shares.values()) * members,
        "error": noise / size if size else None,
        "cost": round(sum(count * rewards.get(id, 0) for id, count in reports.items())),
    }


def _learned(
    campaign: Campaign,
    schedule: list[tuple[int, dict[str, int]]],
    entries: list[Plain],
    members: int,
    rewards: dict[str, int],
) -> dict[str, float] | None:
    """Return the shares that a model of choices predicts; None if the closed periods do not separate its parameters."""
    import numpy as np

    from halfmask.rewards.reward_fit import fit_choices, grouped

    ids = list(campaign.noises)
    paid = np.array([[_paid(campaign, schedule, each["period"]).get(id, 0) for id in ids] for each in entries], float)
    if len(np.unique(paid, axis=0)) < 2:
        return None
    taken = np.array([[each["settings"].get(id, {}).get("producers", 0) for id in ids] for each in entries], float)
    privacy = np.array([_privacy(each) for each in campaign.terms["menu"]["settings"]])
    if not privacy.any():
        noise = np.array([math.sqrt(campaign.noises[id].variance) for id in ids])
        privacy = noise / (noise + float(np.median(noise[noise > 0])) if noise.any() else 1.0)
    try:
        model = fit_choices(grouped(paid, taken, privacy, members)).model
    except OptionError:
        return None
    asked = np.array([rewards.get(id, 0) for id in ids], float)
    return dict(zip(ids, map(float, model.population(privacy).shares(asked)), strict=True))


def _paid(campaign: Campaign, schedule: list[tuple[int, dict[str, int]]], period: str) -> dict[str, int]:
    span = campaign.span(period)
    begins = span.begins if span else ALWAYS
    return next((rewards for since, rewards in reversed(schedule) if since <= begins), {})


def _privacy(entry: dict[str, Any]) -> float:
    """Return the privacy score that the menu states; 0 without one."""
    stated = entry.get("privacy")
    found = stated.get("median") if isinstance(stated, dict) else None
    return float(found) if isinstance(found, (int, float)) else 0.0
