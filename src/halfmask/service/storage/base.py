"""The abstract store. A backend is one class of transactions; the contract tests say what must hold.

The service relies on four rules. A transaction is all or nothing, and on disk when ``transaction()`` has ended without
an error. ``lock`` lets one transaction at a time work on a campaign. Keys are unique. A reader sees what was committed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple

from halfmask_device.instants import Instant

Role = Literal["operator", "consumer", "producer", "node", "peer"]
Plain = dict[str, Any]


class StoreGoneError(Exception):
    """The store cannot be reached, or gave up for now. Nothing was written, and trying again may help."""


class StoreConflictError(StoreGoneError):
    """The store gave up a transaction in favour of another one (a deadlock). Trying again will do."""


class StoreFullError(Exception):
    """The store is full. Nothing was written."""


class Identity(NamedTuple):
    """The holder of a token. ``campaign`` is that of a producer or node; ``left`` is when a producer left."""

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
"""A `ReportRow` as a plain tuple."""


class EntryRow(NamedTuple):
    """One booking. ``amount`` is positive; a reversal's is negative, and ``reverses`` names the entry it takes back."""

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
    """The snapshot of an open period in a live campaign: its cells when enough producers had last changed it.

    ``number`` counts the snapshots of the period, from 1.
    """

    number: int
    cells: Plain
    entry: Plain


class KnownRow(NamedTuple):
    """A node's own cells of a period, as far as they are known here. If ``final``, they will not change."""

    node: str
    period: str
    version: int
    final: bool
    cells: Plain


UNGIVEN, UPSTREAM = 0, -1
"""Values of ``consumer`` in campaigns of other nodes: a peer's until the operator assigns a consumer, and a gateway's.
"""


class Transaction(ABC):
    """Everything that is read or written together.

    ``alone``  whether nobody else can write since it began; if not, what was read before `lock` may have changed
    """

    alone: bool

    # tokens and their holders
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
        """Return the budget and what is committed of it. Other transactions that call this wait until this one ends."""

    @abstractmethod
    def spend(self, campaign: int, amount: int) -> bool:
        """Commit ``amount`` more of the budget, if it fits. Return whether it did."""

    @abstractmethod
    def schedule(self, campaign: int) -> list[tuple[Instant, dict[str, int]]]:
        """Return pairs of the instant from which rewards apply and the rewards, in order."""

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
        """Return steps, setting and reward of the stored reports at the times asked for, by producer and time.

        Reports of other times may be among them. A producer without any is left out.
        """

    @abstractmethod
    def add_reports(self, rows: Sequence[ReportTuple]) -> None: ...
    @abstractmethod
    def reports(self, campaign: int, begins: Instant, ends: Instant) -> Iterator[ReportRow]:
        """Yield the reports of a campaign with begins <= time < ends, by producer and time."""

    @abstractmethod
    def any_report(self, campaign: int, begins: Instant, ends: Instant) -> bool:
        """Return whether `reports` would yield any."""

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
        """Return entries in order: those after the entry named ``after``, at most ``most``."""

    @abstractmethod
    def entry(self, campaign: int, public: str) -> EntryRow | None: ...
    @abstractmethod
    def reversal(self, campaign: int, public: str) -> EntryRow | None: ...
    @abstractmethod
    def owed(self, campaign: int) -> list[tuple[str, int]]:
        """Return producers by name, and the sum of their entries."""

    # periods
    @abstractmethod
    def closed(self, campaign: int, keys: Iterable[str] | None = None) -> dict[str, ClosedRow]: ...
    @abstractmethod
    def closed_between(self, campaign: int, first: Instant, last: Instant) -> dict[str, ClosedRow]:
        """Return the closed periods that begin from ``first`` to ``last``, both included, in order."""

    @abstractmethod
    def closed_keys(self, campaign: int, keys: Iterable[str] | None = None) -> set[str]: ...
    @abstractmethod
    def add_closed(self, campaign: int, rows: Sequence[ClosedRow]) -> None:
        """Close periods, and add an event for each."""

    @abstractmethod
    def any_cells(self, campaign: int, periods: Iterable[str]) -> bool:
        """Return whether any of the periods has cells of nodes or peers, a snapshot, or changes for the next one."""

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
        """Record that these producers changed the period since its last snapshot. Return how many have."""

    @abstractmethod
    def untouch(self, campaign: int, period: str, producers: Sequence[int]) -> None: ...
    @abstractmethod
    def touched(self, campaign: int, period: str) -> list[int]: ...
    @abstractmethod
    def shown(self, campaign: int, period: str, producers: Sequence[int]) -> dict[int, Plain]:
        """Return the cells of these producers in the last snapshot."""

    @abstractmethod
    def put_shown(self, campaign: int, period: str, look: int, cells: Mapping[int, Plain]) -> None:
        """Store the cells of producers in the snapshot with the number ``look``; empty for a producer who withdrew."""

    @abstractmethod
    def changes(self, campaign: int, period: str) -> dict[int, tuple[list[int], bool]]:
        """Return per producer ever shown the numbers of the snapshots that changed it, and whether it is gone."""

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
        """Return a fact that this database stores about itself, or None."""

    @abstractmethod
    def first_fact(self, name: str, value: str) -> str:
        """Store a fact unless there is one. Return the value that was stored first, by any process."""

    @abstractmethod
    def known(self, campaign: int, periods: Iterable[str]) -> list[KnownRow]: ...
    @abstractmethod
    def put_known(self, campaign: int, rows: Sequence[KnownRow]) -> None: ...
    @abstractmethod
    def newest(self, campaign: int, node: str) -> int:
        """Return the highest version of a node's cells, or 0 if there are none."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[None]:
        """Begin a part of the transaction that is undone alone if an error is raised within."""


class Store(ABC):
    """A database for transactions. Its failures are `StoreGoneError` or `StoreFullError`."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]:
        """Read and write. Everything is on disk when the block ends; after an error nothing is."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """Read only, without waiting for those who write."""

    @abstractmethod
    def check(self) -> None:
        """Raise `StoreGoneError` unless the store answers."""

    @abstractmethod
    def has_room(self) -> bool:
        """Return whether there is room for more, as far as can be seen from here."""

    @abstractmethod
    def close(self) -> None: ...
