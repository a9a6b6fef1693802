"""``halfmask reward fit``: what producers choose at which rewards, from what they chose."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from halfmask.commands._options import AnyMenu, AnyPath, Flag, Options, OutputIfAny, Teller, command, held
from halfmask.commands._output import note, print_rows
from halfmask.errors import OptionError, SourceError

if TYPE_CHECKING:
    from halfmask.rewards.reward_fit import Choices, Fit
    from halfmask_device.http_client import ServiceClient

GROUP = "Share: service"

COLUMNS = ("producer", "occasion", "setting", "privacy", "reward", "chosen")


@Parameter(name="*")
@dataclass(frozen=True)
class RewardFit(Options):
    """Options of `reward_fit`. Choices come from a table, or from a service's own history.

    Parameters
    ----------
    choices
        A CSV with the columns producer, occasion, setting, privacy, reward, chosen: one row for each setting that a
        producer was offered on an occasion; chosen is 1 for the one it took, and 0 in all rows of one who declined.
    service
        The address of a running service, whose closed periods tell how many took each setting at which rewards.
    token
        The token of the campaign's consumer; else HALFMASK_TOKEN of the environment.
    campaign
        The campaign of that service; its only one where not given.
    invited
        How many producers were asked to take part in it, which no service knows.
    menu
        The menu or offer with the settings' privacy, where the campaign's own menu does not tell it.
    mixed
        Let what privacy is worth differ between producers.
    output
        The model to write (JSON).
    """

    choices: AnyPath | None = None
    _: KW_ONLY
    service: str | None = None
    token: str | None = None
    campaign: str | None = None
    invited: int | None = None
    menu: AnyMenu | None = None
    mixed: Flag = False
    output: OutputIfAny = None
    tell: Teller = None

    def check(self) -> None:
        super().check()
        if (self.choices is None) == (self.service is None):
            raise OptionError("name a table of choices or a `service`, one of the two")
        if self.service is not None and self.invited is None:
            raise OptionError(
                "name how many producers were `invited`: a service counts those who take part, and not those who do not"
            )


@command(RewardFit)
def reward_fit(options: RewardFit) -> "Fit":
    """The model of producers under which their choices are most likely, with standard errors."""
    from halfmask.files import write_page
    from halfmask.rewards.reward_fit import fit

    choices = history(options) if options.choices is None else read_choices(options.choices)
    found = fit(choices, mixed=options.mixed)
    if options.output is not None:
        write_page(found.model.to_json(), options.output)
    return found


def history(options: RewardFit) -> "Choices":
    """What a service published of a campaign: in each closed period, how many took each setting at which rewards."""
    import os

    import numpy as np

    from halfmask.rewards.reward_fit import grouped
    from halfmask_device.http_client import ServiceClient

    service, token = ServiceClient(options.service or ""), options.token or os.environ.get("HALFMASK_TOKEN")
    if not token:
        raise OptionError("the campaign's consumer is known by its `token`: name it, or set HALFMASK_TOKEN")
    offer = _campaign(service, options.campaign)
    privacy = _privacy(options, offer)
    told = service.ask("GET", f"/v1/campaigns/{offer['campaign']}/periods", token)["periods"]
    shown = [each for each in told if each["state"] == "closed" and each["settings"] is not None]
    if options.tell and len(shown) < len(told):
        options.tell(f"{len(told) - len(shown)} of {len(told)} periods are open or withheld, and left out")
    if len(shown) < 2:
        raise SourceError(f"{len(shown)} closed period(s) with counts cannot show what rewards do: 2 are needed")
    ids, paid = list(privacy), [_paid(offer, each["period"]) for each in shown]
    rewards = np.array([[float(row.get(id, 0)) for id in ids] for row in paid])
    taken = np.array([[each["settings"].get(id, {}).get("producers", 0) for id in ids] for each in shown])
    return grouped(rewards, taken, np.array(list(privacy.values())), options.invited or 0)


def _campaign(service: "ServiceClient", name: str | None) -> dict[str, Any]:
    if name is not None:
        return dict(service.ask("GET", f"/v1/campaigns/{name}"))
    offers = service.ask("GET", "/v1/campaigns")["campaigns"]
    if len(offers) != 1:
        named = ", ".join(f"{each['campaign']} ({each['name']})" for each in offers) or "none"
        raise OptionError(f"name a `campaign` of {service.address}: it has {named}")
    return dict(offers[0])


def _privacy(options: RewardFit, offer: dict[str, Any]) -> dict[str, float]:
    """The median privacy of each setting of the campaign, from the menu in hand or the campaign's own."""
    from halfmask.menus.menu import Menu

    settings = offer["menu"]["settings"]
    if options.menu is not None:
        menu = held(Menu, options.menu)
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
        raise OptionError("the campaign's menu does not tell its settings' privacy: name the `menu`") from error


