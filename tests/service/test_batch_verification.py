"""The compiled verification gives the device's bytes for good and bad reports, and one bad report spoils no other."""

import json
import subprocess
import sys
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.service.split.batch_verification import BatchVerifier, Prepared, summed_numbers, valid_reports
from halfmask_device.errors import ShareError
from halfmask_device.prio3 import Prio3, SumCircuit
from halfmask_device.prio3.field64 import MODULUS, drawn, encoded, roots
from halfmask_device.prio3.linear_proof import proof_length, query
from halfmask_device.prio3.turboshake import TurboShake128
from tests.device.prio3_vectors import CONTEXT, FILE, damaged, randomness
from tests.real_data import DATA

OWN = json.loads(FILE.read_text(encoding="utf-8"))
ELEMENTS = st.integers(0, MODULUS - 1) | st.sampled_from([0, 1, MODULUS - 1, 2**32 - 1, 2**32, MODULUS - 2**32])
SOUND = [dict(each) for each in OWN if each["keys"][0] == each["keys"][1] and len(set(each["contexts"])) == 1]


def batch(maximum: int, vectors: list[dict[str, Any]], holder: int) -> Prepared:
    """What the compiled code makes of one holder's shares of vectors that have key and context in common."""
    (key,), (context,) = ({vector[name][holder] for vector in vectors} for name in ("keys", "contexts"))
    verifier = BatchVerifier(maximum, context.encode(), bytes.fromhex(key))
    prepare = verifier.helper if holder else verifier.leader
    nonces, shares = ([bytes.fromhex(each[name][holder]) for each in vectors] for name in ("nonces", "shares"))
    return prepare(nonces, shares)


def same(prepared: Prepared, vectors: list[dict[str, Any]], holder: int) -> None:
    """All bytes are those of the vectors; of those that cannot be read nothing is left."""
    for i, (vector, verifier) in enumerate(zip(vectors, prepared.verifier_bytes(), strict=True)):
        if vector["verifiers"]:
            assert prepared.usable[i]
            assert (str(prepared.numbers[i]), verifier.hex()) == (
                vector["numbers"][holder],
                vector["verifiers"][holder],
            )
        elif (holder == 0) != (vector["fault"] == "helper short"):
            assert not prepared.usable[i]
            assert not prepared.numbers[i]
            assert not any(verifier)


@pytest.mark.parametrize("maximum", sorted({vector["maximum"] for vector in SOUND}))
def test_a_batch_of_good_and_bad_reports_is_judged_one_by_one(maximum: int) -> None:
    vectors = [vector for vector in SOUND if vector["maximum"] == maximum]
    leader, helper = batch(maximum, vectors, 0), batch(maximum, vectors, 1)
    same(leader, vectors, 0)
    same(helper, vectors, 1)
    good = [vector["refused"] is None or vector["fault"] == "helper short" for vector in vectors]
    right = [vector["refused"] is None for vector in vectors]
    assert valid_reports(helper, leader.verifier_bytes()).tolist() == right
    assert valid_reports(leader, helper.verifier_bytes()).tolist() == right
    assert leader.usable.tolist() == [
        g or vector["refused"] == "share.proof" for g, vector in zip(good, vectors, strict=True)
    ]
    chosen = np.array(right)
    expected = sum(vector["measurement"] for vector in vectors if vector["refused"] is None)
    assert (summed_numbers(leader.numbers[chosen]) + summed_numbers(helper.numbers[chosen])) % MODULUS == expected


@pytest.mark.parametrize("vector", [each for each in OWN if each not in SOUND], ids=itemgetter("fault"))
def test_other_keys_and_contexts_prove_nothing(vector: dict[str, Any]) -> None:
    leader, helper = batch(vector["maximum"], [vector], 0), batch(vector["maximum"], [vector], 1)
    same(leader, [vector], 0)
    same(helper, [vector], 1)
    assert valid_reports(helper, leader.verifier_bytes()).tolist() == [False]


@pytest.mark.skipif(not (DATA / "vdaf").is_dir(), reason="no vectors of the draft: HALFMASK_DATA names their folder")
@pytest.mark.parametrize("name", ["Prio3Sum_0", "Prio3Sum_2"])
def test_the_drafts_vectors(name: str) -> None:
    vector = json.loads((DATA / "vdaf" / f"{name}.json").read_text(encoding="utf-8"))
    key, context = bytes.fromhex(vector["verify_key"]), bytes.fromhex(vector["ctx"])
    verifier = BatchVerifier(vector["max_measurement"], context, key)
    nonces = [bytes.fromhex(report["nonce"]) for report in vector["reports"]]
    sums = []
    for holder, prepare in enumerate((verifier.leader, verifier.helper)):
        shares = [bytes.fromhex(report["input_shares"][holder]) for report in vector["reports"]]
        prepared = prepare(nonces, shares)
        assert [each.hex() for each in prepared.verifier_bytes()] == [
            report["verifier_shares"][0][holder] for report in vector["reports"]
        ]
        sums.append(summed_numbers(prepared.numbers))
        assert encoded(sums[-1:]).hex() == vector["agg_shares"][holder]
    assert sum(sums) % MODULUS == vector["agg_result"]


