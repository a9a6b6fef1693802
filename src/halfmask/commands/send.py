"""``halfmask send``: mask and send readings from a producer's own device."""

import sys
import time as clock
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

from cyclopts import Parameter

from halfmask.commands._options import Flag, command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import OfDevice, Tells
from halfmask.errors import OptionError, RunError, SourceError
from halfmask_device.decimals import money

if TYPE_CHECKING:
    from halfmask_device.csv_stream import ByteSource
    from halfmask_device.sharing import Sharer

WAIT = 1.0
"""Seconds between two reads of a growing file."""
TOTALS_EVERY = 60.0
"""Seconds between two looks whether a period has ended, while a file does not grow."""


class Send(OfDevice, Tells):
    """Options of `send`.

    Parameters
    ----------
    source
        A CSV of readings with a header, or - for standard input; without it, only queued reports are sent.
    time
        The column with the times, each with its date and, best, its offset.
    value
        The column with the readings.
    follow
        Continue as the file grows, until Ctrl-C.
    partial
        In campaigns of totals, report a period's total also if fewer than 90 % of its readings are there.
    mqtt
        Send the reports by this broker, mqtt://PRODUCER:PASSWORD@HOST:PORT or mqtts://; each waits for its receipt.
        Shares of split totals always go by HTTP.
    """

    source: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = field(default=None, kw_only=False)
    time: str = "time"
    value: str = "value"
    follow: Flag = False
    partial: Flag = False
    mqtt: str | None = None

    def check_together(self) -> None:
        if self.follow and self.source in (None, "-"):
            raise OptionError("`follow` needs a file that grows: name it")


@dataclass
class Shared:
    """The outcome of sending: what happened to readings and reports.

    ``held``    number of waiting reports that the budget does not let out
    ``budget``  what is left of the device's budgets, in words
    """

    queued: int = 0
    gathered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    earned: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    held: int = 0
    budget: list[str] = field(default_factory=list)


@command(Send, group="Share: device")
def send(options: Send) -> Shared:
    """Mask readings for every campaign joined, queue the reports on disk, and send until each has its receipt."""

    with _sharer(options) as sharer:
        run = _Run(options, sharer, Shared())
        if options.source == "-":
            run.all_of(sys.stdin.buffer)
        elif options.source is not None:
            if not Path(options.source).is_file():
                raise SourceError(
                    f"{options.source}: no such file: name a CSV of readings", place=options.source, kind="missing"
                )
            with open(options.source, "rb", buffering=0 if options.follow else -1) as file:
                run.all_of(file)
        run.send(patient=False)
        run.shared.budget = sharer.budget_words()
        return run.shared


@contextmanager
def _sharer(options: Send) -> "Iterator[Sharer]":
    """Yield the device's client; with a broker, reports go by MQTT and all else by HTTP."""
    from halfmask_device.sharing import Sharer

    if options.mqtt is None:
        yield Sharer(options.state, create=False)
        return
    from halfmask.service.mqtt import MqttTransport
    from halfmask_device.http_client import ServiceClient, urllib_transport

    producers = {each.token: each.producer for each in Sharer(options.state, create=False).memberships()}
    transport = MqttTransport(options.mqtt, producers, urllib_transport)
    try:
        yield Sharer(options.state, lambda address: ServiceClient(address, transport), create=False)
    finally:
        transport.close()


@dataclass
class _Run:
    options: Send
    sharer: "Sharer"
    shared: Shared
    look_again: float = 0.0

    def all_of(self, file: BinaryIO) -> None:
        from halfmask_device.csv_stream import Growing, csv_batches

        source = Growing(file, self._idle) if self.options.follow else file
        name = "standard input" if self.options.source == "-" else str(self.options.source)
        for first, batch in csv_batches(cast("ByteSource", source), self.options.time, self.options.value, name=name):
            queued = self.sharer.put(batch, first=first)
            self.shared.queued += queued.reports
            self.shared.gathered += queued.gathered
            self.shared.refused += queued.refused
            self._tell(queued.notes)
            if self.options.follow:
                self.send(patient=True)

    def _idle(self) -> bool:
        clock.sleep(WAIT)
        if self.shared.waiting or self._totals_due():
            self.send(patient=True)
        return True

    def _totals_due(self) -> bool:
        """Return whether the total of a period can be sent; it is looked up once a minute."""
        if clock.monotonic() < self.look_again:
            return False
        self.look_again = clock.monotonic() + TOTALS_EVERY
        return self.sharer.totals_due(partial=self.options.partial)

    def send(self, *, patient: bool) -> None:
        """Send what is queued. If the service does not answer, a patient run goes on queueing."""
        try:
            sent = self.sharer.send(partial=self.options.partial)
        except RunError as error:
            if not patient:
                raise
            self.shared.waiting = 1
            self._tell([str(error)])
            return
        self.shared.outcomes += sent.outcomes
        self.shared.earned.update(sent.earned)
        self.shared.waiting, self.shared.held = sent.waiting, sent.held
        self._tell(sent.notes)

    def _tell(self, notes: list[str]) -> None:
        for text in notes:
            (self.options.tell or str)(text)


def main(options: Send) -> None:
    """Mask readings on the producer's own device and send the reports to every campaign joined."""
    heard: set[str] = set()

    def once(text: str) -> None:
        if text not in heard:
            heard.add(text)
            note(text)

    _say(send(replace(options, tell=once)))


def _say(shared: Shared) -> None:
    earned = " and ".join(money(amount, currency) for currency, amount in shared.earned.items()) or "nothing"
    print(f"queued {shared.queued} report(s); sent: {counted(shared.outcomes)}; earned {earned}")
    if shared.gathered:
        note(f"{shared.gathered} reading(s) count in the totals of their periods, which are sent when these have ended")
    if shared.refused:
        note(f"not reported: {counted(shared.refused)}")
    if shared.waiting:
        note(f"{shared.waiting} report(s) wait in the queue: run 'halfmask send' again")
    if shared.held:
        note(f"{shared.held} of them wait because the budget is spent: 'halfmask ledger --budget' changes it")
    for words in shared.budget:
        note(words)


WORDS = {
    "known": "accepted before",
    "conflict": "refused, since another value stands for the time",
    "closed": "refused, since the period is closed",
    "contested": "refused as closed, although open by this device's clock, which stay queued",
    "future": "too early for the service's clock, which stay queued",
    "outside_campaign": "outside the campaign's time",
    "unknown_setting": "refused, since the setting is not on the menu",
    "implausible": "refused as implausible: is the lattice the campaign's?",
    "malformed": "refused, since the service could not read them",
    "refused": "refused without a reason",
    "missing": "without a value",
    "revision": "of a time that was reported with another value",
    "unaligned": "of times that the campaign does not take",
    "forgotten": "of days that are over, whose keys are erased",
    "budget": "beyond the budget",
    "late": "too late for the total of their period, which was reported",
    "partial": "not reported, since too few readings of the period came",
    "masking": "not masked yet",
    "withdrawn": "withdrawn when the campaign was left",
    "waiting": "waiting for a receipt",
}
"""What the codes of refusals and receipts mean, as they are printed."""


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {WORDS.get(name, name)}" for name, count in sorted(counts.items())) or "nothing"
