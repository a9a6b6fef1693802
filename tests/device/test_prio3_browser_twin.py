"""The browser cuts measurements into the shares that Python and the draft's vectors give, in a real browser."""

import base64
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from halfmask_device.prio3 import Prio3, SumCircuit
from tests.browser import launched
from tests.device.prio3_vectors import FILE, randomness
from tests.real_data import DATA

MODULE = files("halfmask").joinpath("pages", "prio3.js").read_text(encoding="utf-8")
OWN = [each for each in json.loads(FILE.read_text(encoding="utf-8")) if not each["fault"]]
CUT = """async ([module, vectors]) => {
  const { shard } = await import(module);
  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const bytes = (hex) => Uint8Array.from(hex.match(/../g).map((pair) => parseInt(pair, 16)));
  return vectors.map((v) =>
    shard(BigInt(v.maximum), v.context, BigInt(v.measurement), bytes(v.random)).map(hex)
  );
}"""
FRESH = """async ([module, maximum, context, measurements]) => {
  const { splitReport } = await import(module);
  const made = measurements.map((each) => splitReport(BigInt(maximum), context, BigInt(each)));
  return made.map((report) => Object.values(report).map((part) => [...part]));
}"""
REFUSED = """async ([module, maximum, measurement]) => {
  const { shard } = await import(module);
  try { shard(BigInt(maximum), "", BigInt(measurement), new Uint8Array(64)); return ""; }
  catch (error) { return error.name; }
}"""


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with launched() as browser:
        yield browser.new_page()


def address(module: str = MODULE) -> str:
    return "data:text/javascript;base64," + base64.b64encode(module.encode()).decode()


def cut(page: Any, vectors: list[dict[str, Any]], module: str = MODULE) -> Any:
    return page.evaluate(CUT, [address(module), vectors])


def own() -> list[dict[str, Any]]:
    """The stored vectors, and such that try long contexts, more holders and every number of bits."""
    made = [{**each, "context": each["contexts"][0]} for each in OWN]
    for bits in range(1, 33):
        maximum, holders = 2**bits - 1 - (2**bits // 5), 2 + bits % 3
        context, random = "é" * 6 * bits, randomness(f"twin {bits}", 32 * holders)
        shares = Prio3(SumCircuit(maximum), context.encode(), holders).shard(maximum * 3 // 4, random)
        made.append({
            "maximum": maximum, "measurement": maximum * 3 // 4, "context": context, "random": random.hex(),
            "shares": [share.hex() for share in shares],
        })  # fmt: skip
    return made


def test_the_browser_gives_pythons_shares(page: Any) -> None:
    assert cut(page, own()) == [vector["shares"] for vector in own()]


@pytest.mark.skipif(not (DATA / "vdaf").is_dir(), reason="no vectors of the draft: HALFMASK_DATA names their folder")
def test_the_browser_gives_the_drafts_shares(page: Any) -> None:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((DATA / "vdaf").glob("Prio3Sum_*.json"))]
    assert [vector["shares"] for vector in found] == [2, 3, 2]
    vectors = [
        {
            "maximum": vector["max_measurement"], "context": bytes.fromhex(vector["ctx"]).decode(),
            "measurement": report["measurement"], "random": report["rand"], "shares": report["input_shares"],
        }
        for vector in found for report in vector["reports"]
    ]  # fmt: skip
    assert cut(page, vectors) == [vector["shares"] for vector in vectors]


def test_fresh_reports_are_valid_and_differ(page: Any) -> None:
    maximum, measurements, context = 999_999, [0, 1, 999_999, 123_456, 123_456], "halfmask/1/a/b"
    made = page.evaluate(FRESH, [address(), maximum, context, measurements])
    prio3, key = Prio3(SumCircuit(maximum), context.encode()), randomness("key", 32)
    numbers = []
    for nonce, *shares in (map(bytes, report) for report in made):
        prepared = [prio3.verifier(key, holder, nonce, share) for holder, share in enumerate(shares)]
        prio3.check([verifier for _, verifier in prepared])
        numbers.append(sum(number for number, _ in prepared) % (2**64 - 2**32 + 1))
    assert numbers == measurements
    assert len({bytes(part) for report in made for part in report}) == 3 * len(made)


@pytest.mark.parametrize(("maximum", "measurement"), [(9, 10), (9, -1), (0, 0), (2**32, 5)])
def test_numbers_out_of_range_are_refused(page: Any, maximum: int, measurement: int) -> None:
    assert page.evaluate(REFUSED, [address(), maximum, measurement]) == "RangeError"
    assert page.evaluate(REFUSED, [address(), 9, 9]) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("[18, 0, 0, 0, 0, 2", "[12, 0, 0, 0, 0, 2"),
        ("value * value - value", "value * value + value"),
        ("2n ** 64n - 2n ** 32n + 1n", "2n ** 64n - 2n ** 32n - 1n"),
        ("0x0000000080000001n", "0x0000000080000000n"),
        ("words(seed, domain(2)", "words(seed, domain(1)"),
    ],
)
def test_a_twin_with_a_fault_is_found(page: Any, right: str, wrong: str) -> None:
    assert right in MODULE
    stored = own()[:9]
    assert cut(page, stored, MODULE.replace(right, wrong)) != [vector["shares"] for vector in stored]


def test_the_twin_shares_nothing_outside_itself() -> None:
    assert "import " not in MODULE
    assert "Math.random" not in MODULE
    assert "fetch(" not in MODULE
