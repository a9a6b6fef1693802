"""Prio3 of VDAF (draft-irtf-cfrg-vdaf-20): numbers cut into shares that prove their range and add up to a total.

A measurement is cut into shares, each uniformly random without the others. Each holder turns its share into a
*verifier*; the sum of all verifiers tells whether the measurement is valid, and nothing else. Then each holder adds up
the numbers of its valid shares, and the holders' sums add up to the sum of the measurements.

The holder 0 is the leader, the others are helpers. A helper's share is a seed of 32 bytes, from which it derives what
the leader's share lacks. The draft calls these steps shard, verify_init, verifier_shares_to_message and unshard.
Python's integers are not computed in constant time; the seeds are fresh for each report.
"""

from collections.abc import Iterable, Sequence
from typing import final

from halfmask_device.errors import ShareError
from halfmask_device.prio3.circuits import Circuit
from halfmask_device.prio3.field64 import decoded, drawn, encoded, subtracted, sums
from halfmask_device.prio3.linear_proof import decide, proof_length, prove, query, query_length
from halfmask_device.prio3.turboshake import SEED_BYTES, expanded

VERSION = 18
"""The draft's version byte."""
NONCE_BYTES = 16
MEASUREMENT_SHARE, PROOF_SHARE, PROVE_RANDOMNESS, QUERY_RANDOMNESS = 1, 2, 4, 5


@final
class Prio3:
    """Prio3 for one circuit, one context and a number of holders, with one proof per report."""

    def __init__(self, circuit: Circuit, context: bytes, holders: int = 2) -> None:
        self.circuit, self._context, self._holders = circuit, context, holders

    def domain(self, usage: int) -> bytes:
        """Return the domain separation tag of one usage: version, class (0, a VDAF), algorithm, usage, context."""
        head = bytes([VERSION, 0]) + self.circuit.algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big")
        return head + self._context

    def shard(self, measurement: int, random: bytes) -> list[bytes]:
        """Return the input shares of a measurement, the leader's first.

        ``random`` is 32 fresh random bytes per holder: the helpers' seeds, and one from which the proof is drawn.
        """
        if len(random) != SEED_BYTES * self._holders:
            raise ShareError(f"sharding takes {SEED_BYTES * self._holders} random bytes", kind="malformed")
        *helpers, prover = (random[i : i + SEED_BYTES] for i in range(0, len(random), SEED_BYTES))
        elements = self.circuit.encode(measurement)
        stream = expanded(prover, self.domain(PROVE_RANDOMNESS), b"\x01")
        whole = elements + prove(self.circuit, elements, drawn(stream, self.circuit.arity))
        for holder, seed in enumerate(helpers, start=1):
            whole = subtracted(whole, self._derived(holder, seed))
        return [encoded(whole), *helpers]

    def verifier(self, key: bytes, holder: int, nonce: bytes, share: bytes) -> tuple[int, bytes]:
        """Return a holder's number and its verifier of one report; refuse a share that is malformed."""
        if len(nonce) != NONCE_BYTES or len(key) != SEED_BYTES:
            raise ShareError("a nonce has 16 bytes and a verify key 32", kind="malformed")
        elements = self._derived(holder, share) if holder else decoded(share, self._length)
        stream = expanded(key, self.domain(QUERY_RANDOMNESS), b"\x01" + nonce)
        measurement, proof = elements[: self.circuit.length], elements[self.circuit.length :]
        found = query(self.circuit, measurement, proof, drawn(stream, query_length(self.circuit)))
        return self.circuit.number(measurement), encoded(found)

    def check(self, verifiers: Sequence[bytes]) -> None:
        """Refuse a report if the verifiers of all its holders do not prove its measurement valid."""
        length = self.circuit.arity + 2
        if not decide(self.circuit, sums(decoded(each, length) for each in verifiers)):
            raise ShareError("the proof of a report does not hold", kind="proof")

    @property
    def _length(self) -> int:
        return self.circuit.length + proof_length(self.circuit)

    def _derived(self, holder: int, seed: bytes) -> list[int]:
        """Return the elements of a helper's share: of the measurement, then of the proof."""
        if len(seed) != SEED_BYTES:
            raise ShareError(f"a helper's share has {SEED_BYTES} bytes, not {len(seed)}", kind="malformed")
        measurement = expanded(seed, self.domain(MEASUREMENT_SHARE), bytes([holder]))
        proof = expanded(seed, self.domain(PROOF_SHARE), bytes([1, holder]))
        return drawn(measurement, self.circuit.length) + drawn(proof, proof_length(self.circuit))


def total(shares: Iterable[bytes]) -> int:
    """Return the sum of holders' sums, each in 8 bytes, as a number of 0 .. p - 1."""
    return sums(decoded(each, 1) for each in shares)[0]
