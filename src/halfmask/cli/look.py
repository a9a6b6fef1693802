"""``halfmask look``."""

from halfmask.cli.output import print_rows
from halfmask.commands.look import Look, commands
from halfmask.commands.look import look as look_at

NOTHING_SAID = Look()


def look(options: Look = NOTHING_SAID) -> None:
    """Look at a source of readings: first rows, every guess with its evidence, what is dropped and why."""
    from halfmask.cli.phrases import phrase  # it reads the commands, of which this is one

    seen = look_at(options)
    print_rows([seen.names, *seen.rows], "First rows")
    if seen.guesses:
        rows = [
            [guess.what, guess.choice, phrase(guess.evidence, "look"), phrase(guess.option, "look")]
            for guess in seen.guesses
        ]
        print_rows([["", "taken as", "because", "overruled by"], *rows], "\nUnderstood")
    for note in seen.notes:
        print(f"note: {phrase(note, 'look')}")
    if seen.accounts:
        rows = [[reason, f"{count:,}"] for reason, count in seen.accounts]
        print_rows([["rows", "number"], *rows, ["all rows of the source", f"{seen.total:,}"]], "\nRows")
        print_rows([["", ""], *[[name, text] for name, text in seen.quality]], "\nReadings")
    if seen.problem:
        print(f"\nIn doubt: {phrase(seen.problem, 'look')}")
    lines = commands(options, seen)
    if lines:
        print("\nTo go on" + (", one of" if len(lines) > 1 else "") + ":")
    for line in lines:
        print(f"  {line}")
