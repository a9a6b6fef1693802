"""The store as the service sees it. A backend is one class of transactions; the contract suite says what must hold.

What the service relies on: a transaction is all or nothing and on disk when ``transaction()`` has ended without error;
``lock`` lets one transaction at a time work on a campaign; keys are unique; a reader sees what was committed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple

from halfmask_device.instants import Instant

Role = Literal["operator", "consumer", "producer", "node", "peer"]
Plain = dict[str, Any]


class StoreGoneError(Exception):
    """The store cannot be reached, or gave up for now; nothing was written, and asking again may help."""


class StoreConflictError(StoreGoneError):
    """The store gave a transaction up for another one's sake (a deadlock): the same again will do."""


class StoreFullError(Exception):
    """The store has no room left; nothing was written."""


class Identity(NamedTuple):
    """Whom a token stands for. ``campaign`` is that of a producer or node; ``left`` is when a producer left."""

    role: Role
    subject: int
    campaign: int | None
    left: Instant | None
    expires: Instant | None
    revoked: Instant | None


class Balance(NamedTuple):
    budget: int
    committed: int


class CampaignRow(NamedTuple):
    key: int
    public: str
    consumer: int
    terms: Plain


class ProducerRow(NamedTuple):
    key: int
    public: str
    campaign: int
    setting: str
    joined: Instant
    left: Instant | None


class ReportRow(NamedTuple):
    producer: int
    time: Instant
    steps: int
    setting: str
    reward: int


ReportTuple = tuple[int, Instant, int, str, int]
"""A ReportRow without its names."""


class EntryRow(NamedTuple):
    """One booking: ``amount`` is positive, a reversal's is negative and names the entry that it takes back."""

    public: str
    campaign: int
    producer: int
    amount: int
    period: str
    booked: Instant
    reverses: str | None = None


class ClosedRow(NamedTuple):
    period: str
    begins: Instant
    closed: Instant
    cells: Plain
    entry: Plain


class LookRow(NamedTuple):
    """An open period of a live campaign as it is shown: its cells when enough producers had last changed it.

    ``number`` counts the looks at the period, from 1.
    """

    number: int
    cells: Plain
    entry: Plain


class KnownRow(NamedTuple):
    """A node's own cells of a period, as far as they are known here; ``final`` says that they will not change."""

    node: str
    period: str
    version: int
    final: bool
    cells: Plain


UNGIVEN, UPSTREAM = 0, -1
"""Consumers of campaigns that are kept for another node: a peer's, until the operator gives it to one; a gateway's."""


