"""``halfmask solve``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.solve import Solve
from halfmask.commands.solve import solve as find

DEFAULTS = Solve()


def solve(options: Solve = DEFAULTS) -> None:
    """Noise for a promise: the least of each mechanism that keeps it; or the strongest promise that keeps an error."""
    found = find(options)
    asked = found.question.words()
    title = f"Epsilon {options.epsilon:g} {asked}" if options.epsilon is not None else f"The strongest promise {asked}"
    print_rows(found.rows(), title)
    for told in found.notes():
        note(told)
