"""``halfmask vote``."""

from halfmask.cli.output import note, print_rows
from halfmask.cli.tables import election_rows
from halfmask.commands.vote import Vote
from halfmask.commands.vote import vote as count_votes


def vote(options: Vote) -> None:
    """Choose one setting for all by vote."""
    found = count_votes(options)
    title = f"{found.voters} voters, by {found.rule}: {found.winner.id} ({found.winner.setting})"
    print_rows(election_rows(found), title)
    if found.note:
        note(found.note)
