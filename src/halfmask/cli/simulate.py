"""``halfmask simulate``."""

from dataclasses import replace
from typing import TYPE_CHECKING

from halfmask.cli.output import live_rows, note, print_rows
from halfmask.commands.simulate import Simulate
from halfmask.commands.simulate import simulate as run

if TYPE_CHECKING:
    from halfmask.commands.simulate import Simulated
    from halfmask.simulation.results import Row

DEFAULTS = Simulate()


def simulate(options: Simulate = DEFAULTS) -> None:
    """A population of producers and a consumer against a live service: what was worked out, put to the proof."""
    heads = ["day", "take part", "spent so far", "privacy", "truth", "published", "error", "inside"]
    with live_rows(heads, options.days) as add:
        found = run(replace(options, watch=lambda row: add(_shown(row)), tell=note))
    ids, result = found.menu.ids, found.result
    rows = [[heads[0], *ids, *heads[1:]]]
    for row in result.rows:
        day, *rest = _shown(row)
        rows.append([day, *(f"{row.producers.get(id, 0)} at {row.rewards.get(id, 0)}" for id in ids), *rest])
    print_rows(rows, "Producers by setting, at its reward per report; the published total beside the true one")
    _outcome(options, found)
    for written in (options.output, options.figure):
        if written is not None:
            note(f"wrote {written}")


def _outcome(options: Simulate, found: "Simulated") -> None:
    """What the days come to: intervals, utility, what was learned, and who was caught."""
    import numpy as np

    result, mixes, lies = found.result, found.mixes, bool(options.liars)
    held, published = result.held
    meant = f"95 of 100 are meant to{' where nobody lies' * lies}"
    print(f"{held} of {published} published intervals hold the truth; {meant}.")
    if lies:
        least, most = result.moved
        print(
            f"Lies moved a day's total by {least:+.1%} to {most:+.1%}. The sum of what was sent, lies and all, is in "
            f"{result.held_as_sent} of {published}: intervals are about noise, and tell nothing of lies."
        )
    if published:
        print(
            f"Utility of the live system{', lies included' * lies}: {max(found.utility, 0):.3f}. 'halfmask mix' of as "
            f"many producers and days, were the average day's shares the same every day{' and nobody lied' * lies}: "
            f"{np.median(mixes):.3f}, {mixes.min():.3f} to {mixes.max():.3f} in 95 of 100 draws."
        )
    if result.learned is not None:
        own, learned = options.worth / options.money, result.learned.price_told()
        print(f"A unit of privacy is worth {own:.4g} in money to producers; the consumer learned {learned}.")
    if lies and found.suspects is not None:
        caught, wrongly = len(found.suspects & result.liars.keys()), len(found.suspects - result.liars.keys())
        bare = len(found.unmasked_liars - found.suspects)
        print(
            f"Of {len(result.liars)} who lied {caught} are proven to; {bare} claim no noise, so that none is missing; "
            f"{len(result.liars) - caught - bare} stay hidden. Of the others {wrongly} are suspected."
        )
        proof = ", ".join(f"{id} {count}" for id, count in found.proof.items())
        print(f"Equal reports that are always proof, by setting: {proof}.")


def _shown(row: "Row") -> list[str]:
    """A day as the table shows it."""
    error = "" if row.error is None else f"{row.error:.1%}"
    privacy = "" if row.privacy is None else f"{row.privacy:.2f}"
    inside = {None: "", True: "yes", False: "no"}[row.inside]
    taking = f"{sum(row.producers.values()):,}"
    return [str(row.day + 1), taking, f"{row.spent:,}", privacy, f"{row.truth:,.0f}", _published(row), error, inside]


def _published(row: "Row") -> str:
    if row.estimate is None or row.high is None:
        return "withheld"
    return f"{row.estimate:,.0f} ± {row.high - row.estimate:,.0f}"
