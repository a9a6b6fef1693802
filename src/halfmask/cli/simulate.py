"""``halfmask simulate``."""

from dataclasses import replace

from halfmask.cli.output import bar, note, print_rows
from halfmask.commands.simulate import Simulate
from halfmask.commands.simulate import simulate as run

DEFAULTS = Simulate()


def simulate(options: Simulate = DEFAULTS) -> None:
    """A population of producers and a consumer against a live service: what was worked out, put to the proof."""
    with bar("days", options.days) as advance:
        found = run(replace(options, advance=advance, tell=note))
    ids, result = found.menu.ids, found.result
    rows = [["day", *ids, "take part", "spent", "truth", "published", "error", "inside"]]
    for row in result.rows:
        taking = sum(row.producers.values())
        published = (
            "withheld" if row.estimate is None else f"{row.estimate:,.0f} ± {(row.high or 0) - row.estimate:,.0f}"
        )
        error = "" if row.error is None else f"{row.error:.1%}"
        inside = {None: "", True: "yes", False: "no"}[row.inside]
        shown = [f"{row.producers.get(id, 0)} at {row.rewards.get(id, 0)}" for id in ids]
        rows.append(
            [str(row.day + 1), *shown, f"{taking:,}", f"{row.spent:,}", f"{row.truth:,.0f}", published, error, inside]
        )
    print_rows(rows, "Producers by setting, at its reward per report; the published total beside the true one")
    held, shown_count = result.held
    print(f"{held} of {shown_count} published intervals hold the truth; 95 of 100 are meant to.")
    print(
        f"Utility of the live system {found.utility:.3f}; 'halfmask mix' gives {found.mixed:.3f} for the same shares."
    )
    if result.learned is not None:
        model = result.learned
        print(f"The consumer learned: a unit of privacy is worth {model.worth / model.money:.2f} in money; "
              f"the producers' own value is {options.worth / options.money:.2f}.")  # fmt: skip
    if options.liars and found.suspects is not None:
        caught = len(found.suspects & result.liars)
        print(
            f"{caught} of {len(result.liars)} who lied are suspected, and {len(found.suspects - result.liars)} who did not."
        )
    if options.output is not None:
        note(f"wrote {options.output}")
