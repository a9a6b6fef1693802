"""``halfmask auction``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.auction import Auction
from halfmask.commands.auction import auction as buy
from halfmask_device.decimals import upwards


def auction(options: Auction) -> None:
    """Buy from producers who state their costs, so that stating the truth is best for each of them."""
    from halfmask.rewards.auction import Purchase

    people, bought = buy(options)
    if isinstance(bought, Purchase):
        asked = int((bought.lottery[:, 0] < 1).sum())
        drawn = [who for who, shown in zip(people, bought.lottery, strict=True) if (shown > 0).sum() > 1]
        sums = {"total variance": bought.variance, "payments": bought.spent, "stated costs": bought.costs.sum()}
        rows = [["producers asked", f"{asked:,} of {len(people):,}"]]
        rows += [[name + ", expected" * bool(drawn), f"{each:.6g}"] for name, each in sums.items()]
        rows += [["has a lottery of two settings", each] for each in drawn]
    else:
        rows = [["producers bought", f"{len(bought.bought):,} of {len(people):,}"]]
        if len(bought.bought):
            rows += [
                ["epsilon of one count, for another answer of one producer, delta 0", upwards(bought.epsilon, 4)],
                ["payment to each", f"{bought.payment:.6g}"],
                ["in all", f"{bought.payment * len(bought.bought):.6g}"],
            ]
    print_rows([["", ""], *rows])
    print("No bidder gains by stating another cost. Nothing here proves that readings are true, or names people.")
    if options.output is not None:
        note(f"wrote {options.output}")
