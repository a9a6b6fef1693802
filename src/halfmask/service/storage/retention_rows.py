"""Deleting what nobody needs any more: old tokens, events that a newer one replaced, and members of past campaigns."""

from sqlalchemy import and_, delete, func, or_, select

from halfmask.service.storage.campaign_rows import entries
from halfmask.service.storage.identity_rows import OF_PRODUCER, invitations, producers, tokens
from halfmask.service.storage.period_rows import events
from halfmask.service.storage.tables import Statements
from halfmask_device.instants import Instant

MOST = 5000
"""Most rows of a table that one call deletes, so that nobody waits long."""


class RetentionStatements(Statements):
    def forget_tokens(self, before: Instant) -> int:
        """Delete tokens that were revoked, or have expired, before an instant. Return how many."""
        t = tokens.c
        old = select(t.hash).where(or_(t.revoked < before, t.expires < before)).limit(MOST)
        hashes = list(self._do(old).scalars())
        return self._do(delete(tokens).where(t.hash.in_(hashes))).rowcount if hashes else 0

    def forget_events(self) -> int:
        """Delete events of periods that have a newer one: a stream gives only the newest. Return how many."""
        e, gone = events.c, 0
        newest = select(e.campaign, e.period, func.max(e.id)).group_by(e.campaign, e.period).having(func.count() > 1)
        for campaign, period, last in list(self._do(newest.limit(MOST))):
            gone += self._do(delete(events).where(e.campaign == campaign, e.period == period, e.id < last)).rowcount
        return gone

    def forget_members(self, campaign: int) -> int:
        """Delete some producers of a campaign, with their tokens, invitations and ledgers. Return how many."""
        p, t = producers.c, tokens.c
        keys = list(self._do(select(p.id).where(p.campaign == campaign).limit(MOST)).scalars())
        if keys:
            self._do(delete(tokens).where(and_(t.role.in_(OF_PRODUCER), t.subject.in_(keys))))
            self._do(delete(invitations).where(invitations.c.producer.in_(keys)))
            self._do(delete(entries).where(entries.c.producer.in_(keys)))
            self._do(delete(producers).where(p.id.in_(keys)))
        return len(keys)
