"""Split sums at rest: campaigns as leader and as helper, shares, closing periods, and the sums that were given.

A share is uniformly random without the other service's share, and so is its number. A service holds one of the two:
that of the leader (holder 0) or of the helper (holder 1).

All shares of a period are stored under a secret of the period. To erase them the secret is erased, which takes as long
for many shares as for one; the rows, of which nobody can read anything but who reported, are deleted in small steps.
"""

import hashlib
import os
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
    exists,
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
AT_ONCE = 1000
"""Shares that one transaction deletes, so that others need not wait."""
ERASED = ""
"""The secret of a period whose shares were erased, as long as rows of it are left."""

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
split_periods = table(
    "split_periods",
    whole("holder"),
    whole("split"),
    whole("time"),
    text("secret", 64),
    whole("version"),
    PrimaryKeyConstraint("holder", "split", "time"),
)
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

    def _secrets(self, holding: Holding, *where: ColumnElement[bool]) -> dict[Instant, bytes]:
        """Return the secrets of the periods of which shares are stored and not erased."""
        query = select(_p.time, _p.secret).where(_in(_p, holding), _p.secret != ERASED, *where)
        return {row[0]: bytes.fromhex(row[1]) for row in self._do(query)}

    def _secrets_of(self, holding: Holding, times: Iterable[Instant]) -> dict[Instant, bytes]:
        """Return the secrets of some of these periods."""
        rows = self._do(_SECRETS, {**holding._asdict(), "times": list(times)})
        return {row[0]: bytes.fromhex(row[1]) for row in rows}

    def _changed(self, holding: Holding, *where: ColumnElement[bool]) -> None:
        """Note that which shares are valid may have changed."""
        self._do(update(split_periods).where(_in(_p, holding), *where).values(version=_p.version + 1))

    def add_shares(self, holding: Holding, rows: Sequence[NewShare]) -> None:
        if not rows:
            return
        times = sorted({row.time for row in rows})
        secrets = self._secrets_of(holding, times)
        new = {time: os.urandom(32) for time in times if time not in secrets}
        self._insert(split_periods, [(*holding, time, secret.hex(), 0) for time, secret in new.items()])
        secrets |= new
        self._insert(
            split_shares,
            [
                (*holding, *row._replace(share=covered_share(secrets[row.time], row.nonce, row.share)), UNDECIDED, 0)
                for row in rows
            ],
        )

    def standing_shares(
        self, holding: Holding, asked: Mapping[Instant, Iterable[str]]
    ) -> dict[tuple[str, Instant], HeldShare]:
        """Return stored shares by owner and time, of the owners asked for by time."""
        found: dict[tuple[str, Instant], HeldShare] = {}
        secrets = self._secrets_of(holding, asked) if asked else {}
        for time, secret in secrets.items():
            for part in chunks(sorted(asked[time])):
                rows = self._do(_OWNED, {**holding._asdict(), "time": time, "owners": part})
                found |= {(row[0], time): _opened(secret, row) for row in rows}
        return found

    def standing_nonces(self, holding: Holding, nonces: Iterable[str]) -> set[str]:
        """Return those of the nonces that a stored share has."""
        found: set[str] = set()
        for part in chunks(sorted(nonces)):
            found |= set(self._do(_NONCES, {**holding._asdict(), "nonces": part}).scalars())
        return found

    def named_shares(self, holding: Holding, time: Instant, nonces: Sequence[str]) -> dict[str, HeldShare]:
        """Return a period's shares with these nonces, by nonce; a nonce without one is left out."""
        found = dict[str, HeldShare]()
        for secret in self._secrets_of(holding, [time]).values():
            for part in chunks(nonces):
                rows = self._do(select(*_COLUMNS).where(*_named(holding, time, part)))
                found |= {row[1]: _opened(secret, row) for row in rows}
        return found

    def undecided(self, holding: Holding, time: Instant, after: str, most: int) -> list[HeldShare]:
        """Return a period's shares without a verdict in order of their owners, at most ``most`` after one."""
        query = _held(holding, time).where(_s.verdict == UNDECIDED, _s.owner > after).order_by(_s.owner).limit(most)
        secrets = self._secrets_of(holding, [time]).values()
        return [_opened(secret, row) for secret in secrets for row in self._do(query)]

    def decide(self, holding: Holding, time: Instant, verdicts: Iterable[tuple[str, int, int]]) -> None:
        """Store verdicts and numbers by nonce. A share that has a verdict keeps it."""
        scope = {"holder_": holding.holder, "split_": holding.split, "at": time}
        rows = [
            {**scope, "named": nonce, "found": verdict, "part": covered_number(secret, nonce, number)}
            for secret in self._secrets_of(holding, [time]).values()
            for nonce, verdict, number in verdicts
        ]
        if rows:
            self._do(_DECIDE, rows)
            self._changed(holding, _p.time == time)

    def drop_shares(self, holding: Holding, time: Instant, nonces: Sequence[str]) -> None:
        """Take shares out of the set of valid ones, because the other service does not have them any more."""
        for part in chunks(nonces):
            self._do(update(split_shares).where(*_named(holding, time, part)).values(verdict=UNDECIDED))
        self._changed(holding, _p.time == time)

    def verdicts(self, holding: Holding, time: Instant) -> Iterator[tuple[str, str, int, int]]:
        """Yield owner, nonce, verdict and number of a period's shares, by nonce."""
        query = select(_s.owner, _s.nonce, _s.verdict, _s.number).where(_in(_s, holding), _s.time == time)
        for secret in self._secrets_of(holding, [time]).values():
            for owner, nonce, verdict, number in self._do(
                query.order_by(_s.nonce), execution_options={"yield_per": FETCH}
            ):
                yield owner, nonce, verdict, covered_number(secret, nonce, number)

    def valid_version(self, holding: Holding, time: Instant) -> int:
        """Return a number that changes whenever a period's share is withdrawn, becomes valid or is erased."""
        query = select(_p.version).where(_in(_p, holding), _p.time == time, _p.secret != ERASED)
        return int(self._do(query).scalar() or 0)

    def split_times(self, holding: Holding, times: Sequence[Instant]) -> set[Instant]:
        """Return those of the periods, by their first instants, of which shares are stored."""
        stored = exists().where(_in(_s, holding), _s.time == _p.time)
        return {time for part in chunks(times) for time in self._secrets(holding, _p.time.in_(part), stored)}

    def erase_shares(self, holding: Holding, time: Instant) -> None:
        """Erase the shares of a period: all at once by its secret, and up to `AT_ONCE` rows."""
        self._do(update(split_periods).where(_in(_p, holding), _p.time == time).values(secret=ERASED))
        self._clear_period(holding, time)

    def erase_old_shares(self, holding: Holding, before: Instant) -> None:
        """Erase the shares of periods that begin before an instant."""
        for time in self._secrets(holding, _p.time < before):
            self.erase_shares(holding, time)

    def clear_erased(self) -> None:
        """Delete up to `AT_ONCE` rows of a period whose shares were erased."""
        row = self._do(select(_p.holder, _p.split, _p.time).where(_p.secret == ERASED).limit(1)).first()
        if row is not None:
            self._clear_period(Holding(row[0], row[1]), row[2])

    def _clear_period(self, holding: Holding, time: Instant) -> None:
        those = (_in(_s, holding), _s.time == time)
        end = self._do(select(_s.owner).where(*those).order_by(_s.owner).offset(AT_ONCE).limit(1)).scalar()
        if end is not None:
            self._do(delete(split_shares).where(*those, _s.owner < end))
        else:
            self._do(delete(split_shares).where(*those))
            self._do(delete(split_periods).where(_in(_p, holding), _p.time == time))

    def withdraw_shares(self, holding: Holding, owner: str, times: Iterable[Instant]) -> int:
        """Delete an owner's shares of some periods."""
        where = (_in(_s, holding), _s.owner == owner, _s.time.in_(list(times)))
        return int(self._do(delete(split_shares).where(*where)).rowcount)

    def empty_shares(self, holding: Holding, owner: str) -> int:
        """Delete all shares of an owner. Of a verified one an empty, invalid row stays: its verdict is for good."""
        mine = (_in(_s, holding), _s.owner == owner, _s.time.in_(list(self._secrets(holding))))
        verified = update(split_shares).where(*mine, _s.verdict != UNDECIDED, _s.share != b"")
        kept = self._do(verified.values(share=b"", verdict=INVALID, number=0)).rowcount
        self._changed(holding)
        return int(kept + self._do(delete(split_shares).where(*mine, _s.verdict == UNDECIDED)).rowcount)

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


