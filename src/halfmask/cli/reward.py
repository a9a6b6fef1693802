"""``halfmask reward``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.reward import Reward
from halfmask.commands.reward import reward as work_out


def reward(options: Reward) -> None:
    """What to pay for each setting of a menu: rewards per report, and what they buy."""
    from halfmask.rewards.schedule import bound_told, honesty_told

    found = work_out(options)
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
    print_rows(
        rows, f"Rewards per report; {found.producers:,} producers with {found.reports:.3g} reports each a period"
    )
    print(honesty_told(found))
    print(bound_told(found))
    for told in found.arbitrage:
        print(f"Without that demand, {told}.")
    for told in found.splitting:
        print(f"Splitting: {told}; the service allows one report per producer and time, and cannot tell one from many.")
    for told in found.dominated:
        print(f"{told}.")
    curve = [["budget a period", "total within", "utility", "take part", "price of utility"]]
    for at in found.curve:
        price = "" if at.price is None else f"{at.price:,.4g}"
        curve.append([f"{at.budget:,.4g}", f"{at.within:.2%}", f"{at.utility:.3f}", f"{at.taking_part:.1%}", price])
    print_rows(curve, "What money buys, up to where more buys next to nothing")
    lines = [["utility", "total within", *found.honest.rewards]]
    for equal in found.equal:
        needed = (f"{each:,}" for each in equal.whole.values())
        lines.append([f"{equal.utility:.3f}", f"{equal.within:.2%}", *needed])
    print_rows(lines, "Lines of equal utility: how many producers reach it, if all of them show that setting")
    if options.output is not None:
        note(f"wrote {options.output}")
