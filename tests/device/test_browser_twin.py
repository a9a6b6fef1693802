"""The browser's twin gives Python's reports and Python the twin's, from the same vectors, in a real browser."""

import base64
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from halfmask_device.laws import MECHANISMS
from tests.browser import launched
from tests.device.vectors import EVERY, FILE, reported, vectors

MODULE = files("halfmask").joinpath("pages", "device.js").read_text(encoding="utf-8")
CHECK = """async ([module, vectors]) => {
  const device = await import(module);
  const bytes = (hex) => Uint8Array.from(hex.match(/../g).map((pair) => parseInt(pair, 16)));
  return vectors.map((v) => {
    const lattice = new device.Lattice(v.step, v.low, v.high);
    const key = device.dayKey(bytes(v.chain), v.from, v.day);
    const steps = v.values ? lattice.total(v.values) : lattice.steps(v.value);
    return String(device.report(v.setting, lattice, { ...v, key, steps }));
  });
}"""
MAKE = """async ([module, channels]) => {
  const device = await import(module);
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
        yield browser.new_page()


def address(module: str = MODULE) -> str:
    return "data:text/javascript;base64," + base64.b64encode(module.encode()).decode()


def test_the_stored_vectors_are_pythons() -> None:
    """A change of this file is a change of every device's noise: reports of old folders would change with it."""
    assert json.loads(FILE.read_text(encoding="utf-8")) == vectors()


def test_the_vectors_try_every_mechanism_of_the_device() -> None:
    """A mechanism that is added in Python alone fails here; add it to ``device.js`` and to the vectors."""
    assert {setting.partition("@")[0].partition(":")[0] for setting, *_ in EVERY} == set(MECHANISMS)


def test_the_browser_gives_pythons_reports(page: Any) -> None:
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert page.evaluate(CHECK, [address(), stored]) == [vector["report"] for vector in stored]


def test_python_gives_the_browsers_reports(page: Any) -> None:
    made = page.evaluate(MAKE, [address(), [list(each) for each in EVERY]])
    assert [str(reported(vector)) for vector in made] == [vector["report"] for vector in made]
    assert len({vector["chain"] for vector in made}) == len(made)


def test_a_twin_with_a_fault_is_found(page: Any) -> None:
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    for right, wrong in (
        ('person: "noise"', 'person: "other"'),
        ("2n * n + d, 2n * d", "2n * n, 2n * d"),
        ("a * d + c * b, b * d", "a * d - c * b, b * d"),
    ):
        assert right in MODULE
        said = page.evaluate(CHECK, [address(MODULE.replace(right, wrong)), stored])
        assert said != [vector["report"] for vector in stored]


def test_the_twin_shares_nothing_outside_itself() -> None:
    assert "import " not in MODULE
    assert "Math.random" not in MODULE
    assert "fetch(" not in MODULE
