"""``halfmask reward``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.reward import Reward
from halfmask.commands.reward import reward as work_out


def reward(options: Reward) -> None:
    """What to pay for each setting of a menu: honest rewards per report, and what they buy."""
    found = work_out(options)
    rows = [["", *found.honest.rewards, "take part", "cost a period", "total within", "utility", "privacy"]]
    for name, offer in (
        ("reward, honest", found.honest),
        ("in whole units", found.whole),
        ("without honesty", found.free),
    ):
        numbers = [f"{offer.cost:,.6g}", f"{offer.within:.2%}", f"{offer.utility:.3f}", f"{offer.privacy:.3f}"]
        rows.append([name, *(f"{each:.4g}" for each in offer.rewards.values()), f"{offer.taking_part:.1%}", *numbers])
        rows.append(["  who takes it", *(f"{each:.1%}" for each in offer.shares.values()), *([""] * 5)])
    print_rows(
        rows, f"Rewards per report; {found.producers:,} producers with {found.reports:.3g} reports each a period"
    )
    print(f"Honesty widens the total's error by {found.honesty_costs:.1%} of it.")
    for told in found.arbitrage:
        print(f"Without honesty, {told}.")
    for told in found.splitting:
        print(f"Splitting: {told}; the service allows one report per producer and time, and cannot tell one from many.")
    for told in found.dominated:
        print(f"Nobody would choose {told}.")
    if found.gap > 1e-6:
        print(
            f"Producers differ, so the best rewards are not certain: at most {found.gap:,.3g} a period could be gained."
        )
    curve = [["budget a period", "total within", "utility", "take part", "price of utility"]]
    for at in found.curve:
        price = "" if at.price is None else f"{at.price:,.4g}"
        curve.append([f"{at.budget:,.4g}", f"{at.within:.2%}", f"{at.utility:.3f}", f"{at.taking_part:.1%}", price])
    print_rows(curve, "What money buys, up to where more buys next to nothing")
    if options.output is not None:
        note(f"wrote {options.output}")
