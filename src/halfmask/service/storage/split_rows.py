"""Split sums at rest: campaigns as leader and as helper, shares, closing periods, and the sums that were given.

A share is uniformly random without the other service's share, and so is its number. A service holds one of the two:
that of the leader (holder 0) or of the helper (holder 1).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    UniqueConstraint,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from halfmask.service.storage.tables import Statements, chunks, long_text, numbered_column, table, text, whole
from halfmask_device.instants import Instant

LEADER, HELPER = 0, 1
UNDECIDED, VALID, INVALID = 0, 1, 2
"""Verdicts on a report."""
FETCH = 10_000

led_splits = table(
    "led_splits",
    whole("campaign"),
    text("helper", 200),
    text("token", 512),
    text("verify_key", 64),
    text("ticket_key", 64),
    text("pseudonym_key", 64),
    long_text("terms"),
    text("held", 64),
    text("refused", 80),
    PrimaryKeyConstraint("campaign"),
)
helped_splits = table(
    "helped_splits",
    numbered_column(),
    text("public", 32, unique=True),
    whole("consumer"),
    text("leader", 200),
    text("led", 32),
    long_text("terms"),
    text("verify_key", 64),
    text("ticket_key", 64),
    UniqueConstraint("leader", "led", name="led_once"),
)
CHECKED = 2**31 - 1
"""The modulus of numbers in checksums: sums of 2^24 of them fit into the integers of every database."""
split_shares = table(
    "split_shares",
    whole("holder"),
    whole("split"),
    whole("time"),
    text("owner", 32),
    text("nonce", 32),
    Column("share", LargeBinary(), nullable=False),
    whole("reward"),
    whole("verdict"),
    whole("number"),
    PrimaryKeyConstraint("holder", "split", "time", "owner"),
    Index("split_shares_by_nonce", "holder", "split", "nonce", unique=True),
)
split_leavers = table(
    "split_leavers", whole("campaign"), text("pseudonym", 32), PrimaryKeyConstraint("campaign", "pseudonym")
)
closing_periods = table(
    "closing_periods",
    whole("campaign"),
    text("period", 24),
    whole("begins"),
    whole("since"),
    whole("frozen"),
    PrimaryKeyConstraint("campaign", "period"),
)
split_sums = table(
    "split_sums",
    whole("split"),
    whole("time"),
    text("asked", 64),
    text("share", 16),
    whole("reports"),
    PrimaryKeyConstraint("split", "time"),
)


class LedSplit(NamedTuple):
    """The split setting of a campaign of this service.

    ``held``     the campaign's id at the helper, empty until the helper has answered
    ``refused``  the code with which the helper refused the campaign, or empty
    """

    campaign: int
    helper: str
    token: str
    verify_key: str
    ticket_key: str
    pseudonym_key: str
    terms: str
    held: str
    refused: str


class HelpedSplit(NamedTuple):
    """A split campaign of another service, which knows it as ``led``; this service is its helper."""

    key: int
    public: str
    consumer: int
    leader: str
    led: str
    terms: str
    verify_key: str
    ticket_key: str


class Holding(NamedTuple):
    """All shares that this service holds of one split campaign.

    ``split``  the campaign's key at the leader, the split's key at the helper
    """

    holder: int
    split: int


class NewShare(NamedTuple):
    """A share to store. ``owner`` is the producer's key at the leader, and its pseudonym at the helper."""

    time: Instant
    owner: str
    nonce: str
    share: bytes
    reward: int = 0


class HeldShare(NamedTuple):
    """A stored share. ``number`` is its part of the total, as a signed integer of 64 bits; 0 until it is verified."""

    owner: str
    nonce: str
    share: bytes
    reward: int
    verdict: int
    number: int


class ClosingRow(NamedTuple):
    """A period that takes no more reports and waits for the helper's sum.

    ``frozen``  whether the set of counted reports is fixed: those with the verdict `VALID`
    """

    campaign: int
    period: str
    begins: Instant
    since: Instant
    frozen: int


class SumRow(NamedTuple):
    """A period's only sum: the hash of the set that was asked for, the noisy share in hexadecimal, and its reports."""

    asked: str
    share: str
    reports: int