class Transaction(ABC):
    """Everything that is read or written together.

    ``alone``: nobody else writes since it began; else what was read before `lock` may have changed.
    """

    alone: bool

    # whom tokens stand for
    @abstractmethod
    def identities(self, hashes: Sequence[str]) -> dict[str, Identity]: ...
    @abstractmethod
    def add_token(self, hash: str, role: Role, subject: int, now: Instant, expires: Instant | None) -> None: ...
    @abstractmethod
    def revoke_token(self, hash: str, now: Instant) -> None: ...
    @abstractmethod
    def revoke_tokens(self, role: Role, subject: int, now: Instant) -> None: ...
    @abstractmethod
    def has_role(self, role: Role) -> bool: ...

    # consumers and campaigns
    @abstractmethod
    def add_consumer(self, public: str, name: str, now: Instant) -> int: ...
    @abstractmethod
    def consumer(self, public: str) -> int | None: ...
    @abstractmethod
    def add_campaign(self, public: str, consumer: int, terms: Plain, now: Instant) -> int: ...
    @abstractmethod
    def campaign(self, key: int | str) -> CampaignRow | None: ...
    @abstractmethod
    def campaigns(self) -> list[CampaignRow]: ...
    @abstractmethod
    def lock(self, campaign: int) -> Balance:
        """What is committed of the budget; until the transaction ends no other one gets past this line."""

    @abstractmethod
    def spend(self, campaign: int, amount: int) -> bool:
        """Commit so much more of the budget, if it fits; whether it did."""

    @abstractmethod
    def schedule(self, campaign: int) -> list[tuple[Instant, dict[str, int]]]:
        """Rewards and the instant from which on they hold, in order."""

    @abstractmethod
    def put_schedule(self, campaign: int, begins: Instant, rewards: Mapping[str, int]) -> None: ...

    # producers
    @abstractmethod
    def add_invitations(self, campaign: int, hashes: Sequence[str]) -> None: ...
    @abstractmethod
    def use_invitation(self, campaign: int, hash: str, producer: int) -> bool: ...
    @abstractmethod
    def add_producer(self, public: str, campaign: int, setting: str, now: Instant) -> int: ...
    @abstractmethod
    def producer(self, key: int) -> ProducerRow: ...
    @abstractmethod
    def set_setting(self, producer: int, setting: str) -> None: ...
    @abstractmethod
    def set_left(self, producer: int, now: Instant) -> None: ...

    # reports
    @abstractmethod
    def standing(self, asked: Mapping[int, Sequence[Instant]]) -> dict[int, dict[Instant, tuple[int, str, int]]]:
        """Of the times asked for, by producer, steps, setting and reward of the reports that are there; others may be
        among them. A producer of whom there is nothing is left out.
        """

    @abstractmethod
    def add_reports(self, rows: Sequence[ReportTuple]) -> None: ...
    @abstractmethod
    def reports(self, campaign: int, begins: Instant, ends: Instant) -> Iterator[ReportRow]:
        """The reports of a campaign with begins <= time < ends, by producer and time."""

    @abstractmethod
    def any_report(self, campaign: int, begins: Instant, ends: Instant) -> bool:
        """Whether `reports` has any."""

    @abstractmethod
    def reports_of(self, producers: Sequence[int], begins: Instant, ends: Instant) -> list[ReportRow]: ...
    @abstractmethod
    def remove_reports(self, campaign: int, begins: Instant, ends: Instant) -> None: ...
    @abstractmethod
    def withdraw(self, producer: int, begins: Instant, ends: Instant) -> int: ...

    # rewards
    @abstractmethod
    def add_entries(self, rows: Sequence[EntryRow]) -> None: ...
    @abstractmethod
    def ledger_of_producer(self, producer: int) -> list[EntryRow]: ...
    @abstractmethod
    def ledger_of_campaign(self, campaign: int, after: str | None = None, most: int | None = None) -> list[EntryRow]:
        """Entries in their order: those after the one named, and at most so many."""

    @abstractmethod
    def entry(self, campaign: int, public: str) -> EntryRow | None: ...
    @abstractmethod
    def reversal(self, campaign: int, public: str) -> EntryRow | None: ...
    @abstractmethod
    def owed(self, campaign: int) -> list[tuple[str, int]]:
        """Producers by name and what their entries add up to."""

    # periods
    @abstractmethod
    def closed(self, campaign: int, keys: Iterable[str] | None = None) -> dict[str, ClosedRow]: ...
    @abstractmethod
    def closed_between(self, campaign: int, first: Instant, last: Instant) -> dict[str, ClosedRow]:
        """Closed periods that begin from ``first`` to ``last``, in order."""

    @abstractmethod
    def closed_keys(self, campaign: int, keys: Iterable[str] | None = None) -> set[str]: ...
    @abstractmethod
    def add_closed(self, campaign: int, rows: Sequence[ClosedRow]) -> None:
        """Close periods, with an event for each."""

    @abstractmethod
    def any_cells(self, campaign: int, periods: Iterable[str]) -> bool:
        """Whether anything was counted by nodes or peers, or looked at, in any of the periods."""

    @abstractmethod
    def add_event(self, campaign: int, period: str) -> None: ...
    @abstractmethod
    def events(self, campaign: int, after: int) -> list[tuple[int, str]]: ...

    # live campaigns
    @abstractmethod
    def looks(self, campaign: int) -> dict[str, LookRow]: ...
    @abstractmethod
    def put_look(self, campaign: int, period: str, row: LookRow) -> None: ...
    @abstractmethod
    def touch(self, campaign: int, period: str, producers: Sequence[int]) -> int:
        """Note that these changed the period since its last look; how many have."""

    @abstractmethod
    def untouch(self, campaign: int, period: str, producers: Sequence[int]) -> None: ...
    @abstractmethod
    def touched(self, campaign: int, period: str) -> list[int]: ...
    @abstractmethod
    def shown(self, campaign: int, period: str, producers: Sequence[int]) -> dict[int, Plain]:
        """What of these producers is in the last look, as cells."""

    @abstractmethod
    def put_shown(self, campaign: int, period: str, look: int, cells: Mapping[int, Plain]) -> None:
        """What of producers is in the look of this number; nothing of one who withdrew."""

    @abstractmethod
    def changes(self, campaign: int, period: str) -> dict[int, tuple[list[int], bool]]:
        """Of each producer who was ever shown: the numbers of the looks that changed it, and whether it is gone."""

    @abstractmethod
    def forget_live(self, campaign: int, period: str) -> None: ...

    # nodes
    @abstractmethod
    def add_node(self, public: str, campaign: int, name: str, now: Instant) -> int: ...
    @abstractmethod
    def node(self, campaign: int, public: str) -> int | None: ...
    @abstractmethod
    def node_version(self, node: int, period: str) -> int | None: ...
    @abstractmethod
    def put_node_cells(self, campaign: int, node: int, period: str, version: int, cells: Plain) -> None: ...
    @abstractmethod
    def node_cells(self, campaign: int, period: str) -> list[Plain]: ...
    @abstractmethod
    def forget_node_cells(self, campaign: int, period: str) -> None: ...
    @abstractmethod
    def node_name(self, node: int) -> str: ...

    # campaigns that several nodes keep
    @abstractmethod
    def set_consumer(self, campaign: int, consumer: int) -> None: ...
    @abstractmethod
    def fact(self, name: str) -> str | None:
        """What this database was told once about itself."""

    @abstractmethod
    def first_fact(self, name: str, value: str) -> str:
        """The value that was put first, by whichever process: this one, where there was none."""

    @abstractmethod
    def known(self, campaign: int, periods: Iterable[str]) -> list[KnownRow]: ...
    @abstractmethod
    def put_known(self, campaign: int, rows: Sequence[KnownRow]) -> None: ...
    @abstractmethod
    def newest(self, campaign: int, node: str) -> int:
        """The highest version of a node's cells, 0 where there are none."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[None]:
        """A part of the transaction that an error within undoes alone."""


class Store(ABC):
    """A place for transactions; it fails by `StoreGoneError` or `StoreFullError`."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]:
        """Read and write; on disk when it ends, or, after an error, as if it had never begun."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """Read alone, without waiting for those who write."""

    @abstractmethod
    def check(self) -> None:
        """Raise `StoreGoneError` unless the store answers."""

    @abstractmethod
    def has_room(self) -> bool:
        """Whether there is room for more, as far as can be seen from here."""

    @abstractmethod
    def close(self) -> None: ...
