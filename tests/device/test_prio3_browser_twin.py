"""The browser cuts measurements into the shares that Python and the draft's vectors give, in a real browser."""

import base64
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from halfmask_device.prio3 import Prio3, SumCircuit
from tests.browser import launched
from tests.device.prio3_vectors import FILE, randomness
from tests.device.split_wire import split_wire
from tests.device.test_split_terms import HELPER, SPLIT, TERMS
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
REPORT = """async ([module, offer, time, totals]) => {
  const { splitRequests } = await import(module);
  return Promise.all(totals.map((total) => splitRequests(offer, "S", time, total)));
}"""
SAME = """async ([module, leader, offer, shown]) => {
  const { sameTerms } = await import(module);
  return sameTerms(leader, offer, shown);
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


def test_whole_reports_are_taken_by_both_services_and_add_up(page: Any, tmp_path: Path) -> None:
    """From a page that a browser trusts, to two real services, which verify the proofs."""
    (tmp_path / "page.html").write_text("")
    page.goto((tmp_path / "page.html").as_uri())
    totals, range_ = [-1000, 0, 4000, 1234, 1234], {"step": "0.01", "low": "-10", "high": "40"}
    with split_wire(tmp_path, lattice=range_) as wire:
        offer = wire.pair.leader.ok("GET", f"/v1/campaigns/{wire.campaign}")
        wire.pair.set("2026-11-17T00:10:00Z")
        made = page.evaluate(REPORT, [address(), offer, "2026-11-16T00:00:00Z", totals])
        for each in made:
            device = wire.pair.join()
            at_helper = wire.pair.helper.ok(
                "POST", each["helper"]["path"], device.ticket, {"shares": [each["helper"]["share"]]}
            )
            at_leader = wire.pair.leader.ok(
                "POST", each["leader"]["path"], device.token, {"reports": [each["leader"]["report"]]}
            )
            assert [told["results"][0]["status"] for told in (at_helper, at_leader)] == ["accepted"] * 2
        assert wire.exact_sum("2026-11-16") == (sum(totals), len(totals))
        assert len({each["leader"]["report"]["report"] for each in made}) == len(totals)
        assert len({each["helper"]["share"]["share"] for each in made}) == len(totals)


def test_the_browser_compares_the_terms_of_both_services(page: Any) -> None:
    offer = SPLIT | {"campaign": "c", "split": {"helper": HELPER, "campaign": "h", "terms": TERMS.text()}}
    shown = {"leader": TERMS.leader, "campaign": "c", "terms": TERMS.text()}
    assert page.evaluate(SAME, [address(), TERMS.leader, offer, shown])
    wider = SPLIT["lattice"] | {"high": "80"}
    for leader, other_offer, other_shown in (
        ("https://other.example", offer, shown),
        (TERMS.leader, offer | {"campaign": "d"}, shown),
        (TERMS.leader, offer | {"lattice": wider}, shown),
        (TERMS.leader, offer | {"split": offer["split"] | {"helper": "https://other.example"}}, shown),
        (TERMS.leader, offer | {"split": None}, shown),
        (TERMS.leader, offer, shown | {"terms": TERMS.text() + " "}),
        (TERMS.leader, offer, shown | {"leader": HELPER}),
    ):
        assert not page.evaluate(SAME, [address(), leader, other_offer, other_shown])


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