def _paid(offer: dict[str, Any], period: str) -> dict[str, int]:
    """The rewards of a period: the latest that were set from it or from an earlier one."""
    later = [each for each in offer["later_rewards"] if each["from"] <= period]
    return dict(max(later, key=lambda each: each["from"])["rewards"] if later else offer["rewards"])


def read_choices(path: "AnyPath") -> "Choices":
    """Choices of a CSV; what cannot be read is a SourceError that names the row."""
    import numpy as np

    from halfmask.choice.requirements import read_rows
    from halfmask.rewards.reward_fit import OUT, Choices

    rows = read_rows(path)
    heads = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    missing = [name for name in COLUMNS if name not in heads]
    if missing:
        raise SourceError(f"{path}: there is no column {missing[0]}; the columns are {', '.join(COLUMNS)}")
    place = {name: heads.index(name) for name in COLUMNS}
    occasions: dict[tuple[str, str], dict[str, tuple[float, float, bool]]] = {}
    for number, row in rows[1:]:
        key, setting, offered = _offered(path, number, row, place)
        offers = occasions.setdefault(key, {})
        if setting in offers:
            raise SourceError(f"{path}, row {number}: setting {setting} stands twice on one occasion of a producer")
        offers[setting] = offered
    settings = sorted({setting for offers in occasions.values() for setting in offers})
    producers = {who: number for number, who in enumerate(sorted({who for who, _ in occasions}))}
    shape = (len(occasions), len(settings))
    held, privacy, reward = np.zeros(shape, bool), np.zeros(shape), np.zeros(shape)
    chosen = np.full(len(occasions), OUT)
    for line, offers in enumerate(occasions.values()):
        for setting, (q, r, taken) in offers.items():
            column = settings.index(setting)
            held[line, column], privacy[line, column], reward[line, column] = True, q, r
            if taken and chosen[line] != OUT:
                who, occasion = list(occasions)[line]
                raise SourceError(f"{path}: producer {who} chose two settings on occasion {occasion}")
            chosen[line] = column if taken else chosen[line]
    people = np.array([producers[key[0]] for key in occasions], dtype=np.int64)
    return Choices(people, chosen, held, privacy, reward)


def _offered(path: Any, number: int, row: list[str], place: dict[str, int]) -> Any:
    if len(row) <= max(place.values()):
        raise SourceError(f"{path}, row {number}: {len(row)} values are too few")
    cell = {name: row[column].strip() for name, column in place.items()}
    q, r = (_number(path, number, name, cell[name]) for name in ("privacy", "reward"))
    if not 0 <= q <= 1:
        raise SourceError(f"{path}, row {number}, column privacy: {q:g} is no score from 0 to 1")
    if r < 0:
        raise SourceError(f"{path}, row {number}, column reward: {r:g} is below 0, and nobody pays to report")
    if cell["chosen"] not in ("0", "1"):
        raise SourceError(f"{path}, row {number}, column chosen: '{cell['chosen']}' is neither 0 nor 1")
    return (cell["producer"], cell["occasion"]), cell["setting"], (q, r, cell["chosen"] == "1")


def _number(path: Any, number: int, name: str, text: str) -> float:
    import math

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SourceError(f"{path}, row {number}, column {name}: '{text}' is not a finite number")
    return value


def main(options: RewardFit) -> None:
    """What producers choose at which rewards, learned from what they chose."""
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
    if options.output is not None:
        note(f"wrote {options.output}")


def _differ(spread: float, low: float, high: float) -> str:
    """How much what privacy is worth differs between producers, and what is known of that."""
    alike = "" if low > 0 else ", so they may as well all be alike"
    return (
        f"The value of a unit of privacy differs between producers by {spread:.4g} (standard deviation; 95 % interval "
        f"{low:.4g} to {high:.4g}{alike})."
    )
