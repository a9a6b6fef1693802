"""What an operator does to consumers, campaigns, producers, nodes and entries, on the database itself.

Each action is one transaction with its line in the log, so neither is there without the other. Actions take the same
locks as the service, so that they are safe while workers run. The workers look for new actions whenever they look for
periods to close, and then forget the campaigns that they have in memory.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from halfmask.errors import OptionError
from halfmask.service.campaign import Campaign, check_text
from halfmask.service.membership_requests import leave
from halfmask.service.refusal import Refusal
from halfmask.service.report_decisions import book_reversal
from halfmask.service.request import Call, Request, issue, new_name, system_clock
from halfmask.service.service import Service
from halfmask.service.storage.identity_rows import OF_PRODUCER, Identity, Role
from halfmask.service.storage.sql_store import Store, Transaction, open_store
from halfmask.service.storage.tables import Plain
from halfmask_device.instants import MINUTE, Instant, instant_text

LISTS = ("consumers", "campaigns", "producers", "nodes", "invitations", "log")
ROLES: dict[str, Role] = {"consumers": "consumer", "producers": "producer", "nodes": "node"}
TIMES = ("created", "joined", "left_at", "done", "expires", "revoked")


@dataclass(frozen=True)
class Operator:
    """An operator at work on a database.

    ``actor``   who does it, for the log
    ``reason``  why, for the log
    """

    store: Store
    actor: str
    reason: str = ""
    clock: Callable[[], Instant] = field(default=system_clock)

    def listed(self, kind: str, campaign: str | None, after: str, most: int) -> list[Plain]:
        """Return what there is of a kind, in order, at most that number after the one named ``after``."""
        with self.store.reading() as tx:
            key = None if campaign is None else _named(tx, campaign, "campaigns")[1]
            names = {row.key: row.public for row in tx.campaigns()}
            return [_shown(row, names) for row in tx.held(kind, key, after, most)]

    def shown(self, name: str) -> Plain:
        """Return what is known of the consumer, campaign, producer or node of this name."""
        with self.store.reading() as tx:
            kind, key = _named(tx, name)
            found: Plain = {"kind": kind.removesuffix("s"), "name": name}
            if kind == "campaigns":
                row = tx.campaign(key)
                counts = {each: tx.count_of(each, key) for each in ("producers", "nodes", "invitations", "entries")}
                budget, committed = tx.lock(key)
                found |= {"terms": row.terms if row else {}, "budget": budget, "committed": committed} | counts
            if kind == "producers":
                campaign = tx.campaign(tx.producer(key).campaign)
                member = tx.producer(key)
                earned, expected = tx.earned(key)
                times = {"joined": _time(member.joined), "left": _time(member.left)}
                found |= {"campaign": campaign.public if campaign else None, "setting": member.setting} | times
                found |= {"expected": expected, "earned": earned}
            if kind in ROLES:
                found["tokens"] = [_shown(each, {}) for each in tx.tokens_of(ROLES[kind], key)]
            return found

    def add_consumer(self, name: str) -> Plain:
        """Make a consumer and its token, which is shown once."""
        with self.store.transaction() as tx:
            _check_name(name)
            public = new_name()
            key = tx.add_consumer(public, name, self.clock())
            self._log(tx, "add", "consumer", public, {})
            return {"consumer": public, "token": issue(tx, "consumer", key, self.clock())}

    def add_node(self, name: str, campaign: str) -> Plain:
        """Make a node of a campaign and its token, which is shown once."""
        with self.store.transaction() as tx:
            _, key = _named(tx, campaign, "campaigns")
            _check_name(name)
            public = new_name()
            node = tx.add_node(public, key, name, self.clock())
            self._log(tx, "add", "node", public, {"campaign": campaign})
            return {"node": public, "token": issue(tx, "node", node, self.clock())}

    def revoke(self, name: str) -> Plain:
        """Revoke the tokens of a consumer, producer or node, or the unused invitations of a campaign."""
        with self.store.transaction() as tx:
            kind, key = _named(tx, name)
            if kind == "campaigns":
                done: Plain = {"invitations": tx.revoke_invitations(key)}
            else:
                tx.revoke_tokens(ROLES[kind], key, self.clock())
                done = {}
            self._log(tx, "revoke", kind, name, done)
            return done

    def readmit(self, name: str) -> Plain:
        """Let a producer in again under its pseudonym, with a new token. Its old tokens are revoked."""
        with self.store.transaction() as tx:
            _, key = _named(tx, name, "producers")
            tx.revoke_tokens("producer", key, self.clock())
            tx.set_left(key, None)
            self._log(tx, "readmit", "producers", name, {})
            return {"producer": name, "token": issue(tx, "producer", key, self.clock())}

    def expel(self, name: str) -> Plain:
        """Let a producer leave: reports of open periods are withdrawn, and its tokens are revoked."""
        with self.store.transaction() as tx:
            _, key = _named(tx, name, "producers")
            done = self._left(tx, key)
            for role in OF_PRODUCER:
                tx.revoke_tokens(role, key, self.clock())
            self._log(tx, "expel", "producers", name, done)
            return done

    def end(self, name: str) -> Plain:
        """End a campaign with the period that runs now. Workers learn of it within a minute."""
        with self.store.transaction() as tx:
            _, key = _named(tx, name, "campaigns")
            campaign = _campaign(tx, key)
            now = self.clock() + campaign.skew + MINUTE
            last = campaign.calendar.span_of(max(now, campaign.begins))
            if campaign.ends <= last.ends:
                raise OptionError(f"campaign {name} ends at {campaign.terms['ends']} anyway", kind="ended")
            tx.lock(key)
            tx.set_terms(key, {**campaign.terms, "ends": instant_text(last.ends)})
            done = {"ends": instant_text(last.ends)}
            self._log(tx, "end", "campaigns", name, done)
            return done

    def delete(self, name: str) -> Plain:
        """Delete a campaign that nobody has joined, or whose last period is over, with all that belongs to it."""
        with self.store.transaction() as tx:
            _, key = _named(tx, name, "campaigns")
            campaign = _campaign(tx, key)
            tx.lock(key)
            if tx.count_of("producers", key) and self.clock() < campaign.ends + campaign.grace:
                raise OptionError(
                    f"campaign {name} has producers and open periods: end it, and delete it when they are closed",
                    kind="open",
                )
            _, committed = tx.lock(key)
            done: Plain = {"committed": committed, "rows": tx.delete_campaign(key, new_name())}
            self._log(tx, "delete", "campaigns", name, done)
            return done

    def erase(self, name: str) -> Plain:
        """Erase a producer: it leaves, and its reports, tokens and name are deleted. Published sums stay."""
        with self.store.transaction() as tx:
            _, key = _named(tx, name, "producers")
            self._left(tx, key)
            campaign = _campaign(tx, tx.producer(key).campaign)
            periods = {*tx.periods_with_cells(campaign.key), *(tx.closed_keys(campaign.key) if campaign.keeps else ())}
            spans = (campaign.span(period) for period in sorted(periods))
            done: Plain = tx.erase_producer(key, new_name(), [campaign.bucket(span) for span in spans if span])
            self._log(tx, "erase", "producers", "", done)
            return done

    def reverse(self, entry: str) -> Plain:
        """Take a ledger's entry back by a new one."""
        with self.store.transaction() as tx:
            campaign = tx.entry_campaign(entry)
            found = None if campaign is None else tx.entry(campaign, entry)
            if found is None:
                raise OptionError(f"no ledger has an entry {entry[:40]!r}", kind="entry")
            try:
                row = book_reversal(tx, found, self.clock())
            except Refusal as refusal:
                raise OptionError(refusal.message, kind=refusal.code) from refusal
            done = {"entry": row.public, "amount": row.amount, "reverses": entry}
            self._log(tx, "reverse", "entries", entry, done)
            return done

    def _left(self, tx: Transaction, key: int) -> Plain:
        """Let a producer leave as it would itself. Return how many reports were withdrawn."""
        member = tx.producer(key)
        who = Identity("producer", key, member.campaign, member.left, None, None)
        answer = leave(Call(Service(self.store, self.clock), tx, who, Request(None, {}, {}, b"", self.clock())))
        return {"withdrawn": answer.get("withdrawn", 0)}

    def _log(self, tx: Transaction, action: str, kind: str, name: str, detail: Plain) -> None:
        tx.log_action(self.clock(), self.actor[:64], action, kind, name, self.reason[:200], detail)


