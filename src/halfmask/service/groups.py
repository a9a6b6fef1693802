"""Totals by group, such as by feeder or tariff: which groups are withheld, and what is published of the others.

A campaign's producers each belong to one group. Cells of such a campaign are named ``SETTING/GROUP``. A group with
fewer producers than the least cohort is withheld. If its total followed from the whole and the other groups,
withholding it would not help. So the smallest other groups are withheld too, until all withheld groups together have no
producers, or at least the least cohort in at least two groups. Then all that is published of a closed period are sums
over shown groups, and over the withheld ones together. Each of these has at least the least cohort.
"""

from collections.abc import Mapping
from typing import Any

from halfmask.service.campaign import Campaign
from halfmask.service.cells import Cells, by_setting
from halfmask.service.estimates import period_entry, total_cell, withheld_entry
from halfmask.service.refusal import unfit
from halfmask.service.storage.tables import Plain


def by_group(campaign: Campaign, cells: Cells) -> dict[str, Cells]:
    """Return the cells of settings for each group of the campaign."""
    found: dict[str, Cells] = {group: {} for group in campaign.groups}
    for name, cell in cells.items():
        setting, _, group = name.partition("/")
        found[group][setting] = cell
    return found


def withheld_groups(producers: Mapping[str, int], least: int) -> set[str]:
    """Return the groups that are not shown, by the number of producers in each group."""
    order = sorted(producers, key=lambda group: (producers[group], group))
    withheld = [group for group in order if producers[group] < least]
    for group in order[len(withheld) :]:
        if not any(producers[each] for each in withheld) or _together(producers, withheld, least):
            break
        withheld.append(group)
    return set(withheld)


def _together(producers: Mapping[str, int], withheld: list[str], least: int) -> bool:
    """Return whether withheld groups have enough producers together, in at least two of them."""
    numbers = [producers[group] for group in withheld if producers[group]]
    return sum(numbers) >= least and len(numbers) >= 2


def grouped_entry(campaign: Campaign, key: str, cells: Cells) -> Plain:
    """Return a closed period as the consumer sees it, with its groups if the campaign has any."""
    if not campaign.groups:
        return period_entry(campaign, key, "closed", cells)
    entry = period_entry(campaign, key, "closed", by_setting(cells))
    if entry["withheld"] is not None:
        return entry | {"groups": None}
    groups = by_group(campaign, cells)
    withheld = withheld_groups({group: total_cell(own).producers for group, own in groups.items()}, campaign.least)
    why = f"{campaign.too_few}, in this group or in another one that it would reveal"
    return entry | {
        "groups": {
            group: withheld_entry(key, "closed", why)
            if group in withheld
            else period_entry(campaign, key, "closed", own)
            for group, own in groups.items()
        }
    }


def choose_group(campaign: Campaign, value: Any) -> str | None:
    """Return the group that a producer names when it joins; None without groups."""
    if not campaign.groups:
        if value is not None:
            raise unfit("group", "this campaign has no groups")
        return None
    if value not in campaign.groups:
        raise unfit("group", "group must be one of the campaign's groups")
    return str(value)
