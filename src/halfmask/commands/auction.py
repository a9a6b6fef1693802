"""``halfmask auction``: buy from producers that state their costs."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.commands._files import number_in, read_csv, write_csv
from halfmask.commands._options import AnyMenu, AnyPath, command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, MayWrite, menu_of
from halfmask.errors import OptionError, SourceError
from halfmask_device.decimals import upwards

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray
    from halfmask.rewards.auction import PrivacyPurchase, Purchase


class Auction(MayWrite):
    """Options of `auction`. Either a bound on the variance or a budget is named.

    Parameters
    ----------
    bids
        A CSV with one row per producer. With --variance: a column producer and one per setting of the menu, with what
        showing that setting costs this producer. With --budget: producer and cost, per unit of epsilon.
    menu
        The menu whose settings are bought, with a variance.
    variance
        The largest variance of the noise in one report of everybody together.
    unasked
        The variance of the guess for a producer that is not asked; by default that of the noisiest setting.
    budget
        The most to spend (Ghosh and Roth's auction for a count).
    output
        What each producer shows and is paid (CSV). If several settings have a chance, the payment is the expected one:
        a producer that draws one of them gets what it stated for that one, and the surplus.
    """

    bids: AnyPath = field(kw_only=False)
    menu: AnyMenu | None = None
    variance: float | None = None
    unasked: float | None = None
    budget: float | None = None

    def save(self, made: "tuple[list[str], Purchase | PrivacyPurchase]", path: Path) -> None:
        write_csv(path, paid_rows(self, *made))


@command(Auction, group="Share: service")
def auction(options: Auction) -> "tuple[list[str], Purchase | PrivacyPurchase]":
    """Return the cheapest purchase within a variance, or the largest within a budget, with truthful payments."""
    import numpy as np

    from halfmask.rewards.auction import least_cost, within_budget

    if (options.variance is None) == (options.budget is None):
        raise OptionError("name either a bound on the variance or a budget")
    if options.budget is not None:
        people, costs = read_bids(options.bids, ["cost"])
        return people, within_budget(costs[:, 0], options.budget)
    if options.menu is None:
        raise OptionError("a bound on the variance needs the `menu` whose settings are bought")
    menu = menu_of(options.menu)
    unknown = [each.id for each in menu.settings if each.noise_std is None]
    if unknown:
        raise OptionError(f"setting {unknown[0]} has no known noise, so its variance is not known: leave it out")
    variances = np.array([each.noise_std or 0.0 for each in menu.settings]) ** 2
    people, costs = read_bids(options.bids, list(menu.ids))
    unasked = float(variances.max()) if options.unasked is None else options.unasked
    return people, least_cost(costs, variances, unasked, float(options.variance or 0), people)


def read_bids(path: "AnyPath", columns: list[str]) -> "tuple[list[str], FloatArray]":
    """Return the producers and their stated costs (N, columns)."""
    import numpy as np

    costs: dict[str, list[float]] = {}  # by producer, in their order
    for place, cells in read_csv(path, ["producer", *columns]):
        name = cells["producer"]
        if not name or name in costs:
            said = f"producer {name} bids a second time" if name else "the producer has no name"
            raise SourceError(f"{place}: {said}; write one row per producer, each with its own name", place=place)
        costs[name] = [number_in(cells, column, place) for column in columns]
    if not costs:
        raise SourceError(f"{path}: there are no bids in it: write one row per producer", place=str(path))
    return list(costs), np.array(list(costs.values()))


def paid_rows(options: Auction, people: list[str], found: "Purchase | PrivacyPurchase") -> list[list[object]]:
    """Return what each producer shows and is paid, headings first."""
    from halfmask.rewards.auction import Purchase

    if not isinstance(found, Purchase):
        bought = [n in found.bought for n in range(len(people))]
        rows = [["yes", found.payment] if each else ["no", 0.0] for each in bought]
        return [["producer", "bought", "payment"], *([name, *row] for name, row in zip(people, rows, strict=True))]
    heads = ["producer", "not asked", *menu_of(options.menu or "").ids, "payment", "surplus"]
    surplus = found.payments - found.costs
    columns = [people, *found.lottery.T.tolist(), found.payments.tolist(), surplus.tolist()]
    return [heads, *map(list, zip(*columns, strict=True))]


def main(options: Auction, *, shown: Display = IN_SHORT) -> None:
    """Buy from producers who state their costs, so that stating the truth is best for each of them."""
    from halfmask.rewards.auction import Purchase

    people, bought = auction(options)
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
    heads, *paid = paid_rows(options, people, bought)
    shown.show(
        CommandAnswer(
            [dict(zip(map(str, heads), row, strict=True)) for row in paid],
            [("", [["", ""], *rows])],
            "No bidder gains by stating another cost.",
            "" if options.output else f"{options.command_line()} -o paid.csv",
            ["nothing here proves that readings are true"],
            [("What each producer shows and is paid", _short(paid_rows(options, people, bought)))],
        )
    )


def _short(rows: list[list[object]]) -> list[list[object]]:
    """Return rows with numbers of six digits."""
    return [[f"{each:.6g}" if isinstance(each, float) else each for each in row] for row in rows]
