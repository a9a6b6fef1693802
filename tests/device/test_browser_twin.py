"""The browser's twin gives Python's reports and Python the twin's, from the same vectors, in a real browser."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from halfmask_device.laws import MECHANISMS
from tests.browser import launched, with_modules
from tests.device.vectors import EVERY, FILE, reported, vectors

MODULES = ("device.js", "keyed_bits.js", "lattice.js", "noise_laws.js")
CHECK = """async (vectors) => {
  const device = await import("/device.js");
  const bytes = (hex) => Uint8Array.from(hex.match(/../g).map((pair) => parseInt(pair, 16)));
  return vectors.map((v) => {
    const lattice = new device.Lattice(v.step, v.low, v.high);
    const key = device.dayKey(bytes(v.chain), v.from, v.day);
    const steps = v.values ? lattice.total(v.values) : lattice.steps(v.value);
    return String(device.report(v.setting, lattice, { ...v, key, steps }));
  });
}"""
MAKE = """async (channels) => {
  const device = await import("/device.js");
  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return channels.map(([setting, step, low, high], i) => {
    const chain = device.newChain();
    const vector = { chain: hex(chain), from: 20400, day: 20401, setting, step, low, high, sensor: `s${i}`,
      time: `2025-11-09T10:${10 + (i % 50)}:00`, value: (Math.random() * 12 - 1).toFixed(5) };
    const lattice = new device.Lattice(step, low, high);
    const key = device.dayKey(chain, 20400, 20401);
    const reading = { ...vector, key, steps: lattice.steps(vector.value) };
    return { ...vector, report: String(device.report(setting, lattice, reading)) };
  });
}"""


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with launched() as browser:
        found = browser.new_page()
        with_modules(found)
        yield found


def sources() -> str:
    folder = files("halfmask").joinpath("pages")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in MODULES)


def test_the_stored_vectors_are_pythons() -> None:
    """A change of this file is a change of every device's noise: reports of old folders would change with it."""
    assert json.loads(FILE.read_text(encoding="utf-8")) == vectors()


def test_the_vectors_try_every_mechanism_of_the_device() -> None:
    """A mechanism that is added in Python alone fails here; add it to ``device.js`` and to the vectors."""
    assert {setting.partition("@")[0].partition(":")[0] for setting, *_ in EVERY} == set(MECHANISMS)


def test_the_browser_gives_pythons_reports(page: Any) -> None:
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert page.evaluate(CHECK, stored) == [vector["report"] for vector in stored]


def test_python_gives_the_browsers_reports(page: Any) -> None:
    made = page.evaluate(MAKE, [list(each) for each in EVERY])
    assert [str(reported(vector)) for vector in made] == [vector["report"] for vector in made]
    assert len({vector["chain"] for vector in made}) == len(made)


def test_a_twin_with_a_fault_is_found(page: Any) -> None:
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    for right, wrong in (
        ('person: "noise"', 'person: "other"'),
        ("2n * n + d, 2n * d", "2n * n, 2n * d"),
        ("a * d + c * b, b * d", "a * d - c * b, b * d"),
    ):
        assert sources().count(right) == 1
        with_modules(page, right, wrong)
        said = page.evaluate(CHECK, stored)
        assert said != [vector["report"] for vector in stored]


def test_the_twin_shares_nothing_outside_itself() -> None:
    imported = re.findall(r'(?:import|from)\s*\(?"([^"]+)"', sources())
    assert {name.removeprefix("./") for name in imported} < set(MODULES)
    assert "Math.random" not in sources()
    assert "fetch(" not in sources()
