"""Split reports: sharding and verifying one by one in plain Python, and many at once in compiled code.

One core, nothing in parallel, in core-seconds of the quickest of three runs. Measurements have 20 bits. Nothing is
asserted.
"""

import os
import time
from collections.abc import Callable

from halfmask.service.split.batch_verification import BatchVerifier, valid_reports
from halfmask_device.prio3 import Prio3, SumCircuit

MAXIMUM = 999_999
CONTEXT = b"halfmask/1/0123456789abcdef/" + b"5e" * 32
FEW, MANY = 200, 20_000


def seconds(work: Callable[[], object]) -> float:
    """Of the quickest of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def run() -> None:
    """Time both, on the same reports."""
    prio3, key = Prio3(SumCircuit(MAXIMUM), CONTEXT), os.urandom(32)
    shares = [prio3.shard(i, os.urandom(64)) for i in range(FEW)]
    nonces = [os.urandom(16) for _ in range(FEW)]

    def one_by_one() -> None:
        for nonce, report in zip(nonces, shares, strict=True):
            prio3.check([prio3.verifier(key, holder, nonce, share)[1] for holder, share in enumerate(report)])

    verifier = BatchVerifier(MAXIMUM, CONTEXT, key)
    ids, leaders, helpers = (each * (MANY // FEW) for each in (nonces, *map(list, zip(*shares, strict=True))))

    def at_once() -> None:
        valid = valid_reports(verifier.helper(ids, helpers), verifier.leader(ids, leaders).verifier_bytes())
        if not valid.all():
            raise RuntimeError("valid reports were refused")

    at_once()  # loads the compiled code
    sharding = seconds(lambda: [prio3.shard(i, os.urandom(64)) for i in range(FEW)]) / FEW
    plain, compiled = seconds(one_by_one) / FEW, seconds(at_once) / MANY
    print(
        f"split: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {MAXIMUM.bit_length()} bits, per core-second"
    )
    print(
        f"  nonce and shares: {16 + sum(map(len, shares[0]))} bytes, made in {1000 * sharding:.2f} ms of plain Python"
    )
    print(
        f"  verified at both holders: {1 / compiled:,.0f} reports/s compiled, {1 / plain:,.0f} in plain Python", end=""
    )
    print(f", {plain / compiled:.0f} times")


if __name__ == "__main__":
    run()
