"""A producer's part in campaigns: join, mask each reading once, queue the reports, send them, wait for receipts.

A report stays in the queue until the service has answered for this report: accepted, known, or refused for good. Raw
readings are never queued, logged or sent. The device pins the hash of a campaign's terms when it joins.
"""

import json
import sqlite3
import time as clocks
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from halfmask_device.budget_guard import UserNotes
from halfmask_device.budget_standing import BudgetStanding, budget_standings, readings_seen, settle_budgets
from halfmask_device.consent import Consent, budget_with, check_also, check_cohort
from halfmask_device.device_state import State, can_begin, holds_device
from halfmask_device.errors import HalfmaskError, OptionError
from halfmask_device.http_client import UNAUTHENTICATED, ServiceClient, ServiceError
from halfmask_device.instants import DAY, Instant
from halfmask_device.join_key import ask_to_join, forget_key
from halfmask_device.key_expiry import first_day_needed, keys_kept
from halfmask_device.lattice import Value
from halfmask_device.level_epsilon import CampaignLevel
from halfmask_device.membership import (
    Membership,
    check_group,
    earlier_joins,
    find_campaign,
    levels,
    not_of_the_protocol,
    read_membership,
)
from halfmask_device.period_totals import CampaignTotals, Gathered
from halfmask_device.privacy_budget import Budget, read_budgets, trust_of, write_budgets
from halfmask_device.protocol import CampaignTerms
from halfmask_device.reading_times import day_of
from halfmask_device.report_history import ReportHistory, read_history
from halfmask_device.report_queue import CampaignQueue, Queued
from halfmask_device.report_sending import BATCH, CampaignSender, Sent
from halfmask_device.setting import TOTAL
from halfmask_device.split_services import check_services, ticket_of

ALONE = Consent()
"""The consent of an owner who has not said anything."""


