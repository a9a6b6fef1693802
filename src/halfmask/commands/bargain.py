"""``halfmask bargain``: let the consumer and the producers' vote make alternating offers."""

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyMenu, command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, Seeded, menu_of
from halfmask.commands.reward import AnyModel, read_model

if TYPE_CHECKING:
    from halfmask.rewards.bargain import Bargain


class BargainOptions(Seeded):
    """Options of `bargain`.

    Parameters
    ----------
    menu
        A menu or offer.
    current
        The setting that holds now.
    model
        What producers choose at which rewards: a file that 'halfmask reward fit' wrote.
    delta
        How much more privacy producers ask for at first.
    c
        The change of utility that the consumer asks for at first; below 0 it accepts a loss.
    reward
        The most that the consumer pays per report in the end.
    least_delta
        What producers ask for at last; not above --delta.
    least_c
        What the consumer asks for at last; not above --c.
    rounds
        Rounds of offers, 2 to 200.
    rule
        The voting rule for the producers' answer.
    seed
        The same seed gives the same producers.
    """

    menu: AnyMenu = field(kw_only=False)
    current: Annotated[str, Parameter(name="--from")]
    model: AnyModel | None = None
    delta: float
    c: float
    reward: float = 0.0
    least_delta: float = 0.0
    least_c: float = 0.0
    rounds: int = 10
    rule: Literal["plurality", "borda", "approval", "condorcet", "median"] = "median"


@command(BargainOptions, group="Choose")
def bargain(options: BargainOptions) -> "Bargain":
    """Alternate offers and answers until there is a setting and a reward, or a reason why there is none."""
    from halfmask.rewards.bargain import bargain as negotiate
    from halfmask.streams import stream

    return negotiate(
        menu_of(options.menu), options.current, read_model(options.model), delta=options.delta, c=options.c,
        reward=options.reward, least_delta=options.least_delta, least_c=options.least_c, rounds=options.rounds,
        rule=options.rule, rng=stream(options.seed, "rewards.bargain"),
    )  # fmt: skip


def main(options: BargainOptions, *, shown: Display = IN_SHORT) -> None:
    """Alternate offers between the consumer and the producers' vote, until there is a deal or a reason for none."""
    from halfmask.plain import to_plain

    found = bargain(options)
    rows = [["round", "producers ask for", "consumer asks for", "reward", "consumer offers", "would accept", "answer"]]
    for each in found.rounds:
        asked = [f"privacy {each.delta:+.3f}", f"utility {each.c:+.3f}", f"{each.reward:.3g}"]
        offered = ["-", "-"] if each.offered is None else [each.offered, f"{each.accepted_by:.2%}"]
        rows.append([str(each.number), *asked, *offered, each.answered or "-"])
    if found.deal is None:
        means = f"No deal: {found.reason}."
    else:
        deal = found.deal
        what = f"{deal.setting.id} ({deal.setting.setting}) for {deal.reward:.3g} a report"
        means = f"Deal: {what}{_month(options, deal.reward)}, accepted by the {deal.accepted_by}."
    shown.show(
        CommandAnswer(
            to_plain(found),
            [("", rows)],
            means,
            f"halfmask campaign {options.menu} --name NAME --purpose PURPOSE --begin DATE --end DATE",
            words=["privacy, utility: how much more than now, as scores; would accept: share of the producers"],
        )
    )


def _month(options: BargainOptions, reward: float) -> str:
    """Return what 30 days of reports earn in words; empty if the menu does not say how many these are."""
    asked = menu_of(options.menu).question
    if asked is None:
        return ""
    reports = asked.month().window
    return f", {reward * reports:.3g} in 30 days of {reports:,} reports"
