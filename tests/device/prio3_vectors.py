"""Vectors of Prio3Sum of our own making, good and bad, that the device, the service and the browser are held to.

The draft has bad vectors for its smallest circuit alone. The good ones here also agreed, byte for byte, with the
draft's reference code, and so did the verifiers of the bad ones.
"""

import json
from hashlib import shake_256
from pathlib import Path
from typing import Any

from halfmask_device.prio3 import Prio3, SumCircuit
from halfmask_device.prio3.field64 import MODULUS, decoded, drawn, encoded, subtracted
from halfmask_device.prio3.linear_proof import proof_length, prove
from halfmask_device.prio3.turboshake import expanded

FILE = Path(__file__).parent / "prio3_vectors.json"
CONTEXT = b"halfmask/1/feeder-7/" + b"5e" * 32
GOOD = ((1, 0), (1, 1), (2, 1), (3, 2), (255, 100), (256, 256), (1000, 999), (999_999, 123_456), (2**32 - 1, 2**31))
FAULTS = {
    "measurement share": "share.proof",
    "wire seed": "share.proof",
    "gadget polynomial": "share.proof",
    "helper seed": "share.proof",
    "verify key": "share.proof",
    "nonce": "share.proof",
    "context": "share.proof",
    "out of range": "share.proof",
    "negative": "share.proof",
    "short": "share.malformed",
    "modulus": "share.malformed",
    "helper short": "share.malformed",
}
"""What is wrong with a report, and the code that it is refused with."""


def randomness(label: str, size: int) -> bytes:
    """Bytes that are fixed by a label."""
    return shake_256(label.encode()).digest(size)


def cheated(prio3: Prio3, elements: list[int], random: bytes) -> list[bytes]:
    """The shares of elements that no measurement has, with an honest proof of them."""
    seeds = drawn(expanded(random[32:], prio3.domain(4), b"\x01"), 1)
    whole = elements + prove(prio3.circuit, elements, seeds)
    streams = [expanded(random[:32], prio3.domain(usage), binder) for usage, binder in ((1, b"\x01"), (2, b"\x01\x01"))]
    lengths = [prio3.circuit.length, proof_length(prio3.circuit)]
    helper = [each for stream, length in zip(streams, lengths, strict=True) for each in drawn(stream, length)]
    return [encoded(subtracted(whole, helper)), random[:32]]


def damaged(share: bytes, place: int) -> bytes:
    """The leader's share with 1 added to one element."""
    elements = decoded(share, len(share) // 8)
    elements[place] = (elements[place] + 1) % MODULUS
    return encoded(elements)


def report(maximum: int, measurement: int, fault: str) -> dict[str, Any]:
    """One report with one fault, or with none, as both holders have it."""
    label = f"{maximum} {measurement} {fault}"
    prio3, random = Prio3(SumCircuit(maximum), CONTEXT), randomness(f"random {label}", 64)
    keys, nonces, contexts = [randomness("key", 32)] * 2, [randomness(f"nonce {label}", 16)] * 2, [CONTEXT] * 2
    leader, helper = prio3.shard(measurement, random)
    bits = prio3.circuit.length
    match fault:
        case "measurement share" | "wire seed" | "gadget polynomial":
            places = {"measurement share": 0, "wire seed": bits, "gadget polynomial": bits + 3}
            leader = damaged(leader, places[fault])
        case "helper seed":
            helper = bytes([helper[0] ^ 1]) + helper[1:]
        case "verify key":
            keys = [keys[0], randomness("other key", 32)]
        case "nonce":
            nonces = [nonces[0], randomness("other nonce", 16)]
        case "context":
            contexts = [CONTEXT, CONTEXT.replace(b"7", b"8")]
        case "out of range" | "negative":
            leader, helper = cheated(prio3, [2 if fault[0] == "o" else MODULUS - 1] + [0] * (bits - 1), random)
        case "short":
            leader = leader[:-8]
        case "modulus":
            leader = MODULUS.to_bytes(8, "little") + leader[8:]
        case "helper short":
            helper = helper[:-1]
    return {
        "maximum": maximum, "measurement": measurement, "random": random.hex(), "fault": fault,
        "keys": [key.hex() for key in keys], "nonces": [nonce.hex() for nonce in nonces],
        "contexts": [context.decode() for context in contexts],
        "shares": [leader.hex(), helper.hex()],
    }  # fmt: skip


def prepared(vector: dict[str, Any]) -> list[tuple[int, bytes]]:
    """Both holders' numbers and verifiers of a vector, by the device's code."""
    return [
        Prio3(SumCircuit(vector["maximum"]), vector["contexts"][holder].encode()).verifier(
            bytes.fromhex(vector["keys"][holder]),
            holder,
            bytes.fromhex(vector["nonces"][holder]),
            bytes.fromhex(vector["shares"][holder]),
        )
        for holder in (0, 1)
    ]


def vectors() -> list[dict[str, Any]]:
    """All reports, with numbers and verifiers where the shares can be read."""
    reports = [report(*good, "") for good in GOOD]
    reports += [report(maximum, maximum // 3, fault) for maximum in (1, 255, 999_999) for fault in FAULTS]
    for each in reports:
        readable = FAULTS.get(each["fault"]) != "share.malformed"
        found = prepared(each) if readable else []
        each["numbers"], each["verifiers"] = [str(number) for number, _ in found], [data.hex() for _, data in found]
        each["refused"] = FAULTS.get(each["fault"])
    return reports


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n")
