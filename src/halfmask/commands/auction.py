"""``halfmask auction``: buying from producers who state their costs."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from halfmask.commands._options import AnyMenu, AnyPath, Options, OutputIfAny, command, held
from halfmask.commands._output import note, print_rows
from halfmask.errors import OptionError, SourceError
from halfmask_device.decimals import upwards

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray
    from halfmask.rewards.auction import PrivacyPurchase, Purchase

GROUP = "Share: service"


@Parameter(name="*")
@dataclass(frozen=True)
class Auction(Options):
    """Options of `auction`. Either a bound on the variance or a budget is named.

    Parameters
    ----------
    bids
        A CSV, one row per producer. With a variance: the columns producer and one per setting of the menu, each cell
        what showing that setting costs this producer. With a budget: producer and cost, per unit of epsilon.
    menu
        The menu whose settings are bought, with a variance.
    variance
        The largest variance of the noise in one report of everybody together.
    unasked
        The variance with which a producer who is not asked must be guessed; that of the noisiest setting if not given.
    budget
        The most to spend (Ghosh and Roth's auction for a count).
    output
        What each producer shows and is paid (CSV). Where several settings have a chance, the payment is expected: who
        draws one of them gets what it stated for that one, and the surplus.
    """

    bids: AnyPath
    _: KW_ONLY
    menu: AnyMenu | None = None
    variance: float | None = None
    unasked: float | None = None
    budget: float | None = None
    output: OutputIfAny = None


@command(Auction)
def auction(options: Auction) -> "tuple[list[str], Purchase | PrivacyPurchase]":
    """The cheapest purchase under a bound on variance, or the largest within a budget, with truthful payments."""
    import numpy as np

    from halfmask.menus.menu import Menu
    from halfmask.rewards.auction import least_cost, within_budget

    if (options.variance is None) == (options.budget is None):
        raise OptionError("name either a bound on the variance or a budget")
    if options.budget is not None:
        people, costs = read_bids(options.bids, ["cost"])
        bought = within_budget(costs[:, 0], options.budget)
        _write(options, people, [["yes" if n in bought.bought else "no", bought.payment if n in bought.bought else 0.0]
                                 for n in range(len(people))], ["bought", "payment"])  # fmt: skip
        return people, bought
    if options.menu is None:
        raise OptionError("a bound on the variance needs the menu whose settings are bought")
    menu = held(Menu, options.menu)
    unknown = [each.id for each in menu.settings if each.noise_std is None]
    if unknown:
        raise OptionError(f"setting {unknown[0]} has no known noise, so its variance is not known: leave it out")
    variances = np.array([each.noise_std or 0.0 for each in menu.settings]) ** 2
    people, costs = read_bids(options.bids, list(menu.ids))
    unasked = float(variances.max()) if options.unasked is None else options.unasked
    purchase = least_cost(costs, variances, unasked, float(options.variance or 0), people)
    surplus = purchase.payments - purchase.costs
    rows: list[list[object]] = [
        [*map(float, shown), float(paid), float(more)]
        for shown, paid, more in zip(purchase.lottery, purchase.payments, surplus, strict=True)
    ]
    _write(options, people, rows, ["not asked", *menu.ids, "payment", "surplus"])
    return people, purchase


def read_bids(path: "AnyPath", columns: list[str]) -> "tuple[list[str], FloatArray]":
    """Producers and their stated costs (N, columns)."""
    import numpy as np

    from halfmask.choice.requirements import read_rows

    rows = read_rows(path)
    heads = [cell.strip() for cell in rows[0][1]] if rows else []
    missing = [name for name in ["producer", *columns] if name not in heads]
    if missing:
        raise SourceError(f"{path}: there is no column {missing[0]}; the columns are producer, {', '.join(columns)}")
    if len(rows) < 2:
        raise SourceError(f"{path}: there are no bids in it: write one row per producer")
    people: dict[str, None] = {}  # in their order, each once
    costs = []
    for number, row in rows[1:]:
        if len(row) != len(heads):
            raise SourceError(f"{path}, row {number}: {len(row)} values instead of {len(heads)}")
        try:
            costs.append([float(row[heads.index(name)]) for name in columns])
        except ValueError as error:
            raise SourceError(f"{path}, row {number}: a cost is not a number") from error
        who = row[heads.index("producer")].strip()
        if not who or who in people:
            said = f"producer {who} bids a second time" if who else "the producer has no name"
            raise SourceError(f"{path}, row {number}: {said}; one row per producer, each with a name of its own")
        people[who] = None
    return list(people), np.array(costs)


def _write(options: Auction, people: list[str], rows: list[list[object]], heads: list[str]) -> None:
    import csv

    from halfmask.files import whole_file

    if options.output is None:
        return
    with whole_file(options.output) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["producer", *heads])
        writer.writerows([who, *row] for who, row in zip(people, rows, strict=True))


def main(options: Auction) -> None:
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
    print_rows([["", ""], *rows])
    print("No bidder gains by stating another cost. Nothing here proves that readings are true, or names people.")
    if options.output is not None:
        note(f"wrote {options.output}")
