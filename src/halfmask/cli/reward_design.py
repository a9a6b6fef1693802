"""``halfmask reward design``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.reward_design import RewardDesign
from halfmask.commands.reward_design import reward_design as draw


def reward_design(options: RewardDesign) -> None:
    """Rewards drawn at random, so that what they do can be learned from who chooses what."""
    ids, drawn = draw(options)
    rows = [["group", *ids], *([str(number + 1), *(f"{each:.0f}" for each in row)] for number, row in enumerate(drawn))]
    print_rows(rows, "Rewards per report")
    if options.output is not None:
        note(f"wrote {options.output}")
