"""``halfmask reward fit``: learn what producers choose at which rewards."""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.commands._files import number_in, read_csv
from halfmask.commands._options import AnyMenu, AnyPath, Flag, command
from halfmask.commands._printing import note, print_rows
from halfmask.commands._shared_options import MayWrite, Tells, menu_of
from halfmask.errors import OptionError, SourceError

if TYPE_CHECKING:
    from halfmask.rewards.reward_fit import Choices, Fit

COLUMNS = ("producer", "occasion", "setting", "privacy", "reward", "chosen")


class RewardFit(MayWrite, Tells):
    """Options of `reward_fit`. Choices come from a table, or from a service's own history.

    Parameters
    ----------
    choices
        A CSV with the columns producer, occasion, setting, privacy, reward, chosen: one row for each setting that a
        producer was offered on an occasion. chosen is 1 for the setting it took; if it declined, all its rows have 0.
    service
        The address of a running service: its closed periods show how many chose each setting at which rewards.
    token
        The token of the campaign's consumer; by default the environment's HALFMASK_TOKEN.
    campaign
        The campaign's id; not needed if the service has one campaign.
    invited
        How many producers were asked to take part, which the service cannot know.
    menu
        The menu or offer with the settings' privacy, if the campaign's menu does not contain it.
    mixed
        Let the worth of privacy differ between producers.
    output
        The model to write (JSON).
    """

    choices: AnyPath | None = field(default=None, kw_only=False)
    service: str | None = None
    token: str | None = None
    campaign: str | None = None
    invited: int | None = None
    menu: AnyMenu | None = None
    mixed: Flag = False

    def save(self, made: "Fit", path: Path) -> None:
        from halfmask.files import write_page

        write_page(made.model.to_json(), path)

    def check_together(self) -> None:
        if (self.choices is None) == (self.service is None):
            raise OptionError("name a table of choices or a `service`, one of the two")
        if self.service is not None and self.invited is None:
            raise OptionError(
                "name how many producers were `invited`: a service counts those who take part, and not those who do not"
            )


@command(RewardFit, group="Share: service")
def reward_fit(options: RewardFit) -> "Fit":
    """Fit the model of producers under which their choices are most likely, with standard errors."""
    from halfmask.rewards.reward_fit import fit_choices

    choices = history(options) if options.choices is None else read_choices(options.choices)
    return fit_choices(choices, mixed=options.mixed)


def history(options: RewardFit) -> "Choices":
    """Return what a service published: in each closed period, how many chose each setting at which rewards."""
    import os

    import numpy as np

    from halfmask.rewards.reward_fit import grouped
    from halfmask_device.http_client import ServiceClient
    from halfmask_device.membership import find_campaign

    service, token = ServiceClient(options.service or ""), options.token or os.environ.get("HALFMASK_TOKEN")
    if not token:
        raise OptionError(
            "the campaign's consumer is known by its `token`: name it, or set HALFMASK_TOKEN", kind="token"
        )
    offer = find_campaign(service, options.campaign)
    privacy = _privacy(options, offer)
    told = service.ask("GET", f"/v1/campaigns/{offer['campaign']}/periods", token)["periods"]
    shown = [each for each in told if each["state"] == "closed" and each["settings"] is not None]
    if len(shown) < len(told):
        options.say([f"{len(told) - len(shown)} of {len(told)} periods are open or withheld, and left out"])
    if len(shown) < 2:
        raise SourceError(
            f"{len(shown)} closed period(s) with counts cannot show what rewards do: 2 are needed", kind="periods"
        )
    ids, paid = list(privacy), [_paid(offer, each["period"]) for each in shown]
    rewards = np.array([[float(row.get(id, 0)) for id in ids] for row in paid])
    taken = np.array([[each["settings"].get(id, {}).get("producers", 0) for id in ids] for each in shown])
    return grouped(rewards, taken, np.array(list(privacy.values())), options.invited or 0)


def _privacy(options: RewardFit, offer: dict[str, Any]) -> dict[str, float]:
    """Return the median privacy of each setting of the campaign, from the menu given or from the campaign's."""

    settings = offer["menu"]["settings"]
    if options.menu is not None:
        menu = menu_of(options.menu)
        other = [each["id"] for each in settings if each["id"] not in menu.ids]
        other += [e["id"] for e in settings if e["id"] in menu.ids and str(menu[e["id"]].setting) != e["setting"]]
        if other:
            raise OptionError(
                f"setting {other[0]} of the campaign is not that of the menu: name the menu it was made from"
            )
        return {each["id"]: menu[each["id"]].privacy.median for each in settings}
    try:
        return {each["id"]: float(each["privacy"]["median"]) for each in settings}
    except (KeyError, TypeError, ValueError) as error:
        raise OptionError(
            "the campaign's menu does not contain its settings' privacy: name the `menu`", kind="privacy"
        ) from error