def operate(db: str, actor: str, reason: str, work: Callable[[Operator], Any]) -> Any:
    """Return what ``work`` does on a database."""
    with closing(open_store(db)) as store:
        return work(Operator(store, actor, reason))


def _named(tx: Transaction, name: str, kind: str | None = None) -> tuple[str, int]:
    """Return the kind and number of what has this name. Raise an OptionError if it is of another kind."""
    found = tx.found(name)
    if found is None or (kind is not None and found[0] != kind):
        what = kind.removesuffix("s") if kind else "consumer, campaign, producer or node"
        raise OptionError(f"the database has no {what} {name[:40]!r}", kind="unknown", field="name")
    return found


def _check_name(name: str) -> None:
    try:
        check_text(name, "name", 200)
    except Refusal as refusal:
        raise OptionError(refusal.message, kind="name") from refusal


def _campaign(tx: Transaction, key: int) -> Campaign:
    row = tx.campaign(key)
    if row is None:
        raise OptionError("this campaign was deleted", kind="unknown", field="name")
    return Campaign(*row)


def _time(instant: object) -> str | None:
    return instant_text(instant) if isinstance(instant, int) else None


def _shown(row: Mapping[str, Any], campaigns: Mapping[int, str]) -> Plain:
    """Return a row as it is printed: times as text, campaigns by name, and of terms what tells campaigns apart."""
    plain: Plain = {name: _time(value) if name in TIMES else value for name, value in row.items()}
    if isinstance(plain.get("campaign"), int):
        plain["campaign"] = campaigns.get(plain["campaign"])
    if "terms" in plain:
        terms = json.loads(plain.pop("terms"))
        plain |= {name: terms[name] for name in ("name", "period", "begins", "ends")}
    if "detail" in plain:
        plain["detail"] = json.loads(plain["detail"])
    return plain