class SplitStatements(Statements):
    def add_led(self, row: LedSplit) -> None:
        self._insert(led_splits, [row])

    def led(self, campaign: int) -> LedSplit | None:
        row = self._do(select(*led_splits.c).where(led_splits.c.campaign == campaign)).first()
        return None if row is None else LedSplit(*row)

    def unmet(self) -> list[LedSplit]:
        """Return the campaigns whose helper has not answered yet."""
        c = led_splits.c
        return [LedSplit(*row) for row in self._do(select(*c).where(c.held == "", c.refused == ""))]

    def set_held(self, campaign: int, held: str, refused: str) -> None:
        self._do(update(led_splits).where(led_splits.c.campaign == campaign).values(held=held, refused=refused))

    def add_helped(self, row: HelpedSplit) -> None:
        self._do(insert(helped_splits).values({name: each for name, each in row._asdict().items() if name != "key"}))

    def helped(self, *where: ColumnElement[bool]) -> list[HelpedSplit]:
        query = select(*helped_splits.c).where(*where).order_by(helped_splits.c.id)
        return [HelpedSplit(*row) for row in self._do(query)]

    def helped_named(self, public: str) -> HelpedSplit | None:
        return next(iter(self.helped(helped_splits.c.public == public)), None)

    def helped_for(self, leader: str, led: str) -> HelpedSplit | None:
        c = helped_splits.c
        return next(iter(self.helped(c.leader == leader, c.led == led)), None)

    def lock_helped(self, split: int) -> None:
        """Make other transactions that call this wait until this one ends."""
        self._do(select(helped_splits.c.id).where(helped_splits.c.id == split).with_for_update()).one()

    def add_shares(self, holding: Holding, rows: Sequence[NewShare]) -> None:
        self._insert(split_shares, [(*holding, *row, UNDECIDED, 0) for row in rows])

    def standing_shares(
        self, holding: Holding, asked: Mapping[Instant, Iterable[str]]
    ) -> dict[tuple[str, Instant], HeldShare]:
        """Return stored shares by owner and time, of the owners asked for by time."""
        found: dict[tuple[str, Instant], HeldShare] = {}
        for time, owners in asked.items():
            for part in chunks(sorted(owners)):
                rows = self._do(_OWNED, {**holding._asdict(), "time": time, "owners": part})
                found |= {(row[0], time): HeldShare(*row) for row in rows}
        return found

    def standing_nonces(self, holding: Holding, nonces: Iterable[str]) -> set[str]:
        """Return those of the nonces that a stored share has."""
        found: set[str] = set()
        for part in chunks(sorted(nonces)):
            found |= set(self._do(_NONCES, {**holding._asdict(), "nonces": part}).scalars())
        return found

    def named_shares(self, holding: Holding, time: Instant, nonces: Sequence[str]) -> dict[str, HeldShare]:
        """Return a period's shares with these nonces, by nonce; a nonce without one is left out."""
        s, found = split_shares.c, dict[str, HeldShare]()
        for part in chunks(nonces):
            query = _held(holding, time).where(s.nonce.in_(part))
            found |= {row[1]: HeldShare(*row) for row in self._do(query)}
        return found

    def undecided(self, holding: Holding, time: Instant, after: str, most: int) -> list[HeldShare]:
        """Return a period's shares without a verdict in order of their owners, at most ``most`` after one."""
        s = split_shares.c
        query = _held(holding, time).where(s.verdict == UNDECIDED, s.owner > after)
        return [HeldShare(*row) for row in self._do(query.order_by(s.owner).limit(most))]

    def decide(self, holding: Holding, time: Instant, verdicts: Iterable[tuple[str, int, int]]) -> None:
        """Store verdicts and numbers by nonce. A share that has a verdict keeps it."""
        scope = {"holder_": holding.holder, "split_": holding.split, "at": time}
        rows = [{**scope, "named": nonce, "found": verdict, "part": number} for nonce, verdict, number in verdicts]
        if rows:
            self._do(_DECIDE, rows)

    def drop_shares(self, holding: Holding, time: Instant, nonces: Sequence[str]) -> None:
        """Take shares out of the set of valid ones, because the other service does not have them any more."""
        s = split_shares.c
        for part in chunks(nonces):
            where = (_of(holding), s.time == time, s.nonce.in_(part))
            self._do(update(split_shares).where(*where).values(verdict=UNDECIDED))

    def valid_numbers(self, holding: Holding, time: Instant) -> Iterator[tuple[str, int]]:
        """Yield nonce and number of a period's valid shares, by nonce."""
        s = split_shares.c
        query = select(s.nonce, s.number).where(_of(holding), s.time == time, s.verdict == VALID).order_by(s.nonce)
        yield from ((row[0], row[1]) for row in self._do(query, execution_options={"yield_per": FETCH}))

    def valid_state(self, holding: Holding, time: Instant) -> tuple[int, int]:
        """Return the count of a period's valid shares and a checksum of their numbers.

        They change if a share is withdrawn or becomes valid. Numbers are uniformly random: nobody can keep them equal.
        """
        s = split_shares.c
        query = select(func.count(), func.coalesce(func.sum(s.number % CHECKED), 0))
        row = self._do(query.where(_of(holding), s.time == time, s.verdict == VALID)).one()
        return int(row[0]), int(row[1])

    def not_counted(self, holding: Holding, time: Instant) -> list[tuple[str, int]]:
        """Return owner and verdict of a period's shares that are not valid."""
        s = split_shares.c
        query = select(s.owner, s.verdict).where(_of(holding), s.time == time, s.verdict != VALID).order_by(s.owner)
        return [(row[0], row[1]) for row in self._do(query)]

    def split_times(self, holding: Holding, times: Sequence[Instant]) -> set[Instant]:
        """Return those of the periods, by their first instants, of which shares are stored."""
        s, found = split_shares.c, set[Instant]()
        for part in chunks(times):
            query = select(s.time).where(_of(holding), s.time.in_(part)).distinct()
            found |= set(self._do(query).scalars())
        return found

    def remove_shares(self, holding: Holding, *where: ColumnElement[bool]) -> int:
        return int(self._do(delete(split_shares).where(_of(holding), *where)).rowcount)

    def remove_period_shares(self, holding: Holding, time: Instant) -> int:
        return self.remove_shares(holding, split_shares.c.time == time)

    def remove_old_shares(self, holding: Holding, before: Instant) -> int:
        """Delete the shares of periods that begin before an instant."""
        return self.remove_shares(holding, split_shares.c.time < before)

    def withdraw_shares(self, holding: Holding, owner: str, times: Sequence[Instant]) -> int:
        """Delete an owner's shares of some periods."""
        return self.remove_shares(holding, split_shares.c.owner == owner, split_shares.c.time.in_(times))

    def empty_shares(self, holding: Holding, owner: str) -> int:
        """Delete all shares of an owner. Of a verified one an empty, invalid row stays: its verdict is for good."""
        s = split_shares.c
        where = (_of(holding), s.owner == owner, s.verdict != UNDECIDED, s.share != b"")
        kept = self._do(update(split_shares).where(*where).values(share=b"", verdict=INVALID, number=0))
        return int(kept.rowcount) + self.remove_shares(holding, s.owner == owner, s.verdict == UNDECIDED)

    def add_leaver(self, campaign: int, pseudonym: str) -> None:
        """Store that the helper is to withdraw the shares of a producer that has left."""
        self._insert(split_leavers, [(campaign, pseudonym)])

    def leavers(self, busy: Sequence[int]) -> list[tuple[int, str]]:
        """Return campaign and pseudonym of producers that have left and whose shares the helper may still hold.

        Those of ``busy`` campaigns are left out.
        """
        query = select(*split_leavers.c).where(split_leavers.c.campaign.not_in(busy)).limit(FETCH)
        return [(row[0], row[1]) for row in self._do(query)]

    def end_leaver(self, campaign: int, pseudonym: str) -> None:
        c = split_leavers.c
        self._do(delete(split_leavers).where(c.campaign == campaign, c.pseudonym == pseudonym))

    def closing(self, campaign: int | None = None) -> list[ClosingRow]:
        """Return the periods that are closing, of all campaigns or one."""
        c = closing_periods.c
        query = select(*c).order_by(c.campaign, c.begins)
        return [
            ClosingRow(*row) for row in self._do(query if campaign is None else query.where(c.campaign == campaign))
        ]

    def put_closing(self, row: ClosingRow) -> None:
        self._replace(closing_periods, **row._asdict())

    def end_closing(self, campaign: int, period: str) -> None:
        c = closing_periods.c
        self._do(delete(closing_periods).where(c.campaign == campaign, c.period == period))

    def split_sum(self, split: int, time: Instant) -> SumRow | None:
        c = split_sums.c
        row = self._do(select(c.asked, c.share, c.reports).where(c.split == split, c.time == time)).first()
        return None if row is None else SumRow(*row)

    def summed_times(self, split: int, times: Sequence[Instant]) -> set[Instant]:
        """Return those of the periods that have had their sum."""
        c, found = split_sums.c, set[Instant]()
        for part in chunks(times):
            found |= set(self._do(select(c.time).where(c.split == split, c.time.in_(part))).scalars())
        return found

    def add_split_sum(self, split: int, time: Instant, row: SumRow) -> None:
        self._insert(split_sums, [(split, time, *row)])


