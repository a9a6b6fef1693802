"""A producer's part in campaigns: join, mask each reading once, queue the reports, send them, wait for receipts.

A report stays in the queue until the service has answered for this report: accepted, known, or refused for good. Raw
readings are never queued, logged or sent. The device pins the hash of a campaign's terms when it joins.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from halfmask_device.decimals import money
from halfmask_device.errors import HalfmaskError, OptionError, ReadingError, RunError
from halfmask_device.instants import at, instant_text, of_datetime
from halfmask_device.lattice import Value
from halfmask_device.ledger import Guard
from halfmask_device.masking import Channel, Look, mask
from halfmask_device.protocol import CampaignTerms, ReportResult
from halfmask_device.state import State, can_begin, holds_device
from halfmask_device.times import moment
from halfmask_device.transport import ServiceClient, ServiceError

BATCH = 1000
"""Reports per request: well below the protocol's limits of 10,000 reports and one mebibyte."""

BEYOND = "some readings lie outside the campaign's range and count as its end: are they in the campaign's unit?"


@dataclass(frozen=True)
class Membership:
    """What a device stores about a campaign that it joined.

    ``setting``  id of the current setting on the campaign's menu
    ``pinned``   hash of the terms that were joined
    ``token``    the producer's secret
    ``past``     ids of earlier settings, whose reports remain valid
    ``left``     whether the device has left the campaign
    """

    address: str
    campaign: str
    producer: str
    setting: str
    pinned: str
    offer: dict[str, object]
    token: str = field(repr=False)
    past: tuple[str, ...] = ()
    left: bool = False

    @cached_property
    def terms(self) -> CampaignTerms:
        """The offer as it was when the device joined."""
        return CampaignTerms.read(self.offer)


@lru_cache(maxsize=1024)
def _kept(plain: str) -> Membership:
    """Return the membership stored as this JSON text, cached because the same text is parsed with every reading."""
    row = json.loads(plain)
    return Membership(**(row | {"past": tuple(row["past"])}))


