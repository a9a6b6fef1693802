"""``halfmask send``: mask and send readings from a producer's own device."""

import os
import select
import stat
import sys
import time as clock
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

from cyclopts import Parameter

from halfmask.commands._options import Flag, Several, command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import OfDevice, Tells
from halfmask.errors import OptionError, RunError, SourceError
from halfmask_device.decimals import money
from halfmask_device.meter_register import MeterRegister, interval_minutes

if TYPE_CHECKING:
    from halfmask_device.csv_stream import ByteSource
    from halfmask_device.lattice import Value
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
        A CSV of readings with a header, or - for standard input; or mqtt://USER@HOST:PORT or mqtts://, the broker of
        the meter, whose password is in HALFMASK_MQTT_PASSWORD. Without it, only queued reports are sent.
    time
        The column with the times, each with its date and, best, its offset.
    value
        The column with the readings. Of a meter's message: the field of its register, with dots (ENERGY.Total).
    topic
        A topic of the meter's broker, once for each of its registers, which are added. It is followed until Ctrl-C.
    unit
        The unit of the meter's register, if it is not known: Wh, kWh, MWh, Wmin.
    follow
        Continue as the file grows, until Ctrl-C.
    partial
        In campaigns of totals, report a period's total also if fewer than 90 % of its readings are there.
    mqtt
        Send the reports (not the readings) by the service's broker, mqtt://PRODUCER:PASSWORD@HOST:PORT or mqtts://;
        each waits for its receipt.
    """

    source: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = field(default=None, kw_only=False)
    time: str = "time"
    value: str = "value"
    topic: Annotated[tuple[str, ...], Several] = ()
    unit: str | None = None
    follow: Flag = False
    partial: Flag = False
    mqtt: str | None = None

    @property
    def of_meter(self) -> bool:
        """Return whether the source is the broker of a meter."""
        return self.source is not None and self.source.startswith(("mqtt://", "mqtts://"))

    def check_together(self) -> None:
        if self.of_meter != bool(self.topic):
            raise OptionError("a meter's broker, mqtt://HOST, and `topic` go together: name both", kind="topic")
        if self.unit is not None and not self.topic:
            raise OptionError("`unit` is that of a meter's register: name its `topic`", kind="unit")
        if self.follow and self.source in (None, "-"):
            raise OptionError("`follow` needs a file that grows: name it")


@dataclass
class Shared:
    """The outcome of sending: what happened to readings and reports.

    ``known``   number of reports that were queued or sent before
    ``held``    number of waiting reports that the budget does not let out
    ``budget``  what is left of the device's budgets, in words
    """

    queued: int = 0
    known: int = 0
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
        elif options.of_meter:
            run.meter()
        elif options.source is None:
            if _is_piped():
                (options.tell or str)("standard input is not read: write - for it, 'halfmask send -'")
        else:
            if not Path(options.source).is_file():
                raise SourceError(
                    f"{options.source}: no such file: name a CSV of readings", place=options.source, kind="missing"
                )
            with open(options.source, "rb", buffering=0 if options.follow else -1) as file:
                run.all_of(file)
        run.send(patient=False)
        run.shared.budget = sharer.budget_words()
        return run.shared


def _is_piped() -> bool:
    """Return whether something waits to be read from a pipe or a file at standard input."""
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
        return stat.S_ISREG(kind) or (stat.S_ISFIFO(kind) and bool(select.select([sys.stdin], [], [], 0)[0]))
    except (OSError, ValueError, AttributeError):  # there is no standard input, or it is no file of the system
        return False


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
        torn = self._torn if self.options.follow else None
        time, value = self.options.time, self.options.value
        for first, batch in csv_batches(cast("ByteSource", source), time, value, name=name, torn=torn):
            self._put(batch, first)
            if self.options.follow:
                self.send(patient=True)

    def _torn(self, row: int) -> None:
        """Count a row that a loss of power cut off. The program that writes the file goes on below it."""
        self.shared.refused["torn"] += 1
        self._tell([f"row {row} is not whole and is left out"])

    def _put(self, batch: "Iterable[tuple[str, Value]]", first: int = 1) -> None:
        queued = self.sharer.put(batch, first=first)
        self.shared.queued += queued.reports
        self.shared.known += queued.known
        self.shared.gathered += queued.gathered
        self.shared.refused += queued.refused
        self._tell(queued.notes)

    def meter(self) -> None:
        """Follow the registers of a meter. A state is on disk before the next; a reading, before it is dropped."""
        from halfmask.commands._meter_topics import MeterTopics

        options, (minutes, unit) = self.options, self._interval()
        registers = MeterRegister(self.sharer.state, options.topic, minutes)
        topics = MeterTopics(str(options.source), options.topic, options.value, options.unit, options.tell or str)
        try:
            while True:
                if readings := registers.readings():
                    self._put(readings.values())
                    registers.drop(max(readings))
                    self.send(patient=True)
                self._send_due()
                for topic, when, state in topics.states(WAIT, unit):
                    registers.take(topic, when, state)
        finally:
            topics.close()

    def _interval(self) -> tuple[int, str]:
        """Return minutes and unit of the readings that the campaigns ask for."""
        asked = {(interval_minutes(each.terms), each.terms.unit) for each in self.sharer.memberships()}
        minutes, unit = next(iter(asked)) if len(asked) == 1 else (None, "")
        if minutes is None or 60 % minutes:
            raise OptionError(
                "a meter's register gives readings of one unit and of 1 to 60 minutes that divide the hour, and the "
                "device's campaigns ask for others: send a CSV, or use a device for each campaign",
                kind="interval",
            )
        return minutes, unit

    def _idle(self) -> bool:
        clock.sleep(WAIT)
        self._send_due()
        return True

    def _send_due(self) -> None:
        """Send again what waits, and the totals that are due."""
        if self.shared.waiting or self._totals_due():
            self.send(patient=True)

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
        except (RunError, OptionError) as error:
            if not patient or (isinstance(error, OptionError) and error.code != "option.budget"):
                raise  # a budget that is spent has room again on another day
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
    queued = f"queued {shared.queued} report(s); " if shared.queued or not shared.gathered else ""
    print(f"{queued}sent: {counted(shared.outcomes)}; rewards expected: {earned}")
    if shared.known:
        note(f"{shared.known} report(s) were queued or sent before, and do not count again")
    if shared.gathered:
        note(
            f"{shared.gathered} reading(s) count in the totals of their periods; each total is sent once, when its "
            "period has ended"
        )
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
    "torn": "in rows that are not whole",
    "revision": "of a time that was reported with another value",
    "unaligned": "not of the first instant of a slot, of which the campaign takes one report",
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