def _in(columns: Any, holding: Holding) -> ColumnElement[bool]:
    return and_(columns.holder == holding.holder, columns.split == holding.split)


def _pad(secret: bytes, nonce: str, size: int) -> int:
    return int.from_bytes(hashlib.shake_128(secret + nonce.encode()).digest(size), "little")


def covered_share(secret: bytes, nonce: str, share: bytes) -> bytes:
    """Return a share as it is stored under its period's secret, and again as it was. An empty one stays empty."""
    size = len(share)
    pad = _pad(secret, nonce, NUMBER_BYTES + size) >> 8 * NUMBER_BYTES
    return (int.from_bytes(share, "little") ^ pad).to_bytes(size, "little")


def covered_number(secret: bytes, nonce: str, number: int) -> int:
    """Return a number of 64 bits, with its sign, as it is stored under its period's secret, and again as it was."""
    found = (number % 2**64) ^ _pad(secret, nonce, NUMBER_BYTES)
    return found - 2**64 if found >= 2**63 else found


def _opened(secret: bytes, row: Any) -> HeldShare:
    owner, nonce, share, reward, verdict, number = row
    number = covered_number(secret, nonce, number) if verdict != UNDECIDED else 0
    return HeldShare(owner, nonce, covered_share(secret, nonce, share), reward, verdict, number)


NUMBER_BYTES = 8
_s, _p = split_shares.c, split_periods.c
_COLUMNS = (_s.owner, _s.nonce, _s.share, _s.reward, _s.verdict, _s.number)


def _held(holding: Holding, time: Instant) -> Any:
    return select(*_COLUMNS).where(_in(_s, holding), _s.time == time)


def _named(holding: Holding, time: Instant, nonces: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    """Return the condition of a period's shares with these nonces.

    With a plain comparison of times SQLite would read the whole period for each such query.
    """
    return _in(_s, holding), _s.time + 0 == time, _s.nonce.in_(nonces)


_SECRETS = select(_p.time, _p.secret).where(
    *(_p.holder == bindparam("holder"), _p.split == bindparam("split")),
    *(_p.secret != ERASED, _p.time.in_(bindparam("times", expanding=True))),
)
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
