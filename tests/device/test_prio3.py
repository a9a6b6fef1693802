"""Prio3 on the device: the draft's vectors byte for byte, our own good and bad ones, and the laws behind them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask_device.errors import ShareError
from halfmask_device.prio3 import CountCircuit, Prio3, SumCircuit, total
from halfmask_device.prio3.field64 import MODULUS, completed, decoded, doubled, drawn, encoded, roots, values_at
from halfmask_device.prio3.linear_proof import proof_length, query
from halfmask_device.prio3.turboshake import TurboShake128, expanded
from tests.device.prio3_vectors import FAULTS, FILE, damaged, prepared, randomness, vectors
from tests.real_data import DATA
from tests.refusals import refused

FOLDER = DATA / "vdaf"
DRAFT = sorted(FOLDER.glob("Prio3*.json"))
needs_vectors = pytest.mark.skipif(not DRAFT, reason="no vectors of the draft: HALFMASK_DATA names their folder")
OWN = json.loads(FILE.read_text(encoding="utf-8"))


def read(path: Path) -> tuple[dict[str, Any], Prio3]:
    vector = json.loads(path.read_text(encoding="utf-8"))
    circuit = SumCircuit(vector["max_measurement"]) if "max_measurement" in vector else CountCircuit()
    return vector, Prio3(circuit, bytes.fromhex(vector["ctx"]), vector["shares"])


def words(stream: TurboShake128, count: int) -> bytes:
    return b"".join(stream.word().to_bytes(8, "little") for _ in range(count))


@pytest.mark.parametrize("size", [0, 1, 166, 167, 168, 169, 1000])
def test_the_sponge_of_24_rounds_is_shake_128(size: int) -> None:
    message = bytes(i % 251 for i in range(size))
    assert words(TurboShake128(message, 0x1F, rounds=24), 60) == hashlib.shake_128(message).digest(480)


def test_turboshake_gives_the_bytes_of_rfc_9861() -> None:
    empty = "1e415f1c5983aff2169217277d17bb538cd945a397ddec541f1ce41af2c1b74c"
    assert words(TurboShake128(b"", 0x1F), 4).hex() == empty


@needs_vectors
def test_the_output_function_gives_the_drafts_bytes() -> None:
    vector = json.loads((FOLDER / "XofTurboShake128.json").read_text(encoding="utf-8"))
    seed, domain, binder = (bytes.fromhex(vector[name]) for name in ("seed", "dst", "binder"))
    assert words(expanded(seed, domain, binder), 4).hex() == vector["derived_seed"]
    assert words(expanded(seed, domain, binder), 2 * vector["length"]).hex() == vector["expanded_vec_field128"]


@needs_vectors
def test_all_vectors_of_the_draft_are_there() -> None:
    assert len(DRAFT) == 10
    assert sum("bad" in path.name for path in DRAFT) == 4


@needs_vectors
@pytest.mark.parametrize("path", DRAFT, ids=lambda path: path.stem)
def test_the_drafts_operations_give_its_bytes_and_fail_where_it_says(path: Path) -> None:
    vector, prio3 = read(path)
    key, numbers = bytes.fromhex(vector["verify_key"]), dict[int, list[int]]()
    found: dict[int, list[bytes]] = {}
    for step in vector["operations"]:
        report = vector["reports"][step["report_index"]] if "report_index" in step else {}
        match step["operation"]:
            case "shard":
                shares = prio3.shard(report["measurement"], bytes.fromhex(report["rand"]))
                assert [share.hex() for share in shares] == report["input_shares"]
            case "verify_init":
                holder, index = step["aggregator_id"], step["report_index"]
                nonce, share = (bytes.fromhex(each) for each in (report["nonce"], report["input_shares"][holder]))
                number, verifier = prio3.verifier(key, holder, nonce, share)
                assert verifier.hex() == report["verifier_shares"][0][holder]
                found.setdefault(index, []).append(verifier)
                if step["success"] and report["out_shares"]:
                    assert encoded([number]).hex() == report["out_shares"][holder]
                numbers.setdefault(holder, []).append(number)
            case "verifier_shares_to_message" if step["success"]:
                prio3.check(found[step["report_index"]])
                assert report["verifier_messages"] == [""]
            case "verifier_shares_to_message":
                with pytest.raises(ShareError) as refused:
                    prio3.check(found[step["report_index"]])
                assert refused.value.code == "share.proof"
            case "aggregate":
                share = encoded([sum(numbers[step["aggregator_id"]]) % MODULUS]).hex()
                assert share == vector["agg_shares"][step["aggregator_id"]]
            case "unshard":
                assert total(map(bytes.fromhex, vector["agg_shares"])) == vector["agg_result"]
            case other:
                assert other == "verify_next"  # without joint randomness nothing is left to do
    assert ("bad" in path.name) == (not all(step["success"] for step in vector["operations"]))


def test_the_stored_vectors_are_those_of_this_code() -> None:
    assert vectors() == OWN
    assert {vector["fault"] for vector in OWN} == {"", *FAULTS}


@pytest.mark.parametrize("vector", OWN, ids=lambda v: f"{v['maximum']} {v['measurement']} {v['fault']}")
def test_own_vectors_are_valid_or_refused_for_their_fault(vector: dict[str, Any]) -> None:
    code = vector["refused"]
    if code is None:
        numbers, verifiers = zip(*prepared(vector), strict=True)
        Prio3(SumCircuit(vector["maximum"]), b"").check(verifiers)
        assert sum(numbers) % MODULUS == vector["measurement"]
        return
    with pytest.raises(ShareError) as refused:
        Prio3(SumCircuit(vector["maximum"]), b"").check([verifier for _, verifier in prepared(vector)])
    assert refused.value.code == code


@given(st.integers(1, 2**32 - 1), st.data(), st.integers(2, 5))
def test_every_measurement_in_range_is_valid_and_adds_up(maximum: int, data: st.DataObject, holders: int) -> None:
    prio3 = Prio3(SumCircuit(maximum), b"some campaign", holders)
    measurements = data.draw(st.lists(st.integers(0, maximum), min_size=1, max_size=3))
    sums = [0] * holders
    for index, measurement in enumerate(measurements):
        key, nonce = randomness("key", 32), randomness(f"nonce {index}", 16)
        shares = prio3.shard(measurement, randomness(f"random {index}", 32 * holders))
        prepared = [prio3.verifier(key, holder, nonce, share) for holder, share in enumerate(shares)]
        prio3.check([verifier for _, verifier in prepared])
        sums = [(have + number) % MODULUS for have, (number, _) in zip(sums, prepared, strict=True)]
    assert total(encoded([each]) for each in sums) == sum(measurements)


def test_a_change_of_any_element_of_the_leaders_share_is_found() -> None:
    prio3, key, nonce = Prio3(SumCircuit(200), b"c"), randomness("key", 32), randomness("nonce", 16)
    leader, helper = prio3.shard(17, randomness("random", 64))
    verifier = prio3.verifier(key, 1, nonce, helper)[1]
    prio3.check([prio3.verifier(key, 0, nonce, leader)[1], verifier])
    assert len(leader) // 8 == prio3.circuit.length + proof_length(prio3.circuit)
    for place in range(len(leader) // 8):
        with refused("share.proof"):
            prio3.check([prio3.verifier(key, 0, nonce, damaged(leader, place))[1], verifier])


@pytest.mark.parametrize("measurement", [-1, 1001, 2**40])
def test_a_measurement_out_of_range_is_refused_and_not_repeated(measurement: int) -> None:
    with pytest.raises(ShareError) as refused:
        Prio3(SumCircuit(1000), b"").shard(measurement, bytes(64))
    assert refused.value.code == "share.measurement"
    assert str(measurement) not in str(refused.value)


@pytest.mark.parametrize("maximum", [0, -5, 2**32])
def test_a_maximum_beyond_the_limits_is_refused(maximum: int) -> None:
    with pytest.raises(ShareError) as refused:
        SumCircuit(maximum)
    assert refused.value.code == "share.maximum"


def test_sizes_that_are_not_the_drafts_are_refused() -> None:
    prio3, share = Prio3(SumCircuit(7), b""), Prio3(SumCircuit(7), b"").shard(3, bytes(64))[1]
    for work in (
        lambda: prio3.shard(3, bytes(63)),
        lambda: prio3.verifier(bytes(31), 1, bytes(16), share),
        lambda: prio3.verifier(bytes(32), 1, bytes(15), share),
        lambda: prio3.verifier(bytes(32), 1, bytes(16), share + b"\0"),
        lambda: prio3.check([bytes(24), bytes(23)]),
    ):
        with pytest.raises(ShareError) as refused:
            work()
        assert refused.value.code == "share.malformed"


def test_a_report_of_20_bits_takes_720_bytes() -> None:
    shares = Prio3(SumCircuit(999_999), b"halfmask/1/campaign/" + b"0" * 64).shard(123_456, randomness("random", 64))
    assert 16 + sum(map(len, shares)) == 720


class Words:
    """A stream that gives some words, in place of one of which no seed is known that does."""

    def __init__(self, words: list[int]) -> None:
        self.word = iter(words).__next__


def test_words_from_the_modulus_upwards_are_left_out() -> None:
    stream: Any = Words([5, MODULUS, MODULUS - 1, 2**64 - 1, 7])
    assert drawn(stream, 3) == [5, MODULUS - 1, 7]


@pytest.mark.parametrize("power", range(16))
def test_a_query_at_a_root_of_unity_is_refused(power: int) -> None:
    """There a wire polynomial is an element of the measurement."""
    circuit = SumCircuit(255)
    with pytest.raises(ShareError) as refused:
        query(circuit, [0] * 8, [0] * proof_length(circuit), [1] * 8 + [roots(16)[power]])
    assert refused.value.code == "share.query"


@given(st.integers(0, 5), st.data())
def test_polynomials_by_their_values(log: int, data: st.DataObject) -> None:
    n, element = 2**log, st.integers(0, MODULUS - 1)
    coefficients = data.draw(st.lists(element, min_size=n, max_size=n))

    def at(x: int, factors: list[int]) -> int:
        return sum(c * pow(x, k, MODULUS) for k, c in enumerate(factors)) % MODULUS

    values = [at(x, coefficients) for x in roots(n)]
    assert doubled(values) == [at(x, coefficients) for x in roots(2 * n)]
    point = data.draw(element)
    if n > 1:
        assert values_at([values, values[::-1]], point)[0] == at(point, coefficients)
        lower = [at(x, coefficients[:-1]) for x in roots(n)]
        assert completed(lower[:-1]) == lower
    assert decoded(encoded(values), n) == values