def _paid(offer: dict[str, Any], period: str) -> dict[str, int]:
    """Return the rewards of a period: the latest that were set for it or an earlier one."""
    later = [each for each in offer["later_rewards"] if each["from"] <= period]
    return dict(max(later, key=lambda each: each["from"])["rewards"] if later else offer["rewards"])


def read_choices(path: "AnyPath") -> "Choices":
    """Return the choices of a CSV; an error names the row that cannot be read."""
    import numpy as np

    from halfmask.rewards.reward_fit import OUT, Choices

    occasions: dict[tuple[str, str], dict[str, tuple[float, float, bool]]] = {}
    for place, cells in read_csv(path, COLUMNS):
        offers = occasions.setdefault((cells["producer"], cells["occasion"]), {})
        if (setting := cells["setting"]) in offers:
            raise SourceError(f"{place}: a producer is offered setting {setting} twice on one occasion", place=place)
        offers[setting] = _offered(place, cells)
        if sum(taken for *_, taken in offers.values()) > 1:
            raise SourceError(f"{place}: producer {cells['producer']} chose two settings on an occasion", place=place)
    settings = sorted({setting for offers in occasions.values() for setting in offers})
    producers = {name: number for number, name in enumerate(sorted({name for name, _ in occasions}))}
    shape = (len(occasions), len(settings))
    held, privacy, reward = np.zeros(shape, bool), np.zeros(shape), np.zeros(shape)
    chosen = np.full(len(occasions), OUT)
    for line, offers in enumerate(occasions.values()):
        for setting, (q, r, taken) in offers.items():
            column = settings.index(setting)
            held[line, column], privacy[line, column], reward[line, column] = True, q, r
            chosen[line] = column if taken else chosen[line]
    people = np.array([producers[name] for name, _ in occasions], dtype=np.int64)
    return Choices(people, chosen, held, privacy, reward)


def _offered(place: str, cells: Mapping[str, str]) -> tuple[float, float, bool]:
    """Return privacy and reward of a setting that was offered, and whether it was chosen."""
    privacy, reward = (number_in(cells, name, place) for name in ("privacy", "reward"))
    wrong = {
        "privacy": "is not a score from 0 to 1" if not 0 <= privacy <= 1 else "",
        "reward": "is below 0, and nobody pays to report" if reward < 0 else "",
        "chosen": "is neither 0 nor 1" if cells["chosen"] not in ("0", "1") else "",
    }
    for name in (name for name, why in wrong.items() if why):
        text = f"{place}, column {name}: '{cells[name]}' {wrong[name]}"
        raise SourceError(text, kind="number", field=name, place=place)
    return privacy, reward, cells["chosen"] == "1"


def main(options: RewardFit) -> None:
    """Learn what producers choose at which rewards, from what they chose."""
    found = reward_fit(replace(options, tell=note))
    model = found.model
    values = {"taking part": model.take, "a unit of privacy": model.worth, "a unit of money": model.money}
    rows = [["value to a producer of", "estimate", "standard error"]]
    rows += [[name, f"{value:.4g}", f"{e:.2g}"] for (name, value), e in zip(values.items(), found.errors, strict=True)]
    errors = "are clustered by producer"
    if options.service is not None:
        errors = "hold whatever hangs together in one producer's choices, which a service does not tell"
    print_rows(rows, f"{found.occasions:,} choices of {found.producers:,} producers; errors {errors}")
    if found.spread_range is not None:
        print(_differ(model.spread, *found.spread_range))
    print(f"What a unit of privacy is worth in money: {model.price_told()}.")


def _differ(spread: float, low: float, high: float) -> str:
    """Say how much the worth of privacy differs between producers, with its interval."""
    alike = "" if low > 0 else ", so they may as well all be alike"
    return (
        f"The value of a unit of privacy differs between producers by {spread:.4g} (standard deviation; 95 % interval "
        f"{low:.4g} to {high:.4g}{alike})."
    )