class Sharer:
    """One meter that takes part in campaigns: one, or more with the owner's consent.

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

    @cached_property
    def state(self) -> State:
        """Return the device's memory."""
        state = State(self._folder, create=self._create)
        state.durable()
        return state

    @property
    def _now(self) -> Instant:
        return int(self._clock() * 1e6)

    def join(
        self,
        address: str,
        campaign: str | None = None,
        setting: str | None = None,
        invitation: str | None = None,
        consent: Consent = ALONE,
        group: str | None = None,
    ) -> Membership:
        """Join a campaign of a service with one of its settings, and in one of its groups if it has any.

        ``campaign`` may be omitted if the service has only one.
        """
        service = self._service(address)
        found = find_campaign(service, campaign)
        terms, id = CampaignTerms.read(found), str(found.get("campaign", ""))
        held = any(each.campaign == id for each in self.memberships())
        if held and not consent.again:  # at any address: the device counts once, and the queue is kept by campaign id
            raise OptionError(
                f"this device is in campaign {id} already: leave it first, or change its setting there", kind="joined"
            )
        check_cohort(terms, consent)
        if setting is None or setting not in terms.menu:
            menu = ", ".join(f"{id} ({'; '.join(words)})" for id, words in levels(terms).items())
            raise OptionError(f"name a `setting` of the campaign's menu: {menu}", kind="setting")
        check_group(terms, group)
        if setting == terms.split_id:
            check_services(service.address, found, self._service)
        self.withdraw_shares(id)
        budget = self._agreed(service, found, setting, consent)
        can_begin(self._folder)
        body = {"setting": setting} | ({"invitation": invitation} if invitation else {})
        body |= {"group": group} if group is not None else {}
        joined = ask_to_join(self._folder, service, f"/v1/campaigns/{id}/producers", body)
        if held:
            self.leave(id)
            self.withdraw_shares(id)
        ticket = ticket_of(joined, service.address) if setting == terms.split_id else ""
        member = self._enter(service, found, str(joined["producer"]), setting, str(joined["token"]), budget, ticket)
        forget_key(self._folder)
        return member

    def _agreed(self, service: ServiceClient, offer: dict[str, object], setting: str, consent: Consent) -> Budget:
        """Return the budget that is kept with a level of another campaign, if the owner's consent allows the level."""
        terms = CampaignTerms.read(offer)
        others = self._others(service.address, str(offer.get("campaign")), terms.terms_hash())
        level, seen = CampaignLevel.of(terms, setting), self.readings_seen()
        beside = [CampaignLevel.of(each.terms, each.setting) for each in others]
        check_also(level, beside, [each.campaign for each in others], seen, consent)
        now = [
            of
            for each, of in zip(others, beside, strict=True)
            if not each.left and each.campaign != offer.get("campaign")
        ]
        return self._budget(level, now, consent.budget, seen)

    def _budget(
        self, level: CampaignLevel, others: Sequence[CampaignLevel], asked: float | None, seen: int | None
    ) -> Budget:
        trust = trust_of(level.law)
        stored = read_budgets(self.state).get(trust) if holds_device(self._folder) else None
        return budget_with(level, [each for each in others if trust_of(each.law) == trust], stored, asked, seen)

    def _others(self, address: str, campaign: str, terms: str) -> list[Membership]:
        """Return the other campaigns that this device shares the same readings with.

        A campaign that was left is one of them while the device keeps the key of a day that was reported to it, because
        it could report the readings of that day again. The same campaign on the same terms, given by their hash, gets
        the reports that it got before, so it is none of them.
        """
        same = (address, campaign, terms)
        others = [each for each in self.memberships(left=True) if (each.address, each.campaign, each.pinned) != same]
        if not others:
            return []
        with self.state.memory() as memory:
            told = memory.execute(
                "SELECT campaign, max(time) FROM queue WHERE outcome IS NOT NULL GROUP BY 1"
            ).fetchall()
        again = {name.partition(" ")[0] for name, last in told if day_of(last[:10]) >= self.state.secret.day}
        return [each for each in others if not each.left or each.campaign in again]

    def readings_seen(self) -> int | None:
        """Return the number of readings a day that the device has seen; None if it has not seen it."""
        return readings_seen(self.state) if holds_device(self._folder) else None

    def _enter(
        self, service: ServiceClient, offer: dict[str, object], producer: str, setting: str, token: str, budget: Budget,
        ticket: str,
    ) -> Membership:  # fmt: skip
        """Store a new membership and the budget that is kept with it.

        If the device was in this campaign at this address before, its earlier settings are kept in ``past``, because
        the reports made with them remain valid.
        """
        terms, id = CampaignTerms.read(offer), str(offer["campaign"])
        before = [each for each in self.memberships(left=True) if each.campaign == id]
        here = [each for each in before if each.address == service.address]  # another must not learn of it
        told = dict.fromkeys(past for each in here for past in (*each.past, each.setting))
        past = tuple(each for each in told if each in terms.menu and each != setting)
        member = Membership(
            service.address, id, producer, setting, terms.terms_hash(), offer, token, past, ticket=ticket
        )
        write_budgets(self.state, {trust_of(CampaignLevel.of(terms, setting).law): budget})
        with self.state.memory() as memory:
            if any(each.left for each in before):  # kept, because its token still reads its rewards
                earlier = (f"{earlier_joins(id)}{producer}", id)
                memory.execute("UPDATE campaigns SET id = ? WHERE id = ?", earlier)
                memory.execute("UPDATE queue SET campaign = ? WHERE campaign = ?", earlier)
            self._write(memory, member)
        return member

    def adopt(self, address: str, campaign: str | None, token: str, consent: Consent = ALONE) -> Membership:
        """Store a membership that was made elsewhere, given its token; by default of the campaign that it is for.

        If it is stored already, the service is not asked.
        """
        for each in self.memberships():
            if campaign in (None, each.campaign) and each.token == token:
                return each
        service = self._service(address)
        me = service.ask("GET", "/v1/me", token)
        if not isinstance(me, dict) or not all(isinstance(me.get(name), str) for name in ("producer", "setting")):
            raise not_of_the_protocol(service)
        campaign = campaign or str(me.get("campaign"))
        found = find_campaign(service, campaign)
        if me.get("campaign") != campaign:
            raise OptionError(
                f"the token is not of campaign {campaign}: name the campaign that it was given for", kind="token"
            )
        setting, terms = str(me["setting"]), CampaignTerms.read(found)
        check_cohort(terms, consent)
        ticket = ""
        if setting == terms.split_id:
            check_services(service.address, found, self._service)
            ticket = ticket_of(me, service.address)
        budget = self._agreed(service, found, setting, consent)
        return self._enter(service, found, str(me["producer"]), setting, token, budget, ticket)

    def change(self, campaign: str, setting: str, budget: float | None = None) -> Membership:
        """Use another setting from now on; readings already reported keep their reports.

        ``budget``  epsilon of the budget from now on; infinite: keep none; None: as it is
        """
        member = self.member(campaign)
        if setting not in member.terms.menu:
            raise OptionError(
                f"setting '{setting}' is not on the campaign's menu: see 'halfmask status'",
                kind="setting",
                field="setting",
            )
        level = CampaignLevel.of(member.terms, setting)
        others = [
            CampaignLevel.of(each.terms, each.setting) for each in self.memberships() if each.campaign != campaign
        ]
        kept = self._budget(level, others, budget, self.readings_seen())
        splits = setting == member.terms.split_id
        if splits:
            check_services(member.address, dict(member.offer), self._service)
        me = self._service(member.address).ask("PATCH", "/v1/me", member.token, {"setting": setting})
        ticket = ticket_of(me, member.address) if splits else member.ticket
        past = tuple(dict.fromkeys((*member.past, member.setting)))
        past = tuple(each for each in past if each != setting)
        changed = replace(member, setting=setting, past=past, ticket=ticket)
        write_budgets(self.state, {trust_of(level.law): kept})
        with self.state.memory() as memory:
            self._write(memory, changed)
        return changed

    def leave(self, campaign: str) -> Membership:
        """Leave a campaign: the service withdraws reports of open periods, and queued reports are deleted.

        A helper withdraws this device's shares too. If it does not answer, the membership is ``withdrawing``, and each
        `send` asks it again. Split totals that were queued count as reported, because a share may have arrived. If the
        service refuses the token, as it does after expelling the device, only the device notes it.
        """
        member = self.member(campaign)
        try:
            self._service(member.address).ask("DELETE", "/v1/me", member.token)
        except ServiceError as error:
            if error.said != UNAUTHENTICATED:
                raise
        return self._leave(member)

    def _leave(self, member: Membership) -> Membership:
        """Note that a campaign was left. Delete what is queued for it, and let its helper withdraw shares."""
        left = replace(member, left=True, withdrawing=bool(member.ticket))
        with self.state.memory() as memory:
            memory.execute(
                "DELETE FROM shares WHERE number IN (SELECT number FROM queue WHERE campaign = ?)", (member.campaign,)
            )
            memory.execute(
                "UPDATE queue SET outcome = 'withdrawn' WHERE campaign = ? AND outcome IS NULL AND setting = ?",
                (member.campaign, member.terms.split_id),
            )
            memory.execute("DELETE FROM queue WHERE campaign = ? AND outcome IS NULL", (member.campaign,))
            memory.execute("DELETE FROM gathered WHERE campaign = ?", (member.campaign,))
            self._write(memory, left)
        self.state.wipe()
        self.erase_keys()
        with suppress(HalfmaskError):
            self.withdraw_shares(member.campaign)
        return next(each for each in self.memberships(left=True) if each.token == member.token)

    def withdraw_shares(self, campaign: str | None = None) -> None:
        """Ask helpers to withdraw the shares of a campaign that was left, or of all, if they have not done it yet."""
        for each in self.memberships(left=True):
            if each.withdrawing and campaign in (None, each.campaign):
                self._service(each.helper).ask("DELETE", each.helper_path, each.ticket)
                with self.state.memory() as memory:
                    self._write(memory, replace(each, withdrawing=False))

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
        batch = list(islice(rest, BATCH))
        settle_budgets(self.state, members, (time for time, _ in batch), zone)
        while batch:
            for each in queues:
                each.put(batch, first)
            for campaign in of_totals:
                campaign.put(batch, first, zone, queued)
            first += len(batch)
            batch = list(islice(rest, BATCH))
        return queued

    def _totals(self) -> list[CampaignTotals]:
        return [CampaignTotals(self.state, each) for each in self.memberships() if each.terms.release == TOTAL]

    def totals_due(self, *, partial: bool = False) -> bool:
        """Return whether the total of a period can be masked and sent; ``partial`` is that of `send`."""
        return any(each.due(self._now, partial=partial) for each in self._totals())

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
        try:
            self.withdraw_shares()
        except HalfmaskError as error:
            sent.notes.append(str(error))
        for member in members:
            helper = self._service(member.helper) if member.ticket else None
            try:
                CampaignSender(self.state, self._service(member.address), member, sent, self._now, helper).send()
            except HalfmaskError as error:
                failed.append(error)
                if isinstance(error, ServiceError) and error.said == "left":  # by a page
                    self._leave(member)
        self.erase_keys()
        if failed and len(failed) == len(members):
            raise failed[0]
        sent.notes = list(dict.fromkeys([*sent.notes, *(str(error) for error in failed)]))
        with self.state.memory() as memory:
            sent.waiting = memory.execute("SELECT count(*) FROM queue WHERE outcome IS NULL").fetchone()[0]
        return sent

    def erase_keys(self) -> None:
        """Erase the keys of the days that no campaign, joined or left, takes reports of any more."""
        first = first_day_needed(self.memberships(left=True), self._now)
        if first is not None and first > self.state.secret.day:
            self.state.forget(first)

    def keys_kept(self) -> list[tuple[int, Instant]]:
        """Return the days with reports whose keys are kept, each with the instant from which no campaign needs it."""
        return keys_kept(self.state, self.memberships(left=True))

    def budgets(self) -> list[BudgetStanding]:
        """Return the standing of the device's budgets today."""
        return budget_standings(self.state, self.memberships(), self._now // DAY, self.readings_seen())

    def budget_words(self) -> list[str]:
        """Return the standing of the device's budgets today, in words."""
        return [words for standing in self.budgets() for words in standing.words()]

    def history(self, campaign: str, since: Instant = 0) -> ReportHistory:
        """Return what became of the reports to a campaign, those of times from ``since`` on."""
        return read_history(self.state, campaign, since)

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