@dataclass
class Sent:
    """The result of sending the queue.

    ``outcomes``  number of reports by outcome
    ``earned``    rewards by currency
    ``waiting``   number of reports still without a receipt
    ``notes``     messages for the user
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    earned: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass
class Queued:
    """The result of queueing readings.

    ``reports``  number of reports that are in the queue, new or already known
    ``refused``  number of other readings, by reason
    ``notes``    messages for the user
    """

    reports: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def levels(terms: CampaignTerms) -> dict[str, list[str]]:
    """Return for each setting id of a campaign's menu its name, the setting and the reward per report.

    A name or reward that the campaign does not state is left out.
    """
    offer, found = terms.offer, {}
    for entry in offer["menu"]["settings"]:
        reward, name = (offer.get("rewards") or {}).get(entry["id"]), entry.get("name")
        paid = f"{money(reward, str(offer.get('currency', '')))} a report" if isinstance(reward, int) else ""
        told = [name if isinstance(name, str) else "", terms.menu[entry["id"]], paid]
        found[entry["id"]] = [words for words in told if words]
    return found


class Sharer:
    """One meter in any number of campaigns.

    ``state``    folder of the device; a new device is created there on the first successful join
    ``service``  makes the client for an address; tests pass another one
    ``create``   if False, a device that does not exist is an error and is never created
    """

    def __init__(
        self, state: str | Path, service: Callable[[str], ServiceClient] = ServiceClient, *, create: bool = True
    ) -> None:
        self._folder, self._service, self._create = Path(state), service, create

    @cached_property
    def state(self) -> State:
        """The device's memory."""
        state = State(self._folder, create=self._create)
        state.durable()
        return state

    def join(
        self, address: str, campaign: str | None = None, setting: str | None = None, invitation: str | None = None
    ) -> Membership:
        """Join a campaign of a service with one of its settings.

        ``campaign`` may be omitted if the service has only one.
        """
        service = self._service(address)
        found = self._offer(service, campaign)
        terms, id = CampaignTerms.read(found), str(found.get("campaign", ""))
        if any(
            each.campaign == id for each in self.memberships()
        ):  # at any address: the device must count once, and the queue is kept by campaign id
            raise OptionError(f"this device is in campaign {id} already: leave it first, or change its setting there")
        if setting is None or setting not in terms.menu:
            menu = ", ".join(f"{id} ({'; '.join(words)})" for id, words in levels(terms).items())
            raise OptionError(f"name a `setting` of the campaign's menu: {menu}")
        can_begin(self._folder)
        body = {"setting": setting} | ({"invitation": invitation} if invitation else {})
        joined = service.ask("POST", f"/v1/campaigns/{id}/producers", None, body)
        return self._enter(service, found, str(joined["producer"]), setting, str(joined["token"]))

    def _enter(
        self, service: ServiceClient, offer: dict[str, object], producer: str, setting: str, token: str
    ) -> Membership:
        """Store a new membership.

        If the device was in this campaign at this address before, its earlier settings are kept in ``past``, because
        the reports made with them remain valid.
        """
        terms, id = CampaignTerms.read(offer), str(offer["campaign"])
        before = [each for each in self.memberships(left=True) if each.campaign == id]
        here = [each for each in before if each.address == service.address]  # another must not learn of it
        told = dict.fromkeys(past for each in here for past in (*each.past, each.setting))
        past = tuple(each for each in told if each in terms.menu and each != setting)
        member = Membership(service.address, id, producer, setting, terms.terms_hash(), offer, token, past)
        with self.state.memory() as memory:
            if any(each.left for each in before):  # kept, because its token still reads its rewards
                earlier = (f"{id} before {producer}", id)
                memory.execute("UPDATE campaigns SET id = ? WHERE id = ?", earlier)
                memory.execute("UPDATE queue SET campaign = ? WHERE campaign = ?", earlier)
            self._write(memory, member)
        return member

    def adopt(self, address: str, campaign: str, token: str) -> Membership:
        """Store a membership that was made elsewhere, given its token.

        If it is stored already, the service is not asked.
        """
        for each in self.memberships():
            if each.campaign == campaign and each.token == token:
                return each
        service = self._service(address)
        me, found = service.ask("GET", "/v1/me", token), self._offer(service, campaign)
        if me.get("campaign") != campaign:
            raise OptionError(f"the token is not of campaign {campaign}: name the campaign that it was given for")
        return self._enter(service, found, str(me["producer"]), str(me["setting"]), token)

    def _offer(self, service: ServiceClient, campaign: str | None) -> dict[str, object]:
        if campaign is not None:
            return dict(service.ask("GET", f"/v1/campaigns/{campaign}"))
        answer = service.ask("GET", "/v1/campaigns")
        offers = answer.get("campaigns") if isinstance(answer, dict) else None
        if not isinstance(offers, list) or not all(isinstance(each, dict) for each in offers):
            raise RunError(f"{service.address} answers, but not as the sharing protocol has it: is it the right one?")
        if len(offers) != 1:
            named = ", ".join(f"{each.get('campaign')} ({str(each.get('name'))[:60]})" for each in offers) or "none"
            raise OptionError(f"name a `campaign` of {service.address}: it has {named}")
        return dict(offers[0])

    def change(self, campaign: str, setting: str) -> Membership:
        """Use another setting from now on; readings already reported keep their reports."""
        member = self.member(campaign)
        if setting not in member.terms.menu:
            raise OptionError(f"setting '{setting}' is not on the campaign's menu: see 'halfmask status'")
        self._service(member.address).ask("PATCH", "/v1/me", member.token, {"setting": setting})
        past = tuple(dict.fromkeys((*member.past, member.setting)))
        changed = replace(member, setting=setting, past=tuple(each for each in past if each != setting))
        self._keep(changed)
        return changed

    def leave(self, campaign: str) -> Membership:
        """Leave a campaign: the service withdraws reports of open periods, and queued reports are deleted."""
        member = self.member(campaign)
        self._service(member.address).ask("DELETE", "/v1/me", member.token)
        left = replace(member, left=True)
        with self.state.memory() as memory:
            memory.execute("DELETE FROM queue WHERE campaign = ? AND outcome IS NULL", (member.campaign,))
            self._write(memory, left)
        return left

    def memberships(self, *, left: bool = False) -> list[Membership]:
        """Return the campaigns this device is in; with ``left``, also those it has left."""
        if self._create and not holds_device(self._folder):
            return []
        with self.state.memory() as memory:
            found = [_kept(plain) for (plain,) in memory.execute("SELECT plain FROM campaigns ORDER BY id")]
        return [each for each in found if left or not each.left]

    def member(self, campaign: str | None = None) -> Membership:
        """Return the membership of ``campaign``, or the only membership if it is None."""
        found = [each for each in self.memberships() if campaign in (None, each.campaign)]
        if len(found) != 1:
            named = ", ".join(each.campaign for each in self.memberships()) or "none: join one first"
            raise OptionError(f"name a `campaign` that this device is in, which is {named}")
        return found[0]

    def _keep(self, member: Membership) -> None:
        with self.state.memory() as memory:
            self._write(memory, member)

    @staticmethod
    def _write(memory: sqlite3.Connection, member: Membership) -> None:
        memory.execute("INSERT OR REPLACE INTO campaigns VALUES (?, ?)", (member.campaign, json.dumps(asdict(member))))

    def put(self, readings: Iterable[tuple[str, Value]], *, first: int = 1) -> Queued:
        """Mask readings for every campaign and queue the reports, which are on disk when this returns.

        A different value for a time that was already reported is refused: the service keeps the first report, so a
        second would reveal more about the readings to no purpose. ``first`` is the number of the first row in errors.
        """
        queued, rest = Queued(), iter(readings)
        members = self.memberships()
        if not members:
            raise OptionError("this device is in no campaign: join one first")
        zones = {member.terms.time_zone for member in self.memberships(left=True)}
        zone = zones.pop() if len(zones) == 1 else None
        lanes = [_Lane(self.state, member, queued, zone) for member in members]
        while batch := list(islice(rest, BATCH)):
            for lane in lanes:
                lane.put(batch, first)
            first += len(batch)
        return queued

    def send(self) -> Sent:
        """Send the queued reports, and keep those without a receipt.

        A campaign that fails does not hold up the others; its error becomes a note. If all fail, the first error is
        raised.
        """
        sent, failed, members = Sent(), list[HalfmaskError](), self.memberships()
        for member in members:
            try:
                self._send(member, sent)
            except HalfmaskError as error:
                failed.append(error)
        if failed and len(failed) == len(members):
            raise failed[0]
        sent.notes += [str(error) for error in failed]
        with self.state.memory() as memory:
            sent.waiting = memory.execute("SELECT count(*) FROM queue WHERE outcome IS NULL").fetchone()[0]
        return sent

    def _send(self, member: Membership, sent: Sent) -> None:
        service = self._service(member.address)
        self._hold_to_terms(service, member)
        for rows in self._waiting(member):
            self._post(service, member, rows, sent)

    def _hold_to_terms(self, service: ServiceClient, member: Membership) -> None:
        now = CampaignTerms.read(service.ask("GET", f"/v1/campaigns/{member.campaign}"))
        if now.terms_hash() != member.pinned:
            raise OptionError(
                f"the terms of campaign {member.campaign} are not those that were joined (menu, lattice, period, least "
                "cohort or purpose): nothing is sent; leave it, and join again if the new terms are fine"
            )

    def _waiting(self, member: Membership) -> Iterator[list[tuple[int, str, str, str]]]:
        after = 0
        while True:
            with self.state.memory() as memory:
                rows = memory.execute(
                    "SELECT number, time, steps, setting FROM queue WHERE campaign = ? AND outcome IS NULL "
                    "AND number > ? ORDER BY number LIMIT ?",
                    (member.campaign, after, BATCH),
                ).fetchall()
            if not rows:
                return
            after = rows[-1][0]
            yield rows

    def _post(
        self, service: ServiceClient, member: Membership, rows: list[tuple[int, str, str, str]], sent: Sent
    ) -> None:
        reports = [{"time": time, "steps": int(steps), "setting": setting} for _, time, steps, setting in rows]
        try:
            answer = service.ask("POST", "/v1/reports", member.token, {"reports": reports})
        except ServiceError as error:
            if error.status != 413 or len(rows) == 1:
                raise
            half = len(rows) // 2
            self._post(service, member, rows[:half], sent)
            self._post(service, member, rows[half:], sent)
            return
        told = answer.get("results") if isinstance(answer, dict) else None
        results = [ReportResult.read(each) for each in told] if isinstance(told, list) else []
        if len(results) != len(rows):
            sent.notes.append(f"{service.address} answered {len(results)} of {len(rows)} reports: they stay queued")
            return
        done = []
        for (number, *_), result in zip(rows, results, strict=True):
            outcome = result.code or "refused" if result.status == "refused" else result.status
            sent.outcomes[outcome] += 1
            if outcome != "future":  # stays queued until its time has come
                sent.earned[str(member.offer.get("currency", ""))] += result.reward or 0
                done.append((outcome, result.reward or 0, number))
        with self.state.memory() as memory:
            memory.executemany("UPDATE queue SET outcome = ?, reward = ? WHERE number = ?", done)

    def standings(self) -> list[tuple[Membership, dict[str, tuple[int, int]]]]:
        """Return every campaign that this device is or was in, with (reports, rewards) by outcome.

        The current membership of a campaign comes before earlier ones. The outcome ``waiting`` means no receipt yet.
        """
        with self.state.memory() as memory:
            members = memory.execute("SELECT id, plain FROM campaigns ORDER BY id").fetchall()
            counts = memory.execute(
                "SELECT campaign, coalesce(outcome, 'waiting'), count(*), coalesce(sum(reward), 0) FROM queue "
                "GROUP BY 1, 2 ORDER BY 1, 2"
            ).fetchall()
        return [
            (_kept(plain), {outcome: (reports, reward) for of, outcome, reports, reward in counts if of == id})
            for id, plain in members
        ]