def led_by(campaign: Any) -> ColumnElement[bool]:
    """Return the condition of shares that this service holds as the leader of a campaign."""
    return and_(split_shares.c.holder == LEADER, split_shares.c.split == campaign)


def _of(holding: Holding) -> ColumnElement[bool]:
    return and_(split_shares.c.holder == holding.holder, split_shares.c.split == holding.split)


_s = split_shares.c
_COLUMNS = (_s.owner, _s.nonce, _s.share, _s.reward, _s.verdict, _s.number)


def _held(holding: Holding, time: Instant) -> Any:
    return select(*_COLUMNS).where(_of(holding), _s.time == time)


_SCOPE = (_s.holder == bindparam("holder"), _s.split == bindparam("split"))
_OWNED = select(*_COLUMNS).where(
    *_SCOPE, _s.time == bindparam("time"), _s.owner.in_(bindparam("owners", expanding=True))
)
_NONCES = select(_s.nonce).where(*_SCOPE, _s.nonce.in_(bindparam("nonces", expanding=True)))
_DECIDE = (
    update(split_shares)
    .where(
        *(_s.holder == bindparam("holder_"), _s.split == bindparam("split_")),
        *(_s.time == bindparam("at"), _s.nonce == bindparam("named"), _s.verdict == UNDECIDED),
    )
    .values(verdict=bindparam("found"), number=bindparam("part"))
)
