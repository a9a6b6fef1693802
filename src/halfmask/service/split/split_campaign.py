"""A split campaign as one of its two services has it: its periods, its verifier, and this service's noise."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from halfmask.service.refusal import Refusal, unfit
from halfmask.service.storage.split_rows import HELPER, VALID, HelpedSplit, Holding, LedSplit
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.campaign_calendar import Calendar, Span
from halfmask_device.decimals import number_text
from halfmask_device.epsilon_bound import composed_epsilon
from halfmask_device.instants import DAY, MINUTE, Instant, parse_instant
from halfmask_device.lattice import Lattice
from halfmask_device.law import Law
from halfmask_device.prio3 import SumCircuit
from halfmask_device.prio3.field64 import ELEMENT_BYTES, MODULUS
from halfmask_device.prio3.linear_proof import proof_length
from halfmask_device.protocol import MOST_STEPS, SPLIT_DELTA, WIDEST_NOISE
from halfmask_device.random_bits import Bits
from halfmask_device.setting import DeviceSetting, law
from halfmask_device.split_terms import SplitTerms

if TYPE_CHECKING:
    from halfmask.service.split.batch_verification import BatchVerifier

KEPT = 30 * DAY
"""How long after its period a share without a sum is kept."""
MOST_SHARES = 2**24
"""Most reports in a sum."""
MOST_VERIFIED = 10_000
"""Most reports in one request for verification."""
HELD_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""A campaign's id at its helper."""
_SIGN = 2**63
Draws = Callable[[], Bits]
"""Returns a source of random bits for one draw of noise. Tests pass a fixed stream."""


@dataclass(frozen=True)
class SplitCampaign:
    """The terms, the key, and which shares of the campaign this service holds."""

    terms: SplitTerms
    verify_key: bytes
    holding: Holding

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(**self.terms.lattice)

    @cached_property
    def calendar(self) -> Calendar:
        return Calendar(self.terms.period, self.terms.time_zone)

    @cached_property
    def begins(self) -> Instant:
        return parse_instant(self.terms.begins) or 0

    @cached_property
    def ends(self) -> Instant:
        return parse_instant(self.terms.ends) or 0

    @property
    def expires(self) -> Instant:
        """Return when tickets expire and the last shares are deleted."""
        return self.ends + self.terms.grace_minutes * MINUTE + KEPT

    @cached_property
    def law(self) -> Law:
        return law(DeviceSetting.parse(self.terms.setting), self.lattice.unit)

    @cached_property
    def leader_bytes(self) -> int:
        """Return the bytes of the leader's share of a report."""
        circuit = SumCircuit(self.terms.maximum)
        return ELEMENT_BYTES * (circuit.length + proof_length(circuit))

    @cached_property
    def verifier(self) -> "BatchVerifier":
        from halfmask.service.split.batch_verification import BatchVerifier  # a service starts without it

        return BatchVerifier(self.terms.maximum, self.terms.context, self.verify_key)

    def span_at(self, time: Instant | None) -> Span | str:
        """Return the period that begins at a time, or the code of a refusal."""
        if time is None or not self.calendar.begins_at(time):
            return "malformed"
        return self.calendar.span_of(time) if self.begins <= time < self.ends else "outside_campaign"

    def named_span(self, key: str) -> Span:
        span = self.calendar.named(key)
        if span is None or not self.begins <= span.begins < self.ends:
            raise Refusal(404, "not_found", "there is no such period", "period")
        return span

    def noisy(self, total: int, draws: Draws) -> int:
        """Return a sum and one draw of the law, modulo p."""
        return (total + self.law.draw(draws())) % MODULUS

    def valid_shares(self, tx: Transaction, span: Span) -> "ValidShares":
        """Return a period's valid shares. This reads all of them, so it is done before the transaction that writes."""
        version = tx.valid_version(self.holding, span.begins)
        numbers, others = dict[str, int](), list[tuple[str, int]]()
        for owner, nonce, verdict, number in tx.verdicts(self.holding, span.begins):
            if verdict == VALID:
                numbers[nonce] = number
            else:
                others.append((owner, verdict))
        return ValidShares(version, numbers, others)

    def unchanged(self, tx: Transaction, span: Span, valid: "ValidShares") -> bool:
        return tx.valid_version(self.holding, span.begins) == valid.version


@dataclass(frozen=True)
class ValidShares:
    """The shares of a period with a valid proof, as they were read.

    ``version``  what says whether they are still the same
    ``numbers``  their stored numbers, by nonce
    ``others``   owner and verdict of the period's other shares
    """

    version: int
    numbers: Mapping[str, int]
    others: Sequence[tuple[str, int]]

    @cached_property
    def total(self) -> int:
        """Return the sum of all, modulo p."""
        import numpy as np  # a service starts without it

        from halfmask.service.split.batch_verification import summed_numbers

        elements = np.fromiter(self.numbers.values(), np.int64).view(np.uint64) + np.uint64(_SIGN)
        return summed_numbers(elements)

    def among(self, nonces: Iterable[str]) -> "ValidShares":
        """Return those of them that have one of these nonces."""
        return replace(self, numbers={nonce: self.numbers[nonce] for nonce in nonces if nonce in self.numbers})


def stored_number(number: int) -> int:
    """Return a field element as the signed integer that a database holds."""
    return number - _SIGN


def share_bytes(number: int) -> bytes:
    """Return the draft's encoding of a service's sum."""
    return number.to_bytes(ELEMENT_BYTES, "little")


def centred(number: int) -> int:
    """Return a field element as an integer around 0: those above p/2 are negative."""
    return number - MODULUS if number > MODULUS // 2 else number


@lru_cache(maxsize=1024)
def helped_campaign(row: HelpedSplit) -> SplitCampaign:
    return SplitCampaign(SplitTerms.read(row.terms), bytes.fromhex(row.verify_key), Holding(HELPER, row.key))


@lru_cache(maxsize=1024)
def _led(terms: str, key: str, campaign: int) -> SplitCampaign:
    return SplitCampaign(SplitTerms.read(terms), bytes.fromhex(key), Holding(0, campaign))


def led_campaign(row: LedSplit) -> SplitCampaign:
    return _led(row.terms, row.verify_key, row.campaign)


def epsilon_of_total(terms: SplitTerms) -> float:
    """Return epsilon at `SPLIT_DELTA` of replacing a total by any other within the bounds, under one draw."""
    change = Lattice(**terms.lattice).text(terms.maximum)
    return composed_epsilon({(terms.setting, terms.lattice["step"], change): 1}, SPLIT_DELTA)


def check_limits(found: SplitCampaign, field: str) -> None:
    """Refuse terms whose sums could leave the field, or whose noise promises nothing."""
    if found.terms.maximum >= MOST_STEPS:
        raise unfit(field, f"the lattice has {MOST_STEPS} steps or more: take a coarser step")
    if Fraction(found.law.variance) > 2 * WIDEST_NOISE**2:
        raise unfit(field, f"the noise is wider than {WIDEST_NOISE} steps: take a coarser step")
    if not math.isfinite(epsilon_of_total(found.terms)):
        raise unfit(
            field,
            f"the split setting has no finite epsilon at delta {number_text(SPLIT_DELTA)}: take laplace or gaussian",
        )
