"""Taking in shares at the helper: each is decided in the protocol's order, many requests in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from halfmask.service.refusal import Refusal, not_found
from halfmask.service.report_decisions import Results, result
from halfmask.service.split.helper_requests import restored
from halfmask.service.split.sent_shares import SentShare, read_shares
from halfmask.service.split.split_campaign import KEPT, SplitCampaign, helped_campaign
from halfmask.service.split.tickets import read_ticket
from halfmask.service.storage.split_rows import HelpedSplit, NewShare
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import Instant


@dataclass(frozen=True)
class SharePost:
    """One request with shares, or one that withdraws all of a producer's shares.

    ``ticket``     the ticket as it was sent
    ``split``      the campaign's id here
    ``raw``        the body, or None to withdraw
    """

    ticket: str
    split: str
    now: Instant
    raw: bytes | None = None


Answer = Results | Plain | Refusal
Admitted = tuple[int, SharePost, str, list[SentShare]]
"""The place of a request among all, the request, the producer's pseudonym, and its shares."""


def take_shares(tx: Transaction, posts: Sequence[SharePost], count: Callable[[str, Results], None]) -> list[Answer]:
    """Decide on requests in order, store what is accepted, and return each one's results or refusal.

    Campaigns are locked one after the other, in order of their keys.
    """
    answers: list[Answer] = [[] for _ in posts]
    known: dict[str, HelpedSplit | None] = {each.split: None for each in posts}
    known = {public: tx.helped_named(public) for public in known}
    groups: dict[HelpedSplit, list[Admitted]] = {}
    for place, post in enumerate(posts):
        try:
            row = known[post.split]
            if row is None:
                raise not_found("campaign")
            ticket = read_ticket(post.ticket, bytes.fromhex(row.ticket_key), post.split, post.now)
            shares = [] if post.raw is None else read_shares(post.raw)
            groups.setdefault(row, []).append((place, post, ticket.pseudonym, shares))
        except Refusal as refusal:
            answers[place] = refusal
    for row in sorted(groups, key=lambda row: row.key):
        tx.lock_helped(row.key)
        batch = _ShareBatch(tx, helped_campaign(row))
        for (place, post, _, _), answer in zip(groups[row], batch.decide(groups[row]), strict=True):
            answers[place] = answer
            if post.raw is not None and isinstance(answer, list):
                count(row.public, answer)
    return answers


@dataclass
class _ShareBatch:
    """Decides on one campaign's shares in one transaction, in which the campaign is locked."""

    tx: Transaction
    split: SplitCampaign
    rows: dict[tuple[str, Instant], NewShare] = field(default_factory=dict)

    def decide(self, posts: Sequence[Admitted]) -> list[Answer]:
        holding = self.split.holding
        times = {share.time for *_, shares in posts for share in shares if share.time is not None}
        self.spans = {time: self.split.span_at(time) for time in times}
        asked: dict[Instant, set[str]] = {time: set() for time, span in self.spans.items() if isinstance(span, Span)}
        for _, _, pseudonym, shares in posts:
            for share in shares:
                if share.time in asked:
                    asked[share.time].add(pseudonym)
        self.standing = {key: (row.nonce, row.share) for key, row in self.tx.standing_shares(holding, asked).items()}
        self.nonces = self.tx.standing_nonces(holding, {share.nonce for *_, shares in posts for share in shares})
        self.summed = self.tx.summed_times(holding.split, list(asked))
        self.restored = restored(self.tx)
        answers: list[Answer] = []
        for _, post, pseudonym, shares in posts:
            if post.raw is None:
                answers.append({"withdrawn": self._withdraw(pseudonym)})
            else:
                answers.append([self._each(post.now, pseudonym, share) for share in shares])
        self._store()
        return answers

    def _each(self, now: Instant, pseudonym: str, share: SentShare) -> Plain:
        span = "malformed" if share.time is None else self.spans[share.time]
        if isinstance(span, str) or share.time is None:
            return result("refused", str(span))
        if now < span.ends:
            return result("refused", "future")
        stands = self.standing.get((pseudonym, share.time))
        if stands is not None:
            return result("known") if stands == (share.nonce, share.share) else result("refused", "conflict")
        if share.time in self.summed or span.ends <= self.restored or now >= span.ends + KEPT:
            return result("refused", "closed")
        if share.nonce in self.nonces:
            return result("refused", "conflict")
        self.standing[pseudonym, share.time] = share.nonce, share.share
        self.nonces.add(share.nonce)
        self.rows[pseudonym, share.time] = NewShare(share.time, pseudonym, share.nonce, share.share)
        return result("accepted")

    def _withdraw(self, pseudonym: str) -> int:
        """Delete a producer's shares of periods without a sum; those with a sum are deleted already."""
        self._store()
        gone = self.tx.empty_shares(self.split.holding, pseudonym)
        mine = [key for key in self.standing if key[0] == pseudonym]
        left = self.tx.standing_shares(self.split.holding, {time: [pseudonym] for _, time in mine})
        for key in mine:
            nonce = self.standing.pop(key)[0]
            if key in left:
                self.standing[key] = nonce, left[key].share
            else:
                self.nonces.discard(nonce)
        return gone

    def _store(self) -> None:
        self.tx.add_shares(self.split.holding, list(self.rows.values()))
        self.rows.clear()
