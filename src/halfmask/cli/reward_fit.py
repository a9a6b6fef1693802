"""``halfmask reward fit``."""

from dataclasses import replace

from halfmask.cli.output import note, print_rows
from halfmask.commands.reward_fit import RewardFit
from halfmask.commands.reward_fit import reward_fit as learn

DEFAULTS = RewardFit()


def reward_fit(options: RewardFit = DEFAULTS) -> None:
    """What producers choose at which rewards, learned from what they chose."""
    found = learn(replace(options, tell=note))
    model = found.model
    values = {"taking part": model.take, "a unit of privacy": model.worth, "a unit of money": model.money}
    rows = [["value to a producer of", "estimate", "standard error"]]
    rows += [[name, f"{value:.4g}", f"{e:.2g}"] for (name, value), e in zip(values.items(), found.errors, strict=True)]
    errors = "are clustered by producer"
    if options.service is not None:
        errors = "hold whatever hangs together in one producer's choices, which a service does not tell"
    print_rows(rows, f"{found.occasions:,} choices of {found.producers:,} producers; errors {errors}")
    if found.spread_range is not None:
        print(_differ(model.spread, *found.spread_range))
    print(f"What a unit of privacy is worth in money: {model.price_told()}.")
    if options.output is not None:
        note(f"wrote {options.output}")


def _differ(spread: float, low: float, high: float) -> str:
    """How much what privacy is worth differs between producers, and what is known of that."""
    alike = "" if low > 0 else ", so they may as well all be alike"
    return (
        f"The value of a unit of privacy differs between producers by {spread:.4g} (standard deviation; 95 % interval "
        f"{low:.4g} to {high:.4g}{alike})."
    )