class Member:
    """A producer that joined one campaign, given its address ``http://HOST/v1/campaigns/ID`` and its token.

    It masks each reading once, queues the report in its state folder, and sends until it has a receipt. If the service
    does not answer, it tries again after growing, random pauses. The queue is on disk, so it survives a restart.
    """

    def __init__(
        self,
        campaign: str,
        token: str,
        state: str | Path = "halfmask-device",
        *,
        service: Callable[[str], ServiceClient] = ServiceClient,
    ) -> None:
        address, path, id = campaign.rstrip("/").partition("/v1/campaigns/")
        if not path or not id or "/" in id:
            raise OptionError("the campaign's address is none: write it like https://host/v1/campaigns/ID")
        self.sharer = Sharer(state, service)
        self.membership = self.sharer.adopt(address, id, token)

    def report(self, time: str, value: Value) -> Queued:
        """Mask one reading and queue its report, which is on disk when this returns."""
        return self.reports([(time, value)])

    def reports(self, readings: Iterable[tuple[str, Value]]) -> Queued:
        return self.sharer.put(readings)

    def send(self) -> Sent:
        """Send the queued reports, and keep those without a receipt."""
        return self.sharer.send()

    def leave(self) -> Membership:
        return self.sharer.leave(self.membership.campaign)


