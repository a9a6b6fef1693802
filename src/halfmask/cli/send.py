"""``halfmask send``."""

from collections import Counter
from dataclasses import replace

from halfmask.cli.output import note
from halfmask.commands.send import Send, Shared
from halfmask.commands.send import send as share


def send(options: Send) -> None:
    """Mask readings on the producer's own device and send the reports to every campaign joined."""
    heard: set[str] = set()

    def once(text: str) -> None:
        if text not in heard:
            heard.add(text)
            note(text)

    _say(share(replace(options, tell=once)))


def _say(shared: Shared) -> None:
    print(f"queued {shared.queued} report(s); sent: {_counts(shared.outcomes)}; earned {shared.reward}")
    if shared.refused:
        note(f"not reported: {_counts(shared.refused)}")
    if shared.waiting:
        note(f"{shared.waiting} report(s) wait in the queue: run 'halfmask send' again")


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"