@settings(max_examples=60)
@given(
    maximum=st.integers(1, 2**32 - 1),
    shares=st.lists(st.tuples(st.integers(0, 2**32), st.none() | st.integers(0, 200)), min_size=1, max_size=4),
    context=st.binary(max_size=400),
)
def test_any_reports_are_judged_as_the_device_judges_them(
    maximum: int, shares: list[tuple[int, int | None]], context: bytes
) -> None:
    prio3, key = Prio3(SumCircuit(maximum), context), randomness("key", 32)
    nonces, leaders, helpers = [], [], []
    for index, (number, place) in enumerate(shares):
        leader, helper = prio3.shard(number % (maximum + 1), randomness(f"{index} {number}", 64))
        nonces.append(randomness(f"nonce {index}", 16))
        leaders.append(leader if place is None else damaged(leader, place % (len(leader) // 8)))
        helpers.append(helper)
    verifier = BatchVerifier(maximum, context, key)
    both = verifier.leader(nonces, leaders), verifier.helper(nonces, helpers)
    for holder, (prepared, held) in enumerate(zip(both, (leaders, helpers), strict=True)):
        expected = [prio3.verifier(key, holder, *each) for each in zip(nonces, held, strict=True)]
        assert list(zip(map(int, prepared.numbers), prepared.verifier_bytes(), strict=True)) == expected
    assert valid_reports(both[1], both[0].verifier_bytes()).tolist() == [place is None for _, place in shares]


@settings(max_examples=60)
@given(st.sampled_from([1, 2, 7, 20, 32]), st.data())
def test_queries_of_any_elements_are_those_of_the_device(bits: int, data: st.DataObject) -> None:
    from halfmask.service.split.prio3_kernels import queried

    circuit = SumCircuit(2**bits - 1)
    proof = proof_length(circuit)
    points = proof  # an element for the wire, and one value less than there are points
    share = data.draw(st.lists(ELEMENTS, min_size=bits + proof, max_size=bits + proof))
    random = data.draw(st.lists(ELEMENTS, min_size=bits + 1, max_size=bits + 1))[-(bits + 1 if bits > 1 else 1) :]
    factors = [-pow(n, -1, MODULUS) % MODULUS for n in (points // 2, points)]
    arrays = [np.array(each, np.uint64) for each in (share, random, circuit.weights, roots(points), factors)]
    found = np.zeros(3, np.uint64)
    number, allowed = queried(*arrays, np.zeros(bits + 1, np.uint64), np.zeros(points, np.uint64), found)
    assert number == circuit.number(share[:bits])
    if allowed:
        assert found.tolist() == query(circuit, share[:bits], share[bits:], random)
    else:
        with pytest.raises(ShareError):
            query(circuit, share[:bits], share[bits:], random)


@pytest.mark.parametrize("power", range(16))
def test_a_query_at_a_root_of_unity_is_not_usable(power: int) -> None:
    from halfmask.service.split.prio3_kernels import queried

    scratch = [np.zeros(size, np.uint64) for size in (9, 32, 3)]
    random, nodes = np.array([1] * 8 + [roots(16)[power]], np.uint64), np.array(roots(32), np.uint64)
    share, weights = np.zeros(8 + 32, np.uint64), np.ones(8, np.uint64)
    assert queried(share, random, weights, nodes, np.ones(2, np.uint64), *scratch)[1] is False
    random[-1] = roots(32)[1]
    assert queried(share, random, weights, nodes, np.ones(2, np.uint64), *scratch)[1] is True


def test_words_from_the_modulus_upwards_are_left_out() -> None:
    from halfmask.service.split.prio3_kernels import drawn_elements

    stream: Any = TurboShake128(b"message")
    stream._lanes[2], stream._lanes[20] = MODULUS, 2**64 - 1
    state, found = np.array(stream._lanes, np.uint64), np.zeros(30, np.uint64)
    drawn_elements(state, found, np.zeros(5, np.uint64), np.zeros(25, np.uint64))
    assert found.tolist() == drawn(stream, 30)


def test_verifiers_of_wrong_size_or_range_prove_nothing() -> None:
    key, nonce, prio3 = randomness("key", 32), randomness("nonce", 16), Prio3(SumCircuit(9), CONTEXT)
    verifier = BatchVerifier(9, CONTEXT, key)
    leader, helper = prio3.shard(5, randomness("random", 64))
    right = verifier.leader([nonce], [leader]).verifier_bytes()[0]
    beyond = (int.from_bytes(right[:8], "little") + MODULUS).to_bytes(9, "little")[:8] + right[8:]
    theirs = [right, right[:-1], right + b"\0", b"", MODULUS.to_bytes(8, "little") + right[8:], beyond, right]
    mine = verifier.helper([nonce] * len(theirs), [helper] * len(theirs))
    assert valid_reports(mine, theirs).tolist() == [True, False, False, False, False, False, True]


def test_no_reports_are_no_work() -> None:
    nothing = BatchVerifier(9, CONTEXT, bytes(32)).leader([], [])
    assert (nothing.verifier_bytes(), valid_reports(nothing, []).tolist(), summed_numbers(nothing.numbers)) == (
        [],
        [],
        0,
    )


def test_sums_wrap_at_the_modulus() -> None:
    numbers = np.full(1000, MODULUS - 3, np.uint64)
    assert summed_numbers(numbers) == -3000 % MODULUS


def test_the_package_loads_without_compiled_code() -> None:
    code = "import halfmask.service.split.batch_verification, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
