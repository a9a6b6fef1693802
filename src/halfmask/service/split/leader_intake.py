"""Split reports at the leader: their shares are stored as they came, and count like any other report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from halfmask.service.campaign import Campaign
from halfmask.service.split.split_campaign import SplitCampaign, led_campaign
from halfmask.service.storage.split_rows import NewShare
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.instants import Instant

Nonced = tuple[str, bytes]
"""A nonce and the leader's share."""


@dataclass
class LeaderIntake:
    """The split reports of one campaign in one transaction, in which the campaign is locked.

    ``id``      the split setting's id on the menu
    ``nonces``  those that are stored
    """

    tx: Transaction
    split: SplitCampaign
    id: str
    nonces: set[str] = field(default_factory=set)
    rows: list[NewShare] = field(default_factory=list)

    @classmethod
    def of(cls, tx: Transaction, campaign: Campaign) -> "LeaderIntake | None":
        """Return the intake of a campaign; None if it lacks a split setting."""
        led = tx.led(campaign.key) if campaign.split_id else None
        if led is None:
            return None
        return cls(tx, led_campaign(led), campaign.split_id or "")

    def read(
        self,
        asked: Mapping[int, Sequence[Instant]],
        standing: dict[int, dict[Instant, tuple[int | Nonced, str, int]]],
        values: Iterable[int | Nonced],
    ) -> None:
        """Add the stored split reports of producers to ``standing``, and find which of these nonces are stored."""
        owners: dict[Instant, set[str]] = {}
        for producer, times in asked.items():
            for time in times:
                owners.setdefault(time, set()).add(str(producer))
        for (owner, time), row in self.tx.standing_shares(self.split.holding, owners).items():
            standing.setdefault(int(owner), {})[time] = (row.nonce, row.share), self.id, row.reward
        nonces = {value[0] for value in values if isinstance(value, tuple)}
        self.nonces = self.tx.standing_nonces(self.split.holding, nonces)

    def fits(self, value: Nonced) -> bool:
        return len(value[1]) == self.split.leader_bytes

    def free(self, value: Nonced) -> bool:
        """Return whether no other report has the nonce."""
        return value[0] not in self.nonces

    def take(self, producer: int, time: Instant, value: Nonced, reward: int) -> None:
        self.nonces.add(value[0])
        self.rows.append(NewShare(time, str(producer), *value, reward))

    def store(self) -> None:
        self.tx.add_shares(self.split.holding, self.rows)
