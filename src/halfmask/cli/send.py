"""``halfmask send``."""

from collections.abc import Mapping
from dataclasses import replace

from halfmask.cli.output import note
from halfmask.commands.send import Send, Shared
from halfmask.commands.send import send as share
from halfmask_device.decimals import money


def send(options: Send) -> None:
    """Mask readings on the producer's own device and send the reports to every campaign joined."""
    heard: set[str] = set()

    def once(text: str) -> None:
        if text not in heard:
            heard.add(text)
            note(text)

    _say(share(replace(options, tell=once)))


def _say(shared: Shared) -> None:
    earned = " and ".join(money(amount, currency) for currency, amount in shared.earned.items()) or "nothing"
    print(f"queued {shared.queued} report(s); sent: {counted(shared.outcomes)}; earned {earned}")
    if shared.refused:
        note(f"not reported: {counted(shared.refused)}")
    if shared.waiting:
        note(f"{shared.waiting} report(s) wait in the queue: run 'halfmask send' again")


WORDS = {
    "known": "accepted before",
    "conflict": "refused, since another value stands for the time",
    "closed": "refused, since the period is closed",
    "future": "too early for the service's clock, which stay queued",
    "outside_campaign": "outside the campaign's time",
    "unknown_setting": "refused, since the setting is not on the menu",
    "implausible": "refused as implausible: is the lattice the campaign's?",
    "malformed": "refused, since the service could not read them",
    "refused": "refused without a reason",
    "missing": "without a value",
    "revision": "of a time that was reported with another value",
    "unaligned": "of times that the campaign does not take",
    "forgotten": "of days whose keys were deleted",
    "limit": "beyond the limit of the ledger",
    "waiting": "waiting for a receipt",
}
"""What became of readings and reports, said to a person."""


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {WORDS.get(name, name)}" for name, count in sorted(counts.items())) or "nothing"
