"""Verification of many split reports at once: what `halfmask_device.prio3` does one by one, in compiled code."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfmask.arrays import BoolArray
from halfmask_device.prio3 import Prio3, SumCircuit
from halfmask_device.prio3.field64 import ELEMENT_BYTES, MODULUS, roots
from halfmask_device.prio3.linear_proof import proof_length
from halfmask_device.prio3.prio3 import MEASUREMENT_SHARE, NONCE_BYTES, PROOF_SHARE, QUERY_RANDOMNESS
from halfmask_device.prio3.turboshake import RATE, SEED_BYTES

VERIFIER_BYTES = 3 * ELEMENT_BYTES


class Prepared(NamedTuple):
    """One holder's part of some reports, in their order."""

    usable: BoolArray
    """Whether the share could be read; the rest of an unusable report is zero."""
    numbers: npt.NDArray[np.uint64]
    """The share of the measurement."""
    verifiers: npt.NDArray[np.uint64]
    """What the holders exchange, (reports, 3)."""

    def verifier_bytes(self) -> list[bytes]:
        """Return each verifier in the draft's encoding, 24 bytes."""
        data = self.verifiers.astype("<u8").tobytes()
        return [data[i : i + VERIFIER_BYTES] for i in range(0, len(data), VERIFIER_BYTES)]


class BatchVerifier:
    """Verifies the reports of one campaign: one largest measurement, context and verify key.

    One bad report spoils no other: a share that cannot be read is not usable, and a report whose verifiers prove
    nothing is not valid. The compiled code is loaded with the first batch, and releases the interpreter's lock.
    """

    def __init__(self, maximum: int, context: bytes, key: bytes) -> None:
        circuit = SumCircuit(maximum)
        prio3 = Prio3(circuit, context)
        self._leader_bytes = ELEMENT_BYTES * (circuit.length + proof_length(circuit))
        messages = [
            _message(prio3.domain(QUERY_RANDOMNESS), key, b"\x01" + bytes(NONCE_BYTES)),
            _message(prio3.domain(MEASUREMENT_SHARE), bytes(SEED_BYTES), b"\x01"),
            _message(prio3.domain(PROOF_SHARE), bytes(SEED_BYTES), b"\x01\x01"),
        ]
        head = 3 + len(prio3.domain(0))
        self._starts = np.array([head + SEED_BYTES + 1, head, head])
        self._messages = tuple(_padded(message) for message in messages)
        self._weights = np.array(circuit.weights, np.uint64)
        points = 2 << circuit.length.bit_length()
        self._nodes = np.array(roots(points), np.uint64)
        self._factors = np.array([-pow(n, -1, MODULUS) % MODULUS for n in (points // 2, points)], np.uint64)

    def leader(self, nonces: Sequence[bytes], shares: Sequence[bytes]) -> Prepared:
        """Prepare the leader's shares."""
        return self._prepared(True, nonces, shares, self._leader_bytes)

    def helper(self, nonces: Sequence[bytes], seeds: Sequence[bytes]) -> Prepared:
        """Prepare the helper's shares."""
        return self._prepared(False, nonces, seeds, SEED_BYTES)

    def _prepared(self, leading: bool, nonces: Sequence[bytes], shares: Sequence[bytes], size: int) -> Prepared:
        from halfmask.service.split.prio3_kernels import verifiers

        whole = np.array([len(share) == size for share in shares], np.bool_)
        table = _table(shares, size).view("<u8").astype(np.uint64)
        numbers, found, usable = verifiers(
            *(leading, table, _table(nonces, NONCE_BYTES)),
            *(self._messages, self._starts, self._weights, self._nodes, self._factors),
        )
        kept = usable & whole
        found[~kept], numbers[~kept] = 0, 0
        return Prepared(kept, numbers, found)


def valid_reports(mine: Prepared, theirs: Sequence[bytes]) -> BoolArray:
    """Return for each report whether the other holder's verifier and one's own prove it valid."""
    from halfmask.service.split.prio3_kernels import decided

    whole = np.array([len(each) == VERIFIER_BYTES for each in theirs], np.bool_)
    table = _table(theirs, VERIFIER_BYTES).view("<u8").astype(np.uint64)
    return np.asarray(decided(mine.verifiers, table) & mine.usable & whole)


def summed_numbers(numbers: npt.NDArray[np.uint64]) -> int:
    """Return the sum modulo p of at most 2^32 numbers."""
    high, low = (int(part.sum(dtype=np.uint64)) for part in (numbers >> np.uint64(32), numbers & np.uint64(2**32 - 1)))
    return ((high << 32) + low) % MODULUS


def _message(domain: bytes, seed: bytes, binder: bytes) -> bytes:
    return len(domain).to_bytes(2, "little") + domain + bytes([len(seed)]) + seed + binder + b"\x01"


def _padded(message: bytes) -> npt.NDArray[np.uint8]:
    """Return a message with TurboSHAKE's padding."""
    data = np.zeros(-(-len(message) // RATE) * RATE, np.uint8)
    data[: len(message)] = np.frombuffer(message, np.uint8)
    data[-1] ^= 0x80
    return data


def _table(rows: Sequence[bytes], size: int) -> npt.NDArray[np.uint8]:
    """Return rows of bytes as an array, (rows, size); a row of another size as zeros."""
    if any(len(row) != size for row in rows):
        rows = [row if len(row) == size else bytes(size) for row in rows]
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), size)
