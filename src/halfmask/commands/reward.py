"""``halfmask reward``: find what to pay for each setting of a menu."""

from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.commands._options import AnyMenu, AnyPath, AnyProfile, Flag, command
from halfmask.commands._printing import CommandAnswer, Table
from halfmask.commands._shared_options import IN_SHORT, Display, MayWrite, Seeded, menu_of, profile_of
from halfmask.errors import FileFormatError, OptionError

if TYPE_CHECKING:
    from halfmask.rewards.choice_model import ChoiceModel
    from halfmask.rewards.reward_schedule import Schedule

    AnyModel = ChoiceModel | AnyPath
else:
    AnyModel = AnyPath


class Reward(Seeded, MayWrite):
    """Options of `reward`. One end is named: a budget, an error of the total, or a utility.

    Parameters
    ----------
    menu
        A menu or offer.
    profile
        The profile of the producers who are asked.
    model
        What producers choose at which rewards: a file that 'halfmask reward fit' wrote.
    budget
        The most to spend per period, in the unit of the model's rewards.
    within
        The largest error of the total in 95 of 100 periods, such as 1% or 0.01.
    utility
        The paper's utility to reach.
    producers
        How many producers are asked; by default as many as the profile has.
    privacy
        The least average privacy score of the producers that take part.
    uncertain
        Include the model's uncertainty: rewards are best on average over draws of its parameters.
    output
        The schedule to write (JSON).
    seed
        The same seed gives the same schedule.
    other_data
        Accept a menu that was made on other data than the profile.
    """

    menu: AnyMenu = field(kw_only=False)
    profile: AnyProfile
    model: AnyModel | None = None
    budget: float | None = None
    within: str | float | None = None
    utility: float | None = None
    producers: int | None = None
    privacy: float | None = None
    uncertain: Flag = False
    other_data: Flag = False

    def save(self, made: "Schedule", path: Path) -> None:
        from halfmask.files import write_page

        write_page(made.to_json(), path)


@command(Reward, group="Share: service")
def reward(options: Reward) -> "Schedule":
    """Return honest rewards per report for each setting of a menu, for a budget, an accuracy or a utility."""
    from halfmask.menus.menu_requirements import parse_share
    from halfmask.rewards.market import End
    from halfmask.rewards.reward_schedule import schedule

    within = None if options.within is None else parse_share(str(options.within), f"within {options.within}")
    named: dict[End, float | None] = {"budget": options.budget, "within": within, "utility": options.utility}
    ends = [(name, value) for name, value in named.items() if value is not None]
    if len(ends) != 1:
        raise OptionError(
            "say what the rewards are for: one of `budget`, such as 1000 per period, `within`, such as 1%, and "
            f"`utility`, such as 0.8; {len(ends)} are named",
            kind="ends",
        )
    if options.producers is not None and options.producers < 1:
        raise OptionError(f"{options.producers} producers cannot be asked")
    (end, target), model = ends[0], read_model(options.model)
    found = schedule(
        menu_of(options.menu), profile_of(options.profile), model, end, target,
        producers=options.producers, least_privacy=options.privacy, uncertain=options.uncertain, seed=options.seed,
        other_data=options.other_data,
    )  # fmt: skip
    return replace(found, about={**found.about, "asked": options.asked()})


def read_model(model: "AnyModel | None") -> "ChoiceModel":
    """Return the model itself, or read it from its file; an error says how to get one."""
    from halfmask.files import read_page
    from halfmask.rewards.choice_model import FORMAT, VERSION, ChoiceModel

    if model is None:
        raise OptionError(
            "what producers choose at which rewards is not known: name a `model`, which 'halfmask reward fit "
            "choices.csv -o model.json' learns from what they chose; 'halfmask reward design MENU -o "
            "groups.csv' says what to ask",
            kind="model",
            field="model",
        )
    if isinstance(model, ChoiceModel):
        return model
    plain = read_page(model, FORMAT, VERSION, "halfmask reward fit choices.csv -o model.json")
    try:
        return ChoiceModel.from_json(plain)
    except ValueError as error:
        raise FileFormatError(f"{model} is a damaged choice model ({error}): fit it again") from error


def main(options: Reward, *, shown: Display = IN_SHORT) -> None:
    """What to pay for each setting of a menu: rewards per report, and what they buy."""
    from halfmask.rewards.reward_schedule import bound_told, honesty_told, split_told

    found = reward(options)
    title = f"Rewards per report; {found.producers:,} producers with {found.reports:.3g} reports each a period"
    split = [
        f"Splitting: {told}; the service allows one report per producer and time, and cannot tell one from many."
        for told in found.splitting
    ]
    unhonest = [f"Without that demand, {told}." for told in found.arbitrage]
    shown.show(
        CommandAnswer(
            found.to_json(),
            [(title, _offer_rows(found))],
            f"{'These' if found.edges else 'Honest'} rewards cost {found.honest.cost:,.6g} a period, and the total of "
            f"those who take part is within {found.honest.within:.2%} in 95 of 100 periods.",
            f"halfmask campaign {options.menu} --rewards {_typed(found)}",
            [f"{each}." for each in found.dominated],
            _more(found),
            [*filter(None, [honesty_told(found), bound_told(found), split_told(found)]), *unhonest, *split],
        )
    )


def _typed(found: "Schedule") -> str:
    """Return the rewards as `halfmask campaign` takes them."""
    chosen = found.whole or found.honest
    return ",".join(f"{id}={amount:.4g}" for id, amount in chosen.rewards.items())


def _offer_rows(found: "Schedule") -> list[list[str]]:
    """Return the rewards with what they cost and buy, headings first."""
    rows = [["", *found.honest.rewards, "take part", "cost a period", "total within", "utility", "privacy"]]
    for name, offer in (
        ("against averaging" if found.edges else "honest", found.honest),
        ("in whole units", found.whole),
        ("without demand", found.free),
    ):
        if offer is None:
            rows.append([name, *("none",) * len(found.honest.rewards), *([""] * 5)])
            continue
        numbers = [f"{offer.cost:,.6g}", f"{offer.within:.2%}", f"{offer.utility:.3f}", f"{offer.privacy:.3f}"]
        rows.append([name, *(f"{each:.4g}" for each in offer.rewards.values()), f"{offer.taking_part:.1%}", *numbers])
        rows.append(["  who takes it", *(f"{each:.1%}" for each in offer.shares.values()), *([""] * 5)])
    return rows


def _more(found: "Schedule") -> list[Table]:
    """Return what money buys, and how many producers reach a utility."""
    curve = [["budget a period", "total within", "utility", "take part", "price of utility"]]
    for at in found.curve:
        price = "" if at.price is None else f"{at.price:,.4g}"
        curve.append([f"{at.budget:,.4g}", f"{at.within:.2%}", f"{at.utility:.3f}", f"{at.taking_part:.1%}", price])
    lines = [["utility", "total within", *found.honest.rewards]]
    for equal in found.equal:
        needed = (f"{each:,}" for each in equal.whole.values())
        lines.append([f"{equal.utility:.3f}", f"{equal.within:.2%}", *needed])
    return [
        ("What money buys, up to where more buys next to nothing", curve),
        ("Lines of equal utility: how many producers reach it, if all of them show that setting", lines),
    ]