class _Lane:
    """Masks and queues readings for one campaign.

    ``zone`` is the time zone of times without an offset; None if the campaigns differ.
    """

    def __init__(self, state: State, member: Membership, queued: Queued, zone: str | None) -> None:
        self._state, self._member, self._queued, self._zone = state, member, queued, zone
        self._campaign = member.terms
        every = member.offer.get("every_minutes")
        self._every = every if isinstance(every, int) else 0
        menu, lattice = self._campaign.menu, self._campaign.lattice
        self._channel, self._ends = Channel.of(menu[member.setting], lattice), lattice.ends
        self._ids = {Channel.of(text, lattice).name: id for id, text in menu.items()}
        self._ids[self._channel.name] = member.setting
        self._guard = Guard(state, self._channel, menu.values(), queued.notes, f"{member.address} {member.campaign}")
        names = (menu[each] for each in member.past if menu[each] != self._channel.setting.text)
        self._past = [Channel.of(text, lattice) for text in names]

    def _note(self, text: str) -> None:
        if text not in self._queued.notes:
            self._queued.notes.append(text)

    def put(self, batch: list[tuple[str, Value]], first: int) -> None:
        looks, times = [], []
        for row, (time, value) in enumerate(batch, first):
            try:
                when, text, canonical, day = _read(time, self._zone)
            except ReadingError:
                _instant(time, self._zone, f"row {row}, column time: the time")  # the same error, with the row
                raise
            steps = self._campaign.lattice.steps(value, f"row {row}, column value: the reading")
            if steps in self._ends and self._beyond(value):
                self._note(BEYOND)
            if steps is None:
                self._queued.refused["missing"] += 1
            elif not self._campaign.begins <= when < self._campaign.ends:
                self._queued.refused["outside_campaign"] += 1
            elif self._every and not _aligned(when, self._campaign.time_zone, self._every):
                self._queued.refused["unaligned"] += 1  # the service would refuse it, so it is not masked
            elif day < self._state.secret.day:
                self._queued.refused["forgotten"] += 1
            else:
                looks.append(("", canonical, day, self._state.keys.of(day), steps))
                times.append(text)
        if looks:
            self._queue(looks, times)

    def _beyond(self, value: Value) -> bool:
        lattice, number = self._campaign.lattice, Decimal(str(value).strip())
        return not Decimal(lattice.low) <= number <= Decimal(lattice.high)

    def _queue(self, looks: list[Look], times: list[str]) -> None:
        masked = mask(self._state, self._channel, looks, self._guard, past=self._past)
        rows = []
        for i, (time, report) in enumerate(zip(times, masked.reports, strict=True)):
            if report is None:
                self._queued.refused[masked.refused[i]] += 1
            else:
                channel = masked.others.get(i, self._channel)
                rows.append((self._member.campaign, time, str(report), self._ids[channel.name]))
        with self._state.memory() as memory:
            memory.executemany("INSERT OR IGNORE INTO queue (campaign, time, steps, setting) VALUES (?, ?, ?, ?)", rows)
        self._queued.reports += len(rows)


