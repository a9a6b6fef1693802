"""A producer's part in campaigns: join, mask each reading once, queue the reports, send them, wait for receipts.

A report stays in the queue until the service has answered for this report: accepted, known, or refused for good. Raw
readings are never queued, logged or sent. The device pins the hash of a campaign's terms when it joins.
"""

import json
import sqlite3
import time as clocks
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from halfmask_device.device_state import State, can_begin, holds_device
from halfmask_device.errors import HalfmaskError, OptionError
from halfmask_device.http_client import ServiceClient, ServiceError
from halfmask_device.instants import Instant
from halfmask_device.lattice import Value
from halfmask_device.membership import Membership, find_campaign, levels, read_membership
from halfmask_device.period_totals import CampaignTotals, Gathered
from halfmask_device.privacy_ledger import UserNotes
from halfmask_device.protocol import CampaignTerms, ReportResult
from halfmask_device.report_queue import CampaignQueue, Queued
from halfmask_device.setting import TOTAL

BATCH = 1000
"""Reports per request: well below the protocol's limits of 10,000 reports and one mebibyte."""


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


class Sharer:
    """One meter that takes part in any number of campaigns.

    ``state``    folder of the device; a new device is created there on the first successful join
    ``service``  makes the client for an address; tests pass another one
    ``create``   if False, a device that does not exist is an error and is never created
    ``clock``    the seconds since 1970
    """

    def __init__(
        self,
        state: str | Path,
        service: Callable[[str], ServiceClient] = ServiceClient,
        *,
        create: bool = True,
        clock: Callable[[], float] = clocks.time,
    ) -> None:
        self._folder, self._service, self._create, self._clock = Path(state), service, create, clock

    @property
    def _now(self) -> Instant:
        return int(self._clock() * 1e6)

    @cached_property
    def state(self) -> State:
        """Return the device's memory."""
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
        found = find_campaign(service, campaign)
        terms, id = CampaignTerms.read(found), str(found.get("campaign", ""))
        if any(
            each.campaign == id for each in self.memberships()
        ):  # at any address: the device must count once, and the queue is kept by campaign id
            raise OptionError(
                f"this device is in campaign {id} already: leave it first, or change its setting there", kind="joined"
            )
        if setting is None or setting not in terms.menu:
            menu = ", ".join(f"{id} ({'; '.join(words)})" for id, words in levels(terms).items())
            raise OptionError(f"name a `setting` of the campaign's menu: {menu}", kind="setting")
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
        me, found = service.ask("GET", "/v1/me", token), find_campaign(service, campaign)
        if me.get("campaign") != campaign:
            raise OptionError(
                f"the token is not of campaign {campaign}: name the campaign that it was given for", kind="token"
            )
        return self._enter(service, found, str(me["producer"]), str(me["setting"]), token)

    def change(self, campaign: str, setting: str) -> Membership:
        """Use another setting from now on; readings already reported keep their reports."""
        member = self.member(campaign)
        if setting not in member.terms.menu:
            raise OptionError(
                f"setting '{setting}' is not on the campaign's menu: see 'halfmask status'",
                kind="setting",
                field="setting",
            )
        self._service(member.address).ask("PATCH", "/v1/me", member.token, {"setting": setting})
        past = tuple(dict.fromkeys((*member.past, member.setting)))
        changed = replace(member, setting=setting, past=tuple(each for each in past if each != setting))
        with self.state.memory() as memory:
            self._write(memory, changed)
        return changed

    def leave(self, campaign: str) -> Membership:
        """Leave a campaign: the service withdraws reports of open periods, and queued reports are deleted."""
        member = self.member(campaign)
        self._service(member.address).ask("DELETE", "/v1/me", member.token)
        left = replace(member, left=True)
        with self.state.memory() as memory:
            memory.execute("DELETE FROM queue WHERE campaign = ? AND outcome IS NULL", (member.campaign,))
            memory.execute("DELETE FROM gathered WHERE campaign = ?", (member.campaign,))
            self._write(memory, left)
        self.state.wipe()
        return left

    def memberships(self, *, left: bool = False) -> list[Membership]:
        """Return the campaigns this device is in; with ``left``, also those it has left."""
        if self._create and not holds_device(self._folder):
            return []
        with self.state.memory() as memory:
            found = [read_membership(plain) for (plain,) in memory.execute("SELECT plain FROM campaigns ORDER BY id")]
        return [each for each in found if left or not each.left]

    def member(self, campaign: str | None = None) -> Membership:
        """Return the membership of ``campaign``, or the only membership if it is None."""
        found = [each for each in self.memberships() if campaign in (None, each.campaign)]
        if len(found) != 1:
            named = ", ".join(each.campaign for each in self.memberships()) or "none: join one first"
            raise OptionError(f"name a `campaign` that this device is in, which is {named}", kind="membership")
        return found[0]

    @staticmethod
    def _write(memory: sqlite3.Connection, member: Membership) -> None:
        memory.execute("INSERT OR REPLACE INTO campaigns VALUES (?, ?)", (member.campaign, json.dumps(asdict(member))))

    def put(self, readings: Iterable[tuple[str, Value]], *, first: int = 1) -> Queued:
        """Mask readings for every campaign and queue the reports, which are on disk when this returns.

        For a campaign of totals the readings are kept until their period has ended; `send` masks its total.

        A different value for a time that was already reported is refused: the service keeps the first report, so a
        second would only reveal more about the readings. ``first`` is the number of the first row in errors.
        """
        queued, rest = Queued(), iter(readings)
        members = self.memberships()
        if not members:
            raise OptionError("this device is in no campaign: join one first", kind="membership")
        zones = {member.terms.time_zone for member in self.memberships(left=True)}
        zone = zones.pop() if len(zones) == 1 else None
        of_totals = self._totals()
        queues = [CampaignQueue(self.state, each, queued, zone) for each in members if each.terms.release != TOTAL]
        while batch := list(islice(rest, BATCH)):
            for each in queues:
                each.put(batch, first)
            for campaign in of_totals:
                campaign.put(batch, first, zone, queued)
            first += len(batch)
        return queued

    def _totals(self) -> list[CampaignTotals]:
        return [CampaignTotals(self.state, each) for each in self.memberships() if each.terms.release == TOTAL]

    def totals_due(self) -> bool:
        """Return whether the total of a period can be masked and sent."""
        return any(each.due(self._now) for each in self._totals())

    def gathered(self) -> list[tuple[str, Gathered]]:
        """Return the periods whose totals are not masked yet, each with its campaign."""
        return [(each.campaign, period) for each in self._totals() for period in each.gathered()]

    def send(self, *, partial: bool = False) -> Sent:
        """Mask the totals of periods that have ended, send the queued reports, and keep those without a receipt.

        A campaign that fails does not hold up the others; its error becomes a note. If all fail, the first error is
        raised.

        ``partial``  report the total of a period also if fewer than 90 % of its readings are there
        """
        sent, failed, members = Sent(), list[HalfmaskError](), self.memberships()
        notes = UserNotes()
        for each in self._totals():
            each.mask_ended(self._now, notes, partial=partial)
        sent.notes += notes
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
        now = CampaignTerms.read(service.ask("GET", f"/v1/campaigns/{member.campaign}"))
        if now.terms_hash() != member.pinned:
            raise OptionError(
                f"the terms of campaign {member.campaign} are not those that were joined (menu, lattice, period, least "
                "cohort or purpose): nothing is sent; leave it, and join again if the new terms are fine",
                kind="terms",
            )
        for rows in self._waiting(member):
            self._post(service, member, rows, sent)

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
            (
                read_membership(plain),
                {outcome: (reports, reward) for of, outcome, reports, reward in counts if of == id},
            )
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
            raise OptionError(
                "the campaign's address is not valid: write it like https://host/v1/campaigns/ID", kind="address"
            )
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
