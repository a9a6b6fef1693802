"""The section on pay: the schedule of rewards, who takes part, and whether the rewards keep producers honest."""

from typing import TYPE_CHECKING

from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.what_money_buys import WITHIN
from halfmask.figures.wording import amount
from halfmask.pages.page_parts import Markup, bullets, element, html_table, joined_markup, paragraph

if TYPE_CHECKING:
    from halfmask.rewards.reward_schedule import Schedule

ENDS = {
    "budget": "spend at most {:,.10g} in a period",
    "within": "keep the total within {:.3g} of the truth in 95 of 100 periods",
    "utility": "reach a utility of {:.3g}",
}


def pay_section(inputs: ResultsFolder) -> Markup:
    """Return the section; empty if the folder holds no schedule."""
    found = inputs.schedule
    if found is None:
        return Markup("")
    end, target = found.end
    return joined_markup(
        [
            paragraph(
                f"Rewards per report{_of_menu(inputs)}, in the unit of the model's money, to "
                f"{ENDS[end].format(target)}. "
                f"{found.producers:,} producers are asked, with {found.reports:.3g} reports each in a period. "
                "They rest on a model of what producers choose; the service's ledger keeps the budget, not the model."
            ),
            _schedule(found),
            _offers(found),
            _equal(found),
            element("h3", "Honesty"),
            bullets(_honesty(found)),
        ]
    )


def _of_menu(inputs: ResultsFolder) -> str:
    """Return which menu the letters of this section refer to; empty if the page shows one menu, or that is unknown."""
    if not inputs.offer or not inputs.menu or not inputs.paid:
        return ""
    if inputs.paid is inputs.offer:
        return " for the levels of the offer"
    return " for the settings of the paper's menu (here A is paper A)"


def _schedule(found: "Schedule") -> Markup:
    rows = [
        [
            id,
            f"{reward:.4g}",
            "none" if found.whole is None else f"{found.whole.rewards[id]:,.0f}",
            f"{found.free.rewards[id]:.4g}",
            f"{found.honest.shares[id]:.1%}",
        ]
        for id, reward in found.honest.rewards.items()
    ]
    rows.append(["do not take part", "", "", "", f"{1 - found.honest.taking_part:.1%}"])
    first, _, free = _names(found)
    caption = (
        "The schedule: what a report of each setting is paid by rewards that several noisier reports cannot beat, by "
        "these in whole units, and by those without that demand; and the share of producers expected to take each "
        "setting at the first."
    )
    return html_table(caption, ["Setting", first, "Whole units", free, "Who takes it"], rows, numbers=range(1, 5))


def _names(found: "Schedule") -> tuple[str, str, str]:
    """Return the headings of the three columns of rewards.

    The first is "Honest" if honesty is the best reply in general.

    If the noise's law has edges, the rewards only make averaging not worth it, and it is "Against averaging".
    """
    return "Against averaging" if found.edges else "Honest", "Whole units", "Without the demand"


def _offers(found: "Schedule") -> Markup:
    rows = [
        [
            name,
            f"{each.taking_part:.1%}",
            f"{amount(each.cost)}",
            f"{each.within:.2%}",
            f"{each.utility:.3f}",
            f"{each.privacy:.3f}",
        ]
        for name, each in zip(_names(found), (found.honest, found.whole, found.free), strict=True)
        if each is not None
    ]
    caption = (
        "What each of the three is expected to give: the share of producers that takes part, what is paid in a period, "
        "the share of the truth that the total keeps within in 95 of 100 periods, the paper's utility, and the mean "
        "privacy of those who take part."
    )
    heads = ["Rewards", "Take part", "Cost", WITHIN.capitalize(), "Utility", "Privacy"]
    return html_table(caption, heads, rows, numbers=range(1, 6))


def _equal(found: "Schedule") -> Markup:
    """Return the part on how many more producers make up for how much more noise."""
    rows = [
        [f"{at.utility:.3f}", f"{at.within:.2%}", *(f"{each:,}" for each in at.whole.values())] for at in found.equal
    ]
    caption = (
        "Lines of equal utility: how many producers reach it if all of them show the same setting. "
        "More producers make up for more noise; the utility of the rewards above is among the lines."
    )
    return html_table(caption, ["Utility", "Total within", *found.honest.rewards], rows, numbers=range(1, 9))


def _honesty(found: "Schedule") -> list[str]:
    """Return what honesty costs, and how the rewards could be cheated."""
    from halfmask.rewards.reward_schedule import (  # here, because SciPy takes long to import
        bound_told,
        honesty_told,
        split_told,
    )

    told = [honesty_told(found), bound_told(found), *filter(None, [split_told(found)])]
    told += [f"Without that demand, {each}." for each in found.arbitrage]
    told += [
        f"Splitting: {each}. A service takes one report per producer and time; it cannot tell whether two producers "
        "are one person."
        for each in found.splitting
    ]
    told += [f"{each}." for each in found.dominated]
    return told