@lru_cache(maxsize=4096)
def _read(time: str, zone: str | None) -> tuple[int, str, str, int]:
    """Return a time as an instant, as the text that is sent, in the normalized spelling that is hashed, and its day."""
    when = _instant(time, zone, "the time")
    return when, instant_text(when), *moment(instant_text(when))


def _aligned(when: int, zone: str, minutes: int) -> bool:
    """Whether an instant is a whole multiple of ``minutes`` after the hour, in the campaign's time zone."""
    try:
        local = at(when).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        local = at(when)  # no time zones on this device: UTC here, and the service checks again
    return not (local.minute % minutes or local.second or local.microsecond)


def _instant(time: str, zone: str | None, place: str) -> int:
    """Return microseconds since 1970; a time without an offset is read in the time zone ``zone``."""
    text, day = moment(time, place)
    found = datetime.fromisoformat(text) if day >= 0 else None
    if found is None:
        raise ReadingError(f"{place} cannot be read: write it like 2026-11-16T00:30:00Z")
    if found.tzinfo is None:
        found = _local(found, zone, place)
    return of_datetime(found)


def _local(found: datetime, zone: str | None, place: str) -> datetime:
    if zone is None:  # read in each campaign's zone it would become two times, and one reading would be masked twice
        raise ReadingError(
            f"{place} has no offset, and the campaigns of this device differ in time zone: add one, like Z"
        )
    try:
        of = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ReadingError(f"{place} has no offset, and this device has no time zones: add one, like Z") from error
    either = [found.replace(tzinfo=of, fold=fold) for fold in (0, 1)]
    if either[0].utcoffset() != either[1].utcoffset():
        raise ReadingError(f"{place} is one that comes twice or never, as clocks change: add its offset")
    return either[0]
